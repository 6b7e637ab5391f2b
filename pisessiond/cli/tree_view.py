"""A session's tree as lines of text: a pure function of the nodes that `session/tree` answers.

The main line runs from the root to the leaf and on past it, flat at any length. Only an
alternative, a branch that leaves the line, opens a level, right under its branch point. So eighty
rewinds read as eighty short blocks beside one line, and a branch looks like an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Literal

from pisessiond.cli.figures import format_day, format_size, parse_time
from pisessiond.cli.plain_text import cell_width, clean_line, cut, fill
from pisessiond.client.answers import ContextSize, EntryId, Node

Shape = Literal["line", "first", "only"]
Paint = Callable[[str, str], str]
"""Gives a piece of text the look of its part: id, spine, role, text, label, leaf, mark, dim."""

MAX_LEVELS = 4
"""Levels drawn as guides; a deeper row begins with its level's number instead."""
MAX_ID = 36
MIN_TEXT = 12


@dataclass(frozen=True, slots=True)
class Glyphs:
    active: str
    ahead: str
    guide: str
    leaf: str
    branch: str
    """Where an alternative leaves the active part of the main line."""
    side_branch: str
    """Where one leaves an alternative."""
    opens: str
    only: str
    deep: str
    cut: str
    roles: dict[str, str]


UNICODE = Glyphs(
    active="┃",
    ahead="┆",
    guide="│",
    leaf="●",
    branch="┠",
    side_branch="├",
    opens="─┐",
    only="──",
    deep="›",
    cut="…",
    roles={
        "user": "»",
        "assistant": "«",
        "bashExecution": "$",
        "custom": "i",
        "custom_message": "i",
        "compaction": "▬",
        "branch_summary": "~",
    },
)
ASCII = Glyphs(
    active="|",
    ahead=":",
    guide="|",
    leaf="@",
    branch="|",
    side_branch="|",
    opens="-+",
    only="--",
    deep=">",
    cut="~",
    roles={
        "user": ">",
        "assistant": "<",
        "bashExecution": "$",
        "custom": "i",
        "custom_message": "i",
        "compaction": "#",
        "branch_summary": "~",
    },
)
_OTHER_ROLE = {True: "·", False: "-"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree before it is painted. No node: the leaf's own row."""

    node: Node | None
    level: int
    shape: Shape
    ahead: bool
    """On the main line, past the leaf."""


def tree_rows(nodes: Sequence[Node]) -> Iterator[Row]:
    """The rows of a tree from the top down. It never recurses: lines of 100,000 are ordinary."""
    known = {node["id"] for node in nodes}
    children: dict[EntryId | None, list[Node]] = {}
    for node in nodes:
        parent = _shown_parent(node)
        children.setdefault(parent if parent in known else None, []).append(node)

    # The top stands for the place before the first entry, and is the branch point of the roots.
    is_ahead = not any("active" in node["flags"] for node in children.get(None, ()))
    if is_ahead:
        yield Row(None, 0, "line", ahead=False)
    waiting = _continue(children, None, 0, ahead=is_ahead)
    while waiting:
        row = waiting.pop()
        yield row
        assert row.node is not None
        below = children.get(row.node["id"], [])
        ahead = row.ahead
        if row.level == 0 and not ahead and not any("active" in node["flags"] for node in below):
            yield Row(None, 0, "line", ahead=False)
            ahead = True
        waiting += _continue(children, row.node["id"], row.level, ahead=ahead)


def _shown_parent(node: Node) -> EntryId | None:
    visible = node.get("visibleParent")
    return node["parent"] if visible is None else visible


def _continue(
    children: dict[EntryId | None, list[Node]], parent: EntryId | None, level: int, *, ahead: bool
) -> list[Row]:
    """The rows that follow a branch point, last one first: its line, then its alternatives.

    The line goes on with the active child, else with the last one, the newest.
    """
    below = children.get(parent)
    if not below:
        return []
    active = [node for node in below if "active" in node["flags"]]
    line = active[0] if active else below[-1]
    rows = [Row(line, level, "line", ahead)]
    for node in below:
        if node is not line:
            shape: Shape = "first" if node["id"] in children else "only"
            rows.append(Row(node, level + 1, shape, ahead))
    return rows


@dataclass(frozen=True, slots=True)
class TreeView:
    """How a tree is painted."""

    width: int = 100
    glyphs: Glyphs = UNICODE
    zone: tzinfo | None = None
    """The reader's zone; the machine's when None."""
    paint: Paint = lambda text, _part: text

    def draw(self, nodes: Sequence[Node], size: ContextSize | None) -> Iterator[str]:
        """The tree's lines; `size` is the context size at the leaf.

        From 56 cells there are times and tokens, from 40 tokens, from 24 percents alone.
        """
        ids = max((cell_width(_id_of(node)) for node in nodes), default=0)
        ids = min(ids, MAX_ID) if self.width >= 40 else 0
        window = size["window"] if size else None
        day: date | None = None
        for row in tree_rows(nodes):
            clock = ""
            if row.node is not None and (time := parse_time(row.node["time"], self.zone)):
                clock = f"{time:%H:%M}" if time.date() == day else format_day(time)
                day = time.date()
            own = row.node["contextSize"] if row.node is not None else size
            figures = ("", "") if own is None else format_size(own["tokens"], own["source"], window)
            yield self._line(row, ids, self._right(row.node, clock, figures), not nodes)

    def _right(self, node: Node | None, clock: str, figures: tuple[str, str]) -> str:
        tokens, percent = figures
        parts = [f"{_marks(node):>2}"]
        if self.width >= 56:
            parts.append(f"{clock:>5}")
        if self.width >= 40:
            parts.append(f"{tokens:>6}")
        if self.width >= 24:
            parts.append(f"{percent:>5}")
        return " ".join(parts) if self.width >= 24 else ""

    def _line(self, row: Row, ids: int, right: str, is_empty: bool) -> str:
        paint, node = self.paint, row.node
        guides = self._guides(row)
        room = self.width - cell_width(guides) - cell_width(right) - (ids + 1 if ids else 0)
        if node is None:
            text = "you are here, nothing yet" if is_empty else "you are here"
            label, glyph, text_part, spine_part = "", "", "leaf", "leaf"
        else:
            glyph = self._glyph(node) + " "
            label = node.get("label") or ""
            label = f"[{clean_line(label)}] " if label else ""
            text = clean_line(node["preview"]) or node["type"]
            text_part, spine_part = ("dim" if row.ahead or row.level else "text"), "spine"
        room = max(room - len(glyph), MIN_TEXT)
        label = cut(label, room, self.glyphs.cut)
        text = cut(text, room - cell_width(label), self.glyphs.cut)
        filled = fill(label + text, room)[len(label) :]
        line = paint(guides, spine_part) + paint(glyph, "role") + paint(label, "label")
        line += paint(filled, text_part) + paint(right, "dim")
        if ids:
            shown = "" if node is None else cut(_id_of(node), ids, self.glyphs.cut)
            line = paint(fill(shown, ids), "id") + " " + line
        return line.rstrip()

    def _guides(self, row: Row) -> str:
        glyphs = self.glyphs
        spine = glyphs.leaf if row.node is None else glyphs.ahead if row.ahead else glyphs.active
        if row.level == 0:
            return spine + " "
        if row.level > MAX_LEVELS:
            return spine + f" {glyphs.guide}" * MAX_LEVELS + f" {row.level}{glyphs.deep} "
        if row.shape == "line":
            return spine + f" {glyphs.guide}" * row.level + " "
        mark = glyphs.opens if row.shape == "first" else glyphs.only
        if row.level == 1:
            return (glyphs.ahead if row.ahead else glyphs.branch) + mark + " "
        return spine + f" {glyphs.guide}" * (row.level - 2) + f" {glyphs.side_branch}{mark} "

    def _glyph(self, node: Node) -> str:
        key = node.get("role") if node["type"] == "message" else node["type"]
        return self.glyphs.roles.get(key or "", _OTHER_ROLE[self.glyphs is UNICODE])


def _id_of(node: Node) -> str:
    return clean_line(str(node["id"]))


def _marks(node: Node | None) -> str:
    flags = node["flags"] if node is not None else []
    return ("+" if "unsaved" in flags else "") + ("!" if "problem" in flags else "")
