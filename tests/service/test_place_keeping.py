"""A move is kept for the next opening, once and no more often than needed."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.service import place_keeping
from pisessiond.service.open_session import OpenSession
from pisessiond.service.row_pages import RowsWish
from pisessiond.storage.place_notes import FolderPlaceNotes
from tests.support.service import (
    ME,
    HandClock,
    House,
    Listener,
    answer,
    foreign,
    in_file,
    service,
    user,
)

pytestmark = pytest.mark.anyio

TALK = [user("one", "u1"), answer("two", "a1", "u1"), user("three", "u2", "a1")]


def keeping(folder: Path, persist: Any = "anchor") -> HandClock:
    hand = HandClock()
    notes = FolderPlaceNotes(str(folder / "places"))
    hand.surroundings = replace(hand.surroundings, persist=persist, place_notes=notes)
    return hand


@pytest.fixture
async def house(tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    async with service(tmp_path, hand=keeping(tmp_path)) as house:
        yield house


def anchors(session: OpenSession) -> list[Any]:
    """Parents of the anchors in the file."""
    return [
        body["parentId"] for body in in_file(session) if body.get("customType") == "pisessiond.leaf"
    ]


async def reopened(path: Path) -> str | None:
    """Where a service that knows nothing of before stands in the file."""
    async with service(path.parent / "other") as later:
        session = await later.open(path)
        leaf = session.leaf
        assert leaf is None or isinstance(leaf, str)
        return leaf


@pytest.mark.parametrize("place", ["u1", "a1", None])
async def test_the_end_keeps_the_place_and_the_time_of_the_file(
    tmp_path: Path, place: str | None
) -> None:
    async with service(tmp_path, hand=keeping(tmp_path)) as house:
        path = house.file(*TALK)
        os.utime(path, ns=(10**18, 10**18))
        session = await house.open(path)
        await session.navigate(place, exact=True, origin=ME)
        await house.sessions.aclose()
        assert anchors(session) == [place]
    assert path.stat().st_mtime_ns == 10**18
    assert await reopened(path) == place


async def test_a_hundred_moves_leave_one_anchor_once_they_have_settled(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place_keeping, "SETTLE_SECONDS", 0.2)
    session = await house.opened(*TALK)
    listener = Listener(session)
    for _ in range(50):
        await session.navigate("u1", exact=True, origin=ME)
        await session.navigate("a1", exact=True, origin=ME)
    with anyio.fail_after(10):
        while not any(change.kind == "append" for change in listener.heard):
            await anyio.sleep(0.01)
    assert anchors(session) == ["a1"]
    assert (session.leaf, listener.leaf) == ("a1", "a1")
    assert [c.origin for c in listener.heard if c.kind == "append"] == ["repair"]


async def test_a_move_to_where_the_file_reopens_writes_nothing(house: House) -> None:
    session = await house.opened(*TALK)
    await session.navigate("u1", exact=True, origin=ME)
    await session.navigate("u2", exact=True, origin=ME)
    await session.places.keep()
    assert anchors(session) == []


async def test_what_was_appended_is_anchor_enough(house: House) -> None:
    session = await house.opened(*TALK)
    await session.navigate("a1", exact=True, origin=ME)
    await session.append([user("other", "u3", "a1")], origin=ME)
    await session.places.keep()
    assert anchors(session) == []


async def test_the_next_append_hangs_under_the_place_not_the_anchor(house: House) -> None:
    session = await house.opened(*TALK)
    await session.navigate("a1", exact=True, origin=ME)
    await session.places.keep()
    await session.append([user("other", "u3", "a1")], origin=ME)
    assert in_file(session)[-1]["parentId"] == "a1"
    await session.navigate("u1", exact=True, origin=ME)
    await session.places.keep()
    assert anchors(session) == ["a1", "u1"]


async def test_rows_are_answered_and_told_after_a_place_was_kept(house: House) -> None:
    session = await house.opened(*TALK)
    await session.rows.page(RowsWish(around="here"))
    await session.navigate("a1", exact=True, origin=ME)
    before = await session.rows.page(RowsWish(around="here"))
    await session.places.keep()
    assert anchors(session) == ["a1"]
    page = await session.rows.page(RowsWish(around="here"))
    assert [row.id for row in page.rows] == [row.id for row in before.rows]
    await session.append([user("other", "u3", "a1")], origin=ME)
    page = await session.rows.page(RowsWish(around="here"))
    assert "e:u3" in [row.id for row in page.rows]


async def test_a_place_is_kept_once(house: House) -> None:
    session = await house.opened(*TALK)
    await session.navigate("a1", exact=True, origin=ME)
    for _ in range(3):
        await session.places.keep()
    assert anchors(session) == ["a1"]


async def test_no_anchor_where_another_program_went_on_after_the_move(house: House) -> None:
    session = await house.opened(*TALK)
    await session.navigate("u1", exact=True, origin=ME)
    foreign(session, answer("theirs", "x1", "u2"))
    await session.places.keep()
    assert anchors(session) == []
    assert session.snapshot().leaf_conflict == ("u1", "x1")


async def test_the_last_client_leaving_keeps_the_place(house: House) -> None:
    session = await house.opened(*TALK)
    listener = Listener(session)
    await session.navigate("a1", exact=True, origin=ME)
    session.unsubscribe(listener)
    with anyio.fail_after(10):
        while not anchors(session):
            await anyio.sleep(0.01)
    assert anchors(session) == ["a1"]


async def test_pi_going_on_under_the_anchor_is_followed(house: House) -> None:
    session = await house.opened(*TALK)
    await session.navigate("a1", exact=True, origin=ME)
    await session.places.keep()
    foreign(session, user("by pi", "x1", in_file(session)[-1]["id"]))
    await session.look()
    assert session.leaf == "x1"
    assert session.snapshot().leaf_conflict is None


async def test_an_old_file_is_not_migrated_for_a_place(tmp_path: Path) -> None:
    async with service(tmp_path, hand=keeping(tmp_path)) as house:
        path = house.file(*TALK, version=2)
        before = path.read_bytes()
        session = await house.open(path)
        await session.navigate("a1", exact=True, origin=ME)
        await session.places.keep()
        assert path.read_bytes() == before
    async with service(tmp_path, hand=keeping(tmp_path)) as house:
        session = await house.open(path)
        assert session.leaf == "a1"
        await session.append([user("other", "u3", "a1")], origin=ME)
        assert in_file(session)[-1]["parentId"] == "a1"
    assert await reopened(path) == "u3"


async def test_the_leaf_mode_writes_the_entry_of_agent_core(tmp_path: Path) -> None:
    async with service(tmp_path, hand=keeping(tmp_path, "leaf")) as house:
        session = await house.opened(*TALK)
        await session.navigate("a1", exact=True, origin=ME)
        await session.places.keep()
        last = in_file(session)[-1]
        assert (last["type"], last["parentId"], last["targetId"]) == ("leaf", "u2", "a1")
        path = Path(str(session.path))
    assert await reopened(path) == "a1"


async def test_memory_keeps_nothing(tmp_path: Path) -> None:
    async with service(tmp_path, hand=keeping(tmp_path, "memory")) as house:
        session = await house.opened(*TALK)
        await session.navigate("a1", exact=True, origin=ME)
        await house.sessions.aclose()
        assert anchors(session) == []


async def test_an_unsaved_session_is_not_written_for_a_place(house: House) -> None:
    session = await house.create()
    await session.append([user("one", "u1"), user("two", "u2", "u1")], origin=ME)
    await session.navigate("u1", exact=True, origin=ME)
    await session.places.keep()
    assert session.is_unsaved


async def test_a_full_disk_loses_no_place(house: House) -> None:
    session = await house.opened(*TALK)
    await session.navigate("a1", exact=True, origin=ME)
    house.files.fail("write", 28)
    await session.places.keep()
    assert anchors(session) == []
    await session.places.keep()
    assert anchors(session) == ["a1"]
