"""A row of the tree as one spoken sentence, for screen readers and for whoever asks where he is.

Role, text, label, states, branch, size, time; every client says the same (`tests/rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any, Final

from pisessiond.cli.figures import parse_time
from pisessiond.cli.plain_text import clean_line

_ROLES: Final = {
    "user": "You",
    "answer": "Answer",
    "work": "Work",
    "step": "Step",
    "bash": "Shell command",
    "note": "Note",
    "alternative": "Alternative",
    "group": "Alternatives",
    "meta": "Setting",
}
"""What stands before the title; the titles of the other kinds say it themselves."""

_OUTCOMES: Final = {"error": "Ended in an error", "aborted": "Aborted", "running": "Running"}

_STATES: Final = {
    "unsaved": "Unsaved",
    "problem": "A problem in the file",
    "omitted": "Out of the context",
    "replaced": "Replaced in the context",
    "external": "Written by another program",
}


def speak(row: Mapping[str, Any], zone: tzinfo | None = None, *, is_open: bool = False) -> str:
    """The sentences of one row, in the reader's zone (the machine's when None)."""
    return " ".join(f"{part}." for part in _parts(row, zone, is_open))


def _parts(row: Mapping[str, Any], zone: tzinfo | None, is_open: bool) -> Iterator[str]:
    title = clean_line(row["title"]).replace(" → ", " to ").replace("~", "about ")
    title = title.rstrip(".")
    role = _ROLES.get(row["kind"])
    yield f"{role}: {title}" if role else title[:1].upper() + title[1:]
    if row["label"]:
        yield f"Label {clean_line(row['label'])}"
    yield from _states(row)
    if row["fold"] != "none":
        yield "Open" if is_open else "Closed"
    if row["kind"] != "here":
        yield _branch(row["flags"])
    if row["size"] is not None:
        yield f"Context {_size(row['size'])}"
    if row["kind"] == "work" and row["duration"] is not None:
        yield f"Took {_duration(row['duration'])}"
    elif row["kind"] != "here" and (time := parse_time(row["time"], zone)) is not None:
        yield f"{time:%H:%M}"


def _states(row: Mapping[str, Any]) -> Iterator[str]:
    if row["outcome"] in _OUTCOMES:
        yield _OUTCOMES[row["outcome"]]
    if row["failed"]:
        yield f"{row['failed']} failed" if row["failed"] > 1 else "1 failed"
    if row.get("out") and "omitted" not in row["flags"]:
        yield f"{row['out']} out of the context"
    for flag, words in _STATES.items():
        if flag in row["flags"]:
            yield words
    if row["forks"]:
        count = len(row["forks"])
        yield "1 fork made here" if count == 1 else f"{count} forks made here"


def _branch(flags: list[str]) -> str:
    if "summarised" in flags:
        return "Summarised"
    if "ahead" in flags:
        return "Ahead of where you are"
    return "On the active branch" if "active" in flags else "On another branch"


def _size(size: Mapping[str, Any]) -> str:
    parts = [f"{_tokens(size['tokens'])} tokens"]
    if size["percent"] is not None:
        parts.append(f"{int(size['percent'] + 0.5)} percent")
    return ", ".join([*parts, size["source"]])


def _tokens(tokens: int) -> str:
    if tokens < 1_000:
        return str(tokens)
    if tokens < 9_950:
        return f"{(tokens + 50) // 100 / 10:g} thousand"
    if tokens < 999_500:
        return f"{(tokens + 500) // 1_000} thousand"
    return f"{(tokens + 50_000) // 100_000 / 10:g} million"


def _duration(milliseconds: int) -> str:
    seconds = (milliseconds + 500) // 1000
    parts = []
    for unit, size in (("hour", 3600), ("minute", 60), ("second", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}" + ("s" if count > 1 else ""))
    return " ".join(parts[:2]) or "no time"
