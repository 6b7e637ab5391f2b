"""Files of versions 1 and 2, read as version 3 and spelled so."""

import json
from typing import Any

import pytest

from pisessiond.core.migration import format_version, migrate_header, migrate_line
from pisessiond.core.session import Session, load_session

HEADER = {"type": "session", "id": "s", "timestamp": "t", "cwd": "/w"}


def opened(*values: Any) -> tuple[Session, list[bytes]]:
    lines = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
    places = {}
    at = 0
    for line in lines:
        places[at] = line
        at += len(line) + 1
    session = load_session([(0, lines)], lambda wanted: [places[place] for place, _ in wanted])
    return session, lines


def message(role: str, **rest: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": "x"}, **rest}


@pytest.mark.parametrize(
    ("version", "read_as"),
    [
        (None, 1),
        (0, 1),
        (1, 1),
        (1.5, 1),
        ("1", 1),
        ("", 1),
        (2, 2),
        ("2", 2),
        (2.5, 2),
        ("abc", 2),
        ([], 2),
        (3, 3),
        (3.0, 3),
        ("3", 3),
        (4, 4),
        ("9", 4),
        (1e300, 4),
    ],
)
def test_a_version_is_what_javascript_compares(version: Any, read_as: int) -> None:
    assert format_version({"version": version}) == read_as


def test_version_1_gets_ids_and_parents_the_same_at_each_opening() -> None:
    values = [HEADER, message("user"), message("hookMessage"), message("assistant")]
    session, _ = opened(*values)
    again, _ = opened(*values)
    ids = session.index.ids
    assert ids == again.index.ids
    assert all(isinstance(i, str) and len(i) == 8 for i in ids)
    assert len(set(ids)) == 3
    assert list(session.index.parent) == [-1, 0, 1]
    bodies = session.entries(range(3))
    assert [body["id"] for body in bodies] == ids
    assert bodies[1]["message"]["role"] == "custom"
    assert list(bodies[0]) == ["type", "message", "id", "parentId"]
    other, _ = opened({**HEADER, "id": "other"}, message("user"))
    assert other.index.ids[0] != ids[0]


@pytest.mark.parametrize(
    ("index", "kept"),
    [(1, 0), (3, 1), (4, 2), (0, None), (2, None), (5, None), (-1, None), (1.5, None)],
)
def test_the_kept_index_becomes_an_id_or_goes(index: Any, kept: int | None) -> None:
    """Places in the list of parsed lines: 0 and 2 are headers, 4 is the compaction itself."""
    again = {"type": "session", "id": "again"}
    compaction = {"type": "compaction", "firstKeptEntryIndex": index}
    later = message("user")
    session, _ = opened(HEADER, message("user"), again, message("user"), compaction, later)
    body = session.entry(2)
    assert "firstKeptEntryIndex" not in body
    assert body.get("firstKeptEntryId") == (None if kept is None else session.index.ids[kept])


def test_lines_that_are_no_entries_count_as_pi_counts_them() -> None:
    compaction = {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 1}
    session, _ = opened(HEADER, b"{broken", b"", b"7", message("user", id="mine"), compaction)
    assert session.entry(1)["firstKeptEntryId"] == session.index.ids[0]
    assert [problem.kind for problem in session.problems] == ["badLine", "notAnObject"]


def test_version_2_renames_a_role_and_nothing_else() -> None:
    line = (
        b'{ "type":"message","id":"a" , "message":{"role" : "hookMessage","n":1.0,"t":"\\ud800"}}'
    )
    assert migrate_line(line, 2, "a", None, None) == line.replace(b"hookMessage", b"custom")
    for other in (
        b'{"type":"custom","id":"a","message":{"role":"hookMessage"}}',
        b'{"id":"hookMessage"}',
    ):
        assert migrate_line(other, 2, "a", None, None) == other
    assert migrate_line(line, 3, "a", None, None) == line


@pytest.mark.parametrize(
    ("line", "migrated"),
    [
        (b'{"type":"session","id":"s"}', b'{"type":"session","id":"s","version":3}'),
        (b'{"version": 1 ,"id":"s"}', b'{"version": 3 ,"id":"s"}'),
        (b'{"version":null,"id":"s"} \r', b'{"version":3,"id":"s"}'),
    ],
)
def test_a_header_gets_its_version_in_place_or_last(line: bytes, migrated: bytes) -> None:
    assert migrate_header(line) == migrated
