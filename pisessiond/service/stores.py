"""Where the sessions of a daemon are kept, and what is remembered of their files."""

from __future__ import annotations

from dataclasses import dataclass

from pisessiond.storage.base import Catalogue, Glances, SessionStore, TextSearch


@dataclass(frozen=True, slots=True)
class Stores:
    """Where sessions are kept: on disk, and as long as the daemon lives."""

    jsonl: SessionStore
    memory: SessionStore
    catalogue: Catalogue
    """Remembers what session files say."""
    glances: Glances
    texts: TextSearch | None = None
    """Knows the words of session files; None where the system has nothing for it."""
