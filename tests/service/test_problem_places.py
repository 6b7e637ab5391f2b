"""Where problems are seen, and which other places are told with them."""

from __future__ import annotations

import json
from typing import Any

from pisessiond.core.session import Session, load_session
from pisessiond.service.pointing import Spot
from pisessiond.service.problem_places import MOST, locate_problems
from tests.support.service import answer, entry, spell, user

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": "/srv"}


def session(*lines: Any) -> Session:
    texts = [spell(line).rstrip(b"\n") for line in (HEADER, *lines)]
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)
    by_start = dict(zip(starts, texts, strict=False))
    return load_session([(0, texts)], lambda places: [by_start[at] for at, _ in places])


def told(spot: Spot | None) -> tuple[int, str] | None:
    return None if spot is None else (spot.line, spot.text[spot.start : spot.end].decode())


def check(lines: list[Any], *expected: tuple[str, object, list[tuple[int, str]]]) -> None:
    """Kind, the member at fault with its line, and the other places, of each problem."""
    made = session(*lines)
    found = [
        (one.problem.kind, told(one.spot), [told(spot) for spot, _ in one.related])
        for one in locate_problems(made, made.problems)
    ]
    assert found == list(expected)


def test_a_whole_line() -> None:
    check([b"{ no\n", user("x", "a")], ("badLine", None, []))


def test_a_repeated_id_and_the_line_that_took_its_place() -> None:
    check([user("x", "a"), user("y", "a")], ("duplicateId", (2, '"a"'), [(3, '"a"')]))


def test_children_of_one_missing_parent_are_told_with_each_other() -> None:
    check(
        [user("x", "a", "gone"), user("y", "b", "gone"), user("z", "c", "elsewhere")],
        ("orphan", (2, '"gone"'), [(3, '"gone"')]),
        ("orphan", (3, '"gone"'), [(2, '"gone"')]),
        ("orphan", (4, '"elsewhere"'), []),
    )


def test_a_circle_is_told_with_the_way_back() -> None:
    check(
        [user("x", "a", "c"), user("y", "b", "a"), user("z", "c", "b")],
        ("cycle", (2, '"c"'), [(4, '"b"'), (3, '"a"')]),
    )
    check([user("x", "a", "a")], ("cycle", (2, '"a"'), []))


def test_a_message_that_is_none() -> None:
    check([entry("message", "a", message=None)], ("noMessage", (2, '"message": null'), []))
    check([entry("message", "a")], ("noMessage", None, []))


def test_a_compaction_that_keeps_what_is_not_above_it() -> None:
    kept = entry("compaction", "c", "a", summary="s", firstKeptEntryId="b")
    check(
        [user("x", "a"), answer("y", "b", "a"), kept],
        ("firstKept", (4, '"b"'), [(3, '"b"')]),
    )
    missing = entry("compaction", "c", "a", summary="s", firstKeptEntryId="z")
    check([user("x", "a"), missing], ("firstKept", (3, '"z"'), []))
    check([user("x", "a"), entry("compaction", "c", "a", summary="s")], ("firstKept", None, []))


def test_a_leaf_that_two_programs_read_otherwise() -> None:
    check(
        [user("x", "a"), answer("y", "b", "a"), entry("leaf", "l", "b", targetId="a")],
        ("leafReadings", (4, '"a"'), [(2, '"a"')]),
    )
    check(
        [user("x", "a"), entry("leaf", "l", "a", targetId="z")],
        ("leafTarget", (3, '"z"'), []),
    )


def test_parents_that_are_no_ids() -> None:
    odd = [{**user("x", f"e{at}"), "parentId": one} for at, one in enumerate(([1], {"a": 1}, True))]
    check(
        odd,
        *[("orphan", (at + 2, json.dumps(one["parentId"])), []) for at, one in enumerate(odd)],
    )


def test_of_thousands_of_problems_the_first_are_located() -> None:
    made = session(*[b"[\n"] * (MOST + 10))
    assert len(locate_problems(made, made.problems)) == MOST
