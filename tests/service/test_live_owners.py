"""How running pi come and go, and what the daemon writes in between: nothing."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.core.errors import NotASession
from pisessiond.service.errors import PiBusy, PiUnknown, ReadOnly, SessionNotFound
from pisessiond.service.live import mirrors, registry
from pisessiond.service.live import pi as live_pi
from pisessiond.service.types import Origin
from tests.support.live import Terminals, ids, terminals, until
from tests.support.scripted_pi import Answer, ScriptedPi
from tests.support.service import (
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

MINE = Origin("editor", "client-1")
FILE = (
    user("first", "a"),
    answer("one", "b", "a"),
    user("more", "c", "b"),
    answer("two", "d", "c"),
)


@pytest.fixture
async def pis(house: House) -> AsyncIterator[Terminals]:
    async with terminals(house) as made:
        yield made


# Taking over


async def test_a_pi_that_comes_moves_the_leaf_to_where_it_stands(
    house: House, pis: Terminals
) -> None:
    session = await house.opened(*FILE)
    await session.navigate("b", origin=MINE)
    heard = Listener(session)

    one = pis.connect(ScriptedPi(Path(session.path or "")))
    attached = await one.attach()

    assert attached.owner
    assert attached.unseen == 0
    assert session.leaf == "d"
    assert heard.take() == [("navigate", "pi")]


async def test_entries_that_pi_has_not_read_are_counted(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = pis.connect(ScriptedPi(Path(session.path or "")))
    foreign(session, user("behind", "e", "d"), answer("its back", "f", "e"))

    attached = await one.attach()

    assert (attached.owner, attached.unseen) == (True, 2)
    assert session.leaf == "d"
    assert ids(session)[-2:] == ["e", "f"]


async def test_the_place_that_clients_left_is_offered_to_a_pi_that_starts(tmp_path: Path) -> None:
    hand = HandClock()
    object.__setattr__(hand.surroundings, "persist", "anchor")
    async with service(tmp_path, hand=hand) as house, terminals(house) as pis:
        session = await house.opened(*FILE)
        await session.navigate("b", origin=MINE)
        one = pis.connect(ScriptedPi(Path(session.path or "")))

        attached = await one.attach()

        assert attached.position == "b"
        await session.places.keep()
        assert len(in_file(session)) == 4


async def test_acts_that_wait_when_a_pi_comes_go_through_it(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = pis.connect(ScriptedPi(Path(session.path or "")))

    async with anyio.create_task_group() as tasks, session.changing:
        tasks.start_soon(lambda: session.append([user("mine")], origin=MINE))
        await until(lambda: session.changing.statistics().tasks_waiting)
        tasks.start_soon(one.attach)
        await until(lambda: session.live.pis)
    await until(lambda: len(ids(session)) == 5)

    # It was decided for ours, and asked again before the write.
    assert [method for method, _ in one.pi.asked] == ["pi/append"]
    assert [entry["id"] for entry in one.pi.entries] == ids(session)
    assert [entry["id"] for entry in in_file(session)] == ids(session)


async def test_what_a_daemon_is_asked_at_its_start_waits_for_the_pi_on_its_way(
    tmp_path: Path,
) -> None:
    hand = HandClock()
    object.__setattr__(hand.surroundings, "pis_come_within", 1.0)
    async with service(tmp_path, hand=hand) as house, terminals(house) as pis:
        path = house.file(*FILE)
        session = await house.sessions.open(path=str(path))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: session.append([user("mine")], origin=MINE))
            await anyio.wait_all_tasks_blocked()
            one = await pis.start(ScriptedPi(path))

        assert [method for method, _ in one.pi.asked] == ["pi/append"]
        assert [entry["id"] for entry in in_file(session)] == ids(session)


async def test_without_a_pi_a_daemon_writes_soon_after_its_start(tmp_path: Path) -> None:
    hand = HandClock()
    object.__setattr__(hand.surroundings, "pis_come_within", 0.05)
    async with service(tmp_path, hand=hand) as house:
        session = await house.sessions.open(path=str(house.file(*FILE)))
        with anyio.fail_after(10):
            await session.append([user("mine", "e", "d")], origin=MINE)
        assert ids(session) == ["a", "b", "c", "d", "e"]


async def test_a_file_under_another_name_is_the_same_session(house: House, pis: Terminals) -> None:
    path = house.file(*FILE)
    link = house.folder / "link.jsonl"
    link.hardlink_to(path)
    session = await house.open(link)

    one = await pis.start(ScriptedPi(path))
    await session.label("b", "x", origin=MINE)

    assert one.held is session
    assert [method for method, _ in one.pi.asked] == ["pi/label"]
    assert await house.open(path) is session


# Letting go


async def test_after_a_pi_has_left_we_write_where_it_stood(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    one.pi.leaf = "b"
    await one.pi.tell_change()
    await until(lambda: session.leaf == "b")

    await one.detach()
    await session.append([user("ours")], origin=MINE)

    assert session.live.views == ()
    assert in_file(session)[-1]["parentId"] == "b"
    assert one.pi.asked == []


async def test_a_dead_pi_is_let_go_at_once(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    one.pi.says("user", "its last words")
    one.cut()

    done = await session.append([user("ours")], origin=MINE)

    assert session.live.views == ()
    assert [entry["id"] for entry in in_file(session)] == ids(session)
    assert in_file(session)[-2:][0]["message"]["content"] == "its last words"
    assert done.leaf == ids(session)[-1]


async def test_a_living_pi_has_time_to_come_back(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    pi = ScriptedPi(Path(session.path or ""))
    pis.survivors(pi.pid)
    one = await pis.start(pi)
    one.cut()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: session.append([user("mine")], origin=MINE))
        await until(lambda: session._acts)
        again = pis.connect(pi)
        await again.attach("reconnect")

    assert [method for method, _ in pi.asked] == ["pi/append"]
    assert [view.pid for view in session.live.views] == [pi.pid]
    assert [entry["id"] for entry in in_file(session)] == ids(session)


async def test_a_pi_that_reloads_is_not_forestalled(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    await one.detach("reload")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: session.append([user("mine")], origin=MINE))
        await until(lambda: session._acts)
        assert len(in_file(session)) == 4
        await one.attach("reload")

    assert [method for method, _ in one.pi.asked] == ["pi/append"]
    assert [entry["id"] for entry in in_file(session)] == ids(session)


async def test_a_pi_that_opens_another_session_leaves_this_one(
    house: House, pis: Terminals
) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    one.pi.file = house.folder / "other.jsonl"
    one.pi.file.write_bytes(Path(session.path or "").read_bytes())
    one.pi.read_file()

    await one.detach("resume", str(one.pi.file))
    await one.attach("resume")
    await session.append([user("ours")], origin=MINE)

    assert session.live.views == ()
    assert one.held.path == str(one.pi.file)
    assert one.pi.asked == []


async def test_a_living_pi_that_stays_away_is_let_go(
    house: House, pis: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "PARTING_SECONDS", 0.05)
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    pis.survivors(one.pi.pid)
    one.cut()

    await session.append([user("ours")], origin=MINE)

    assert session.live.views == ()
    assert one.pi.asked == []


async def test_an_act_is_asked_again_after_a_reconnection(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    pi = ScriptedPi(Path(session.path or ""))
    pis.survivors(pi.pid)
    one = await pis.start(pi)

    async def lost(method: str, params: dict[str, object], seconds: float) -> dict[str, object]:
        del seconds
        await pi.answer(method, params)
        one.cut()
        raise live_pi.Silent(is_gone=True)

    one.drive = lost  # type: ignore[method-assign]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: session.append([user("mine")], origin=MINE))
        await until(lambda: one.is_gone)
        await pis.connect(pi).attach("reconnect")

    assert [method for method, _ in pi.asked] == ["pi/append", "pi/append"]
    assert len(pi.entries) == 5
    assert ids(session) == [entry["id"] for entry in pi.entries]


async def test_of_a_pi_that_died_with_a_request_it_is_not_known(
    house: House, pis: Terminals
) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    async def dies(*_: object) -> dict[str, object]:
        one.cut()
        raise live_pi.Silent(is_gone=True)

    one.drive = dies  # type: ignore[method-assign,assignment]
    with pytest.raises(PiUnknown):
        await session.navigate("b", origin=MINE)

    await session.append([user("ours")], origin=MINE)
    assert len(in_file(session)) == 5


async def test_what_a_pi_wrote_before_it_died_was_done(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    async def dies(method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        del seconds
        with one.pi.unheard():
            await one.pi.answer(method, params)
        one.cut()
        raise live_pi.Silent(is_gone=True)

    one.drive = dies  # type: ignore[method-assign]
    done = await session.append([user("mine")], origin=MINE)

    assert done.ids == (one.pi.entries[-1]["id"],)
    assert len(in_file(session)) == 5


async def test_a_pi_that_opens_no_session_has_left_the_one_before(
    house: House, pis: Terminals
) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    one.pi.file = house.folder / "odd.jsonl"
    one.pi.file.write_text("no session\n")

    with pytest.raises(NotASession):
        await one.attach("resume")
    await session.append([user("ours")], origin=MINE)

    assert session.live.views == ()


async def test_a_pi_is_let_read_what_it_missed_once(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = pis.connect(ScriptedPi(Path(session.path or "")))
    foreign(session, user("behind", "e", "d"))
    await one.attach()
    await until(lambda: [method for method, _ in one.pi.asked] == ["pi/reread"])
    assert len(one.pi.entries) == 5

    foreign(session, user("further behind", "f", "e"))
    await one.attach("reload")
    one.pi.entries.pop()
    await one.attach("reload")

    assert [method for method, _ in one.pi.asked] == ["pi/reread"]


async def test_a_silent_pi_still_owns(
    house: House, pis: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_pi, "STALL_SECONDS", 0.02)
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or ""), is_dumb=True))

    async with anyio.create_task_group() as tasks:

        async def first() -> None:
            with pytest.raises(PiUnknown):
                await session.label("b", "x", origin=MINE)

        monkeypatch.setattr("pisessiond.service.live.calls._QUICK_SECONDS", 0.2)
        tasks.start_soon(first)
        await until(lambda: [view.state for view in session.live.views] == ["stalled"])
        tasks.cancel_scope.cancel()
    assert len(in_file(session)) == 4

    one.running.heard()
    assert [view.state for view in session.live.views] == ["idle"]


async def test_a_stalled_pi_is_not_asked(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    one.running.is_stalled = True

    with pytest.raises(PiBusy) as busy:
        await session.label("b", "x", origin=MINE)

    assert busy.value.operation == "pi does not answer"
    assert one.pi.asked == []


# Sessions without a file


async def test_a_session_in_memory_is_mirrored(house: House, pis: Terminals) -> None:
    pi = ScriptedPi(session_id="mem", cwd="/work")
    pi.says("user", "only thought")
    one = await pis.start(pi)
    session = house.sessions.get("mem")
    heard = Listener(session)

    pi.says("assistant", "only said")
    await pi.tell_change()
    await until(lambda: len(ids(session)) == 2)
    await session.label(pi.entries[0]["id"], "green", origin=MINE)
    moved = await session.navigate(pi.entries[1]["id"], origin=MINE)

    assert ids(session) == [entry["id"] for entry in pi.entries]
    assert moved.leaf == session.leaf == pi.leaf
    assert heard.take() == [
        ("append", "pi"), ("label", "editor"), ("navigate", "editor"),
    ]  # fmt: skip
    assert session.snapshot().path is None
    assert one.held is session


async def test_a_mirror_becomes_the_file_that_appears(house: House, pis: Terminals) -> None:
    pi = ScriptedPi(house.folder / "later.jsonl", session_id="later")
    pi.says("user", "first words")
    await pis.start(pi)
    session = house.sessions.get("later")
    heard = Listener(session)
    assert session.snapshot().unsaved

    pi.says("assistant", "saved now")
    await pi.tell_change()
    await until(lambda: heard.resets)

    assert heard.resets == ["rewritten"]
    assert session.path == str(pi.file)
    assert not session.is_unsaved
    await until(lambda: session.leaf == pi.leaf)
    assert await house.open(house.folder / "later.jsonl") is session
    pi.says("user", "and on")
    await pi.tell_change()
    await until(lambda: session.leaf == pi.leaf)


async def test_what_a_mirror_missed_may_come_when_it_has_its_file(
    house: House, pis: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    pi = ScriptedPi(house.folder / "later.jsonl", session_id="later")
    pi.says("user", "first words")
    one = await pis.start(pi)
    session, answer, asked, may_answer = one.held, pi.answer, anyio.Event(), anyio.Event()

    async def answer_late(method: str, params: dict[str, Any]) -> Answer:
        if method == "pi/snapshot":
            asked.set()
            await may_answer.wait()
        return await answer(method, params)

    monkeypatch.setattr(pi, "answer", answer_late)
    pi.says("user", "second words")
    with pi.unheard():
        await pi.tell_change()
    pi.says("user", "third words")
    await pi.tell_change()
    await asked.wait()
    pi.says("assistant", "saved now")
    await pi.tell_change()
    await until(lambda: not session.live.is_mirror)
    may_answer.set()
    await until(lambda: session.leaf == pi.leaf)

    assert await house.open(house.folder / "later.jsonl") is session
    assert [live.pid for live in session.live.pis] == [pi.pid]
    assert house.sessions.open_sessions == [session]


async def test_a_copy_that_is_made_late_does_not_stand_for_the_file(
    house: House, pis: Terminals
) -> None:
    pi = ScriptedPi(house.folder / "later.jsonl", session_id="later")
    pi.says("user", "first words")
    one = await pis.start(pi)
    session, copies, said = one.held, house.sessions.live.mirrors, one.running.session
    assert said is not None
    pi.says("user", "second words")
    entries = list(pi.entries)
    pi.says("assistant", "saved now")

    async with anyio.create_task_group() as tasks, session.changing:
        tasks.start_soon(copies.become_file, session, str(pi.file))
        await until(lambda: session.changing.statistics().tasks_waiting == 1)
        tasks.start_soon(lambda: copies.mirror(said, entries, anew=True))
        await until(lambda: session.changing.statistics().tasks_waiting == 2)

    assert session.path == str(pi.file)
    assert ids(session) == [entry["id"] for entry in pi.entries]


async def test_who_opens_the_file_first_gets_the_same_session(house: House, pis: Terminals) -> None:
    pi = ScriptedPi(house.folder / "later.jsonl", session_id="later")
    pi.says("user", "first words")
    await pis.start(pi)

    pi.says("assistant", "saved now")
    opened = await house.open(house.folder / "later.jsonl")

    assert opened is house.sessions.get("later")
    await pi.tell_change()
    await until(lambda: opened.leaf == pi.leaf)
    assert ids(opened) == [entry["id"] for entry in pi.entries]


async def test_a_mirror_can_be_saved_for_a_while(
    house: House, pis: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirrors, "OFFER_SECONDS", 0.2)
    pi = ScriptedPi(session_id="mem", cwd="/work")
    pi.says("user", "only thought")
    one = await pis.start(pi)
    session = house.sessions.get("mem")
    await one.detach()

    with pytest.raises(ReadOnly):
        await session.append([user("too late")], origin=MINE)
    text = (await session.export("jsonl", entry=session.leaf, whole=False, path=None)).text
    await until(lambda: session.is_gone)

    assert "only thought" in (text or "")
    with pytest.raises(SessionNotFound):
        house.sessions.get("mem")


async def test_a_missed_word_is_made_good(house: House, pis: Terminals) -> None:
    pi = ScriptedPi(session_id="mem", cwd="/work")
    await pis.start(pi)
    session = house.sessions.get("mem")
    with pi.unheard():
        pi.says("user", "nobody was told")
        await pi.tell_change()

    pi.says("assistant", "of this they were")
    await pi.tell_change()

    await until(lambda: ids(session) == [entry["id"] for entry in pi.entries])
    assert session.leaf == pi.leaf
