"""What people see, compared with the files in `golden/`."""

from __future__ import annotations

import unicodedata
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.cli.output import to_json
from pisessiond.cli.pi_view import company, standing
from pisessiond.cli.plain_text import cell_width, clean_line, clean_text, cut
from pisessiond.cli.row_view import ASCII, UNICODE, RowView
from tests.cli import golden, samples

DRAWN = golden.drawn()


@pytest.mark.parametrize("name", DRAWN)
def test_views_draw_what_their_golden_file_says(name: str) -> None:
    expected = (golden.FOLDER / f"{name}.txt").read_text("utf-8")
    assert DRAWN[name] == expected, "remake with: python -m tests.cli.golden"


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in golden.FOLDER.iterdir()} == set(DRAWN)


@given(title=st.text(), label=st.none() | st.text(), width=st.integers(1, 120))
def test_lines_fit_and_hold_nothing_that_acts_on_a_terminal(
    title: str, label: str | None, width: int
) -> None:
    rows = [samples.row("u1 user", title=title, label=label), samples.row("a1 answer", depth=9)]
    for glyphs in (UNICODE, ASCII):
        for line in RowView(width, glyphs, UTC).draw(rows):
            assert cell_width(line) <= width
            assert not any(unicodedata.category(character) == "Cc" for character in line)


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


def running(pid: int, leaf: Any, state: str = "idle", **more: Any) -> Any:
    about = {"pid": pid, "leaf": leaf, "state": state, "waitingForUser": False, "owner": False}
    return about | more


@pytest.mark.parametrize(
    ("pis", "words"),
    [
        ([], ""),
        ([running(1, None)], "pi: idle"),
        ([running(1, None, "turn")], "pi: at work"),
        ([running(1, None, waitingForUser=True)], "pi: waiting for its user"),
        ([running(1, None), running(2, None)], "2 pi"),
        ([running(1, None, "turn"), running(2, None, "stalled")], "2 pi: 1 not answering"),
    ],
)
def test_of_running_pi_the_most_urgent_is_told(pis: list[Any], words: str) -> None:
    assert company(pis) == words


def test_a_running_pi_is_marked_at_the_row_where_it_stands() -> None:
    rows: list[Any] = [
        samples.row("u1 user"),
        samples.row("a1 answer"),
        samples.row("here here", id="here"),
    ]
    entry = rows[0]["last"]

    def signs(*pis: Any) -> dict[Any, str]:
        opened: Any = {"leaf": rows[1]["last"], "pis": list(pis)}
        return standing(opened, rows, UNICODE.running)

    assert signs() == {}
    assert signs(running(1, "elsewhere"), running(2, None)) == {}
    assert signs(running(1, "elsewhere", owner=True)) == {"here": "‹pi›"}
    assert signs(running(1, entry), running(2, rows[1]["last"])) == {
        rows[0]["id"]: "‹pi 1›",
        "here": "‹pi 2›",
    }
    assert signs(running(1, entry), running(2, entry)) == {rows[0]["id"]: "‹2 pi›"}
    first, *_ = RowView(80, UNICODE, UTC, standing=signs(running(1, entry))).draw(rows)
    assert "‹pi›" in first
