"""Graphs as they are answered and as a terminal draws them, compared with the files beside this."""

from __future__ import annotations

import pytest

from pisessiond.cli.canvas import Canvas
from pisessiond.cli.graph_view import GraphView
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


def _signs(line: str) -> set[str]:
    """The signs in front of everything that could be text."""
    return {sign for sign in line if not sign.isascii() and not sign.isalnum()}


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_nothing_of_a_session_acts_on_the_terminal(name: str) -> None:
    graph = GRAPHS[name]
    for line in GraphView(Canvas(100), TODAY).draw(graph["lines"], graph["lanes"]):
        assert "\x1b" not in line
        assert "\u202e" not in line
