"""The order in which an export shows entries: a branch, or the tree as UX.md draws it.

The main line is flat; an alternative stands right under its branch point and opens a level.
Every walk is iterative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pisessiond.core.index import NONE
from pisessiond.core.session import Session

DEEPEST = 32
"""Levels that are nested in each other; browsers stop at 512 elements, and people before."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a walk."""

    kind: Literal["entry", "open", "close", "here"]
    row: int
    """The entry; of an opened level its first one."""
    count: int = 0
    """Of an opened level: entries on its line."""
    last: int = NONE
    """Of an opened level: the end of its line."""
    ahead: bool = False
    """Of an opened level: it goes on behind the leaf, and is no alternative."""
    level: int = 0
    """Of an opened or closed level: how deep it is, from 1."""


def walk_branch(session: Session, row: int) -> Iterator[Step]:
    """The path to one entry."""
    for at in session.index.branch(row):
        yield Step("entry", at)


def walk_tree(session: Session) -> Iterator[Step]:
    """The whole tree: the main line, and each alternative in a level of its own."""
    stack = [_main_line(session)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            if stack:
                yield Step("close", NONE, level=len(stack))
        elif step.kind == "open":
            line = _line_from(session, step.row)
            yield Step("open", step.row, len(line), line[-1], step.ahead, len(stack))
            stack.append(_along(session, line))
        else:
            yield step


def _main_line(session: Session) -> Iterator[Step]:
    leaf = session.leaf
    line = session.index.branch(leaf)
    ahead = session.tree.children(leaf)
    going_on = ahead[-1] if ahead else NONE
    first = line[0] if line else going_on
    for root in _newest_first(session, session.tree.children(NONE), first):
        yield Step("open", root)
    for step in _along(session, line):
        # What leaves the line at the leaf comes after the mark of the leaf.
        if step.kind == "open" and session.index.parent[step.row] == leaf:
            continue
        yield step
    yield Step("here", leaf)
    if leaf != NONE:
        for other in _newest_first(session, ahead, going_on):
            yield Step("open", other)
    if going_on != NONE:
        yield Step("open", going_on, ahead=True)


def _along(session: Session, line: list[int]) -> Iterator[Step]:
    for at, row in enumerate(line):
        yield Step("entry", row)
        following = line[at + 1] if at + 1 < len(line) else NONE
        children = session.tree.children(row)
        if len(children) > 1 or (children and following == NONE):
            for other in _newest_first(session, children, following):
                yield Step("open", other)


def _newest_first(session: Session, rows: list[int], but: int) -> list[int]:
    others = [row for row in reversed(rows) if row != but]
    return sorted(others, key=lambda row: session.index.ids[row] not in session.labels)


def _line_from(session: Session, row: int) -> list[int]:
    """From an entry down to an end, by the newest child each time."""
    line = [row]
    while children := session.tree.children(line[-1]):
        line.append(children[-1])
    return line
