"""The protocol described for machines and people: OpenRPC, JSON Schema and `docs/protocol.md`.

`python -m pisessiond.protocol.schema > docs/protocol.md` remakes the page;
with `--openrpc` or `--json-schema` the documents are printed instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from pisessiond import __version__
from pisessiond.docstrings import member_docs
from pisessiond.protocol.errors import ERRORS
from pisessiond.protocol.methods import ASKED, METHODS, NOTIFICATIONS
from pisessiond.protocol.pi_methods import PI_ASKED
from pisessiond.protocol.table import ANY_REQUEST, Asked, Kind, Method
from pisessiond.protocol.wire import (
    MAX_ASKED,
    MAX_HEADER_BYTES,
    MAX_IN_FLIGHT,
    MAX_MESSAGE_BYTES,
    WireModel,
)

_COMPONENTS = "#/components/schemas/"

_HEADINGS: dict[Kind, str] = {
    "lifecycle": "The connection and the daemon",
    "read": "Looking at sessions",
    "mutation": "Changing sessions",
    "pi": "For the bridge inside a running pi",
}

_PREAMBLE = f"""\
# The protocol of pisessiond

JSON-RPC 2.0, framed as in LSP: a header block with `Content-Length` (and no other header than
`Content-Type`), a blank line, then the body in UTF-8. Header lines end with CRLF; a bare LF is
accepted. A header block is at most {MAX_HEADER_BYTES >> 10} KiB, a body at most
{MAX_MESSAGE_BYTES >> 20} MiB, and of one client {MAX_IN_FLIGHT} requests are at work at once.
Batches are not accepted. Ids are strings or integers.

`initialize` comes first; only `daemon/status` and `daemon/shutdown` are answered before it.
Clients ignore members they do not know. Reads ignore parameters they do not know, mutations
refuse them. Where a table says *required*, the member must be there, even if it may be null.

This page is made from the method table: `python -m pisessiond.protocol.schema > docs/protocol.md`.
`pisessiond schema` prints the same as OpenRPC or JSON Schema.
"""


_ASKS = f"""\
Requests to clients that named them in `requests` of `initialize`, with strings as ids; a client has
at most {MAX_ASKED} to answer at once. One that does not answer in time, answers an error or goes
away counts as one that was not asked; `$/cancelRequest` tells it that nobody waits any more. The
answer is read also behind requests that are not taken yet, up to some megabytes of them."""

_DRIVES = """\
These connections said `pi` in `initialize`; on all others there are no such methods. While a pi has
a session open, that pi alone writes it. What follows is asked of the bridge, which names in
`requests` what it answers."""


def json_schema() -> dict[str, Any]:
    """Every model of the wire as JSON Schema, under `$defs`."""
    return _definitions("#/$defs/{model}") | {
        "$schema": "https://json-schema.org/draft/2020-12/schema"
    }


def openrpc() -> dict[str, Any]:
    """The method table as an OpenRPC document."""
    schemas = _definitions(_COMPONENTS + "{model}")["$defs"]
    return {
        "openrpc": "1.3.2",
        "info": {"title": "pisessiond", "version": __version__},
        "methods": [_openrpc_method(method, schemas) for method in METHODS.values()],
        # OpenRPC has no word for what a server tells unasked.
        "x-notifications": [
            {
                "name": told.name,
                "summary": told.summary,
                "params": {"$ref": _COMPONENTS + told.params.__name__},
            }
            for told in NOTIFICATIONS.values()
        ],
        "x-requests-to-clients": [
            {
                "name": asked.name,
                "summary": asked.summary,
                "params": {"$ref": _COMPONENTS + asked.params.__name__},
                "result": {"$ref": _COMPONENTS + asked.result.__name__},
                "seconds": asked.seconds,
            }
            for asked in ASKED.values()
        ],
        "components": {
            "schemas": schemas,
            "errors": {
                kind: {"code": row.code, "message": row.meaning, "data": {"kind": kind}}
                for kind, row in ERRORS.items()
            },
        },
    }


def _definitions(template: str) -> dict[str, Any]:
    models: list[type[BaseModel]] = [told.params for told in NOTIFICATIONS.values()]
    for asked in ASKED.values():
        models += [asked.params, asked.result]
    for method in METHODS.values():
        models += [method.params] if method.result is None else [method.params, method.result]
    unique = dict.fromkeys(models)
    _, definitions = models_json_schema(
        [(model, "validation") for model in unique], by_alias=True, ref_template=template
    )
    models_by_name = {model.__name__: model for model in _all_below(WireModel)}
    for name, schema in definitions["$defs"].items():
        if (model := models_by_name.get(name)) is not None:
            _describe_members(schema, model)
    return definitions


def _all_below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for below in model.__subclasses__():
        yield below
        yield from _all_below(below)


def _describe_members(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Say of each member what stands under it, unless its type says it."""
    for name, doc in member_docs(model).items():
        member = schema["properties"][model.model_fields[name].alias or name]
        member.setdefault("description", doc)


def _openrpc_method(method: Method[Any, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    params = schemas[method.params.__name__]
    required = params.get("required", [])
    described: dict[str, Any] = {
        "name": method.name,
        "summary": method.summary,
        "tags": [{"name": method.kind}],
        "paramStructure": "by-name",
        "params": [
            {
                "name": name,
                "required": name in required,
                "schema": schema,
                "description": schema.get("description", ""),
            }
            for name, schema in params.get("properties", {}).items()
        ],
    }
    if method.result is not None:
        name = method.result.__name__
        described["result"] = {"name": name, "schema": {"$ref": _COMPONENTS + name}}
        described["errors"] = [
            {"$ref": f"#/components/errors/{kind}"} for kind in (*method.errors, *ANY_REQUEST)
        ]
    return described


def markdown() -> str:
    """The text of `docs/protocol.md`."""
    return "\n".join(_markdown_lines()) + "\n"


def _markdown_lines() -> Iterator[str]:
    definitions: dict[str, Any] = _definitions("{model}")["$defs"]
    yield _PREAMBLE.rstrip()
    shown: set[str] = set()
    for kind, heading in _HEADINGS.items():
        yield from ("", f"## {heading}")
        for method in METHODS.values():
            if method.kind == kind:
                yield from _method_lines(method, definitions)
                shown.add(method.params.__name__)
                if method.result is not None:
                    shown.add(method.result.__name__)
        if kind == "pi":
            yield from ("", _DRIVES)
            yield from _asked_lines(PI_ASKED, definitions, shown)
    yield from ("", "## What the daemon tells unasked")
    for told in NOTIFICATIONS.values():
        shown.add(told.params.__name__)
        yield from ("", f"### {told.name}", "", told.summary)
        yield from _model_lines(definitions[told.params.__name__])
    yield from ("", "## What the daemon asks", "", _ASKS)
    others = [asked for asked in ASKED.values() if asked not in PI_ASKED]
    yield from _asked_lines(others, definitions, shown)
    yield from ("", "## Values")
    for name in sorted(set(definitions) - shown):
        yield from ("", f"### {name}")
        yield from _model_lines(definitions[name])
    yield from _error_lines()


def _asked_lines(
    rows: Iterable[Asked[Any, Any]], definitions: dict[str, Any], shown: set[str]
) -> Iterator[str]:
    for asked in rows:
        yield from ("", f"### {asked.name}", "", asked.summary)
        for model in (asked.params, asked.result):
            if model.__name__ not in shown:
                yield from _model_lines(definitions[model.__name__])
            shown.add(model.__name__)


def _method_lines(method: Method[Any, Any], definitions: dict[str, Any]) -> Iterator[str]:
    yield from ("", f"### {method.name}", "", method.summary)
    if method.result is None:
        yield from ("", "A notification: nothing is answered.")
    params = definitions[method.params.__name__]
    if params.get("properties"):
        yield from ("", "Parameters. " + _one_line(params.get("description", "")))
        yield from _member_lines(params)
    if method.result is not None:
        result = definitions[method.result.__name__]
        yield from ("", "Answer. " + _one_line(result.get("description", "")))
        if not result.get("properties"):
            yield from (["", f"{_type_of(result)}."] if "anyOf" in result else [])
        yield from _member_lines(result)
    if method.errors:
        yield from ("", "Errors: " + ", ".join(f"`{kind}`" for kind in method.errors) + ".")


def _model_lines(model: dict[str, Any]) -> Iterator[str]:
    if description := model.get("description"):
        yield from ("", _one_line(description))
    yield from _member_lines(model)


def _member_lines(model: dict[str, Any]) -> Iterator[str]:
    properties = model.get("properties", {})
    if not properties:
        return
    required = model.get("required", [])
    yield from ("", "| member | type | |", "|---|---|---|")
    for name, member in properties.items():
        what = _one_line(member.get("description", "")).replace("|", "\\|")
        need = "*required* " if name in required else ""
        if member.get("default") is not None:
            what += f" Default: `{json.dumps(member['default'])}`."
        yield f"| `{name}` | {_type_of(member)} | {need}{what} |"


def _type_of(schema: dict[str, Any]) -> str:
    """A short name for a type, fit for a cell of a table."""
    match schema:
        case {"$ref": reference}:
            return str(reference)
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"enum": values}:
            return " \\| ".join(f"`{json.dumps(value)}`" for value in values)
        case {"anyOf": choices}:
            return " \\| ".join(dict.fromkeys(_type_of(choice) for choice in choices))
        case {"type": "array", "items": items}:
            return f"list of ({_type_of(items)})"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object of ({_type_of(values)})"
        case {"type": str(name)}:
            return name
        case _:
            return "any"


def _error_lines() -> Iterator[str]:
    yield from ("", "## Errors", "")
    yield "`error.data.kind` is stable, the message is for people. Any request can get "
    yield ", ".join(f"`{kind}`" for kind in ANY_REQUEST) + "."
    yield from ("", "| kind | code | when | further members of `data` |", "|---|---|---|---|")
    for kind, row in ERRORS.items():
        yield f"| `{kind}` | {row.code} | {row.meaning} | {', '.join(row.data)} |"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def main(arguments: list[str]) -> None:
    """Prints the document asked for."""
    match arguments:
        case ["--openrpc"]:
            text = json.dumps(openrpc(), indent=2, ensure_ascii=False) + "\n"
        case ["--json-schema"]:
            text = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
        case _:
            text = markdown()
    sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
