"""Many clients of one real daemon: none disturbs another, none misses anything, nothing piles up.

Figures are printed; what is asserted is five times the limit, for other programs run here too.
"""

import asyncio
import contextlib
import hashlib
import json
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, Self

import msgspec
import pytest

from pisessiond.server.framing import FrameDecoder, frame
from tests.server.test_hostile_input import ANSWERED, CLOSED, IGNORED, TAKEN
from tests.server.test_hostile_input import message as good_message
from tests.support.peers import Follower, Json, Peer, Refused, fresh_state, peer
from tests.support.real_daemon import RealDaemon, header, real_daemon
from tests.support.service import answer, spell, user

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

MARGIN: Final = 5
GAP_SECONDS: Final = 0.2
FLAT_MB: Final = 32
HOSTILE: Final = [
    *(data for data, _ in ANSWERED.values()),
    *IGNORED.values(),
    *CLOSED.values(),
    *(head % len(good_message()) + good_message() for head in TAKEN.values()),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def daemon() -> Iterator[RealDaemon]:
    with real_daemon("--flush", "immediate") as started:
        yield started
        assert started.is_alive


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def say(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", end="")

    return say


class Pinger:
    """A client in a thread of its own that asks twenty times a second, and its longest wait."""

    def __init__(self, daemon: RealDaemon, path: Path, tokens: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(daemon.socket)
        self._socket.settimeout(20)
        self._decoder = FrameDecoder()
        self._tokens = tokens
        self._stop = threading.Event()
        self.gap = 0.0
        """The longest time from a question to its answer."""
        self.answers = 0
        self.fault: BaseException | None = None
        options = {"protocolVersions": [1], "client": {"id": "pinger", "name": "pinger"}}
        given = {"capabilities": {}, "initializationOptions": {"pisessiond": options}}
        self._call(1, "initialize", given)
        self._handle = self._call(2, "session/open", {"path": str(path)})["session"]
        self._call(3, "session/contextSize", {"session": self._handle})
        self._call(4, "session/close", {"session": self._handle})
        self._thread = threading.Thread(target=self._run)

    def _call(self, number: int, method: str, params: Json) -> Any:
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self._socket.sendall(frame(json.dumps(body).encode()))
        while True:
            while (given := self._decoder.next_body()) is None:
                data = self._socket.recv(65536)
                assert data, "the daemon hung up"
                self._decoder.feed(data)
            told = json.loads(given)
            if told.get("method") == "session/didChange":
                assert number < 5
                continue
            assert told["id"] == number, told
            return told["result"]

    def _run(self) -> None:
        try:
            number = 10
            while not self._stop.wait(0.05):
                number += 1
                began = time.monotonic()
                size = self._call(number, "session/contextSize", {"session": self._handle})
                self.gap = max(self.gap, time.monotonic() - began)
                assert size["tokens"] == self._tokens
                self.answers += 1
        except BaseException as fault:  # noqa: BLE001 - told by the test
            self.fault = fault

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def check(self) -> None:
        assert self.fault is None, self.fault
        assert self.answers
        assert self.gap < GAP_SECONDS * MARGIN


# One misbehaves ------------------------------------------------------------------------------


async def connects(daemon: RealDaemon) -> None:
    for _ in range(20):
        async with peer(daemon.socket) as other:
            await other.call("daemon/status", {})


async def vanishes(daemon: RealDaemon) -> None:
    for _ in range(20):
        other = await Peer.connect(daemon.socket)
        await other.initialize("vanishing")
        for _ in range(20):
            other.ask("session/list", {"limit": 100})
        await other.drop()


CRASHING = """
import socket, sys, time
from pisessiond.server.framing import frame
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(frame(b'{"jsonrpc":"2.0","id":1,"method":"daemon/status"}') + b"Content-Le")
client.recv(10)
print("here", flush=True)
time.sleep(60)
"""


async def crashes(daemon: RealDaemon) -> None:
    command = [sys.executable, "-c", CRASHING, daemon.socket]
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert await asyncio.to_thread(process.stdout.readline) == b"here\n"
            process.kill()


async def sends_garbage(daemon: RealDaemon) -> None:
    chance = random.Random(7)
    for _ in range(100):
        await raw(daemon, chance.randbytes(chance.randint(1, 20_000)))


async def sends_half_a_frame(daemon: RealDaemon) -> None:
    whole = frame(good_message())
    for length in range(1, len(whole), 7):
        await raw(daemon, whole[:length])


async def announces_a_gigabyte(daemon: RealDaemon) -> None:
    for _ in range(20):
        await raw(daemon, b"Content-Length: 1000000000\r\n\r\n" + b"x" * 1_000_000)


async def is_hostile(daemon: RealDaemon) -> None:
    assert len(HOSTILE) >= 35
    for data in HOSTILE:
        await raw(daemon, data)


async def leaves_politely(daemon: RealDaemon) -> None:
    for ending in (["shutdown", "exit"], ["exit"], ["shutdown"]):
        other = await Peer.connect(daemon.socket)
        await other.initialize("leaving")
        for method in ending:
            if method == "shutdown":
                await other.call(method, None)
            else:
                other.send({"method": method})
                await asyncio.wait_for(other.ended.wait(), 20)
        await other.drop()


async def raw(daemon: RealDaemon, data: bytes) -> None:
    """Initialize, send these bytes and end the stream; whatever comes back is read to the end."""
    reader, writer = await asyncio.open_unix_connection(daemon.socket)
    options = {"protocolVersions": [1], "client": {"id": "b", "name": "b"}}
    given = {"capabilities": {}, "initializationOptions": {"pisessiond": options}}
    first = {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": given}
    writer.write(frame(msgspec.json.encode(first)) + data)
    # Closed by the daemon before all was written: as it should be.
    with contextlib.suppress(OSError):
        writer.write_eof()
        while await asyncio.wait_for(reader.read(65536), 20):
            pass
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


@pytest.mark.parametrize(
    "misbehave",
    [
        connects,
        vanishes,
        crashes,
        sends_garbage,
        sends_half_a_frame,
        announces_a_gigabyte,
        is_hostile,
        leaves_politely,
    ],
)
async def test_a_client_is_answered_whatever_another_one_does(
    daemon: RealDaemon,
    say: Callable[[str], None],
    misbehave: Callable[[RealDaemon], Awaitable[None]],
) -> None:
    path = daemon.session_file("a", user("x" * 4_000, "u1"))
    with Pinger(daemon, path, 1_000) as pinger:
        until = time.monotonic() + 1
        await misbehave(daemon)
        await asyncio.sleep(max(0.0, until - time.monotonic()))
    say(f"{misbehave.__name__}: the longest of {pinger.answers} waits {pinger.gap * 1000:.0f} ms")
    pinger.check()


# Each its own answers ------------------------------------------------------------------------


@pytest.mark.timeout(300)
async def test_eight_clients_with_equal_ids_get_their_own_answers(
    daemon: RealDaemon, say: Callable[[str], None]
) -> None:
    count, window = 10_000, 100

    async def ask_all(number: int) -> None:
        tokens = 1_000 * (number + 1)
        path = daemon.session_file(f"s{number}", user("x" * 4 * tokens, "u1"))
        async with peer(daemon.socket, f"client {number}") as client:
            opened = await client.call("session/open", {"path": str(path)})
            params = {"session": opened["session"]}
            for start in range(100, 100 + count, window):
                asked = [
                    client.ask("session/contextSize", params, start + offset)
                    for offset in range(window)
                ]
                sizes = await asyncio.wait_for(asyncio.gather(*asked), 60)
                assert {size["tokens"] for size in sizes} == {tokens}

    began = time.monotonic()
    await asyncio.gather(*(ask_all(number) for number in range(8)))
    seconds = time.monotonic() - began
    say(f"8 clients x {count:,} requests with equal ids: {8 * count / seconds:,.0f} a second")


# One reads nothing ---------------------------------------------------------------------------


@pytest.mark.timeout(300)
async def test_who_never_reads_costs_bounded_memory_and_is_reset_once(
    daemon: RealDaemon, say: Callable[[str], None]
) -> None:
    path = str(daemon.session_file("s", user("hello", "u1")))
    size, count = 100_000, 2_000
    async with (
        peer(daemon.socket, "actor") as actor,
        peer(daemon.socket, "watcher") as watching,
        peer(daemon.socket, "sleeper") as sleeping,
    ):
        followers = [Follower(path) for _ in range(2)]
        for follower, client in zip(followers, (watching, sleeping), strict=True):
            follower.attach(client)
            await follower.keep_up()
        watcher, sleeper = followers
        handle = watcher.handle
        await actor.call("session/contextSize", {"session": handle})
        sleeping.stall()
        before = highest = daemon.resident_mb()
        waits = []
        for number in range(count):
            began = time.monotonic()
            name = f"{number} " + "x" * size
            await actor.call("session/rename", {"session": handle, "name": name})
            waits.append(time.monotonic() - began)
            if number % 50 == 0:
                highest = max(highest, daemon.resident_mb())
        highest = max(highest, daemon.resident_mb())
        await watching.call("session/sync", {"session": handle})
        assert (watcher.resets, watcher.snapshots) == ([], 1)
        assert watcher.rev == sleeper.rev + count

        sleeping.go_on()
        while not sleeper.is_stale:
            await sleeping.call("daemon/status", {})
        heard = sleeper.applied
        await sleeper.keep_up()
        assert sleeper.resets == ["overflow"]
        await actor.call("session/rename", {"session": handle, "name": "the end"})
        await sleeping.call("session/sync", {"session": handle})
        await watching.call("session/sync", {"session": handle})
        assert sleeper.state() == watcher.state() == await fresh_state(daemon.socket, path)
        assert sleeper.resets == ["overflow"]
    # An open session remembers the names it had; the queue and the ring are all that is added.
    grown = highest - before - size * count / (1 << 20)
    p99 = quantiles(waits, n=100)[98] * 1000
    say(
        f"{size * count / 1e6:.0f} MB of deltas, {heard} of {count} read by the sleeper: "
        f"memory {grown:+.1f} MB; an act's wait p99 {p99:.1f} ms, "
        f"longest {max(waits) * 1000:.0f} ms"
    )
    assert grown < FLAT_MB * MARGIN
    assert max(waits) < GAP_SECONDS * MARGIN


async def test_what_is_too_large_to_be_told_breaks_nobodys_connection(daemon: RealDaemon) -> None:
    path = str(daemon.session_file("s", user("hello", "u1")))
    async with peer(daemon.socket, "actor") as actor, peer(daemon.socket, "watcher") as watching:
        watcher = Follower(path)
        watcher.attach(watching)
        await watcher.keep_up()
        handle = watcher.handle
        # Just within a message on its way here, and just beyond one with all that is told.
        name = "x" * ((64 << 20) - 200)
        await actor.call("session/rename", {"session": handle, "name": name})
        await watching.call("session/sync", {"session": handle})
        assert watcher.resets == ["overflow"]
        with pytest.raises(Refused) as refused:
            await watching.call("session/open", {"path": path})
        assert refused.value.kind == "TooLarge"
        await actor.call("session/rename", {"session": handle, "name": "short"})
        await watcher.keep_up()
        await watching.call("session/sync", {"session": handle})
        assert watcher.state() == await fresh_state(daemon.socket, path)


# Nothing is missed ---------------------------------------------------------------------------


@pytest.mark.timeout(300)
async def test_whoever_subscribes_while_others_append_misses_nothing(daemon: RealDaemon) -> None:
    path = str(daemon.session_file("s", user("hello", "u1"), answer("hi", "a1", "u1")))
    rounds, watchers = 50, 20
    chance = random.Random(3)
    async with contextlib.AsyncExitStack() as stack:
        actor = await stack.enter_async_context(peer(daemon.socket, "actor"))
        peers = [
            await stack.enter_async_context(peer(daemon.socket, f"w{number}"))
            for number in range(watchers)
        ]
        handle = (await actor.call("session/open", {"path": path}))["session"]
        kept: list[Follower] = []

        async def act() -> None:
            leaf = "a1"
            for number in range(12):
                entry = {"type": "message", "message": {"role": "user", "content": "more"}}
                done = await actor.call("session/append", {"session": handle, "entry": entry})
                if number == 4:
                    mark = {"session": handle, "target": leaf, "label": f"{done['rev']}"}
                    await actor.call("session/label", mark)
                if number == 8:
                    await actor.call("session/navigate", {"session": handle, "target": leaf})
                leaf = done["leaf"]

        async def subscribe(follower: Follower, client: Peer, pause: float) -> None:
            follower.attach(client)
            await asyncio.sleep(pause)
            await follower.keep_up()

        for turn in range(rounds):
            # Every other one begins anew; the rest go on from where they stood a round ago.
            new = turn % 2 == 0
            followers = [Follower(path) for _ in peers] if new else kept
            async with asyncio.TaskGroup() as tasks:
                for follower, client in zip(followers, peers, strict=True):
                    tasks.create_task(subscribe(follower, client, chance.uniform(0, 0.03)))
                tasks.create_task(act())
            for follower, client in zip(followers, peers, strict=True):
                await client.call("session/sync", {"session": handle})
                await follower.keep_up()
            expected = await fresh_state(daemon.socket, path)
            for follower in followers:
                assert follower.state() == expected
                assert (follower.resets, follower.snapshots) == ([], 1)
            kept = followers
            if new:
                for client in peers:
                    await client.call("session/close", {"session": handle})


async def test_a_client_resumes_from_where_it_stood(daemon: RealDaemon) -> None:
    path = str(daemon.session_file("s", user("hello", "u1")))
    async with peer(daemon.socket) as client:
        opened = await client.call("session/open", {"path": path})
        handle, epoch = opened["session"], opened["epoch"]

        async def append(count: int) -> int:
            entry = {"type": "message", "message": {"role": "user", "content": "more"}}
            asked = {"session": handle, "entries": [entry] * count}
            rev: int = (await client.call("session/append", asked))["rev"]
            return rev

        async def resume(epoch: str, rev: int) -> tuple[str, int | None, int]:
            asked = {"path": path, "since": {"epoch": epoch, "rev": rev}}
            answered = await client.call("session/open", asked)
            nodes = sum(len(change.get("nodes", ())) for change in answered.get("changes", ()))
            assert answered["rev"] == head
            return answered["mode"], answered.get("base"), nodes

        for _ in range(16):
            head = await append(256)
        assert head == 4_097
        assert await resume(epoch, head) == ("deltas", head, 0)
        assert await resume(epoch, head - 256) == ("deltas", head - 256, 256)
        assert await resume(epoch, 1) == ("deltas", 1, 4_096)
        assert await resume(epoch, 100) == ("snapshot", None, 0)
        head = await append(1)
        assert await resume(epoch, 1) == ("snapshot", None, 0)
        assert await resume(epoch, 257) == ("deltas", 257, head - 257)
        assert await resume(epoch, head + 1) == ("snapshot", None, 0)
        assert await resume(epoch, 0) == ("snapshot", None, 0)
        assert await resume("another", head) == ("snapshot", None, 0)
        await client.call("session/sync", {"session": handle})


@pytest.mark.timeout(300)
async def test_of_two_windows_on_one_leaf_one_wins(daemon: RealDaemon) -> None:
    path = str(daemon.session_file("s", user("hello", "u1"), answer("hi", "a1", "u1")))
    rounds = 1_000
    wins = {"one": 0, "two": 0}
    async with (
        peer(daemon.socket, "one") as one,
        peer(daemon.socket, "two") as two,
        peer(daemon.socket, "third") as third,
    ):
        handle = (await one.call("session/open", {"path": path}))["session"]
        leaf = "a1"

        def append(client: Peer, content: str) -> asyncio.Future[Any]:
            entry = {"type": "message", "message": {"role": "user", "content": content}}
            asked = {"session": handle, "entry": entry, "baseLeaf": leaf}
            return client.ask("session/append", asked)

        for turn in range(rounds):
            marking = None
            if turn % 4 == 0:
                marking = third.ask(
                    "session/label", {"session": handle, "target": "u1", "label": f"{turn}"}
                )
                if turn % 8 == 0:
                    await marking
            clients = [one, two] if turn % 2 else [two, one]
            asked = [append(client, "mine") for client in clients]
            first, second = await asyncio.gather(*asked, return_exceptions=True)
            winner, loser = (second, first) if isinstance(first, Refused) else (first, second)
            assert not isinstance(winner, BaseException)
            assert isinstance(loser, Refused)
            assert loser.kind == "LeafMoved"
            (added,) = winner["ids"]
            if marking is not None:
                await marking
            else:
                assert (loser.data["leaf"], loser.data["rev"]) == (added, winner["rev"])
            won = clients[0] if winner is first else clients[1]
            wins["one" if won is one else "two"] += 1
            leaf = added
        state = await fresh_state(daemon.socket, path)
        assert sum(wins.values()) == rounds
        assert len(state["parents"]) == 2 + rounds + rounds // 4
        assert state["labels"] == {"u1": f"{rounds - 4}"}


# What takes long -----------------------------------------------------------------------------


def files_below(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change, by path."""
    found = [path for path in folder.rglob("*.jsonl") if path.is_file()]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def long_file(daemon: RealDaemon, name: str, entries: int, width: int) -> Path:
    """A session of a single branch."""
    path = daemon.folder / f"{name}.jsonl"
    with path.open("wb") as file:
        file.write(header(name))
        for number in range(entries):
            parent = f"e{number - 1}" if number else None
            file.write(spell(user("x" * width, f"e{number}", parent)))
    return path


@pytest.mark.timeout(300)
async def test_a_cancelled_fork_ends_and_leaves_everything_as_it_was(
    daemon: RealDaemon, say: Callable[[str], None]
) -> None:
    path = long_file(daemon, "large", 60_000, 1_500)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    async with peer(daemon.socket, "first") as first, peer(daemon.socket, "second") as second:
        handle = (await first.call("session/open", {"path": str(path)}))["session"]
        await first.call("session/contextSize", {"session": handle})
        before = files_below(daemon.folder)
        waits = []
        for pause in (0.0, 0.01, 0.05, 0.1):
            forking = first.ask("session/fork", {"session": handle}, f"fork {pause}")
            # Whatever has been sent is read by then: the fork has begun.
            await first.call("daemon/status", {})
            with pytest.raises(Refused) as busy:
                await second.call("session/fork", {"session": handle})
            assert busy.value.kind == "Busy"
            assert busy.value.data["operation"] == "fork"
            assert busy.value.data["client"] == "first"
            await asyncio.sleep(pause)
            began = time.monotonic()
            first.cancel(f"fork {pause}")
            with pytest.raises(Refused) as ended:
                await asyncio.wait_for(forking, 30)
            waits.append(time.monotonic() - began)
            assert ended.value.kind == "Cancelled"
            assert files_below(daemon.folder) == before
        say(f"the longest of {len(waits)} cancels took {max(waits) * 1000:.0f} ms")
        assert max(waits) < GAP_SECONDS * MARGIN
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
        sessions = (await first.call("daemon/status", {}))["sessions"]
        assert [one["session"] for one in sessions] == [handle]
        forked = await second.call("session/fork", {"session": handle})
        assert Path(forked["path"]).stat().st_size > 60_000 * 1_500


@pytest.mark.timeout(300)
async def test_cancelled_and_many_questions_hold_up_nobody(
    daemon: RealDaemon, say: Callable[[str], None]
) -> None:
    path = long_file(daemon, "large", 30_000, 1_500)
    small = daemon.session_file("a", user("x" * 4_000, "u1"))
    async with peer(daemon.socket) as client:
        handle = (await client.call("session/open", {"path": str(path)}))["session"]
        await client.call("session/contextSize", {"session": handle})
        before = highest = daemon.resident_mb()
        with Pinger(daemon, small, 1_000) as pinger:
            for method in ("session/fork", "session/stats", "session/stats"):
                asked = []
                for number in range(24):
                    asked.append(client.ask(method, {"session": handle}, f"{method} {number}"))
                    await asyncio.sleep(0.02)
                    client.cancel(f"{method} {number}")
                    highest = max(highest, daemon.resident_mb())
                await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 60)
            both = [client.ask("session/stats", {"session": handle}) for _ in range(24)]
            await asyncio.wait_for(asyncio.gather(*both), 60)
            highest = max(highest, daemon.resident_mb())
    say(
        f"72 cancelled and 24 other questions to 45 MB: memory {highest - before:+.0f} MB, "
        f"the longest of {pinger.answers} waits of another client {pinger.gap * 1000:.0f} ms"
    )
    pinger.check()
    # Two branches at once, and what the allocator keeps of them.
    assert highest - before < 4 * 45 + FLAT_MB * MARGIN


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("entries", "width"), [(5, 1_000_000), (12_500, 280)], ids=["few", "many"])
async def test_sessions_that_were_opened_and_left_do_not_pile_up(
    daemon: RealDaemon, say: Callable[[str], None], entries: int, width: int
) -> None:
    count = 500
    original = long_file(daemon, "original", entries, width)
    assert 4.8e6 < original.stat().st_size < 5.4e6
    seen: list[float] = []
    files: list[int] = []
    began = time.monotonic()
    async with peer(daemon.socket) as client:
        for number in range(count):
            path = daemon.folder / f"copy{number}.jsonl"
            path.hardlink_to(original)
            opened = await client.call("session/open", {"path": str(path)})
            await client.call("session/contextSize", {"session": opened["session"]})
            await client.call("session/close", {"session": opened["session"]})
            if number % 100 == 99:
                seen.append(daemon.resident_mb())
                files.append(daemon.descriptors())
        held = len((await client.call("daemon/status", {}))["sessions"])
        assert held <= 256
    say(
        f"{count} sessions of 5 MB, {entries:,} entries each, in {time.monotonic() - began:.0f} s: "
        f"memory {', '.join(f'{one:.0f}' for one in seen)} MB, "
        f"{', '.join(map(str, files))} descriptors, {held} held in the end"
    )
    assert seen[-1] - seen[1] < FLAT_MB * MARGIN
    assert seen[-1] < 256 * MARGIN
    assert files[-1] < 256 * 2


# Endurance -----------------------------------------------------------------------------------


def mutated(chance: random.Random, message: bytes) -> bytes:
    """A message with a few bytes changed, or parts of it doubled, cut or exchanged."""
    data = bytearray(message)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.randint(0, 20))
        part = bytes(data[start:end])
        words = [b"null", b"[]", b"{}", b"-1", b"1e999", b'"\\ud800"', b"\x00", b'"id":1,']
        data[start:end] = chance.choice(
            [b"", part * 2, chance.randbytes(len(part)), chance.choice(words), part[::-1]]
        )
    return bytes(data)


@pytest.mark.timeout(300)
async def test_mutated_messages_and_short_visits_leave_the_daemon_as_it_was(
    daemon: RealDaemon, say: Callable[[str], None]
) -> None:
    path = daemon.session_file("s", user("x" * 4_000, "u1"))
    chance = random.Random(11)
    async with peer(daemon.socket) as client:
        handle = (await client.call("session/open", {"path": str(path)}))["session"]
        await client.call("session/close", {"session": handle})
        named: list[Json] = [
            {"method": "session/contextSize", "params": {"session": handle}},
            {"method": "session/tree", "params": {"session": handle, "count": 5}},
            {"method": "session/open", "params": {"session": handle}},
            {"method": "session/list", "params": {"limit": 5}},
            {"method": "session/entries", "params": {"session": handle, "ids": ["u1"], "limit": 9}},
            {"method": "session/navigate", "params": {"session": handle, "target": "u1"}},
            {"method": "session/label", "params": {"session": handle, "target": "u1", "label": ""}},
            {"method": "$/cancelRequest", "params": {"id": 1}},
            {"method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": "a"}}},
            {"method": "workspace/executeCommand", "params": {"command": "x", "arguments": []}},
        ]
        bodies = [msgspec.json.encode({"jsonrpc": "2.0", "id": 1, **one}) for one in named]

        async def fuzz_for(seconds: float) -> tuple[int, int]:
            sent = connections = 0
            until = time.monotonic() + seconds

            async def fuzz() -> None:
                nonlocal sent, connections
                while time.monotonic() < until:
                    messages = [
                        frame(mutated(chance, chance.choice(bodies)))
                        if chance.random() < 0.97
                        else mutated(chance, frame(chance.choice(bodies)))
                        for _ in range(30)
                    ]
                    await raw(daemon, b"".join(messages))
                    sent += len(messages)
                    connections += 1

            await asyncio.gather(*(fuzz() for _ in range(8)))
            return sent, connections

        async def visit(times: int) -> None:
            for _ in range(times):
                visitor = await Peer.connect(daemon.socket)
                await visitor.initialize("visitor")
                await visitor.close()

        async def alone() -> None:
            while len((await client.call("daemon/status", {}))["clients"]) > 1:
                await asyncio.sleep(0.02)

        await fuzz_for(1)
        await visit(20)
        await alone()
        memory, files = daemon.resident_mb(), daemon.descriptors()
        sent, connections = await fuzz_for(8)
        await visit(600)
        await alone()
        grown = daemon.resident_mb() - memory
        say(
            f"{sent:,} mutated messages on {connections:,} connections, then 600 visits: "
            f"memory {grown:+.1f} MB, descriptors {files} -> {daemon.descriptors()}"
        )
        assert (await client.call("session/check", {"session": handle}))["problems"] == []
        assert grown < FLAT_MB * MARGIN
        assert daemon.descriptors() <= files
