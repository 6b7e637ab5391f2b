"""One text that a summarizer is asked for, before it is put into anybody's words.

A compaction asks for one, or for two when it splits a turn; a move asks for one. What is asked is
kept as messages, so that a model can be sent a prompt made from them and `extract` can do without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pisessiond.core.projection import Message

TaskKind: TypeAlias = Literal["history", "turnPrefix", "branch"]
"""The history a compaction cuts off; the beginning of the turn it splits; a branch that is left."""


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """What one text is to be made from."""

    kind: TaskKind
    messages: tuple[Message, ...]
    """Of the active branch only, oldest first, edits applied."""
    previous_summary: str | None = None
    """The summary to be brought up to date; with `history` only."""
    instructions: str | None = None
    """The user's own wishes."""
    replaces_instructions: bool = False
    """The wishes stand instead of the usual sections rather than beside them."""
    max_tokens: int = 13_107
    """How long the text may get, in tokens."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A task in words, for a model."""

    system: str
    user: str
