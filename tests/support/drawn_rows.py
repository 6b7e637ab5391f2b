"""Sessions drawn in words, sessions that grow in memory, and all their rows drawn as text.

A drawing names one entry a word, in file order, each under the one before it: `a1<u1` stands under
`u1`, `u9<` is a root. The first letter says what it is: u(ser), a(nswer), t(ext and a call),
c(all alone), r(esult), f(ailed answer), x (stopped answer), b(ash), n(ote), h(idden note),
s(ystem), m(odel), k (thinking level), l(abel), e(dit), C(ompaction), S(ummary of a branch),
`.` anything silent. Behind a colon stands what it is about: `r1:bash` the tool (`!` when it
failed), `C1:u2` the first kept entry, `l1:u2=good`, `e1:r1` an omission.

Rows are drawn one a line, indented by level: id, what is unlike the id's own kind, entries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pisessiond.core.index import NONE
from pisessiond.core.lines import Head, read_line
from pisessiond.core.rows.building import Builder, Known, edited_at
from pisessiond.core.rows.cutting import Segment
from pisessiond.core.rows.levels import Tree
from pisessiond.core.rows.lines import Lines, Ways
from pisessiond.core.rows.row import Filter, Row
from pisessiond.core.rows.shapes import Shapes
from pisessiond.core.session import Session, load_session
from tests.support.naive import iso

Entry = dict[str, Any]

_HEADER: Final = {"type": "session", "version": 3, "id": "drawn", "timestamp": iso(0), "cwd": "/"}


class Growing:
    """A session in memory that entries are appended to."""

    def __init__(self, data: bytes) -> None:
        self._data = bytearray(data)
        lines = data.split(b"\n")[:-1]
        self.take(load_session([(0, lines)], self._read))

    def take(self, session: Session) -> None:
        """Begin with a session as it is."""
        self.session = session
        self.session.measure_rest()
        self.shapes = Shapes()
        self.shapes.fill(self.session)
        self.ways = Ways(self.session)

    def _read(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        return [bytes(self._data[at : at + length]) for at, length in places]

    def append(self, entry: Entry, *, moves: bool = True) -> int:
        """Add an entry, and move the leaf to it where it stands under the leaf; its row."""
        line = json.dumps(entry).encode()
        head = read_line(line)
        assert isinstance(head, Head)
        at = len(self._data)
        self._data += line + b"\n"
        session = self.session
        row = session.take_in(head, line, at)
        self.shapes.add(session.index.kind[row], entry)
        self.ways.appended(row)
        target = session.index.find(entry.get("targetId"))
        if entry["type"] == "context_edit" and target is not None:
            # So does whoever holds a session, that sizes may be told at once.
            session.keep([(target, session.entry(target))])
        if moves and session.index.parent[row] == session.leaf:
            session.leaf = row
        return row

    def move(self, row: int) -> None:
        self.ways.left(self.session.leaf)
        self.session.leaf = row

    def tree(self, filter_name: Filter = "default", leaf: int | None = None) -> Tree:
        """What rows are made from, as the session stands, or as if it stood at `leaf`."""
        leaf = self.session.leaf if leaf is None else leaf
        lines = Lines(self.session, self.ways, leaf)
        return Tree(self.session, self.shapes, lines, filter_name)

    def known(self, leaf: int | None = None) -> Known:
        session = self.session
        leaf = session.leaf if leaf is None else leaf
        if session.index.has_forward_edit or leaf == NONE:
            return Known()
        return Known(edited=edited_at(session.sizes.edits_at(leaf), session.entry))


def written(entries: Iterable[Entry]) -> bytes:
    """A session file of these entries."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in (_HEADER, *entries))


def drawn(drawing: str) -> Growing:
    """The session of a drawing; it stands at its last entry."""
    return Growing(written(entries_of(drawing)))


def entries_of(drawing: str, second: int = 0, above: str | None = None) -> list[Entry]:
    """The entries of a drawing, a second apart."""
    made: list[Entry] = []
    for word in drawing.split():
        name, _, about = word.partition(":")
        entry_id, branches, parent = name.partition("<")
        above = (parent or None) if branches else above
        head = {"id": entry_id, "parentId": above, "timestamp": iso(second + len(made))}
        made.append({**_body(entry_id, about), **head})
        above = entry_id
    return made


def _body(entry_id: str, about: str) -> Entry:
    text = {"type": "text", "text": f"{entry_id} says"}
    call = {"type": "toolCall", "id": "t", "name": about or "bash", "arguments": {"command": "go"}}
    answer: Entry = {"role": "assistant", "provider": "p", "model": "m", "stopReason": "stop"}
    match entry_id[0]:
        case "u":
            return _message({"role": "user", "content": [text]})
        case "a":
            return _message({**answer, "content": [text]})
        case "t":
            return _message({**answer, "content": [text, call], "stopReason": "toolUse"})
        case "c":
            return _message({**answer, "content": [call], "stopReason": "toolUse"})
        case "f":
            failed = {"stopReason": "error", "errorMessage": "overloaded"}
            return _message({**answer, "content": [], **failed})
        case "x":
            return _message({**answer, "content": [call], "stopReason": "aborted"})
        case "r":
            tool, failed_mark, _ = about.partition("!")
            result = {"role": "toolResult", "toolCallId": "t", "toolName": tool or "bash"}
            return _message({**result, "content": [text], "isError": bool(failed_mark)})
        case "b":
            code = 1 if about == "!" else 0
            shell = {"role": "bashExecution", "command": "npm test", "output": "", "exitCode": code}
            return _message(shell)
        case "n" | "h":
            is_shown = entry_id[0] == "n"
            note = {"customType": "plan", "content": "approved", "display": is_shown}
            return {"type": "custom_message", **note}
        case "s":
            return _message({"role": "system", "content": "Be brief."})
        case "m":
            return {"type": "model_change", "provider": "p", "modelId": about or "opus-5"}
        case "k":
            return {"type": "thinking_level_change", "thinkingLevel": about or "high"}
        case "l":
            target, _, label = about.partition("=")
            return {"type": "label", "targetId": target, "label": label or None}
        case "e":
            return {"type": "context_edit", "targetId": about, "replacement": None}
        case "C":
            kept = {"firstKeptEntryId": about or entry_id, "tokensBefore": 186_000}
            return {"type": "compaction", "summary": "told", **kept}
        case "S":
            return {"type": "branch_summary", "fromId": "u1", "summary": "what was left"}
        case _:
            return {"type": "custom", "customType": "state"}


def _message(message: Entry) -> Entry:
    return {"type": "message", "message": message}


# All rows ----------------------------------------------------------------------------------------


@dataclass
class Level:
    """The rows of one level, and how one comes there."""

    name: str | None
    path: list[str]
    segments: list[Segment]
    rows: list[Row]


@dataclass
class Walk:
    """Every level that can be reached by opening rows, the outermost first."""

    tree: Tree
    known: Known
    levels: list[Level] = field(default_factory=list)

    def __post_init__(self) -> None:
        waiting: list[list[str]] = [[]]
        while waiting:
            path = waiting.pop()
            name = path[-1] if path else None
            segments = self.tree.level(name)
            rows = Builder(self.tree, self.known, name, len(path)).rows(segments, None)
            self.levels.append(Level(name, path, segments, rows))
            waiting += [[*path, row.id] for row in reversed(rows) if row.fold != "none"]

    def rows(self) -> Iterator[Row]:
        for level in self.levels:
            yield from level.rows

    def by_level(self) -> dict[str | None, list[Row]]:
        return {level.name: level.rows for level in self.levels}


def drawing_of(walk: Walk) -> str:
    """All rows as text, each fold open."""
    rows_of = walk.by_level()
    lines = []
    waiting = [iter(rows_of[None])]
    while waiting:
        row = next(waiting[-1], None)
        if row is None:
            waiting.pop()
            continue
        lines.append("  " * row.depth + _line_of(row))
        if row.id in rows_of:
            waiting.append(iter(rows_of[row.id]))
    return "\n".join(lines)


_OWN_KINDS: Final = {
    "u": "user",
    "a": "answer",
    "t": "answer",
    "f": "answer",
    "x": "answer",
    "r": "step",
    "c": "step",
    "b": "bash",
    "n": "note",
    "C": "compaction",
    "S": "branchSummary",
}


def _line_of(row: Row) -> str:
    name, letter = row.id.removeprefix("e:"), row.id.removeprefix("e:")[0]
    words = [f"[{row.label}]"] if row.label else []
    words.append(name)
    if row.id.startswith("e:") and row.kind != _OWN_KINDS.get(letter):
        words.append(row.kind)
    if row.entries != 1 and row.id != "here":
        words.append(str(row.entries))
    if row.failed:
        words.append(f"!{row.failed}")
    marks = {"omitted": "x", "replaced": "±", "problem": "?"}
    words += [marks[flag] for flag in row.flags if flag in marks]
    return " ".join(words)
