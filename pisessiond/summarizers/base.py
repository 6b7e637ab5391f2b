"""The contract of summarizers, and how they fail. It does no I/O itself.

A summarizer is chosen by name and asked for one text at a time. It writes nothing to any session;
what it returns was checked: it is not empty, was not cut for length, calls no tool and refuses
nothing. Cancelling `write` ends the HTTP stream or the program within half a second.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from pisessiond.core.summary_task import SummaryTask
from pisessiond.models.base import ModelFacts, ModelName

FailureReason: TypeAlias = Literal[
    "length",
    "empty",
    "toolCall",
    "refusal",
    "overflow",
    "auth",
    "quota",
    "overloaded",
    "timeout",
    "connection",
    "protocol",
    "program",
    "client",
    "error",
]
"""Why no usable summary came: cut for length, no text, a call instead of text, declined, more
than the model takes, a refused key, no money left, too much to do, too slow, no or a lost
connection, an answer that is none, a program or client that failed, anything else."""

Received: TypeAlias = Callable[[int], None]
"""Told how many characters (UTF-16 code units) have come so far; called on the event loop."""


class SummaryFailed(Exception):
    """No usable summary came. Nothing was written."""

    def __init__(self, summarizer: str, reason: FailureReason, sentence: str) -> None:
        """`sentence` says what happened and what to do, and holds neither keys nor content."""
        super().__init__(sentence)
        self.summarizer = summarizer
        self.reason = reason


class NoSummarizer(Exception):
    """No summarizer has that name, or nothing is set up and none was named."""

    def __init__(self, sentence: str, choices: Sequence[str]) -> None:
        super().__init__(sentence)
        self.choices = tuple(choices)
        """Names that would do."""


@dataclass(frozen=True, slots=True)
class Written:
    """A text that came back whole."""

    text: str
    """Trimmed; without the lists of files, which are added by us."""
    usage: dict[str, Any] | None = None
    """As pi writes it: input, output, cacheRead, cacheWrite, totalTokens, and `cost` with input,
    output, cacheRead, cacheWrite, total. None where the writer does not tell."""
    model: ModelName | None = None
    """Who wrote it, where that is a model."""


class Summarizer(Protocol):
    """One that was chosen."""

    name: str
    """As it was chosen: `extract`, `pi`, `anthropic/claude-…`, a name of the settings."""
    model: ModelName | None
    """Who will write, where that is known."""
    facts: ModelFacts
    """What is known of that model: its window bounds the input, its price the forecast."""
    is_extract: bool
    """Made without a model; its entries are marked in `details`."""

    async def write(self, task: SummaryTask, received: Received) -> Written:
        """The text.

        Raises:
            SummaryFailed: none that could be used came.
        """
        ...


Lend: TypeAlias = Callable[[SummaryTask, Received], Awaitable[Written]]
"""Asks a client that lends its model. The text is trimmed; where none comes or it is empty,
SummaryFailed is raised."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A summarizer that could be named."""

    name: str
    model: ModelName | None
    is_ready: bool
    reason: str | None
    """Why it is not ready, in a sentence with the next step; None when it is."""
    is_default: bool
    """The one that is taken when none is named."""


class Summarizers(Protocol):
    """All that can write summaries here."""

    async def choose(
        self,
        name: str | None,
        session_model: ModelName | None,
        lend: Lend | None,
        *,
        to_write: bool = True,
    ) -> Summarizer:
        """The summarizer of that name; without one that of the settings, else the session's model.

        Args:
            name: from the request.
            session_model: the model the session stands at.
            lend: asks a client; None when no client offers its model.
            to_write: False where it is only to be told of: no command of the user's runs for a
                key, so that it must not be asked for a text.

        Raises:
            NoSummarizer: there is none.
        """
        ...

    async def choices(self, session_model: ModelName | None, lend: Lend | None) -> Sequence[Choice]:
        """All that could be named, the default first."""
        ...


class NoSummarizers:
    """Nothing is set up; for tests."""

    async def choose(
        self,
        name: str | None,
        session_model: ModelName | None,
        lend: Lend | None,
        *,
        to_write: bool = True,
    ) -> Summarizer:
        del name, session_model, lend, to_write
        raise NoSummarizer("Nothing here can write a summary; give the text in `summary`.", ())

    async def choices(self, session_model: ModelName | None, lend: Lend | None) -> Sequence[Choice]:
        del session_model, lend
        return ()
