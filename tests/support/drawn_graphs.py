"""Graphs drawn as text: a line each, its lanes at the left, then the row it is.

`●` is the line's own lane, `│` one that passes by, `┊` one that only leads to its branch, `+3` the
bundle with three in it, `●3` a line in there that three others pass by. `─` leads from the line's
lane to those that begin there (`╮` `┬` `╭`), or from the bundle to the line. Behind the lanes stand
the row's id and, at the end of a branch, `/ id of its end, entries`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pisessiond.core.graph.gathering import FILTER_OF, Zoom, gather
from pisessiond.core.graph.layout import BUNDLE, Layout
from pisessiond.core.graph.lines import GraphLine, graph_lines
from pisessiond.core.graph.placing import lay_out
from pisessiond.core.rows.building import Known
from pisessiond.core.rows.levels import Tree
from tests.support.drawn_rows import Growing, drawn


@dataclass
class Drawn:
    """A graph of a whole session, and what it was made of."""

    tree: Tree
    layout: Layout
    lines: list[GraphLine]


def graph_of(
    made: Growing,
    zoom: Zoom = "turns",
    leaf: int | None = None,
    forked: Sequence[int] = (),
    *,
    lines: bool = True,
    known: Known | None = None,
) -> Drawn:
    """The graph of a session as it stands, or as if it stood at `leaf`; told, or laid out only."""
    tree = made.tree(FILTER_OF[zoom], leaf)
    layout = lay_out(made.session.index, tree.leaf, gather(tree, zoom, forked))
    told = []
    if lines:
        told = graph_lines(tree, known or made.known(leaf), layout, range(len(layout)))
    return Drawn(tree, layout, told)


def drawn_graph(drawing: str, zoom: Zoom = "turns", leaf: str | None = "") -> str:
    """The picture of a drawing of words, standing at its last entry, another, or none."""
    made = drawn(drawing)
    if leaf != "":
        made.move(made.session.row_of(leaf))
    graph = graph_of(made, zoom)
    return "\n".join(_line(one, graph.layout.lanes) for one in graph.lines)


def branchy(entries: int, branches: int) -> str:
    """Turns of ten entries; so many go back to an answer of the last thirty, so that so many
    branches there are in all."""
    words: list[str] = []
    turns = entries // 10
    for turn in range(turns):
        back = turn > 1 and turn % (turns // branches) == 0
        words.append(f"u{turn}<a{max(turn - 2 - turn % 30, 0)}" if back else f"u{turn}")
        for step in range(4):
            words += [f"c{turn}x{step}", f"r{turn}x{step}:bash"]
        words.append(f"a{turn}")
    return " ".join(words)


def _line(line: GraphLine, lanes: int) -> str:
    cells = [" "] * (2 * lanes)
    for one in line.passing:
        cells[2 * one.lane] = "┊" if one.leads else "│"
    for one in line.leaving:
        _lead(cells, line.lane, one.lane)
    if line.comes_out:
        _lead(cells, line.lane, BUNDLE)
    cells[2 * line.lane] = "●"
    held = sum(one.count for one in (*line.passing, *line.leaving) if one.lane == BUNDLE)
    if held:
        cells[2 * BUNDLE :] = f"{'●' if line.lane == BUNDLE else '+'}{held}"
    picture = "".join(cells).rstrip().ljust(2 * lanes if lanes > BUNDLE else 2 * lanes - 1)
    return f"{picture} {line.row.id.removeprefix('e:')}{_end(line)}"


def _lead(cells: list[str], own: int, other: int) -> None:
    left, right = sorted((2 * own, 2 * other))
    for at in range(left + 1, right):
        cells[at] = {" ": "─", "│": "┼", "┊": "┼", "╮": "┬"}.get(cells[at], cells[at])
    cells[2 * other] = "╮" if other > own else "╭"


def _end(line: GraphLine) -> str:
    return "" if line.end is None else f" / {line.end.entry} {line.end.entries}"
