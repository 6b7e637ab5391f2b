"""pi's settings as far as sessions depend on them: how compactions and branch summaries are made.

Pure functions over the texts of `settings.json`; the rules are those of pi 1.6.0's
`SettingsManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pisessiond.core.compaction import CompactionSettings


@dataclass(frozen=True, slots=True)
class Override:
    """What is set for one model; None falls back on the ordinary value."""

    reserve_tokens: int | None = None
    keep_recent_tokens: int | None = None


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
