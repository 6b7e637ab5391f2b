"""Clients of a real daemon that have a word before it compacts or moves."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from pisessiond.client import aio, blocking
from pisessiond.client.errors import RpcFailure
from pisessiond.client.session import Session
from tests.daemon.homes import PATIENCE, ROOT, Home
from tests.support.service import answer, user

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

SUMMARY: dict[str, Any] = {
    "summary": "## Goal\nIn the editor's words.",
    "details": {"from": "editor", "half": "\ud83d"},
    "usage": {"input": 3, "cost": {"total": 1e-7}},
}


@pytest.fixture(autouse=True)
def at_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PISESSIOND_HOME", "PI_CODING_AGENT_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, home.environment[name])


@pytest.fixture
def path(home: Home) -> Path:
    """A session that can be compacted."""
    entries, parent = [], None
    for number in range(6):
        make = user if number % 2 == 0 else answer
        entry = make(f"{number} " + "word " * 10_000, f"{number:08x}", parent)
        entries.append(entry)
        parent = entry["id"]
    return home.session("shared", entries)


def last_entry(path: Path) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(path.read_bytes().splitlines()[-1])
    return entry


@asynccontextmanager
async def editor(
    path: Path, method: str, say: Callable[[dict[str, Any]], Any]
) -> AsyncIterator[Session]:
    """A client that has the session open and a word in what is about to happen."""

    async def handler(params: dict[str, Any]) -> Any:
        found = say(params)
        return await found if hasattr(found, "__await__") else found

    async with aio.connect(name="editor", requests={method: handler}) as client:
        yield await client.open(path=str(path))


async def states(session: Session, until: str) -> list[str]:
    """What the session's long operations did, as one of its readers hears it."""
    told: list[str] = []
    with anyio.fail_after(PATIENCE):
        async for update in session.changes(progress=True):
            if update.progress is not None:
                told.append(update.progress["state"])
                if told[-1] == until:
                    return told
    raise AssertionError("changes end only with an error")


async def test_an_editor_gives_the_summary_of_anothers_compaction(path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def say(params: dict[str, Any]) -> Any:
        asked.append(params)
        return SUMMARY

    async with editor(path, "session/willCompact", say) as edited, aio.connect() as client:
        session = await client.open(path=str(path))
        told: list[Any] = []
        done = await session.compact(progress=told.append)
        assert (await states(edited, "done"))[0] == "begin"
    assert [one["kind"] for one in told] == ["begin", "end"]
    (params,) = asked
    assert (params["session"], params["reason"]) == (session.handle, "manual")
    assert params["preparation"]["tokensBefore"] > params["preparation"]["tokensKept"]
    entry = last_entry(path)
    assert entry["id"] == done["entry"]
    assert entry["summary"] == SUMMARY["summary"]
    assert entry["details"] == SUMMARY["details"]
    # What it did not say of its usage stands there as zeros, for pi adds all of it up.
    assert (entry["usage"]["input"], entry["usage"]["output"]) == (3, 0)
    assert entry["usage"]["cost"]["total"] == SUMMARY["usage"]["cost"]["total"]
    assert entry["fromHook"] is True


async def test_an_editor_forbids_a_compaction(path: Path) -> None:
    before = path.read_bytes()
    async with (
        editor(path, "session/willCompact", lambda _: {"cancel": True}) as edited,
        aio.connect() as client,
    ):
        session = await client.open(path=str(path))
        with pytest.raises(RpcFailure) as refused:
            await session.compact()
        assert (refused.value.kind, refused.value.data["by"]) == ("Cancelled", "editor")
        assert await states(edited, "cancelled") == ["begin", "cancelled"]
        assert path.read_bytes() == before
        assert (await session.label("00000000", "after"))["leaf"] is not None


async def test_an_editor_that_dies_over_the_question_holds_nobody_up(path: Path) -> None:
    reached, dead = anyio.Event(), anyio.Event()

    async def say(_: dict[str, Any]) -> Any:
        reached.set()
        await anyio.sleep_forever()

    async with aio.connect() as client:
        session = await client.open(path=str(path))

        async def edit() -> None:
            async with editor(path, "session/willCompact", say):
                opened.set()
                await reached.wait()
            dead.set()

        opened = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(edit)
            await opened.wait()
            # Far below the five seconds that it would have had.
            with anyio.fail_after(4):
                with pytest.raises(RpcFailure) as refused:
                    await session.compact()
            await dead.wait()
        assert refused.value.kind == "NoSummarizer"
        assert (await session.append({"type": "custom", "customType": "x"}))["ids"]


async def test_who_takes_the_compaction_back_takes_the_question_back(path: Path) -> None:
    ended, reached = anyio.Event(), anyio.Event()

    async def say(_: dict[str, Any]) -> Any:
        reached.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with editor(path, "session/willCompact", say) as edited, aio.connect() as client:
        session = await client.open(path=str(path))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.compact)
            with anyio.fail_after(PATIENCE):
                await reached.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(0.5 * 5):
            await ended.wait()
        assert await states(edited, "cancelled") == ["begin", "cancelled"]
        assert (await session.navigate("00000000", exact=True))["leaf"] == "00000000"


async def test_a_client_that_lends_itself_is_asked_over_its_own_compaction(path: Path) -> None:
    """On one connection without a loop: it answers while it waits for its own request."""

    def compact() -> Any:
        requests = {"session/willCompact": lambda _: SUMMARY}
        with blocking.connect(requests=requests) as client:
            return client.open(path=str(path)).compact()

    with anyio.fail_after(PATIENCE):
        done = await anyio.to_thread.run_sync(compact)
    assert last_entry(path)["id"] == done["entry"]


async def test_an_editor_gives_summary_and_label_of_anothers_move(path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def say(params: dict[str, Any]) -> Any:
        asked.append(params)
        return {"summary": "What was tried.", "label": "tried"}

    async with editor(path, "session/willNavigate", say), aio.connect() as client:
        session = await client.open(path=str(path))
        moved = await session.navigate("00000001", exact=True, summarize=True)
        nodes = {node["id"]: node for node in (await session.whole_tree())["nodes"]}
    (params,) = asked
    assert (params["target"], params["summarize"]) == ("00000001", True)
    assert params["preparation"]["leaves"]["entries"] == 4
    written = moved.get("summaryEntry")
    assert written is not None
    assert nodes[written]["parent"] == "00000001"
    assert nodes[written].get("label") == "tried"


async def test_whoever_ends_an_operation_is_named_everywhere(path: Path) -> None:
    reached = anyio.Event()

    async def say(_: dict[str, Any]) -> Any:
        reached.set()
        await anyio.sleep_forever()

    refused: list[RpcFailure] = []
    async with (
        editor(path, "session/willCompact", say) as edited,
        aio.connect(name="asker") as client,
        aio.connect(name="other") as other,
    ):
        session, seen = await client.open(path=str(path)), await other.open(path=str(path))

        async def compact() -> None:
            try:
                await session.compact()
            except RpcFailure as failure:
                refused.append(failure)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            with anyio.fail_after(PATIENCE):
                await reached.wait()
            late = await other.open(path=str(path))
            running = late.opened["operation"]
            assert running is not None
            ended = await seen.cancel_operation(operation_id=running["operationId"])
            assert ended["cancelled"] is not None
        assert refused[0].data["by"] == "other"
        assert (await states(edited, "cancelled"))[-1] == "cancelled"
        assert (await other.open(path=str(path))).opened["operation"] is None


async def test_the_example_lends_its_model_to_a_compaction(home: Home, path: Path) -> None:
    async with aio.connect() as client:
        session = await client.open(path=str(path))
        example = [sys.executable, str(ROOT / "clients/python/lend_model.py")]
        example += [home.place.own_socket, str(path)]
        async with await anyio.open_process(example, env=home.environment) as process:
            assert process.stdout is not None
            said = BufferedByteReceiveStream(process.stdout)
            with anyio.fail_after(PATIENCE):
                assert await said.receive_until(b"\n", 100) == b"lending"
                told: list[Any] = []
                done = await session.compact(summarizer="client", progress=told.append)
                assert await said.receive_until(b"\n", 100) == b"compact: begin"
                heard = b""
                while b"compact: done" not in heard:
                    heard += await said.receive(100)
            assert b"asked for a history summary" in heard
            process.send_signal(signal.SIGINT)
    entry = last_entry(path)
    assert entry["id"] == done["entry"]
    assert entry["summary"].startswith("## Goal\n[User]: 0 word")
    assert entry["fromHook"] is False
    assert [one["kind"] for one in told][-1] == "end"


async def test_a_lender_that_refuses_or_dies_fails_the_compaction_alone(path: Path) -> None:
    before = path.read_bytes()
    reached = anyio.Event()

    async def refuse(_: dict[str, Any]) -> Any:
        raise RpcFailure(-32000, "no model is loaded")

    async def die(_: dict[str, Any]) -> Any:
        reached.set()
        await anyio.sleep_forever()

    async with aio.connect() as client:
        session = await client.open(path=str(path))
        async with editor(path, "session/summarize", refuse):
            with pytest.raises(RpcFailure) as refused:
                await session.compact(summarizer="client")
        assert refused.value.data["reason"] == "client"
        async with anyio.create_task_group() as tasks:
            opened = anyio.Event()

            async def lend() -> None:
                async with editor(path, "session/summarize", die):
                    opened.set()
                    await reached.wait()

            tasks.start_soon(lend)
            await opened.wait()
            with anyio.fail_after(PATIENCE), pytest.raises(RpcFailure) as lost:
                await session.compact(summarizer="client")
        assert lost.value.kind == "SummaryFailed"
        assert path.read_bytes() == before


async def test_ctrl_c_at_a_terminal_takes_the_text_back_from_the_lender(
    home: Home, path: Path
) -> None:
    before = path.read_bytes()
    reached, ended = anyio.Event(), anyio.Event()

    async def lend(_: dict[str, Any]) -> Any:
        reached.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    script = (
        "import sys\n"
        "from pisessiond.client import blocking\n"
        "from pisessiond.client.errors import Interrupted\n"
        "with blocking.connect() as client:\n"
        "    session = client.open(path=sys.argv[1])\n"
        "    try:\n"
        "        session.compact(summarizer='client')\n"
        "    except Interrupted as end:\n"
        "        print(end.outcome, end.failure.kind, session.leaf)\n"
    )
    async with editor(path, "session/summarize", lend) as edited:
        command = [sys.executable, "-c", script, str(path)]
        async with await anyio.open_process(command, env=home.environment) as process:
            assert process.stdout is not None
            said = BufferedByteReceiveStream(process.stdout)
            with anyio.fail_after(PATIENCE):
                await reached.wait()
                process.send_signal(signal.SIGINT)
                told = await said.receive_until(b"\n", 100)
                assert told == b"cancelled Cancelled 00000005"
                await ended.wait()
        assert (await states(edited, "cancelled"))[-1] == "cancelled"
    assert path.read_bytes() == before
