"""What an editor is told at a place of a session file: hover, definition, references, actions."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.lsp_support import MODERN, SAMPLE, LspEditor, lsp_editor
from tests.support.service import answer, entry, label, spell, user

pytestmark = pytest.mark.anyio

BEFORE_PARENT = '","parentId":"'


@pytest.fixture
async def editor(tmp_path: Path, anyio_backend: str) -> AsyncIterator[LspEditor]:
    path = Path(shutil.copy(SAMPLE, tmp_path / "sample.jsonl"))
    async with lsp_editor(tmp_path, path) as made:
        yield made


def pointed(path: Path, *lines: Any) -> Path:
    """A file in which each way to name an entry is used once."""
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-30T00:00:00.000Z"}
    path.write_bytes(b"".join(spell(line) for line in ({**header, "cwd": "/srv"}, *lines)))
    return path


NAMED = (
    user("größer 🎉", "a"),
    answer("answer", "b", "a"),
    entry("compaction", "c", "b", summary="🎉 so", firstKeptEntryId="a", tokensBefore=9),
    label("l", "c", "a", "mark"),
    entry("context_edit", "e", "l", targetId="a", replacement=None),
    entry("branch_summary", "s", "b", fromId="a", summary="left"),
    entry("leaf", "f", "s", targetId="a"),
)


def words_at(path: Path, place: dict[str, Any]) -> tuple[int, str]:
    """Line and text of a range in UTF-16."""
    start, end = place["start"], place["end"]
    assert start["line"] == end["line"]
    units = path.read_text(encoding="utf-8").split("\n")[start["line"]].encode("utf-16-le")
    text = units[start["character"] * 2 : end["character"] * 2].decode("utf-16-le")
    return start["line"], text


def column(path: Path, line: int, words: str) -> int:
    """Where in a line the value begins that follows some words, in UTF-16."""
    text = path.read_text(encoding="utf-8").split("\n")[line]
    before = text[: text.index(words) + len(words)]
    return len(before.encode("utf-16-le")) // 2


async def test_everything_that_names_an_entry_is_found_from_each_of_them(tmp_path: Path) -> None:
    path = pointed(tmp_path / "n.jsonl", *NAMED)
    context = {"includeDeclaration": True}
    async with lsp_editor(tmp_path, path) as editor:
        places = [
            (1, '"id": '),
            (2, '"parentId": '),
            (3, '"firstKeptEntryId": '),
            (4, '"targetId": '),
            (5, '"targetId": '),
            (6, '"fromId": '),
            (7, '"targetId": '),
        ]
        for line, words in places:
            at = column(path, line, words) + 1
            found = await editor.at("references", line, at, context=context)
            assert [words_at(path, one["range"]) for one in found] == [
                (one, '"a"') for one in range(1, 8)
            ]
            spot = await editor.at("definition", line, at)
            assert (spot["uri"], words_at(path, spot["range"])) == (editor.uri, (1, '"a"'))
            lit = await editor.at("documentHighlight", line, at)
            assert [one["range"] for one in lit] == [one["range"] for one in found]


async def test_the_entry_itself_is_left_out_when_only_uses_are_asked_for(tmp_path: Path) -> None:
    path = pointed(tmp_path / "n.jsonl", *NAMED)
    async with lsp_editor(tmp_path, path) as editor:
        found = await editor.at("references", 1, 0, context={"includeDeclaration": False})
        assert [one["range"]["start"]["line"] for one in found] == [2, 3, 4, 5, 6, 7]


async def test_the_rest_of_a_line_leads_to_the_entry_above(editor: LspEditor) -> None:
    spot = await editor.at("definition", 18, 0)
    assert spot["range"]["start"]["line"] == 15
    assert await editor.at("definition", 1, 0) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_characters_are_those_agreed_on(tmp_path: Path, encoding: str) -> None:
    text = (
        '{"type":"compaction","summary":"größer 🎉 日本","id":"c","parentId":"a",'
        '"timestamp":"2026-11-30T00:00:00.000Z","firstKeptEntryId":"a","tokensBefore":1}'
    )
    path = pointed(tmp_path / "n.jsonl", user("x", "a"), text.encode() + b"\n")
    before = text[: text.index('"a","tokens')]
    units = {
        "utf-8": len(before.encode()),
        "utf-16": len(before.encode("utf-16-le")) // 2,
        "utf-32": len(before),
    }[encoding]
    capabilities = {"general": {"positionEncodings": [encoding]}}
    async with lsp_editor(tmp_path, path, capabilities) as editor:
        found = await editor.at("documentHighlight", 1, 0)
        kept = found[-1]["range"]
        assert (kept["start"], kept["end"]["character"]) == (
            {"line": 2, "character": units},
            units + 3,
        )
        for at in (units, units + 1, units + 3):
            assert (await editor.at("definition", 2, at))["range"]["start"]["line"] == 1
        assert "**You**" not in await editor.hover(2, units - 2)
        assert "You" in await editor.hover(2, units + 1)


async def test_hover_tells_an_entry_and_what_one_points_at(editor: LspEditor) -> None:
    text = await editor.hover(8)
    assert text.startswith("**Assistant** `claude-sonnet-4-5`")
    assert "cost $0.0471" in text
    assert "summarised: not in the context" in text
    await editor.ask("codeLens")
    text = await editor.hover(18)
    assert "label `green` · on another branch" in text
    assert "context here 11k, measured" in text
    assert "```markdown\nPatch time.time in the test only.\n```" in text
    line = Path(editor.uri.removeprefix("file://")).read_text().split("\n")[18]
    at = line.index(BEFORE_PARENT) + len(BEFORE_PARENT)
    found = await editor.at("hover", 18, at)
    assert "The fixture's clock is naive" in found["contents"]["value"]
    assert found["range"]["start"] == {"line": 18, "character": at - 1}
    assert "● you are here" in await editor.hover(25)


async def test_hover_of_what_is_no_entry(tmp_path: Path) -> None:
    path = pointed(tmp_path / "n.jsonl", b"{ `no` json }\n", user("x", "a", "gone"))
    async with lsp_editor(tmp_path, path) as editor:
        assert "**Session** `s`" in await editor.hover(0)
        assert "no JSON" in await editor.hover(1)
        text = path.read_text().split("\n")[2]
        assert "No entry of this file" in await editor.hover(2, text.index('"gone"') + 1)
        assert "⚠ Its parent is not in the file" in await editor.hover(2)
        assert await editor.hover(3) == ""


async def test_hover_without_markdown_is_plain(tmp_path: Path) -> None:
    path = pointed(tmp_path / "n.jsonl", *NAMED)
    async with lsp_editor(tmp_path, path, {}) as editor:
        found = await editor.at("hover", 1)
        assert found["contents"]["kind"] == "plaintext"
        assert "`" not in found["contents"]["value"]
        assert "**" not in found["contents"]["value"]


async def test_hover_knows_what_is_out_of_the_context(tmp_path: Path) -> None:
    edit = entry("context_edit", "e", "b", targetId="a", replacement=None)
    path = pointed(tmp_path / "n.jsonl", user("x", "a"), answer("y", "b", "a"), edit)
    async with lsp_editor(tmp_path, path) as editor:
        assert "out of the context" in await editor.hover(1)
        assert [one["title"] for one in await editor.actions(1)] == [
            "Navigate here",
            "Fork here",
            "Put back into the context",
            "Label “★”",
        ]


async def test_actions_are_what_can_be_done(editor: LspEditor) -> None:
    titles = [one["title"] for one in await editor.actions(22)]
    assert titles == ["Navigate here", "Fork here", "Take out of the context", "Label “green”"]
    titles = [one["title"] for one in await editor.actions(18)]
    assert titles == ["Navigate here", "Fork here", "Label “★”", "Remove the label “green”"]
    assert [one["title"] for one in await editor.actions(3)][:2] == titles[:2]
    assert await editor.actions(0) == []
    assert await editor.actions(99) == []


async def test_selected_words_can_become_a_label(editor: LspEditor) -> None:
    line = Path(editor.uri.removeprefix("file://")).read_text().split("\n")[21]
    at = line.index("injected clock")
    found = await editor.actions(21, at, at + len("injected clock"))
    command = next(one["command"] for one in found if "injected" in one["title"])
    assert command["arguments"][0]["label"] == "injected clock"
    params = {name: command[name] for name in ("command", "arguments")}
    await editor.client.call("workspace/executeCommand", params)
    told = await editor.told("window/showMessage")
    assert told["message"] == "Labelled “injected clock”."
    assert "label `injected clock`" in await editor.hover(21)


async def test_actions_of_other_kinds_are_not_ours(editor: LspEditor) -> None:
    assert await editor.actions(21, only=["quickfix"]) == []
    assert len(await editor.actions(21, only=["pisessiond"])) == 4


async def test_an_editor_that_asks_itself_is_offered_any_label(tmp_path: Path) -> None:
    path = pointed(tmp_path / "n.jsonl", *NAMED)
    capabilities = {**MODERN, "experimental": {"pisessiond": {"asksForLabels": True}}}
    async with lsp_editor(tmp_path, path, capabilities) as editor:
        (asks,) = [one for one in await editor.actions(2) if one["title"] == "Label …"]
        assert asks["command"]["arguments"] == [{"uri": editor.uri, "entry": "b"}]


async def test_entries_of_old_files_are_found_by_line(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    lines: list[Any] = [
        {"type": "session", "id": "s", "timestamp": "2025-11-30T00:00:00.000Z", "cwd": "/srv"},
        {"type": "message", "timestamp": "x", "message": {"role": "user", "content": "hello"}},
        {"type": "message", "timestamp": "x", "message": {"role": "user", "content": "again"}},
    ]
    path.write_bytes(b"".join(spell(line) for line in lines))
    async with lsp_editor(tmp_path, path) as editor:
        assert "again" in await editor.hover(2)
        spot = await editor.at("definition", 2)
        assert spot["range"] == {
            "start": {"line": 1, "character": 0},
            "end": {"line": 1, "character": 0},
        }
