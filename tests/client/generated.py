"""Remakes what is made by rule in the client: `python -m tests.client.generated`.

`answers.py` comes from the protocol's models, `blocking.py`, `blocking_session.py` and
`blocking_questions.py` from the asyncio modules, word by word. A test compares all of them with
what this gives.
"""

from __future__ import annotations

import re
import subprocess
import sys
import types
import typing
from pathlib import Path

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from pisessiond.protocol.methods import ASKED, METHODS, NOTIFICATIONS

CLIENT = Path(__file__).parents[2] / "pisessiond" / "client"

_WORDS = {
    r"pisessiond\.client\.session\b": "pisessiond.client.blocking_session",
    r"pisessiond\.client\.connection\b": "pisessiond.client.blocking_connection",
    r"pisessiond\.client\.lasting\b": "pisessiond.client.blocking_lasting",
    r"pisessiond\.client\.questions\b": "pisessiond.client.blocking_questions",
    r"\bSessionQuestions\b": "BlockingSessionQuestions",
    r"\bLastingConnection\b": "BlockingLastingConnection",
    r"\bConnection\b": "BlockingConnection",
    r"\bSession\b": "BlockingSession",
    r"\bClient\b": "BlockingClient",
    r"\bHandlers\b": "BlockingHandlers",
    r"\bAsyncIterator\b": "Iterator",
    r"\basynccontextmanager\b": "contextmanager",
    r"\basync (def|with|for)\b": r"\1",
    r"\bawait ": "",
    r"\baclose\b": "close",
    r"programs on asyncio": "scripts without a loop",
    r"  # noqa: ASYNC109": "",
}
_MADE_FROM = re.compile(r"`blocking\w*\.py` is made from this module \(`([^`]+)`\)\.")


def blocking(name: str) -> str:
    """A module of the asyncio client, for scripts without a loop."""
    text = (CLIENT / f"{name}.py").read_text("utf-8")
    text = _MADE_FROM.sub(rf"It is made from `{name}.py`: change that one, then run `\1`.", text)
    for old, new in _WORDS.items():
        text = re.sub(old, new, text)
    return text


def answers() -> str:
    """The TypedDicts of everything the daemon sends, and of what clients answer it."""
    models: dict[str, type[BaseModel]] = {}
    for method in METHODS.values():
        if method.result is not None:
            _collect(method.result, models)
    for notification in NOTIFICATIONS.values():
        _collect(notification.params, models)
    for asked in ASKED.values():
        _collect(asked.params, models)
        _collect(asked.result, models)
    _collect(_model("pisessiond.protocol.lifecycle_models", "Announcement"), models)
    parts = [_HEAD]
    parts += [_render(model) for model in models.values()]
    return "\n\n".join(parts)


_HEAD = '''"""The daemon's answers as they come: the JSON objects of the wire, typed.

They stay plain dictionaries in the wire's spelling, so that members a newer daemon adds are not
lost and a script can print what it got. It is made from the protocol's models, which say what each
member means: change those, then run `python -m tests.client.generated`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

EntryId: TypeAlias = str | int | float
"""An entry id. pi writes strings; a number read from a file works as in pi."""
'''


def _model(module: str, name: str) -> type[BaseModel]:
    __import__(module)
    model: type[BaseModel] = getattr(sys.modules[module], name)
    return model


def _collect(model: type[BaseModel], into: dict[str, type[BaseModel]]) -> None:
    for field in model.model_fields.values():
        for inner in _models_in(field.annotation):
            if inner.__name__ not in into:
                _collect(inner, into)
    if not issubclass(model, RootModel):
        into.setdefault(model.__name__, model)


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models_in(part)]


def _render(model: type[BaseModel]) -> str:
    doc = " ".join((model.__doc__ or "").split("\n\n")[0].split())
    name = model.__name__
    if model.model_config.get("extra") == "allow":
        return f'{name}: TypeAlias = dict[str, Any]\n"""{doc}"""\n'
    members = "".join(
        f"    {field.alias or key}: {_member(field)}\n" for key, field in model.model_fields.items()
    )
    return f'class {name}(TypedDict):\n    """{doc}"""\n\n{members}'


def _member(field: FieldInfo) -> str:
    text = _type(field.annotation).replace("str | int | float", "EntryId")
    return text if field.is_required() else f"NotRequired[{text}]"


def _type(annotation: object) -> str:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(args[0])
    if origin in {typing.Union, types.UnionType}:
        return " | ".join(_type(arg) for arg in args)
    if origin is typing.Literal:
        return f"Literal[{', '.join(repr(arg) for arg in args)}]"
    if origin in {list, dict}:
        return f"{origin.__name__}[{', '.join(_type(arg) for arg in args)}]"
    if annotation is type(None):
        return "None"
    return "Any" if annotation is typing.Any else getattr(annotation, "__name__", str(annotation))


def _formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for arguments in (["check", "--fix-only", "--quiet"], ["format"]):
        command = [*ruff, *arguments, "--stdin-filename", str(CLIENT / "made.py"), "-"]
        text = subprocess.run(
            command, input=text, capture_output=True, check=True, text=True, encoding="utf-8"
        ).stdout
    return text


def made() -> dict[Path, str]:
    """Every module made by rule, with its text."""
    return {
        CLIENT / "answers.py": _formatted(answers()),
        CLIENT / "blocking.py": _formatted(blocking("aio")),
        CLIENT / "blocking_session.py": _formatted(blocking("session")),
        CLIENT / "blocking_questions.py": _formatted(blocking("questions")),
    }


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text, "utf-8")
        print(path.relative_to(CLIENT.parents[1]))
