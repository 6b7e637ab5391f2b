"""Clients that answer the daemon's requests, with and without a loop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pisessiond.client import aio, blocking
from pisessiond.client.errors import Interrupted, RpcFailure
from tests.client.scripted import OPENED, Message, Script, reply, scripted_daemon

ROOT = Path(__file__).parents[2]
ASKED: Message = {
    "jsonrpc": "2.0",
    "id": "pd:1",
    "method": "session/summarize",
    "params": {"kind": "history", "prompt": "[User]: Hello\n[Assistant]: Yes?"},
}
CANCEL: Message = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "pd:1"}}
Handler = Callable[[dict[str, Any]], Any]


def asking(*before: Message) -> Script:
    """A daemon that answers `x/ask` once it has an answer to its own request."""
    pending: list[Message] = []
    script = Script()

    def ask(message: Message) -> list[Message]:
        pending.append(message)
        return list(before) or [ASKED]

    script.answers["x/ask"] = ask
    # What has no method is an answer to what was asked.
    script.answers[""] = lambda message: (
        [reply(pending.pop(), "asked")] if message["id"] == "pd:1" else []
    )
    return script


def said(script: Script) -> list[Message]:
    return [message for message in script.heard if "method" not in message]


def both(path: str, handler: Handler, method: str = "session/summarize") -> None:
    """One request of the daemon's, answered on a blocking client and on an asyncio one."""

    async def aside(params: dict[str, Any]) -> Any:
        return handler(params)

    async def main() -> None:
        async with aio.connect(path, requests={method: aside}) as client:
            assert await client.call("x/ask") == "asked"

    with blocking.connect(path, requests={method: handler}) as client:
        assert client.call("x/ask") == "asked"
    asyncio.run(main())


def test_what_is_asked_is_answered_while_something_else_is_waited_for() -> None:
    script = asking()
    with scripted_daemon(script) as path:
        both(path, lambda params: {"summary": params["prompt"][:7] + "\ud83d"})
    answer = {"jsonrpc": "2.0", "id": "pd:1", "result": {"summary": "[User]:\ud83d"}}
    assert said(script) == [answer, answer]
    options = script.params("initialize")[0]["initializationOptions"]["pisessiond"]
    assert options["requests"] == ["session/summarize"]


def test_nothing_to_say_is_an_empty_answer() -> None:
    script = asking()
    with scripted_daemon(script) as path:
        both(path, lambda params: None)
    assert [message["result"] for message in said(script)] == [{}, {}]


def test_a_client_that_answers_nothing_announces_nothing_and_refuses() -> None:
    script = asking()
    with scripted_daemon(script) as path:
        with blocking.connect(path) as client:
            client.call("x/ask")
        both(path, lambda params: None, method="session/willCompact")
    assert [message["error"]["code"] for message in said(script)] == [-32601] * 3
    options = script.params("initialize")[0]["initializationOptions"]["pisessiond"]
    assert "requests" not in options


def test_a_handler_that_fails_is_no_answer_and_its_fault_is_logged_here(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(params: dict[str, Any]) -> Any:
        raise ValueError("my mistake")

    script = asking()
    with scripted_daemon(script) as path:
        both(path, broken)
    assert [message["error"]["message"] for message in said(script)] == ["ValueError"] * 2
    assert caplog.text.count("ValueError: my mistake") == 2


def test_a_handler_may_refuse_in_words_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(params: dict[str, Any]) -> Any:
        raise RpcFailure(-32000, "no model is loaded")

    script = asking()
    with scripted_daemon(script) as path, caplog.at_level(logging.DEBUG, "pisessiond"):
        both(path, refuse)
    errors = [message["error"] for message in said(script)]
    assert errors == [{"code": -32000, "message": "no model is loaded"}] * 2
    assert caplog.text == ""


def test_an_answer_that_is_no_json_is_refused_by_the_client() -> None:
    script = asking()
    with scripted_daemon(script) as path:
        both(path, lambda params: {"usage": float("nan")})
    assert [message["error"]["code"] for message in said(script)] == [-32602] * 2


def test_a_blocking_handler_may_ask_the_daemon_itself() -> None:
    script = asking()
    script.answers["x/inner"] = lambda message: [
        {**ASKED, "id": "pd:2", "params": {"prompt": "inner"}},
        reply(message, "inner"),
    ]
    with scripted_daemon(script) as path:
        clients: list[blocking.BlockingClient] = []

        def handler(params: dict[str, Any]) -> Any:
            if params["prompt"] == "inner":
                return {"summary": "nested"}
            return {"summary": clients[0].call("x/inner")}

        with blocking.connect(path, requests={"session/summarize": handler}) as client:
            clients.append(client)
            assert client.call("x/ask") == "asked"
    results = {message["id"]: message["result"]["summary"] for message in said(script)}
    assert results == {"pd:1": "inner", "pd:2": "nested"}


def test_a_blocking_client_answers_while_it_waits_for_changes() -> None:
    def opened(message: Message) -> list[Message]:
        return [reply(message, OPENED), ASKED]

    script = Script(session_open=opened)
    requests = {"session/summarize": lambda params: {"summary": "x"}}
    with scripted_daemon(script) as path, blocking.connect(path, requests=requests) as client:
        session = client.open("s1")
        with pytest.raises(TimeoutError):
            next(session.changes(timeout=0.01))
        assert script.wait_until(lambda: bool(said(script)))


def test_a_request_taken_back_before_a_blocking_client_came_to_it_is_not_answered() -> None:
    script = asking(ASKED, CANCEL)
    with scripted_daemon(script) as path:
        asked: list[Any] = []
        requests = {"session/summarize": asked.append}
        with blocking.connect(path, requests=requests) as client:
            assert client.call("x/ask") == "asked"
    assert asked == []
    assert said(script)[0]["error"]["code"] == -32800


def test_a_request_taken_back_cancels_its_handler() -> None:
    script = asking()
    script.answers["x/cancel"] = lambda message: [CANCEL, reply(message, None)]

    async def main(path: str) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def endless(params: dict[str, Any]) -> Any:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with aio.connect(path, requests={"session/summarize": endless}) as client:
            waiting = asyncio.create_task(client.call("x/ask"))
            await begun.wait()
            assert await client.call("x/cancel") is None
            await asyncio.wait_for(ended.wait(), 5)
            assert await waiting == "asked"

    with scripted_daemon(script) as path:
        asyncio.run(main(path))
    assert said(script)[0]["error"]["code"] == -32800


def test_the_end_of_the_connection_ends_what_is_being_answered() -> None:
    async def main(path: str) -> bool:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def endless(params: dict[str, Any]) -> Any:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with aio.connect(path, requests={"session/summarize": endless}) as client:
            waiting = asyncio.create_task(client.call("x/ask"))
            await begun.wait()
            waiting.cancel()
        return ended.is_set()

    with scripted_daemon(asking()) as path:
        assert asyncio.run(main(path))


def test_ctrl_c_in_a_handler_refuses_and_cancels_what_was_waited_for() -> None:
    def interrupted(params: dict[str, Any]) -> Any:
        raise KeyboardInterrupt

    script = asking()
    with (
        scripted_daemon(script) as path,
        blocking.connect(path, requests={"session/summarize": interrupted}) as client,
        pytest.raises(Interrupted) as stopped,
    ):
        client.call("x/ask")
    assert (stopped.value.outcome, stopped.value.result) == ("done", "asked")
    assert said(script)[0]["error"]["message"] == "KeyboardInterrupt"
    assert script.params("$/cancelRequest") == [{"id": 2}]


@pytest.mark.slow
def test_the_example_lends_its_model() -> None:
    done = threading.Event()

    def opened(message: Message) -> list[Message]:
        told = {"session": "s1", "operation": "compact", "state": "begin"}
        progress = {"jsonrpc": "2.0", "method": "session/didProgress", "params": told}
        return [reply(message, OPENED), ASKED, progress]

    def answered(message: Message) -> list[Message]:
        done.set()
        return []

    script = Script(session_open=opened)
    script.answers[""] = answered
    with scripted_daemon(script) as path:
        example = [sys.executable, str(ROOT / "clients/python/lend_model.py"), path, "s1"]
        with subprocess.Popen(
            example,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3)]
            assert done.wait(10)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=10)
    assert errors == ""
    assert set(lines) == {"lending\n", "asked for a history summary\n", "compact: begin\n"}
    assert said(script)[0]["result"] == {"summary": "## Goal\n[User]: Hello"}
