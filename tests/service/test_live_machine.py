"""Random comings and goings of several pi, beside a simple model of who may write."""

from __future__ import annotations

import random
from pathlib import Path

import anyio
import pytest

from pisessiond.service.errors import (
    AmbiguousOwner,
    LeafMoved,
    PiBusy,
    SessionChanged,
    Unsupported,
)
from pisessiond.service.live import session_live
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import Origin
from tests.support.live import Attachment, Terminals, ids, terminals, until
from tests.support.scripted_pi import ScriptedPi
from tests.support.service import House, answer, foreign, in_file, user

pytestmark = pytest.mark.anyio

FILE = (
    user("first", "a"),
    answer("one", "b", "a"),
    user("more", "c", "b"),
    answer("two", "d", "c"),
)
STEPS = 60


class Machine:
    """Some pi, one session, one client; and who wrote each line of the file."""

    def __init__(self, house: House, pis: Terminals, session: OpenSession, seed: int) -> None:
        self.house = house
        self.pis = pis
        self.session = session
        self.path = Path(session.path or "")
        self.chance = random.Random(seed)
        self.open: list[Attachment] = []
        self.survivors: set[int] = set()
        self.ours = 0
        """Lines that the daemon may have written: those of its own acts while no pi was there."""
        self.foreign = 0
        self.count = 0

    @property
    def lines(self) -> int:
        return len(in_file(self.session))

    async def step(self) -> None:
        acts = [self.starts, self.says, self.says, self.moves, self.client_acts, self.client_acts]
        acts += [self.detaches, self.dies, self.reconnects, self.reloads, self.works, self.others]
        await self.chance.choice(acts)()
        await self.settles()
        self.check()

    async def starts(self) -> None:
        if len(self.open) < 3:
            pi = ScriptedPi(self.path)
            self.open.append(await self.pis.start(pi))

    async def says(self) -> None:
        if one := self.some():
            one.pi.says(self.chance.choice(["user", "assistant"]), f"said {self.next()}")
            await one.pi.tell_change()

    async def moves(self) -> None:
        if one := self.some():
            one.pi.leaf = self.chance.choice(one.pi.entries)["id"]
            await one.pi.tell_change()

    async def works(self) -> None:
        if one := self.some():
            one.pi.operation = self.chance.choice([None, "turn"])
            await one.pi.tell_state()

    async def client_acts(self) -> None:
        named = self.some() if self.chance.random() < 0.5 else None
        origin = Origin("editor", "client-1", through=named.pi.pid if named else None)
        before, asked = self.lines, sum(len(one.pi.asked) for one in self.open)
        target = self.chance.choice(ids(self.session))
        base = self.session.leaf
        try:
            match self.chance.choice(["append", "navigate", "label", "compare"]):
                case "append":
                    await self.session.append([user(f"client {self.next()}")], origin=origin)
                case "navigate":
                    await self.session.navigate(target, origin=origin)
                case "label":
                    await self.session.label(target, f"l{self.next()}", origin=origin)
                case _:
                    text = [user(f"client {self.next()}")]
                    await self.session.append(text, origin=origin, base_leaf=base)
        except AmbiguousOwner:
            assert named is None
            assert len(self.open) > 1
        except PiBusy:
            assert any(not one.pi.is_idle for one in self.open)
        except (LeafMoved, Unsupported, SessionChanged):
            assert self.open
        else:
            if not self.open:
                self.ours += self.lines - before
            elif len(self.open) > 1:
                assert named is not None
        if not self.open:
            assert sum(len(one.pi.asked) for one in self.open) == asked

    async def detaches(self) -> None:
        if one := self.some():
            self.open.remove(one)
            await one.detach()

    async def dies(self) -> None:
        if one := self.some():
            self.open.remove(one)
            one.cut()

    async def reconnects(self) -> None:
        if one := self.some():
            self.pis.survivors(one.pi.pid)
            one.cut()
            again = self.pis.connect(one.pi)
            await again.attach("reconnect")
            self.open[self.open.index(one)] = again

    async def reloads(self) -> None:
        if one := self.some():
            await one.detach("reload")
            one.pi.read_file()
            await one.attach("reload")

    async def others(self) -> None:
        leaf = self.session.leaf
        self.foreign += 1
        foreign(self.session, user("of a third", f"f{self.next()}", str(leaf) if leaf else None))
        await self.session.look()

    def some(self) -> Attachment | None:
        return self.chance.choice(self.open) if self.open else None

    def next(self) -> int:
        self.count += 1
        return self.count

    async def settles(self) -> None:
        """Wait until all that was told has been taken in."""
        live = self.session.live
        await until(lambda: live.is_settled and len(live.pis) == len(self.open))
        await self.session.look()
        if len(self.open) == 1:
            await until(lambda: self.session.leaf == self.open[0].pi.leaf)

    def check(self) -> None:
        session, views = self.session, self.session.live.views
        stored = [one["id"] for one in in_file(session)]
        assert ids(session) == stored
        assert {view.pid for view in views} == {one.pi.pid for one in self.open}
        assert [view.owner for view in views] == [len(self.open) == 1] * len(self.open)
        for one in self.open:
            (view,) = [view for view in views if view.pid == one.pi.pid]
            assert view.unseen == len(stored) - len(one.pi.entries)
            assert view.leaf == one.pi.leaf
            assert {entry["id"] for entry in one.pi.entries} <= set(stored)
        own = sum(entry["id"].startswith("p") for entry in in_file(session))
        assert self.lines == len(FILE) + own + self.ours + self.foreign


@pytest.mark.parametrize("seed", range(10))
async def test_nobody_writes_but_the_one_who_may(
    house: House, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_live, "ANNOUNCE_SECONDS", 0.03)
    async with terminals(house) as pis:
        machine = Machine(house, pis, await house.opened(*FILE), seed)
        with anyio.fail_after(50):
            for _ in range(STEPS):
                await machine.step()
