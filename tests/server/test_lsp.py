"""The LSP half over a real socket: outline and diagnostics of session files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.core.problems import Problem
from pisessiond.server.lsp import session_path
from tests.server.support import Client, Running

pytestmark = pytest.mark.anyio


def document(uri: str) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}}


def opened(uri: str) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, "languageId": "x", "version": 1, "text": "x" * 1000}}


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return (tmp_path / "s.jsonl").as_uri()


async def diagnostics(client: Client) -> tuple[str, list[dict[str, Any]]]:
    told = await client.receive()
    assert told["method"] == "textDocument/publishDiagnostics"
    return told["params"]["uri"], told["params"]["diagnostics"]


async def test_the_outline_of_a_session_file(daemon: Running, uri: str) -> None:
    async with daemon.client() as client:
        entries = [{"id": one} for one in ("a", "b", "c")]
        await client.call("session/append", {"session": "s", "entries": entries})
        (root,) = await client.call("textDocument/documentSymbol", document(uri))
        assert root["name"] == "entry a"
        assert [one["name"] for one in root["children"]] == ["entry b", "entry c"]
        assert root["children"][1]["range"]["start"] == {"line": 3, "character": 0}


@pytest.mark.parametrize(
    "other", ["file:///no/such.jsonl", "file:///x/foreign.jsonl", "file:///a.py", "untitled:1"]
)
async def test_other_files_have_no_outline_and_no_diagnostics(daemon: Running, other: str) -> None:
    async with daemon.client() as client:
        client.send(method="textDocument/didOpen", params=opened(other))
        assert await client.call("textDocument/documentSymbol", document(other)) == []
        client.send(method="textDocument/didClose", params=document(other))
        assert await diagnostics(client) == (other, [])


async def test_problems_are_pushed_when_opened_and_when_they_change(
    daemon: Running, uri: str
) -> None:
    session = daemon.session()
    session.problems.append(Problem("badLine", "This line is no JSON.", line=3))
    async with daemon.client() as client:
        client.send(method="textDocument/didOpen", params=opened(uri))
        told, (found,) = await diagnostics(client)
        assert (told, found["code"], found["severity"]) == (uri, "badLine", 1)
        assert found["range"]["start"] == {"line": 2, "character": 0}
        session.tell("append", "external")
        session.problems.append(Problem("orphan", "No parent.", line=9, entry="a"))
        session.tell("problem", "external")
        _, found_now = await diagnostics(client)
        assert [one["code"] for one in found_now] == ["badLine", "orphan"]
        client.send(method="textDocument/didClose", params=document(uri))
        assert await diagnostics(client) == (uri, [])
        assert session.subscribers == []
        await client.call("daemon/status")


async def test_leaving_ends_what_an_open_document_heard(daemon: Running, uri: str) -> None:
    async with daemon.client() as other:
        async with daemon.client() as client:
            client.send(method="textDocument/didOpen", params=opened(uri))
            await diagnostics(client)
            assert len(daemon.session().subscribers) == 1
        while daemon.session().subscribers:
            await other.call("daemon/status")


@pytest.mark.parametrize(
    "params",
    [
        {"textDocument": {"uri": 5}},
        {"textDocument": None},
        [],
    ],
)
async def test_params_that_are_not_lsps(daemon: Running, params: object) -> None:
    async with daemon.client() as client:
        error = await client.refused("textDocument/documentSymbol", params)
        assert error["code"] == -32602
        assert await client.call("textDocument/documentSymbol", document("file:///a")) == []


async def test_an_initialize_that_pygls_cannot_read_spoils_the_lsp_half_alone(
    daemon: Running,
) -> None:
    async with daemon.fresh() as client:
        await client.call("initialize", {"capabilities": {"textDocument": 5}})
        error = await client.refused("textDocument/documentSymbol", document("file:///a"))
        assert error["code"] in (-32602, -32603)
        assert await client.call("session/stats", {"session": "s"})


async def test_an_outline_can_be_cancelled(daemon: Running, uri: str) -> None:
    async with daemon.client() as client:
        client.send(id="r", method="textDocument/documentSymbol", params=document(uri))
        client.send(method="$/cancelRequest", params={"id": "r"})
        assert (await client.answer("r"))["error"]["code"] == -32800
        assert await client.call("textDocument/documentSymbol", document(uri)) == []


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("file:///a%20b/%C3%A9.jsonl", "/a b/é.jsonl"),
        ("file://localhost/a.jsonl", "/a.jsonl"),
        ("file:///a.json", None),
        ("file://host/a.jsonl", None),
        ("file:///a%00.jsonl", None),
        ("https://x/a.jsonl", None),
        ("a.jsonl", None),
    ],
)
async def test_uris_of_session_files(given: str, path: str | None) -> None:
    assert session_path(given) == path


@pytest.mark.slow
async def test_nothing_of_lsps_is_loaded_before_an_editor_needs_it() -> None:
    code = (
        "import sys, pisessiond.server.daemon;"
        "print([m for m in ('pygls', 'lsprotocol', 'cattrs') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_pygls_and_the_daemon_ask_one_client_side_by_side(daemon: Running, uri: str) -> None:
    async with daemon.client(requests=["session/willCompact"]) as client:
        await client.call("textDocument/documentSymbol", document(uri))
        (connection,) = daemon.connections
        server = connection.lsp._server
        assert server is not None
        folders = server.protocol.send_request("workspace/workspaceFolders")
        of_pygls = await client.receive()
        cut = await daemon.session().prepare_compaction()
        params = {"session": "s", "operation_id": "o", "reason": "manual", "preparation": cut}
        answers: list[dict[str, Any]] = []

        async def ask() -> None:
            answers.append(await connection.ask("session/willCompact", params, 5))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            ours = await client.receive()
            client.send(id=of_pygls["id"], result=[{"uri": "file:///a", "name": "a"}])
            client.send(id=ours["id"], result={"cancel": True})
        assert answers == [{"cancel": True}]
        assert folders.result()[0].name == "a"
