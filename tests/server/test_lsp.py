"""The LSP half over a real socket: files that open, change and close, and what is told of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.server.lsp.capabilities import LSP_METHODS, session_path
from tests.server.lsp_support import MODERN, LspEditor, lsp_editor, until
from tests.server.support import Client, Running
from tests.support.service import ME, answer, label, spell, user

pytestmark = pytest.mark.anyio

HEADER = {
    "type": "session",
    "version": 3,
    "id": "s",
    "timestamp": "2026-11-30T00:00:00.000Z",
    "cwd": "/srv",
}
SOUND = (user("hello", "a"), answer("hi", "b", "a"))


def written(path: Path, *lines: Any) -> Path:
    path.write_bytes(b"".join(spell(line) for line in (HEADER, *lines)))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "s.jsonl", *SOUND)


@pytest.fixture
async def editor(tmp_path: Path, path: Path, anyio_backend: str) -> AsyncIterator[LspEditor]:
    capabilities = {**MODERN, "workspace": {}}
    async with lsp_editor(tmp_path, path, capabilities) as made:
        yield made


def codes(problems: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(one["code"], one["range"]["start"]["line"]) for one in problems]


async def test_problems_are_pushed_when_opened_while_they_change_and_taken_away_at_the_end(
    editor: LspEditor, path: Path
) -> None:
    assert await editor.opened() == []
    with path.open("ab") as file:
        file.write(b"{ no json }\n")
    session = await editor.house.open(path)
    await session.look()
    assert codes(await editor.problems()) == [("badLine", 3)]
    with path.open("ab") as file:
        file.write(spell(user("lost", "c", "gone")))
    await session.look()
    assert codes(await editor.problems()) == [("badLine", 3), ("orphan", 4)]
    editor.closes()
    assert await editor.problems() == []
    assert list(session.subscribers) == []
    await editor.client.call("daemon/status")


async def test_a_file_that_is_rewritten_is_checked_anew(editor: LspEditor, path: Path) -> None:
    await editor.opened()
    written(path, SOUND[0], b"]\n")
    await (await editor.house.open(path)).look()
    assert codes(await editor.problems()) == [("badLine", 2)]
    # As most editors save.
    written(path.with_suffix(".new"), *SOUND).replace(path)
    await (await editor.house.open(path)).look()
    assert await editor.problems() == []


async def test_a_file_that_vanishes_has_no_problems_until_it_comes_back(
    editor: LspEditor, path: Path
) -> None:
    written(path, SOUND[0], b"]\n")
    assert codes(await editor.opened()) == [("badLine", 2)]
    session = await editor.house.open(path)
    path.unlink()
    with pytest.raises(Exception, match="gone"):
        await session.look()
    assert await editor.problems() == []
    (connection,) = editor.daemon.connections
    document = connection.lsp._documents.get(editor.uri)
    assert document is not None
    await until(lambda: not document.is_telling)
    written(path, b"[\n", *SOUND)
    assert len(await editor.ask("documentSymbol")) == 1
    assert codes(await editor.problems()) == [("badLine", 1)]


async def test_a_file_that_becomes_a_session_is_shown_from_then_on(
    editor: LspEditor, path: Path
) -> None:
    path.write_bytes(b"{}\n")
    editor.opens()
    assert await editor.ask("documentSymbol") == []
    written(path, *SOUND, b"[\n")
    assert len(await editor.ask("documentSymbol")) == 1
    assert codes(await editor.problems()) == [("badLine", 3)]
    editor.closes()
    assert await editor.problems() == []


async def test_a_problem_says_what_else_has_to_do_with_it(tmp_path: Path) -> None:
    path = written(
        tmp_path / "d.jsonl",
        user("one", "a"),
        user("two", "b", "a"),
        user("three", "b", "a"),
        user("lost", "c", "gone"),
        user("lost too", "d", "gone"),
    )
    async with lsp_editor(tmp_path, path, {**MODERN, "workspace": {}}) as editor:
        found = await editor.opened()
        assert codes(found) == [("duplicateId", 2), ("orphan", 4), ("orphan", 5)]
        text = path.read_text().split("\n")
        twice, lost, _ = found
        assert _marked(text, twice["range"]) == '"b"'
        (later,) = twice["relatedInformation"]
        assert later["message"] == "The line that stands in its place."
        assert later["location"]["uri"] == editor.uri
        assert later["location"]["range"]["start"]["line"] == 3
        assert _marked(text, later["location"]["range"]) == '"b"'
        assert _marked(text, lost["range"]) == '"gone"'
        (other,) = lost["relatedInformation"]
        assert other["location"]["range"]["start"]["line"] == 5


def _marked(lines: list[str], place: dict[str, Any]) -> str:
    start, end = place["start"], place["end"]
    assert start["line"] == end["line"]
    line: str = lines[start["line"]]
    return line[start["character"] : end["character"]]


async def test_related_places_go_to_editors_that_show_them_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "d.jsonl", user("two", "b"), user("three", "b"))
    async with lsp_editor(tmp_path, path, {}) as editor:
        (found,) = await editor.opened()
        assert "relatedInformation" not in found


@pytest.mark.parametrize(
    "other", ["file:///no/such.jsonl", "file:///a.py", "untitled:1", "file://host/s.jsonl"]
)
async def test_other_files_are_left_alone(editor: LspEditor, other: str) -> None:
    editor.opens(other)
    editor.closes(other)
    document = {"textDocument": {"uri": other}}
    assert await editor.client.call("textDocument/documentSymbol", document) == []


async def test_an_editor_is_told_once_that_sizes_and_places_are_others(
    tmp_path: Path, path: Path
) -> None:
    async with lsp_editor(tmp_path, path) as editor:
        await editor.opened()
        session = await editor.house.open(path)
        await session.sized()
        asked: list[dict[str, Any]] = []
        for number in range(3):
            await session.append([user(f"more {number}")], origin=ME)
        while len(asked) < 2:
            asked.append(await editor.client.receive())
        assert [one["method"] for one in asked] == [
            "workspace/codeLens/refresh",
            "workspace/inlayHint/refresh",
        ]
        # Nothing more is asked before it has answered, and what came meanwhile then once.
        await session.append([user("while it waits")], origin=ME)
        await session.append([user("and again")], origin=ME)
        for one in asked:
            editor.client.send(id=one["id"], result=None)
        again = [(await editor.client.receive())["method"] for _ in range(2)]
        assert again == [one["method"] for one in asked]


async def test_leaving_ends_what_an_open_document_heard(daemon: Running, tmp_path: Path) -> None:
    uri = (tmp_path / "s.jsonl").as_uri()
    session = daemon.session()
    async with daemon.client() as client:
        document = {"uri": uri, "languageId": "jsonl", "version": 1, "text": ""}
        client.send(method="textDocument/didOpen", params={"textDocument": document})
        await until(lambda: session.subscribers)
    await until(lambda: not session.subscribers)


@pytest.mark.parametrize("params", [{"textDocument": {"uri": 5}}, {"textDocument": None}, []])
@pytest.mark.parametrize("method", sorted(LSP_METHODS))
async def test_params_that_are_not_lsps(editor: LspEditor, method: str, params: object) -> None:
    error = await editor.client.refused(method, params)
    assert error["code"] == -32602
    assert len(await editor.ask("documentSymbol")) == 1


async def test_a_place_that_is_none(editor: LspEditor) -> None:
    error = await editor.client.refused(
        "textDocument/hover", {**editor.document, "position": {"line": "x"}}
    )
    assert error["code"] == -32602
    for line in (99, 2**31 - 1):
        assert await editor.at("hover", line) is None
    assert "hello" in await editor.hover(1, 2**31 - 1)


async def test_an_initialize_that_pygls_cannot_read_spoils_the_lsp_half_alone(
    daemon: Running,
) -> None:
    async with daemon.fresh() as client:
        await client.call("initialize", {"capabilities": {"textDocument": 5}})
        document = {"textDocument": {"uri": "file:///a"}}
        error = await client.refused("textDocument/documentSymbol", document)
        assert error["code"] in (-32602, -32603)
        assert await client.call("session/stats", {"session": "s"})


async def test_a_question_can_be_cancelled(editor: LspEditor) -> None:
    client = editor.client
    client.send(id="r", method="textDocument/documentSymbol", params=editor.document)
    client.send(method="$/cancelRequest", params={"id": "r"})
    assert (await client.answer("r"))["error"]["code"] == -32800
    assert len(await editor.ask("documentSymbol")) == 1


async def test_a_session_that_is_gone_answers_with_a_sentence(
    editor: LspEditor, path: Path
) -> None:
    await editor.opened()
    path.write_bytes(b"")
    error = await editor.client.ask("textDocument/hover", {**editor.document, "position": _TOP})
    assert error.get("result") is None


_TOP = {"line": 1, "character": 0}


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
        ("file:///%FF.jsonl", "/\udcff.jsonl"),
        ("file:///\ud83d.jsonl", None),
        ("file://[a/b.jsonl", None),
    ],
)
async def test_uris_of_session_files(given: str, path: str | None) -> None:
    assert session_path(given) == path


async def test_a_file_whose_name_is_no_utf8_is_shown_and_written_to(
    editor: LspEditor, path: Path
) -> None:
    odd = path.rename(os.fsdecode(os.fsencode(path.parent) + b"/\xff.jsonl"))
    editor.uri = odd.as_uri()
    assert "hello" in await editor.hover(1)
    await editor.execute("label", entry="a", label="found")
    assert (await editor.told("window/showMessage"))["message"] == "Labelled “found”."
    assert b"found" in odd.read_bytes()


@pytest.mark.slow
async def test_nothing_of_lsps_is_loaded_before_an_editor_needs_it() -> None:
    code = (
        "import sys, pisessiond.server.daemon;"
        "print([m for m in ('pygls', 'lsprotocol', 'cattrs') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_pygls_and_the_daemon_ask_one_client_side_by_side(daemon: Running) -> None:
    async with daemon.client(requests=["session/willCompact"]) as client:
        document = {"textDocument": {"uri": "file:///other"}}
        await client.call("textDocument/documentSymbol", document)
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


async def test_text_of_an_open_document_is_not_kept(editor: LspEditor, path: Path) -> None:
    await editor.opened()
    client: Client = editor.client
    (connection,) = editor.daemon.connections
    server = connection.lsp._server
    assert server is not None
    assert server.workspace.text_documents == {}
    client.send(method="textDocument/didChange", params={"x": label("l", None, "a", "x")})
    assert await client.call("daemon/status")
