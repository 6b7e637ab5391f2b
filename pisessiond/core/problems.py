"""What a session file can be reported for. An unknown kind of entry is not a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the file that could not be taken as it stands."""

    kind: str
    """A stable word: badLine, notAnObject, noId, orphan, cycle, duplicateId, noMessage,
    leafTarget, leafReadings, firstKept, newerVersion, tornTail; about no line but about writing
    it: degraded, and once that is over recovered."""
    message: str
    line: int | None = None
    """Counted from 1; None when it is about no line."""
    offset: int | None = None
    """Byte offset of that line's first byte."""
    entry: Any = None
    """The id of the entry it is about; None when it has none."""

    @property
    def consequence(self) -> str:
        """What it means for whoever reads the session, in one sentence."""
        return CONSEQUENCES.get(self.kind, "")


CONSEQUENCES: Final = {
    "badLine": "The line is kept in the file and left out of the session.",
    "notAnObject": "The line is kept in the file and left out of the session.",
    "noId": "Nothing can refer to it: it is kept in the file and left out of the session.",
    "orphan": "It begins a tree of its own: what came before it is not in its context.",
    "cycle": "It begins a tree of its own here; pi does not come back from opening the file.",
    "duplicateId": "This one is in no tree and no context; pi shows the later one twice.",
    "noMessage": "The model is sent nothing for it; pi cannot build a context that holds it.",
    "leafTarget": "The session stands at the entry before it; pi stands at this very entry.",
    "leafReadings": "pi goes on from here with another context than is shown.",
    "firstKept": "After it the model sees the summary and nothing older, in pi too.",
    "newerVersion": "It is shown as far as it is understood, and nothing is written to it.",
    "tornTail": "The beginning of a line is lost to its writer; what came before it is whole.",
    "degraded": "Nothing was changed by what could not be written; it can be tried again.",
    "recovered": "What was refused meanwhile can be tried again.",
}
"""By kind."""
