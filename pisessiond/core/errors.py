"""What can go wrong with a session, told apart by whose mistake it is.

`SessionError` is the base. A `RequestError` is the caller's (a missing entry, a bad parent);
a `SessionFileError` is the file's. Whenever one is raised, nothing has been changed.
"""

from __future__ import annotations


class SessionError(Exception):
    """Base of everything the rules of a session can refuse."""


class RequestError(SessionError):
    """The caller asked for something that this session cannot do."""


class SessionFileError(SessionError):
    """The bytes of a session are not what they should be."""


class EntryNotFound(RequestError):
    """No entry of this session has that id."""

    def __init__(self, entry_id: object) -> None:
        super().__init__(f"No entry has the id {entry_id!r}; the tree shows those there are.")
        self.entry_id = entry_id


class InvalidEntry(RequestError):
    """An entry offered for appending is not one that pi could read back."""

    def __init__(self, reason: str, path: str = "") -> None:
        where = f" at {path}" if path else ""
        super().__init__(f"The entry was refused{where}: {reason}")
        self.reason = reason
        self.path = path


class DuplicateEntry(RequestError):
    """An entry with that id is there already, and its body is another one."""

    def __init__(self, entry_id: object) -> None:
        super().__init__(f"Another entry already has the id {entry_id!r}; choose a new id.")
        self.entry_id = entry_id


class NotOnBranch(RequestError):
    """The entry exists, but not on the active branch, where the act needs it."""

    def __init__(self, entry_id: object) -> None:
        super().__init__(
            f"Entry {entry_id!r} is not on the active branch; navigate to its branch first."
        )
        self.entry_id = entry_id


class NothingToCompact(RequestError):
    """A compaction would summarise nothing."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"There is nothing to compact: {reason}")
        self.reason = reason


class CannotShrink(RequestError):
    """A compaction would not make the context smaller, or did not."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__(
            f"A compaction would not help: {before} tokens now, {after} after it; keep less "
            "(compaction.keepRecentTokens), or take large entries out of the context."
        )
        self.before = before
        """The context size now, in tokens."""
        self.after = after
        """What it would be, in tokens."""


class BadSetting(RequestError):
    """A settings file holds a value that means nothing."""

    def __init__(self, file: str, key: str, reason: str) -> None:
        """`file` as people know it, with `~` for the home."""
        super().__init__(f"{file}: {key} {reason}")
        self.file = file
        self.key = key


class NotASession(SessionFileError):
    """The file is not empty and does not begin with a session header."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This is not a session file: {reason} Its bytes were left untouched.")
        self.reason = reason


class ReadOnlySession(SessionFileError):
    """The session can be read but not written, and `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This session is read-only: {reason}")
        self.reason = reason


class NotMendable(SessionFileError):
    """No sound session can be made out of the file."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This session cannot be mended: {reason}")
        self.reason = reason
