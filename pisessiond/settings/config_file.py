"""Reads `config.toml`: whole, or not at all, with the first fault named by file and key."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pisessiond.core.errors import BadSetting
from pisessiond.core.setting_layers import show
from pisessiond.settings.config import Config
from pisessiond.settings.files import CachedFile, Unreadable, unreadable

log = logging.getLogger(__name__)
# A command that looks at settings has no log, and says itself what is wrong.
log.addHandler(logging.NullHandler())

DEFAULTS: Final = Config()


@dataclass(frozen=True, slots=True)
class ConfigState:
    """What the file says at one moment."""

    config: Config = DEFAULTS
    problem: BadSetting | None = None
    """Why the file does not count; `config` is then what counted before, at first the defaults."""
    is_there: bool = False


class ConfigFile:
    """The one file of our own settings. It reads, so it belongs in a worker."""

    def __init__(self, path: str | None, shown: str) -> None:
        """`shown` is the path as people know it. None for a path: there is no file, ever."""
        self.shown = shown
        self._file = None if path is None else CachedFile(path, self._parse, is_private=True)
        self.last = ConfigState()
        """What it said when somebody last looked. No I/O."""

    def look(self) -> ConfigState:
        """What the file says now; a fault is logged once for each state of the file."""
        if self._file is None:
            return self.last
        try:
            state = self._file.look()
        except Unreadable as error:
            state = ConfigState(self.last.config, unreadable(self.shown, error), is_there=True)
        if state.problem is not None and str(state.problem) != str(self.last.problem):
            log.warning("settings that do not count: %s", state.problem)
        self.last = state
        return state

    def _parse(self, text: str | None) -> ConfigState:
        if text is None:
            return ConfigState()
        try:
            return ConfigState(parse_config(text, self.shown), None, is_there=True)
        except BadSetting as error:
            return ConfigState(self.last.config, error, is_there=True)


def parse_config(text: str, shown: str) -> Config:
    """The settings of a text.

    Raises:
        BadSetting: it is no TOML, or holds a key that is unknown or a value that means nothing.
    """
    # Most users have no such file, and a daemon that starts looks for one.
    import tomllib

    try:
        tables = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSetting(shown, "the text", f"is no TOML ({error}); correct it.") from error
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        raise _bad_setting(error.errors(include_url=False)[0], tables, shown) from error


def _bad_setting(error: ErrorDetails, tables: Mapping[str, Any], shown: str) -> BadSetting:
    path = [str(part) for part in error["loc"]]
    if path[:1] == ["summarizers"] and len(path) > 3:
        # pydantic puts the kind of the table in between.
        del path[2]
    is_name = path[-1:] == ["[key]"]
    if is_name:
        path.pop()
    key = ".".join(_spelt(part) for part in path) or "the text"
    if error["type"] == "string_pattern_mismatch":
        reason = _PATTERNS["[key]" if is_name else path[-1]]
    else:
        reason = _WHOLE.get(error["type"]) or _reason(error, path, _value_at(tables, path))
    return BadSetting(shown, key, reason)


# Our own words for pydantic's kinds of errors, which speak of inputs, strings and items.

_NEEDS_KIND: Final = "needs a kind: anthropic, openai, command or pi."

_WHOLE: Final = {
    "extra_forbidden": "is no setting; docs/configuration.md lists those there are.",
    "missing": "is missing; add it.",
    "union_tag_not_found": _NEEDS_KIND,
    "union_tag_invalid": _NEEDS_KIND,
    "model_type": "must be a table.",
    "dict_type": "must be a table.",
    "too_short": "must not be empty.",
    "string_too_short": "must not be empty.",
}

_RULES: Final = {
    "string_type": "must be a text in quotes",
    "list_type": 'must be a list: ["program", "argument"]',
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "literal_error": "must be {expected}",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be {ge:g} or more",
    "less_than_equal": "must be {le:g} or less",
}
"""What goes before the value that was found."""

# A pattern says less than words; and an address may hold a password, which nobody repeats.
_PATTERNS: Final = {
    "[key]": 'must be named by "provider/model".',
    "base_url": "must begin with http:// or https://.",
    "proxy": "must begin with http:// or https://.",
    "key_env": "must be the name of an environment variable.",
    "model": 'must be "provider/model".',
}

_MAY_HOLD_KEYS: Final = frozenset({"base_url", "proxy", "program", "key_env"})


def _reason(error: ErrorDetails, path: list[str], value: object) -> str:
    rule = _RULES.get(error["type"])
    if rule is None:
        return f"will not do: {error['msg'].removeprefix('Value error, ')}."
    is_private = isinstance(value, str | list | dict) and not _MAY_HOLD_KEYS.isdisjoint(path)
    found = "" if is_private else f", and is {_short(value)}"
    return f"{rule.format_map(error.get('ctx', {}))}{found}; correct it."


def _value_at(tables: Mapping[str, Any], path: list[str]) -> object:
    value: object = tables
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _short(value: object) -> str:
    try:
        return show(value)
    except (TypeError, ValueError):
        # TOML has dates and times, which JSON has not.
        return str(value)


def _spelt(part: str) -> str:
    return part if part.replace("_", "").replace("-", "").isalnum() else f'"{part}"'
