"""Open sessions whose files change: they look by themselves, whichever way they come to know."""

import os
import queue
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from pisessiond.service import watching
from pisessiond.service.errors import SessionNotFound
from pisessiond.service.open_session import OpenSession
from pisessiond.service.subscribers import OnlyListens
from pisessiond.storage.base import Mark
from pisessiond.storage.watch import FolderWatches
from tests.support.service import (
    ME,
    START_MS,
    HandClock,
    House,
    Listener,
    answer,
    foreign,
    service,
    user,
)

pytestmark = pytest.mark.anyio

TALK = [user("hello", "u1"), answer("hi", "a1", "u1")]


class Watch:
    """A watch that tells what a test lets it tell."""

    def __init__(self, folders: Collection[str], reason: str | None) -> None:
        self.folders = folders if reason is None else ()
        self.reason = reason
        self.is_closed = False
        self.told: queue.SimpleQueue[set[str]] = queue.SimpleQueue()

    def wait(self) -> set[str]:
        return self.told.get()

    def close(self) -> None:
        self.is_closed = True
        self.told.put(set())


class Watches:
    """Watches by hand."""

    kind = "inotify"

    def __init__(self) -> None:
        self.made: list[Watch] = []
        self.reason: str | None = None
        self.before_watch: Callable[[], None] = lambda: None
        self._marks = FolderWatches()

    def watch(self, folders: Collection[str]) -> Watch:
        self.before_watch()
        self.made.append(Watch(folders, self.reason))
        return self.made[-1]

    def marks(self, paths: Sequence[str]) -> list[Mark]:
        return self._marks.marks(paths)

    @property
    def folders(self) -> set[str]:
        """What is watched now."""
        return {folder for watch in self.made if not watch.is_closed for folder in watch.folders}

    def tell(self, *paths: str | None) -> None:
        self.made[-1].told.put({path for path in paths if path is not None})


@pytest.fixture
def watches() -> Watches:
    return Watches()


@pytest.fixture
async def house(
    tmp_path: Path, watches: Watches, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    monkeypatch.setattr(watching, "SLOW_SECONDS", 3600.0)
    hand = HandClock()
    hand.surroundings = replace(hand.surroundings, watches=watches)
    async with service(tmp_path, hand=hand) as house:
        yield house


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not is_so():
            await anyio.sleep(0.002)


async def watched(watches: Watches, session: OpenSession) -> None:
    """Wait until a session's folder is watched and the first look at it is over."""
    assert session.path is not None
    folder = str(Path(session.path).parent)
    await until(lambda: folder in watches.folders)
    await anyio.sleep(0.05)


async def test_only_folders_of_open_files_are_watched(house: House, watches: Watches) -> None:
    assert house.sessions.watch_state == watching.WatchState("inotify")
    unsaved = await house.create()
    memory = await house.create("memory")
    await memory.append(TALK, origin=ME)
    await anyio.sleep(0.05)
    assert watches.made == []
    await unsaved.append(TALK, origin=ME)
    await until(lambda: watches.folders == {str(house.sessions_folder)})
    other = house.file(*TALK, name="other")
    elsewhere = house.folder / "elsewhere"
    elsewhere.mkdir()
    other.rename(elsewhere / "other.jsonl")
    await house.open(elsewhere / "other.jsonl")
    await until(lambda: watches.folders == {str(house.sessions_folder), str(elsewhere)})
    assert [watch.is_closed for watch in watches.made] == [True, False]


async def test_an_event_makes_the_session_look(house: House, watches: Watches) -> None:
    session = await house.opened(*TALK)
    listener = Listener(session)
    await watched(watches, session)
    foreign(session, user("x", "x1", "a1"))
    watches.tell(session.path)
    await until(lambda: session.leaf == "x1")
    assert listener.take() == [("append", "external")]
    assert session.last_external == house.hand.now_iso()


async def test_events_of_other_files_make_nobody_look(house: House, watches: Watches) -> None:
    session = await house.opened(*TALK)
    await watched(watches, session)
    house.files.calls.clear()
    watches.tell(f"{session.path}x", str(house.folder / "else"))
    await anyio.sleep(0.05)
    assert house.files.calls["stat"] == 0


async def test_a_burst_costs_few_looks(house: House, watches: Watches) -> None:
    session = await house.opened(*TALK)
    await watched(watches, session)
    house.files.calls.clear()
    async with session.changing:
        for _ in range(100):
            watches.tell(session.path)
        await until(watches.made[-1].told.empty)
    await anyio.sleep(0.05)
    assert 1 <= house.files.calls["stat"] <= 3


async def test_what_is_written_while_the_watch_begins_is_found(
    house: House, watches: Watches
) -> None:
    path = house.file(*TALK)

    def write() -> None:
        with path.open("ab") as file:
            file.write(b'{"type":"custom","customType":"x","id":"x1","parentId":"a1"}\n')

    watches.before_watch = write
    session = await house.open(path)
    await until(lambda: session.leaf == "x1")


async def test_what_is_written_while_the_watch_is_exchanged_is_found(
    house: House, watches: Watches
) -> None:
    session = await house.opened(*TALK)
    await watched(watches, session)
    watches.before_watch = partial(foreign, session, user("x", "x1", "a1"))
    other = house.folder / "other" / "o.jsonl"
    other.parent.mkdir()
    house.file(*TALK, name="o").rename(other)
    await house.open(other)
    await until(lambda: session.leaf == "x1")


async def test_an_event_that_never_came_costs_a_little_time_only(
    house: House, watches: Watches, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await house.opened(*TALK)
    await watched(watches, session)
    monkeypatch.setattr(watching, "SLOW_SECONDS", 0.02)
    await house.opened(*TALK, name="wakes-the-loop")
    foreign(session, user("x", "x1", "a1"))
    await until(lambda: session.leaf == "x1")


async def test_where_nothing_is_told_marks_are_compared_often(
    house: House, watches: Watches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "FAST_SECONDS", 0.02)
    watches.reason = "a session is on a file system of type nfs4"
    session = await house.opened(*TALK)
    polling = watching.WatchState("polling", watches.reason)
    await until(lambda: house.sessions.watch_state == polling)
    foreign(session, user("x", "x1", "a1"))
    await until(lambda: session.leaf == "x1")


async def test_it_is_tried_again_to_be_told(
    house: House, watches: Watches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "FAST_SECONDS", 0.01)
    monkeypatch.setattr(watching, "RETRY_SECONDS", 0.05)
    watches.reason = "the system watches no more folders"
    session = await house.opened(*TALK)
    await until(lambda: len(watches.made) > 1)
    watches.reason = None
    await until(lambda: house.sessions.watch_state == watching.WatchState("inotify"))
    await watched(watches, session)
    foreign(session, user("x", "x1", "a1"))
    watches.tell(session.path)
    await until(lambda: session.leaf == "x1")


async def test_a_deleted_file_is_told_and_its_folder_let_go(house: House, watches: Watches) -> None:
    session = await house.opened(*TALK)
    resets: list[str] = []
    session.subscribe(_Hears(resets))
    await watched(watches, session)
    assert session.path is not None
    Path(session.path).unlink()
    watches.tell(session.path)
    await until(lambda: resets == ["gone"])
    await until(lambda: watches.folders == set())
    with pytest.raises(SessionNotFound):
        house.sessions.get(session.handle)


async def test_a_file_that_cannot_be_read_for_a_while_is_looked_at_again(
    house: House, watches: Watches
) -> None:
    session = await house.opened(*TALK)
    await watched(watches, session)
    house.files.fail("stat", 5, always=True)
    foreign(session, user("x", "x1", "a1"))
    watches.tell(session.path)
    await anyio.sleep(0.05)
    house.files.heal()
    watches.tell(session.path)
    await until(lambda: session.leaf == "x1")


async def test_a_file_being_written_anew_is_not_taken_for_gone(
    house: House, watches: Watches
) -> None:
    session = await house.opened(*TALK)
    resets: list[str] = []
    session.subscribe(_Hears(resets))
    await watched(watches, session)
    assert session.path is not None
    path = Path(session.path)
    before = path.read_bytes()
    path.write_bytes(b"")
    watches.tell(session.path)
    await anyio.sleep(0.1)
    path.write_bytes(before + b'{"type":"custom","customType":"x","id":"x1","parentId":"a1"}\n')
    await until(lambda: resets == ["rewritten"])
    assert (session.leaf, session.is_unsaved) == ("x1", False)


class _Hears(OnlyListens):
    def __init__(self, resets: list[str]) -> None:
        self._resets = resets

    def session_changed(self, change: object) -> None:
        pass

    def session_reset(self, session: str, reason: str) -> None:
        self._resets.append(reason)


# Touched, not changed


async def remembered(house: House, watches: Watches) -> tuple[OpenSession, Path]:
    session = await house.opened(*TALK)
    await session.sized()
    await watched(watches, session)
    watches.tell(session.path)
    await until(lambda: session.is_remembered)
    assert session.path is not None
    return session, Path(session.path)


def touch(path: Path, seconds: int = 7) -> None:
    os.utime(path, (START_MS / 1000 + seconds, START_MS / 1000 + seconds))


async def test_a_touched_file_is_no_news(house: House, watches: Watches) -> None:
    session, path = await remembered(house, watches)
    listener = Listener(session)
    for seconds in (1, 2):
        touch(path, seconds)
        await session.look()
    foreign(session, user("x", "x1", "a1"))
    await session.look()
    assert (listener.take(), listener.resets) == ([("append", "external")], [])


async def test_it_is_remembered_through_writes_of_ours_and_of_others(
    house: House, watches: Watches
) -> None:
    session, path = await remembered(house, watches)
    await session.append([user("ours")], origin=ME)
    foreign(session, user("x", "x1", session.leaf))  # type: ignore[arg-type]
    watches.tell(session.path)
    await until(lambda: session.leaf == "x1" and session.is_remembered)
    listener = Listener(session)
    touch(path)
    await session.append([user("more")], origin=ME)
    assert (listener.take(), listener.resets) == ([("append", "editor")], [])


@pytest.mark.parametrize("word", [b'"cwd": "/srv', b"hello", b"hi"])
async def test_one_other_byte_anywhere_is_a_rewrite(
    house: House, watches: Watches, word: bytes
) -> None:
    session, path = await remembered(house, watches)
    listener = Listener(session)
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.write(data.replace(word, word[:-1] + b"X"))
    touch(path)
    await session.look()
    assert listener.resets == ["rewritten"]


async def test_a_file_not_remembered_yet_is_read_anew(house: House, watches: Watches) -> None:
    session = await house.opened(*TALK)
    listener = Listener(session)
    assert session.path is not None
    touch(Path(session.path))
    await session.look()
    assert listener.resets == ["rewritten"]
