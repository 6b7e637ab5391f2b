"""When a new session appears on disk (SESSION-RULES section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pisessiond.core import kinds

FlushRule = Literal["first-assistant", "first-message", "immediate"]

_CALLS_FOR_FLUSH: dict[FlushRule, frozenset[int]] = {
    "first-assistant": frozenset({kinds.ASSISTANT}),
    "first-message": frozenset({kinds.USER, kinds.ASSISTANT}),
    "immediate": frozenset(range(256)),
}


def calls_for_flush(rule: FlushRule, entry_kinds: Iterable[int]) -> bool:
    """Whether a session holding entries of these kinds belongs on disk.

    `first-assistant` is pi's rule before 0.99, `first-message` its rule since. Under `immediate`
    the header alone suffices, so that even no entries answer True.
    """
    if rule == "immediate":
        return True
    calling = _CALLS_FOR_FLUSH[rule]
    return any(kind in calling for kind in entry_kinds)
