"""The questions of a stretch of a file, and where one stands."""

from __future__ import annotations

from pisessiond.service.turns import Turns, find_turns
from tests.support.exports import chain, session_of

SESSION = session_of(
    chain(
        [
            {"role": "user" if number % 2 == 0 else "assistant", "content": f"text {number}"}
            for number in range(10)
        ]
    )
)
"""Questions on lines 2, 4, 6, 8 and 10; one stands on line 11."""


def check(
    first: int, last: int | None, questions: list[int], here: int | None, most: int = 99
) -> Turns:
    found = find_turns(SESSION, None, first, last, most)
    assert [one.line for one in found.questions] == questions
    assert (found.here.line if found.here else None) == here
    return found


def test_all_of_them() -> None:
    check(1, None, [2, 4, 6, 8, 10], 11)


def test_those_of_a_stretch_its_ends_included() -> None:
    check(4, 8, [4, 6, 8], None)
    check(5, 5, [], None)
    check(11, 99, [], 11)
    check(99, 200, [], None)


def test_of_too_many_the_newest() -> None:
    check(1, None, [8, 10], 11, most=2)


def test_a_percentage_needs_a_window() -> None:
    (turn,) = check(2, 2, [2], None).questions
    assert turn.percent is None
    (turn,) = find_turns(SESSION, 100, 2, 2, 9).questions
    assert turn.percent == turn.tokens
    assert not turn.is_measured


def test_an_empty_session() -> None:
    assert find_turns(session_of([]), None, 1, None, 9) == Turns()
