"""Clients that vanish, stall and come back, while they and other programs write: all converge.

Whatever happened, a client that follows the protocol's algorithm ends up with what a newcomer is
given: the tree, the leaf, the labels, the name.
"""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
)

from tests.support.loop import Loop
from tests.support.machines import run_machine
from tests.support.peers import Follower, Json, Peer, Refused, fresh_state
from tests.support.real_daemon import RealDaemon, real_daemon
from tests.support.service import Entry, answer, entry, label, spell, user

pytestmark = pytest.mark.slow

CLIENTS: Final = 3
WHO: Final = st.integers(0, CLIENTS - 1)
PLACES: Final = st.integers(0, 100_000)
"""Which entry: by its number, as ids and how many there are differ from run to run."""
TEXTS: Final = st.sampled_from(["", "one", "two", "ü 🙂"])
TRIES: Final = 5
"""A moved leaf is written down some seconds later, perhaps between two looks."""

_numbers = itertools.count(1)


class Window:
    """One client: a connection or none, and what it knows of the session."""

    def __init__(self, daemon: RealDaemon, path: Path, name: str) -> None:
        self.name = name
        self.follower = Follower(str(path))
        self.is_stalled = False
        self.peer: Peer | None = None
        self._daemon = daemon

    @property
    def can_act(self) -> bool:
        return self.peer is not None and not self.is_stalled

    async def come(self) -> None:
        self.peer = await Peer.connect(self._daemon.socket)
        await self.peer.initialize(self.name)
        self.follower.attach(self.peer)
        await self.follower.keep_up()

    async def vanish(self) -> None:
        assert self.peer is not None
        assert self.peer.strays == []
        await self.peer.drop()
        self.peer, self.is_stalled = None, False

    def stall(self) -> None:
        assert self.peer is not None
        self.peer.stall()
        self.is_stalled = True

    def go_on(self) -> None:
        assert self.peer is not None
        self.peer.go_on()
        self.is_stalled = False

    async def call(self, method: str, **params: Any) -> Json | None:
        """Act on the session; None where the rules refuse."""
        assert self.peer is not None
        await self.follower.keep_up()
        try:
            asked = {"session": self.follower.handle, **params}
            result: Json = await self.peer.call(method, asked)
        except Refused as refused:
            if refused.kind not in {"LeafMoved", "EntryNotFound", "InvalidEntry"}:
                raise
            return None
        return result

    async def sync(self) -> None:
        """Everything written so far is known here when this returns."""
        while True:
            await self.follower.keep_up()
            assert self.peer is not None
            await self.peer.call("session/sync", {"session": self.follower.handle})
            if not self.follower.is_stale:
                return


class SharingMachine(RuleBasedStateMachine):
    daemon: RealDaemon

    def __init__(self) -> None:
        super().__init__()
        self.loop = Loop()
        self.ids: list[Any] = ["u1", "a1"]
        start = [user("hello", "u1"), answer("hi", "a1", "u1")]
        self.path = self.daemon.session_file(f"s{next(_numbers)}", *start)
        self.windows = [Window(self.daemon, self.path, f"window {n}") for n in range(CLIENTS)]

    def teardown(self) -> None:
        try:
            self.loop.run(self.check_all())
        finally:
            for window in self.windows:
                if window.peer is not None:
                    self.loop.run(window.vanish())
            self.loop.close()

    @initialize()
    def all_come(self) -> None:
        for window in self.windows:
            self.loop.run(window.come())

    # Coming and going ----------------------------------------------------------------------

    @rule(who=WHO)
    def vanish(self, who: int) -> None:
        if self.windows[who].peer is not None:
            self.loop.run(self.windows[who].vanish())

    @rule(who=WHO)
    def come_back(self, who: int) -> None:
        if self.windows[who].peer is None:
            self.loop.run(self.windows[who].come())

    @rule(who=WHO)
    def stall_or_go_on(self, who: int) -> None:
        window = self.windows[who]
        if window.is_stalled:
            window.go_on()
        elif window.peer is not None:
            window.stall()

    @rule(who=WHO)
    def sync(self, who: int) -> None:
        if self.windows[who].can_act:
            self.loop.run(self.check(self.windows[who]))

    def at(self, place: int) -> Any:
        return self.ids[place % len(self.ids)]

    # Acts ----------------------------------------------------------------------------------

    def actor(self, who: int) -> Window | None:
        """That client, or another one that can act."""
        able = [window for window in self.windows if window.can_act]
        return self.windows[who] if self.windows[who].can_act else able[0] if able else None

    def act(self, who: int, method: str, **params: Any) -> None:
        actor = self.actor(who)
        if actor is not None and (done := self.loop.run(actor.call(method, **params))) is not None:
            self.ids += done.get("ids", ())

    @rule(who=WHO, count=st.sampled_from([1, 1, 3, 300]), text=TEXTS)
    def append(self, who: int, count: int, text: str) -> None:
        turn = [user(text), answer(text)] if count == 1 else [user(text)] * count
        self.act(who, "session/append", entries=turn)

    @rule(who=WHO, place=PLACES, exact=st.booleans())
    def navigate(self, who: int, place: int, exact: bool) -> None:
        self.act(who, "session/navigate", target=self.at(place), exact=exact)

    @rule(who=WHO, place=PLACES, text=TEXTS)
    def navigate_with_a_label(self, who: int, place: int, text: str) -> None:
        self.act(who, "session/navigate", target=self.at(place), label=text)

    @rule(who=WHO, place=PLACES, text=TEXTS)
    def label(self, who: int, place: int, text: str) -> None:
        self.act(who, "session/label", target=self.at(place), label=text or None)

    @rule(who=WHO, text=TEXTS)
    def rename(self, who: int, text: str) -> None:
        self.act(who, "session/rename", name=text or None)

    @rule(who=WHO, sleeper=WHO)
    def flood(self, who: int, sleeper: int) -> None:
        """More than waits for one who does not read."""
        if self.windows[sleeper].can_act:
            self.windows[sleeper].stall()
        actor = self.actor(who)
        if actor is None:
            return

        async def rename_often() -> None:
            for number in range(25):
                await actor.call("session/rename", name=f"{number} " + "x" * 100_000)

        self.loop.run(rename_often())

    @rule(who=WHO, others=st.lists(WHO, min_size=1, max_size=5), is_bound=st.booleans())
    def all_at_once(self, who: int, others: list[int], is_bound: bool) -> None:
        able = [one for one in map(self.actor, [who, *others]) if one is not None]

        async def together() -> None:
            asked = []
            for number, window in enumerate(able):
                base = {"baseLeaf": window.follower.leaf} if is_bound else {}
                asked.append(window.call("session/append", entries=[user(f"{number}")], **base))
            results = await asyncio.gather(*asked, asyncio.to_thread(self.write_foreign))
            for result in results[:-1]:
                self.ids += result["ids"] if result is not None else ()

        self.loop.run(together())

    # Another program -----------------------------------------------------------------------

    def write(self, *lines: Entry | bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(spell(line) for line in lines))

    def new_id(self) -> str:
        return f"x{next(_numbers)}"

    def write_foreign(self) -> None:
        self.write(label(self.new_id(), "u1", "a1", "at once"))

    @rule(place=PLACES, text=TEXTS)
    def foreign_turn(self, place: int, text: str) -> None:
        one, two = self.new_id(), self.new_id()
        self.write(user(text, one, self.at(place)), answer(text, two, one))
        self.ids += [one, two]

    @rule(place=PLACES, labelled=PLACES, text=st.one_of(st.none(), TEXTS))
    def foreign_label_and_name(self, place: int, labelled: int, text: str | None) -> None:
        one = self.new_id()
        self.write(label(one, self.at(place), self.at(labelled), text))
        self.write(entry("session_info", self.new_id(), one, name=text))

    @rule()
    def foreign_noise(self) -> None:
        self.write(b"{broken\n", b"\n")

    @rule(place=PLACES)
    def foreign_lines_in_the_wrong_order(self, place: int) -> None:
        """What changes older lines' meaning is read anew: another epoch."""
        one, two = self.new_id(), self.new_id()
        self.write(user("lost", two, one), user("found", one, self.at(place)))
        self.ids += [one, two]

    # Agreement -----------------------------------------------------------------------------

    async def check(self, window: Window) -> None:
        """A client that has just synchronised knows what a newcomer is given."""
        for _ in range(TRIES):
            await window.sync()
            expected = await fresh_state(self.daemon.socket, str(self.path))
            await window.sync()
            if window.follower.state() == expected:
                return
        assert window.follower.state() == expected

    async def check_all(self) -> None:
        with anyio.fail_after(60):
            for window in self.windows:
                if window.is_stalled:
                    window.go_on()
                if window.peer is None:
                    await window.come()
                await self.check(window)


@pytest.fixture(scope="module", autouse=True)
def daemon() -> Iterator[RealDaemon]:
    with real_daemon("--flush", "immediate") as started:
        SharingMachine.daemon = started
        yield started
        assert started.is_alive


def run(examples: int, steps: int) -> None:
    run_machine(SharingMachine, examples, steps)


def test_all_clients_converge() -> None:
    run(10, 25)


@pytest.mark.timeout(600)
def test_all_clients_converge_for_long() -> None:
    run(60, 50)
