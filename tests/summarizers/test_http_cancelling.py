"""Cancelling at every moment: the server sees its client leave within half a second."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable

import anyio
import pytest

from pisessiond.models.endpoints import Api
from tests.summarizers.support import APIS, Desk, desk
from tests.support.model_replies import Pause, Reply, Stall, fails, says

pytestmark = pytest.mark.anyio

SOON = 0.5
"""Seconds within which the stream has to be closed."""


def halting(text: str) -> Reply:
    return says(text, pieces=2).ended_after(text[: len(text) // 2], Stall())


async def headers_are_awaited(one: Desk) -> None:
    await one.server.until(1)


async def text_came(one: Desk) -> None:
    while not one.received:
        await asyncio.sleep(0.005)


async def drips(one: Desk) -> None:
    await text_came(one)


MOMENTS: list[tuple[Reply, Callable[[Desk], Awaitable[None]]]] = [
    (says("x").after(Stall()), headers_are_awaited),
    (halting("Half of it"), text_came),
    (says("y" * 900, pieces=300).in_pieces(60, pause=0.01), drips),
    (Reply([Stall()], 500), headers_are_awaited),
    (Reply([b'{"half', Stall()]), headers_are_awaited),
]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("reply", "moment"), MOMENTS)
@pytest.mark.parametrize("by_scope", [False, True])
async def test_a_cancelled_call_leaves_the_server(
    api: Api, reply: Reply, moment: Callable[[Desk], Awaitable[None]], by_scope: bool
) -> None:
    async with desk(api, reply, real_time=True) as one:
        left, returned = await cancelled(one, moment, by_scope=by_scope)
        assert left < SOON
        assert returned < SOON
        assert len(one.server.requests) == 1
        # And the next call is none the worse for it.
        one.server.script = says("Done.")
        assert (await one.write()).text == "Done."


async def cancelled(
    one: Desk, moment: Callable[[Desk], Awaitable[None]], *, by_scope: bool
) -> tuple[float, float]:
    """Seconds from cancelling until the server saw it, and until the call had ended."""
    scope = anyio.CancelScope()

    async def write() -> None:
        with scope:
            await one.write()

    task = asyncio.create_task(write())
    await asyncio.wait_for(moment(one), 10)
    start = time.monotonic()
    if by_scope:
        scope.cancel()
    else:
        task.cancel()
    await asyncio.wait({task}, timeout=10)
    returned = time.monotonic()
    assert task.done()
    assert task.cancelled() != by_scope
    return await one.server.requests[0].until_gone() - start, returned - start


@pytest.mark.parametrize("api", APIS)
async def test_a_call_that_waits_for_its_next_try_ends_at_once(api: Api) -> None:
    busy = fails(529, "overloaded_error", "Overloaded", retry_after="30")
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await anyio.sleep(seconds)

    async with desk(api, busy) as one:
        one.clock.sleep = sleep  # type: ignore[method-assign]
        task = asyncio.create_task(one.write())
        await asyncio.wait_for(waiting.wait(), 10)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - start < SOON
        assert len(one.server.requests) == 1


@pytest.mark.parametrize("api", APIS)
async def test_a_call_that_waits_for_a_connection_ends_at_once(api: Api) -> None:
    # Its queue of connections is full, so that the system answers no further one.
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        place = deaf.getsockname()
        with socket.create_connection(place):
            async with desk(api, says("x"), real_time=True) as one:
                one.more = {"base_url": f"http://127.0.0.1:{place[1]}"}
                with anyio.move_on_after(0.3) as scope:
                    await one.write()
                assert scope.cancelled_caught
                assert anyio.current_time() - scope.deadline < SOON


@pytest.mark.parametrize("moments", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55])
async def test_a_call_may_be_cancelled_after_any_step_of_the_loop(moments: int) -> None:
    async with desk("openai-completions", says("x").after(Pause(0.5)), real_time=True) as one:
        task = asyncio.create_task(one.write())
        for _ in range(moments):
            await asyncio.sleep(0)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - start < SOON
        for request in one.server.requests:
            assert await request.until_gone() - start < SOON
        one.server.script = says("Done.")
        assert (await one.write()).text == "Done."


async def test_one_cancelled_call_leaves_the_others() -> None:
    replies = {0: halting("Half of it")}
    async with desk("openai-completions", says("x")) as one:
        one.server.script = lambda request: replies.get(
            request.number, says("Done.", pieces=3).in_pieces(50, pause=0.02)
        )
        cut = asyncio.create_task(one.write())
        await one.server.until(1)
        others = [asyncio.create_task(one.write()) for _ in range(3)]
        await one.server.until(4)
        cut.cancel()
        assert [(await other).text for other in others] == ["Done."] * 3
        assert cut.cancelled()
