"""What the user's settings say for the sessions of one folder. The contract; it reads no file.

pi's own settings (`settings.json`, the global one under the project's) say how much a compaction
keeps; our own when a size is shown as large and whether the daemon compacts by itself.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Protocol

from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.errors import BadSetting
from pisessiond.core.pi_settings import BRANCH_RESERVE_TOKENS, CompactionTable
from pisessiond.models.base import ModelName


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which percent of the window a size is shown as large."""

    warn: float = 70.0
    high: float = 90.0


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """The settings for one folder at one moment."""

    compaction: CompactionTable = field(default_factory=CompactionTable)
    branch_reserve_tokens: int = BRANCH_RESERVE_TOKENS
    """Room left in the window when a branch is summarised (pi: `branchSummary.reserveTokens`)."""
    skip_branch_prompt: bool = False
    """Moves are not to ask whether to summarise (pi: `branchSummary.skipPrompt`)."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    compacts_automatically: bool = False
    """Whether the daemon compacts by itself (ours, not pi's `compaction.enabled` alone)."""
    problem: BadSetting | None = None
    """What in pi's files means nothing whichever the model; everything is then as by default, and
    what depends on it refuses with this."""

    def compaction_for(self, model: ModelName | None) -> CompactionSettings:
        """How a session at that model is compacted."""
        return self.compaction.resolve(None if model is None else str(model))

    def problem_for(self, model: ModelName | None) -> BadSetting | None:
        """What a compaction at that model has to refuse with: `problem`, or the model's override.

        As with pi, a bad override of one model keeps no other from being compacted.
        """
        return self.problem or self.compaction.problem_with(None if model is None else str(model))


def folder_of(cwd: object, path: str | None) -> str:
    """The folder whose settings a session goes by: its own, else the one its file is in.

    Args:
        cwd: as its header has it, which may be anything.
        path: of its file; None without one.
    """
    return cwd if isinstance(cwd, str) else os.path.dirname(path or "/")


class Settings(Protocol):
    """Whoever reads the settings."""

    def for_folder(self, cwd: str) -> FolderSettings:
        """What they say now. May read files, so it belongs in a worker; never raises.

        As long as no file changes it is the same object.
        """
        ...


class DefaultSettings:
    """Nothing is set."""

    def for_folder(self, cwd: str) -> FolderSettings:
        del cwd
        return FolderSettings()
