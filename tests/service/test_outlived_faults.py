"""A fault of our own in one task of a session harms neither that session nor the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
from msgspec import UNSET

from pisessiond.service import leaf_sizing
from pisessiond.service.live import mirrors, registry
from pisessiond.service.open_session import OpenSession
from pisessiond.service.session_queue import Act
from pisessiond.service.types import Origin
from tests.support.live import terminals, until
from tests.support.scripted_pi import ScriptedPi
from tests.support.service import ME, House, Listener, answer, user

pytestmark = pytest.mark.anyio

TALK = (user("hi", "u1"), answer("ho", "a1", "u1"), user("more", "u2", "a1"))
OTHER = Origin("script", "client-2")


class Fault(Exception):
    """Nobody foresaw it."""


def failing_once(
    real: Callable[..., Any], *, is_async: bool
) -> tuple[Callable[..., Any], list[str]]:
    """The same, but that it raises when it is called first; and what it noted."""
    noted: list[str] = []

    async def waits(*args: Any, **more: Any) -> Any:
        noted.append("called")
        if len(noted) == 1:
            raise Fault
        return await real(*args, **more)

    def plain(*args: Any, **more: Any) -> Any:
        noted.append("called")
        if len(noted) == 1:
            raise Fault
        return real(*args, **more)

    return (waits if is_async else plain), noted


async def insist_alive(house: House, session: OpenSession, other: OpenSession) -> None:
    with anyio.fail_after(5):
        for one in (session, other):
            before = len(one.session.index)
            await one.append([user("goes on")], origin=ME)
            await one.context_size()
            assert len(one.session.index) == before + 1
            assert house.sessions.get(one.handle) is one


TASKS: dict[str, tuple[Callable[[OpenSession], Any], str, bool]] = {
    "joining changes": (lambda s: s.news, "flush", False),
    "telling who is there": (lambda s: s.presence, "_tell", False),
    "keeping the place": (lambda s: s.places, "keep", True),
    "telling sizes": (lambda s: s.sizing, "catch_up", True),
}


@pytest.mark.parametrize("what", TASKS)
async def test_a_task_of_a_session_begins_anew(
    house: House, what: str, outlived: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await house.opened(*TALK)
    other = await house.opened(*TALK, name="s2")
    await session.context_size()
    of, name, is_async = TASKS[what]
    broken, noted = failing_once(getattr(of(session), name), is_async=is_async)
    monkeypatch.setattr(of(session), name, broken)

    wake = {
        "joining changes": lambda: session.news._storm.set(),  # noqa: PLW0108 - it is another each time
        "telling who is there": session.presence.changed,
        "keeping the place": session.places.moved,
        "telling sizes": session.sizing.bell.ring,
    }[what]
    monkeypatch.setattr("pisessiond.service.place_keeping.SETTLE_SECONDS", 0.01)
    wake()
    await until(lambda: outlived)
    wake()
    await until(lambda: len(noted) > 1)

    await insist_alive(house, session, other)
    assert outlived[0] == f"{what} failed, and begins anew: Fault"
    outlived.clear()


async def test_a_fault_after_sizing_a_file_harms_nobody(
    house: House, outlived: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = house.file(*TALK)
    broken, _ = failing_once(leaf_sizing.LeafSizing.fill, is_async=True)
    monkeypatch.setattr(leaf_sizing.LeafSizing, "fill", broken)
    session = await house.open(path)
    await until(lambda: outlived)
    outlived.clear()

    other = await house.opened(*TALK, name="s2")
    await insist_alive(house, session, other)


async def test_an_act_that_fails_inside_is_alone_in_that(house: House) -> None:
    session = await house.opened(*TALK)
    found: list[object] = []

    async def act(decide: Callable[..., Any]) -> None:
        try:
            await session.act(decide, ME)
            found.append("stored")
        except Fault:
            found.append("failed")

    def fails(draft: Any) -> Any:
        draft.add({"type": "custom", "customType": "x"})
        raise Fault

    async with anyio.create_task_group() as tasks, session.changing:
        tasks.start_soon(act, fails)
        tasks.start_soon(lambda: session.append([user("beside it")], origin=OTHER))
        await until(lambda: session.changing.statistics().tasks_waiting)
    other = await house.opened(*TALK, name="s2")

    assert found == ["failed"]
    assert len(session.session.index) == 4
    await insist_alive(house, session, other)


async def test_a_session_that_ends_by_a_fault_is_opened_anew(
    house: House, outlived: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await house.opened(*TALK)
    other = await house.opened(*TALK, name="s2")
    await session.context_size()
    resets: list[str] = []
    monkeypatch.setattr(session.news, "reset", resets.append)

    async def fails() -> None:
        raise Fault

    monkeypatch.setattr(session, "_work", fails)
    session._wake.set()
    session._acts.append(_nothing())
    session._wake.set()
    await until(lambda: outlived)

    again = await house.sessions.open(session=session.handle)
    assert resets == ["rewritten"]
    assert again is not session
    await insist_alive(house, again, other)
    outlived.clear()


def _nothing() -> Any:
    return Act(lambda _: None, ME, UNSET)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("what", ["is_running", "look", "forgetting a copy"])
async def test_what_follows_from_a_pi_ends_nothing_else(
    house: House, what: str, outlived: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await house.opened(*TALK, name="s2")
    async with terminals(house) as pis:
        if what == "forgetting a copy":
            monkeypatch.setattr(mirrors, "OFFER_SECONDS", 0.01)
            one = await pis.start(ScriptedPi(session_id="memory"))
            one.pi.says("user", "x")
            await one.pi.tell_change()
            await until(lambda: one.held.session.index.count)
            monkeypatch.setattr(house.sessions, "forget", lambda _: _raise())
            one.cut()
            await until(lambda: outlived)
            monkeypatch.undo()
            with anyio.fail_after(5):
                await other.append([user("goes on")], origin=ME)
            outlived.clear()
            return
        session = await house.opened(*TALK)
        await session.context_size()
        one = await pis.start(ScriptedPi(house.file(*TALK)))
        if what == "is_running":
            live = house.sessions.live
            live._surroundings = replace(live._surroundings, is_running=lambda *_: _raise())
            monkeypatch.setattr(registry, "PARTING_SECONDS", 0.01)
        else:
            broken, _ = failing_once(session.look, is_async=True)
            monkeypatch.setattr(session, "look", broken)
        one.cut()
        await until(lambda: not session.live.pis and session.live.is_settled)
        outlived.clear()
        await insist_alive(house, session, other)


def _raise() -> Any:
    raise Fault


async def test_settings_that_are_read_while_a_file_is_rewritten_name_no_row_of_before(
    house: House,
) -> None:
    session = await house.opened(*TALK)
    await session.context_size()
    listener = Listener(session)
    gate, read = anyio.Event(), session.surroundings.settings

    class Slow:
        """The settings, given while the file is written anew."""

        def for_folder(self, folder: str) -> Any:
            anyio.from_thread.run(gate.wait)
            return read.for_folder(folder)

    object.__setattr__(session.surroundings, "settings", Slow())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.sizing.refresh)
        await anyio.wait_all_tasks_blocked()
        object.__setattr__(session.surroundings, "settings", read)
        house.file(user("shorter", "n1"))
        await session.look()
        gate.set()

    assert listener.resets == ["rewritten"]
    assert session.leaf == "n1"
