"""How soon things arrive, with the bridge and by watching the file; printed, with wide bars."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Sequence

import pytest

from pisessiond.client.session import Session
from tests.bridge.home import PiHome
from tests.bridge.real_daemon import RealDaemon, real_daemon
from tests.bridge.running import PATIENCE, PiRpc, pi_rpc
from tests.bridge.test_real_daemon import role

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

TURNS = 20
MOVES = 60


@pytest.fixture
async def true_daemon(home: PiHome, anyio_backend: str) -> AsyncIterator[RealDaemon]:
    async with real_daemon(home) as made:
        yield made


class Arrivals:
    """When each message was heard of, by pi's own host and by a client of the daemon."""

    def __init__(self, pi: PiRpc, session: Session) -> None:
        self.at_host: list[float] = []
        self.at_client: list[float] = []
        self._pi = pi
        self._session = session
        self._read = len(pi.events)

    async def watch_host(self) -> None:
        while True:
            for event in self._pi.events[self._read :]:
                # pi says so just before it writes the entry.
                if event["type"] == "message_end" and role(event) in ("user", "assistant"):
                    self.at_host.append(time.perf_counter())
            self._read = len(self._pi.events)
            self._pi.news.clear()
            await self._pi.news.wait()

    async def watch_client(self) -> None:
        async for update in self._session.changes():
            for change in update.changes:
                for node in change.get("nodes", []):
                    if node.get("role") in ("user", "assistant"):
                        self.at_client.append(time.perf_counter())

    def delays(self) -> list[float]:
        """Milliseconds from the host's word to the client's."""
        return [1_000 * (b - a) for a, b in zip(self.at_host, self.at_client, strict=True)]


def shown(name: str, delays: Sequence[float]) -> str:
    ordered = sorted(delays)
    p50, p95 = statistics.median(ordered), ordered[int(len(ordered) * 0.95)]
    return f"{name}: p50 {p50:.1f} ms, p95 {p95:.1f} ms, n {len(ordered)}"


async def arrivals(home: PiHome, daemon: RealDaemon, *, bridge: bool) -> list[float]:
    async with pi_rpc(home, bridge=bridge) as pi, daemon.client() as client:
        await pi.turn("First question.")
        path = (await pi.data("get_state"))["sessionFile"]
        seen = Arrivals(pi, await client.open(path=path))
        watching = [
            asyncio.create_task(seen.watch_host()),
            asyncio.create_task(seen.watch_client()),
        ]
        try:
            for number in range(TURNS):
                await pi.turn(f"Question {number}.")
            await pi.until(lambda: len(seen.at_client) == 2 * TURNS, "the last message")
            await pi.until(lambda: len(seen.at_host) == 2 * TURNS, "pi's last word")
        finally:
            for one in watching:
                one.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
        return seen.delays()


async def test_what_comes_in_pi_is_with_clients_at_once(
    home: PiHome, true_daemon: RealDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    told = await arrivals(home, true_daemon, bridge=True)
    watched = await arrivals(home, true_daemon, bridge=False)
    with capsys.disabled():
        print()
        print(shown("append to client, by the bridge", told))
        print(shown("append to client, by watching the file", watched))
    assert len(told) >= TURNS
    assert statistics.median(told) < 500


async def test_a_click_moves_pi_at_once(
    home: PiHome, true_daemon: RealDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    async with pi_rpc(home) as pi, true_daemon.client() as client:
        for text in ("First question.", "Second question."):
            await pi.turn(text)
        path = (await pi.data("get_state"))["sessionFile"]
        session = await client.open(path=path)
        answers = [entry["id"] for entry in await pi.entries() if role(entry) == "assistant"]
        delays = []
        async with asyncio.timeout(PATIENCE):
            for number in range(MOVES):
                began = time.perf_counter()
                moved = await session.navigate(answers[number % 2])
                delays.append(1_000 * (time.perf_counter() - began))
                assert moved["leaf"] == answers[number % 2]
        assert await pi.leaf() == moved["leaf"]
    with capsys.disabled():
        print()
        print(shown("a move by a client, until its answer", delays))
    assert statistics.median(delays) < 500
