"""Which session is meant: by path, by id, the latest, and the plain list of them all."""

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.core.dates import iso_from_ms
from pisessiond.core.errors import NotASession
from pisessiond.service.errors import (
    AmbiguousSession,
    InvalidRequest,
    SessionExists,
    SessionNotFound,
    Unreadable,
)
from pisessiond.service.listing import Wanted
from pisessiond.service.types import ListedSession
from tests.support.service import ME, START_MS, House, Listener, answer, service, user

pytestmark = pytest.mark.anyio


async def listed(house: House, **wanted: Any) -> list[ListedSession]:
    """Every row; while files are read, a page may be a short one."""
    found: list[ListedSession] = []
    cursor = None
    while True:
        page = await house.sessions.list(Wanted(**{"limit": 1_000, **wanted, "cursor": cursor}))
        found += page.sessions
        if (cursor := page.cursor) is None:
            return found


def aged(path: Path, seconds: int) -> Path:
    os.utime(path, (seconds, seconds))
    return path


# Opening


async def test_a_path_leads_to_one_session_however_it_is_spelled(house: House) -> None:
    path = house.file(user("a", "u1"))
    link = house.folder / "link.jsonl"
    link.symlink_to(path)
    session = await house.open(path)
    assert await house.open(link) is session
    assert (
        await house.sessions.open(path=f"{path.parent}/../{path.parent.name}/{path.name}")
        is session
    )
    assert await house.sessions.open(session="s1") is session
    assert session.path == str(path)


async def test_many_who_open_at_once_share_one_session(house: House) -> None:
    path = house.file(user("a", "u1"))
    opened = []

    async def open_it() -> None:
        opened.append(await house.open(path))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(open_it)
    assert len(set(map(id, opened))) == 1
    assert house.files.calls["stat"] <= 20


async def test_an_id_finds_its_file(house: House) -> None:
    house.file(user("a", "u1"), name="other")
    path = house.file(user("a", "u1"), name="wanted")
    assert (await house.sessions.open(session="wanted")).path == str(path)
    renamed = path.with_name("anything.jsonl")
    house.file(name="inside").rename(renamed)
    assert (await house.sessions.open(session="inside")).path == str(renamed)
    with pytest.raises(SessionNotFound):
        await house.sessions.open(session="nowhere")


async def test_an_id_that_two_files_carry_is_ambiguous(house: House) -> None:
    first = house.file(user("a", "u1"))
    folder = house.folder / "agent" / "sessions" / "--other--"
    folder.mkdir()
    second = folder / first.name
    second.write_bytes(first.read_bytes())
    with pytest.raises(AmbiguousSession) as caught:
        await house.sessions.open(session="s1")
    assert caught.value.paths == tuple(sorted([str(first), str(second)]))
    one, two = await house.open(first), await house.open(second)
    assert (one.handle, two.handle) == ("s1", str(second))
    assert house.sessions.get(str(second)) is two


async def test_what_is_no_session_is_refused_untouched(house: House) -> None:
    path = house.file()
    for data in (b'{"a":1}\n', b"\n\n", b"\xef\xbb\xbf" + path.read_bytes(), b"text\n"):
        path.write_bytes(data)
        with pytest.raises(NotASession):
            await house.open(path)
        assert path.read_bytes() == data
    with pytest.raises(SessionNotFound):
        await house.open(path.with_name("nothing.jsonl"))
    with pytest.raises((Unreadable, NotASession)):
        await house.open(path.parent)
    with pytest.raises(InvalidRequest):
        await house.sessions.open()


# The latest


async def test_the_latest_is_the_file_changed_last(house: House) -> None:
    for name, time in (("s1", 10), ("s2", 30), ("s3", 20)):
        aged(house.file(user("a", "u1"), name=name), time)
    broken = house.file(name="s4")
    broken.write_bytes(b'{"no": "header"}\n')
    opened = await house.sessions.open(latest_cwd=house.cwd)
    assert opened.handle == "s2"
    with pytest.raises(SessionNotFound):
        await house.sessions.open(latest_cwd="/nothing/here")


async def test_in_a_shared_folder_the_header_says_whose_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    async with service(tmp_path, environment={"PI_CODING_AGENT_SESSION_DIR": str(shared)}) as house:
        shared.mkdir()
        for name, time, cwd in (("s1", 10, house.cwd), ("s2", 20, "/other"), ("s3", 30, "")):
            made = house.file(user("a", "u1"), name=name, cwd=cwd)
            aged(made.rename(shared / made.name), time)
        assert (await house.sessions.open(latest_cwd=house.cwd)).handle == "s1"
        assert [one.session for one in await listed(house, cwd=house.cwd)] == ["s1"]
        assert [one.session for one in await listed(house)] == ["s3", "s2", "s1"]
        assert (await house.sessions.open(session="s2")).handle == "s2"
        new = await house.create()
        assert Path(str(new.path)).parent == shared


# The list


async def test_the_list_tells_of_files_and_of_what_is_not_saved(house: House) -> None:
    aged(house.file(user("find me", "u1"), answer("b", "a1", "u1"), name="s1"), 10)
    aged(house.file(user("other", "u1"), name="s2", parentSession="/p"), 20)
    house.file(name="s3").write_bytes(b"no session\n")
    new = await house.create()
    await new.append([user("unsaved")], origin=ME)
    opened = await house.sessions.open(session="s1")
    Listener(opened)
    found = await listed(house)
    assert [(one.session, one.unsaved, one.open) for one in found] == [
        (new.handle, True, 0),
        ("s2", False, 0),
        ("s1", False, 1),
    ]
    assert [one.first_message for one in found] == ["unsaved", "other", "find me"]
    assert (found[2].messages, found[1].parent_session) == (2, "/p")
    assert found[2].modified == iso_from_ms(START_MS)
    assert [one.session for one in await listed(house, query="FIND s1")] == ["s1"]
    assert await listed(house, cwd="/elsewhere") == []


async def test_every_session_in_memory_is_listed(house: House) -> None:
    one, two = await house.create("memory"), await house.create("memory")
    await two.append([user("a"), answer("b")], origin=ME)
    assert sorted(item.session for item in await listed(house)) == sorted([one.handle, two.handle])


async def test_the_list_comes_page_by_page(house: House) -> None:
    for number in range(5):
        aged(house.file(name=f"s{number}"), 100 - number)
    await house.create()
    found, cursor = [], None
    while True:
        page = await house.sessions.list(Wanted(limit=2, cursor=cursor))
        found += [one.session for one in page.sessions]
        if (cursor := page.cursor) is None:
            break
    assert found == ["session-1", "s0", "s1", "s2", "s3", "s4"]
    with pytest.raises(InvalidRequest):
        await house.sessions.list(Wanted(cursor="x"))


# Making


async def test_a_new_session_has_its_planned_place(house: House) -> None:
    session = await house.sessions.create(cwd=house.cwd, id="my.id-1", name="name", origin=ME)
    assert (session.handle, session.is_unsaved, session.session.name) == ("my.id-1", True, "name")
    assert session.path == str(house.sessions_folder / f"{stamp(house)}_my.id-1.jsonl")
    assert not house.sessions_folder.exists()
    with pytest.raises(SessionExists):
        await house.sessions.create(cwd=house.cwd, id="my.id-1", origin=ME)
    for wrong in ("", "-a", "a/b", "a ", "ä", "a."):
        with pytest.raises(InvalidRequest):
            await house.sessions.create(cwd=house.cwd, id=wrong, origin=ME)
    with pytest.raises(InvalidRequest):
        await house.sessions.create(cwd="relative", origin=ME)


def stamp(house: House) -> str:
    return house.hand.now_iso().replace(":", "-").replace(".", "-")


async def test_a_wished_folder_holds_the_new_session(house: House) -> None:
    session = await house.sessions.create(cwd=house.cwd, session_dir="here", origin=ME)
    assert Path(str(session.path)).parent == Path("/srv/project/here")
