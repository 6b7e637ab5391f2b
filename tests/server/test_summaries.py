"""Compactions and moves with a summary: what is passed on, told on the way, and ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from pisessiond.server.progress import short_count
from pisessiond.summarizers.base import NoSummarizer, SummaryFailed
from tests.server.fake_service import FakeSession, Gate
from tests.server.support import Client, Running

pytestmark = pytest.mark.anyio

COMPACT = {"session": "s"}
MOVE = {"session": "s", "target": None}


@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("session/navigate", {"summary": ""}, "summary"),
        ("session/navigate", {"summary": " \n"}, "summary"),
        ("session/navigate", {"customInstructions": "x"}, "customInstructions"),
        ("session/navigate", {"replaceInstructions": True}, "replaceInstructions"),
        ("session/navigate", {"summarizer": "x"}, "summarizer"),
        (
            "session/navigate",
            {"summarize": True, "summary": "x", "customInstructions": "y"},
            "customInstructions",
        ),
        (
            "session/navigate",
            {"summarize": True, "replaceInstructions": True},
            "replaceInstructions",
        ),
        ("session/compact", {"summary": ""}, "summary"),
        ("session/compact", {"summary": " \n"}, "summary"),
        ("session/compact", {"summary": "x", "customInstructions": "y"}, "customInstructions"),
        ("session/compact", {"summary": "x", "summarizer": "y"}, "summarizer"),
        ("session/compact", {"summary": "x", "dryRun": "summary"}, "dryRun"),
        ("session/compact", {"draft": "x"}, "draft"),
        ("session/compact", {"withInput": True}, "withInput"),
        ("session/compact", {"withInput": True, "dryRun": "summary"}, "withInput"),
        ("session/compact", {"dryRun": False}, "dryRun"),
        ("session/compact", {"workDoneToken": 1.5}, "workDoneToken"),
    ],
)
async def test_what_means_nothing_together_is_refused(
    daemon: Running, method: str, params: dict[str, Any], path: str
) -> None:
    target = {"target": None} if method == "session/navigate" else {}
    async with daemon.client() as client:
        error = await client.refused(method, {"session": "s", **target, **params})
        assert error["data"]["kind"] == "InvalidParams"
        assert error["data"]["path"].startswith(path)
    assert (daemon.session().rev, daemon.session().asked) == (1, [])


async def test_a_dry_run_of_a_move(daemon: Running) -> None:
    async with daemon.client() as client:
        params = {**MOVE, "dryRun": True, "summarizer": "extract", "exact": True}
        answer = await client.call("session/navigate", params)
        preview = answer.pop("preview")
        assert answer == {"rev": 1, "leaf": None}
        assert preview["leaves"] == {"entries": 3, "turns": 1}
        assert preview["summary"]["tokensIn"] == 7
        assert preview["returnsText"] is None
    assert daemon.session().asked == [{"exact": True, "summarizer": "extract"}]


async def test_a_dry_run_of_a_compaction(daemon: Running) -> None:
    async with daemon.client() as client:
        tried = await client.call("session/compact", {**COMPACT, "dryRun": True})
        assert (tried["rev"], tried["preview"]["firstKept"]) == (1, "k")
        assert "inputs" not in tried["preview"]
        params = {**COMPACT, "dryRun": True, "withInput": True, "summarizer": "pi"}
        tried = await client.call("session/compact", params)
        assert tried["preview"]["inputs"][0]["text"] == "text"
    assert daemon.session().asked[-1] == {"summarizer": "pi", "with_input": True}


async def test_a_summary_written_and_not_stored(daemon: Running) -> None:
    async with daemon.client() as client:
        params = {**COMPACT, "dryRun": "summary", "customInstructions": "short"}
        answer = await client.call("session/compact", params)
        assert (answer["summary"], answer["draft"], answer["rev"]) == ("written", "d1", 1)
        assert answer["usage"] == {"input": 5, "cost": {"total": 0.0000031}}
        assert answer["preview"]["kept"] == ["k"]
        stored = {**COMPACT, "summary": "edited", "draft": "d1"}
        done = await client.call("session/compact", stored)
        assert done == {"rev": 2, "leaf": None, "entry": "c1", "tokensBefore": 9, "tokensAfter": 5}
    given = daemon.session().asked[-1]
    assert (given["summary"], given["draft"]) == ("edited", "d1")


async def test_what_a_summarised_move_is_asked_with(daemon: Running) -> None:
    params = {
        **MOVE,
        "summarize": True,
        "customInstructions": "half \ud83d",
        "replaceInstructions": True,
        "summarizer": "extract",
        "label": "left",
    }
    async with daemon.client() as client:
        moved = await client.call("session/navigate", params)
        assert (moved["rev"], moved["editorText"]) == (2, "text")
    assert daemon.session().asked == [
        {
            "summarize": True,
            "summary": None,
            "instructions": "half \ud83d",
            "replaces_instructions": True,
            "summarizer": "extract",
            "label": "left",
        }
    ]


# Progress.


def value(message: dict[str, Any]) -> dict[str, Any]:
    assert message["method"] == "$/progress"
    assert message["params"]["token"] == "t"
    told: dict[str, Any] = message["params"]["value"]
    return told


async def test_progress_goes_to_who_asked_before_the_answer(daemon: Running) -> None:
    async with daemon.client() as client, daemon.client("other") as other:
        done = await client.call("session/compact", {**COMPACT, "workDoneToken": "t"})
        assert done["entry"] == "c1"
        told = [value(message) for message in client.unread]
        client.unread.clear()
        assert told == [
            {"kind": "begin", "title": "Compacting", "cancellable": True},
            {"kind": "report", "message": "waiting for extract"},
            {"kind": "report", "message": "999 received"},
            {"kind": "report", "message": "1.2k received"},
            {"kind": "end"},
        ]
        await other.call("daemon/status")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (SummaryFailed("pi", "length", "It was cut."), "SummaryFailed"),
        (RuntimeError("secret"), "InternalError"),
    ],
)
async def test_progress_ends_also_where_it_fails(
    daemon: Running, error: Exception, kind: str
) -> None:
    session = daemon.session()
    session.failure = error
    async with daemon.client() as client:
        params = {**MOVE, "summarize": True, "workDoneToken": "t"}
        refused = await client.refused("session/navigate", params)
        assert refused["data"]["kind"] == kind
        kinds = [value(message)["kind"] for message in client.unread]
        client.unread.clear()
        assert (kinds[0], kinds[-1], kinds.count("end")) == ("begin", "end", 1)


async def test_what_never_begins_tells_no_progress(daemon: Running) -> None:
    async with daemon.client() as client:
        params = {**MOVE, "target": "none", "summarize": True, "workDoneToken": "t"}
        assert (await client.refused("session/navigate", params))["code"] == 1001


async def test_everyone_who_has_the_session_open_hears_of_an_operation(daemon: Running) -> None:
    session = daemon.session()
    gate = session.summarising = Gate()
    async with daemon.client("watcher") as watcher, daemon.client("late") as late:
        await watcher.call("session/open", {"session": "s"})
        async with daemon.client("asker") as asker:
            asker.send(id="r", method="session/compact", params=COMPACT)
            await gate.reached.wait()
            opened = await late.call("session/open", {"session": "s"})
            assert opened["operation"]["received"] == 1_234
            gate.open.set()
            assert (await asker.answer("r"))["result"]["entry"] == "c1"
        told = [await watcher.receive() for _ in range(6)]
        assert [one["params"].get("state") for one in told] == [
            "begin", "report", "report", "report", "done", None,
        ]  # fmt: skip
        assert told[0]["params"]["origin"] == {"client": "asker", "clientId": "asker-id"}
        assert "message" not in told[0]["params"]
        states = [(await late.receive())["params"].get("state") for _ in range(2)]
        assert states == ["done", None]
        assert (await late.call("session/open", {"session": "s"}))["operation"] is None


async def test_a_slow_reader_misses_reports_and_no_beginning_and_no_end(daemon: Running) -> None:
    session = daemon.session()
    async with daemon.client() as slow, daemon.client("other") as other:
        await slow.call("session/open", {"session": "s"})
        origin = daemon.connections[1].client.origin(None)
        # What the transport and the system take before anything waits; not so much that changes
        # are dropped.
        for _ in range(8):
            session.tell("rename", "external", name="x" * 100_000)
        for number in range(300):
            session.tell_progress(session.progress("begin", origin))
            for _ in range(20):
                session.tell_progress(session.progress("report", origin, number))
            session.tell_progress(session.progress("done", origin))
        await other.call("daemon/status")
        states: list[str] = []
        while states.count("done") < 300:
            message = await slow.receive()
            if message["method"] == "session/didProgress":
                states.append(message["params"]["state"])
        assert [one for one in states if one != "report"] == ["begin", "done"] * 300
        assert states.count("report") < 300


async def test_after_too_much_was_dropped_opening_again_says_what_runs(daemon: Running) -> None:
    session = daemon.session()
    gate = session.summarising = Gate()
    async with daemon.client() as slow, daemon.client("other") as other:
        await slow.call("session/open", {"session": "s"})
        for _ in range(100):
            session.tell("rename", "external", name="x" * 100_000)
        other.send(id="r", method="session/compact", params=COMPACT)
        await gate.reached.wait()
        while (message := await slow.receive())["method"] != "session/didReset":
            assert message["method"] == "session/didChange"
        opened = await slow.call("session/open", {"session": "s"})
        assert opened["operation"]["state"] == "report"
        gate.open.set()
        await other.answer("r")
        assert (await slow.receive())["params"]["state"] == "done"
        assert (await slow.receive())["params"]["changes"][0]["kind"] == "compact"


def test_counts_of_characters_are_short() -> None:
    counts = (0, 999, 1_000, 1_234, 9_949, 9_950, 13_499, 1_000_000)
    assert [short_count(count) for count in counts] == [
        "0", "999", "1.0k", "1.2k", "9.9k", "10k", "13k", "1000k",
    ]  # fmt: skip


# Ending, and asking again.


async def test_whoever_cancels_is_named_to_who_asked(daemon: Running) -> None:
    gate = daemon.session().summarising = Gate()
    async with daemon.client("asker") as asker, daemon.client("other") as other:
        params = {**COMPACT, "workDoneToken": "t"}
        asker.send(id="r", method="session/compact", params=params)
        await gate.reached.wait()
        nothing = await other.call("session/cancel", {"session": "s", "operationId": "another"})
        assert nothing == {"cancelled": None}
        ended = await other.call("session/cancel", {"session": "s"})
        assert ended["cancelled"]["operation"] == "compact"
        error = (await asker.answer("r"))["error"]
        assert error["data"] == {"kind": "Cancelled", "by": "other"}
        last = value(asker.unread[-1])
        asker.unread.clear()
        assert last == {"kind": "end", "message": "Cancelled by other."}
    assert daemon.session().rev == 1


async def test_taking_the_request_back_ends_the_operation(daemon: Running) -> None:
    session = daemon.session()
    gate = session.summarising = Gate()
    async with daemon.client() as client:
        params = {**COMPACT, "workDoneToken": "t"}
        client.send(id="r", method="session/compact", params=params)
        await gate.reached.wait()
        client.send(method="$/cancelRequest", params={"id": "r"})
        assert (await client.answer("r"))["error"]["data"] == {"kind": "Cancelled"}
        assert value(client.unread[-1])["kind"] == "end"
        client.unread.clear()
        session.summarising = None
        assert (await client.call("session/compact", COMPACT))["entry"] == "c1"


@asynccontextmanager
async def repeated(
    daemon: Running, session: FakeSession, **more: Any
) -> AsyncIterator[tuple[Client, Client, Gate]]:
    """A compaction at work and its repetition, which waits for it, on another connection."""
    gate = session.summarising = Gate()
    params = {**COMPACT, "requestId": "once"}
    async with daemon.client() as first:
        first.send(id="r", method="session/compact", params={**params, **more})
        await gate.reached.wait()
        async with daemon.client() as second:
            second.send(id="again", method="session/compact", params=params)
            # Answers come in order: when this one is there the repetition is at work.
            await second.call("daemon/status")
            await anyio.wait_all_tasks_blocked()
            yield first, second, gate


async def test_a_repetition_waits_for_the_first_and_gets_its_answer(daemon: Running) -> None:
    session = daemon.session()
    async with repeated(daemon, session, workDoneToken="t") as (first, second, gate):
        gate.open.set()
        done = (await first.answer("r"))["result"]
        assert (await second.answer("again"))["result"] == done
        first.unread.clear()
    assert session.rev == 2


@pytest.mark.parametrize(
    "error", [SummaryFailed("pi", "quota", "No money."), NoSummarizer("None.", ["pi"])]
)
async def test_a_repetition_that_waited_fails_like_the_first(
    daemon: Running, error: Exception
) -> None:
    session = daemon.session()
    session.failure = error
    async with repeated(daemon, session) as (first, second, gate):
        gate.open.set()
        refused = (await first.answer("r"))["error"]
        assert (await second.answer("again"))["error"] == refused
        assert len(session.asked) == 1
        # Later it is tried anew.
        session.failure = None
        params = {**COMPACT, "requestId": "once"}
        assert (await second.call("session/compact", params))["entry"] == "c1"


async def test_what_someone_ended_is_not_begun_anew_by_a_repetition(daemon: Running) -> None:
    session = daemon.session()
    async with repeated(daemon, session) as (first, second, _), daemon.client("other") as other:
        await other.call("session/cancel", {"session": "s"})
        error = (await first.answer("r"))["error"]
        assert error["data"]["by"] == "other"
        assert (await second.answer("again"))["error"] == error
    assert (session.rev, len(session.asked)) == (1, 1)


@pytest.mark.parametrize("how", ["taken back", "vanished"])
async def test_what_ended_with_its_asker_is_carried_out_for_who_repeated_it(
    daemon: Running, how: str
) -> None:
    session = daemon.session()
    async with repeated(daemon, session) as (first, second, _):
        session.summarising = None
        if how == "vanished":
            first.writer.transport.abort()
        else:
            first.send(method="$/cancelRequest", params={"id": "r"})
            assert (await first.answer("r"))["error"]["data"] == {"kind": "Cancelled"}
        assert (await second.answer("again"))["result"]["rev"] == 2
    assert (session.rev, len(session.asked)) == (2, 2)
