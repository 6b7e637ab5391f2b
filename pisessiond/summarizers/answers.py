"""What a model answers, put together from what came so far, whatever the wire format.

`anthropic` and `openai` read their formats into an `Answer`; it knows no HTTP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from pisessiond.core.javascript import NotJson, parse_json, trim, utf16_length, well_formed
from pisessiond.summarizers.sse import Event

Stop: TypeAlias = Literal[
    "whole", "length", "toolCall", "refusal", "overflow", "broken", "paused", "unknown"
]
"""Why an answer ended: said to its end; cut at its limit; a call; declined; the window is full;
the provider failed underway; to be gone on with; a word that means nothing here."""

MAX_TEXT: Final = 4 << 20
"""The most characters of an answer; a summary has some ten thousand."""


class ProviderError(Exception):
    """The provider sent an error where an answer was to be. Holds the error as it came."""

    def __init__(self, body: Any) -> None:
        super().__init__("the provider answered with an error")
        self.body = body


class NotUnderstood(Exception):
    """What came is not in the format that was asked for."""


class TextTooLong(Exception):
    """The model does not come to an end."""


class Answer(ABC):
    """An answer as far as it has come."""

    def __init__(self) -> None:
        self.received = 0
        """UTF-16 code units of text so far."""
        self.stop: Stop | None = None
        """None: it is not at its end."""
        self.stop_word: str | None = None
        """The provider's own word for that."""
        self.calls_tool = False
        self.refuses = False
        self.is_over = False
        """Nothing more will come."""
        self.said_something = False
        """Whether anything of the format came at all."""
        self.usage: dict[str, Any] | None = None
        """The counts as pi writes them, without `cost`; None while nothing was told."""
        self.reported_cost: float | None = None
        """Dollars that the provider says it takes, where it says so."""
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """What was said, trimmed; halves of a character that came in two pieces are joined."""
        return trim(well_formed("".join(self._parts)))

    @abstractmethod
    def take(self, event: Event) -> None:
        """Take in one event of the stream.

        Raises:
            ProviderError: it is an error.
            NotUnderstood: it is nothing of this format.
            TextTooLong: there is more text than any summary has.
        """

    @abstractmethod
    def take_whole(self, body: Mapping[str, Any]) -> None:
        """Take in an answer that did not come as a stream; raises what `take` does."""

    def say(self, text: Any) -> None:
        """Add text; what is no text adds nothing."""
        if isinstance(text, str) and text:
            self._parts.append(text)
            self.received += utf16_length(text)
            if self.received > MAX_TEXT:
                raise TextTooLong

    def end(self, word: Any, meanings: Mapping[str, Stop]) -> None:
        """Note why it ended; None and what is no text say nothing."""
        if isinstance(word, str) and word:
            self.stop = meanings.get(word, "unknown")
            self.stop_word = word


def read_object(event: Event) -> dict[str, Any]:
    """The JSON object of an event.

    Raises:
        NotUnderstood: it holds none.
    """
    try:
        value = parse_json(event.data)
    except NotJson:
        raise NotUnderstood("an event of the stream is no JSON") from None
    if not isinstance(value, dict):
        raise NotUnderstood("an event of the stream is no JSON object")
    return value


def count(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return max(0, int(value)) if value < 2**53 else 0


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The object, or an empty one for what is none."""
    return value if isinstance(value, dict) else {}
