"""A real daemon that is killed, whose disk fills up, and beside which real pi writes.

How often and how much is printed.
"""

import asyncio
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.peers import Json, Peer, Refused, peer
from tests.support.pi import Answer, Pi
from tests.support.real_daemon import RealDaemon, header, real_daemon
from tests.support.seen import open_file
from tests.support.service import answer, spell, user

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.timeout(600)]

KILLS: Final = 200
LANES: Final = 2
"""Daemons at once, since most of a round is waiting for one to start."""
ROUNDS_PER_FILE: Final = 10
SIZES: Final = {"200 B": (200, 0.08), "200 KB": (200_000, 0.16)}
"""Bytes of a record, and within how many seconds of writing the daemon is killed."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def say(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", end="")

    return say


def begun(path: Path) -> Path:
    """A session file with one answer in it."""
    path.write_bytes(header(path.stem) + spell(answer("hi", "a0")))
    return path


async def opened(client: Peer, path: Path) -> str:
    handle: str = (await client.call("session/open", {"path": str(path)}))["session"]
    return handle


async def connected(daemon: RealDaemon) -> Peer:
    """A connection; the socket can be seen a moment before it listens."""
    while True:
        try:
            return await Peer.connect(daemon.socket)
        except ConnectionRefusedError:
            assert daemon.is_alive
            await asyncio.sleep(0.005)


# Killed


class Lane:
    """Rounds of starting, appending and killing, on one file after the other."""

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        self.folder = folder
        self.name = name
        self.random = random.Random(seed)
        self.acknowledged: dict[Path, list[str]] = {}
        self.lost_answers = 0

    async def run(self, rounds: int, size: int, seconds: float) -> None:
        for number in range(rounds):
            path = self.folder / f"{self.name}-{number // ROUNDS_PER_FILE}.jsonl"
            if path not in self.acknowledged:
                self.acknowledged[begun(path)] = ["a0"]
            await self._round(path, number, size, seconds)

    async def _round(self, path: Path, number: int, size: int, seconds: float) -> None:
        with real_daemon() as daemon:
            client = await connected(daemon)
            await client.initialize("writer")
            handle = await opened(client, path)
            sending = asyncio.create_task(self._send(client, handle, path, number, size))
            await asyncio.sleep(self.random.random() * seconds)
            os.kill(daemon.pid, signal.SIGKILL)
            await sending
            await client.drop()

    async def _send(self, client: Peer, handle: str, path: Path, number: int, size: int) -> None:
        """Append in bursts until nobody answers any more."""
        text = "x" * size
        count = 0
        while True:
            sent = {}
            for _ in range(1 + self.random.randrange(6)):
                name, count = f"{self.name}-{number}-{count}", count + 1
                given = {"session": handle, "entry": {**user(text), "id": name}}
                sent[name] = client.ask("session/append", given)
            await asyncio.wait(sent.values())
            done = [name for name, one in sent.items() if one.exception() is None]
            self.acknowledged[path] += done
            self.lost_answers += len(sent) - len(done)
            if len(done) < len(sent):
                return

    def check(self, pi: Pi) -> None:
        """All that was acknowledged is there, in order and whole, for pi too."""
        paths = list(self.acknowledged)
        for path, theirs in zip(paths, pi.glance(paths), strict=True):
            assert "error" not in theirs, theirs
            known = self.acknowledged[path]
            ours = set(known)
            assert [entry for entry in open_file(path).index.ids if entry in ours] == known
            assert [entry for entry, _ in theirs["entries"] if entry in ours] == known
            check_lines(path)


def check_lines(path: Path) -> int:
    """No line is two lines; how many are the beginning of one."""
    torn = 0
    for line in path.read_bytes().split(b"\n"):
        try:
            if line:
                json.loads(line)
        except ValueError:
            torn += 1
            assert line.count(b'{"type":"') <= 1, f"glued: {line[:80]!r}"
    return torn


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_acknowledged_is_lost_when_the_daemon_is_killed(
    pi: Pi, tmp_path: Path, say: Callable[[str], None], size: str
) -> None:
    began = time.monotonic()
    length, seconds = SIZES[size]
    lanes = [Lane(tmp_path, f"lane{number}", number) for number in range(LANES)]
    rounds = KILLS // len(SIZES) // LANES
    await asyncio.gather(*(lane.run(rounds, length, seconds) for lane in lanes))
    for lane in lanes:
        lane.check(pi)
    known = sum(len(ids) - 1 for lane in lanes for ids in lane.acknowledged.values())
    torn = sum(check_lines(path) for lane in lanes for path in lane.acknowledged)
    say(
        f"{rounds * LANES} kills with records of {size}: {known} acknowledged, all there; "
        f"{sum(lane.lost_answers for lane in lanes)} had no answer; {torn} torn lines; "
        f"{time.monotonic() - began:.0f} s"
    )


async def test_relaxed_syncing_loses_nothing_to_a_kill_either(pi: Pi, tmp_path: Path) -> None:
    path = begun(tmp_path / "relaxed.jsonl")
    known = ["a0"]
    with real_daemon("--sync", "relaxed") as daemon:
        client = await connected(daemon)
        await client.initialize("writer")
        handle = await opened(client, path)
        for _ in range(20):
            assert await tried(client, handle, known) is None
        os.kill(daemon.pid, signal.SIGKILL)
        await client.drop()
    check_unbroken(pi, path, known)


# A full disk


class SmallDisk:
    """A place that has little room, and room again."""

    def __init__(self, folder: Path, *, is_mounted: bool) -> None:
        self.folder = folder
        self._ballast = folder / "ballast" if is_mounted else None

    def fill(self, path: Path, daemon: RealDaemon) -> None:
        """Leave room for some records behind what is in the file."""
        if self._ballast is None:
            self._limit(daemon, path.stat().st_size + 30_000)
            return
        free = os.statvfs(self.folder)
        self._ballast.write_bytes(b"x" * (free.f_bavail * free.f_frsize - 30_000))

    def free(self, daemon: RealDaemon) -> None:
        if self._ballast is None:
            self._limit(daemon, resource.RLIM_INFINITY)
        else:
            self._ballast.unlink()

    def _limit(self, daemon: RealDaemon, size: int) -> None:
        hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (size, hard))


@contextlib.contextmanager
def small_disk(kind: str) -> Iterator[SmallDisk]:
    with tempfile.TemporaryDirectory(prefix="pis-disk-") as name:
        if kind == "limit":
            yield SmallDisk(Path(name), is_mounted=False)
            return
        mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", name]
        done = subprocess.run(mount, capture_output=True, check=False)
        if done.returncode:
            pytest.skip("nothing may be mounted here; the limit on the file's size stands for it")
        try:
            yield SmallDisk(Path(name), is_mounted=True)
        finally:
            subprocess.run(["umount", name], check=True)


@pytest.mark.parametrize("kind", ["tmpfs", "limit"])
async def test_a_full_disk_costs_nothing_that_was_acknowledged(
    pi: Pi, say: Callable[[str], None], kind: str
) -> None:
    with small_disk(kind) as disk, real_daemon() as daemon:
        path = begun(disk.folder / "full.jsonl")
        async with peer(daemon.socket, "writer") as writer, peer(daemon.socket, "other") as other:
            heard: list[str] = []

            def hear(method: str, params: Json) -> None:
                for change in params.get("changes", ()):
                    heard.extend(problem["kind"] for problem in change.get("problems", ()))

            other.told = hear
            handle = await opened(writer, path)
            await opened(other, path)
            disk.fill(path, daemon)
            known = ["a0"]
            refused: Json | None = None
            while refused is None:
                refused = await tried(writer, handle, known)
                assert len(known) < 100
            before = len(known)
            # It stays full for a while, whoever tries.
            assert await tried(other, handle, list(known)) is not None
            leaf = (await writer.call("session/open", {"path": str(path)}))["leaf"]
            assert leaf == known[-1]
            disk.free(daemon)
            assert await tried(writer, handle, known) is None
            assert len(known) == before + 1, "the retry of the refused one works"
            for _ in range(5):
                assert await tried(other, handle, known) is None
            await other.call("session/sync", {"session": handle})
            assert heard.count("degraded") >= 1
            assert heard[-1] == "recovered"
        check_unbroken(pi, path, known)
        say(
            f"{kind}: full after {before} entries ({refused['message']}), "
            f"{len(known)} on one branch in the end; told: {heard}"
        )


async def tried(client: Peer, handle: str, known: list[str]) -> Json | None:
    """Append the next record; the refusal, if it was one that will not last."""
    name = f"n{len(known)}"
    entry = {**user(f"{name} " + "x" * 3_000), "id": name}
    try:
        await client.call("session/append", {"session": handle, "entry": entry})
    except Refused as refusal:
        if refusal.kind != "Degraded":
            raise
        return {"message": str(refusal)}
    known.append(name)
    return None


def check_unbroken(pi: Pi, path: Path, known: list[str]) -> None:
    ours = open_file(path)
    (theirs,) = pi.glance([path])
    branch = [ours.index.ids[row] for row in ours.index.branch(ours.leaf)]
    assert branch == theirs["branch"] == known
    check_lines(path)


# Real pi beside us


async def test_pi_and_the_daemon_append_in_turns(
    pi: Pi, tmp_path: Path, say: Callable[[str], None]
) -> None:
    count = 5_000
    began = time.monotonic()
    path = begun(tmp_path / "both.jsonl")
    with real_daemon() as daemon:
        async with peer(daemon.socket, "writer") as writer:
            handle = await opened(writer, path)
            theirs: list[Answer] = []
            thread = threading.Thread(
                target=lambda: theirs.append(
                    pi.append_many(path, count, burst=20, pause_ms=25, seed=4)
                )
            )
            thread.start()
            ours = await append_many(writer, handle, count, thread)
            while thread.is_alive():
                await asyncio.sleep(0.05)
            await writer.call("session/sync", {"session": handle})
            told = await writer.call("session/open", {"path": str(path)})
        (answered,) = theirs
        check_both(pi, path, ours, answered, told)
    turns = turns_in(path, set(ours))
    say(
        f"{len(ours)} of ours and {len(answered['ids'])} of pi's in one file, in {turns} turns; "
        f"{time.monotonic() - began:.0f} s"
    )
    assert turns > 100


async def append_many(writer: Peer, handle: str, count: int, other: threading.Thread) -> list[str]:
    """Append in bursts, with pauses as long as the other one writes."""
    chance = random.Random(5)
    names: list[str] = []
    while len(names) < count:
        size = min(count - len(names), 1 + chance.randrange(20))
        sent = []
        for _ in range(size):
            name = f"d{len(names):07}"
            names.append(name)
            entry = {**user(f"ours {name}"), "id": name}
            sent.append(writer.ask("session/append", {"session": handle, "entry": entry}))
        await asyncio.gather(*sent)
        if other.is_alive():
            await asyncio.sleep(chance.random() * 0.015)
    return names


def check_both(pi: Pi, path: Path, ours: list[str], answered: Answer, told: Json) -> None:
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    everything = iter(lines)
    for line in answered["lines"]:
        assert line.encode() in everything, "every byte pi wrote is there, in pi's order"
    (seen,) = pi.glance([path])
    stored = open_file(path)
    parents = [stored.id_of(row) for row in stored.index.parent]
    assert [list(pair) for pair in zip(stored.index.ids, parents, strict=True)] == seen["entries"]
    assert len(seen["entries"]) == 1 + len(ours) + len(answered["ids"]) == told["entryCount"]
    assert {entry for entry, _ in seen["entries"]} == {"a0", *ours, *answered["ids"]}
    assert stored.leaf_id == seen["leafId"]
    assert [stored.index.ids[row] for row in stored.index.branch(stored.leaf)] == seen["branch"]
    assert stored.problems == []


def turns_in(path: Path, ours: set[Any]) -> int:
    """How often the writer changed."""
    ids = open_file(path).index.ids
    return sum((one in ours) != (other in ours) for one, other in pairwise(ids))
