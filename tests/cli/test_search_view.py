"""What was found as lines: fit for any width and any terminal, matches in another look."""

from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.cli.plain_text import cell_width
from pisessiond.cli.search_view import search_lines
from pisessiond.core.search_query import Query
from pisessiond.core.snippets import make_snippet
from tests.cli import samples

RESULT: Any = {"hits": [samples.HIT], "cursor": None, "pending": 0}


def plain(text: str, look: str) -> str:
    del look
    return text


def marked(text: str, look: str) -> str:
    return f"[{text}]" if look == "match" else text


def lines(found: Any, width: int = 80, paint: Any = plain) -> list[str]:
    return list(search_lines(found, width, paint, UTC))


def result(**members: Any) -> Any:
    return {**RESULT, "hits": [{**samples.HIT, **members}]}


def snippet(text: str, query: str) -> Any:
    found = Query(query).find(text)
    assert found is not None
    made = make_snippet(text, found)
    return {
        "text": made.text,
        "matches": [{"start": start, "end": end} for start, end in made.matches],
    }


def test_a_result_says_when_who_where_and_what() -> None:
    assert lines(RESULT) == ["12Nov 14:33  user  aaaaaaaa  login-fix", "    Fix the login"]
    assert lines(result(tool="bash", role="toolResult", name=None, time=None)) == [
        "             toolResult bash  aaaaaaaa  s1",
        "    Fix the login",
    ]
    copied = result(copies=[{"session": "s2", "path": "/s2"}])
    assert "login-fix (and 1 copy)" in lines(copied)[0]


def test_the_words_are_in_another_look() -> None:
    text = snippet("🙂 Größe of the naïve größe", "grosse naive")
    assert lines(result(snippet=text), paint=marked)[1] == "    🙂 [Größe] of the [naïve] [größe]"


def test_nothing_more_and_not_yet() -> None:
    assert lines({**RESULT, "hits": []}) == ["nothing found"]
    assert lines({**RESULT, "hits": [], "cursor": "x"})[0] == "nothing found so far"
    assert lines({**RESULT, "cursor": "1.2.3.4", "pending": 2})[2:] == [
        "… more with --limit, or --cursor 1.2.3.4",
        "2 session files still being read; ask again a little later",
    ]


def test_nothing_from_a_session_acts_on_the_terminal() -> None:
    hostile = {"text": "a \x1b[31mred\x1b[0m\x07 b\u202e", "matches": [{"start": 0, "end": 1}]}
    for line in lines(result(snippet=hostile, name="\x1b]0;x\x07n", role="\x9b1m", entry="\x1b[H")):
        assert line.isprintable()


@given(st.text(max_size=200), st.integers(12, 120))
def test_lines_keep_to_the_width(text: str, width: int) -> None:
    shown = snippet(f"{text} needle 日本語 {text}", "needle 日本")
    for line in lines(result(snippet=shown, name=text), width):
        assert cell_width(line) <= max(width, 12)


@pytest.mark.parametrize("width", [12, 30, 80])
def test_a_long_name_gives_way(width: int) -> None:
    head = lines(result(name="long " * 50), width)[0]
    assert cell_width(head) <= width
