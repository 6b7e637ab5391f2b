"""What a running pi says of its session, and what it is answered."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pisessiond.core.lines import EntryId
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.live.pi import PiSession, PiState

Reason: TypeAlias = Literal["startup", "reload", "new", "resume", "fork", "reconnect"]


@dataclass(frozen=True, slots=True)
class Attach:
    """A pi says what it has open."""

    gen: int
    reason: Reason
    session: PiSession
    state: PiState
    entries: Sequence[dict[str, Any]] | None = None
    """All of them, where they are in no file."""

    def insist_sound(self) -> None:
        """Raises: InvalidRequest: its file is at no path."""
        file = self.session.file
        if file is not None and not is_path(file):
            raise InvalidRequest("session.file", "must be an absolute path.")


@dataclass(frozen=True, slots=True)
class Attached:
    """How the daemon sees it."""

    session: str
    """The handle."""
    owner: bool
    unseen: int
    position: EntryId | None = None
    """Where clients had left the leaf, for pi to go there; None: its own place counts."""


@dataclass(frozen=True, slots=True)
class PiChange:
    """A pi says that entries came, or that its leaf moved."""

    gen: int
    seq: int
    leaf: EntryId | None
    count: int
    entries: Sequence[dict[str, Any]]
    """Of a session without a file whole ones."""
    on_disk: bool


def is_path(file: str) -> bool:
    """Whether a file can be there."""
    try:
        return os.path.isabs(file) and b"\0" not in os.fsencode(file)
    except UnicodeEncodeError:
        return False


def sound(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those entries that have an id; no pi has others."""
    return [one for one in entries if isinstance(one.get("id"), str | int | float)]
