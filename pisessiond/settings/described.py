"""Each effective setting and where it comes from, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.errors import BadSetting
from pisessiond.core.javascript import is_truthy
from pisessiond.core.pi_settings import (
    BRANCH_RESERVE_TOKENS,
    HTTP_IDLE_MS,
    OVERRIDES,
    RetrySettings,
    spell,
)
from pisessiond.core.setting_layers import Layer, Merged, Path
from pisessiond.models.endpoints import shown_address
from pisessiond.settings.config import NEEDS_RESTART, Config

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class Row:
    """One setting."""

    key: str
    value: Any
    """As JSON; None: nothing is set and nothing is taken in its place."""
    source: str
    """`default`, a file with `~` for the home, or `environment NAME`."""
    needs_restart: bool = False
    """It is read when the daemon starts, and not again."""


def own_rows(config: Config, file: str) -> Iterator[Row]:
    """The settings of `config.toml`, table by table."""
    for name in Config.model_fields:
        table = getattr(config, name)
        if isinstance(table, BaseModel):
            yield from _table_rows(name, table, file, needs_restart=name in NEEDS_RESTART)
        else:
            for own, one in table.items():
                yield from (
                    row
                    for row in _table_rows(f"{name}.{own}", one, file)
                    if row.source != DEFAULT or row.value is not None
                )


def _table_rows(
    name: str, table: BaseModel, file: str, *, needs_restart: bool = False
) -> Iterator[Row]:
    for key in type(table).model_fields:
        source = file if key in table.model_fields_set else DEFAULT
        yield Row(f"{name}.{key}", _fit(key, getattr(table, key)), source, needs_restart)


def _fit(key: str, value: Any) -> Any:
    if key == "program":
        # Arguments may hold what nobody else should see on a screen.
        program, *arguments = value
        return f"{program} and {len(arguments)} arguments" if arguments else program
    return shown_address(value) if key in ("proxy", "base_url") and value else value


def pi_rows(layers: Sequence[Layer | BadSetting], model: str | None) -> Iterator[Row]:
    """Pi's settings that count here.

    Args:
        layers: the project's first, then the user's; those that cannot be read count as empty.
        model: `provider/model`, whose overrides count.
    """
    sound = [one for one in layers if isinstance(one, Layer)]
    merged = Merged(sound)
    users = Merged([one for one in layers[-1:] if isinstance(one, Layer)])
    usual = CompactionSettings()
    yield _switch(merged, ("compaction", "enabled"), usual.enabled)
    for key, default in (
        ("reserveTokens", usual.reserve_tokens),
        ("keepRecentTokens", usual.keep_recent_tokens),
    ):
        ordinary = _value(merged, ("compaction", key), default)
        override = None if model is None else _value(merged, (*OVERRIDES, model, key), None)
        yield ordinary if override is None or override.source == DEFAULT else override
    yield _value(merged, ("branchSummary", "reserveTokens"), BRANCH_RESERVE_TOKENS)
    yield _switch(merged, ("branchSummary", "skipPrompt"), False)
    yield from _retry_rows(users)
    yield _proxy_row(users)
    yield _value(users, ("httpIdleTimeoutMs",), HTTP_IDLE_MS)
    yield _value(merged, ("sessionDir",), None)


def _retry_rows(users: Merged) -> Iterator[Row]:
    usual = RetrySettings()
    yield _switch(users, ("retry", "enabled"), usual.enabled)
    yield _value(users, ("retry", "maxRetries"), usual.max_retries)
    yield _value(users, ("retry", "baseDelayMs"), usual.base_delay_ms)
    yield _value(users, ("retry", "maxAgentDelayMs"), usual.max_agent_delay_ms)
    yield _value(users, ("retry", "provider", "maxRetryDelayMs"), usual.max_retry_delay_ms)


def _proxy_row(users: Merged) -> Row:
    row = _value(users, ("httpProxy",), None)
    if not isinstance(row.value, str):
        return row
    return Row(row.key, shown_address(row.value), row.source)


def _value(merged: Merged, path: Path, default: Any) -> Row:
    found = merged.find(path)
    if found is None:
        return Row(spell(path), default, DEFAULT)
    return Row(spell(path), found.value, found.file)


def _switch(merged: Merged, path: Path, default: bool) -> Row:
    row = _value(merged, path, default)
    return Row(row.key, is_truthy(row.value), row.source)
