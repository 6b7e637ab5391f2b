"""Graphs as they are answered and as a terminal draws them, compared with the files beside this."""

from __future__ import annotations

import pytest

from pisessiond.cli.canvas import Canvas
from pisessiond.cli.graph_view import BUNDLE, GraphView
from pisessiond.cli.plain_text import cell_width
from tests.graphs.painted import HERE, TODAY, files, graphs

MADE = files()
GRAPHS = graphs()


@pytest.mark.parametrize("name", sorted(MADE))
def test_a_graph_is_what_its_file_says(name: str) -> None:
    expected = (HERE / name).read_text("utf-8")
    assert MADE[name] == expected, "remake with: python -m tests.graphs.painted"


def test_no_file_is_left_over() -> None:
    kept = {path.name for path in HERE.iterdir() if path.suffix in (".json", ".txt")}
    assert kept == set(MADE)


@pytest.mark.parametrize("name", sorted(GRAPHS))
@pytest.mark.parametrize("is_ascii", [False, True])
def test_lines_fit_on_every_screen(name: str, is_ascii: bool) -> None:
    graph = GRAPHS[name]
    for width in range(12, 130):
        view = GraphView(Canvas(width, is_ascii), TODAY)
        for line in view.draw(graph["lines"], graph["lanes"]):
            assert cell_width(line) <= width
            assert not is_ascii or _signs(line) <= set("#%:|=-+@") | {" "}


@pytest.mark.parametrize(
    ("count", "told"),
    [(999, "+999"), (1_000, "+1k"), (4_400, "+4k"), (12_000, "+12k"), (250_000, "+99k")],
)
def test_thousands_of_branches_are_told_as_such(count: int, told: str) -> None:
    graph = GRAPHS["many"]
    held = {"lane": BUNDLE, "tokens": None, "percent": None, "next": None, "count": count}
    for lane in (0, 1, BUNDLE):
        line = {**graph["lines"][-1], "lane": lane, "passing": [held], "leaving": []}
        for width in (30, 50, 80):
            (drawn,) = GraphView(Canvas(width), TODAY).draw([line], graph["lanes"])
            assert f"{told} " in drawn


def _signs(line: str) -> set[str]:
    """The signs in front of everything that could be text."""
    return {sign for sign in line if not sign.isascii() and not sign.isalnum()}


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_nothing_of_a_session_acts_on_the_terminal(name: str) -> None:
    graph = GRAPHS[name]
    for line in GraphView(Canvas(100), TODAY).draw(graph["lines"], graph["lanes"]):
        assert "\x1b" not in line
        assert "\u202e" not in line
