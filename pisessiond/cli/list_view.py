"""The list of sessions as lines of text: pure functions of the wire's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from pisessiond.cli.figures import count, format_day, parse_time
from pisessiond.cli.pi_view import company
from pisessiond.cli.plain_text import clean_line, cut
from pisessiond.cli.row_view import size_texts
from pisessiond.client import answers

FORK = "⑂"
ASCII_FORK = "Y"

_POINT_CELLS = 30
"""Cells of what a fork began at."""


def session_lines(
    sessions: Sequence[answers.ListedSession],
    width: int,
    zone: tzinfo | None = None,
    *,
    fork: str = FORK,
) -> Iterator[str]:
    """Families of forks, each member indented below the one it was forked from.

    Open or not, day and time, messages, size at the end and its percent of the window, id, title
    and what is special about it.
    """
    for one in sessions:
        time = parse_time(one["modified"], zone)
        when = f"{format_day(time):>5} {time:%H:%M}" if time else " " * 11
        mark = "●" if one["open"] else "+" if one["unsaved"] else "○"
        size = one.get("contextSize")
        tokens, percent = size_texts(size)
        facts = f"{mark} {when} {one['messages']:>5} {tokens or '?':>6} {percent:>4}"
        head = f"{facts}  {clean_line(one['session'])}  "
        yield cut(head + _indent(one, fork) + _title(one) + _notes(one), width)


def _indent(one: answers.ListedSession, fork: str) -> str:
    if not one.get("parentSession"):
        return ""
    return "  " * max(0, one.get("depth", 0) - 1) + f"{fork} "


def _title(one: answers.ListedSession) -> str:
    """A fork is told by what came after its point: all of a family begin with the same words."""
    point = one.get("fork")
    first = point["firstMessage"] if point else None
    return clean_line(one["name"] or first or one["firstMessage"] or "") or "no message yet"


def _notes(one: answers.ListedSession) -> str:
    notes = []
    if running := company(one.get("pis", [])):
        notes.append(running)
    elif one.get("live"):
        notes.append("live")
    if one["open"] > 1:
        notes.append(count(one["open"], "client"))
    point = one.get("fork")
    if point is not None and point["preview"]:
        notes.append(f'at "{cut(clean_line(point["preview"]), _POINT_CELLS)}"')
    if one.get("cwdMissing"):
        notes.append(f"{clean_line(one['cwd'])} is gone")
    return "".join(f" · {note}" for note in notes)


def list_notes(answer: answers.ListResult, *, is_cut: bool) -> Iterator[str]:
    """What there is to say below the list."""
    if is_cut:
        yield "… more with --limit"
    if unread := answer.get("unread", 0):
        yield f"{count(unread, 'file')} not read yet; ask again in a moment"
    missing = next((one for one in answer["sessions"] if one.get("cwdMissing")), None)
    if missing is not None:
        session = clean_line(missing["session"])
        yield f"where a folder is gone, go on elsewhere: pisessiond fork {session} --cwd DIR"


def folder_lines(answer: answers.ListResult, *, is_some: bool = False) -> Iterator[str]:
    """Where sessions were looked for, told where none was found; `is_some`: only some counted."""
    which = "such session" if is_some else "session"
    for folder in answer.get("folders", []):
        shared = ", by what their headers say" if folder["shared"] else ""
        yield f"no {which} in {clean_line(folder['path'])}{shared}"
