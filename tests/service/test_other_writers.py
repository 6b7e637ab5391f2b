"""A session that another program writes to: what is taken in, where the leaf goes, who is told."""

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.core.errors import NotASession
from pisessiond.service.errors import FileChanged, SessionNotFound, Unreadable
from pisessiond.service.open_session import OpenSession
from tests.support.service import (
    ME,
    Entry,
    House,
    Listener,
    answer,
    entry,
    foreign,
    in_file,
    label,
    user,
)

pytestmark = pytest.mark.anyio

TALK = [user("hello", "u1"), answer("hi", "a1", "u1"), user("more", "u2", "a1")]


@pytest.fixture(params=["jsonl", "memory"])
async def talk(request: pytest.FixtureRequest, house: House) -> OpenSession:
    """u1 - a1 - u2, stored."""
    session = await house.create(request.param)
    await session.append(TALK, origin=ME)
    return session


# Where the leaf goes


async def check_leaf(
    session: OpenSession,
    moved_to: str | None,
    lines: list[Entry],
    leaf: str | None,
    theirs: str | None = None,
) -> None:
    """Foreign lines, after a client stood somewhere ("" for never moved), lead to this leaf.

    With `theirs` they went on there, and both places are named until someone navigates.
    """
    if moved_to != "":
        await session.navigate(moved_to, exact=True, origin=ME)
    listener = Listener(session)
    foreign(session, *lines)
    await session.look()
    assert session.leaf == leaf == listener.leaf
    conflict = [("leafConflict", "external")] if theirs is not None else []
    assert listener.take() == [("append", "external"), *conflict]
    assert listener.rev == session.rev
    assert session.snapshot().leaf_conflict == ((leaf, theirs) if conflict else None)
    if conflict:
        await session.navigate(theirs, exact=True, origin=ME)
        assert session.snapshot().leaf_conflict is None


async def test_what_goes_on_from_the_leaf_is_followed(talk: OpenSession) -> None:
    await check_leaf(talk, "", [answer("x", "x1", "u2"), user("y", "x2", "x1")], "x2")


async def test_what_goes_on_elsewhere_is_followed_while_no_client_moved(talk: OpenSession) -> None:
    await check_leaf(talk, "", [user("x", "x1", "a1")], "x1")


async def test_where_a_client_moved_the_leaf_stays(talk: OpenSession) -> None:
    await check_leaf(talk, "a1", [answer("x", "x1", "u2")], "a1", theirs="x1")


async def test_unless_it_goes_on_from_there(talk: OpenSession) -> None:
    await check_leaf(talk, "a1", [user("x", "x1", "a1"), answer("y", "x2", "x1")], "x2")


async def test_entries_without_a_message_in_between_do_not_count(talk: OpenSession) -> None:
    await talk.append(
        [label("l1", "u2", "u1", "x"), entry("custom", "c1", "l1", customType="x")], origin=ME
    )
    await check_leaf(talk, "u2", [answer("x", "x1", "c1")], "x1")


async def test_a_move_with_a_label_is_a_move(talk: OpenSession) -> None:
    await talk.navigate("a1", label="here", origin=ME)
    leaf = talk.leaf
    foreign(talk, answer("x", "x1", "u2"))
    await talk.look()
    assert talk.leaf == leaf


async def test_before_the_first_entry_a_new_root_is_followed(talk: OpenSession) -> None:
    await check_leaf(talk, None, [user("x", "x1", None)], "x1")


async def test_before_the_first_entry_nothing_else_is(talk: OpenSession) -> None:
    await check_leaf(talk, None, [answer("x", "x1", "u2")], None, theirs="x1")


async def test_a_foreign_leaf_entry_moves_to_its_target(talk: OpenSession) -> None:
    await check_leaf(talk, "", [entry("leaf", "x1", "u2", targetId="a1")], "a1")


async def test_a_foreign_leaf_entry_without_target_moves_before_everything(
    talk: OpenSession,
) -> None:
    await check_leaf(talk, "", [entry("leaf", "x1", "u2", targetId=None)], None)


async def test_a_foreign_leaf_entry_to_nowhere_moves_nothing(talk: OpenSession) -> None:
    await check_leaf(talk, "", [entry("leaf", "x1", "u2", targetId="zz")], "u2")


async def test_once_a_client_goes_on_the_others_place_is_theirs(talk: OpenSession) -> None:
    await talk.navigate("a1", origin=ME)
    await talk.append([user("ours", "x1", "a1")], origin=ME)
    foreign(talk, answer("theirs", "x2", "u2"))
    await talk.look()
    assert talk.leaf == "x1"


# What is told


async def test_an_act_takes_in_foreign_lines_first(talk: OpenSession, house: House) -> None:
    listener = Listener(talk)
    foreign(talk, answer("x", "x1", "u2"))
    house.hand.wind()
    done = await talk.append([user("y")], origin=ME)
    assert listener.take() == [("append", "external"), ("append", "editor")]
    assert talk.session.entry(talk.session.leaf)["parentId"] == "x1"
    assert done.rev == talk.rev == listener.rev
    assert talk.last_external == house.hand.now_iso()


async def test_lines_that_are_no_entries_are_told_as_problems(talk: OpenSession) -> None:
    listener = Listener(talk)
    foreign(talk, b"{broken\n", b"7\n", b"\n", b'{"type":"custom"}\n')
    await talk.look()
    (change,) = listener.heard
    assert (change.kind, change.origin) == ("problem", "external")
    problems = change.details["problems"]
    assert [(p.kind, p.line) for p in problems] == [("badLine", 5), ("notAnObject", 6), ("noId", 8)]
    foreign(talk, user("x", "x1", "u2"))
    await talk.look()
    assert talk.session.index.line[-1] == 9


async def test_blank_lines_are_told_to_nobody(talk: OpenSession) -> None:
    listener = Listener(talk)
    foreign(talk, b"\n", b"  \n")
    await talk.look()
    assert listener.steps == []


async def test_an_orphan_is_shown_and_reported(talk: OpenSession) -> None:
    listener = Listener(talk)
    foreign(talk, user("x", "x1", "nowhere"))
    await talk.look()
    (change,) = listener.heard
    assert [p.kind for p in change.details["problems"]] == ["orphan"]
    assert [(node.id, node.parent) for node in change.nodes] == [("x1", None)]


@pytest.mark.parametrize(
    "lines",
    [
        [user("again", "u1", None)],
        [user("lost", "x1", "x2"), user("found", "x2", "u2")],
        [user("one", "x1", "x2"), user("two", "x2", "x1")],
    ],
    ids=["repeated", "late parent", "cycle"],
)
async def test_what_changes_older_entries_reads_the_file_anew(
    talk: OpenSession, lines: list[Entry]
) -> None:
    await talk.navigate("a1", origin=ME)
    listener = Listener(talk)
    foreign(talk, *lines)
    await talk.look()
    assert listener.resets == ["rewritten"]
    assert talk.leaf == listener.leaf == "a1"
    assert talk.rev == 1
    assert (await talk.context_size()).estimated
    await talk.append([{**user("ours"), "id": "x9"}], origin=ME)
    assert talk.session.entry(talk.session.leaf)["parentId"] == "a1"


# In the file only


async def test_a_line_that_comes_between_look_and_write_is_told(house: House) -> None:
    session = await house.opened(*TALK)
    listener = Listener(session)
    house.files.before("write", lambda: foreign(session, answer("x", "x1", "u2")))
    done = await session.append([user("ours")], origin=ME)
    assert listener.take() == [("append", "external"), ("append", "editor")]
    assert [body["id"] for body in in_file(session)[3:]] == ["x1", *done.ids]
    assert session.leaf == listener.leaf == done.leaf == done.ids[0]
    assert session.last_external is not None
    assert await reopened(house, session) == session.session.index.ids


async def test_even_when_it_changes_older_entries_ours_are_written_once(house: House) -> None:
    session = await house.opened(*TALK)
    listener = Listener(session)
    house.files.before("write", lambda: foreign(session, user("again", "u1", None)))
    done = await session.append([user("ours"), answer("too")], origin=ME)
    assert [body["id"] for body in in_file(session)[3:]] == ["u1", *done.ids]
    assert listener.resets == ["rewritten"]
    assert session.leaf == done.leaf


async def test_a_line_without_its_line_feed_is_taken_in_before_ours(house: House) -> None:
    session = await house.opened(*TALK)
    foreign(session, b'{"type":"custom","id":"x1","parentId":"u2","customType":"x"}')
    await session.append([user("ours")], origin=ME)
    written = in_file(session)
    assert [body["id"] for body in written[:4]] == ["u1", "a1", "u2", "x1"]
    assert written[4]["parentId"] == "x1"
    assert await reopened(house, session) == session.session.index.ids


async def reopened(house: House, session: OpenSession) -> list[Any]:
    """The ids of the session's file, as it is read by someone else."""
    assert session.path is not None
    path = Path(session.path)
    copy = path.with_name(f"copy_{path.name}")
    copy.write_bytes(path.read_bytes())
    return (await house.open(copy)).session.index.ids


@pytest.mark.parametrize("act", ["look", "append", "ask"])
async def test_a_rewritten_file_is_read_anew(house: House, act: str) -> None:
    session = await house.opened(*TALK)
    await session.context_size()
    listener = Listener(session)
    old = session.epoch
    house.file(user("other words, and more of them", "n1"), answer("yes", "n2", "n1"))
    os.utime(str(session.path), ns=(9, 9))
    with anyio.fail_after(5):
        if act == "look":
            await session.look()
        elif act == "append":
            await session.append([{**user("ours"), "id": "n3"}], origin=ME)
        else:
            page = await session.context(None, limit=None, cursor=None)
            assert page.messages == ()
            tree = await session.tree(around=None, after=None, before=None, count=9, filter="all")
            assert [node.id for node in tree.nodes] == ["n1", "n2"]
        assert listener.resets == ["rewritten"]
        assert session.epoch != old
        assert session.leaf == ("n3" if act == "append" else "n2")
        assert (await session.context_size()).estimated


async def test_an_answer_that_was_sought_in_a_rewritten_file_is_about_the_new_one(
    house: House,
) -> None:
    session = await house.opened(*TALK)
    house.file(
        user("first of all", "n0"), user("hello again", "u1", "n0"), answer("hi", "a1", "u1")
    )
    done = await session.navigate("u1", origin=ME)
    assert (done.leaf, done.editor_text) == ("n0", "hello again")


@pytest.mark.parametrize("act", ["open", "open again", "append", "size"])
async def test_a_deleted_file_is_gone(house: House, act: str) -> None:
    session = await house.opened(*TALK)
    await session.context_size()
    listener = Listener(session)
    path = Path(str(session.path))
    path.unlink()
    if act == "append":
        with pytest.raises(FileChanged):
            await session.append([user("x")], origin=ME)
    elif act == "open":
        with pytest.raises(SessionNotFound):
            await house.sessions.open(session=session.handle)
    elif act == "open again":
        with pytest.raises(SessionNotFound):
            await house.open(path)
    else:
        with pytest.raises(FileChanged):
            await session.look()
    assert listener.resets == ["gone"]
    with pytest.raises(SessionNotFound):
        await session.append([user("x")], origin=ME)
    with pytest.raises(SessionNotFound):
        house.sessions.get(session.handle)
    assert not path.exists()
    house.file(user("new", "n1"))
    assert (await house.open(path)).leaf == "n1"


async def test_a_file_that_is_no_session_any_more_is_gone(house: House) -> None:
    session = await house.opened(*TALK)
    path = Path(str(session.path))
    path.write_bytes(b'{"something": "else"}\n')
    with pytest.raises(NotASession):
        await house.open(path)
    assert session.is_gone


async def test_a_replaced_file_is_another_file_of_the_same_name(house: House) -> None:
    session = await house.opened(*TALK)
    path = Path(str(session.path))
    other = house.file(user("new", "n1"), name="other")
    other.replace(path)
    assert await house.open(path) is session
    assert session.leaf == "n1"


async def test_a_size_that_cannot_be_read_is_an_error_and_can_be_asked_for_again(
    house: House,
) -> None:
    session = await house.open(house.file(*TALK))
    house.files.fail("pread", 5)
    with anyio.fail_after(5):
        with pytest.raises(Unreadable):
            await session.context_size()
        assert (await session.context_size()).estimated == 4


async def test_reading_and_looking_leave_no_trace(house: House) -> None:
    path = house.file(*TALK)
    os.utime(path, ns=(3, 4))
    before = path.read_bytes()
    session = await house.open(path)
    await session.context_size()
    await session.look()
    await session.stats()
    await session.navigate("a1", origin=ME)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, 4)
