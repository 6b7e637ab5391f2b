"""Reading all files in the background, and telling of sessions that come, change and go."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.service.cataloguing import Cataloguing
from pisessiond.service.listing import Wanted
from pisessiond.service.types import ListedSession
from pisessiond.storage.watch import FolderWatches
from tests.service.test_catalogue import Desk, age, descriptors, said
from tests.service.test_finding import listed
from tests.support.service import ME, House, Listener, answer, spell, user

pytestmark = pytest.mark.anyio


class Hearer:
    """Whoever watches the list."""

    def __init__(self) -> None:
        self.rows: dict[str, ListedSession] = {}
        self.gone: list[str] = []
        self.told = 0

    def sessions_changed(self, rows: Sequence[ListedSession], gone: Sequence[str]) -> None:
        self.told += 1
        for row in rows:
            self.rows[row.session] = row
        self.gone += gone

    async def until(self, is_so: Callable[[], object]) -> None:
        with anyio.fail_after(20):
            while not is_so():
                await anyio.sleep(0.02)


def cataloguing(desk: Desk) -> Cataloguing:
    sessions_dir = str(desk.agent / "sessions")
    return Cataloguing(desk.shelf, desk.lister, sessions_dir, FolderWatches(), list)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_all_files_are_read_and_changes_are_told(desk: Desk) -> None:
    for number in range(30):
        desk.file(f"s{number}", said(number, "x" * 5_000, "u1"), at=number)
    (desk.agent / "sessions" / "--srv--" / "other.jsonl").write_text('{"a": 1}\n')
    work, hearer = cataloguing(desk), Hearer()
    work.subscribers.add(hearer)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work.run)
        await hearer.until(lambda: len(hearer.rows) == 30)
        assert (work.progress.done, work.progress.total) == (31, 31)
        assert hearer.gone == []
        # Grown, new, in a folder that is new, gone.
        path = desk.agent / "sessions" / "--srv--" / "s3.jsonl"
        with path.open("ab") as file:
            file.write(spell(user("more", "u2", "u1")))
        await hearer.until(lambda: hearer.rows["s3"].messages == 2)
        desk.file("new", said(0, "hello", "u1"))
        await hearer.until(lambda: "new" in hearer.rows)
        desk.file("far", said(0, "hello", "u1"), folder="--elsewhere--")
        await hearer.until(lambda: "far" in hearer.rows)
        path.unlink()
        await hearer.until(lambda: hearer.gone == [str(path)])
        assert desk.reads(desk.rows) == 0
        tasks.cancel_scope.cancel()
    desk.shelf.close()


async def test_the_background_can_be_ended_half_way(desk: Desk) -> None:
    for number in range(300):
        desk.file(f"s{number}", said(number, "x" * 30_000, "u1"), at=number)
    base = descriptors()
    work = cataloguing(desk)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work.run)
        with anyio.fail_after(20):
            while not desk.catalogue.rows():
                await anyio.sleep(0.001)
        tasks.cancel_scope.cancel()
    desk.shelf.close()
    with anyio.fail_after(10):
        # What is in a worker ends by itself.
        while descriptors() > base:
            await anyio.sleep(0.02)
    desk.begin()
    assert 0 < len(desk.catalogue.rows()) < 300
    assert len(desk.names()) == 300
    desk.shelf.close()


async def test_the_background_stands_aside_while_somebody_asks(desk: Desk) -> None:
    for number in range(50):
        desk.file(f"s{number}", said(number, "x", "u1"), at=number)
    work = cataloguing(desk)
    async with anyio.create_task_group() as tasks:
        with desk.shelf.asking():
            tasks.start_soon(work.run)
            await anyio.sleep(0.8)
            assert desk.catalogue.rows() == []
        with anyio.fail_after(20):
            while len(desk.catalogue.rows()) < 50:
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    desk.shelf.close()


async def test_what_happens_to_open_sessions_is_told(house: House) -> None:
    hearer = Hearer()
    house.sessions.watch_list(hearer)
    new = await house.create()
    await hearer.until(lambda: new.handle in hearer.rows)
    assert hearer.rows[new.handle].unsaved
    await new.append([user("a"), answer("b")], origin=ME)
    await house.sessions.list(Wanted())
    await hearer.until(lambda: not hearer.rows[new.handle].unsaved)
    house.sessions.unwatch_list(hearer)
    told = hearer.told
    await house.create()
    await anyio.sleep(0.3)
    assert hearer.told == told


async def test_filters_look_at_what_is_open(house: House) -> None:
    path = house.file(user("a", "u1"), name="s1")
    house.file(user("b", "u1"), name="s2")
    Listener(await house.open(path))
    new = await house.create()

    async def names(**wanted: bool) -> list[str]:
        return [one.session for one in await listed(house, **wanted)]

    assert await names(is_open=True) == ["s1"]
    assert await names(is_unsaved=True) == [new.handle]
    # Nobody of ours has the other open, and it was changed just now.
    assert await names(is_live=True) == ["s2"]


async def test_what_we_wrote_ourselves_is_not_live(house: House) -> None:
    path = house.file(user("a", "u1"), name="s1")
    os.utime(path, (1, 1))
    session = await house.open(path)
    await session.append([user("b")], origin=ME)
    house.hand.ms = path.stat().st_mtime_ns // 1_000_000
    house.sessions.forget(session)
    await session.ended.wait()
    (row,) = (await house.sessions.list(Wanted())).sessions
    assert (row.live, row.last_external, row.messages) == (False, None, 2)
    with path.open("ab") as file:
        file.write(spell(user("c", "u3", str(session.leaf))))
    age(path, 10_000_000)
    house.hand.ms = path.stat().st_mtime_ns // 1_000_000 + 60_000
    assert (await house.sessions.list(Wanted())).sessions[0].live


async def test_what_changes_while_a_row_is_made_and_back_again_is_told(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are made in a worker: one may say what was so for a moment alone."""
    hearer, session = Hearer(), await house.opened(answer("hi", "a1"), name="s1")
    await house.sessions.list(Wanted())
    loop, rows = asyncio.get_running_loop(), house.sessions._list._lister.rows
    passing: list[Listener] = []

    def on_loop(act: Callable[[], object]) -> None:
        async def do() -> None:
            act()
            session.on_file()

        asyncio.run_coroutine_threadsafe(do(), loop).result(10)

    def meanwhile(*given: Any) -> Any:
        if passing:
            return rows(*given)
        on_loop(lambda: passing.append(Listener(session)))
        made = rows(*given)
        on_loop(lambda: session.unsubscribe(passing[0]))
        return made

    monkeypatch.setattr(house.sessions._list._lister, "rows", meanwhile)
    house.sessions.watch_list(hearer)
    session.on_file()
    await hearer.until(lambda: session.handle in hearer.rows)
    assert hearer.rows[session.handle].open == 1
    await hearer.until(lambda: hearer.rows[session.handle].open == 0)
    house.sessions.unwatch_list(hearer)
