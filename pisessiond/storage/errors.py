"""What a store can fail with. Each says what was found and what to do next."""

from __future__ import annotations


class StoreError(Exception):
    """Base of a store's failures. What was acknowledged before stays as it is."""


class NoSuchSession(StoreError):
    """There is nothing at that path."""

    def __init__(self, path: str) -> None:
        super().__init__("There is no session file at this path.")
        self.path = path


class Unreadable(StoreError):
    """The session is there, but the system does not let us read it."""

    def __init__(self, path: str, reason: str) -> None:
        step = "look at its permissions" if "ermi" in reason else "name a session file"
        super().__init__(f"The session file cannot be read ({reason}); {step}.")
        self.path = path
        self.reason = reason


class SessionFileExists(StoreError):
    """A new session was to be written where a file is already."""

    def __init__(self, path: str) -> None:
        super().__init__("A file is already where the new session was to be written.")
        self.path = path


class NotWritable(StoreError):
    """The folder or file does not let us write."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The session cannot be written ({reason}); look at its permissions.")
        self.reason = reason


class Degraded(StoreError):
    """A write failed (disk full, say); the session stands as before the act."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The write failed ({reason}) and was taken back; try again.")
        self.reason = reason


class NotSynced(StoreError):
    """The system could not say that a write is on disk.

    Nothing more is written until the log is scanned anew.
    """

    def __init__(self, reason: str, kept: str | None = None) -> None:
        super().__init__(f"the disk failed to take a write ({reason}); open the session anew.")
        self.reason = reason
        self.kept = kept
        """Where a copy of the lines is; None when there is none."""


class FileChanged(StoreError):
    """The file is no longer the one that was read: truncated, rewritten or replaced."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The session file was changed by another program ({reason}).")
        self.reason = reason


class CatalogueLost(StoreError):
    """What was remembered of session files had to be thrown away; the files are untouched."""

    def __init__(self) -> None:
        super().__init__("The catalogue of sessions failed and is made anew; ask again.")


class NotThrownAway(StoreError):
    """The file could not be moved to the trash; it is where it was."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The file could not be moved to the trash ({reason}); it is untouched.")
        self.reason = reason
