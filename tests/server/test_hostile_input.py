"""Broken and hostile input: a clear answer, and a good request works afterwards."""

from __future__ import annotations

import json
from typing import Any

import psutil
import pytest

from pisessiond.server.framing import frame
from tests.server.support import Client, Running

pytestmark = pytest.mark.anyio


async def works(client: Client) -> None:
    assert (await client.call("session/contextSize", {"session": "s"}))["tokens"] == 12


GOOD = {"jsonrpc": "2.0", "id": "x", "method": "session/contextSize", "params": {"session": "s"}}


def message(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def without(*names: str) -> bytes:
    return json.dumps({k: v for k, v in GOOD.items() if k not in names}).encode()


ANSWERED: dict[str, tuple[bytes, int]] = {
    "invalid JSON": (frame(b"{nope"), -32700),
    "empty body": (frame(b""), -32700),
    "no UTF-8": (frame(b'{"a":"\xff"}'), -32700),
    "UTF-16": (frame(message().decode().encode("utf-16")), -32700),
    "a byte order mark": (frame(b"\xef\xbb\xbf" + message()), -32700),
    "surrogate bytes": (frame(b'{"a":"\xed\xa0\xbd"}'), -32700),
    "NaN": (frame(b'{"a":NaN}'), -32700),
    "depth 100,000": (frame(b"[" * 100_000 + b"]" * 100_000), -32700),
    "a batch": (frame(b"[" + message() + b"]"), -32600),
    "an empty batch": (frame(b"[]"), -32600),
    "a scalar": (frame(b"5"), -32600),
    "no jsonrpc": (frame(without("jsonrpc")), -32600),
    "another jsonrpc": (frame(message(jsonrpc="1.0")), -32600),
    "a method that is a number": (frame(message(method=5)), -32600),
    "an id that is an object": (frame(message(id={})), -32600),
    "an id that is a float": (frame(message(id=1.5)), -32600),
    "an id that is a bool": (frame(message(id=True)), -32600),
    "a null id": (frame(message(id=None)), -32600),
    "neither request nor response": (frame(b'{"jsonrpc":"2.0","id":"x"}'), -32600),
    "params that are a string": (frame(message(params="x")), -32602),
    "params by position": (frame(message(params=["s"])), -32602),
    "no params": (frame(without("params")), -32602),
    "params of another shape": (frame(message(params={"session": {"$ne": 1}})), -32602),
    "an unknown method": (frame(message(method="session/explode")), -32601),
    "an unknown LSP method": (frame(message(method="textDocument/rename", params={})), -32601),
    "a private method": (frame(message(method="__class__")), -32601),
    "a very long method": (frame(message(method="x" * 100_000)), -32601),
    "LSP params that are none": (
        frame(message(method="textDocument/documentSymbol", params={"textDocument": 5})),
        -32602,
    ),
    "a command": (
        frame(message(method="workspace/executeCommand", params={"command": []})),
        -32602,
    ),
    "initialize once more": (frame(message(method="initialize", params={})), -32600),
    "a session that is not open": (frame(message(params={"session": "none"})), 1002),
}


@pytest.mark.parametrize("what", ANSWERED)
async def test_the_mistake_is_answered_and_the_connection_lives(daemon: Running, what: str) -> None:
    data, code = ANSWERED[what]
    async with daemon.client() as client, daemon.client("other") as other:
        client.send_raw(data)
        answer = await client.receive()
        assert answer["error"]["code"] == code
        assert answer["error"]["data"]["kind"]
        assert len(json.dumps(answer)) < 1_000
        await works(client)
        await works(other)
    assert daemon.session().rev == 1


TAKEN: dict[str, bytes] = {
    "a lower case header without a space": b"content-length:%d\r\n\r\n",
    "lines ended by LF only": b"Content-Length: %d\n\n",
    "a content type": b"Content-Type: application/vscode-jsonrpc\r\nContent-Length: %d\r\n\r\n",
}


@pytest.mark.parametrize("what", TAKEN)
async def test_odd_headers_that_are_taken(daemon: Running, what: str) -> None:
    async with daemon.client() as client:
        client.send_raw(TAKEN[what] % len(message()) + message())
        assert "result" in await client.answer("x")
        await works(client)


@pytest.mark.parametrize(
    "params",
    [{"session": "s", "later": 1}, {"session": "s", "deep": json.loads("[" * 500 + "]" * 500)}],
)
async def test_odd_params_that_are_taken(daemon: Running, params: Any) -> None:
    async with daemon.client() as client:
        client.send_raw(frame(message(params=params)))
        assert "result" in await client.answer("x")


IGNORED: dict[str, bytes] = {
    "an answer to nothing": frame(b'{"jsonrpc":"2.0","id":"pd:1","result":{}}'),
    "an error without an id": frame(b'{"jsonrpc":"2.0","id":null,"error":{"code":1}}'),
    "an unknown notification": frame(b'{"jsonrpc":"2.0","method":"$/what"}'),
    "a notification with bad params": frame(b'{"jsonrpc":"2.0","method":"session/tree"}'),
    "the cancel of nothing": frame(
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":77}}'
    ),
    "a cancel without an id": frame(b'{"jsonrpc":"2.0","method":"$/cancelRequest"}'),
    "a cancel of an object": frame(
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":{"a":1}}}'
    ),
    "a change of text": frame(
        b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"contentChanges":[]}}'
    ),
}


@pytest.mark.parametrize("what", IGNORED)
async def test_what_needs_no_answer_gets_none(daemon: Running, what: str) -> None:
    async with daemon.client() as client:
        client.send_raw(IGNORED[what])
        await works(client)


CLOSED: dict[str, bytes] = {
    "no length": b"Content-Type: x\r\n\r\n{}",
    "a negative length": b"Content-Length: -5\r\n\r\n",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "1 GB": b"Content-Length: 1000000000\r\n\r\n" + b"x" * 100_000,
    "10 GB": b"Content-Length: 10000000000\r\n\r\n" + b"x" * 100_000,
    "a header line of 70 KB": b"Content-Type: " + b"x" * 70_000,
    "no header at all": message() + b"\r\n\r\n",
    "HTTP": b"POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n"
    b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(message()), message()),
    "noise": bytes(range(256)) * 40,
}


@pytest.mark.parametrize("what", CLOSED)
async def test_what_is_no_frame_ends_that_connection_alone(daemon: Running, what: str) -> None:
    async with daemon.client("other") as other:
        before = psutil.Process().memory_info().rss
        async with daemon.client() as client:
            client.send_raw(CLOSED[what])
            answer = await client.receive()
            assert (answer["error"]["code"], answer["id"]) == (-32600, None)
            await client.closed()
        assert psutil.Process().memory_info().rss - before < 32 << 20
        await works(other)


@pytest.mark.parametrize("what", ["inside a header", "inside a body"])
async def test_a_stream_that_ends_inside_a_frame(daemon: Running, what: str) -> None:
    data = frame(message())
    async with daemon.client() as client:
        client.send_raw(data[:10] if what == "inside a header" else data[:-5])
        client.writer.write_eof()
        assert (await client.receive())["error"]["code"] == -32600
        await client.closed()
    async with daemon.client() as client:
        await works(client)


async def test_only_the_daemon_answers_before_initialize(daemon: Running) -> None:
    async with daemon.fresh() as client:
        for method in ("session/list", "textDocument/documentSymbol", "shutdown", "no/such"):
            error = await client.refused(method, {})
            assert (error["code"], error["data"]["kind"]) == (-32002, "NotInitialized")
        client.send(method="textDocument/didOpen", params={})
        client.send(method="initialized", params={})
        assert (await client.call("daemon/status"))["clients"][0]["initialized"] is False
        await client.initialize()
        await works(client)


async def test_exit_before_initialize_ends_the_connection(daemon: Running) -> None:
    async with daemon.fresh() as client:
        client.send(method="exit")
        await client.closed()


async def test_a_nested_jsonrpc_member_means_nothing(daemon: Running) -> None:
    entry = {
        "id": "x",
        "type": "custom",
        "data": {"jsonrpc": "2.0", "id": 1, "method": "exit", "type_name": "1 bad"},
    }
    async with daemon.client() as client:
        await client.call("session/append", {"session": "s", "entry": entry})
        answer = await client.call("session/entries", {"session": "s"})
        assert answer["entries"] == [entry]


async def test_lone_surrogates_come_back_as_they_went_in(daemon: Running) -> None:
    daemon.session().lines["a"] = b'{"id":"a","text":"\\ud83d","cost":5e-06,"n":1.0}'
    async with daemon.client() as client:
        client.send(id="e", method="session/entries", params={"session": "s", "ids": ["a"]})
        body = await client.receive_body()
        assert body is not None
        assert daemon.session().lines["a"] in body
        context = await client.call("session/context", {"session": "s", "entry": "\ud83d"})
        assert context["messages"] == [{"role": "user", "content": "\ud83d", "at": "\ud83d"}]
        assert (await client.call("session/open", {"session": "s"}))["header"]["half"] == "\ud83d"


async def test_a_fault_of_ours_tells_its_class_and_no_more(
    daemon: Running, caplog: pytest.LogCaptureFixture
) -> None:
    async with daemon.client() as client:
        error = await client.refused("session/rename", {"session": "s", "name": "my words"})
        assert error == {
            "code": -32603,
            "message": "Internal error (RuntimeError).",
            "data": {"kind": "InternalError"},
        }
        await works(client)
    assert "session/rename failed: RuntimeError" in caplog.text
    assert "my words" not in caplog.text
