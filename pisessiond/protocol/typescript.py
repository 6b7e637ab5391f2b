"""The protocol as TypeScript types, made from the method table for clients written in it.

`python -m pisessiond.protocol.typescript > vscode-extension/src/rpc/protocol.ts` remakes the file.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from pisessiond.docstrings import member_docs
from pisessiond.protocol.errors import ERRORS
from pisessiond.protocol.lifecycle_models import Announcement
from pisessiond.protocol.methods import ASKED, METHODS, NOTIFICATIONS
from pisessiond.protocol.row_models import RowsChange
from pisessiond.protocol.wire import PROTOCOL_VERSION

_HEAD: Final = f"""\
/**
 * The messages of pisessiond's protocol. Made from the daemon's method table; do not edit:
 * `python -m pisessiond.protocol.typescript > vscode-extension/src/rpc/protocol.ts`
 */

/** The newest version these types speak. */
export const PROTOCOL_VERSION = {PROTOCOL_VERSION};

/** pi writes strings; a number read from a file stays a number. */
export type EntryId = string | number;

/** JSON whose members belong to somebody else. */
export type JsonObject = Record<string, unknown>;"""

_UNNAMED: Final[tuple[type[BaseModel], ...]] = (Announcement, RowsChange)
"""Models that stand in no other one, for what holds them may hold anything."""

_WORDS: Final = {str: "string", int: "number", float: "number", bool: "boolean", Any: "unknown"}


def typescript() -> str:
    """The text of the module."""
    return "\n\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    yield _HEAD
    yield "/** What an error says it is, in `data.kind`. */\nexport type ErrorKind =\n" + (
        "\n".join(f"  | {json.dumps(kind)}" for kind in ERRORS) + ";"
    )
    for model in _models().values():
        yield _interface(model)
    requests = {
        name: (method.params, method.result) for name, method in METHODS.items() if method.result
    }
    notices = {name: method.params for name, method in METHODS.items() if method.result is None}
    yield _table("Requests", "What a client asks.", _exchanges(requests))
    yield _table("Notices", "What a client tells.", {k: v.__name__ for k, v in notices.items()})
    told = {name: one.params.__name__ for name, one in NOTIFICATIONS.items()}
    yield _table("Told", "What the daemon tells unasked.", told)
    asked = {name: (one.params, one.result) for name, one in ASKED.items()}
    yield _table("Asked", "What the daemon asks clients that offer to answer.", _exchanges(asked))


def _exchanges(table: dict[str, tuple[type[BaseModel], type[BaseModel]]]) -> dict[str, str]:
    return {
        name: f"{{ params: {params.__name__}; result: {result.__name__} }}"
        for name, (params, result) in table.items()
    }


def _table(name: str, doc: str, members: dict[str, str]) -> str:
    lines = "".join(f"  {json.dumps(key)}: {value};\n" for key, value in members.items())
    return f"/** {doc} */\nexport interface {name} {{\n{lines}}}"


def _models() -> dict[str, type[BaseModel]]:
    """Every model of the wire by name, those that stand in others first."""
    found: dict[str, type[BaseModel]] = {}
    for method in METHODS.values():
        _collect(method.params, found)
        if method.result is not None:
            _collect(method.result, found)
    for notification in NOTIFICATIONS.values():
        _collect(notification.params, found)
    for asked in ASKED.values():
        _collect(asked.params, found)
        _collect(asked.result, found)
    for model in _UNNAMED:
        _collect(model, found)
    return found


def _collect(model: type[BaseModel], into: dict[str, type[BaseModel]]) -> None:
    if model.__name__ in into:
        return
    for field in model.model_fields.values():
        for inner in _models_in(field.annotation):
            _collect(inner, into)
    into[model.__name__] = model


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _models_in(part)


def _interface(model: type[BaseModel]) -> str:
    doc = _comment(model.__doc__ or "", "")
    if issubclass(model, RootModel):
        root = _type(model.model_fields["root"].annotation)
        return f"{doc}export type {model.__name__} = {root};"
    docs = member_docs(model)
    members = "".join(
        f"{_comment(docs.get(name, ''), '  ')}  {_member(name, field)}\n"
        for name, field in model.model_fields.items()
    )
    if model.model_config.get("extra") == "allow":
        members += "  [member: string]: unknown;\n"
    if not members:
        return f"{doc}export type {model.__name__} = Record<string, never>;"
    return f"{doc}export interface {model.__name__} {{\n{members}}}"


def _comment(text: str, indent: str) -> str:
    words = " ".join(text.split()).replace("*/", "* /")
    return f"{indent}/** {words} */\n" if words else ""


def _member(name: str, field: FieldInfo) -> str:
    mark = "" if field.is_required() else "?"
    return f"{field.alias or name}{mark}: {_type(field.annotation)};"


def _type(annotation: object) -> str:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(args[0])
    if origin in {typing.Union, types.UnionType}:
        return _union(args)
    if origin is typing.Literal:
        return " | ".join(json.dumps(arg) for arg in args)
    if origin is list:
        inner = _type(args[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is dict:
        return _record(_type(args[0]), _type(args[1]))
    if annotation is type(None):
        return "null"
    if annotation in _WORDS:
        return _WORDS[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation.__name__
    raise TypeError(f"no TypeScript for {annotation!r}")


def _union(args: tuple[Any, ...]) -> str:
    if float in {typing.get_args(arg)[0] for arg in args if typing.get_args(arg)}:
        # Of what the protocol holds, ids of entries alone may be numbers with a fraction or texts.
        return "EntryId"
    return " | ".join(dict.fromkeys(_type(arg) for arg in args))


def _record(key: str, value: str) -> str:
    if (key, value) == ("string", "unknown"):
        return "JsonObject"
    return f"Record<string, {value}>" if key == "string" else f"Partial<Record<{key}, {value}>>"


if __name__ == "__main__":
    sys.stdout.write(typescript())
