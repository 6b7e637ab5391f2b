"""Changing a session that a running pi has open: pi writes, and is said to do so for whom."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.service.errors import (
    AmbiguousOwner,
    LeafMoved,
    PiBusy,
    ReadOnly,
    SessionChanged,
    Unsupported,
)
from pisessiond.service.types import EXTERNAL, Origin
from tests.support.live import Terminals, ids, terminals, until
from tests.support.scripted_pi import ScriptedPi
from tests.support.service import House, Listener, answer, foreign, in_file, user

pytestmark = pytest.mark.anyio

MINE = Origin("editor", "client-1")
FILE = (
    user("first", "a"),
    answer("one", "b", "a"),
    user("second", "c", "b"),
    answer("two", "d", "c"),
)


@pytest.fixture
async def pis(house: House) -> AsyncIterator[Terminals]:
    async with terminals(house) as made:
        yield made


def started(house: House) -> ScriptedPi:
    return ScriptedPi(house.file(*FILE))


async def test_what_a_pi_writes_is_told_as_its_own(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    heard = Listener(session)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    one.pi.says("user", "third")
    await one.pi.tell_change()

    await until(lambda: session.leaf == one.pi.leaf)
    assert heard.take() == [("append", "pi")]
    origin = next(step.changes[0].origin for step in heard.steps if step.changes)
    assert isinstance(origin, Origin)
    assert origin.pid == one.pi.pid


async def test_a_move_goes_through_pi_and_writes_nothing(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    heard = Listener(session)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    done = await session.navigate("b", origin=MINE)

    assert (done.leaf, session.leaf, one.pi.leaf) == ("b", "b", "b")
    assert heard.take() == [("navigate", "editor")]
    assert len(in_file(session)) == 4


async def test_a_move_to_a_user_message_brings_its_text(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    done = await session.navigate("c", origin=MINE)

    assert (done.leaf, done.editor_text, one.pi.leaf) == ("b", "second", "b")


async def test_every_short_act_is_made_by_pi(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    heard = Listener(session)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    await session.label("b", "green", origin=MINE)
    await session.rename("talk", origin=MINE)
    await session.edit_context("b", None, origin=MINE)
    appended = await session.append([user("noted")], origin=MINE)
    custom = {"type": "custom", "customType": "x", "data": {"a": 1}}
    more = await session.append([custom, custom], origin=MINE)

    methods = [method for method, _ in one.pi.asked]
    assert methods == ["pi/label", "pi/name", "pi/contextEdit", "pi/append", "pi/append"]
    assert ids(session) == [entry["id"] for entry in in_file(session)]
    assert [entry["id"] for entry in one.pi.entries] == ids(session)
    assert appended.ids == (ids(session)[-3],)
    assert more.ids == tuple(ids(session)[-2:])
    assert session.leaf == one.pi.leaf
    assert session.session.name == "talk"
    assert {origin for _, origin in heard.take()} == {"editor"}


async def test_a_move_with_a_summary_leaves_it_there(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    done = await session.navigate("b", summary="It was tried.", label="tried", origin=MINE)

    assert [entry["type"] for entry in one.pi.entries[4:]] == ["branch_summary", "label"]
    assert done.summary_entry == one.pi.entries[4]["id"]
    assert session.leaf == one.pi.leaf == one.pi.entries[5]["id"]


async def test_a_leaf_on_a_user_message_is_unsupported(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    with pytest.raises(Unsupported):
        await session.navigate("c", exact=True, origin=MINE)

    assert one.pi.asked == []
    assert (await session.navigate(None, origin=MINE)).leaf is None
    assert one.pi.leaf is None


async def test_what_pi_does_not_take_is_read_only(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    with pytest.raises(ReadOnly) as refused:
        await session.append([user("elsewhere", parentId="a")], detached=True, origin=MINE)
    change = {"type": "thinking_level_change", "thinkingLevel": "high"}
    with pytest.raises(ReadOnly):
        await session.append([change], origin=MINE)

    assert refused.value.owner == "pi"
    assert one.pi.asked == []


async def test_a_base_leaf_is_compared_here_and_in_pi(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    with pytest.raises(LeafMoved):
        await session.navigate("a", origin=MINE, base_leaf="b")
    assert one.pi.asked == []

    # pi has moved, and its word is on the way.
    one.pi.leaf = "b"
    with pytest.raises(LeafMoved) as moved:
        await session.navigate("a", origin=MINE, base_leaf="d")

    assert moved.value.leaf == "b"
    assert one.pi.leaf == "b"


async def test_while_pi_runs_it_is_not_moved(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or ""), operation="turn"))

    with pytest.raises(PiBusy) as busy:
        await session.navigate("b", origin=MINE)
    await session.label("b", "x", origin=MINE)

    assert (busy.value.operation, busy.value.client) == ("turn", "pi")
    assert [method for method, _ in one.pi.asked] == ["pi/label"]


async def test_when_idle_waits_for_the_end_of_the_run(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or ""), operation="turn"))
    patient = Origin("editor", "client-1", when_idle=True)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: session.navigate("b", origin=patient))
        await until(lambda: session.live._waits_for_idle)
        assert one.pi.asked == []
        one.pi.operation = None
        await one.pi.tell_state()

    assert session.leaf == one.pi.leaf == "b"


async def test_a_summary_that_is_written_waits_for_the_run(house: House, pis: Terminals) -> None:
    texts = [answer(" ".join(["word"] * 20_000), f"big{at}", "a") for at in range(2)]
    texts[1]["parentId"] = "big0"
    path = house.file(*FILE[:1], *texts, user("end", "u", "big1"), answer("e", "v", "u"))
    session = await house.open(path)
    one = await pis.start(ScriptedPi(path))
    async with anyio.create_task_group() as tasks:
        refused = anyio.Event()
        original = one.drive

        async def drive(method: str, params: dict[str, object], seconds: float) -> Any:
            if method == "pi/compact" and not refused.is_set():
                # Its user was quicker.
                one.pi.operation = "turn"
                await one.pi.tell_state()
                refused.set()
            return await original(method, params, seconds)

        one.drive = drive  # type: ignore[method-assign]
        tasks.start_soon(lambda: session.compact(summary="All of it.", origin=MINE))
        await refused.wait()
        await until(lambda: session.operations.current)
        one.pi.operation = None
        await one.pi.tell_state()

    assert one.pi.entries[-1]["type"] == "compaction"
    assert session.leaf == one.pi.leaf


async def test_two_pi_want_to_be_named(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    two = await pis.start(ScriptedPi(Path(session.path or "")))

    with pytest.raises(AmbiguousOwner) as several:
        await session.navigate("b", origin=MINE)
    await session.navigate("b", origin=Origin("editor", "client-1", through=two.pi.pid))
    with pytest.raises(SessionChanged):
        await session.navigate("b", origin=Origin("editor", "client-1", through=1))

    assert [choice["pid"] for choice in several.value.choices] == [one.pi.pid, two.pi.pid]
    assert (one.pi.leaf, two.pi.leaf) == ("d", "b")
    assert [view.owner for view in session.live.views] == [False, False]


async def test_one_of_two_that_stays_becomes_the_owner(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))
    two = await pis.start(ScriptedPi(Path(session.path or "")))
    two.pi.says("user", "third")
    await two.pi.tell_change()
    await until(lambda: len(ids(session)) == 5)

    await two.detach()

    (view,) = session.live.views
    assert (view.pid, view.owner, view.unseen) == (one.pi.pid, True, 1)
    assert session.leaf == "d"


async def test_a_pi_that_is_only_watched_is_not_written_to(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")), "print", drives=False)

    with pytest.raises(ReadOnly) as refused:
        await session.label("b", "x", origin=MINE)

    assert refused.value.owner == f"pi {one.pi.pid}"
    assert session.snapshot().read_only is not None
    assert len(in_file(session)) == 4
    forked = await session.fork("c", position="before", cwd=None, origin=MINE)
    assert forked.editor_text == "second"


async def test_a_foreign_line_is_not_pis(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    heard = Listener(session)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    foreign(session, answer("by a third", "x", "a"))
    await session.look()

    assert heard.take() == [("append", EXTERNAL)]
    assert session.leaf == "d"
    assert [view.unseen for view in session.live.views] == [1]
    assert one.pi.leaf == "d"


async def test_with_a_pi_nothing_is_deleted(house: House, pis: Terminals) -> None:
    session = await house.opened(*FILE)
    one = await pis.start(ScriptedPi(Path(session.path or "")))

    with pytest.raises(ReadOnly):
        await house.sessions.delete(session=session.handle, path=None, discard=False, origin=MINE)
    await one.detach()

    assert Path(session.path or "").exists()
    await session.append([user("now ours")], origin=MINE)
    assert len(in_file(session)) == 5
