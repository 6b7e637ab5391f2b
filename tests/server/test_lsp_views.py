"""What an editor sees of a whole session file: outline, folds, lenses, hints."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.lsp_support import MODERN, SAMPLE, LspEditor, lsp_editor
from tests.support.service import ME, user

pytestmark = pytest.mark.anyio


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return Path(shutil.copy(SAMPLE, tmp_path / "sample.jsonl"))


@pytest.fixture
async def editor(tmp_path: Path, sample: Path, anyio_backend: str) -> AsyncIterator[LspEditor]:
    async with lsp_editor(tmp_path, sample) as made:
        yield made


OUTLINE = """
1-10 9 entries summarised (15k)
  3-7 Labels get lost when a session… (~14)
    4-6 1 step: read 1 (12k)
    6-7 fork() leaves label entries out (13k)
  7-10 Fix it, and keep their times. (13k)
    8-10 1 step: edit 1 (15k)
10-11 Labels now survive a fork, with (15k)
11-12 Compaction 15k → ~68 (~68)
12-16 Now the login test that fails o (~77)
  13-15 bash pytest -q tests/test_login (9.8k)
  15-16 The fixture's clock is naive, so (11k)
18-21 Patch time.time in the test only ([green] · 11k)
  18-21 Patch time.time in the test only ([green] · 11k)
    19-21 Passes, but hides the real fault (11k)
16-18 Try freezing the clock with time (12k)
  16-18 Try freezing the clock with time (11k)
    17-18 It passes alone, but time-machin (12k)
21-26 Use an injected clock instead. (11k)
  22-24 1 step: edit 1 (13k)
  24-26 Done: 4 files changed, all tests (13k · ● you are here)
"""


def drawn(symbols: list[dict[str, Any]], depth: int = 0) -> list[str]:
    """A line a symbol: its lines as LSP counts them, its name and its detail."""
    lines = []
    for one in symbols:
        where = f"{one['range']['start']['line']}-{one['range']['end']['line']}"
        name, detail = one["name"], one.get("detail", "")
        lines.append(f"{'  ' * depth}{where} {name} ({detail})")
        lines += drawn(one.get("children") or [], depth + 1)
    return lines


def same(line: str, expected: str) -> bool:
    """Whether a drawn line is the expected one, whose name may be cut."""
    begin, _, detail = expected.rpartition(" (")
    return line.startswith(begin.rstrip("…")) and line.endswith(f" ({detail}")


async def test_the_outline_is_turns_branches_and_compactions(editor: LspEditor) -> None:
    await editor.ask("codeLens")  # All is sized.
    lines = drawn(await editor.ask("documentSymbol"))
    expected = OUTLINE.strip("\n").split("\n")
    assert len(lines) == len(expected), "\n".join(lines)
    for line, wanted in zip(lines, expected, strict=True):
        assert same(line, wanted), f"{line!r} is not {wanted!r}"


async def test_what_is_selected_of_a_symbol_lies_in_it_and_children_do_too(
    editor: LspEditor,
) -> None:
    def check(symbol: dict[str, Any]) -> None:
        first, last = symbol["range"]["start"]["line"], symbol["range"]["end"]["line"]
        for inner in (symbol["selectionRange"], *[c["range"] for c in symbol.get("children", ())]):
            assert first <= inner["start"]["line"] < inner["end"]["line"] <= last
        for child in symbol.get("children", ()):
            check(child)

    for symbol in await editor.ask("documentSymbol"):
        check(symbol)


async def test_an_editor_that_nests_nothing_gets_a_list(tmp_path: Path, sample: Path) -> None:
    async with lsp_editor(tmp_path, sample, {}) as editor:
        found = await editor.ask("documentSymbol")
        assert len(found) == len(OUTLINE.strip().split("\n"))
        assert found[1]["containerName"] == "9 entries summarised"
        assert found[1]["location"]["range"]["start"]["line"] == 3


async def test_folds_are_runs_of_lines(editor: LspEditor) -> None:
    found = await editor.ask("foldingRange")
    folds = {(one["startLine"], one["endLine"]): one for one in found}
    # The summarised part, its turns, a turn, work in it, both alternatives.
    assert {(1, 9), (3, 6), (7, 9), (12, 15), (13, 14), (18, 20), (16, 17), (21, 25)} <= set(folds)
    assert folds[1, 9]["kind"] == "region"
    assert folds[1, 9]["collapsedText"] == "9 entries summarised"
    assert "kind" not in folds[12, 15]


async def test_folds_nest(editor: LspEditor) -> None:
    folds = [(one["startLine"], one["endLine"]) for one in await editor.ask("foldingRange")]
    for a in folds:
        for b in folds:
            is_apart = a[1] < b[0] or b[1] < a[0]
            is_inside = (a[0] <= b[0] and b[1] <= a[1]) or (b[0] <= a[0] and a[1] <= b[1])
            assert is_apart or is_inside, (a, b)


async def test_an_editor_says_how_many_folds_it_takes_and_what_they_show(
    tmp_path: Path, sample: Path
) -> None:
    capabilities = {"textDocument": {"foldingRange": {"rangeLimit": 2}}}
    async with lsp_editor(tmp_path, sample, capabilities) as editor:
        found = await editor.ask("foldingRange")
        assert [(one["startLine"], "collapsedText" in one) for one in found] == [
            (1, False),
            (12, False),
        ]


async def test_lenses_say_the_size_and_offer_to_go_there(editor: LspEditor) -> None:
    found = await editor.ask("codeLens")
    at = [one["command"] for one in found if one["range"]["start"]["line"] == 21]
    assert [one["title"] for one in at] == ["11k measured", "navigate here", "fork here"]
    assert at[0]["command"] == ""
    assert at[1]["command"] == "pisessiond.lsp.navigate"
    assert at[1]["arguments"] == [{"uri": editor.uri, "entry": "0d84e6f3"}]
    here = [one["command"] for one in found if one["range"]["start"]["line"] == 25]
    assert [one["title"] for one in here] == ["● you are here · 13k measured"]
    assert len(found) == 6 * 3 + 1


async def test_a_lens_does_what_it_says(editor: LspEditor) -> None:
    found = await editor.ask("codeLens")
    command = next(
        one["command"]
        for one in found
        if one["range"]["start"]["line"] == 18 and one["command"]["title"] == "navigate here"
    )
    params = {name: command[name] for name in ("command", "arguments")}
    answer = await editor.client.call("workspace/executeCommand", params)
    assert answer["leaf"] == "82d6c09b"
    assert answer["editorText"] == "Patch time.time in the test only."
    told = await editor.told("window/showMessage")
    assert told == {
        "type": 3,
        "message": "The session stands before “Patch time.time in the test only.”.",
    }
    again = await editor.ask("codeLens")
    (here,) = [one for one in again if one["command"]["title"].startswith("●")]
    assert here["range"]["start"]["line"] == 15


async def test_hints_are_those_of_the_lines_asked_for(editor: LspEditor) -> None:
    asked = {"start": {"line": 12, "character": 0}, "end": {"line": 18, "character": 5}}
    found = await editor.ask("inlayHint", range=asked)
    assert [(one["position"]["line"], one["label"]) for one in found] == [
        (12, "~77"),
        (16, "11k"),
        (18, "11k"),
    ]
    asked = {"start": {"line": 22, "character": 0}, "end": {"line": 99, "character": 0}}
    (here,) = await editor.ask("inlayHint", range=asked)
    assert (here["label"], here["tooltip"]) == ("● 13k", "You are here: 13k measured")


async def test_a_session_that_grows_is_seen_anew(editor: LspEditor) -> None:
    await editor.opened()
    await editor.ask("documentSymbol")
    session = await editor.house.open(Path(editor.uri.removeprefix("file://")))
    await session.append([user("One more thing")], origin=ME)
    symbols = await editor.ask("documentSymbol")
    assert symbols[-1]["name"] == "One more thing"
    assert "● you are here" in symbols[-1]["detail"]
    for _ in range(2):
        await editor.client.receive()  # That lenses and hints are others now.


async def test_what_is_no_session_shows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"a": 1}\n{"b": 2}\n')
    async with lsp_editor(tmp_path, path, MODERN) as editor:
        anywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
        for feature in ("documentSymbol", "foldingRange", "codeLens"):
            assert await editor.ask(feature) == []
        assert await editor.ask("inlayHint", range=anywhere) == []
        assert await editor.actions(0) == []
        for feature in ("hover", "definition"):
            assert await editor.at(feature, 0) is None
        assert await editor.at("documentHighlight", 0) == []
        assert await editor.at("references", 0, context={"includeDeclaration": True}) == []
        answer = await editor.execute("navigate", line=1)
        assert answer["result"]["refused"]["kind"] == "NotASession"
        assert (await editor.told("window/showMessage"))["type"] == 2
