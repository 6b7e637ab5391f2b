"""The client against a daemon that says what the test tells it to, with and without a loop."""

from __future__ import annotations

import asyncio
import itertools
import socket
from pathlib import Path
from typing import Any

import pytest

from pisessiond.client import aio, blocking
from pisessiond.client.errors import ConnectionLost, NoDaemon, RpcFailure
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

DONE = {"rev": 2, "leaf": "bbbbbbbb"}


def appended(message: Message) -> dict[str, Any]:
    params = message["params"]
    entries = params.get("entries") or [params["entry"]]
    return {**DONE, "ids": [entry["id"] for entry in entries]}


def run(path: str, act: str, *args: Any, **named: Any) -> Any:
    """The same act on a blocking session and on an asyncio one; their answers must agree."""

    async def aside() -> Any:
        async with aio.connect(path) as client:
            session = await client.open("s1")
            return await getattr(session, act)(*args, **named)

    with blocking.connect(path) as client:
        first = getattr(client.open("s1"), act)(*args, **named)
    assert first == asyncio.run(aside())
    return first


def test_it_says_who_it_is_before_anything_else() -> None:
    script = Script()
    with scripted_daemon(script) as path, blocking.connect(path, name="me", client_id="c1"):
        script.wait_for("initialized")
    options = script.heard[0]["params"]["initializationOptions"]["pisessiond"]
    assert options["client"]["id"] == "c1"
    assert options["client"]["name"] == "me"
    assert options["cwd"] == str(Path.cwd())
    assert [message["method"] for message in script.heard] == ["initialize", "initialized"]


def test_what_was_not_given_is_not_sent_and_null_is() -> None:
    script = Script(session_navigate=DONE)
    with scripted_daemon(script) as path:
        run(path, "navigate", None)
        run(path, "navigate", "aaaaaaaa", exact=True, base_leaf=None)
    first, _, second, _ = script.params("session/navigate")
    assert first == {"session": "s1", "target": None}
    assert second == {"session": "s1", "target": "aaaaaaaa", "exact": True, "baseLeaf": None}


def test_appended_entries_get_ids_of_eight_hex_digits_behind_their_type() -> None:
    script = Script(session_append=appended)
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        answer = client.open("s1").append({"type": "custom", "customType": "x"})
    (params,) = script.params("session/append")
    assert list(params["entry"]) == ["type", "id", "customType"]
    (chosen,) = answer["ids"]
    assert len(str(chosen)) == 8
    int(str(chosen), 16)


def test_an_id_of_the_callers_own_is_kept() -> None:
    script = Script(session_append=appended)
    with scripted_daemon(script) as path:
        entries = [{"type": "custom", "id": "mine"}, {"type": "custom", "id": "mine2"}]
        assert run(path, "append", entries=entries)["ids"] == ["mine", "mine2"]


def test_a_chosen_id_that_is_taken_is_chosen_again() -> None:
    def taken_twice(message: Message) -> dict[str, Any]:
        is_free = message["params"]["entry"]["id"] == "id2"
        return appended(message) if is_free else refuse("DuplicateEntry")

    script, numbers = Script(session_append=taken_twice), itertools.count()
    with (
        scripted_daemon(script) as path,
        blocking.connect(path, new_id=lambda: f"id{next(numbers)}") as client,
    ):
        assert client.open("s1").append({"type": "custom"})["ids"] == ["id2"]


def test_an_own_id_that_is_taken_is_the_callers_mistake() -> None:
    script = Script(session_append=refuse("DuplicateEntry", entry="mine"))
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        session = client.open("s1")
        with pytest.raises(RpcFailure) as caught:
            session.append({"type": "custom", "id": "mine"})
    assert caught.value.kind == "DuplicateEntry"
    assert caught.value.data["entry"] == "mine"
    assert len(script.params("session/append")) == 1


def test_errors_carry_kind_code_sentence_and_data() -> None:
    refused = refuse("LeafMoved", "the leaf is another", leaf="cccccccc", rev=7)
    script = Script(session_rename=refused)
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        session = client.open("s1")
        with pytest.raises(RpcFailure, match="the leaf is another") as caught:
            session.rename("x", base_leaf="aaaaaaaa")
    assert (caught.value.kind, caught.value.code) == ("LeafMoved", 1)
    assert caught.value.data["leaf"] == "cccccccc"


def test_the_whole_tree_is_joined_from_its_pages() -> None:
    def page(message: Message) -> dict[str, Any]:
        if "after" in message["params"]:
            return {"rev": 1, "total": 2, "nodes": [{"id": "b"}]}
        return {"rev": 1, "total": 2, "nodes": [{"id": "a"}], "after": "a"}

    with scripted_daemon(Script(session_tree=page)) as path:
        answer = run(path, "whole_tree", filter="default")
    assert answer == {"rev": 1, "total": 2, "nodes": [{"id": "a"}, {"id": "b"}]}


def test_a_tree_that_changes_between_its_pages_is_asked_for_again() -> None:
    revs = iter([1, 2, 2, 2])

    def page(message: Message) -> dict[str, Any]:
        answer: dict[str, Any] = {"rev": next(revs), "total": 2}
        if "after" in message["params"]:
            return {**answer, "nodes": [{"id": "b"}]}
        return {**answer, "nodes": [{"id": "a"}], "after": "a"}

    with scripted_daemon(Script(session_tree=page)) as path, blocking.connect(path) as client:
        answer = client.open("s1").whole_tree()
    assert answer["rev"] == 2
    assert len(answer["nodes"]) == 2


def test_a_level_is_joined_from_its_pages_and_asked_for_again_when_it_changed() -> None:
    revs = iter([1, 2, 3, 4, 5, 5])

    def page(message: Message) -> Any:
        rev = next(revs)
        if message["params"].get("after") == "a" and rev == 4:
            return refuse("InvalidParams", "no row 'a' is on that level", path="after")
        answer: dict[str, Any] = {"rev": rev, "level": "w", "total": 2}
        if "after" in message["params"]:
            return {**answer, "rows": [{"id": "b"}]}
        return {**answer, "rows": [{"id": "a"}], "after": "a"}

    script = Script(session_rows=page)
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        answer = client.open("s1").whole_level("w", filter="all")
    assert answer == {"rev": 5, "level": "w", "total": 2, "rows": [{"id": "a"}, {"id": "b"}]}
    assert {message["level"] for message in script.params("session/rows")} == {"w"}


def test_rows_are_drawn_again_after_a_reset_and_who_is_there_is_known() -> None:
    nvim, vscode = {"client": "c1", "name": "nvim"}, {"client": "c2", "name": "vscode"}

    def opened(message: Message) -> list[Message]:
        told = {"session": "s1", "clients": [nvim, vscode]}
        reset = {"session": "s1", "reason": "rewritten"}
        answer = reply(message, {**OPENED, "clients": [nvim]})
        if "since" in message["params"]:
            return [answer]
        return [
            answer,
            {"jsonrpc": "2.0", "method": "session/didPresence", "params": told},
            changed(1, 2),
            {"jsonrpc": "2.0", "method": "session/didReset", "params": reset},
        ]

    script = Script(session_open=opened)
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        session = client.open("s1", rows="user-only")
        assert session.clients == [nvim]
        updates = session.changes(timeout=10)
        next(updates)
        assert session.clients == [nvim, vscode]
        assert next(updates).snapshot is not None
        assert session.clients == [nvim]
    for params in script.params("session/open"):
        assert params["rows"] == {"filter": "user-only"}


def test_changes_come_in_order_also_those_that_came_with_the_answer() -> None:
    def opened(message: Message) -> list[Message]:
        later = changed(2, 4, {"kind": "navigate"}, leaf=None)
        return [reply(message, OPENED), changed(1, 2, {"kind": "append"}), later]

    async def aside(path: str) -> list[int]:
        async with aio.connect(path) as client:
            session = await client.open("s1")
            updates = session.changes(timeout=5)
            revs = [(await anext(updates)).rev, (await anext(updates)).rev]
            assert session.leaf is None
            await updates.aclose()  # type: ignore[attr-defined]
            return revs

    with scripted_daemon(Script(session_open=opened)) as path:
        with blocking.connect(path) as client:
            session = client.open("s1")
            updates = session.changes(timeout=5)
            assert [next(updates).rev, next(updates).rev] == [2, 4]
            assert session.leaf is None
        assert asyncio.run(aside(path)) == [2, 4]


@pytest.mark.parametrize(
    "lost",
    [
        changed(7, 8),
        changed(1, 2, epoch="e2"),
        {"jsonrpc": "2.0", "method": "session/didReset", "params": {"session": "s1"}},
    ],
    ids=["gap", "epoch", "reset"],
)
def test_after_a_gap_the_session_is_opened_again(lost: Message) -> None:
    anew = {**OPENED, "epoch": "e2", "rev": 9, "leaf": "cccccccc"}
    openings = iter([OPENED, anew])

    def opened(message: Message) -> list[Message]:
        answer = next(openings)
        late = [lost, changed(1, 2)] if answer is OPENED else [changed(9, 10, epoch="e2")]
        return [reply(message, answer), *late]

    script = Script(session_open=opened)
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        session = client.open("s1")
        updates = session.changes(timeout=5)
        update = next(updates)
        assert update.snapshot == anew
        assert (update.rev, session.leaf) == (9, "cccccccc")
        # The delta that waited behind the gap is gone, though its epoch is another by now.
        assert next(updates).rev == 10
    again = script.params("session/open")[1]
    assert again == {"path": OPENED["path"], "since": {"epoch": "e1", "rev": 1}}


def test_no_change_in_time_is_a_timeout_and_asking_again_goes_on() -> None:
    script = Script(x_tell=lambda message: [changed(1, 2), reply(message, None)])
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        session = client.open("s1")
        with pytest.raises(TimeoutError):
            next(session.changes(timeout=0.01))
        client.call("x/tell")
        assert next(session.changes(timeout=5)).rev == 2


def test_replies_may_come_in_any_order() -> None:
    asked: list[Message] = []

    def both_at_once(message: Message) -> list[Message]:
        asked.append(message)
        if len(asked) < 2:
            return []
        return [reply(one, one["params"]["name"]) for one in reversed(asked)]

    async def main(path: str) -> list[Any]:
        async with aio.connect(path) as client:
            calls = [client.call("x/ask", {"name": name}) for name in "ab"]
            return await asyncio.gather(*calls)

    with scripted_daemon(Script(x_ask=both_at_once)) as path:
        assert asyncio.run(main(path)) == ["a", "b"]


def test_cancelling_a_call_cancels_it_at_the_daemon_and_the_connection_goes_on() -> None:
    script = Script(x_slow=lambda _message: [])
    script.answers["$/cancelRequest"] = lambda message: [
        reply({"id": message["params"]["id"]}, "late"),
    ]
    script.answers["x/quick"] = "quick"

    async def main(path: str) -> Any:
        async with aio.connect(path) as client:
            slow = asyncio.create_task(client.call("x/slow"))
            await asyncio.to_thread(script.wait_for, "x/slow")
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            await asyncio.to_thread(script.wait_for, "$/cancelRequest")
            return await client.call("x/quick")

    with scripted_daemon(script) as path:
        assert asyncio.run(main(path)) == "quick"


def test_a_blocking_call_that_takes_too_long_is_cancelled_and_its_late_reply_dropped() -> None:
    script = Script(x_slow=lambda _message: [])
    script.answers["$/cancelRequest"] = lambda message: [
        reply({"id": message["params"]["id"]}, "late"),
    ]
    script.answers["x/quick"] = "quick"
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        with pytest.raises(TimeoutError):
            client._connection.call("x/slow", timeout=0.01)
        assert client.call("x/quick") == "quick"


def test_a_request_of_the_daemons_is_refused_and_disturbs_nothing() -> None:
    asking = {"jsonrpc": "2.0", "id": "d1", "method": "window/showMessageRequest", "params": {}}
    script = Script(x_ask=lambda message: [asking, reply(message, 1)])

    async def main(path: str) -> None:
        async with aio.connect(path) as client:
            assert await client.call("x/ask") == 1
            await client.call("x/ask")

    with scripted_daemon(script) as path:
        with blocking.connect(path) as client:
            assert client.call("x/ask") == 1
            client.call("x/ask")
        asyncio.run(main(path))
    refusals = [message["error"]["code"] for message in script.heard if "error" in message]
    assert refusals[:1] == [-32601]


def test_a_lost_connection_fails_what_waits_and_all_that_follows() -> None:
    async def main(path: str) -> None:
        async with aio.connect(path) as client:
            session = await client.open("s1")
            updates: Any = session.changes()
            waiting: asyncio.Task[Any] = asyncio.create_task(anext(updates))
            await asyncio.sleep(0)
            for _ in range(2):
                with pytest.raises(ConnectionLost):
                    await client.call("x/die")
            with pytest.raises(ConnectionLost):
                await waiting

    with scripted_daemon(Script(x_die=[HANG_UP])) as path:
        with blocking.connect(path) as client:
            session = client.open("s1")
            for _ in range(2):
                with pytest.raises(ConnectionLost):
                    client.call("x/die")
            with pytest.raises(ConnectionLost):
                next(session.changes())
        asyncio.run(main(path))


def test_a_socket_nobody_listens_on_says_how_to_start_a_daemon(tmp_path: Path) -> None:
    with (
        pytest.raises(NoDaemon, match="pisessiond serve --socket"),
        blocking.connect(str(tmp_path / "none")),
    ):
        pass

    async def main() -> None:
        with pytest.raises(NoDaemon, match="pisessiond serve --socket"):
            async with aio.connect(str(tmp_path / "none")):
                pass

    asyncio.run(main())


def test_a_path_too_long_for_a_socket_is_a_sentence_too(tmp_path: Path) -> None:
    long = str(tmp_path / ("x" * 200))
    with pytest.raises(NoDaemon, match="too long"), blocking.connect(long):
        pass


def test_something_else_that_listens_is_not_taken_for_a_daemon() -> None:
    script = Script(initialize=[b"220 mail.example.org ESMTP\r\n\r\n"])
    with (
        scripted_daemon(script) as path,
        pytest.raises(ConnectionLost, match="is it a daemon"),
        blocking.connect(path),
    ):
        pass


def test_half_a_frame_waits_for_its_other_half() -> None:
    left, right = socket.socketpair()
    from pisessiond.client.blocking_connection import BlockingConnection

    with left, right:
        connection = BlockingConnection(left)
        right.sendall(b"Content-Length: 39\r\n\r\n" + b'{"method":"x","params')
        with pytest.raises(TimeoutError):
            connection.receive("", timeout=0.01)
        right.sendall(b'":{"token": 1}   }')
        assert connection.receive("", timeout=5).params == {"token": 1}


UNNUMBERED = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32700, "message": "Parse error", "data": {"kind": "ParseError"}},
}


def test_an_error_that_names_no_request_leaves_nobody_waiting() -> None:
    script = Script(session_rename=lambda _: [UNNUMBERED])
    with scripted_daemon(script) as path:
        with blocking.connect(path) as client:
            session = client.open("s1")
            with pytest.raises(RpcFailure, match="Parse error"):
                session.rename("x")

        async def aside() -> None:
            async with aio.connect(path) as client:
                session = await client.open("s1")
                with pytest.raises(RpcFailure, match="Parse error"):
                    await asyncio.wait_for(session.rename("x"), 5)

        asyncio.run(aside())


def _deep() -> Any:
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), _deep()], ids=["NaN", "Infinity", "deep"]
)
def test_what_json_cannot_say_is_not_sent(value: Any) -> None:
    script = Script()
    with scripted_daemon(script) as path, blocking.connect(path) as client:
        with pytest.raises(RpcFailure, match="What was to be sent is") as caught:
            client.call("session/list", {"limit": value})
        assert caught.value.kind == "InvalidParams"
        assert client.open("s1").handle == "s1"
    assert script.params("session/list") == []
