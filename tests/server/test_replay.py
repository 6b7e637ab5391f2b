"""The table of repeated requests."""

from __future__ import annotations

import anyio
import pytest

from pisessiond.protocol.errors import RpcError
from pisessiond.server import replay
from pisessiond.server.envelope import RawJson
from pisessiond.server.replay import Replays

pytestmark = pytest.mark.anyio


class Acts:
    """Counts how often it is carried out; the clock is wound by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.done = 0
        self.fail = False
        self.held = anyio.Event()
        self.held.set()
        self.replays = Replays(lambda: self.now)

    async def act(self) -> RawJson:
        await self.held.wait()
        if self.fail:
            raise ValueError
        self.done += 1
        return RawJson(b"%d" % self.done)

    async def ask(self, name: str = "r", params: bytes = b"{}") -> bytes:
        return (await self.replays.run(("client", name), "m", params, self.act)).data


async def test_the_answer_holds_for_ten_minutes() -> None:
    acts = Acts()
    assert await acts.ask() == b"1"
    acts.now = 599
    assert await acts.ask() == b"1"
    acts.now = 601
    assert await acts.ask() == b"2"


async def test_what_failed_is_tried_again() -> None:
    acts = Acts()
    acts.fail = True
    with pytest.raises(ValueError):
        await acts.ask()
    acts.fail = False
    assert await acts.ask() == b"1"


async def test_a_repetition_waits_for_the_first_to_end() -> None:
    acts = Acts()
    acts.held = anyio.Event()
    answers: list[bytes] = []

    async def ask() -> None:
        answers.append(await acts.ask())

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        acts.held.set()
    assert answers == [b"1", b"1", b"1"]


async def test_another_request_under_the_same_key_is_refused() -> None:
    acts = Acts()
    await acts.ask()
    with pytest.raises(RpcError):
        await acts.ask(params=b"[]")


async def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "KEPT_COUNT", 10)
    acts = Acts()
    for number in range(50):
        await acts.ask(str(number))
    assert len(acts.replays._kept) == 10
    assert acts.replays._bytes == 20
    assert await acts.ask("49") == b"50"
