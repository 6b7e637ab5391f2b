"""What a session file can be reported for. An unknown kind of entry is not a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the file that could not be taken as it stands."""

    kind: str
    """A stable word: badLine, notAnObject, noId, orphan, cycle, duplicateId, noMessage,
    leafTarget, leafReadings, firstKept, newerVersion, tornTail."""
    message: str
    line: int | None = None
    """Counted from 1; None when it is about no line."""
    offset: int | None = None
    """Byte offset of that line's first byte."""
    entry: Any = None
    """The id of the entry it is about; None when it has none."""
