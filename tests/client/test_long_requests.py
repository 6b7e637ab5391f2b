"""Requests that take long: how far they are, how they are ended, and when they may be repeated."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

import pytest

from pisessiond.client import aio, blocking, blocking_connection
from pisessiond.client.errors import ConnectionLost, Interrupted
from pisessiond.client.repeating import may_repeat
from tests.client.scripted import (
    HANG_UP,
    OPENED,
    Message,
    Script,
    changed,
    refuse,
    reply,
    scripted_daemon,
)

DONE = {"rev": 2, "leaf": "bbbbbbbb", "entry": "bbbbbbbb"}
BEGIN = {"kind": "begin", "title": "Compacting", "cancellable": True}
REPORT = {"kind": "report", "message": "1.2k received"}
END = {"kind": "end"}
TOLD = [BEGIN, REPORT, END]


def progress(token: Any, value: Any) -> Message:
    params = {"token": token, "value": value}
    return {"jsonrpc": "2.0", "method": "$/progress", "params": params}


def slowly(message: Message) -> list[Message]:
    token = message["params"].get("workDoneToken")
    told = [progress(token, value) for value in TOLD]
    return [progress("another", BEGIN), *told, reply(message, DONE)]


@pytest.mark.parametrize("act", ["compact", "navigate"])
def test_progress_is_told_before_the_answer(act: str) -> None:
    script = Script(session_compact=slowly, session_navigate=slowly)
    arguments: tuple[Any, ...] = (None,) if act == "navigate" else ()

    async def main(path: str) -> list[Any]:
        told: list[Any] = []
        async with aio.connect(path) as client:
            session = await client.open("s1")
            assert await getattr(session, act)(*arguments, progress=told.append) == DONE
            # What is not of this request stays for whoever wants it.
            assert (await client.notification(5)).params["token"] == "another"
        return told

    with scripted_daemon(script) as path:
        with blocking.connect(path) as client:
            told: list[Any] = []
            assert getattr(client.open("s1"), act)(*arguments, progress=told.append) == DONE
            assert client.notification(5).params["token"] == "another"
        assert told == TOLD
        assert asyncio.run(main(path)) == TOLD
        with blocking.connect(path) as client:
            getattr(client.open("s1"), act)(*arguments)
    given = script.params(f"session/{act}")
    assert [isinstance(params.get("workDoneToken"), str) for params in given] == [True, True, False]


def test_what_hears_of_progress_may_end_the_request() -> None:
    script = Script(
        session_compact=lambda message: [progress(message["params"]["workDoneToken"], BEGIN)]
    )

    def enough(_told: Any) -> None:
        raise ZeroDivisionError

    async def main(path: str) -> None:
        async with aio.connect(path) as client:
            session = await client.open("s1")
            with pytest.raises(ZeroDivisionError):
                await session.compact(progress=enough)
            assert await client.call("x/quick") == "quick"

    script.answers["x/quick"] = "quick"
    with scripted_daemon(script) as path:
        with blocking.connect(path) as client:
            session = client.open("s1")
            with pytest.raises(ZeroDivisionError):
                session.compact(progress=enough)
            assert client.call("x/quick") == "quick"
        asyncio.run(main(path))
    assert len(script.params("$/cancelRequest")) == 2


def test_readers_of_changes_hear_of_operations_where_they_ask_for_it() -> None:
    told = {"session": "s1", "operation": "compact", "state": "begin", "received": 0}

    def opened(message: Message) -> list[Message]:
        begin = {"jsonrpc": "2.0", "method": "session/didProgress", "params": told}
        return [reply(message, OPENED), begin, changed(1, 2, {"kind": "compact"})]

    async def main(path: str) -> list[Any]:
        async with aio.connect(path) as client:
            session = await client.open("s1")
            updates = session.changes(timeout=5, progress=True)
            found = [await anext(updates), await anext(updates)]
            await updates.aclose()  # type: ignore[attr-defined]
            return found

    with scripted_daemon(Script(session_open=opened)) as path:
        with blocking.connect(path) as client:
            assert next(client.open("s1").changes(timeout=5)).rev == 2
        with blocking.connect(path) as client:
            updates = client.open("s1").changes(timeout=5, progress=True)
            first, second = next(updates), next(updates)
        assert asyncio.run(main(path)) == [first, second]
    assert (first.progress, first.changes, first.rev) == (told, (), 1)
    assert first.context_size == OPENED["contextSize"]
    assert (second.progress, second.rev) == (None, 2)


# Ctrl-C.


def press_ctrl_c() -> None:
    """As soon as the program waits for what the daemon says."""
    main = threading.main_thread().ident
    assert main is not None
    give_up = time.monotonic() + 5
    while sys._current_frames()[main].f_code.co_name != "_receive":
        assert time.monotonic() < give_up
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)


def interrupting(*answers: Any) -> Script:
    """A daemon that is asked something, upon which the user presses Ctrl-C."""
    pending: list[Message] = []

    def slow(message: Message) -> list[Message]:
        pending.append(message)
        press_ctrl_c()
        return []

    script = Script(session_compact=slow)
    script.answers["$/cancelRequest"] = lambda _message: [
        reply(pending.pop(), answer) for answer in answers
    ]
    script.answers["x/quick"] = "quick"
    return script


def press(script: Script) -> Interrupted:
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        session = client.open("s1")
        with pytest.raises(KeyboardInterrupt) as stopped:
            session.compact()
        assert client.call("x/quick") == "quick"
    assert len(script.params("$/cancelRequest")) == 1
    assert isinstance(stopped.value, Interrupted)
    return stopped.value


def test_ctrl_c_cancels_and_says_that_nothing_was_done() -> None:
    stopped = press(interrupting(refuse("Cancelled", "The compaction was cancelled.")))
    assert stopped.outcome == "cancelled"
    assert stopped.failure is not None
    assert stopped.failure.kind == "Cancelled"


def test_ctrl_c_that_comes_too_late_brings_the_answer() -> None:
    stopped = press(interrupting(DONE))
    assert (stopped.outcome, stopped.result) == ("done", DONE)


def test_ctrl_c_does_not_wait_for_a_daemon_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking_connection, "CANCEL_PATIENCE", 0.05)
    assert press(interrupting()).outcome == "unknown"


def test_a_second_ctrl_c_ends_the_waiting() -> None:
    script = interrupting()

    def again(_message: Message) -> list[Message]:
        press_ctrl_c()
        return []

    script.answers["$/cancelRequest"] = again
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        session = client.open("s1")
        with pytest.raises(KeyboardInterrupt) as stopped:
            session.compact()
        assert not isinstance(stopped.value, Interrupted)


def test_a_connection_that_ends_after_ctrl_c_leaves_it_open_what_became_of_it() -> None:
    script = interrupting()
    script.answers["$/cancelRequest"] = [HANG_UP]
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        session = client.open("s1")
        with pytest.raises(Interrupted) as stopped:
            session.compact()
    assert stopped.value.outcome == "unknown"


def test_ctrl_c_in_the_middle_of_a_message_ends_the_connection_at_the_daemon_too() -> None:
    left, right = socket.socketpair()
    with left, right:
        connection = blocking_connection.BlockingConnection(left)
        main = threading.main_thread().ident
        assert main is not None

        def press() -> None:
            # It takes no more: the rest of the message waits in `sendall`.
            while sys._current_frames()[main].f_code.co_name != "_send":
                time.sleep(0.001)
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=press)
        thread.start()
        with pytest.raises(Interrupted) as stopped:
            connection.call("x/large", {"text": "x" * (4 << 20)})
        thread.join()
        assert stopped.value.outcome == "unknown"
        with pytest.raises(ConnectionLost, match="middle of a message"):
            connection.receive("")
        with pytest.raises(ConnectionLost):
            connection.call("x/more")
        while right.recv(1 << 20):
            pass


# After a lost connection.

SAFE = {"requestId": "r", "baseLeaf": "a"}


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("session/compact", {}, False),
        ("session/compact", {"summary": "x"}, False),
        ("session/compact", {"requestId": "r"}, False),
        ("session/compact", {"baseLeaf": None}, False),
        ("session/compact", SAFE, True),
        ("session/compact", {"dryRun": True}, True),
        ("session/compact", {"dryRun": "summary"}, False),
        ("session/compact", {"dryRun": "summary", "requestId": "r"}, True),
        ("session/navigate", {"target": "a"}, True),
        ("session/navigate", {"target": "a", "summarize": True}, False),
        ("session/navigate", {"target": "a", "summary": "x", "requestId": "r"}, False),
        ("session/navigate", {"target": "a", "label": "x"}, False),
        ("session/navigate", {"target": "a", "summarize": True, **SAFE}, True),
        ("session/navigate", {"target": "a", "summarize": True, "dryRun": True}, True),
        ("session/cancel", {}, False),
        ("session/cancel", {"operationId": "e.1"}, True),
        ("session/prompt", {"text": "x"}, False),
        # A new daemon would say that no pi is there, until its bridge has come back.
        ("session/prompt", {"text": "x", "requestId": "r"}, False),
        ("session/abort", {}, False),
    ],
)
def test_which_requests_are_made_again(method: str, params: Message, expected: bool) -> None:
    assert may_repeat(method, params) is expected


@pytest.mark.parametrize("repeats", [False, True])
def test_a_compaction_is_asked_for_again_only_where_its_second_time_is_noticed(
    repeats: bool,
) -> None:
    tries: list[Message] = []

    def compact(message: Message) -> list[Any]:
        tries.append(message["params"])
        return [HANG_UP] if len(tries) == 1 else slowly(message)

    script = Script(session_compact=compact)
    script.answers["initialize"]["capabilities"]["experimental"]["pisessiond"]["build"] = "1"
    given: dict[str, Any] = {"request_id": "r", "base_leaf": "aaaaaaaa"} if repeats else {}

    def blocked(path: str) -> list[Any]:
        told: list[Any] = []
        with blocking.connect(path, reconnect=True) as client:
            session = client.open("s1")
            if not repeats:
                with pytest.raises(ConnectionLost):
                    session.compact(**given, progress=told.append)
            else:
                assert session.compact(**given, progress=told.append) == DONE
        return told

    async def aside(path: str) -> list[Any]:
        told: list[Any] = []
        async with aio.connect(path, reconnect=True) as client:
            session = await client.open("s1")
            if not repeats:
                with pytest.raises(ConnectionLost):
                    await session.compact(**given, progress=told.append)
            else:
                assert await session.compact(**given, progress=told.append) == DONE
        return told

    with scripted_daemon(script) as path:
        for run in (blocked, lambda path: asyncio.run(aside(path))):
            tries.clear()
            assert run(path) == (TOLD if repeats else [])
            assert len(tries) == 1 + repeats


def test_what_the_client_answers_is_announced_again_on_a_new_connection() -> None:
    script, lives = Script(), iter([HANG_UP])
    asked = {"jsonrpc": "2.0", "id": "pd:1", "method": "session/willCompact", "params": {}}
    script.answers["x/ask"] = lambda message: [next(lives, asked), reply(message, None)]

    def answered() -> bool:
        return any("method" not in message for message in script.heard)

    async def main(path: str) -> None:
        async def answer(_params: Any) -> Any:
            return {"cancel": True}

        requests = {"session/willCompact": answer}
        async with aio.connect(path, reconnect=True, requests=requests) as client:
            await client.call("x/ask")
            assert await asyncio.to_thread(script.wait_until, answered)

    with scripted_daemon(script) as path:
        asyncio.run(main(path))
    options = [
        given["initializationOptions"]["pisessiond"]["requests"]
        for given in script.params("initialize")
    ]
    assert options == [["session/willCompact"]] * 2
