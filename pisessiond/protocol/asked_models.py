"""Requests that the daemon sends to clients which announced them in `requests`."""

from __future__ import annotations

from typing import Literal

from pydantic import StrictBool, StrictStr

from pisessiond.protocol.act_models import CompactionPreview, MovePreview
from pisessiond.protocol.wire import EntryId, JsonObject, WireModel


class WillCompactParams(WireModel):
    """A compaction is about to be made. No answer within five seconds counts as none."""

    session: str
    """The handle."""
    operation_id: str
    """Of `session/didProgress`."""
    reason: Literal["manual", "threshold"]
    """Asked for, or because the context had become too large."""
    preparation: CompactionPreview
    """What would be cut and kept."""


class WillNavigateParams(WireModel):
    """The leaf is about to move. No answer within five seconds counts as none."""

    session: str
    """The handle."""
    operation_id: str
    """Of `session/didProgress`."""
    target: EntryId | None
    """What was asked for; null: before the first entry."""
    summarize: bool
    """Whether the branch that is left will be summarised."""
    preparation: MovePreview
    """What the move would do."""


class WillResult(WireModel):
    """A client's word on what is about to happen; every member may be left out."""

    cancel: StrictBool = False
    """It is not to happen."""
    summary: StrictStr | None = None
    """Stands instead of what the summarizer would write."""
    details: JsonObject | None = None
    """Stored beside that summary."""
    usage: JsonObject | None = None
    """What writing that summary used, as pi writes it."""
    custom_instructions: StrictStr | None = None
    """Stands instead of those of the request."""
    label: StrictStr | None = None
    """Stands instead of that of the request; of a move only."""


class SummarizeParams(WireModel):
    """A text for the client's model to answer. Ten minutes; then it is cancelled."""

    session: str
    """The handle."""
    operation_id: str
    """Of `session/didProgress`."""
    kind: Literal["history", "turnPrefix", "branch"]
    """What is summarised."""
    system: str
    """What the model is, for its system prompt."""
    prompt: str
    """What it is asked, as the user's word."""
    max_tokens: int
    """How long its answer may get, in tokens."""


class SummarizeResult(WireModel):
    """What the client's model answered."""

    summary: StrictStr
    """The text; empty counts as a failure."""
    usage: JsonObject | None = None
    """As pi writes it; absent where it is not known."""
    model: StrictStr | None = None
    """Who wrote it, as `provider/modelId`."""
