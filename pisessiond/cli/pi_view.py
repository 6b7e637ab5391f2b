"""Running pi in words and signs: what each is doing, and at which row of a tree it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pisessiond.client import answers

_DOING: Final = {
    "idle": "idle",
    "turn": "at work",
    "compaction": "compacting",
    "summary": "summarizing",
    "stalled": "not answering",
}
_URGENT: Final = ("waiting for its user", "not answering", "at work", "compacting", "summarizing")
"""What is told of several, the most wanted first."""


def doing(pi: answers.LivePi) -> str:
    """`idle`, `at work`, `waiting for its user`."""
    return "waiting for its user" if pi["waitingForUser"] else _DOING[pi["state"]]


def company(pis: Sequence[answers.LivePi]) -> str:
    """`pi: idle`, `2 pi: 1 at work`; empty where there is none."""
    if len(pis) < 2:
        return f"pi: {doing(pis[0])}" if pis else ""
    done = [doing(one) for one in pis]
    most = next((words for words in _URGENT if words in done), None)
    return f"{len(pis)} pi" + (f": {done.count(most)} {most}" if most else "")


def standing(
    opened: answers.OpenResult, rows: Sequence[Mapping[str, Any]], sign: str
) -> dict[str, str]:
    """The signs of the rows at which running pi stand; of several with their processes.

    Args:
        opened: the session.
        rows: as they are drawn; where none of them names its entry, a pi has no sign.
        sign: of one, with `pi` in it.
    """
    pis = opened.get("pis", [])
    places: dict[str, list[int]] = {}
    for pi in pis:
        place = _place(opened, rows, pi)
        if place is not None:
            places.setdefault(place, []).append(pi["pid"])
    names = {
        place: f"{len(pids)} pi" if len(pids) > 1 else f"pi {pids[0]}"
        for place, pids in places.items()
    }
    return {
        place: sign.replace("pi", name if len(pis) > 1 else "pi") for place, name in names.items()
    }


def _place(
    opened: answers.OpenResult, rows: Sequence[Mapping[str, Any]], pi: answers.LivePi
) -> str | None:
    """The innermost row that names the entry at which a pi stands."""
    leaf = pi["leaf"]
    if pi["owner"] or leaf == opened["leaf"]:
        return "here"
    if leaf is None:
        return None
    for row in reversed(rows):
        if row["kind"] != "here" and leaf in (row["last"], row["entry"], row["first"]):
            return str(row["id"])
    return None
