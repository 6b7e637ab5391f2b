"""Bridges that lie, drown or provoke the daemon: it and its other clients do not notice."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from pisessiond.server.processes import is_running
from pisessiond.service.live import registry
from tests.server.bridges import ALL, WireBridge, bridge, process
from tests.server.support import Running, running_daemon
from tests.support.live import until
from tests.support.scripted_pi import ScriptedPi
from tests.support.service import HandClock, House, answer, service, user

pytestmark = pytest.mark.anyio

FILE: Final = (user("first", "a"), answer("one", "b", "a"), user("more", "c", "b"))
HUGE: Final = 10**30


@pytest.fixture
async def house(
    tmp_path: Path, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    """A service that asks the system which processes live."""
    monkeypatch.setattr(registry, "PARTING_SECONDS", 0.05)
    hand = HandClock()
    object.__setattr__(hand.surroundings, "is_running", is_running)
    async with service(tmp_path, hand=hand) as made:
        yield made


@pytest.fixture
async def served(house: House) -> AsyncIterator[Running]:
    async with running_daemon(house.folder, house.sessions) as running:
        yield running


@pytest.fixture
async def hostile(house: House, served: Running) -> AsyncIterator[WireBridge]:
    async with bridge(served, ScriptedPi(house.file(*FILE))) as made:
        yield made


@asynccontextmanager
async def unhurt(served: Running, house: House) -> AsyncIterator[None]:
    """In the end a client that was there before is served, and so is one that comes then."""
    path = house.file(*FILE, name="other")
    async with served.client("before") as before:
        handle = (await before.call("session/open", {"path": str(path)}))["session"]
        yield
        for text in ("one", "two"):
            given = {"session": handle, "entry": user(text)}
            assert (await before.call("session/append", given))["leaf"]
        status = await before.call("daemon/status")
        await before.call("session/list", {"cwd": house.cwd})
        before.unread = []
        async with served.client("after") as after:
            await after.call("session/open", {"path": str(path)})
            await after.call("session/close", {"session": handle})
            after.unread = []
        assert status["pid"]


def change(**members: Any) -> dict[str, Any]:
    whole = {"gen": 1, "seq": 1, "leaf": "c", "count": 3, "entries": [], "onDisk": True}
    return {**whole, **members}


CHANGES: Final = {
    "an old gen": change(gen=0),
    "a gen to come": change(gen=7),
    "a gen without bound": change(gen=HUGE),
    "a gap": change(seq=40),
    "a seq that goes back": change(seq=-1),
    "a leaf that is nowhere": change(leaf="nowhere"),
    "half a surrogate pair": change(leaf="\ud800"),
    "a leaf of another kind": change(leaf=1.5),
    "a count that lies": change(count=400),
    "a count without bound": change(count=-HUGE),
    "ids that are taken": change(entries=[{"id": "a", "type": "custom", "parentId": "b"}]),
    "entries without an id": change(entries=[{"type": "custom"}, {}]),
    "ids that are no ids": change(entries=[{"id": [1]}, {"id": {"a": 1}}, {"id": None}]),
    "a file that is not there": change(onDisk=False),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("has_file", [True, False])
async def test_words_that_cannot_be(
    served: Running, house: House, what: str, has_file: bool
) -> None:
    pi = ScriptedPi(house.file(*FILE)) if has_file else ScriptedPi(session_id="memory")
    async with unhurt(served, house), bridge(served, pi) as made:
        handle = (await made.attach())["session"]
        async with served.client("editor") as editor:
            await editor.call("session/open", {"session": handle})
            made.client.send(method="pi/didChange", params=CHANGES[what])
            made.client.send(
                method="pi/didState", params={"gen": 1, "idle": True, "pending": -HUGE}
            )
            opened = await editor.call("session/open", {"session": handle})
            editor.unread = []
        assert len(opened["pis"]) == 1


PROCESSES: Final[dict[str, dict[str, Any]]] = {
    "a pid without bound": {"pid": HUGE},
    "no pid": {"pid": 0},
    "a negative pid": {"pid": -1},
    "a beginning without bound": {"pid": HUGE, "started": HUGE},
    "half a surrogate pair": {"version": "\ud800", "drive": False, "why": "\udfff"},
}


@pytest.mark.parametrize("what", PROCESSES)
async def test_processes_that_cannot_be(served: Running, house: House, what: str) -> None:
    path = house.file(*FILE)
    async with unhurt(served, house), served.client("editor") as editor:
        handle = (await editor.call("session/open", {"path": str(path)}))["session"]
        async with bridge(served, ScriptedPi(path), **PROCESSES[what]) as made:
            await made.attach()
            await editor.call("session/open", {"session": handle})
        session = house.sessions.get(handle)
        await until(lambda: not session.live.pis and session.live.is_settled)
        assert (await editor.call("session/append", {"session": handle, "entry": user("x")}))[
            "leaf"
        ]
        editor.unread = []


def attached(**members: Any) -> dict[str, Any]:
    session = {
        "id": "s", "file": None, "onDisk": True, "cwd": "/srv", "leaf": None, "count": 0,
        "lastId": None, **members,
    }  # fmt: skip
    return {"gen": 1, "reason": "startup", "session": session, "state": {"idle": True}}


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("/", "Unreadable"),
        ("/dev/zero", "Unreadable"),
        ("/etc/hostname", "NotASession"),
        ("/nowhere/at/all.jsonl", "SessionNotFound"),
        ("relative.jsonl", "InvalidParams"),
        ("", "InvalidParams"),
        ("/a\0b", "InvalidParams"),
        ("/" + "a" * 5_000, "Unreadable"),
        ("/\ud800", "InvalidParams"),
    ],
)
async def test_files_that_are_no_sessions(
    served: Running, house: House, hostile: WireBridge, file: str, kind: str
) -> None:
    async with unhurt(served, house):
        refused = await hostile.ask("pi/attach", attached(file=file))
        hostile.client.send(
            method="pi/detached", params={"gen": 1, "reason": "resume", "target": file}
        )
    assert refused["error"]["data"]["kind"] == kind


async def test_a_pi_whose_next_file_is_no_path_has_left(
    served: Running, house: House, hostile: WireBridge
) -> None:
    handle = (await hostile.attach())["session"]
    left = {"gen": 1, "reason": "resume", "target": "/a\0b"}
    hostile.client.send(method="pi/detached", params=left)
    await until(lambda: not house.sessions.get(handle).live.pis)


async def test_sessions_without_end_are_not_all_kept(
    served: Running, house: House, hostile: WireBridge
) -> None:
    async with unhurt(served, house):
        for number in range(200):
            whole = attached(id=f"memory-{number}", onDisk=False, count=1)
            whole["entries"] = [user("x", "a")]
            answered = await hostile.ask("pi/attach", {**whole, "gen": number + 1})
            assert "result" in answered
        await until(lambda: len(house.sessions.open_sessions) < 40)


async def test_a_crowd_of_attaches_to_one_session(
    served: Running, house: House, hostile: WireBridge
) -> None:
    async with unhurt(served, house):
        for _ in range(500):
            answered = await hostile.attach("reload")
        session = house.sessions.get(answered["session"])
        assert len(session.live.pis) == 1


async def test_megabytes_of_entries(served: Running, house: House, hostile: WireBridge) -> None:
    async with unhurt(served, house):
        whole = attached(id="large", onDisk=False, count=200)
        whole["entries"] = [user("x" * 100_000, f"e{number}") for number in range(200)]
        answered = await hostile.ask("pi/attach", whole)
    assert answered["result"]["session"] == "large"


async def test_a_bridge_that_never_answers_holds_up_its_own_session_only(
    served: Running, house: House, hostile: WireBridge
) -> None:
    handle = (await hostile.attach())["session"]
    hostile.pi.is_dumb = True
    async with served.client("editor") as editor:
        await editor.call("session/open", {"session": handle})
        for number in range(40):
            method, params = "session/label", {"session": handle, "target": "b", "label": "x"}
            editor.send(id=f"label {number}", method=method, params=params)
        async with unhurt(served, house):
            pass
        opened = await editor.ask("session/tree", {"session": handle})
        editor.unread = []
    assert opened.get("error") is None


async def test_many_pi_at_once(served: Running, house: House) -> None:
    path = house.file(*FILE)
    async with unhurt(served, house), anyio.create_task_group() as tasks:

        async def one(number: int) -> None:
            pi = ScriptedPi(path)
            async with served.fresh() as client:
                said = process(pi, pid=os.getpid(), started=number)
                await client.initialize("pi", pi=said, requests=list(ALL))
                made = WireBridge(client, pi, tasks)
                for _ in range(5):
                    await made.attach("reload")

        for number in range(30):
            tasks.start_soon(one, number)
        await anyio.sleep(0)
        await until(lambda: house.sessions.live.connected)
        await until(lambda: not house.sessions.live.connected)
        tasks.cancel_scope.cancel()
