"""A whole session as lanes: what stands where, drawn (the signs: tests/support/drawn_graphs.py)."""

from __future__ import annotations

import textwrap

import pytest

from pisessiond.core.graph.gathering import Zoom
from pisessiond.core.graph.layout import BUNDLE
from pisessiond.core.index import NONE
from pisessiond.core.rows.row import RowSize
from tests.support.drawn_graphs import drawn_graph, graph_of
from tests.support.drawn_rows import drawn


def check(drawing: str, expected: str, zoom: Zoom = "turns", leaf: str | None = "") -> None:
    found = drawn_graph(drawing, zoom, leaf)
    assert found == textwrap.dedent(expected).strip("\n"), f"\n{found}"


MANY = "u1 " + " ".join(f"u{number}<u1 a{number}" for number in range(2, 14))
"""One who goes back to the beginning eleven times."""


# Lines and lanes


def test_a_conversation_is_one_lane() -> None:
    check(
        "u1 c1 r1 c2 r2 a1 u2",
        """
        ● u1
        ● w:c1
        ● a1
        ● u2
        ● here / u2 7
        """,
    )


def test_a_branch_leaves_at_its_branch_point_and_ends_with_its_last_line() -> None:
    check(
        "u1 a1 u2 a2 u3<a1 a3",
        """
        ●   u1
        ●─╮ a1
        │ ● u2
        │ ● a2 / a2 2
        ●   u3
        ●   a3
        ●   here / a3 4
        """,
    )


def test_the_main_line_goes_on_past_where_one_stands() -> None:
    check(
        "u1 a1 u2 a2 u3<a1 a3",
        """
        ●   u1
        ●   a1
        ●─╮ here
        │ ● u2
        │ ● a2 / a2 2
        ●   u3
        ●   a3 / a3 4
        """,
        leaf="a1",
    )


def test_before_the_first_entry_one_stands_at_the_top() -> None:
    check(
        "u1 a1",
        """
        ● here
        ● u1
        ● a1 / a1 2
        """,
        leaf=None,
    )
    check(
        "",
        """
        ● here / None 0
        """,
    )


def test_lines_stand_in_the_order_in_which_they_were_begun() -> None:
    check(
        "u1 a1 u2 a2 u3<u1 a3 u4<a2 u5<a3",
        """
        ●─╮ u1
        ● ┊ a1
        ● ┊ u2
        ● ┊ a2
        │ ● u3
        │ ● a3
        ● │ u4
        ● │ here / u4 5
          ● u5 / u5 3
        """,
        leaf="u4",
    )


def test_of_branches_that_leave_at_once_the_one_that_goes_on_first_is_nearest() -> None:
    check(
        "u1 u2 u3<u1 u4<u2 u5<u3 u6<u4 u7<u1",
        """
        ●─┬─╮ u1
        │ ● ┊ u2
        │ │ ● u3
        │ ● │ u4
        │ │ ● u5 / u5 2
        │ ●   u6 / u6 3
        ●     u7
        ●     here / u7 2
        """,
    )


def test_a_lane_that_has_ended_is_used_again() -> None:
    check(
        "u1 a1 u2 u3<a1 u4<u3 u5<u3 u6<a1",
        """
        ●     u1
        ●─┬─╮ a1
        │ ● ┊ u2 / u2 1
        │ ╭─● u3
        │ ● │ u4 / u4 1
        │   ● u5 / u5 2
        ●     u6
        ●     here / u6 3
        """,
    )


def test_a_branch_of_a_branch_is_led_there_past_what_is_between() -> None:
    check(
        "u1 u2 u3<u1 u4<u3 u5<u3 u6<u2 u7<u1",
        """
        ●─┬─╮   u1
        │ ● ┊   u2
        │ │ ●─╮ u3
        │ │ │ ● u4 / u4 1
        │ │ ●   u5 / u5 2
        │ ●     u6 / u6 2
        ●       u7
        ●       here / u7 2
        """,
    )


def test_what_is_summarised_has_lines_of_its_own() -> None:
    check(
        "u1 a1 u2 C1:u2 u3 a3",
        """
        ● u1
        ● a1
        ● u2
        ● C1
        ● u3
        ● a3
        ● here / a3 6
        """,
    )


def test_another_root_is_a_branch_that_leaves_nothing() -> None:
    check(
        "u1 a1 u9< a9 u2<a1 u8<a9",
        """
          ● u1
          ● a1
        ● │ u9
        ● │ a9
        │ ● u2 / u2 3
        ●   u8
        ●   here / u8 3
        """,
    )


def test_a_branch_without_rows_has_no_lane_and_what_leaves_it_leaves_its_parent() -> None:
    check(
        "u1 a1 .1 u2<a1",
        """
        ● u1
        ● a1
        ● u2
        ● here / u2 3
        """,
    )
    check(
        "u1 a1 .1 .2<.1 u2<.1 u3<a1",
        """
        ●   u1
        ●─╮ a1
        │ ● u2 / u2 2
        ●   u3
        ●   here / u3 3
        """,
    )


# The bundle


def test_beyond_eight_lanes_the_rest_is_a_bundle_that_is_left_when_a_lane_is_free() -> None:
    check(
        MANY,
        """
        ●─┬─┬─┬─┬─┬─┬─┬─┬─+3 u1
        │ ● ┊ ┊ ┊ ┊ ┊ ┊ ┊ +3 u2
        │ ● ┊ ┊ ┊ ┊ ┊ ┊ ┊ +3 a2 / a2 2
        │   ● ┊ ┊ ┊ ┊ ┊ ┊ +3 u3
        │   ● ┊ ┊ ┊ ┊ ┊ ┊ +3 a3 / a3 2
        │     ● ┊ ┊ ┊ ┊ ┊ +3 u4
        │     ● ┊ ┊ ┊ ┊ ┊ +3 a4 / a4 2
        │       ● ┊ ┊ ┊ ┊ +3 u5
        │       ● ┊ ┊ ┊ ┊ +3 a5 / a5 2
        │         ● ┊ ┊ ┊ +3 u6
        │         ● ┊ ┊ ┊ +3 a6 / a6 2
        │           ● ┊ ┊ +3 u7
        │           ● ┊ ┊ +3 a7 / a7 2
        │             ● ┊ +3 u8
        │             ● ┊ +3 a8 / a8 2
        │               ● +3 u9
        │               ● +3 a9 / a9 2
        │ ●───────────────+2 u10
        │ ●               +2 a10 / a10 2
        │ ●───────────────+1 u11
        │ ●               +1 a11 / a11 2
        │ ●───────────────╮  u12
        │ ●                  a12 / a12 2
        ●                    u13
        ●                    a13
        ●                    here / a13 3
        """,
    )


def test_a_branch_for_which_no_lane_is_free_stays_in_the_bundle() -> None:
    side_by_side = " ".join(f"u{number}<u1" for number in range(2, 13))
    again = " ".join(f"a{number}<u{number}" for number in range(2, 13))
    check(
        f"u1 {side_by_side} {again} u99<u1",
        """
        ●─┬─┬─┬─┬─┬─┬─┬─┬─+3 u1
        │ ● ┊ ┊ ┊ ┊ ┊ ┊ ┊ +3 u2
        │ │ ● ┊ ┊ ┊ ┊ ┊ ┊ +3 u3
        │ │ │ ● ┊ ┊ ┊ ┊ ┊ +3 u4
        │ │ │ │ ● ┊ ┊ ┊ ┊ +3 u5
        │ │ │ │ │ ● ┊ ┊ ┊ +3 u6
        │ │ │ │ │ │ ● ┊ ┊ +3 u7
        │ │ │ │ │ │ │ ● ┊ +3 u8
        │ │ │ │ │ │ │ │ ● +3 u9
        │ │ │ │ │ │ │ │ │ ●2 u10
        │ │ │ │ │ │ │ │ │ ●2 u11
        │ │ │ │ │ │ │ │ │ ●2 u12
        │ ● │ │ │ │ │ │ │ +3 a2 / a2 2
        │   ● │ │ │ │ │ │ +3 a3 / a3 2
        │     ● │ │ │ │ │ +3 a4 / a4 2
        │       ● │ │ │ │ +3 a5 / a5 2
        │         ● │ │ │ +3 a6 / a6 2
        │           ● │ │ +3 a7 / a7 2
        │             ● │ +3 a8 / a8 2
        │               ● +3 a9 / a9 2
        │                 ●2 a10 / a10 2
        │                 ●1 a11 / a11 2
        │                 ●  a12 / a12 2
        ●                    u99
        ●                    here / u99 2
        """,
    )


def test_two_hundred_ways_from_one_place_are_nine_lanes_and_the_number_of_the_rest() -> None:
    ways = " ".join(f"u{number}<u1" for number in range(2, 203))
    graph = graph_of(drawn(f"u1 {ways}"))
    *lanes, bundle = graph.lines[0].leaving
    assert [one.lane for one in lanes] == [*range(1, 9)]
    assert (bundle.lane, bundle.count) == (BUNDLE, 192)
    assert {line.lane for line in graph.lines} == {*range(9)}, "each way is drawn in a lane"


# Zoom


def test_branches_are_what_makes_the_shape_and_the_ends() -> None:
    check(
        "u1 c1 r1 c2 r2 a1 u2 C1:u2 u3 a3 u4<a1 c4 r4 a4 u5<a3",
        """
        ●─╮ a1
        ● ┊ C1
        │ ● b:u4 / a4 4
        ●   here / u5 11
        """,
        "branches",
    )
    check(
        "u1 a1 u2 a2 u3<a1 a3",
        """
        ●─╮ here
        │ ● b:u2 / a2 2
        ●   ahead / a3 4
        """,
        "branches",
        leaf="a1",
    )


def test_entries_that_sessions_were_forked_from_are_shown_in_branches() -> None:
    made = drawn("u1 a1 u2 a2 u3<a1 a3")
    tree = made.tree()
    rows = [made.session.row_of(name) for name in ("u2", "a3")]
    graph = graph_of(made, "branches", forked=rows)
    assert [line.row.id for line in graph.lines] == ["e:a1", "e:u2", "b:u2", "e:a3", "here"]
    assert tree.leaf == made.session.row_of("a3")


def test_entries_are_the_rows_of_the_filter_that_shows_all() -> None:
    check(
        "m1 u1 c1 r1 l1:u1=x u2<u1",
        """
        ●   m1
        ●─╮ u1
        │ ● r1
        │ ● l1 / l1 3
        ●   u2
        ●   here / u2 3
        """,
        "entries",
    )


# What is told


def test_a_line_says_where_one_goes_from_there() -> None:
    lines = graph_of(drawn("u1 a1 u2 a2 u3<a1 a3")).lines
    assert [line.parent for line in lines] == [None, 0, 1, 2, 1, 4, 5]
    assert [line.next for line in lines] == [1, 4, 3, None, 5, 6, None]
    [passing] = lines[2].passing
    assert (passing.lane, passing.next, passing.leads) == (0, 4, False)
    [leaving] = lines[1].leaving
    assert (leaving.lane, leaving.next) == (1, 2)


def test_the_end_of_a_branch_is_called_as_in_the_tree() -> None:
    lines = graph_of(drawn("u1 a1 u2 a2 l1:a2=good u3<a1 a3")).lines
    end = next(line.end for line in lines if line.row.id == "e:a2")
    assert end is not None
    assert (end.row, end.entry, end.entries) == ("b:u2", "l1", 3)
    assert (end.title, end.label) == ("u2 says · 3", "good")


def test_a_lane_is_as_wide_as_the_context_was_where_one_left_it() -> None:
    made = drawn("u1 a1 u2 a2 u3<a1 a3")
    lines = graph_of(made).lines
    at = {name: made.session.size_at(made.session.row_of(name)).tokens for name in ("a1", "a2")}
    by_id = {line.row.id: line for line in lines}
    assert _tokens(by_id["e:a2"].row.size) == at["a2"]
    [main] = by_id["e:a2"].passing
    assert _tokens(main.size) == at["a1"]
    [led] = by_id["e:a1"].leaving
    assert _tokens(led.size) == at["a1"]


def _tokens(size: RowSize | None) -> int | None:
    return None if size is None else size.tokens


def test_what_stands_around_a_stretch_is_known_without_the_rest() -> None:
    layout = graph_of(drawn("u1 u2 u3<u1 a3 u4 u5<a3 u6")).layout
    assert layout.points == [0, 3]
    assert layout.points_around(1, 3) == (0, 3)
    assert layout.points_around(0, 7) == (NONE, NONE)


@pytest.mark.parametrize(
    ("entry", "row"),
    [
        ("u1", "e:u1"),
        ("r1", "w:c1"),
        ("l1", "e:a1"),
        ("a2", "e:a2"),
        (".1", "e:a1"),
        ("u3", "e:u3"),
    ],
)
def test_an_entry_is_found_in_the_line_that_stands_for_it(entry: str, row: str) -> None:
    made = drawn("u1 c1 r1 c2 r2 a1 l1:u1=x u2 a2 .1<a1 u3<l1")
    graph = graph_of(made)
    line = graph.layout.line_of(graph.tree, made.session.row_of(entry))
    assert graph.lines[line].row.id == row


def test_in_a_coarse_zoom_an_entry_is_found_in_the_next_line_of_its_branch() -> None:
    made = drawn("u1 a1 u2 a2 u3<a1 a3 u4 a4")
    graph = graph_of(made, "branches", made.session.row_of("a3"))
    rows = map(made.session.row_of, ("u1", "u2", "u3", "u4"))
    ids = [graph.lines[graph.layout.line_of(graph.tree, row)].row.id for row in rows]
    assert ids == ["e:a1", "b:u2", "here", "ahead"]


def test_a_branch_on_a_branch_on_a_branch_takes_no_stack() -> None:
    down = [f"u{number}" for number in range(3_000)]
    up = [f"a{number}<u{number}" for number in reversed(range(3_000))]
    graph = graph_of(drawn(" ".join(down + up)))
    assert len(graph.lines) == 6_001
    assert len(graph.layout.firsts) == 3_000
    assert graph.layout.lanes == BUNDLE + 1
