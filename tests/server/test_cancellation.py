"""Cancelling: what waits is ended, what is being committed is carried out."""

from __future__ import annotations

import sys

import anyio
import pytest

from pisessiond.server import connection
from tests.server.fake_service import Gate
from tests.server.support import PATIENCE, Running

pytestmark = pytest.mark.anyio

APPEND = {"session": "s", "entry": {"id": "x"}}


async def test_a_request_that_waits_is_cancelled(daemon: Running) -> None:
    gate = daemon.session().reading = Gate()
    async with daemon.client() as client:
        client.send(id="r", method="session/entries", params={"session": "s"})
        await gate.reached.wait()
        client.send(method="$/cancelRequest", params={"id": "r"})
        error = (await client.answer("r"))["error"]
        assert (error["code"], error["data"]) == (-32800, {"kind": "Cancelled"})


async def test_a_cancel_in_the_same_packet_ends_a_request_before_it_began(daemon: Running) -> None:
    async with daemon.client() as client:
        client.send(id="r", method="session/append", params=APPEND)
        client.send(method="$/cancelRequest", params={"id": "r"})
        assert (await client.answer("r"))["error"]["code"] == -32800
    assert daemon.session().lines == {}


async def test_a_cancel_before_the_commit_changes_nothing(daemon: Running) -> None:
    session = daemon.session()
    gate = session.before_commit = Gate()
    async with daemon.client() as client:
        client.send(id="r", method="session/append", params=APPEND)
        await gate.reached.wait()
        client.send(method="$/cancelRequest", params={"id": "r"})
        assert (await client.answer("r"))["error"]["code"] == -32800
    assert (session.rev, session.leaf, session.lines) == (1, None, {})


async def test_a_cancel_during_the_commit_is_too_late(daemon: Running) -> None:
    session = daemon.session()
    gate = session.during_commit = Gate()
    async with daemon.client() as client:
        client.send(id="r", method="session/append", params=APPEND)
        await gate.reached.wait()
        client.send(method="$/cancelRequest", params={"id": "r"})
        await client.call("daemon/status")
        gate.open.set()
        assert (await client.answer("r"))["result"]["leaf"] == "x"


async def test_a_client_that_vanishes_during_the_commit_leaves_it_whole(daemon: Running) -> None:
    session = daemon.session()
    gate = session.during_commit = Gate()
    async with daemon.client("watcher") as watcher:
        await watcher.call("session/open", {"session": "s"})
        async with daemon.client() as client:
            client.send(id="r", method="session/append", params=APPEND)
            await gate.reached.wait()
            client.writer.transport.abort()
        gate.open.set()
        assert (await watcher.receive())["params"]["leaf"] == "x"
    assert list(session.lines) == ["x"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a half-closed socket apart")
async def test_requests_of_a_client_that_vanished_are_cancelled_at_once(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CLOSE_SECONDS", 3600)
    session = daemon.session()
    gate = session.before_commit = Gate()
    async with daemon.client("other") as other:
        async with daemon.client() as client:
            client.send(id="r", method="session/append", params=APPEND)
            await gate.reached.wait()
        with anyio.fail_after(PATIENCE):
            while len(daemon.connections) > 1:
                await other.call("daemon/status")
    assert session.lines == {}


async def test_an_id_that_is_at_work_is_refused_and_free_again_afterwards(daemon: Running) -> None:
    gate = daemon.session().reading = Gate()
    async with daemon.client() as client:
        client.send(id=5, method="session/entries", params={"session": "s"})
        await gate.reached.wait()
        client.send(id=5, method="session/stats", params={"session": "s"})
        assert (await client.answer(5))["error"]["code"] == -32600
        client.send(id="5", method="session/stats", params={"session": "s"})
        assert "result" in await client.answer("5")
        gate.open.set()
        assert "result" in await client.answer(5)
        client.send(id=5, method="session/stats", params={"session": "s"})
        assert "result" in await client.answer(5)


async def test_the_end_of_the_daemon_fails_what_does_not_end_in_time(daemon: Running) -> None:
    gate = daemon.session().reading = Gate()
    async with daemon.client() as client:
        client.send(id="r", method="session/entries", params={"session": "s"})
        await gate.reached.wait()
        daemon.daemon.state.stop("signal")
        assert (await client.receive())["method"] == "daemon/stopping"
        error = (await client.answer("r"))["error"]
        assert error["code"] == -32800
        assert error["message"] == "The daemon was stopped; nothing was written."
        await client.closed()
    assert daemon.sessions.are_operations_stopped
