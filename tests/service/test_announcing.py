"""How sessions are shared: what subscribers are told and when, what may be resumed, who may write,
what holds a session's slot, and when a session leaves memory."""

import errno
import gc
import itertools
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from pisessiond.service import announcing
from pisessiond.service import sessions as sessions_module
from pisessiond.service.announcing import CALM, JOIN_SECONDS, Announcer, Ring, RingBudget
from pisessiond.service.errors import Busy, Degraded, LeafMoved, ReadOnly, SessionNotFound
from pisessiond.service.open_session import OpenSession
from pisessiond.service.subscribers import OnlyListens
from pisessiond.service.types import Change, SessionChange
from pisessiond.storage.base import Claimed
from pisessiond.storage.claims import FolderClaims
from tests.support.live import until
from tests.support.service import (
    ME,
    OTHER,
    HandClock,
    House,
    Listener,
    answer,
    entry,
    foreign,
    label,
    service,
    user,
)

pytestmark = pytest.mark.anyio

ROOT: Final = Path(__file__).resolve().parents[2]
TALK: Final = [user("hello", "u1"), answer("hi", "a1", "u1")]


# The ring ------------------------------------------------------------------------------------


def change(base: int, rev: int, size: int | None = 10, **details: Any) -> SessionChange:
    """A step that costs so many bytes on the wire; None: nobody has encoded it."""
    told = SessionChange(
        "s", "e", base, rev, (Change("append", "external", (), details),), "x", None
    )
    told.encoded = b"x" * size if size is not None else None
    return told


def filled(steps: int, size: int = 10, budget: RingBudget | None = None) -> Ring:
    """A ring that was told of so many steps of one revision, from 1 on."""
    budget = budget or RingBudget()
    ring = Ring(budget)
    budget.enter(ring)
    for rev in range(1, steps + 1):
        ring.keep(change(rev, rev + 1, size))
    return ring


def revs(found: list[SessionChange] | None) -> tuple[int, int] | None:
    """From where to where what was found leads, without a gap."""
    if not found:
        return None
    for one, following in itertools.pairwise(found):
        assert one.rev == following.base
    return found[0].base, found[-1].rev


def test_what_the_ring_holds_leads_on_from_any_revision_that_was_sent() -> None:
    ring = filled(10)
    assert [revs(ring.since(rev)) for rev in (1, 2, 10)] == [(1, 11), (2, 11), (10, 11)]
    assert [ring.since(rev) for rev in (0, 11, 12)] == [None, None, None]


def test_nothing_leads_on_from_within_a_joined_step() -> None:
    ring = filled(2)
    ring.keep(change(3, 9))
    ring.keep(change(9, 10))
    assert revs(ring.since(3)) == (3, 10)
    assert [ring.since(rev) for rev in (4, 8)] == [None, None]


def test_a_step_that_changed_no_revision_is_told_to_who_stood_before_it() -> None:
    ring = filled(2)
    ring.keep(change(3, 3))
    ring.keep(change(3, 4))
    assert revs(ring.since(2)) == (2, 4)
    assert revs(ring.since(3)) == (3, 4)


def test_the_ring_keeps_the_newest_4096_revisions() -> None:
    ring = filled(4_096)
    assert revs(ring.since(1)) == (1, 4_097)
    ring.keep(change(4_097, 4_098))
    assert ring.since(1) is None
    assert revs(ring.since(2)) == (2, 4_098)
    ring.keep(change(4_098, 8_194))
    assert ring.since(4_097) is None
    assert revs(ring.since(4_098)) == (4_098, 8_194)


def test_a_step_larger_than_the_ring_leaves_nothing_to_resume_from() -> None:
    ring = filled(3)
    ring.keep(change(4, 5_000))
    assert (ring.size, ring.since(4)) == (0, None)
    ring.keep(change(5_000, 5_001, 9 << 20))
    assert (ring.size, ring.since(5_000)) == (0, None)


def test_the_ring_keeps_the_newest_8_mib() -> None:
    ring = filled(8, 1 << 20)
    assert revs(ring.since(1)) == (1, 9)
    ring.keep(change(9, 10))
    assert ring.size <= 8 << 20
    assert ring.since(1) is None
    assert revs(ring.since(2)) == (2, 10)


def test_what_nobody_encoded_counts_by_what_it_says() -> None:
    ring = filled(0)
    for rev in range(1, 100):
        ring.keep(change(rev, rev + 1, None, replacement={"content": [{"text": "x" * 1_000_000}]}))
    assert 7 << 20 < ring.size <= 8 << 20
    assert ring.since(90) is None
    assert revs(ring.since(93)) == (93, 100)


def test_all_rings_together_keep_64_mib() -> None:
    budget = RingBudget()
    rings = [filled(8, 1 << 20, budget) for _ in range(20)]
    assert sum(ring.size for ring in rings) <= 64 << 20
    # The fullest give way, so that one busy session does not cost all others theirs.
    assert min(ring.size for ring in rings) >= 2 << 20
    budget.leave(rings.pop())
    small = filled(3, 10, budget)
    rings[0].keep(change(9, 10, 1 << 20))
    assert revs(small.since(1)) == (1, 4)


# Joining -------------------------------------------------------------------------------------


class Ear(OnlyListens):
    """Keeps what it is told, and insists on its being contiguous."""

    def __init__(self) -> None:
        self.steps: list[SessionChange] = []

    def session_changed(self, change: SessionChange) -> None:
        assert not self.steps or self.steps[-1].rev == change.base
        self.steps.append(change)

    def session_reset(self, session: str, reason: str) -> None:
        raise AssertionError(reason)


class Speaker:
    """An announcer whose clock is wound by hand, one that listens, and how to speak."""

    def __init__(self) -> None:
        self.now = 0.0
        self.news = Announcer("s", lambda: "e", lambda: self.now, RingBudget())
        self.ear = Ear()
        self.news.subscribe(self.ear)
        self.said = 0

    def say(self, times: int, text: str = "") -> None:
        for _ in range(times):
            self.said += 1
            details = {"number": self.said, "text": text}
            self.news.tell([Change("append", ME, (), details)], f"leaf {self.said}", None)

    @property
    def heard(self) -> list[int]:
        return [one.details["number"] for step in self.ear.steps for one in step.changes]

    def check(self) -> None:
        """Everything was told, once, in order, and the last state too."""
        assert self.heard == list(range(1, self.said + 1))
        assert (self.ear.steps[0].base, self.ear.steps[-1].rev) == (1, self.said + 1)
        assert self.ear.steps[-1].leaf == f"leaf {self.said}"


def test_a_calm_session_is_told_of_at_once() -> None:
    speaker = Speaker()
    for _ in range(200):
        speaker.say(1)
        speaker.check()
        speaker.now += JOIN_SECONDS / CALM + 0.001
    assert len(speaker.ear.steps) == 200


async def test_a_storm_is_joined_and_its_last_state_told() -> None:
    speaker = Speaker()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(speaker.news.run)
        speaker.say(300)
        assert len(speaker.ear.steps) == CALM
        with anyio.fail_after(JOIN_SECONDS * 20):
            while len(speaker.ear.steps) == CALM:
                await anyio.sleep(JOIN_SECONDS / 10)
        speaker.check()
        assert len(speaker.ear.steps) == CALM + 1
        speaker.now += 1
        speaker.say(1)
        speaker.check()
        assert len(speaker.ear.steps) == CALM + 2
        tasks.cancel_scope.cancel()


async def test_what_is_joined_is_not_held_back_for_longer_while_more_comes() -> None:
    speaker = Speaker()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(speaker.news.run)
        began = anyio.current_time()
        while len(speaker.ear.steps) < CALM + 3:
            speaker.say(1)
            await anyio.sleep(0.001)
        assert anyio.current_time() - began < 5 * 3 * JOIN_SECONDS
        speaker.news.flush()
        speaker.check()
        tasks.cancel_scope.cancel()


def test_what_is_joined_is_bounded_by_number_and_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    speaker = Speaker()
    speaker.say(CALM + 600)
    assert max(len(step.changes) for step in speaker.ear.steps) == announcing.JOINED_AT_MOST
    speaker.say(100, "x" * 300_000)
    speaker.news.flush()
    speaker.check()
    assert max(len(step.changes) for step in speaker.ear.steps[CALM + 1 :]) <= 512
    large = [len(step.changes) for step in speaker.ear.steps[CALM + 2 :]]
    assert max(large) <= 3
    assert sum(large) >= 90


def test_who_subscribes_in_a_storm_is_told_of_what_follows_alone() -> None:
    speaker = Speaker()
    speaker.say(100)
    assert len(speaker.heard) == CALM
    newcomer = Ear()
    speaker.news.subscribe(newcomer)
    speaker.check()
    speaker.say(1)
    speaker.news.flush()
    assert [(step.base, step.rev) for step in newcomer.steps] == [(101, 102)]


def test_who_resumes_in_a_storm_is_given_all_that_happened() -> None:
    speaker = Speaker()
    speaker.say(100)
    assert revs(speaker.news.since("e", 10)) == (10, 101)
    speaker.check()
    assert speaker.news.since("e", 101) == []
    assert speaker.news.since("e", 102) is None
    assert speaker.news.since("other", 101) is None
    assert speaker.news.since("other", 1) is None


async def test_the_snapshot_stands_between_what_was_told_and_what_will_be(house: House) -> None:
    session = await house.opened(*TALK)
    first = Listener(session)
    second: Listener | None = None
    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(lambda: session.append([user("more")], origin=ME))
            if number % 10 == 0:
                await anyio.sleep(0)
                # A listener fails where its snapshot and what it is told do not meet.
                second = Listener(session)
    first.settle()
    assert second is not None
    assert first.rev == second.rev == session.rev == 101
    assert first.leaf == second.leaf == session.leaf
    snapshot = session.snapshot((session.epoch, 1))
    assert snapshot.missed is not None
    assert revs(list(snapshot.missed)) == (1, 101)


@pytest.mark.parametrize("store", ["jsonl", "memory"])
async def test_sync_tells_what_was_written_before_it_by_anyone(house: House, store: Any) -> None:
    session = await house.create(store)
    await session.append(TALK, origin=ME)
    listener = Listener(session)
    rev = session.rev
    for _ in range(40):
        await session.append([user("more")], origin=ME)
    leaf = session.leaf
    foreign(session, user("by pi", "x1", str(leaf)), answer("indeed", "x2", "x1"))
    await session.catch_up()
    assert listener.rev == session.rev == rev + 42
    assert (listener.leaf, len(listener.heard)) == ("x2", 41)


# What entries say of others ------------------------------------------------------------------


async def test_labels_and_names_are_told_however_they_come(house: House) -> None:
    session = await house.opened(*TALK)
    listener = Listener(session)
    naming = entry("session_info", name="by a client")
    await session.append([entry("label", targetId="u1", label="one"), naming], origin=ME)
    foreign(
        session,
        label("l1", str(session.leaf), "a1", "two"),
        label("l2", "l1", "u1", None),
        label("l3", "l2", "nowhere", "x"),
        entry("session_info", "n1", "l3", name="by pi"),
    )
    await session.look()
    told = [(one.kind, one.details) for one in listener.heard if one.kind in ("label", "rename")]
    assert told == [
        ("label", {"target": "u1", "label": "one"}),
        ("rename", {"name": "by a client"}),
        ("label", {"target": "a1", "label": "two"}),
        ("label", {"target": "u1", "label": None}),
        ("rename", {"name": "by pi"}),
    ]
    assert session.rev == listener.rev == 7


# Two windows ---------------------------------------------------------------------------------


async def test_who_comes_second_is_told_where_the_leaf_is_stored(house: House) -> None:
    session = await house.opened(*TALK)
    refused: list[LeafMoved] = []
    won: list[tuple[Any, int]] = []

    async def append() -> None:
        try:
            done = await session.append([user("mine")], origin=ME, base_leaf="a1")
            won.append((done.leaf, done.rev))
        except LeafMoved as moved:
            refused.append(moved)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(append)
    assert [(moved.leaf, moved.rev) for moved in refused] == won * 4


async def test_nobody_is_second_to_what_could_not_be_stored(house: House) -> None:
    session = await house.opened(*TALK)
    outcomes: list[object] = []

    async def append(text: str) -> None:
        try:
            await session.append([user(text)], origin=ME, base_leaf="a1")
            outcomes.append(text)
        except (Degraded, LeafMoved) as error:
            outcomes.append(type(error))

    house.files.fail("write", errno.ENOSPC)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(append, "first")
        tasks.start_soon(append, "second")
    assert outcomes == [Degraded, "second"]


# Who may write -------------------------------------------------------------------------------


@asynccontextmanager
async def claiming(folder: Path, label: str) -> AsyncIterator[House]:
    """A service that shares its state folder with others."""
    hand = HandClock()
    hand.surroundings = replace(
        hand.surroundings, claims=FolderClaims(str(folder / "claims"), label)
    )
    async with service(folder, hand=hand) as house:
        yield house


CLAIMING: Final = """
import sys
from pisessiond.storage.claims import FolderClaims
held = FolderClaims(sys.argv[1], "process there").claim(sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def other_process(folder: Path, path: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process of ours that writes to the file."""
    command = [sys.executable, "-c", CLAIMING, str(folder / "claims"), path]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


@pytest.mark.slow
async def test_a_process_that_dies_gives_its_claims_back(tmp_path: Path) -> None:
    async with claiming(tmp_path, "process here") as house:
        session = await house.opened(*TALK)
        with other_process(tmp_path, str(session.path)) as process:
            with pytest.raises(ReadOnly) as refused:
                await session.append([user("x")], origin=ME)
            assert refused.value.owner == "process there"
            # Reading goes on.
            assert (await session.context_size()).tokens > 0
            process.kill()
            process.wait()
            await session.append([user("x")], origin=ME)


async def test_of_two_daemons_on_one_file_the_first_writer_writes(tmp_path: Path) -> None:
    async with claiming(tmp_path, "one") as one, claiming(tmp_path, "two") as two:
        first = await one.opened(*TALK)
        second = await two.open(Path(str(first.path)))
        await second.look()
        await first.append([user("mine", "m1", "a1")], origin=ME)
        acts: list[Callable[[], Awaitable[object]]] = [
            lambda: second.append([user("x")], origin=OTHER),
            lambda: second.label("u1", "x", origin=OTHER),
            lambda: second.navigate("u1", label="x", origin=OTHER),
        ]
        for act in acts:
            with pytest.raises(ReadOnly) as refused:
                await act()
            assert refused.value.owner == "one"
        await second.look()
        assert second.leaf == "m1"
        one.sessions.forget(first)
        await first.ended.wait()
        await second.append([user("theirs")], origin=OTHER)


async def test_who_opens_what_is_just_leaving_may_write(tmp_path: Path) -> None:
    async with claiming(tmp_path, "one") as house:
        session = await house.opened(*TALK)
        for _ in range(20):
            await session.append([user("mine")], origin=ME)
            house.sessions.forget(session)
            session = await house.open(Path(str(session.path)))
        assert session.rev == 1
        await session.append([user("mine")], origin=ME)


def test_a_claim_is_held_by_one_and_given_back_once(tmp_path: Path) -> None:
    one, two = (FolderClaims(str(tmp_path / "claims"), name) for name in ("one", "two"))
    held = one.claim("/a")
    with pytest.raises(Claimed) as refused:
        two.claim("/a")
    assert refused.value.owner == "one"
    two.claim("/b").release()
    held.release()
    held.release()
    two.claim("/a").release()
    (first, second) = (tmp_path / "claims").iterdir()
    assert {first.stat().st_mode & 0o777, second.stat().st_mode & 0o777} == {0o600}
    assert (tmp_path / "claims").stat().st_mode & 0o777 == 0o700


# What takes long -----------------------------------------------------------------------------


class Slow:
    """Lets the reading of a file's lines wait in its worker until it is told to go on."""

    def __init__(self, house: House, session: OpenSession) -> None:
        self.reached = threading.Event()
        self._go_on = threading.Event()
        house.files.before("pread", self._wait)

    def _wait(self) -> None:
        self.reached.set()
        assert self._go_on.wait(20)

    async def arrived(self) -> None:
        assert await anyio.to_thread.run_sync(self.reached.wait, 20)

    def go_on(self) -> None:
        self._go_on.set()


def files_in(house: House) -> list[str]:
    return sorted(os.listdir(house.sessions_folder))


async def test_a_second_long_operation_is_told_who_is_at_it(house: House) -> None:
    session = await house.opened(*TALK)
    await session.context_size()
    slow = Slow(house, session)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: session.fork(None, position=None, cwd=None, origin=ME))
        await slow.arrived()
        acts: list[Callable[[], Awaitable[object]]] = [
            lambda: session.fork("u1", position="at", cwd=None, origin=OTHER),
            lambda: session.clone(origin=OTHER),
        ]
        for act in acts:
            with pytest.raises(Busy) as busy:
                await act()
            assert (busy.value.operation, busy.value.client) == ("fork", ME.client)
        # Everything else goes on.
        await session.append([user("meanwhile")], origin=OTHER)
        assert not session.is_idle
        slow.go_on()
    assert len(files_in(house)) == 2
    await session.fork(None, position=None, cwd=None, origin=OTHER)


async def test_a_cancelled_fork_ends_at_once_and_leaves_no_file(house: House) -> None:
    session = await house.opened(*TALK)
    await session.context_size()
    listener = Listener(session)
    before = (files_in(house), session.rev)
    slow = Slow(house, session)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: session.fork(None, position=None, cwd=None, origin=ME))
        await slow.arrived()
        tasks.cancel_scope.cancel()
    # The worker still waits, and yet the slot is free.
    await session.append([user("meanwhile")], origin=OTHER)
    with session.operations.hold("fork", OTHER, is_told=False):
        pass
    slow.go_on()
    assert (files_in(house), session.rev - 1) == before
    assert [one.kind for one in listener.heard] == ["append"]
    assert house.sessions.open_sessions == [session]


# Leaving memory ------------------------------------------------------------------------------


@pytest.fixture
async def wound(
    tmp_path: Path, anyio_backend: str
) -> AsyncIterator[tuple[House, Callable[[float], None]]]:
    """A service, and how to let so many seconds pass."""
    now = 0.0

    def wind(seconds: float) -> None:
        nonlocal now
        now += seconds

    hand = HandClock()
    hand.surroundings = replace(hand.surroundings, monotonic=lambda: now)
    async with service(tmp_path, hand=hand) as house:
        yield house, wind


Wound = tuple[House, Callable[[float], None]]


async def at_rest(session: OpenSession) -> None:
    """Wait until nothing is read any more of a session that was opened."""
    await session.sized()
    with anyio.fail_after(5):
        while not session.is_idle:
            await anyio.sleep(0)


def is_held(house: House, session: OpenSession) -> bool:
    house.sessions.make_room()
    return session in house.sessions.open_sessions


async def test_a_session_leaves_ten_minutes_after_it_was_last_used(wound: Wound) -> None:
    house, wind = wound
    session = await house.opened(*TALK)
    await session.sized()
    wind(599)
    assert is_held(house, session)
    house.sessions.get(session.handle)
    wind(599)
    assert is_held(house, session)
    wind(1)
    assert not is_held(house, session)
    with pytest.raises(SessionNotFound):
        house.sessions.get(session.handle)
    again = await house.open(Path(str(session.path)))
    assert (again.handle, again.leaf) == (session.handle, "a1")
    assert again.epoch != session.epoch


async def test_a_session_leaves_ten_minutes_after_its_last_subscriber(wound: Wound) -> None:
    house, wind = wound
    session = await house.opened(*TALK)
    await session.sized()
    listener = Listener(session)
    wind(7_200)
    assert is_held(house, session)
    session.unsubscribe(listener)
    wind(599)
    assert is_held(house, session)
    wind(1)
    assert not is_held(house, session)


async def test_what_is_at_work_or_nowhere_else_stays(wound: Wound) -> None:
    house, wind = wound
    session = await house.opened(*TALK)
    unsaved = await house.create()
    memory = await house.create("memory")
    await unsaved.append([user("not on disk")], origin=ME)
    await session.sized()
    slow = Slow(house, session)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: session.fork(None, position=None, cwd=None, origin=ME))
        await slow.arrived()
        wind(7_200)
        assert is_held(house, session)
        slow.go_on()
    assert is_held(house, unsaved)
    assert is_held(house, memory)


async def test_beyond_the_budget_those_leave_that_were_not_used_longest(wound: Wound) -> None:
    house, wind = wound
    opened = []
    for number in range(4):
        opened.append(await house.opened(*TALK, name=f"s{number}"))
        await at_rest(opened[-1])
        wind(1)
    house.sessions.get(opened[0].handle)
    listener = Listener(opened[1])
    house.sessions._budget = sum(session.weight for session in opened)
    assert all(is_held(house, session) for session in opened)
    house.sessions._budget -= 1
    assert [is_held(house, session) for session in opened] == [True, True, False, True]
    house.sessions._budget = 0
    assert [is_held(house, session) for session in opened] == [False, True, False, False]
    assert listener.resets == []


async def test_no_more_files_are_held_open_than_systems_allow(
    wound: Wound, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, wind = wound
    monkeypatch.setattr(sessions_module, "HELD_AT_MOST", 3)
    opened = []
    for number in range(5):
        opened.append(await house.opened(*TALK, name=f"s{number}"))
        await at_rest(opened[-1])
        wind(1)
    assert [session in house.sessions.open_sessions for session in opened] == [False] * 2 + [
        True
    ] * 3


async def test_who_leaves_memory_is_freed_without_the_collector(house: House) -> None:
    session = await house.opened(*TALK)
    await session.context_size()
    await session.append([user("more")], origin=ME)
    ended = session.ended
    left = weakref.ref(session), weakref.ref(session.session), weakref.ref(session.session.index)
    house.sessions.forget(session)
    gc.disable()
    try:
        del session
        await ended.wait()
        # A worker that was left in the middle of a question holds the session until it ends.
        await until(lambda: [one() for one in left] == [None] * 3)
    finally:
        gc.enable()
