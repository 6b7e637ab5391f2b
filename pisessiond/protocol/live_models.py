"""Running pi as the daemon's clients see them, and what clients ask of one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictInt, StrictStr

from pisessiond.protocol.pi_models import PiMode
from pisessiond.protocol.wire import EntryId, SessionMutationParams, WireModel


class LivePi(WireModel):
    """A pi that has a session open now."""

    pid: int
    """Names it in the member `pi` of a request."""
    mode: PiMode
    """How it runs."""
    version: str
    """pi's version."""
    state: Literal["idle", "turn", "compaction", "summary", "stalled"]
    """What it is doing; stalled: it does not answer."""
    waiting_for_user: bool
    """A dialog of pi's is open."""
    pending: int
    """Messages that wait for the end of its run."""
    drives: bool
    """Whether it can be moved and prompted from here."""
    why: str | None = None
    """Why it cannot, in a sentence."""
    owner: bool
    """It alone has the session open, and everything is written by it."""
    unseen: int
    """Entries in the file that it has not read; 0: none."""
    leaf: EntryId | None
    """Where it stands."""
    nested: bool = False
    """Another pi's shell began it."""


class PromptParams(SessionMutationParams):
    """A prompt for the pi that has the session open."""

    text: StrictStr = Field(min_length=1)
    """The words."""
    deliver_as: Literal["steer", "followUp"] | None = None
    """While a run is on: between its steps, or behind it; absent: behind it."""
    pi: StrictInt | None = None
    """Pid of the one that is meant, where several have it open."""


class PromptResult(WireModel):
    """pi has taken it."""

    rev: int
    """The session's revision."""
    leaf: EntryId | None
    """The leaf now."""
    entry: EntryId | None = None
    """The user message; absent while it waits."""
    queued: bool
    """It waits for the end of the run, or its next step."""


class RereadParams(SessionMutationParams):
    """A pi is to read what others have written to its session's file; only when it is idle."""

    pi: StrictInt | None = None
    """Pid of the one that is meant, where several have it open."""


class AbortParams(SessionMutationParams):
    """Stops what a pi runs in this session."""

    pi: StrictInt | None = None
    """Pid of the one that is meant, where several have it open."""
