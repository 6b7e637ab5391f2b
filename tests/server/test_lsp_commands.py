"""What an editor does to a session by commands of LSP."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pisessiond.server.lsp.capabilities import COMMANDS
from tests.server.fake_service import Gate
from tests.server.lsp_support import MODERN, SAMPLE, LspEditor, lsp_editor
from tests.server.support import Running
from tests.support.service import answer as reply
from tests.support.service import entry, spell, user

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def editor(tmp_path: Path, anyio_backend: str) -> AsyncIterator[LspEditor]:
    path = Path(shutil.copy(SAMPLE, tmp_path / "sample.jsonl"))
    async with lsp_editor(tmp_path, path) as made:
        yield made


def last_entry(editor: LspEditor) -> dict[str, Any]:
    lines = Path(editor.uri.removeprefix("file://")).read_text().splitlines()
    found: dict[str, Any] = json.loads(lines[-1])
    return found


async def test_navigate_to_an_answer_goes_there(editor: LspEditor) -> None:
    answer = await editor.execute("navigate", entry="3b6fd081")
    assert answer["result"]["leaf"] == "3b6fd081"
    assert "editorText" not in answer["result"]
    told = await editor.told("window/showMessage")
    assert told["message"] == answer["result"]["message"]
    assert told["message"].startswith("The session stands at “Passes, but hides")


async def test_a_fork_is_shown(editor: LspEditor) -> None:
    answer = await editor.execute("fork", line=21)
    made = answer["result"]
    assert made["editorText"] == "Use an injected clock instead."
    assert Path(made["path"]).is_file()
    told = await editor.told("window/showMessage")
    assert told["message"] == "Forked before “Use an injected clock instead.”."
    shown = await editor.told("window/showDocument")
    assert shown == {"uri": made["uri"], "takeFocus": True}
    editor.client.send(id=editor.last["id"], result={"success": True})
    symbols = await editor.client.call(
        "textDocument/documentSymbol", {"textDocument": {"uri": made["uri"]}}
    )
    assert symbols[-1]["name"].startswith("Now the login test")


async def test_an_answer_is_forked_at(editor: LspEditor) -> None:
    answer = await editor.execute("fork", entry="82d6c09b")
    assert "editorText" not in answer["result"]
    assert "Forked at " in (await editor.told("window/showMessage"))["message"]
    await editor.told("window/showDocument")


async def test_a_fork_without_a_file_and_an_editor_that_shows_none(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-30T00:00:00.000Z"}
    lines = ({**header, "cwd": "/srv"}, user("one", "a"), user("two", "b", "a"))
    path.write_bytes(b"".join(map(spell, lines)))
    async with lsp_editor(tmp_path, path, MODERN) as editor:
        answer = await editor.execute("fork", entry="b")
        assert answer["result"]["unsaved"] is True
        told = await editor.told("window/showMessage")
        assert told["message"].endswith("It has no file before its first answer.")
        assert await editor.client.call("daemon/status")


async def test_half_a_surrogate_pair_never_leaves_for_an_editor(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-30T00:00:00.000Z"}
    first = user("cut \ud83d", "\ud83d")
    lines = ({**header, "cwd": "/srv"}, first, reply("off", "b", "\ud83d"))
    path.write_bytes(b"".join(map(spell, lines)))
    async with lsp_editor(tmp_path, path, MODERN) as editor:
        lenses = await editor.ask("codeLens")
        offered = [one["command"]["arguments"] for one in lenses if one["command"].get("arguments")]
        offered += [one["command"]["arguments"] for one in await editor.actions(1)]
        told = [{k: v for k, v in given.items() if k != "label"} for (given,) in offered]
        assert told == [{"uri": editor.uri, "line": 1}] * 6
        command = {"command": "pisessiond.lsp.navigate", "arguments": offered[0]}
        done = await editor.client.call("workspace/executeCommand", command)
        assert done["editorText"] == "cut \ufffd"
        assert (await editor.told("window/showMessage"))["message"].endswith("before “cut \ufffd”.")


async def test_labels_are_set_and_removed(editor: LspEditor) -> None:
    answer = await editor.execute("label", entry="0d84e6f3", label="best")
    assert last_entry(editor)["label"] == "best"
    assert answer["result"]["message"] == "Labelled “best”."
    await editor.execute("label", entry="0d84e6f3", label="")
    assert "label" not in last_entry(editor)
    assert last_entry(editor)["targetId"] == "0d84e6f3"
    await editor.execute("label", entry="0d84e6f3", label=" \t")
    assert "label" not in last_entry(editor)
    sentences = [(await editor.told("window/showMessage"))["message"] for _ in range(3)]
    assert sentences == ["Labelled “best”.", *["The label is removed."] * 2]


async def test_out_of_the_context_and_back(editor: LspEditor) -> None:
    await editor.execute("omit", entry="b15d7c40")
    assert last_entry(editor)["replacement"] is None
    await editor.execute("restore", entry="b15d7c40")
    assert "Done: 4 files" in str(last_entry(editor)["replacement"])
    sentences = [(await editor.told("window/showMessage"))["message"] for _ in range(2)]
    assert sentences == ["Out of the context from here on.", "Back in the context from here on."]


@pytest.mark.parametrize(
    ("command", "target", "kind"),
    [
        ("navigate", {"entry": "none"}, "EntryNotFound"),
        ("navigate", {"line": 0}, "EntryNotFound"),
        ("navigate", {"line": 999}, "EntryNotFound"),
        ("omit", {"entry": "3b6fd081"}, "NotOnBranch"),
        ("omit", {"entry": "b93d0e57"}, "InvalidEntry"),
    ],
)
async def test_what_is_refused_is_told_to_the_person(
    editor: LspEditor, command: str, target: dict[str, Any], kind: str
) -> None:
    before = last_entry(editor)
    answer = await editor.execute(command, **target)
    refused = answer["result"]["refused"]
    assert refused["kind"] == kind
    told = await editor.told("window/showMessage")
    assert told == {"type": 2, "message": refused["message"]}
    assert last_entry(editor) == before


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"command": "pisessiond.navigate", "arguments": []},
        {"command": ["pisessiond.lsp.navigate"]},
        {"command": "pisessiond.lsp.navigate"},
        {"command": "pisessiond.lsp.navigate", "arguments": [{}]},
        {"command": "pisessiond.lsp.navigate", "arguments": [{"uri": "file:///s.jsonl"}]},
        {"command": "pisessiond.lsp.navigate", "arguments": [{"uri": "u", "entry": [1]}]},
        {"command": "pisessiond.lsp.navigate", "arguments": [{"uri": "u", "line": True}]},
        {"command": "pisessiond.lsp.label", "arguments": [{"uri": "u", "entry": "a"}]},
    ],
)
async def test_what_a_program_did_wrong_is_an_error_answer(
    editor: LspEditor, params: dict[str, Any]
) -> None:
    error = await editor.client.refused("workspace/executeCommand", params)
    assert error["code"] == -32602


def test_no_command_is_one_of_the_extension_for_vs_code() -> None:
    package = json.loads((ROOT / "vscode-extension" / "package.json").read_text())
    theirs = {one["command"] for one in package["contributes"]["commands"]}
    assert theirs
    assert theirs.isdisjoint(COMMANDS)


async def test_a_command_can_be_cancelled_and_then_changes_nothing(
    daemon: Running, tmp_path: Path
) -> None:
    session = daemon.session()
    session.before_commit = gate = Gate()
    session.lines["a"] = spell(entry("custom", "a"))
    session.parents["a"] = None
    uri = (tmp_path / "s.jsonl").as_uri()
    async with daemon.client() as client:
        params = {"command": "pisessiond.lsp.navigate", "arguments": [{"uri": uri, "entry": "a"}]}
        client.send(id="c", method="workspace/executeCommand", params=params)
        await gate.reached.wait()
        client.send(method="$/cancelRequest", params={"id": "c"})
        answer = await client.answer("c")
        assert answer["error"]["code"] == -32800
        gate.open.set()
        assert await client.call("daemon/status")
    assert session.leaf is None


async def test_a_command_that_waits_keeps_nothing_else_waiting(
    daemon: Running, tmp_path: Path
) -> None:
    session = daemon.session()
    session.before_commit = gate = Gate()
    uri = (tmp_path / "s.jsonl").as_uri()
    async with daemon.client() as client:
        params = {"command": "pisessiond.lsp.navigate", "arguments": [{"uri": uri, "entry": "a"}]}
        client.send(id="c", method="workspace/executeCommand", params=params)
        await gate.reached.wait()
        other = {"textDocument": {"uri": "file:///other"}}
        assert await client.call("textDocument/documentSymbol", other) == []
        gate.open.set()
        answer = await client.answer("c")
        assert answer["result"]["refused"]["kind"] == "EntryNotFound"
        assert (await client.receive())["method"] == "window/showMessage"


async def test_a_fault_of_ours_is_an_error_answer(
    daemon: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*args: object, **named: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(daemon.session(), "label", fail)
    uri = (tmp_path / "s.jsonl").as_uri()
    target = {"uri": uri, "entry": "a", "label": "x"}
    async with daemon.client() as client:
        params = {"command": "pisessiond.lsp.label", "arguments": [target]}
        error = await client.refused("workspace/executeCommand", params)
        assert error["code"] == -32603
        assert "secret" not in str(error)
