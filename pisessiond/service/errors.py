"""What the session service refuses, besides what the rules themselves refuse (core.errors)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pisessiond.service.types import EntryId


class ServiceError(Exception):
    """Base of the service's refusals. Nothing was changed when one is raised."""


class SessionNotFound(ServiceError):
    """No session has that handle or path."""

    def __init__(self, session: str, sentence: str | None = None) -> None:
        super().__init__(
            sentence
            or "No such session is open or on disk; list the sessions to see which there are."
        )
        self.session = session


class AmbiguousSession(ServiceError):
    """Several files carry this session id."""

    def __init__(self, session: str, paths: Sequence[str]) -> None:
        super().__init__(f"{len(paths)} files carry the id {session!r}; open one by its path.")
        self.session = session
        self.paths = tuple(paths)


class SessionExists(ServiceError):
    """A session with that id or at that path is there already."""

    def __init__(self, what: str) -> None:
        super().__init__(f"A session {what!r} exists already; open it or choose another id.")
        self.what = what


class FileExists(SessionExists):
    """A new file was to be written where something is already."""

    def __init__(self, path: str) -> None:
        ServiceError.__init__(self, "Something is at this path already; name a new file.")
        self.what = path


class LeafMoved(ServiceError):
    """The caller's `base_leaf` is not where the session stands (compare-and-set)."""

    def __init__(self, leaf: EntryId | None, rev: int) -> None:
        super().__init__(f"The leaf has moved to {leaf!r}; look at what changed, then try again.")
        self.leaf = leaf
        self.rev = rev


_DOING: Final[dict[str, str]] = {
    "compact": "compacts it",
    "summarise": "has a branch summarised",
    "fork": "forks it",
    "navigate": "moves its leaf",
    "delete": "deletes it",
}
"""What people call who runs an operation."""


class Busy(ServiceError):
    """Another operation holds the session."""

    def __init__(self, operation: str, client: str) -> None:
        doing = _DOING.get(operation, operation)
        super().__init__(f"The session is busy: {client} {doing}; wait or cancel it.")
        self.operation = operation
        self.client = client


class PiBusy(Busy):
    """The running pi that has the session open is at work, and this would harm that."""

    def __init__(self, operation: str, pid: int) -> None:
        is_mute = operation == "pi does not answer"
        ServiceError.__init__(
            self,
            f"pi {pid} does not answer; look at its terminal. Nothing was changed."
            if is_mute
            else f"pi {pid} is at work ({operation}); wait until it is idle, or stop it first.",
        )
        self.operation = operation
        self.client = "pi"
        self.pid = pid


class AmbiguousOwner(ServiceError):
    """Several running pi have the session open, and it was not said which is to do it."""

    def __init__(self, choices: Sequence[dict[str, Any]]) -> None:
        pids = ", ".join(str(one["pid"]) for one in choices)
        super().__init__(
            f"Several pi have this session open (processes {pids}); name one in `pi` (in a shell "
            "--pi PID), or go on in a fork."
        )
        self.choices = tuple(choices)


class Unsupported(ServiceError):
    """The running pi cannot do this from outside."""

    def __init__(self, reason: str, needs: str) -> None:
        super().__init__(f"{reason} It would need {needs}.")
        self.needs = needs


class SessionChanged(ServiceError):
    """The pi that is meant has another session open by now, or none."""

    def __init__(self, pid: int, session: str | None = None) -> None:
        super().__init__(f"pi {pid} does not have this session open any more; look where it is.")
        self.pid = pid
        self.session = session


class PiUnknown(ServiceError):
    """pi was asked and gave no answer; what it was asked may have been done."""

    def __init__(self, pid: int) -> None:
        super().__init__(
            f"pi {pid} gave no answer, and may have done it all the same; look before you try "
            "again."
        )
        self.pid = pid


class PiRefused(ServiceError):
    """The running pi refused for a reason that has no word here; the sentence is its own."""


class OperationCancelled(ServiceError):
    """The operation was ended by someone; nothing was written."""

    def __init__(self, operation: str, by: str | None) -> None:
        who = f" by {by}" if by else ""
        super().__init__(f"The {operation} was cancelled{who}; nothing was written.")
        self.operation = operation
        self.by = by


STOPPED: Final = "The daemon was stopped; nothing was written."
"""What whoever waited for something is told when the daemon ends before it was done."""


class DaemonStopped(OperationCancelled):
    """The operation was ended because the daemon ends; nothing was written."""

    def __init__(self, operation: str) -> None:
        ServiceError.__init__(self, STOPPED)
        self.operation = operation
        self.by = None


class InvalidRequest(ServiceError):
    """A parameter has the right shape but no meaning here."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class ReadOnly(ServiceError):
    """The session can be read but not written."""

    def __init__(self, reason: str, owner: str | None = None) -> None:
        super().__init__(f"This session is read-only: {reason}")
        self.reason = reason
        self.owner = owner
        """Which other process of ours writes to it; None when that is not the reason."""


class Unreadable(ServiceError):
    """The session is there, but the system does not let the daemon read it."""

    def __init__(self, reason: str) -> None:
        step = "look at its permissions" if "ermi" in reason else "name a session file"
        super().__init__(f"The session cannot be read ({reason}); {step}.")
        self.reason = reason


class Degraded(ServiceError):
    """A write failed and was taken back; memory and leaf are as before."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The write failed ({reason}) and was taken back; try again.")
        self.reason = reason


class NotSynced(Degraded):
    """The disk failed, so that a write may be lost; the session is read-only until opened anew."""

    def __init__(self, reason: str, *, is_kept: bool) -> None:
        copy = " A copy of what was to be written is in the state folder." if is_kept else ""
        ServiceError.__init__(
            self,
            f"The disk failed to take the write ({reason}), which may be lost: the session is "
            f"read-only until it is opened anew.{copy}",
        )
        self.reason = reason


class NotThrownAway(ServiceError):
    """A session's file could not be moved to the trash; it is where it was."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The session could not be moved to the trash ({reason}) and stays where it is; "
            "remove its file by hand if it is to go for good."
        )
        self.reason = reason


class TooLarge(ServiceError):
    """An answer would be larger than one may be."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"It is larger than {limit >> 20} MiB; name a path to write it to.")
        self.limit = limit


class FileChanged(ServiceError):
    """Another program changed what had been read, so that the act could not be decided."""

    def __init__(self, reason: str, step: str = "open it anew") -> None:
        super().__init__(f"Another program changed the session file ({reason}); {step}.")
        self.reason = reason
