"""What people see, compared with the files in `golden/`."""

from __future__ import annotations

import time
import unicodedata
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pisessiond.cli.output import to_json
from pisessiond.cli.plain_text import cell_width, clean_line, clean_text, cut
from pisessiond.cli.tree_view import ASCII, TreeView, tree_rows
from pisessiond.client.answers import Node
from tests.cli import golden, samples
from tests.cli.samples import node

DRAWN = golden.drawn()


@pytest.mark.parametrize("name", DRAWN)
def test_views_draw_what_their_golden_file_says(name: str) -> None:
    expected = (golden.FOLDER / f"{name}.txt").read_text("utf-8")
    assert DRAWN[name] == expected, "remake with: python -m tests.cli.golden"


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in golden.FOLDER.iterdir()} == set(DRAWN)


@st.composite
def trees(draw: st.DrawFn) -> list[Node]:
    """Any tree of up to thirty nodes in the order they were made, with any leaf or none."""
    count = draw(st.integers(0, 30))
    parents = [draw(st.integers(-1, number - 1)) for number in range(count)]
    leaf = draw(st.integers(-1, count - 1))
    active = set()
    while leaf >= 0:
        active.add(leaf)
        leaf = parents[leaf]
    made = []
    for number, parent in enumerate(parents):
        mark = "*" if number in active else ""
        text = draw(st.text(max_size=60))
        drawn = node(f"n{number}{mark} {'-' if parent < 0 else f'n{parent}'} user: x", size=1000)
        drawn["preview"] = text
        made.append(drawn)
    return made


@given(nodes=trees())
def test_every_node_has_one_row_below_its_parents_and_the_leaf_has_one(nodes: list[Node]) -> None:
    rows = list(tree_rows(nodes))
    order = [row.node["id"] for row in rows if row.node is not None]
    assert sorted(map(str, order)) == sorted(str(one["id"]) for one in nodes)
    for one in nodes:
        if one["parent"] is not None:
            assert order.index(one["parent"]) < order.index(one["id"])
    (here,) = [number for number, row in enumerate(rows) if row.node is None]
    # All before it on the main line is active, nothing behind it is.
    for number, row in enumerate(rows):
        if row.node is not None and row.level == 0:
            assert ("active" in row.node["flags"]) == (number < here)
            assert row.ahead == (number > here)


@settings(max_examples=50)
@given(nodes=trees(), width=st.integers(48, 120))
def test_lines_fit_and_hold_nothing_that_acts_on_a_terminal(nodes: list[Node], width: int) -> None:
    for line in TreeView(width, zone=UTC).draw(nodes, samples.SIZE):
        assert cell_width(line) <= width
        assert not any(unicodedata.category(character) == "Cc" for character in line)


def test_a_line_of_a_hundred_thousand_entries_is_drawn_flat_and_quickly() -> None:
    nodes = [node("n0* - user: x")]
    nodes += [node(f"n{number}* n{number - 1} user: x") for number in range(1, 100_000)]
    begun = time.perf_counter()
    lines = sum(1 for _ in tree_rows(nodes))
    assert lines == 100_001
    assert time.perf_counter() - begun < 5


def test_a_filter_hangs_nodes_under_the_nearest_parent_that_is_shown() -> None:
    nodes = [
        node("u1* - user: one"),
        node("u2* a1 user: two", visibleParent="u1"),
        node("u3 a1 user: three", visibleParent="u1"),
    ]
    levels = [(row.node["id"], row.level) for row in tree_rows(nodes) if row.node is not None]
    assert levels == [("u1", 0), ("u3", 1), ("u2", 0)]


def test_ids_are_shown_whole_up_to_a_uuid() -> None:
    uuid = "0192f3c1-0000-7000-8000-000000000000"
    long = node(f"{'x' * 80} - user: y")
    lines = list(TreeView(120, ASCII).draw([node(f"{uuid} - user: x"), long], None))
    assert any(line.startswith(uuid + " ") for line in lines)
    assert any(line.startswith("x" * 35 + "~ ") for line in lines)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[1;31mred\x1b[m", "red"),
        ("\x1b]52;c;aGk=\x07copied", "copied"),
        ("\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x9b2Jc1", "c1"),
        ("\x1b(0lines\x1bc", "lines"),
        ("half \x1b[", "half"),
        ("open \x1b]0;title", "open 0;title"),
        ("a\u202eb\u2066c\u200bd\ufeffe", "abcde"),
        ("a\r\nb\x0bc\u2028d\te\xa0 f", "a b c d e f"),
        ("\ud83d\ude00", "\ufffd\ufffd"),
        ("hid\U000e0041\U000e0042den", "hidden"),
        ("e\u0301 👩\u200d💻", "e\u0301 👩💻"),
    ],
)
def test_text_from_sessions_is_made_plain(raw: str, clean: str) -> None:
    assert clean_line(raw) == clean


@given(text=st.text())
def test_plain_text_has_no_controls_and_is_plain_already(text: str) -> None:
    plain = clean_text(text)
    assert clean_text(plain) == plain
    assert not any(
        unicodedata.category(character) in {"Cc", "Cs"} and character != "\n" for character in plain
    )


@pytest.mark.parametrize(
    ("text", "cells", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("ab cd", 4, "ab…"),
        ("漢字", 4, "漢字"),
        ("漢字x", 4, "漢…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("abc", 0, ""),
    ],
)
def test_lines_are_cut_by_cells(text: str, cells: int, expected: str) -> None:
    assert cut(text, cells) == expected


def test_json_for_people_escapes_what_a_terminal_acts_upon() -> None:
    value: Any = {"text": "é\x9b2J\u202e\ud83d 漢"}
    assert to_json(value) == '{"text": "é\\u009b2J\\u202e\\ud83d 漢"}'
