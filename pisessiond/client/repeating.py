"""Which requests may be made again when a connection ended before their answer came.

Nobody knows then whether they were carried out. Questions may be asked twice; of the acts, those
whose second time changes nothing: an append whose entries have ids, and what sets something to a
value. A second fork would be a second file, and a file that was written or deleted is in the way
of the second time. pi may have taken a prompt, and would answer it twice; of a run that was to be
stopped, the next one may be running by now.

A summary is an entry of its own, and may have been paid for. Its act is made again only with both
a `requestId`, for which the same daemon repeats the answer, and a `baseLeaf`, by which another
daemon notices what the first one wrote.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

_NEVER: Final = frozenset(
    (
        "session/create",
        "session/fork",
        "session/clone",
        "session/import",
        "session/delete",
        "session/prompt",
        "session/abort",
        "daemon/shutdown",
    )
)

PATIENCE: Final = 30.0
"""Seconds until a daemon that does not come back is given up."""

RESTORED = "client/restored"
"""The topic's notification, made here, that a session was opened again on a new connection."""

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0


def may_repeat(method: str, params: dict[str, Any] | None) -> bool:
    """Whether a request without an answer may be made again."""
    given = params or {}
    if method == "session/append":
        entries = given.get("entries", [given.get("entry")])
        return all(isinstance(one, dict) and "id" in one for one in entries)
    if method == "session/navigate":
        # A label is an entry of its own too.
        writes = bool({"summary", "summarize", "label"} & given.keys())
        return not writes or "dryRun" in given or _knows_its_second_time(given)
    if method == "session/compact":
        if given.get("dryRun") == "summary":
            # Writes nothing, but asks a model.
            return "requestId" in given
        return "dryRun" in given or _knows_its_second_time(given)
    if method == "session/cancel":
        # Whatever runs may be another operation by now.
        return "operationId" in given
    if method == "session/export":
        return "path" not in given
    return method not in _NEVER


def _knows_its_second_time(given: dict[str, Any]) -> bool:
    return {"requestId", "baseLeaf"} <= given.keys()


def pauses() -> Iterator[float]:
    """Growing pauses between attempts, each a little off, so that clients spread out."""
    pause = _FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.7, 1.3)
        pause = min(pause * 2, _LONGEST_PAUSE)
