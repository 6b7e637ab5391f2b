"""Real pi and the real daemon when one of them goes, or another program comes between."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.client.errors import ConnectionLost, RpcFailure
from pisessiond.client.session import Session
from tests.bridge.home import ROOT, PiHome
from tests.bridge.model import MarkedModel
from tests.bridge.real_daemon import RealDaemon, live_pis, real_daemon
from tests.bridge.running import PATIENCE, PiRpc, pi_rpc
from tests.bridge.test_real_daemon import room

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Json = dict[str, Any]

ACTS = ("move", "mark", "append", "compare", "prompt", "typed")


@pytest.fixture
async def true_daemon(home: PiHome, anyio_backend: str) -> AsyncIterator[RealDaemon]:
    async with real_daemon(home) as made:
        yield made


async def test_a_session_in_memory_is_seen_whole(home: PiHome, true_daemon: RealDaemon) -> None:
    async with pi_rpc(home, "--no-session") as pi, true_daemon.client() as client:
        await pi.turn("Only here.")
        (live,) = await live_pis(client, 1)
        session = await client.open(session=live["session"])
        assert session.path is None
        user = (await pi.entries())[-2]

        await session.label(user["id"], "kept")
        await session.navigate(user["id"])
        await pi.turn("And again.")
        await seen(session, pi)
        assert [e["id"] for e in (await session.entries(order="file"))["entries"]] == [
            e["id"] for e in await pi.entries()
        ]
        first = next(e["id"] for e in await pi.entries() if "Only here." in str(e))
        forked = await session.fork(first, take_pi=True)
        assert forked["editorText"] == "Only here."
        (live,) = await live_pis(client, 1)
        assert live["session"] == forked["session"]
        await pi.turn("And again.")
        session = await client.open(session=forked["session"])
        path = home.folder / "copy.jsonl"
        assert (await session.export("jsonl", path=str(path)))["path"] == str(path)

    assert "And again." in path.read_text()


async def seen(session: Session, pi: PiRpc) -> None:
    """Wait until a client stands where pi does."""
    leaf = await pi.leaf()
    with anyio.fail_after(PATIENCE):
        while session.leaf != leaf:
            async for _ in session.changes(1):
                break


async def test_an_unsaved_session_keeps_its_handle(home: PiHome, true_daemon: RealDaemon) -> None:
    async with pi_rpc(home) as pi, true_daemon.client() as client:
        (live,) = await live_pis(client, 1)
        session = await client.open(session=live["session"])
        handle = session.handle

        await pi.turn("Now it has a file.")
        path = (await pi.data("get_state"))["sessionFile"]
        again = await client.open(path=path)

        assert again.handle == handle
        assert again.path == str(Path(path).resolve())
        assert again.leaf == await pi.leaf()


async def test_the_daemon_is_killed_in_mid_turn(
    home: PiHome, true_daemon: RealDaemon, model: MarkedModel
) -> None:
    async with room(home, true_daemon) as one:
        path = one.session.path or ""
        before = one.pi.settled
        await one.pi.data("prompt", message="[slow:600] wait")
        await true_daemon.kill()
        await one.pi.until(lambda: one.pi.settled > before, "the end of the run")
        await true_daemon.start()

        async with true_daemon.client() as client:
            (live,) = await live_pis(client, 1)
            session = await client.open(path=path)
            assert live["owner"]
            assert session.leaf == await one.pi.leaf()
            await session.label((await one.user_messages())[0], "after")
            assert session.pis[0]["unseen"] == 0

        assert one.pi.faults() == []


async def test_a_daemon_that_a_shell_begins_knows_of_pi(home: PiHome, model: MarkedModel) -> None:
    async def shell(*given: str) -> str:
        command = [sys.executable, "-m", "pisessiond", *given]
        done = await anyio.run_process(
            command, cwd=ROOT, env=home.environment(), stderr=subprocess.STDOUT, check=False
        )
        return done.stdout.decode()

    async with pi_rpc(home) as pi:
        # As long as this takes nobody is there, and the bridge tries every three seconds at last.
        await pi.turn("[slow:3200] First question.")
        path = (await pi.data("get_state"))["sessionFile"]
        try:
            assert (await shell("prompt", path, "From a shell.")).startswith("pi has it")
            await pi.until(lambda: pi.settled == 2, "the end of the run")
        finally:
            await shell("stop")
    assert model.prompts[-1] == "From a shell."


async def test_a_prompt_on_its_way_to_pi_is_not_sent_anew(
    home: PiHome, true_daemon: RealDaemon, model: MarkedModel
) -> None:
    async with room(home, true_daemon) as one, true_daemon.client("last", lasting=True) as client:
        session = await client.open(path=one.session.path or "")
        before, lost = one.pi.settled, []

        async def send() -> None:
            with pytest.raises(ConnectionLost) as error:
                await session.prompt("Asked once.")
            lost.append(error)

        os.kill(one.pi.pid, signal.SIGSTOP)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send)
                with anyio.fail_after(PATIENCE):
                    while (await live_pis(one.client, 1))[0]["state"] != "stalled":
                        await anyio.sleep(0.02)
                await true_daemon.kill()
                # pi finds the prompt in its socket all the same.
                os.kill(one.pi.pid, signal.SIGCONT)
                await true_daemon.start()
        finally:
            os.kill(one.pi.pid, signal.SIGCONT)
        await one.pi.until(lambda: one.pi.settled > before, "the end of the run")
        await live_pis(client, 1)
        await one.pi.turn("Something else.")

    assert lost
    assert model.prompts[2:] == ["Asked once.", "Something else."]


async def test_a_foreign_line_is_shown_and_not_followed(
    home: PiHome, true_daemon: RealDaemon
) -> None:
    async with room(home, true_daemon) as one:
        path, leaf = Path(one.session.path or ""), await one.pi.leaf()
        line = {"type": "custom", "customType": "x", "id": "f0000001", "parentId": leaf,
                "timestamp": "2026-01-01T00:00:00.000Z"}  # fmt: skip
        with path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
        await one.session.sync()

        opened = await one.client.open(path=str(path))
        assert opened.leaf == leaf
        assert [live["unseen"] for live in opened.pis] == [1]
        assert "f0000001" in await one.ids()
        # pi goes on from where it stands, and nothing of ours is written.
        await one.pi.turn("Third question.")
        leaf = await one.pi.leaf()
        assert path.read_text().count("\n") == 1 + 1 + len(await one.pi.entries())

        await one.session.reread()
        with anyio.fail_after(PATIENCE):
            while (await live_pis(one.client, 1))[0]["unseen"]:
                await anyio.sleep(0.02)
        assert "f0000001" in [entry["id"] for entry in await one.pi.entries()]
        assert await one.pi.leaf() == leaf
        await one.agrees()


async def test_two_pi_are_told_apart(home: PiHome, true_daemon: RealDaemon) -> None:
    async with room(home, true_daemon) as one:
        path = one.session.path or ""
        async with pi_rpc(home, "--session", path) as other:
            await live_pis(one.client, 2)
            size = Path(path).stat().st_size
            first = (await one.user_messages())[0]
            with pytest.raises(RpcFailure) as refused:
                await one.session.label(first, "whose")
            assert refused.value.kind == "AmbiguousOwner"
            assert {choice["pid"] for choice in refused.value.data["choices"]} == {
                one.pi.pid, other.pid,
            }  # fmt: skip
            assert Path(path).stat().st_size == size
            leaf = await one.pi.leaf()
            await one.session.navigate(first, pi=other.pid)
            assert await one.pi.leaf() == leaf
            assert await other.leaf() != leaf
        (live,) = await live_pis(one.client, 1)
        assert live["owner"]


async def test_pi_that_ends_leaves_the_session_to_us(home: PiHome, true_daemon: RealDaemon) -> None:
    async with room(home, true_daemon) as one:
        first = (await one.user_messages())[-1]
        leaf = (await one.session.navigate(first))["leaf"]
        assert await one.pi.close() == 0
        await live_pis(one.client, 0)

        opened = await one.client.open(path=one.session.path or "")
        assert opened.leaf == leaf
        message = {"role": "user", "content": "Ours."}
        done = await opened.append({"type": "message", "message": message})
        lines = [json.loads(e) for e in Path(opened.path or "").read_text().splitlines()[1:]]
        assert lines[-1]["id"] == done["leaf"]


async def test_random_acts_of_all_end_in_one_session(
    home: PiHome, true_daemon: RealDaemon, model: MarkedModel
) -> None:
    chance = random.Random(11)
    accepted, refusals = 2, set()
    async with room(home, true_daemon) as one, true_daemon.client("second") as second:
        path = one.session.path or ""
        sessions = [one.session, await second.open(path=path)]
        for step in range(60):
            session = chance.choice(sessions)
            entries = await one.pi.entries()
            target = chance.choice(entries)["id"]
            try:
                match chance.choice(ACTS):
                    case "move":
                        await session.navigate(target)
                    case "mark":
                        await session.label(target, f"mark {step}")
                    case "append":
                        custom = {"type": "custom", "customType": "x", "data": {"n": step}}
                        await session.append(custom)
                    case "compare":
                        await session.navigate(target, base_leaf=session.leaf)
                    case "prompt":
                        await session.prompt(f"Step {step}.")
                        accepted += 1
                    case _:
                        await one.pi.ask(
                            "prompt", message=f"Typed {step}.", streamingBehavior="steer"
                        )
                        accepted += 1
            except RpcFailure as failure:
                refusals.add(failure.kind)
        state = await one.pi.data("get_state")
        await one.pi.until(lambda: not state["isStreaming"] or one.pi.settled, "the end")
        with anyio.fail_after(PATIENCE):
            while (await one.pi.data("get_state"))["isStreaming"]:
                await anyio.sleep(0.05)
        assert refusals <= {"Busy", "LeafMoved", "Cancelled"}
        assert len(await one.user_messages()) == accepted
        await one.agrees()


async def test_a_place_outlives_pi_with_one_entry_at_most(
    home: PiHome, true_daemon: RealDaemon
) -> None:
    async with room(home, true_daemon) as one:
        path = Path(one.session.path or "")
        place = (await one.session.navigate((await one.user_messages())[-1]))["leaf"]
        lines = path.read_text().count("\n")
        assert await one.pi.close() == 0
        await live_pis(one.client, 0)
        await one.session.close()
        opened = await one.client.open(path=str(path))
        assert opened.leaf == place
        assert path.read_text().count("\n") == lines + 1

        async with pi_rpc(home, "--session", str(path)) as again:
            (live,) = await live_pis(one.client, 1)
            assert (live["owner"], live["unseen"]) == (True, 0)
            assert again.faults() == []
            opened = await one.client.open(path=str(path))
            assert opened.leaf == place
            await again.turn("And on.")
            said = next(e for e in await again.entries() if "And on." in str(e))
        assert path.read_text().count("\n") > lines + 1
        last = json.loads(path.read_text().splitlines()[lines])
        assert last["parentId"] == place
        assert said["parentId"] in (place, last["id"])


async def test_kills_of_the_daemon_among_acts_lose_nothing(
    home: PiHome, true_daemon: RealDaemon
) -> None:
    chance = random.Random(5)
    async with room(home, true_daemon) as one, true_daemon.client("last", lasting=True) as client:
        accepted, kills, refusals = 2, 0, set()
        session = await client.open(path=one.session.path or "")
        for step in range(40):
            target = chance.choice(await one.pi.entries())["id"]
            try:
                match chance.choice((*ACTS, "kill")):
                    case "kill":
                        kills += 1
                        await true_daemon.kill()
                        await true_daemon.start()
                        await live_pis(client, 1)
                    case "move":
                        await session.navigate(target)
                    case "mark":
                        await session.label(target, f"mark {step}")
                    case "prompt":
                        await session.prompt(f"Step {step}.")
                        accepted += 1
                    case "typed":
                        await one.pi.ask(
                            "prompt", message=f"Typed {step}.", streamingBehavior="steer"
                        )
                        accepted += 1
                    case _:
                        custom = {"type": "custom", "customType": "x", "data": {"n": step}}
                        await session.append(custom)
            except RpcFailure as failure:
                refusals.add(failure.kind)
        with anyio.fail_after(PATIENCE):
            while (await one.pi.data("get_state"))["isStreaming"]:
                await anyio.sleep(0.05)
        assert kills
        assert refusals <= {"Busy", "LeafMoved", "Cancelled"}
        assert len(await one.user_messages()) == accepted
        async with true_daemon.client() as fresh:
            one.client, one.session = fresh, await fresh.open(path=session.path or "")
            await one.agrees()


async def test_a_pi_that_is_stopped_still_owns_and_goes_on(
    home: PiHome, true_daemon: RealDaemon
) -> None:
    async with room(home, true_daemon) as one:
        await one.pi.turn("Before it stops.")
        await seen(one.session, one.pi)
        path = Path(one.session.path or "")
        before = path.read_bytes()
        target = (await one.pi.entries())[-1]["id"]
        os.kill(one.pi.pid, signal.SIGSTOP)
        try:
            kinds = []
            for label in ("first", "second"):
                with pytest.raises(RpcFailure) as refused:
                    await one.session.label(target, label)
                kinds.append(refused.value.kind)
            written = path.read_bytes()
        finally:
            os.kill(one.pi.pid, signal.SIGCONT)
        await one.pi.turn("And on.")
        await seen(one.session, one.pi)
        await one.session.label(target, "third")
        entries = await one.pi.entries()

    # Of the first nobody could know; the second was not asked any more.
    assert kinds == ["PiUnknown", "Busy"]
    assert written == before
    assert [e["label"] for e in entries if e["type"] == "label"][-1] == "third"
    stored = [json.loads(line)["id"] for line in path.read_bytes().splitlines()[1:]]
    assert stored == [e["id"] for e in entries]
