"""The documents made from the method table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from pisessiond.docstrings import member_docs
from pisessiond.protocol import schema
from pisessiond.protocol.methods import METHODS, NOTIFICATIONS

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"


def test_the_page_is_in_step_with_the_table() -> None:
    assert PAGE.read_text("utf-8") == schema.markdown(), (
        "remake it: python -m pisessiond.protocol.schema > docs/protocol.md"
    )


def test_every_method_and_notification_is_in_the_openrpc_document() -> None:
    document = schema.openrpc()
    assert [method["name"] for method in document["methods"]] == list(METHODS)
    assert [told["name"] for told in document["x-notifications"]] == list(NOTIFICATIONS)


@pytest.mark.parametrize("document", [schema.openrpc, schema.json_schema])
def test_every_reference_leads_somewhere(document: object) -> None:
    assert callable(document)
    whole = document()
    found = 0
    stack = [whole]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(reference := value.get("$ref"), str):
                found += 1
                at = whole
                for step in reference.removeprefix("#/").split("/"):
                    at = at[step]
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    assert found > 20
    json.dumps(whole)


def _models() -> list[type[BaseModel]]:
    models = [told.params for told in NOTIFICATIONS.values()]
    for method in METHODS.values():
        models += [model for model in (method.params, method.result) if model is not None]
    return list(dict.fromkeys(models))


@pytest.mark.parametrize("model", _models(), ids=lambda model: model.__name__)
def test_every_member_says_what_it_is(model: type[BaseModel]) -> None:
    assert (model.__doc__ or "").strip()
    docs = member_docs(model)
    for name, field in model.model_fields.items():
        if name != "root":
            assert field.description or docs.get(name), f"{model.__name__}.{name}"


def test_summaries_are_one_line() -> None:
    summaries = [method.summary for method in METHODS.values()]
    summaries += [told.summary for told in NOTIFICATIONS.values()]
    for summary in summaries:
        assert summary.endswith(".")
        assert "\n" not in summary
