"""How parameters are taken and results are spelled."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pisessiond.core.errors import EntryNotFound, InvalidEntry, SessionError
from pisessiond.protocol import act_models, methods, session_models, values, view_models
from pisessiond.protocol.conversion import from_core, from_validation
from pisessiond.protocol.methods import METHODS
from pisessiond.protocol.table import Method
from pisessiond.protocol.wire import WireModel


def take(method: Method[Any, Any], params: dict[str, Any]) -> WireModel:
    validated = method.params.model_validate(params, by_alias=True, by_name=False)
    assert isinstance(validated, WireModel)
    return validated


def refuse(method: Method[Any, Any], params: dict[str, Any]) -> dict[str, Any]:
    with pytest.raises(ValidationError) as caught:
        take(method, params)
    return from_validation(caught.value).data


MINIMAL: dict[str, dict[str, Any]] = {
    "session/create": {"cwd": "/p"},
    "session/import": {"path": "/x"},
    "session/delete": {"session": "s"},
    "session/append": {"session": "s", "entry": {"type": "custom"}},
    "session/navigate": {"session": "s", "target": None},
    "session/compact": {"session": "s"},
    "session/cancel": {"session": "s"},
    "session/fork": {"session": "s"},
    "session/clone": {"session": "s"},
    "session/label": {"session": "s", "target": "a", "label": None},
    "session/rename": {"session": "s", "name": "n"},
    "session/editContext": {"session": "s", "target": "a", "replacement": "restore"},
    "session/prompt": {"session": "s", "text": "Go on."},
    "session/abort": {"session": "s"},
    "session/reread": {"session": "s"},
}


def test_the_mutations_are_these() -> None:
    assert {m.name for m in METHODS.values() if m.kind == "mutation"} == set(MINIMAL)


@pytest.mark.parametrize("name", MINIMAL)
@pytest.mark.parametrize("misspelt", ["baseleaf", "base_leaf", "request_id"])
def test_a_mutation_refuses_what_it_does_not_know(name: str, misspelt: str) -> None:
    take(METHODS[name], MINIMAL[name])
    assert refuse(METHODS[name], {**MINIMAL[name], misspelt: "x"})["path"] == misspelt


@pytest.mark.parametrize("method", [m for m in METHODS.values() if m.kind == "read"])
def test_a_read_ignores_what_it_does_not_know(method: Method[Any, Any]) -> None:
    needed = {
        "session/open": {"path": "/x"},
        "session/search": {"query": "x"},
        "session/compare": {"session": "s", "a": "x", "b": "leaf"},
        "session/export": {"session": "s", "format": "jsonl"},
    }.get(method.name, {"session": "s"})
    take(method, {**needed, "newMember": 1})


def test_null_and_absent_stay_apart() -> None:
    absent = take(methods.APPEND, {"session": "s", "entry": {}})
    null = take(methods.APPEND, {"session": "s", "entry": {}, "baseLeaf": None})
    assert "base_leaf" not in absent.model_fields_set
    assert "base_leaf" in null.model_fields_set


def test_a_label_may_be_null_but_not_missing() -> None:
    assert refuse(methods.LABEL, {"session": "s", "target": "a"})["path"] == "label"


@pytest.mark.parametrize("value", [True, None, {}, [], b"x"])
def test_an_entry_id_is_a_string_or_a_number(value: object) -> None:
    refuse(methods.LABEL, {"session": "s", "target": value, "label": None})


@pytest.mark.parametrize("value", ["a", "", 7, 1.5, "leaf"])
def test_an_entry_id_keeps_its_type(value: object) -> None:
    params = take(methods.LABEL, {"session": "s", "target": value, "label": None})
    assert isinstance(params, act_models.LabelParams)
    assert params.target == value
    assert type(params.target) is type(value)


@pytest.mark.parametrize(
    "params",
    [{}, {"session": "s", "path": "/p"}, {"latest": {"cwd": "/p"}, "path": "/p"}, {"latest": {}}],
)
def test_open_wants_one_way_to_name_a_session(params: dict[str, Any]) -> None:
    refuse(methods.OPEN, params)


@pytest.mark.parametrize("params", [{}, {"entry": {}, "entries": [{}]}, {"entries": []}])
def test_append_wants_one_entry_or_several(params: dict[str, Any]) -> None:
    refuse(methods.APPEND, {"session": "s", **params})


def test_an_entry_keeps_members_values_and_order() -> None:
    entry = {"z": 1, "from": 2, "class": None, "type_name": "x", "a-b": {"jsonrpc": "2.0"}}
    params = take(methods.APPEND, {"session": "s", "entry": entry})
    assert isinstance(params, act_models.AppendParams)
    assert list((params.entry or {}).items()) == list(entry.items())


def test_a_refusal_names_the_path_and_shows_no_value() -> None:
    data = refuse(methods.OPEN, {"latest": {"cwd": ["secret"]}})
    assert data["path"] == "latest.cwd"
    assert "secret" not in str(data)


def test_a_result_is_camel_case_and_holds_only_what_was_set() -> None:
    result = act_models.NavigateResult(rev=2, leaf=None, editor_text="x")
    assert result.to_wire() == b'{"rev":2,"leaf":null,"editorText":"x"}'


def test_the_two_answers_of_context_size_are_told_apart() -> None:
    size = values.ContextSize(
        tokens=1,
        source="estimated",
        estimated=1,
        measured=None,
        measured_at=None,
        before=None,
        window=None,
        percent=None,
        model=None,
        grade="ok",
        due_at=None,
        due=False,
    )
    for root in (size, view_models.ContextSizes(sizes={"a": size})):
        sent = view_models.ContextSizeResult(root).to_wire()
        assert view_models.ContextSizeResult.model_validate_json(sent).root == root


def test_clients_ignore_members_of_a_later_daemon() -> None:
    latest = session_models.Latest.model_validate({"cwd": "/", "later": 1})
    assert latest == session_models.Latest(cwd="/")


def test_errors_of_the_rules_keep_kind_and_data() -> None:
    assert from_core(EntryNotFound("a")).data == {"kind": "EntryNotFound", "entry": "a"}
    assert from_core(InvalidEntry("no", "message.role")).data["path"] == "message.role"
    assert from_core(SessionError("secret")).message == "Internal error (SessionError)."
