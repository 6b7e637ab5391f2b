"""pi's settings as far as sessions depend on them: how compactions and branch summaries are made.

Pure functions over the texts of `settings.json`; the rules are those of pi 1.6.0's
`SettingsManager`. A number that cannot be meant is refused here also where pi checks none; where it
takes anything for an object or a switch, so do we, or one file would mean two things.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.errors import BadSetting
from pisessiond.core.javascript import is_truthy, trim
from pisessiond.core.setting_layers import Found, Merged, Path, is_number, show

MAX_SAFE_INTEGER: Final = 2**53 - 1

BRANCH_RESERVE_TOKENS: Final = 16_384
"""Room left in the window when a branch is summarised, where nothing is set."""

HTTP_IDLE_MS: Final = 300_000
"""How long a server may say nothing, in milliseconds, where nothing is set."""

_WHOLE: Final = f"must be a whole number from 0 to {MAX_SAFE_INTEGER}"


@dataclass(frozen=True, slots=True)
class Override:
    """What is set for one model; None falls back on the ordinary value."""

    reserve_tokens: int | None = None
    keep_recent_tokens: int | None = None
    problem: BadSetting | None = None
    """What of it means nothing. Only acts on this model are to refuse, as with pi."""


@dataclass(frozen=True, slots=True)
class CompactionTable:
    """pi's setting `compaction`, before a model is known."""

    default: CompactionSettings = field(default_factory=CompactionSettings)
    overrides: Mapping[str, Override] = field(default_factory=dict)
    """By exact `provider/modelId`."""

    def resolve(self, model: str | None) -> CompactionSettings:
        """The settings for a model: each value from its override, else the ordinary one."""
        found = self.overrides.get(model) if model is not None else None
        if found is None:
            return self.default
        reserve, keep = found.reserve_tokens, found.keep_recent_tokens
        return CompactionSettings(
            enabled=self.default.enabled,
            reserve_tokens=self.default.reserve_tokens if reserve is None else reserve,
            keep_recent_tokens=self.default.keep_recent_tokens if keep is None else keep,
        )

    def problem_with(self, model: str | None) -> BadSetting | None:
        """What of the override of a model means nothing."""
        found = self.overrides.get(model) if model is not None else None
        return None if found is None else found.problem


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """pi's setting `retry`: how often and how patiently a failed request is tried again."""

    enabled: bool = True
    max_retries: int = 3
    """Tries after the first."""
    base_delay_ms: float = 2_000
    """The wait before the second try; it doubles from try to try."""
    max_agent_delay_ms: float = 60_000
    """The longest wait."""
    max_retry_delay_ms: float = 60_000
    """The longest wait a server may ask for; 0: any."""


@dataclass(frozen=True, slots=True)
class PiSettings:
    """What pi's files say that counts for sessions."""

    compaction: CompactionTable = field(default_factory=CompactionTable)
    branch_reserve_tokens: int = BRANCH_RESERVE_TOKENS
    skip_branch_prompt: bool = False
    problem: BadSetting | None = None
    """What means nothing for every model; the settings are then the usual ones."""


COMPACTION: Final = "compaction"
BRANCH: Final = "branchSummary"
OVERRIDES: Final[Path] = (COMPACTION, "modelOverrides")


def read_session_settings(merged: Merged) -> PiSettings:
    """The settings `compaction` and `branchSummary`; never raises."""
    usual = CompactionSettings()
    try:
        reserve = tokens_at(merged, (COMPACTION, "reserveTokens"))
        keep = tokens_at(merged, (COMPACTION, "keepRecentTokens"))
        # pi takes null for the usual value here, and anything else for what JavaScript has it as.
        enabled = _truth(merged, (COMPACTION, "enabled"), usual.enabled)
        branch = merged.find((BRANCH, "reserveTokens"))
        branch_reserve = (
            BRANCH_RESERVE_TOKENS if branch is None else _tokens((BRANCH, "reserveTokens"), branch)
        )
    except BadSetting as error:
        return PiSettings(problem=error)
    default = CompactionSettings(
        enabled=enabled,
        reserve_tokens=usual.reserve_tokens if reserve is None else reserve,
        keep_recent_tokens=usual.keep_recent_tokens if keep is None else keep,
    )
    overrides = {model: _override(merged, model) for model in merged.keys(OVERRIDES)}
    return PiSettings(
        compaction=CompactionTable(default, overrides),
        branch_reserve_tokens=branch_reserve,
        skip_branch_prompt=_truth(merged, (BRANCH, "skipPrompt"), False),
    )


def read_retry_settings(merged: Merged) -> RetrySettings:
    """The setting `retry`.

    Raises:
        BadSetting: a number of it is none. pi looks at none of them.
    """
    usual = RetrySettings()
    retries = merged.find(("retry", "maxRetries"))
    times = [
        _milliseconds(merged, ("retry", *path), default)
        for path, default in (
            (("baseDelayMs",), usual.base_delay_ms),
            (("maxAgentDelayMs",), usual.max_agent_delay_ms),
            (("provider", "maxRetryDelayMs"), usual.max_retry_delay_ms),
        )
    ]
    return RetrySettings(
        _truth(merged, ("retry", "enabled"), usual.enabled),
        usual.max_retries if retries is None else _tokens(("retry", "maxRetries"), retries),
        *times,
    )


def read_proxy(merged: Merged) -> str | None:
    """The setting `httpProxy`; only the layer of the agent dir may be in `merged`.

    Raises:
        BadSetting: it is no text. pi then ends as it starts.
    """
    found = merged.find(("httpProxy",))
    if found is None:
        return None
    if not isinstance(found.value, str):
        reason = f"must be an address in quotes, and is {show(found.value)}; correct it."
        raise BadSetting(found.file, "httpProxy", reason)
    return trim(found.value) or None


def read_idle_ms(merged: Merged) -> int:
    """The setting `httpIdleTimeoutMs` in milliseconds; 0: no limit.

    Raises:
        BadSetting: it is no time.
    """
    found = merged.find_raw(("httpIdleTimeoutMs",))
    if found is None:
        return HTTP_IDLE_MS
    value = found.value
    if isinstance(value, str):
        value = 0 if value.strip().lower() == "disabled" else _as_number(value.strip())
    if not is_number(value) or not 0 <= value < float("inf"):
        reason = f'must be milliseconds or "disabled", and is {show(found.value)}; correct it.'
        raise BadSetting(found.file, "httpIdleTimeoutMs", reason)
    return int(value)


def _as_number(text: str) -> float | None:
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def tokens_at(merged: Merged, path: Path) -> int | None:
    """A number of tokens; None where nothing is set.

    Raises:
        BadSetting: it is none, null included: pi refuses it here.
    """
    found = merged.find_raw(path)
    return None if found is None else _tokens(path, found)


def _tokens(path: Path, found: Found) -> int:
    value = found.value
    if is_number(value) and 0 <= value <= MAX_SAFE_INTEGER and value == int(value):
        return int(value)
    raise BadSetting(found.file, spell(path), f"{_WHOLE}, and is {show(found.value)}; correct it.")


def _milliseconds(merged: Merged, path: Path, default: float) -> float:
    found = merged.find(path)
    if found is None:
        return default
    value = found.value
    if is_number(value) and 0 <= value < float("inf"):
        return float(value)
    reason = f"must be milliseconds, from 0 on, and is {show(value)}; correct it."
    raise BadSetting(found.file, spell(path), reason)


def _truth(merged: Merged, path: Path, default: bool) -> bool:
    found = merged.find(path)
    return default if found is None else is_truthy(found.value)


def _override(merged: Merged, model: str) -> Override:
    path = (*OVERRIDES, model)
    found = merged.find_raw(path)
    if found is not None and not isinstance(found.value, dict):
        reason = f"must be an object in braces, and is {show(found.value)}; correct it."
        return Override(problem=BadSetting(found.file, spell(path), reason))
    try:
        return Override(
            tokens_at(merged, (*path, "reserveTokens")),
            tokens_at(merged, (*path, "keepRecentTokens")),
        )
    except BadSetting as error:
        return Override(problem=error)


def spell(path: Path) -> str:
    """A path as people write it: `compaction.modelOverrides["a/b"].reserveTokens`."""
    if path[: len(OVERRIDES)] == OVERRIDES and len(path) > len(OVERRIDES):
        model, *rest = path[len(OVERRIDES) :]
        return ".".join([f'{".".join(OVERRIDES)}["{model}"]', *rest])
    return ".".join(path)
