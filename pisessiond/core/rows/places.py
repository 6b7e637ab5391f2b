"""Which rows have to be opened to see an entry or a level."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.rows.cutting import Segment
from pisessiond.core.rows.levels import AHEAD, NoSuchLevel, Tree
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
        if tree.is_grouped(point):
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
    index, leaf = tree.session.index, tree.leaf
    is_behind = row != leaf and (leaf == NONE or index.is_ancestor(leaf, row))
    if is_behind and _is_main(tree, tree.lines.start(row)):
        return AHEAD
    compaction = tree.summarising(row)
    if compaction == NONE:
        return None
    if index.depth[row] < index.depth[first_kept_row(index, compaction)]:
        return f"s:{index.ids[compaction]}"
    return None


def find_entry(tree: Tree, entry: EntryId) -> tuple[list[str], int]:
    """The rows to open to see an entry's row, and its position in the level they lead to.

    An entry on a branch that has no rows under the filter gives way to where the branch leaves.

    Raises:
        EntryNotFound: no entry has that id.
        NoSuchLevel: neither it nor anything above it has a row.
    """
    row = tree.session.row_of(entry)
    while row != NONE:
        found = _find_row(tree, row)
        if found is not None:
            return found
        row = _above_the_part(tree, row)
    raise NoSuchLevel(str(entry))


def _above_the_part(tree: Tree, row: int) -> int:
    """The nearest entry above the line, or above the part ahead, that a row is on."""
    if _inside_of_line(tree, row) == AHEAD:
        return tree.leaf
    return tree.session.index.parent[tree.lines.start(row)]


def rows_of(tree: Tree, entries: Iterable[int]) -> dict[int, str]:
    """The names of the rows of the main line that stand for entries of the active branch."""
    index = tree.session.index
    segments = [one for one in tree.main().segments if one.kind not in ("alternative", "group")]
    ends = [index.depth[one.last] for one in segments]
    found: dict[int, str] = {}
    for row in entries:
        at = bisect_left(ends, index.depth[row])
        if at < len(segments) and index.is_ancestor(row, tree.leaf):
            found[row] = tree.id_of(segments[at])
    return found


def _find_row(tree: Tree, row: int) -> tuple[list[str], int] | None:
    if tree.filter == "labeled-only":
        at = next((at for at, one in enumerate(tree.level(None)) if one.act == row), None)
        return None if at is None else ([], at)
    path = path_to(tree, row)
    segments = tree.level(path[-1] if path else None)
    at = _position(tree, segments, row)
    if at is None and path and path[-1].startswith("s:"):
        # A summarised part without rows is none; what is in it counts with the row behind it.
        path.pop()
        segments = tree.level(path[-1] if path else None)
        at = _position(tree, segments, row)
    if at is None:
        return None
    if segments[at].kind == "work":
        name = tree.id_of(segments[at])
        inner = _position(tree, tree.level(name), row)
        if inner is not None:
            return [*path, name], inner
    return path, at


def _position(tree: Tree, segments: Sequence[Segment], row: int) -> int | None:
    """The segment that stands for an entry of the line that was cut into these."""
    depth = tree.session.index.depth
    for at, segment in enumerate(segments):
        is_of_line = segment.kind not in ("alternative", "group", "here", "ahead")
        if is_of_line and depth[segment.last] >= depth[row]:
            return at
    return None
