"""The language server as an editor starts it, on every file of the corpus."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient

from pisessiond.core import kinds
from pisessiond.core.errors import SessionError
from pisessiond.core.session import Session
from tests.bench.generated import session_file
from tests.daemon import homes
from tests.support.corpus import SAMPLES, Sample
from tests.support.seen import open_file

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

ROOT: Final = Path(__file__).resolve().parents[2]
HOME: Final = Path(tempfile.gettempdir()) / f"pis-{os.getpid()}"
ENVIRONMENT: Final = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "PISESSIOND_HOME": str(HOME / "state"),
    "PI_CODING_AGENT_DIR": str(HOME / "agent"),
}
COMMAND: Final = [sys.executable, "-m", "pisessiond", "serve", "--stdio"]
CAPABILITIES: Final = lsp.ClientCapabilities(
    text_document=lsp.TextDocumentClientCapabilities(
        document_symbol=lsp.DocumentSymbolClientCapabilities(
            hierarchical_document_symbol_support=True
        ),
        hover=lsp.HoverClientCapabilities(content_format=[lsp.MarkupKind.Markdown]),
        publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(related_information=True),
    )
)
LARGE: Final = 14_000
"""Entries of some 20 MB."""


@pytest.fixture(scope="module", autouse=True)
def _home() -> Iterator[None]:
    HOME.mkdir(exist_ok=True)
    yield
    shutil.rmtree(HOME)


@pytest_lsp.fixture(
    scope="module", config=ClientServerConfig(server_command=COMMAND, server_env=ENVIRONMENT)
)
async def editor(lsp_client: LanguageClient) -> AsyncIterator[None]:
    await lsp_client.initialize_session(lsp.InitializeParams(capabilities=CAPABILITIES))
    yield
    await lsp_client.shutdown_session()


def opens(editor: LanguageClient, path: Path) -> lsp.TextDocumentIdentifier:
    editor.text_document_did_open(
        lsp.DidOpenTextDocumentParams(
            lsp.TextDocumentItem(uri=path.as_uri(), language_id="jsonl", version=1, text="")
        )
    )
    return lsp.TextDocumentIdentifier(uri=path.as_uri())


def closes(editor: LanguageClient, document: lsp.TextDocumentIdentifier) -> None:
    editor.text_document_did_close(lsp.DidCloseTextDocumentParams(document))


async def diagnostics(editor: LanguageClient, uri: str) -> list[lsp.Diagnostic]:
    while uri not in editor.diagnostics:
        await editor.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return list(editor.diagnostics[uri])


def every_symbol(symbols: Any) -> Iterator[lsp.DocumentSymbol]:
    for one in symbols:
        yield one
        yield from every_symbol(one.children or ())


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
async def test_every_file_is_shown_whole(
    editor: LanguageClient, sample: Sample, tmp_path: Path
) -> None:
    path = Path(shutil.copy(sample.path, tmp_path / "s.jsonl"))
    try:
        session = open_file(path)
    except SessionError:
        await shows_nothing(editor, path)
        return
    document = opens(editor, path)
    found = await diagnostics(editor, document.uri)
    assert [(one.code, one.range.start.line + 1) for one in found] == [
        (problem.kind, problem.line or 1) for problem in session.problems
    ]
    lines = session.line_count
    symbols = await editor.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    for one in every_symbol(symbols):
        assert one.name
        assert 0 <= one.range.start.line <= one.selection_range.start.line
        assert one.selection_range.end.line <= one.range.end.line <= lines
    for fold in (
        await editor.text_document_folding_range_async(lsp.FoldingRangeParams(document)) or ()
    ):
        assert 0 <= fold.start_line < fold.end_line < lines
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(lines, 0))
    hints = await editor.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole))
    lenses = await editor.text_document_code_lens_async(lsp.CodeLensParams(document))
    questions = [one for one in lenses or () if one.command and one.command.title == "fork here"]
    assert len(hints or ()) == len(questions) + (session.leaf >= 0)
    await points_everywhere(editor, document, session)
    closes(editor, document)


async def shows_nothing(editor: LanguageClient, path: Path) -> None:
    document = opens(editor, path)
    symbols = await editor.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    assert symbols == []
    closes(editor, document)
    assert document.uri not in editor.diagnostics


async def points_everywhere(
    editor: LanguageClient, document: lsp.TextDocumentIdentifier, session: Session
) -> None:
    """Every line is told and led from; what names its parent is found from the parent."""
    index = session.index
    for row in range(min(len(index), 40)):
        place = lsp.Position(index.line[row] - 1, 0)
        told = await editor.text_document_hover_async(lsp.HoverParams(document, place))
        assert told is not None
        if index.kind[row] == kinds.REPLACED:
            continue
        above = await editor.text_document_definition_async(lsp.DefinitionParams(document, place))
        parent = index.parent[row]
        assert (above is None) == (parent < 0)
        if isinstance(above, lsp.Location):
            assert above.range.start.line == index.line[parent] - 1
            named = await editor.text_document_references_async(
                lsp.ReferenceParams(
                    context=lsp.ReferenceContext(include_declaration=False),
                    text_document=document,
                    position=above.range.start,
                )
            )
            lines = [one.range.start.line for one in named or ()]
            assert place.line in lines or len(lines) >= 1_000
        actions = await editor.text_document_code_action_async(
            lsp.CodeActionParams(document, lsp.Range(place, place), lsp.CodeActionContext([]))
        )
        assert actions


async def test_a_large_file_is_shown_too(editor: LanguageClient, tmp_path: Path) -> None:
    path = Path(shutil.copy(session_file(LARGE), tmp_path / "large.jsonl"))
    document = opens(editor, path)
    symbols = await editor.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    assert 1_000 < sum(1 for _ in every_symbol(symbols)) <= 5_000
    assert await editor.text_document_folding_range_async(lsp.FoldingRangeParams(document))
    assert len(await editor.text_document_code_lens_async(lsp.CodeLensParams(document)) or ()) > 99
    closes(editor, document)


async def test_the_same_through_the_bridge_that_editors_start() -> None:
    with homes.home() as home:
        path = Path(shutil.copy(SAMPLES[0].path, home.sessions / "s.jsonl"))
        config = ClientServerConfig(
            server_command=home.command("attach"),
            server_env={**home.environment, "PISESSIOND_TEST_IDLE": "1"},
        )
        client = await config.start()
        assert isinstance(client, LanguageClient)
        await client.initialize_session(lsp.InitializeParams(capabilities=CAPABILITIES))
        document = opens(client, path)
        await diagnostics(client, document.uri)
        await client.shutdown_session()
        await asyncio.wait_for(client.stop(), 20)  # type: ignore[no-untyped-call]
