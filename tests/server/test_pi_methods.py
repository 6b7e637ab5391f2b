"""What a bridge says and is asked over a real socket, and what clients hear of its pi."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.protocol.methods import METHODS
from tests.server.bridges import ALL, WireBridge, bridge, process
from tests.server.support import Client, Running, running_daemon
from tests.support.live import until
from tests.support.scripted_pi import ScriptedPi
from tests.support.service import House, answer, service, user

pytestmark = pytest.mark.anyio

FILE = (
    user("first", "a"),
    answer("one", "b", "a"),
    user("more", "c", "b"),
    answer("two", "d", "c"),
)
FOR_BRIDGES = [name for name, method in METHODS.items() if method.kind == "pi"]


@pytest.fixture
async def house(tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    async with service(tmp_path) as made:
        yield made


@pytest.fixture
async def served(house: House) -> AsyncIterator[Running]:
    async with running_daemon(house.folder, house.sessions) as running:
        yield running


@pytest.fixture
async def one(house: House, served: Running) -> AsyncIterator[WireBridge]:
    async with bridge(served, ScriptedPi(house.file(*FILE))) as made:
        yield made


class Editor:
    """A client with a session open that takes in all it is told."""

    def __init__(self, client: Client, handle: str) -> None:
        self.client = client
        self.handle = handle
        self.told: list[dict[str, Any]] = []

    async def call(self, method: str, **params: Any) -> Any:
        result = await self.client.call(method, {"session": self.handle, **params})
        self._keep()
        return result

    async def refused(self, method: str, **params: Any) -> dict[str, Any]:
        error = await self.client.refused(method, {"session": self.handle, **params})
        self._keep()
        return error

    def _keep(self) -> None:
        self.told += self.client.unread
        self.client.unread = []

    async def hears(self, method: str) -> dict[str, Any]:
        """The next word of that kind."""
        while not any(one["method"] == method for one in self.told):
            self.told.append(await self.client.receive())
        found = next(one for one in self.told if one["method"] == method)
        self.told.remove(found)
        params: dict[str, Any] = found["params"]
        return params

    async def hears_of_a_change(self) -> dict[str, Any]:
        """The next one that is not about sizes alone."""
        while not (told := await self.hears("session/didChange"))["changes"]:
            pass
        return told


async def editor(client: Client, path: Path | None, handle: str | None = None) -> Editor:
    which = {"path": str(path)} if handle is None else {"session": handle}
    opened = await client.call("session/open", which)
    made = Editor(client, opened["session"])
    made._keep()
    return made


@pytest.mark.parametrize("method", FOR_BRIDGES)
async def test_editors_have_no_such_methods(served: Running, method: str) -> None:
    async with served.client() as client:
        assert (await client.refused(method, {}))["data"]["kind"] == "MethodNotFound"


async def test_they_are_announced_to_bridges_only(served: Running) -> None:
    names = {}
    for name, pi in (("editor", {}), ("pi", {"pi": process(ScriptedPi())})):
        async with served.fresh() as client:
            answer = await client.initialize(name, **pi)
            announced = answer["capabilities"]["experimental"]["pisessiond"]["methods"]
            names[name] = {one for one in announced if one.startswith("pi/")}
    assert names == {"editor": set(), "pi": set(FOR_BRIDGES)}


async def test_an_attached_pi_is_shown(one: WireBridge, served: Running, house: House) -> None:
    async with served.client("editor") as client:
        ours = await editor(client, one.pi.file)
        attached = await one.attach()
        (live,) = (await ours.hears("session/didPresence"))["pis"]
        status = await client.call("daemon/status")
        listed = await client.call("session/list", {"live": True, "cwd": house.cwd})
        ours._keep()

    assert attached == {"session": ours.handle, "owner": True, "unseen": 0}
    expected = {
        "pid": one.pi.pid, "mode": "tui", "version": "1.6.0", "state": "idle", "pending": 0,
        "waitingForUser": False, "drives": True, "owner": True, "unseen": 0, "leaf": "d",
    }  # fmt: skip
    assert live == expected
    assert status["pis"] == [{**expected, "session": ours.handle, "file": str(one.pi.file)}]
    assert [row["pis"] for row in listed["sessions"] if row["session"] == ours.handle] == [
        [expected]
    ]


async def test_a_list_that_is_watched_shows_what_pi_does(
    one: WireBridge, served: Running, house: House
) -> None:
    async with served.client("editor") as client:
        ours = await editor(client, one.pi.file)
        await client.call("session/list", {"watch": True, "cwd": house.cwd})
        await one.attach()
        states: list[str] = []
        one.pi.operation = "turn"
        await one.pi.tell_state()
        while states[-1:] != ["turn"]:
            (row,) = (await ours.hears("sessions/didChange"))["sessions"]
            states += [pi["state"] for pi in row.get("pis", [])]
        ours._keep()
        one.client.writer.close()
        while row.get("pis"):
            (row,) = (await ours.hears("sessions/didChange"))["sessions"]
        await ours.call("session/sync")


async def test_states_are_told(one: WireBridge, served: Running) -> None:
    await one.attach()
    async with served.client("editor") as client:
        ours = await editor(client, one.pi.file)
        one.pi.operation = "turn"
        await one.pi.tell_state()
        (live,) = (await ours.hears("session/didPresence"))["pis"]
        error = await ours.refused("session/navigate", target="b")

    assert live["state"] == "turn"
    assert error["data"] == {"kind": "Busy", "operation": "turn", "client": "pi"}


async def test_a_socket_of_another_process_is_only_watched(served: Running, house: House) -> None:
    pi = ScriptedPi(house.file(*FILE))
    async with bridge(served, pi, pid=1) as made, served.client("editor") as client:
        await made.attach()
        ours = await editor(client, pi.file)
        error = await ours.refused("session/label", target="b", label="x")

    assert error["data"] == {"kind": "ReadOnly", "owner": "pi 1"}
    assert pi.asked == []


async def test_a_change_names_its_client_to_pi(one: WireBridge, served: Running) -> None:
    await one.attach()
    async with served.client("editor") as client:
        ours = await editor(client, one.pi.file)
        moved = await ours.call("session/navigate", target="c", baseLeaf="d", requestId="r1")
        again = await ours.call("session/navigate", target="c", baseLeaf="d", requestId="r1")
        change = await ours.hears_of_a_change()

    ((method, params),) = one.pi.asked
    assert method == "pi/navigate"
    assert params == {
        "gen": 1, "request_id": "editor-id:r1", "client": "editor", "client_id": "editor-id",
        "base_leaf": "d", "target": "c",
    }  # fmt: skip
    assert moved == again
    assert (moved["leaf"], moved["editorText"]) == ("b", "more")
    (told,) = change["changes"]
    assert (told["kind"], told["origin"]["client"]) == ("navigate", "editor")


async def test_what_comes_in_pi_has_its_process_for_an_origin(
    one: WireBridge, served: Running
) -> None:
    await one.attach()
    async with served.client("editor") as client:
        ours = await editor(client, one.pi.file)
        one.pi.says("user", "typed")
        await one.pi.tell_change()
        change = await ours.hears_of_a_change()

    assert change["leaf"] == one.pi.leaf
    assert change["changes"][0]["origin"] == {
        "client": "pi", "clientId": "pi-id", "pid": one.pi.pid,
    }  # fmt: skip


async def test_a_prompt_and_its_end(one: WireBridge, served: Running) -> None:
    await one.attach()
    async with served.client("editor") as client:
        ours = await editor(client, one.pi.file)
        taken = await ours.call("session/prompt", text="Go on.", deliverAs="steer")
        stopped = await ours.call("session/abort")
        read = await ours.call("session/reread")

    assert (taken["entry"], taken["queued"]) == (one.pi.entries[-1]["id"], False)
    assert stopped["leaf"] == read["leaf"] == one.pi.leaf
    assert [method for method, _ in one.pi.asked] == ["pi/prompt", "pi/abort", "pi/reread"]


async def test_without_a_pi_there_is_nobody_to_prompt(served: Running, house: House) -> None:
    async with served.client("editor") as client:
        ours = await editor(client, house.file(*FILE))
        error = await ours.refused("session/prompt", text="Go on.")

    assert error["data"] == {"kind": "Unsupported", "needs": "a pi that has it open"}


async def test_a_fork_can_take_pi_along(one: WireBridge, served: Running) -> None:
    await one.attach()
    async with served.client("editor") as client:
        ours = await editor(client, one.pi.file)
        forked = await ours.call("session/fork", entry="d", position="at", takePi=True)
        one.pi.operation = "turn"
        await one.pi.tell_state()
        await ours.hears("session/didPresence")
        error = await ours.refused("session/fork", entry="d", position="at", takePi=True)
        ours._keep()

    ((method, params),) = one.pi.asked
    assert (method, params["file"]) == ("pi/switch", forked["path"])
    assert "piStayed" not in forked
    assert error["data"]["kind"] == "Busy"


async def test_clients_have_a_word_before_pi_moves(one: WireBridge, served: Running) -> None:
    await one.attach()
    asked = ["session/willNavigate", "session/willCompact"]
    async with served.client("editor", requests=asked) as client:
        ours = await editor(client, one.pi.file)
        async with anyio.create_task_group() as tasks:

            async def reply(**result: Any) -> None:
                while True:
                    message = await client.receive()
                    if message.get("method") in asked:
                        client.send(id=message["id"], result=result)
                        return

            tasks.start_soon(lambda: reply(summary="Ours.", details={"n": 1}))
            given = {"gen": 1, "target": "a", "left": "d", "summarize": True, "entries": 3}
            word = await one.ask("pi/willNavigate", given)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: reply(cancel=True))
            refused = await one.ask("pi/willNavigate", given)
        await ours.call("session/sync")

    assert word["result"] == {"summary": "Ours.", "details": {"n": 1}}
    assert refused["result"] == {"cancel": True}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("pi/attach", {}),
        ("pi/attach", {"gen": "1", "reason": "startup"}),
        ("pi/willNavigate", {"gen": 1}),
    ],
)
async def test_a_malformed_word_is_refused(one: WireBridge, method: str, params: Any) -> None:
    assert (await one.ask(method, params))["error"]["data"]["kind"] == "InvalidParams"
    assert (await one.attach())["owner"]


async def test_a_file_that_is_none_attaches_nobody(served: Running, house: House) -> None:
    path = house.folder / "odd.jsonl"
    path.write_text("no session\n")
    pi = ScriptedPi(session_id="odd")
    pi.file = path
    async with bridge(served, pi) as made:
        given = {**pi.attach(), "session": {**pi.session(), "on_disk": True}}
        session = {
            "id": "odd", "file": str(path), "onDisk": True, "cwd": "/srv", "leaf": None,
            "count": 0, "lastId": None,
        }  # fmt: skip
        params = {"gen": given["gen"], "reason": "startup", "session": session,
                  "state": {"idle": True}}  # fmt: skip
        refused = await made.ask("pi/attach", params)

    assert refused["error"]["data"]["kind"] == "NotASession"
    assert path.read_text() == "no session\n"


@pytest.mark.parametrize("seed", range(6))
async def test_random_runs_end_with_one_session_for_all(
    served: Running, house: House, seed: int
) -> None:
    chance = random.Random(seed)
    pi = ScriptedPi(house.file(*FILE) if seed % 2 else None, session_id=f"run-{seed}")
    async with bridge(served, pi) as made, served.client("editor") as client:
        handle = (await made.attach())["session"]
        ours = await editor(client, None, handle)
        refusals = set()
        for step in range(120):
            entries = [one["id"] for one in pi.entries] or ["none"]
            target = chance.choice(entries)
            match chance.randrange(9):
                case 0 | 1:
                    pi.says(chance.choice(["user", "assistant"]), f"step {step}")
                    await pi.tell_change()
                case 2:
                    pi.leaf = None if target == "none" else target
                    await pi.tell_change()
                case 3:
                    pi.operation = chance.choice([None, "turn", None])
                    await pi.tell_state()
                case 4:
                    await made.attach("reload")
                case 5:
                    pi.says("user", "whose word is lost")
                    pi.seq += 1
                case _:
                    method, params = chance.choice(
                        [
                            ("session/navigate", {"target": target}),
                            ("session/navigate", {"target": target, "baseLeaf": target}),
                            ("session/label", {"target": target, "label": f"l{step}"}),
                            ("session/rename", {"name": f"n{step}"}),
                            ("session/append", {"entry": user(f"from outside {step}")}),
                            ("session/editContext", {"target": target, "replacement": None}),
                        ]
                    )
                    answer = await client.ask(method, {"session": handle, **params})
                    refusals.add(answer.get("error", {}).get("data", {}).get("kind"))
                    ours._keep()
        await pi.tell_change()
        await until(lambda: house.sessions.get(handle).leaf == pi.leaf)

        session = house.sessions.get(handle)
        mine = [one["id"] for one in pi.entries]
        await until(lambda: list(session.session.index.ids) == mine)
        assert refusals <= {
            None, "Busy", "LeafMoved", "EntryNotFound", "NotOnBranch", "InvalidEntry",
            "Unsupported",
        }  # fmt: skip
        if pi.file is not None:
            again = ScriptedPi(pi.file)
            assert [one["id"] for one in again.entries] == mine
        await ours.call("session/sync")


def test_a_bridge_offers_all_that_is_asked() -> None:
    assert len(ALL) == 12
