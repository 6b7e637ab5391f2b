"""A client that reads slowly or not at all costs bounded memory and disturbs no one."""

from __future__ import annotations

import psutil
import pytest

from pisessiond.server import outbound
from tests.server.support import Client, Running

pytestmark = pytest.mark.anyio

ENTRY = {"id": "big", "text": "x" * 100_000}


async def read_all_changes(client: Client) -> tuple[list[int], list[dict[str, object]]]:
    """Revs of the changes up to a reset, and what came after them."""
    revs: list[int] = []
    while True:
        message = await client.receive()
        if message["method"] != "session/didChange":
            return revs, [message["params"]]
        revs.append(message["params"]["rev"])


async def test_dropped_changes_are_followed_by_one_reset(daemon: Running) -> None:
    session = daemon.session()
    async with daemon.client("quick") as quick, daemon.client("slow") as slow:
        await quick.call("session/open", {"session": "s"})
        await slow.call("session/open", {"session": "s"})
        before = psutil.Process().memory_info().rss
        for number in range(1_000):
            session.tell("rename", "external", name="x" * 100_000)
            assert (await quick.receive())["params"]["rev"] == number + 2
        assert psutil.Process().memory_info().rss - before < 32 << 20
        revs, (reset,) = await read_all_changes(slow)
        assert reset == {"session": "s", "reason": "overflow"}
        assert revs == list(range(2, 2 + len(revs)))
        assert 5 < len(revs) < 100
        opened = await slow.call("session/open", {"session": "s"})
        assert opened["rev"] == session.rev
        session.tell("rename", "external")
        for client in (quick, slow):
            assert (await client.receive())["params"]["base"] == opened["rev"]


async def test_many_small_changes_are_bounded_by_number(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbound, "DROP_COUNT", 10)
    session = daemon.session()
    async with daemon.client() as slow:
        await slow.call("session/open", {"session": "s"})
        for _ in range(20_000):
            session.tell("rename", "external")
        revs, (reset,) = await read_all_changes(slow)
        assert reset["reason"] == "overflow"
        assert len(revs) < 19_000


async def test_who_opens_again_in_between_is_told_of_what_follows(daemon: Running) -> None:
    session = daemon.session()
    async with daemon.client() as slow:
        await slow.call("session/open", {"session": "s"})
        for _ in range(100):
            session.tell("rename", "external", name="x" * 100_000)
        opened = await slow.call("session/open", {"session": "s"})
        assert opened["rev"] == 101
        told = [one["params"].get("rev") for one in slow.unread]
        slow.unread.clear()
        assert told == list(range(2, 2 + len(told)))
        session.tell("rename", "external")
        assert (await slow.receive())["params"]["base"] == 101


async def test_answers_are_never_dropped_but_no_more_is_read(daemon: Running) -> None:
    async with daemon.client() as client, daemon.client("other") as other:
        await client.call("session/append", {"session": "s", "entry": ENTRY})
        (connection, _) = daemon.connections
        for number in range(600):
            client.send(id=f"r{number}", method="session/entries", params={"session": "s"})
        while connection.outbound.has_room:
            await other.call("daemon/status")
        status = await other.call("daemon/status")
        queued = status["clients"][0]["queuedBytes"]
        # What was at work when the limit was reached is answered on top of it.
        assert outbound.HARD_BYTES <= queued < outbound.HARD_BYTES + 257 * 100_100
        for number in range(600):
            answer = await client.answer(f"r{number}")
            assert len(answer["result"]["entries"][0]["text"]) == 100_000


async def test_a_client_that_takes_nothing_is_closed_in_the_end(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with daemon.client() as client, daemon.client("other") as other:
        await client.call("session/append", {"session": "s", "entry": ENTRY})
        (connection, _) = daemon.connections
        monkeypatch.setattr(connection.outbound, "_stall_seconds", 0.05)
        for number in range(600):
            client.send(id=f"r{number}", method="session/entries", params={"session": "s"})
        while len(daemon.connections) == 2:
            await other.call("daemon/status")
        assert daemon.connections[0].client.name == "other"


async def test_a_client_asleep_with_little_to_read_is_left_alone(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = daemon.session()
    async with daemon.client() as asleep:
        await asleep.call("session/open", {"session": "s"})
        (connection,) = daemon.connections
        monkeypatch.setattr(connection.outbound, "_stall_seconds", 0.0)
        for _ in range(100):
            session.tell("rename", "external", name="x" * 100_000)
        async with daemon.client("other") as other:
            for _ in range(100):
                await other.call("daemon/status")
        assert connection in daemon.connections
        revs, (reset,) = await read_all_changes(asleep)
        assert revs
        assert reset["reason"] == "overflow"
