"""Making a sound session out of a damaged one: what lines a new file gets.

The new file is read by pi as the damaged one is read here: the same tree, leaf, labels and
context. An entry is changed only where pi would see something else, or where it would stay a
problem; everything else is copied byte for byte. What is no entry is left out, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pisessiond.core import kinds
from pisessiond.core.anchors import place_entry
from pisessiond.core.entries import complete_entry, encode_entry
from pisessiond.core.index import NONE
from pisessiond.core.javascript import is_truthy, parse_json, stringify
from pisessiond.core.lines import OddLine, read_line
from pisessiond.core.members import member_value, replace_members
from pisessiond.core.migration import migrate_header
from pisessiond.core.session import Session
from pisessiond.core.sizes import first_kept_row

NO_MESSAGE_TYPE = "pisessiond.noMessage"
"""The `customType` of what was a message entry without a message."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A line that was left out or changed."""

    line: int
    """Counted from 1, in the damaged file."""
    offset: int
    what: str
    """What was done, in words."""
    entry: object = None
    """The id of its entry; None when it has none."""


@dataclass(slots=True)
class Repair:
    """A sound session."""

    lines: list[bytes] = field(default_factory=list)
    """The header and every entry, without line feeds."""
    left_out: list[Mended] = field(default_factory=list)
    changed: list[Mended] = field(default_factory=list)
    has_new_anchor: bool = False
    """Whether an entry was added at the end that keeps the leaf where it was."""


def repair_session(
    session: Session,
    runs: Iterable[tuple[int, list[bytes]]],
    new_id: Callable[[], str],
    timestamp: str,
) -> Repair:
    """The lines of a sound session that is read as `session` is.

    Args:
        session: as it was loaded from the runs.
        runs: the damaged file's lines, each run with the offset of its first one.
        new_id: gives a random entry id; called again while it gives one that is taken.
        timestamp: the time of an entry that has to be added, as ISO 8601.
    """
    repair = Repair()
    rows = {at: row for row, at in enumerate(session.index.at)}
    number = 0
    for offset, lines in runs:
        for line in lines:
            number += 1
            row = rows.get(offset)
            if row is not None:
                _take_entry(repair, session, row, line)
            elif not repair.lines and line == session.header_line:
                header = migrate_header(line) if session.needs_migration else line
                repair.lines.append(header.strip(b" \t\r\n"))
            else:
                _take_other(repair, line, number, offset)
            offset += len(line) + 1
    _keep_leaf(repair, session, new_id, timestamp)
    return repair


def _take_entry(repair: Repair, session: Session, row: int, line: bytes) -> None:
    index = session.index
    place = index.line[row], index.at[row]
    if index.kind[row] == kinds.REPLACED:
        what = "left out: a later line has its id"
        repair.left_out.append(Mended(*place, what, index.ids[row]))
        return
    values: dict[str, bytes] = {}
    done: list[str] = []
    line = session.migrated(row, line).strip(b" \t\r\n")
    if index.parent[row] == NONE and _names_parent(line):
        values["parentId"] = b"null"
        done.append("made a root, as it is shown")
    if index.kind[row] == kinds.NO_MESSAGE:
        values |= {"type": b'"custom"', "customType": stringify(NO_MESSAGE_TYPE).encode()}
        done.append(f"made an entry of type custom ({NO_MESSAGE_TYPE}), which gives no message")
    if index.kind[row] == kinds.COMPACTION and first_kept_row(index, row) == row:
        own = stringify(index.ids[row]).encode()
        if member_value(line, "firstKeptEntryId") != own:
            values["firstKeptEntryId"] = own
            done.append("made to say that it keeps nothing before it, as it is read")
    if values:
        line = replace_members(line, values)
        repair.changed.append(Mended(*place, "; ".join(done), index.ids[row]))
    repair.lines.append(line)


def _names_parent(line: bytes) -> bool:
    parent = member_value(line, "parentId")
    return parent is not None and is_truthy(parse_json(parent))


def _take_other(repair: Repair, line: bytes, number: int, offset: int) -> None:
    understood = read_line(line)
    if isinstance(understood, OddLine):
        what = f"left out: {understood.reason[:1].lower()}{understood.reason[1:].rstrip('.')}"
        repair.left_out.append(Mended(number, offset, what))
    elif understood is not None:
        # A second header: nobody minds it, and it is somebody's bytes.
        repair.lines.append(line.strip(b" \t\r\n"))


def _keep_leaf(repair: Repair, session: Session, new_id: Callable[[], str], timestamp: str) -> None:
    """Add an anchor where pi would stand elsewhere than the session does."""
    index = session.index
    last = len(index) - 1
    if last < 0 or session.leaf_as_pi == last:
        return
    entry_id = new_id()
    while index.find(entry_id) is not None:
        entry_id = new_id()
    given = place_entry("anchor", session.leaf_id, None)
    entry = complete_entry(given, entry_id, given["parentId"], timestamp)
    repair.lines.append(encode_entry(entry))
    repair.has_new_anchor = True
