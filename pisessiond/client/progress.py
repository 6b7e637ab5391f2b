"""How a client hears how far one of its requests is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from pisessiond.client.answers import WorkDone

OnProgress: TypeAlias = Callable[[WorkDone], None]
"""Told that a long request begins, goes on, ends; must not block."""

PROGRESS: Final = "$/progress"
CANCEL: Final = "$/cancelRequest"


def token_of(number: int) -> str:
    """The `workDoneToken` of a request, unlike any that a program may choose for one of its own."""
    return f"call {number}"
