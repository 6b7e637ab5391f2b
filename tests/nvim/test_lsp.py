"""Session files in Neovim's own LSP client, without the plugin: `lsp/pisessiond.lua` alone."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.core.errors import SessionError
from tests.bench.generated import session_file
from tests.daemon.homes import SLACK, Home
from tests.nvim.conftest import Opens, Others
from tests.nvim.conversations import Talk, login_fix, today
from tests.nvim.editor import ROOT, Editor
from tests.support.corpus import SAMPLES
from tests.support.seen import open_file

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

ASK: Final = """
local method, params = ...
params = vim.tbl_extend('keep', params, vim.lsp.util.make_position_params(0, 'utf-8'))
local answers = vim.lsp.buf_request_sync(0, method, params, 20000)
local _, answer = next(answers or {})
return vim.json.encode(answer or vim.NIL)
"""
ACT: Final = """
local title = ...
vim.lsp.buf.code_action({ filter = function(one) return one.title == title end, apply = true })
"""
VIRTUAL: Final = """
local found = {}
for _, space in pairs(vim.api.nvim_get_namespaces()) do
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
    for _, chunk in ipairs(mark[4].virt_text or {}) do
      table.insert(found, { mark[2] + 1, chunk[1] })
    end
  end
end
return found
"""
NOTES: Final = """
_G.notes = {}
vim.notify = function(text) table.insert(_G.notes, text) end
vim.ui.input = function(_, done) done('asked for') end
"""


class Buffer:
    """A session file in a window of Neovim's, with a client of LSP."""

    def __init__(self, editor: Editor, path: Path) -> None:
        self.editor = editor
        self.path = path

    @classmethod
    def opened(cls, editor: Editor, path: Path, cmd: list[str]) -> Buffer:
        """A file that is opened after the client was set up."""
        editor.lua(NOTES)
        editor.lua("vim.lsp.config('pisessiond', { cmd = ... })", cmd)
        editor.lua("vim.lsp.enable('pisessiond')")
        editor.command(f"edit {path}")
        return cls(editor, path)

    @property
    def clients(self) -> int:
        count: int = self.editor.lua("return #vim.lsp.get_clients({ bufnr = 0 })")
        return count

    def ready(self) -> Buffer:
        is_ready = (
            "local one = vim.lsp.get_clients({ bufnr = 0 })[1]"
            " return one ~= nil and one.initialized == true"
        )
        self.editor.until(lambda: self.editor.lua(is_ready), "a client")
        return self

    def ask(self, method: str, **params: Any) -> Any:
        """The answer as it came."""
        document = {"textDocument": {"uri": self.path.as_uri()}}
        answer = json.loads(self.editor.lua(ASK, method, {**document, **params}))
        assert answer is not None, self.editor.report()
        assert "error" not in answer, answer
        return answer.get("result")

    def at(self, line: int) -> Buffer:
        """Puts the cursor on a line, counted from 1."""
        self.editor.lua("vim.api.nvim_win_set_cursor(0, {..., 0})", line)
        return self

    def beside(self, line: int) -> list[str]:
        """Virtual text of a line."""
        return [text for at, text in self.editor.lua(VIRTUAL) if at == line]

    def problems(self) -> list[tuple[int, str]]:
        found = self.editor.lua("return vim.diagnostic.get(0)")
        return sorted((one["lnum"] + 1, one["code"]) for one in found)

    def is_told(self, problems: list[tuple[int, str]]) -> bool:
        """Whether these problems are shown, and no others."""
        return self.problems() == problems

    def acts(self, title: str) -> None:
        self.editor.lua(ACT, title)

    def hears(self, words: str) -> str:
        """A message to the person that holds these words."""

        def find() -> str | None:
            said: list[str] = self.editor.lua("return _G.notes")
            said += self.editor.messages().splitlines()
            return next((one for one in said if words in one), None)

        found = self.editor.until(find, f"a message {words!r}")
        assert found is not None
        return found


class OpensFiles:
    """Opens session files in Neovims with LSP."""

    def __init__(self, home: Home, start: Opens) -> None:
        self._home = home
        self._start = start

    def __call__(self, path: Path) -> Buffer:
        return Buffer.opened(self._start(), path, self._home.command("attach"))


@pytest.fixture
def opens(home: Home, start: Opens) -> OpensFiles:
    return OpensFiles(home, start)


@pytest.fixture
def talk(home: Home, cwd: Path) -> tuple[Talk, Path]:
    made = login_fix(cwd)
    return made, made.write(home.agent)


def line_of(path: Path, is_it: Callable[[dict[str, Any]], bool]) -> int:
    """The line of the first entry that is so, counted from 1."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if is_it(json.loads(line)):
            return number
    raise AssertionError("no such entry")


def says(words: str) -> Callable[[dict[str, Any]], bool]:
    return lambda entry: words in json.dumps(entry.get("message", {}))


def test_an_outline_that_one_can_go_through(
    opens: OpensFiles, talk: tuple[Talk, Path], cwd: Path
) -> None:
    buffer = opens(talk[1]).ready()
    symbols = buffer.ask("textDocument/documentSymbol")
    names = [one["name"] for one in symbols]
    assert names[0].endswith("entries summarised")
    assert any("Use an injected clock" in name for name in names)
    buffer.editor.lua("vim.lsp.buf.document_symbol({ loclist = true })")
    size = "return vim.fn.getloclist(0, { size = 0 }).size"
    assert buffer.editor.until(lambda: buffer.editor.lua(size), "a list") >= len(names)
    buffer.editor.command("lclose")


def test_hover_shows_the_entry_of_the_line(opens: OpensFiles, talk: tuple[Talk, Path]) -> None:
    buffer = opens(talk[1]).ready()
    buffer.at(line_of(talk[1], says("Patch time.time in the test only")))
    buffer.editor.lua("vim.lsp.buf.hover()")
    buffer.editor.sees("You", "2")
    buffer.editor.sees("on another branch")
    buffer.editor.sees("Patch time.time in the test only")


def test_lenses_and_hints_stand_beside_questions_and_where_one_is(
    opens: OpensFiles, talk: tuple[Talk, Path]
) -> None:
    buffer = opens(talk[1]).ready()
    line = line_of(talk[1], says("Use an injected clock"))
    buffer.editor.lua("vim.lsp.codelens.refresh({ bufnr = 0 })")
    wanted = {"navigate here", "fork here"}
    buffer.editor.until(lambda: wanted <= set(buffer.beside(line)), "lenses")
    buffer.editor.lua("vim.lsp.inlay_hint.enable(true, { bufnr = 0 })")
    last = len(talk[1].read_text().splitlines())
    buffer.at(last)
    buffer.editor.until(
        lambda: any(text.startswith("● 84k") for text in buffer.beside(last)), "a hint at the leaf"
    )


def test_hints_follow_what_others_do(
    opens: OpensFiles, talk: tuple[Talk, Path], other: Others
) -> None:
    path = talk[1]
    buffer = opens(path).ready()
    buffer.editor.lua("vim.lsp.inlay_hint.enable(true, { bufnr = 0 })")
    last = len(path.read_text().splitlines())
    buffer.at(last)
    buffer.editor.until(lambda: any("●" in text for text in buffer.beside(last)), "the mark")
    target = line_of(path, says("The fixture's clock is naive"))
    other(path).navigate(json.loads(path.read_text().splitlines()[target - 1])["id"])
    buffer.at(target)
    buffer.editor.until(lambda: any("●" in text for text in buffer.beside(target)), "the new mark")
    # Neovim draws a hint anew when its line comes into sight.
    buffer.at(last)
    buffer.editor.until(lambda: not any("●" in text for text in buffer.beside(last)), "no mark")


def test_problems_are_shown_and_followed(opens: OpensFiles, home: Home, cwd: Path) -> None:
    broken = Talk(cwd, today(), "broken")
    broken.user("one")
    broken.answer("two", 1_000)
    broken.back_to("nowhere").user("lost")
    path = broken.write(home.agent)
    with path.open("ab") as file:
        file.write(b"{ no json }\n")
    buffer = opens(path).ready()
    buffer.editor.until(lambda: buffer.problems() == [(4, "orphan"), (5, "badLine")], "problems")
    with path.open("ab") as file:
        file.write(b"nor this\n")
    buffer.editor.until(lambda: len(buffer.problems()) == 3, "one more problem")
    buffer.editor.command("bdelete!")


def test_code_actions_change_the_session(opens: OpensFiles, talk: tuple[Talk, Path]) -> None:
    path = talk[1]
    buffer = opens(path).ready()
    buffer.at(line_of(path, says("Use an injected clock")))
    buffer.acts("Label …")
    buffer.hears("Labelled “asked for”.")
    assert json.loads(path.read_text().splitlines()[-1])["label"] == "asked for"
    buffer.acts("Navigate here")
    buffer.hears("The session stands before “Use an injected clock instead”.")
    buffer.at(line_of(path, says("The fixture's clock is naive")))
    buffer.acts("Take out of the context")
    buffer.hears("Out of the context from here on.")


def test_a_fork_opens_in_a_window(opens: OpensFiles, talk: tuple[Talk, Path]) -> None:
    buffer = opens(talk[1]).ready()
    buffer.at(line_of(talk[1], says("Use an injected clock")))
    buffer.acts("Fork here")
    shown = "return vim.api.nvim_buf_get_name(0)"
    name = buffer.editor.until(
        lambda: (found := buffer.editor.lua(shown)) != str(talk[1]) and found, "another file"
    )
    assert json.loads(Path(name).read_text().splitlines()[0])["parentSession"] == str(talk[1])
    # The client that is there serves it too.
    buffer.editor.until(lambda: buffer.clients == 1, "a client")
    assert buffer.editor.lua("return #vim.lsp.get_clients()") == 1


def test_a_refusal_is_a_sentence(opens: OpensFiles, talk: tuple[Talk, Path]) -> None:
    buffer = opens(talk[1]).ready()
    run = (
        "vim.lsp.get_clients({ bufnr = 0 })[1]:exec_cmd("
        "{ title = '', command = 'pisessiond.lsp.navigate', arguments = { ... } })"
    )
    buffer.editor.lua(run, {"uri": talk[1].as_uri(), "line": 100_000})
    buffer.hears("No entry stands on line 100001.")


def test_definition_and_references_lead_through_the_tree(
    opens: OpensFiles, talk: tuple[Talk, Path]
) -> None:
    path = talk[1]
    buffer = opens(path).ready()
    child = line_of(path, says("Use an injected clock"))
    parent = line_of(path, says("The fixture's clock is naive"))
    buffer.at(child)
    found = buffer.ask("textDocument/definition")
    assert found["range"]["start"]["line"] + 1 == parent
    buffer.at(parent)
    found = buffer.ask("textDocument/references", context={"includeDeclaration": False})
    assert len(found) == 3
    assert child in [one["range"]["start"]["line"] + 1 for one in found]


def test_other_files_of_lines_get_no_client(opens: OpensFiles, cwd: Path) -> None:
    path = cwd / "other.jsonl"
    path.write_text('{"a": 1}\n')
    buffer = opens(path)
    buffer.editor.settles()
    assert buffer.editor.lua("return vim.bo.filetype") == "jsonl"
    assert buffer.clients == 0


def documented() -> str:
    """The Lua of the documents."""
    text = (ROOT / "docs" / "lsp.md").read_text(encoding="utf-8")
    return text.partition("```lua\n")[2].partition("```")[0]


def test_what_the_documents_tell_to_write_is_enough(
    home: Home, start: Opens, talk: tuple[Talk, Path]
) -> None:
    path = talk[1]
    editor = start(before=f"let $PATH = '{Path(sys.executable).parent}:' . $PATH")
    editor.lua(documented())
    editor.command(f"edit {path}")
    line = line_of(path, says("Use an injected clock"))
    buffer = Buffer(editor, path).ready().at(line)

    def is_shown() -> bool:
        # The lenses come when the cursor has rested, or the file is gone to again.
        editor.command("doautocmd CursorHold")
        beside = buffer.beside(line)
        return "navigate here" in beside and any("74k" in text for text in beside)

    editor.until(is_shown, "lenses and hints")
    fold = "return vim.fn.foldlevel(...)"
    editor.until(lambda: editor.lua(fold, line + 1) > 0, "folds")


def test_every_file_of_the_corpus_shows_its_problems(opens: OpensFiles, cwd: Path) -> None:
    made = Talk(cwd, today(), "first")
    made.user("hello")
    buffer = opens(made.write(cwd)).ready()
    shown = 0
    for number, sample in enumerate(SAMPLES):
        path = Path(shutil.copy(sample.path, cwd / f"{number}.jsonl"))
        buffer.editor.command(f"edit! {path}")
        other = Buffer(buffer.editor, path)
        try:
            session = open_file(path)
        except SessionError:
            continue
        if not is_taken(path):
            assert other.clients == 0
            continue
        other.ready()
        wanted = sorted((one.line or 1, one.kind) for one in session.problems)
        problems = partial(other.is_told, wanted)
        buffer.editor.until(problems, f"the problems of {sample}")
        symbols = other.ask("textDocument/documentSymbol")
        assert len(symbols) <= session.index.count
        other.at(1).editor.lua("vim.lsp.buf.hover({ silent = true })")
        shown += 1
    assert shown > 60


def is_taken(path: Path) -> bool:
    """Whether a file's first line says that it is a session, as the client looks for it."""
    first = path.read_bytes().split(b"\n", 1)[0]
    return re.search(rb'"type"\s*:\s*"session"', first) is not None


@pytest.mark.figures
def test_a_file_of_20_mb_has_its_outline_about_as_soon_as_it_is_open(
    opens: OpensFiles, cwd: Path
) -> None:
    path = Path(shutil.copy(session_file(14_000), cwd / "large.jsonl"))
    began = time.perf_counter()
    buffer = opens(path).ready()
    buffer.ask("textDocument/hover")
    opened = time.perf_counter() - began
    began = time.perf_counter()
    symbols = buffer.ask("textDocument/documentSymbol")
    outline = time.perf_counter() - began
    print(f"\n20 MB in Neovim: opened {opened:.2f} s, outline {outline:.2f} s")
    assert len(symbols) > 20
    assert outline < 2 * SLACK
    buffer.editor.lua("vim.lsp.inlay_hint.enable(true, { bufnr = 0 })")
    buffer.at(14_001)
    buffer.editor.until(lambda: any("●" in text for text in buffer.beside(14_001)), "the leaf")
