"""Event streams (`text/event-stream`), read as WHATWG's HTML standard says.

Two things are ours: a line and an event have a largest size, and what a server left without its
empty line at the end can still be had (`rest`), because some model servers end that way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_LINE: Final = 4 << 20
"""The longest line in bytes. Deltas are a few hundred; a whole answer in one line is far below."""

MAX_EVENT: Final = 8 << 20
"""The most bytes in the data of one event."""

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class StreamTooLarge(ValueError):
    """A line or an event is larger than anything that a model says."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream."""

    name: str
    """Its type; `message` where none is given."""
    data: str


class EventStream:
    """Takes bytes as they come and gives events as they are whole."""

    def __init__(self, *, max_line: int = MAX_LINE, max_event: int = MAX_EVENT) -> None:
        self._max_line = max_line
        self._max_event = max_event
        self._line: list[bytes] = []
        self._line_size = 0
        self._ended_with_cr = False
        self._is_first_line = True
        self._name = ""
        self._data: list[str] = []
        self._data_size = 0

    def feed(self, data: bytes) -> list[Event]:
        """The events that end in this piece.

        Raises:
            StreamTooLarge: a line or an event is too long; the stream cannot be read on.
        """
        if self._ended_with_cr and data.startswith(b"\n"):
            # The second half of a CR LF whose first half ended the line already.
            data = data[1:]
            self._ended_with_cr = False
        if not data:
            return []
        self._ended_with_cr = data.endswith(b"\r")
        *ends, unfinished = _LINE_END.split(data)
        events = []
        for end in ends:
            self._keep(end)
            if (event := self._take_line()) is not None:
                events.append(event)
        self._keep(unfinished)
        return events

    def rest(self) -> Event | None:
        """The event that the end of the stream left without its empty line.

        The standard throws it away; it may be torn.
        """
        return self._take_line() or self._dispatch()

    def _keep(self, part: bytes) -> None:
        if part:
            self._line.append(part)
            self._line_size += len(part)
            if self._line_size > self._max_line:
                raise StreamTooLarge("a line of the stream is too long")

    def _take_line(self) -> Event | None:
        line = b"".join(self._line)
        self._line.clear()
        self._line_size = 0
        if self._is_first_line:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._is_first_line = False
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        # A line that begins with a colon is a comment: its name is empty.
        if name == b"data":
            self._add_data(value.removeprefix(b" "))
        elif name == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
        return None

    def _add_data(self, value: bytes) -> None:
        self._data_size += len(value) + 1
        if self._data_size > self._max_event:
            raise StreamTooLarge("an event of the stream is too long")
        self._data.append(value.decode("utf-8", "replace"))

    def _dispatch(self) -> Event | None:
        event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
        self._name = ""
        self._data = []
        self._data_size = 0
        return event
