"""Drafts: what acts would add, each seeing what those before it added."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from pisessiond.core.changes import Draft, destination, draft_all, fork_point, is_same_entry
from pisessiond.core.entries import complete_entry
from pisessiond.core.errors import (
    DuplicateEntry,
    EntryNotFound,
    InvalidEntry,
    NotOnBranch,
    RequestError,
)
from pisessiond.core.index import NONE
from pisessiond.core.session import Session, load_session

TIME = "2026-11-30T00:00:00.000Z"
Entry = dict[str, Any]


def user(text: str = "x", **rest: Any) -> Entry:
    return {"type": "message", "message": {"role": "user", "content": text}, **rest}


def answer(**rest: Any) -> Entry:
    return {"type": "message", "message": {"role": "assistant", "content": []}, **rest}


def opened(*entries: Entry) -> Session:
    header = {"type": "session", "version": 3, "id": "s"}
    lines = [json.dumps(value).encode() for value in (header, *entries)]
    places = {}
    at = 0
    for line in lines:
        places[at] = line
        at += len(line) + 1
    return load_session([(0, lines)], lambda wanted: [places[place] for place, _ in wanted])


def at(entry: Entry, entry_id: str, parent: str | None) -> Entry:
    return complete_entry(entry, entry_id, parent, TIME)


# u1 ─ a1 ┬ u2
#         └ u3 ─ m1
TALK = [
    at(user("hello"), "u1", None),
    at(answer(), "a1", "u1"),
    at(user("side"), "u2", "a1"),
    at(user("more"), "u3", "a1"),
    at({"type": "custom", "customType": "x"}, "m1", "u3"),
]


@pytest.fixture
def draft() -> Draft:
    ids = count(1)
    return Draft(opened(*TALK), lambda: f"n{next(ids)}", TIME)


def test_each_entry_stands_under_the_one_before(draft: Draft) -> None:
    for given in (user(), answer(), user()):
        draft.add(given)
    assert [new.entry["parentId"] for new in draft.entries] == ["m1", "n1", "n2"]
    assert [new.entry["timestamp"] for new in draft.entries] == [TIME] * 3
    assert draft.leaf == "n3"
    assert len(draft.session.index) == 5


def test_an_id_that_is_taken_is_not_given_out() -> None:
    ids = iter(["u1", "n1", "n1", "a1", "n2"])
    draft = Draft(opened(*TALK), lambda: next(ids), TIME)
    assert [draft.add(user()).head.id for _ in range(2)] == ["n1", "n2"]


def test_undoing_forgets_what_came_since_the_mark(draft: Draft) -> None:
    draft.add(user(id="x1"))
    mark = draft.mark()
    draft.add(user(id="x2"))
    draft.move("a1")
    draft.add(user(id="x3"))
    draft.undo(mark)
    assert (draft.leaf, [new.head.id for new in draft.entries]) == ("x1", ["x1"])
    assert not draft.has("x2")
    draft.add(user(id="x2"))
    assert draft.entries[-1].entry["parentId"] == "x1"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (user(id="u1"), DuplicateEntry),
        (user(parentId="a1"), InvalidEntry),
        (user(parentId=None), InvalidEntry),
        ({"type": "label", "targetId": "zz", "label": "x"}, EntryNotFound),
        ({"type": "leaf", "targetId": "zz"}, EntryNotFound),
        ({"type": "context_edit", "targetId": "zz", "replacement": None}, EntryNotFound),
        ({"type": "context_edit", "targetId": "u2", "replacement": None}, NotOnBranch),
        ({"type": "context_edit", "targetId": "m1", "replacement": None}, InvalidEntry),
        (
            {"type": "compaction", "summary": "", "firstKeptEntryId": "zz", "tokensBefore": 1},
            EntryNotFound,
        ),
        (
            {"type": "compaction", "summary": "", "firstKeptEntryId": "u2", "tokensBefore": 1},
            NotOnBranch,
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_adds_nothing(
    draft: Draft, given: Entry, error: type[RequestError]
) -> None:
    with pytest.raises(error):
        draft.add(given)
    assert (draft.entries, draft.leaf) == ([], "m1")


@pytest.mark.parametrize("parent", ["zz", "", [], {}, True, 7, 1.5])
def test_a_parent_that_is_not_there_is_refused(draft: Draft, parent: Any) -> None:
    with pytest.raises(EntryNotFound):
        draft.add(user(parentId=parent), detached=True)


def test_what_was_drafted_can_be_referred_to(draft: Draft) -> None:
    draft.add(user(id="x1"))
    draft.add({"type": "label", "targetId": "x1", "label": "x"})
    edit = draft.add({"type": "context_edit", "targetId": "x1", "replacement": {"content": "y"}})
    assert edit.entry["replacement"] == {"content": "y"}
    own = {"type": "compaction", "summary": "", "firstKeptEntryId": "x2", "tokensBefore": 1}
    draft.add({**own, "id": "x2"})
    draft.move("u2")
    with pytest.raises(NotOnBranch):
        draft.add({"type": "context_edit", "targetId": "x1", "replacement": None})


def test_a_text_for_an_answer_becomes_a_block(draft: Draft) -> None:
    given = {"type": "context_edit", "targetId": "a1", "replacement": {"content": "y"}}
    assert draft.add(given).entry["replacement"] == {"content": [{"type": "text", "text": "y"}]}


def test_a_leaf_entry_moves_and_a_detached_one_does_not(draft: Draft) -> None:
    draft.add({"type": "leaf", "targetId": "a1"})
    assert draft.leaf == "a1"
    draft.add({"type": "leaf", "targetId": "u1", "parentId": "u2"}, detached=True)
    assert draft.leaf == "a1"
    draft.add(user(parentId="u2"), detached=True)
    assert draft.leaf == "a1"
    assert draft.add(user()).entry["parentId"] == "a1"


@pytest.mark.parametrize(
    ("base", "acts", "holds"),
    [
        ("m1", [], True),
        ("u3", [], True),
        ("a1", [], False),
        (None, [], False),
        ("zz", [], False),
        ("u3", [{"type": "session_info", "name": "x"}], True),
        ("m1", [user()], False),
        ("u3", [user()], False),
    ],
)
def test_only_metadata_may_have_come_since(
    draft: Draft, base: Any, acts: list[Entry], holds: bool
) -> None:
    for given in acts:
        draft.add(given)
    assert draft.is_leaf_since(base) == holds


def test_before_the_first_entry_metadata_may_have_come_too() -> None:
    draft = Draft(opened(), lambda: "n1", TIME)
    assert draft.is_leaf_since(None)
    draft.rename("x")
    assert draft.is_leaf_since(None)
    assert not draft.is_leaf_since("zz")


def test_on_the_branch_or_not(draft: Draft) -> None:
    draft.add(user(id="x1"))
    draft.add(user(id="x2"))
    on_branch: Callable[[str, str | None], bool] = draft.is_on_branch
    assert [on_branch(e, "x2") for e in ("u1", "m1", "x1", "x2", "u2")] == [True] * 4 + [False]
    assert [on_branch(e, "u2") for e in ("u1", "u2", "u3", "x1")] == [True, True, False, False]
    assert not on_branch("u1", None)


def test_a_retry_that_waits_with_the_first_try_adds_nothing(draft: Draft) -> None:
    assert draft_all(draft, [user(id="x1"), answer()], detached=False) == ["x1", "n1"]
    assert draft_all(draft, [user(id="x1"), answer()], detached=False) == ["x1", "n2"]
    with pytest.raises(DuplicateEntry):
        draft_all(draft, [user("other", id="x1")], detached=False)
    with pytest.raises(DuplicateEntry):
        draft_all(draft, [user("hello", id="u1")], detached=False)


def test_a_retry_asks_for_what_is_stored() -> None:
    stored = at(user("a"), "x1", "p")
    for same in (user("a", id="x1"), stored, {**stored, "timestamp": TIME}):
        assert is_same_entry(same, stored)
    for other in (
        user("b", id="x1"),
        user("a", id="x1", parentId="q"),
        user("a", id="x1", timestamp="2026-11-30T00:00:01.000Z"),
        user("a", id="x1", more=1),
        answer(id="x1"),
        {"type": "", "id": "x1"},
    ):
        assert not is_same_entry(other, stored)


def test_where_navigating_leads() -> None:
    session = opened(*TALK)
    for target, leaf, text in (("u1", None, "hello"), ("u3", "a1", "more"), ("a1", "a1", None)):
        row = session.row_of(target)
        found = destination(session, row, session.entry(row))
        assert (found.leaf, found.editor_text) == (leaf, text)
    assert destination(session, NONE, None).leaf is None


def test_where_a_fork_ends() -> None:
    session = opened(*TALK)
    row = session.row_of("u3")
    before = fork_point(session, row, session.entry(row), "before")
    assert (session.id_of(before.row), before.editor_text) == ("a1", "more")
    assert fork_point(session, row, None, "at").row == row
    with pytest.raises(InvalidEntry):
        fork_point(session, session.row_of("a1"), {}, "before")
