"""Rows say which sessions were forked at their entries."""

import os

import anyio
import pytest

from pisessiond.service.listing import Wanted
from pisessiond.service.open_session import OpenSession
from pisessiond.service.row_pages import RowsWish
from tests.support.row_screen import RowScreen, without_places
from tests.support.service import ME, House, answer, entry, in_file, spell, user

pytestmark = pytest.mark.anyio


async def _marks(session: OpenSession, level: str | None = None) -> dict[str, list[str]]:
    """By row, the names of the forks' files."""
    page = await session.rows.page(RowsWish(level=level))
    return {
        row.id: [os.path.basename(fork) for fork in row.forks] for row in page.rows if row.forks
    }


async def _talk(house: House) -> OpenSession:
    calls = [{"type": "toolCall", "id": str(n), "name": "ls", "arguments": {}} for n in range(2)]
    steps = [
        entry(
            "message",
            f"r{n}",
            "a1" if not n else f"r{n - 1}",
            message={"role": "toolResult", "toolCallId": str(n), "toolName": "ls", "content": []},
        )
        for n in range(2)
    ]
    said = {"role": "assistant", "content": calls}
    return await house.opened(
        user("Look", "u1"),
        entry("message", "a1", "u1", message=said),
        *steps,
        answer("Done", "a2", "r1"),
        entry("model_change", "m1", "a2", provider="p", modelId="m"),
        user("Go on", "u2", "m1"),
    )


async def test_a_fork_is_marked_where_it_left_as_soon_as_it_is_told(house: House) -> None:
    session = await _talk(house)
    made = await session.fork("u2", position="before", cwd=None, origin=ME)
    assert made.path is not None
    name = os.path.basename(made.path)
    # The change of model says nothing: it left behind the answer.
    assert await _marks(session) == {"e:a2": [name]}
    inside = await session.fork("r0", position="at", cwd=None, origin=ME)
    assert inside.path is not None
    in_work = os.path.basename(inside.path)
    assert await _marks(session) == {"w:a1": [in_work], "e:a2": [name]}
    assert await _marks(session, "w:a1") == {"e:r0": [in_work]}
    # And where the list has read the files.
    await house.sessions.list(Wanted())
    assert await _marks(session) == {"w:a1": [in_work], "e:a2": [name]}
    os.unlink(made.path)
    await house.sessions.list(Wanted())
    assert await _marks(session) == {"w:a1": [in_work]}


async def test_a_row_that_is_told_again_keeps_its_marks(house: House) -> None:
    session = await house.opened(user("Look", "u1"), answer("Done", "a1", "u1"))
    await session.sized()
    screen = RowScreen(session, "default")
    await screen.open()
    await session.fork("a1", position="at", cwd=None, origin=ME)
    # What says nothing counts with the answer, whose row so is another.
    await session.append([entry("custom", customType="state", data=1)], origin=ME)
    (told,) = [row for change in screen.told() for row in change.upsert if row.id == "e:a1"]
    assert len(told.forks) == 1
    await screen.settle()
    assert without_places(screen.mirror.rows()) == without_places(await screen.fresh())


async def test_a_fork_by_another_program_is_marked_and_one_that_is_gone_is_not(
    house: House,
) -> None:
    session = await house.opened(user("Look", "u1"), answer("Done", "a1", "u1"))
    entries = in_file(session)
    house.hand.wind()
    time = house.hand.now_iso()
    fork = house.file(
        *entries,
        user("Otherwise", "x1", "a1", timestamp=time),
        name="fork",
        parentSession=session.path,
        timestamp=time,
    )
    await house.sessions.list(Wanted())
    assert await _marks(session) == {"e:a1": [fork.name]}
    fork.unlink()
    await house.sessions.list(Wanted())
    assert await _marks(session) == {}


async def test_a_fork_from_before_the_first_entry_marks_nothing(house: House) -> None:
    session = await house.opened(user("Look", "u1"), answer("Done", "a1", "u1"))
    await session.fork("u1", position="before", cwd=None, origin=ME)
    assert await _marks(session) == {}


async def test_who_draws_rows_is_told_of_forks_that_others_make(house: House) -> None:
    session = await house.opened(user("Look", "u1"), answer("Done", "a1", "u1"))
    await session.context_size()
    screen = RowScreen(session, "default")
    await screen.open()
    entries = in_file(session)
    house.hand.wind()
    time = house.hand.now_iso()
    head = {"parentSession": session.path, "timestamp": time}
    otherwise = user("Otherwise", "x1", "a1", timestamp=time)
    fork = house.file(*entries, otherwise, name="fork", **head)
    await house.sessions.list(Wanted())
    with anyio.fail_after(5):
        while not screen.told():
            await anyio.sleep(0.01)
    await screen.settle()
    marked = {row["id"]: row["forks"] for row in screen.mirror.rows() if row["forks"]}
    assert marked == {"e:a1": [str(fork)]}
    # That the fork goes on is nothing to its parent.
    screen.asked.clear()
    with fork.open("ab") as file:
        file.write(spell(answer("Yes", "x2", "x1", timestamp=time)))
    await house.sessions.list(Wanted())
    fork.unlink()
    await house.sessions.list(Wanted())
    with anyio.fail_after(5):
        while not screen.told():
            await anyio.sleep(0.01)
    assert [change.stale for change in screen.told()] == [(None,)]
    await screen.settle()
    assert not any(row["forks"] for row in screen.mirror.rows())
