"""Several clients of one daemon: each its own replies, all the same changes."""

from __future__ import annotations

import pytest

from tests.server.support import Running

pytestmark = pytest.mark.anyio


async def test_two_clients_with_equal_ids_get_their_own_replies(daemon: Running) -> None:
    daemon.sessions.add("other")
    async with daemon.client("a") as a, daemon.client("b") as b:
        for request_id in range(100, 200):
            a.send(id=request_id, method="session/contextSize", params={"session": "s"})
            b.send(id=request_id, method="session/contextSize", params={"session": "none"})
        for request_id in range(100, 200):
            assert "result" in await a.answer(request_id)
            assert "error" in await b.answer(request_id)


async def test_a_change_reaches_everyone_who_opened_the_session(daemon: Running) -> None:
    async with daemon.client("a") as a, daemon.client("b") as b, daemon.client("c") as c:
        for client in (a, b):
            opened = await client.call("session/open", {"session": "s"})
            assert (opened["rev"], opened["mode"]) == (1, "snapshot")
        result = await a.call("session/append", {"session": "s", "entry": {"id": "x"}})
        assert result == {"rev": 2, "leaf": "x", "ids": ["x"]}
        for client in (a, b):
            told = await client.receive()
            assert told["method"] == "session/didChange"
            params = told["params"]
            assert (params["epoch"], params["base"], params["rev"]) == ("e1", 1, 2)
            (change,) = params["changes"]
            assert change["kind"] == "append"
            assert change["origin"] == {"client": "a", "clientId": "a-id"}
            assert [node["id"] for node in change["nodes"]] == ["x"]
        assert await c.call("daemon/status")


async def test_the_one_who_acts_is_told_before_the_answer(daemon: Running) -> None:
    async with daemon.client() as client:
        await client.call("session/open", {"session": "s"})
        client.send(id=7, method="session/append", params={"session": "s", "entry": {}})
        assert (await client.receive())["method"] == "session/didChange"
        assert (await client.receive())["id"] == 7


async def test_pipelined_appends_are_answered_and_stored_in_order(daemon: Running) -> None:
    async with daemon.client() as client:
        for number in range(1000, 1200):
            entry = {"id": f"e{number}"}
            client.send(id=number, method="session/append", params={"session": "s", "entry": entry})
        answers = [await client.receive() for _ in range(200)]
    assert [one["id"] for one in answers] == list(range(1000, 1200))
    assert [one["result"]["rev"] for one in answers] == list(range(2, 202))
    assert list(daemon.session().lines) == [f"e{number}" for number in range(1000, 1200)]


async def test_more_requests_than_may_be_at_work_wait_their_turn(daemon: Running) -> None:
    async with daemon.client() as client:
        for number in range(1000):
            client.send(id=f"r{number}", method="session/stats", params={"session": "s"})
        for number in range(1000):
            assert "result" in await client.answer(f"r{number}")


async def test_closing_and_leaving_end_the_subscription(daemon: Running) -> None:
    session = daemon.session()
    async with daemon.client() as a:
        async with daemon.client() as b:
            for client in (a, b):
                await client.call("session/open", {"session": "s"})
                await client.call("session/open", {"session": "s"})
            assert len(session.subscribers) == 2
            assert await a.call("session/close", {"session": "s"}) == {}
            assert await a.call("session/close", {"session": "never opened"}) == {}
            assert len(session.subscribers) == 1
        while session.subscribers:
            await a.call("daemon/status")


async def test_shutdown_and_exit_of_one_client_leave_the_others(daemon: Running) -> None:
    async with daemon.client() as a, daemon.client() as b:
        assert await a.call("shutdown") is None
        assert (await a.refused("daemon/status"))["code"] == -32600
        a.send(method="exit")
        await a.closed()
        status = await b.call("daemon/status")
        assert [one["name"] for one in status["clients"]] == ["test"]
    assert not daemon.daemon.state.stopping.is_set()


async def test_what_was_asked_before_the_end_of_the_stream_is_answered(daemon: Running) -> None:
    async with daemon.client() as client:
        client.send(id="last", method="session/stats", params={"session": "s"})
        client.writer.write_eof()
        assert "result" in await client.answer("last")
        await client.closed()


async def test_a_reset_is_told_and_ends_the_subscription(daemon: Running) -> None:
    async with daemon.client() as client:
        await client.call("session/open", {"session": "s"})
        daemon.session().reset("rewritten")
        told = await client.receive()
        assert told["params"] == {"session": "s", "reason": "rewritten"}
        assert daemon.session().subscribers == []


async def test_daemon_shutdown_tells_every_client_and_ends(daemon: Running) -> None:
    async with daemon.client() as a, daemon.fresh() as b:
        assert await b.call("daemon/shutdown") == {}
        for client in (a, b):
            told = await client.receive()
            assert (told["method"], told["params"]) == ("daemon/stopping", {"reason": "shutdown"})
            await client.closed()
        await daemon.ended.wait()
    assert daemon.sessions.closed
    assert not daemon.path.exists()
