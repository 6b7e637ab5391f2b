"""A real pi with the bridge in it, the real daemon, and clients: one session for all of them."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.text import TextReceiveStream

from pisessiond.client.aio import Client
from pisessiond.client.errors import RpcFailure
from pisessiond.client.session import Session
from tests.bridge.home import ROOT, PiHome
from tests.bridge.model import MarkedModel
from tests.bridge.real_daemon import RealDaemon, live_pis, real_daemon
from tests.bridge.running import PATIENCE, PiRpc, pi_rpc

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Json = dict[str, Any]


@pytest.fixture
async def true_daemon(home: PiHome, anyio_backend: str) -> AsyncIterator[RealDaemon]:
    async with real_daemon(home) as made:
        yield made


class Room:
    """A pi, the session it has open as a client sees it, and the client."""

    def __init__(self, pi: PiRpc, client: Client, session: Session) -> None:
        self.pi = pi
        self.client = client
        self.session = session

    async def ids(self) -> list[str]:
        found = await self.session.entries(order="file", limit=1_000)
        return [entry["id"] for entry in found["entries"]]

    async def agrees(self) -> None:
        """The client's session, pi and its file are the same."""
        entries = [entry["id"] for entry in await self.pi.entries()]
        leaf = await self.pi.leaf()
        await self.session.sync()
        opened = await self.client.open(path=self.session.path or "")
        assert opened.leaf == leaf
        assert await self.ids() == entries
        lines = Path(self.session.path or "").read_text("utf-8").splitlines()
        assert [json.loads(line)["id"] for line in lines[1:]] == entries
        assert self.pi.faults() == []

    async def user_messages(self) -> list[str]:
        return [entry["id"] for entry in await self.pi.entries() if role(entry) == "user"]


def role(entry: Json) -> str | None:
    message = entry.get("message") or {}
    found: str | None = message.get("role")
    return found


@asynccontextmanager
async def room(home: PiHome, daemon: RealDaemon, *texts: str) -> AsyncIterator[Room]:
    async with pi_rpc(home) as pi, daemon.client() as client:
        for text in texts or ("First question.", "Second question."):
            await pi.turn(text)
        path = (await pi.data("get_state"))["sessionFile"]
        await live_pis(client, 1)
        yield Room(pi, client, await client.open(path=path))


async def test_every_act_of_a_client_is_pis(home: PiHome, true_daemon: RealDaemon) -> None:
    async with room(home, true_daemon) as one:
        session = one.session
        (live,) = session.pis
        assert (live["owner"], live["drives"], live["pid"]) == (True, True, one.pi.pid)
        first, second = await one.user_messages()

        moved = await session.navigate(second)
        assert moved["editorText"] == "Second question."
        assert moved["leaf"] == await one.pi.leaf()
        await session.label(first, "start")
        await session.rename("a talk")
        custom = {"type": "custom", "customType": "x", "data": {"n": 1}}
        appended = await session.append(custom)
        assert appended["leaf"] == await one.pi.leaf()
        await session.edit_context(first, None)
        await one.agrees()

        back = await session.navigate(second, summary="It was tried.")
        assert back["leaf"] == await one.pi.leaf()
        await one.agrees()


async def test_a_compaction_of_a_client_is_stored_by_pi(
    home: PiHome, true_daemon: RealDaemon, model: MarkedModel
) -> None:
    async with room(home, true_daemon, "[big:4] one", "[big:4] two") as one:
        done = await one.session.compact(summary="All that was said.")

        (compaction,) = [e for e in await one.pi.entries() if e["type"] == "compaction"]
        assert done["entry"] == compaction["id"]
        assert compaction["summary"].startswith("All that was said.")
        assert model.summaries == 0
        await one.agrees()


async def test_what_pi_says_arrives_as_pis(home: PiHome, true_daemon: RealDaemon) -> None:
    async with room(home, true_daemon) as one:
        await one.pi.turn("Third question.")

        origins = []
        async for update in one.session.changes(10):
            origins += [change["origin"] for change in update.changes if change["kind"] == "append"]
            if update.leaf == await one.pi.leaf():
                break

        assert {origin["pid"] for origin in origins} == {one.pi.pid}
        await one.agrees()


async def test_a_prompt_of_a_client_is_answered(
    home: PiHome, true_daemon: RealDaemon, model: MarkedModel
) -> None:
    async with room(home, true_daemon) as one:
        before = one.pi.settled
        taken = await one.session.prompt("From the editor.")
        await one.pi.until(lambda: one.pi.settled > before, "the end of the run")

        assert model.prompts[-1] == "From the editor."
        assert taken["entry"] == (await one.user_messages())[-1]
        await one.agrees()


async def test_a_pi_at_work_is_not_moved(home: PiHome, true_daemon: RealDaemon) -> None:
    async with room(home, true_daemon) as one:
        (first, _) = await one.user_messages()
        await one.pi.data("prompt", message="[slow:800] wait")
        await one.pi.until(lambda: any(e["type"] == "agent_start" for e in one.pi.events[-9:]))

        with pytest.raises(RpcFailure) as refused:
            await one.session.navigate(first)
        moved = await one.session.navigate(first, when_idle=True)

        assert refused.value.kind == "Busy"
        assert moved["leaf"] == await one.pi.leaf()
        await one.agrees()


async def test_a_shell_that_follows_sees_what_pi_does(
    home: PiHome, true_daemon: RealDaemon
) -> None:
    async with room(home, true_daemon) as one:
        follow = ["follow", str(one.session.path), "--socket", true_daemon.socket]
        async with await anyio.open_process(
            [sys.executable, "-u", "-m", "pisessiond", *follow], cwd=ROOT, stderr=None
        ) as shell:
            assert shell.stdout is not None
            said = TextReceiveStream(shell.stdout)
            seen = await until_said("", f"pi {one.pi.pid}: idle\n", said)
            await one.pi.turn("[slow:400] What is a tree?")
            seen = await until_said(seen, f"pi {one.pi.pid}: at work\n", said)
            seen = await until_said(seen, f"pi {one.pi.pid}: idle\n", said)
            await one.pi.close()
            await until_said(seen, f"pi {one.pi.pid}: gone\n", said)
            shell.terminate()


async def until_said(before: str, words: str, said: TextReceiveStream) -> str:
    """What comes behind these words, once they came."""
    with anyio.fail_after(PATIENCE):
        while words not in before:
            before += await said.receive()
    return before.split(words, 1)[1]
