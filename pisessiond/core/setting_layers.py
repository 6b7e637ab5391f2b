"""The texts of pi's `settings.json` put over each other, each value with the file it stands in.

Pure functions; the rules are those of pi 1.6.0's `SettingsManager` (`loadFromStorage`,
`migrateSettings`, `deepMergeSettings`): objects are merged member by member, anything else
replaces what stands below it, null too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pisessiond.core.errors import BadSetting
from pisessiond.core.javascript import NotJson, parse_json

Path: TypeAlias = tuple[str, ...]

_SHOWN: Final = 40
"""Characters of a bad value that a message repeats."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One file."""

    file: str
    """As people know it, with `~` for the home."""
    members: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """A value and where it stands."""

    value: Any
    file: str


def read_layer(text: str | None, file: str) -> Layer:
    """The settings of one file; no file and an empty one set nothing.

    Raises:
        BadSetting: the text is no JSON, or no object. pi goes on without such a file; a program
            that nobody looks at had better not guess what it was to say.
    """
    if not text:
        return Layer(file, {})
    try:
        value = parse_json(text.removeprefix("\ufeff"))
    except NotJson as error:
        # Comments and trailing commas too: pi takes them in models.json only.
        raise BadSetting(file, "the text", f"is no JSON ({error}); correct it.") from error
    if isinstance(value, list):
        # What pi makes of it.
        return Layer(file, {})
    if not isinstance(value, dict):
        raise BadSetting(file, "the text", "must be an object in braces; correct it.")
    return Layer(file, _migrated(value))


def _migrated(settings: dict[str, Any]) -> dict[str, Any]:
    retry = settings.get("retry")
    if not isinstance(retry, dict) or "maxDelayMs" not in retry:
        return settings
    rest = {key: value for key, value in retry.items() if key != "maxDelayMs"}
    old, provider = retry["maxDelayMs"], rest.get("provider")
    known = provider if isinstance(provider, dict) else {}
    if is_number(old) and known.get("maxRetryDelayMs") is None:
        rest["provider"] = {**known, "maxRetryDelayMs": old}
    return {**settings, "retry": rest}


class Merged:
    """Layers, the first on top."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers

    def find(self, path: Path) -> Found | None:
        """The value at a path; None where there is none, or where null says the usual is meant."""
        found = self.find_raw(path)
        return None if found is None or found.value is None else found

    def find_raw(self, path: Path) -> Found | None:
        """The value at a path, null too."""
        holders = self._holders(path[:-1])
        return next((Found(m[path[-1]], f) for f, m in holders if path[-1] in m), None)

    def keys(self, path: Path) -> tuple[str, ...]:
        """The names of the members of the object at a path."""
        return tuple(dict.fromkeys(key for _, members in self._holders(path) for key in members))

    def _holders(self, path: Path) -> list[tuple[str, Mapping[str, Any]]]:
        """The objects that together are the one at a path, the topmost first."""
        holders = [(layer.file, layer.members) for layer in self._layers]
        for name in path:
            below: list[tuple[str, Mapping[str, Any]]] = []
            for file, members in holders:
                if name not in members:
                    continue
                if not isinstance(members[name], dict):
                    # It hides what stands below it.
                    break
                below.append((file, members[name]))
            holders = below
        return holders


def is_number(value: object) -> bool:
    """Whether JavaScript has it as a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def show(value: object) -> str:
    """A bad value as it may be repeated: JSON, in short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
