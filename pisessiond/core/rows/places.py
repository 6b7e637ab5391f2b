"""Which rows have to be opened to see an entry or a level."""

from __future__ import annotations

from collections.abc import Sequence

from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.rows.cutting import Segment
from pisessiond.core.rows.levels import AHEAD, ALONE, NoSuchLevel, Tree
from pisessiond.core.sizes import first_kept_row


def path_of_level(tree: Tree, name: str | None) -> list[str]:
    """The rows to open for a level, the outermost first, its own last; empty for the main line.

    Raises:
        NoSuchLevel: no row has that name.
    """
    if name is None:
        return []
    if name == AHEAD or name == "g:":
        return [name]
    sign, _, entry = name.partition(":")
    row = tree.row_named(entry)
    if row is None:
        raise NoSuchLevel(name)
    if sign == "b":
        return path_of_branch(tree, row)
    if sign == "s":
        return [*_path_of_line(tree, tree.lines.start(row)), name]
    return [*path_to(tree, row), name]


def path_to(tree: Tree, row: int) -> list[str]:
    """The rows to open for the level on which an entry's row stands, works aside."""
    path = _path_of_line(tree, tree.lines.start(row))
    inside = _inside_of_line(tree, row)
    return [*path, inside] if inside is not None else path


def path_of_branch(tree: Tree, first: int) -> list[str]:
    """The rows to open for the inside of an alternative."""
    return _path_of_line(tree, first)


def _path_of_line(tree: Tree, start: int) -> list[str]:
    """The rows to open for a line, from its first row; iterative, for lines in lines in lines."""
    index = tree.session.index
    path: list[str] = []
    while not _is_main(tree, start):
        path.append(f"b:{index.ids[start]}")
        point = index.parent[start]
        if len(tree.branches(point)) > ALONE:
            path.append(f"g:{index.ids[point]}" if point != NONE else "g:")
        if point == NONE:
            break
        inside = _inside_of_line(tree, point)
        if inside is not None:
            path.append(inside)
        start = tree.lines.start(point)
    path.reverse()
    return path


def _is_main(tree: Tree, start: int) -> bool:
    return start == tree.lines.next(NONE)


def _inside_of_line(tree: Tree, row: int) -> str | None:
    """The summarised part or the part ahead that an entry of a line is in."""
    session = tree.session
    index, leaf = session.index, tree.leaf
    start = tree.lines.start(row)
    if _is_main(tree, start):
        if row != leaf and (leaf == NONE or index.is_ancestor(leaf, row)):
            return AHEAD
        end = leaf
    else:
        end = tree.lines.end(row)
    compaction = index.state_at(end).compaction
    if compaction == NONE or not index.is_ancestor(start, compaction):
        return None
    first_kept = first_kept_row(index, compaction)
    if index.depth[row] < index.depth[first_kept]:
        return f"s:{index.ids[compaction]}"
    return None


def find_entry(tree: Tree, entry: EntryId) -> tuple[list[str], int]:
    """The rows to open to see an entry's row, and its position in the level they lead to.

    Raises:
        EntryNotFound: no entry has that id.
        NoSuchLevel: no row stands for it under this filter.
    """
    row = tree.session.row_of(entry)
    path = path_to(tree, row)
    level = path[-1] if path else None
    segments = tree.level(level)
    at = _position(tree, segments, row)
    if at is None:
        raise NoSuchLevel(str(entry))
    if segments[at].kind == "work":
        name = tree.id_of(segments[at])
        inner = _position(tree, tree.level(name), row)
        if inner is not None:
            return [*path, name], inner
    return path, at


def _position(tree: Tree, segments: Sequence[Segment], row: int) -> int | None:
    """The segment that stands for an entry: it holds it, or is the last one above it."""
    depth = tree.session.index.depth
    found = None
    for at, segment in enumerate(segments):
        if segment.kind in ("alternative", "group", "here", "ahead"):
            continue
        if depth[segment.first] <= depth[row]:
            found = at
        else:
            break
    return found
