"""Members of odd types, which no program writes on purpose, break nothing."""

import json
from typing import Any

import pytest

from pisessiond.core.dates import date_ms
from pisessiond.core.projection import project_entry
from pisessiond.core.session import Session, load_session

ODD = [True, 0, 1.5, "odd", [], [1], {}, {"a": 1}, None]


def session_of(*entries: dict[str, Any]) -> Session:
    header = {"type": "session", "version": 3, "id": "odd", "timestamp": "", "cwd": "/"}
    lines = [json.dumps(entry).encode() for entry in (header, *entries)]
    data = b"\n".join(lines) + b"\n"
    return load_session([(0, lines)], lambda places: [data[at : at + size] for at, size in places])


def message(**members: Any) -> dict[str, Any]:
    return {"type": "message", "id": "m", "parentId": None, "timestamp": "", "message": members}


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_role_of_an_odd_type_is_a_role_like_any_unknown_one(odd: Any) -> None:
    given = message(role=odd)
    edit = {"type": "context_edit", "targetId": "m", "replacement": {"content": "new"}}
    assert project_entry(given, None) == project_entry(given, edit) == ({"role": odd},)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_edit_of_nothing_that_could_be_an_id_changes_nothing(odd: Any) -> None:
    edit = {"type": "context_edit", "id": "e", "parentId": "m", "timestamp": ""}
    session = session_of(
        message(role="user", content="kept"), {**edit, "targetId": odd, "replacement": None}
    )
    session.measure_rest()
    assert [one["content"] for one in session.projection(1).messages] == ["kept"]
    assert session.size_at(1).tokens == 1


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd is not None], ids=repr)
def test_a_replacement_without_content_takes_the_content_away(odd: Any) -> None:
    edit = {"type": "context_edit", "targetId": "m", "replacement": odd}
    assert project_entry(message(role="user", content="old"), edit) == ({"role": "user"},)


@pytest.mark.parametrize("members", [{}, {"name": None}, {"name": ""}, {"name": " "}], ids=repr)
def test_a_name_that_is_not_there_clears_the_name(members: dict[str, Any]) -> None:
    base = {"type": "session_info", "parentId": None, "timestamp": ""}
    session = session_of({**base, "id": "a", "name": "named"}, {**base, "id": "b", **members})
    assert session.name is None


def test_a_missing_time_is_unreadable_where_null_is_the_beginning_of_time() -> None:
    base = {"type": "custom", "customType": "mark", "parentId": "root"}
    root = {"type": "custom", "customType": "mark", "id": "root", "parentId": None}
    late = {**base, "id": "late", "timestamp": "2026-01-01T00:00:00.000Z"}
    missing = {**base, "id": "missing"}
    null = {**base, "id": "null", "timestamp": None}
    assert session_of(root, late, missing).tree.chains() == [["root", [["late"], ["missing"]]]]
    assert session_of(root, late, null).tree.chains() == [["root", [["null"], ["late"]]]]
    assert date_ms(None) == 0
