"""Requests of the daemon to its clients, and that waiting for an answer blocks nothing."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from pisessiond.protocol.methods import ASKED
from pisessiond.protocol.wire import MAX_IN_FLIGHT
from pisessiond.server import asking, held, outbound
from pisessiond.server.connection import Connection
from pisessiond.service.subscribers import Absent
from tests.server.fake_service import SIZE, Gate
from tests.server.support import PATIENCE, Client, Running

pytestmark = pytest.mark.anyio

SUMMARIZE = "session/summarize"
PARAMS = {
    "session": "s",
    "operation_id": "op",
    "kind": "history",
    "system": "You summarise.",
    "prompt": "half \ud83d",
    "max_tokens": 100,
}
ANSWER = {"summary": "text"}


class Asked:
    """Something the daemon has asked, at work."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.answer: dict[str, Any] | None = None
        self.absent: str | None = None
        self.said = ""
        self.scope = anyio.CancelScope()

    async def run(self, connection: Connection, method: str, seconds: float) -> None:
        try:
            with self.scope:
                self.answer = await connection.ask(method, PARAMS, seconds)
        except Absent as absent:
            self.absent = str(absent)
            self.said = absent.said
        self.ended.set()

    async def result(self) -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            await self.ended.wait()
        assert self.answer is not None, self.absent
        return self.answer

    async def gone(self) -> str:
        with anyio.fail_after(PATIENCE):
            await self.ended.wait()
        assert self.absent is not None
        return self.absent


Ask = Callable[..., Asked]


@pytest.fixture
async def ask(daemon: Running) -> AsyncIterator[Ask]:
    """Begins to ask the client that connected last."""
    async with anyio.create_task_group() as tasks:

        def begin(method: str = SUMMARIZE, seconds: float = 600.0) -> Asked:
            asked = Asked()
            tasks.start_soon(asked.run, daemon.connections[-1], method, seconds)
            return asked

        yield begin
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def lender(daemon: Running, *more: str) -> AsyncIterator[Client]:
    async with daemon.client("lender", requests=[SUMMARIZE, *more]) as client:
        yield client


async def request_of(client: Client, method: str = SUMMARIZE) -> str:
    message = await client.receive()
    assert message["method"] == method
    return str(message["id"])


async def test_a_client_is_asked_and_answers(daemon: Running, ask: Ask) -> None:
    async with lender(daemon) as client:
        asked = ask()
        message = await client.receive()
        assert message["method"] == SUMMARIZE
        assert message["params"] == {
            "session": "s",
            "operationId": "op",
            "kind": "history",
            "system": "You summarise.",
            "prompt": "half \ud83d",
            "maxTokens": 100,
        }
        answer = {"summary": "cut \ud83d", "usage": {"input": 1e-7}, "model": None, "more": 1}
        client.send(id=message["id"], result=answer)
        assert await asked.result() == {
            "summary": "cut \ud83d",
            "usage": {"input": 1e-7},
            "model": None,
        }


async def test_answers_are_told_apart_by_their_ids(daemon: Running, ask: Ask) -> None:
    async with lender(daemon) as client:
        first, second = ask(), ask()
        ids = [await request_of(client) for _ in range(2)]
        assert len(set(ids)) == 2
        # Of the client's own requests the same id means something else.
        client.send(id=ids[0], method="daemon/status")
        assert "pid" in (await client.answer(ids[0]))["result"]
        client.send(id=ids[1], result={"summary": "2"})
        client.send(id=ids[0], result={"summary": "1"})
        assert (await first.result(), await second.result()) == ({"summary": "1"}, {"summary": "2"})


async def test_only_what_was_offered_is_asked(daemon: Running) -> None:
    wish = ["session/willCompact", "session/unheardOf", "initialize"]
    async with daemon.client(requests=wish) as client:
        (connection,) = daemon.connections
        offered = [method for method in (*ASKED, *wish) if connection.offers(method)]
        assert set(offered) == {"session/willCompact"}
        with pytest.raises(Absent):
            await connection.ask(SUMMARIZE, PARAMS, 1)
        await client.call("shutdown")
        assert not connection.offers("session/willCompact")
    async with daemon.fresh() as client:
        await client.call("initialize", {"capabilities": {}})
        assert not daemon.connections[-1].offers("session/willCompact")


async def test_a_preparation_of_the_service_is_asked_as_the_wire_spells_it(
    daemon: Running,
) -> None:
    session = daemon.session()
    async with daemon.client(requests=["session/willCompact", "session/willNavigate"]) as client:
        (connection,) = daemon.connections
        common = {"session": "s", "operation_id": "op"}
        cut = await session.prepare_compaction()
        compaction = {**common, "reason": "manual", "preparation": cut}
        way = await session.preview_move(None, exact=True, summarizer=None)
        move = {**common, "target": None, "summarize": True, "preparation": way}
        answers: list[dict[str, Any]] = []

        async def run(method: str, params: dict[str, Any]) -> None:
            answers.append(await connection.ask(method, params, 5))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "session/willCompact", compaction)
            message = await client.receive()
            assert message["params"]["preparation"]["firstKept"] == "k"
            # What a handler that returns nothing answers.
            client.send(id=message["id"], result=None)
            tasks.start_soon(run, "session/willNavigate", move)
            message = await client.receive()
            assert message["params"]["target"] is None
            assert message["params"]["preparation"]["sizeNow"]["tokens"] == SIZE.tokens
            client.send(id=message["id"], result={"customInstructions": "be short"})
        assert answers == [{}, {"custom_instructions": "be short"}]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"code": -32803, "message": "The quota is\n used up."}, "The quota is used up."),
        ({"code": -32803, "message": "x" * 400}, "x" * 199 + "…"),
        ({"code": -32803, "message": 5}, ""),
        ("broken", ""),
    ],
)
async def test_the_reason_a_client_gives_is_told_in_one_line(
    daemon: Running, ask: Ask, error: Any, said: str
) -> None:
    async with lender(daemon) as client:
        asked = ask()
        client.send(id=await request_of(client), error=error)
        await asked.gone()
        assert asked.said == said


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32601, "message": "secret"}},
        {"error": "secret"},
        {"result": None},
        {"result": "secret"},
        {"result": ["secret"]},
        {"result": {}},
        {"result": {"summary": 5}},
        {"result": {"summary": "secret", "usage": "secret"}},
    ],
)
async def test_an_answer_that_is_none_counts_as_absent_and_is_logged_without_words(
    daemon: Running, ask: Ask, answer: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with lender(daemon) as client:
        asked = ask()
        with caplog.at_level(logging.INFO):
            client.send(id=await request_of(client), **answer)
            assert "answered" in await asked.gone()
        assert SUMMARIZE in caplog.text
        assert "secret" not in caplog.text
        again = ask()
        client.send(id=await request_of(client), result=ANSWER)
        assert await again.result() == ANSWER


async def test_answers_that_nobody_waits_for_mean_nothing(daemon: Running) -> None:
    async with lender(daemon) as client:
        for request_id in ("pd:1", "pd:999", "pd:", "x", 5):
            client.send(id=request_id, result=ANSWER)
        client.send_body(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}')
        assert "pid" in await client.call("daemon/status")


async def cancelled(client: Client, request_id: str) -> None:
    message = await client.receive()
    assert message["method"] == "$/cancelRequest"
    assert "id" not in message
    assert message["params"] == {"id": request_id}


async def test_who_is_too_slow_is_absent_and_told_so(
    daemon: Running, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lender(daemon) as client:
        asked = ask(seconds=0.01)
        request_id = await request_of(client)
        await asked.gone()
        await cancelled(client, request_id)
        client.send(id=request_id, result=ANSWER)
        # The table's time holds also where more is asked for.
        monkeypatch.setattr(asking, "ASKED", {SUMMARIZE: _hasty()})
        asked = ask(seconds=600)
        request_id = await request_of(client)
        await asked.gone()
        await cancelled(client, request_id)


def _hasty() -> Any:
    from dataclasses import replace

    return replace(ASKED[SUMMARIZE], seconds=0.01)


async def test_cancelling_takes_the_request_back(daemon: Running, ask: Ask) -> None:
    async with lender(daemon) as client:
        asked = ask()
        request_id = await request_of(client)
        asked.scope.cancel()
        await cancelled(client, request_id)
        await asked.ended.wait()
        assert (asked.answer, asked.absent) == (None, None)


@pytest.mark.parametrize("how", ["abort", "exit", "half", "broken"])
async def test_who_leaves_is_absent_at_once(daemon: Running, ask: Ask, how: str) -> None:
    gate = daemon.session().reading = Gate()
    async with daemon.client("other") as other, lender(daemon) as client:
        asked = ask()
        await request_of(client)
        if how == "abort":
            client.writer.transport.abort()
        elif how == "exit":
            client.send(method="exit")
        elif how == "half":
            # It still waits for an answer of its own, but can give none.
            client.send(id="r", method="session/entries", params={"session": "s"})
            await gate.reached.wait()
            client.writer.write_eof()
        else:
            client.send_raw(b"Content-Length: x\r\n\r\n")
        await asked.gone()
        if how == "half":
            gate.open.set()
            assert "result" in await client.answer("r")
        if how == "broken":
            assert (await client.receive())["error"]["code"] == -32600
        await other.call("daemon/status")


async def test_the_end_of_the_daemon_ends_the_waiting(daemon: Running, ask: Ask) -> None:
    async with lender(daemon) as client:
        asked = ask()
        await request_of(client)
        daemon.daemon.state.stop("signal")
        await asked.gone()
        assert (await client.receive())["method"] == "daemon/stopping"
        await client.closed()


async def test_only_so_many_are_unanswered_at_once(
    daemon: Running, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MAX_ASKED", 2)
    async with lender(daemon) as client:
        first, second, third = ask(), ask(), ask()
        assert "2 requests" in await third.gone()
        for asked in (first, second):
            client.send(id=await request_of(client), result=ANSWER)
            await asked.result()
        fourth = ask()
        client.send(id=await request_of(client), result=ANSWER)
        await fourth.result()


async def test_what_is_larger_than_a_message_is_not_asked(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MAX_MESSAGE_BYTES", 100)
    async with lender(daemon):
        with pytest.raises(Absent, match="larger"):
            await daemon.connections[0].ask(SUMMARIZE, PARAMS, 1)


# While a client is asked, reading goes on.

PARKED = [f"p{number}" for number in range(MAX_IN_FLIGHT)]


@asynccontextmanager
async def parked(daemon: Running, client: Client) -> AsyncIterator[Gate]:
    """As many requests at work as may be, and some more that are behind them."""
    await client.call("session/append", {"session": "s", "entry": {"id": "a"}})
    gate = daemon.session().before_commit = Gate()
    for request_id in PARKED:
        client.send(id=request_id, method="session/append", params=_append(request_id))
    (connection,) = [one for one in daemon.connections if one.client.name == "lender"]
    await gate.reached.wait()
    with anyio.fail_after(PATIENCE):
        while connection.requests.running < MAX_IN_FLIGHT:
            await anyio.sleep(0)
    yield gate


def _append(entry: str) -> dict[str, Any]:
    return {"session": "s", "entry": {"id": entry}}


async def _all_answered(client: Client, ids: list[str]) -> None:
    for request_id in ids:
        assert (await client.answer(request_id))["result"]["ids"] == [request_id]


@pytest.mark.parametrize("more_before", [0, 50])
async def test_an_answer_is_reached_behind_all_that_may_be_at_work(
    daemon: Running, ask: Ask, more_before: int
) -> None:
    more = [f"m{number}" for number in range(100)]
    async with lender(daemon) as client, parked(daemon, client) as gate:
        # What is sent before the daemon asks stays unread until then.
        for request_id in more[:more_before]:
            client.send(id=request_id, method="session/append", params=_append(request_id))
        await anyio.wait_all_tasks_blocked()
        asked = ask()
        asking_id = await request_of(client)
        for request_id in more[more_before:]:
            client.send(id=request_id, method="session/append", params=_append(request_id))
        client.send(id=asking_id, result=ANSWER)
        assert await asked.result() == ANSWER
        gate.open.set()
        await _all_answered(client, PARKED + more)
    # None was lost and none overtook another.
    assert list(daemon.session().lines) == ["a", *PARKED, *more]


async def test_what_is_held_is_cancelled_at_once_and_what_is_broken_answered_in_its_turn(
    daemon: Running, ask: Ask
) -> None:
    async with lender(daemon) as client, parked(daemon, client) as gate:
        asked = ask()
        asking_id = await request_of(client)
        client.send(id="held", method="session/append", params=_append("held"))
        client.send(id=7, method="session/append", params=_append("x7"))
        client.send_body(b"no JSON")
        client.send(id="kept", method="session/append", params=_append("kept"))
        client.send(method="$/cancelRequest", params={"id": "held"})
        client.send(method="$/cancelRequest", params={"id": 7})
        client.send(method="$/cancelRequest", params={"id": "nothing"})
        client.send(method="$/cancelRequest", params={"id": PARKED[-1]})
        for cancelled_id in ("held", 7, PARKED[-1]):
            assert (await client.answer(cancelled_id))["error"]["code"] == -32800
        assert client.unread == []
        client.send(id=asking_id, result=ANSWER)
        await asked.result()
        gate.open.set()
        await _all_answered(client, [*PARKED[:-1], "kept"])
        (broken,) = client.unread
        client.unread.clear()
        assert broken["error"]["code"] == -32700
    assert list(daemon.session().lines) == ["a", *PARKED[:-1], "kept"]


async def test_reading_stops_again_once_nothing_is_asked(daemon: Running, ask: Ask) -> None:
    async with lender(daemon) as client, parked(daemon, client) as gate:
        asked = ask()
        client.send(id=await request_of(client), result=ANSWER)
        await asked.result()
        requests = daemon.connections[0].requests
        client.send(id="first", method="session/append", params=_append("first"))
        client.send(id="second", method="session/append", params=_append("second"))
        await anyio.wait_all_tasks_blocked()
        # One may have been on its way already.
        assert len(requests._held) <= 1
        gate.open.set()
        await _all_answered(client, [*PARKED, "first", "second"])


async def test_more_than_may_be_held_ends_the_asking_and_not_the_connection(
    daemon: Running, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "HELD_BYTES", 20_000)
    more = [f"m{number}" for number in range(200)]
    async with lender(daemon) as client, parked(daemon, client) as gate:
        asked = ask()
        asking_id = await request_of(client)
        for request_id in more:
            client.send(id=request_id, method="session/append", params=_append(request_id))
        client.send(id=asking_id, result=ANSWER)
        await asked.gone()
        await cancelled(client, asking_id)
        late = ask()
        late_id = await request_of(client)
        await late.gone()
        await cancelled(client, late_id)
        connection = daemon.connections[0]
        assert connection.requests._held._bytes < 20_000 + 1_000
        gate.open.set()
        await _all_answered(client, PARKED + more)
        again = ask()
        client.send(id=await request_of(client), result=ANSWER)
        assert await again.result() == ANSWER
    assert list(daemon.session().lines) == ["a", *PARKED, *more]


async def test_an_answer_is_reached_also_where_much_waits_to_be_read(
    daemon: Running, ask: Ask
) -> None:
    entry = {"id": "big", "text": "x" * 100_000}
    async with daemon.client("other") as other, lender(daemon) as client:
        await client.call("session/append", {"session": "s", "entry": entry})
        connection = daemon.connections[-1]
        for number in range(600):
            client.send(id=f"r{number}", method="session/entries", params={"session": "s"})
        while connection.outbound.has_room:
            await other.call("daemon/status")
        assert connection.outbound.queued_bytes >= outbound.HARD_BYTES
        asked = ask()
        with anyio.fail_after(PATIENCE):
            while not connection.asking.is_waiting:
                await other.call("daemon/status")
        # It knows the id without having read so far: the test does not wait for the request.
        client.send(id="pd:1", result=ANSWER)
        assert await asked.result() == ANSWER
        answers = 0
        while answers < 600:
            message = await client.receive()
            if message.get("method") == SUMMARIZE:
                continue
            assert message["id"] == f"r{answers}"
            answers += 1


async def test_what_is_held_is_answered_also_after_the_client_closed_its_side(
    daemon: Running, ask: Ask
) -> None:
    async with lender(daemon) as client, parked(daemon, client) as gate:
        asked = ask()
        await request_of(client)
        client.send(id="held", method="session/append", params=_append("held"))
        client.writer.write_eof()
        await asked.gone()
        gate.open.set()
        await _all_answered(client, [*PARKED, "held"])
        await client.closed()


async def test_other_clients_notice_nothing(daemon: Running, ask: Ask) -> None:
    async with daemon.client("other") as other, lender(daemon) as client:
        ask()
        await request_of(client)
        for _ in range(10):
            await other.call("session/stats", {"session": "s"})
            await client.call("session/stats", {"session": "s"})
    with anyio.fail_after(PATIENCE):
        while daemon.connections:
            await anyio.sleep(0.01)


async def test_ids_of_the_daemon_are_no_integers_and_no_uuids(daemon: Running, ask: Ask) -> None:
    async with lender(daemon) as client:
        asked = ask()
        body = await client.receive_body()
        assert json.loads(body or b"")["id"] == "pd:1"
        asked.scope.cancel()
        await cancelled(client, "pd:1")
