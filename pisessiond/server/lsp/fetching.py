"""What an editor asks about a session file, fetched and put into LSP's types.

It is asked before pygls sees the request, under the request's own cancel scope; the feature that
pygls calls then only hands it over, so that it starts no task that nobody would own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lsprotocol import types as lsp

from pisessiond.core.index import NONE
from pisessiond.core.rows.outline import Item
from pisessiond.server.envelope import RawJson
from pisessiond.server.lsp.actions import code_actions, wants_ours
from pisessiond.server.lsp.capabilities import EditorView
from pisessiond.server.lsp.converter import prepare
from pisessiond.server.lsp.hover import entry_text, header_text, problem_text
from pisessiond.server.lsp.positions import byte_at, range_of
from pisessiond.server.lsp.symbols import (
    MAX_SYMBOLS,
    document_symbols,
    folding_ranges,
    symbol_information,
)
from pisessiond.server.lsp.turns import MAX_TURNS, code_lenses, inlay_hints
from pisessiond.service.entry_facts import Choices, tell_choices, tell_entry
from pisessiond.service.pointing import (
    Spot,
    find_definition,
    find_references,
    point,
    row_at,
    stored_texts,
)
from pisessiond.service.storing import in_worker
from pisessiond.service.turns import Turns, find_turns

if TYPE_CHECKING:
    from pisessiond.core.session import Session
    from pisessiond.server.lsp.documents import Documents
    from pisessiond.service.open_session import OpenSession

T = TypeVar("T")


class Fetching:
    """The questions of one editor."""

    def __init__(self, documents: Documents, view: EditorView) -> None:
        self._documents = documents
        self._view = view
        self._outline: tuple[tuple[object, ...], bool, list[Item]] | None = None
        """The one made last, what it was made of, and whether it has sizes: symbols and folds come
        of the same."""

    async def answer(self, method: str, params: Any) -> Any:
        """The result of one request, in LSP's types, or as JSON where it is long.

        Args:
            method: one of `FEATURES`.
            params: LSP's type of its parameters.
        """
        session = await self._documents.session(params.text_document.uri)
        if session is None:
            return [] if method in _LISTS else None
        return await _ANSWERS[method](self, session, params)

    # Outline -----------------------------------------------------------------------------------

    async def _items(self, session: OpenSession, *, with_sizes: bool) -> list[Item]:
        is_sized = session.session.sizes.is_complete
        key = (session, session.epoch, session.rev)
        known = self._outline
        if known is None or known[0] != key or (with_sizes and known[1] != is_sized):
            self._outline = known = key, is_sized, await session.rows.outline(MAX_SYMBOLS)
        return known[2]

    async def symbols(self, session: OpenSession, params: lsp.DocumentSymbolParams) -> RawJson:
        items = await self._items(session, with_sizes=True)
        uri, is_nested = params.text_document.uri, self._view.nests_symbols

        def make() -> RawJson:
            made = document_symbols(items) if is_nested else symbol_information(items, uri)
            return prepare(list(made))

        return await in_worker(make, abandon=True)

    async def folds(self, session: OpenSession, params: lsp.FoldingRangeParams) -> RawJson:
        del params
        items = await self._items(session, with_sizes=False)
        return await in_worker(lambda: prepare(folding_ranges(items, self._view)), abandon=True)

    # At a place --------------------------------------------------------------------------------

    def _at(self, position: lsp.Position) -> tuple[int, Callable[[bytes], int]]:
        """A place as the service takes it: line and byte."""
        encoding = self._view.encoding
        return position.line + 1, lambda text: byte_at(text, position.character, encoding)

    async def hover(self, session: OpenSession, params: lsp.HoverParams) -> lsp.Hover | None:
        line, at = self._at(params.position)
        size = session.leaf_size()
        window = None if size is None else size.window
        markdown = self._view.reads_markdown

        def look(asked: Session) -> tuple[str, Spot | None] | None:
            pointed = point(asked, line, at)
            if pointed is None:
                text = _text_of_no_entry(asked, line, markdown=markdown)
                return None if text is None else (text, None)
            spot = pointed.spot if pointed.member is not None else None
            if pointed.row == NONE:
                return "No entry of this file has that id.", spot
            facts = tell_entry(asked, pointed.row)
            percent = facts.size.tokens * 100 / window if facts.size and window else None
            return entry_text(facts, percent, markdown=markdown), spot

        found = await session.ask(look)
        if found is None:
            return None
        text, spot = found
        kind = lsp.MarkupKind.Markdown if markdown else lsp.MarkupKind.PlainText
        return lsp.Hover(
            contents=lsp.MarkupContent(kind=kind, value=text),
            range=None if spot is None else range_of(spot, self._view.encoding),
        )

    async def definition(
        self, session: OpenSession, params: lsp.DefinitionParams
    ) -> lsp.Location | None:
        line, at = self._at(params.position)
        spot = await session.ask(partial(find_definition, line=line, at=at))
        return None if spot is None else self._location(params.text_document.uri, spot)

    async def references(
        self, session: OpenSession, params: lsp.ReferenceParams
    ) -> list[lsp.Location]:
        with_itself = params.context.include_declaration
        spots = await self._names(session, params.position, with_itself=with_itself)
        return [self._location(params.text_document.uri, spot) for spot in spots]

    async def highlights(
        self, session: OpenSession, params: lsp.DocumentHighlightParams
    ) -> list[lsp.DocumentHighlight]:
        spots = await self._names(session, params.position, with_itself=True)
        return [lsp.DocumentHighlight(range=range_of(one, self._view.encoding)) for one in spots]

    async def _names(
        self, session: OpenSession, position: lsp.Position, *, with_itself: bool
    ) -> list[Spot]:
        line, at = self._at(position)
        return await session.ask(
            partial(find_references, line=line, at=at, with_itself=with_itself)
        )

    def _location(self, uri: str, spot: Spot) -> lsp.Location:
        return lsp.Location(uri=uri, range=range_of(spot, self._view.encoding))

    async def actions(
        self, session: OpenSession, params: lsp.CodeActionParams
    ) -> list[lsp.CodeAction]:
        if not wants_ours([str(kind) for kind in params.context.only or ()]):
            return []
        line, start = self._at(params.range.start)
        last, end = self._at(params.range.end)

        def look(asked: Session) -> tuple[Choices, str] | None:
            row = row_at(asked, line)
            if row is None:
                return None
            text = stored_texts(asked, [row])[0]
            selected = text[start(text) : end(text)] if line == last else b""
            return tell_choices(asked, row), selected.decode("utf-8", "replace")

        found = await session.ask(look)
        if found is None:
            return []
        return code_actions(*found, params.text_document.uri, self._view)

    # Beside the lines --------------------------------------------------------------------------

    async def lenses(self, session: OpenSession, params: lsp.CodeLensParams) -> RawJson:
        turns = await self._turns(session, 1, None)
        uri = params.text_document.uri
        return await in_worker(lambda: prepare(code_lenses(turns, uri)), abandon=True)

    async def hints(self, session: OpenSession, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        asked = params.range
        return inlay_hints(await self._turns(session, asked.start.line + 1, asked.end.line + 1))

    async def _turns(self, session: OpenSession, first: int, last: int | None) -> Turns:
        await session.sized()
        size = session.leaf_size()
        window = None if size is None else size.window
        return await session.ask(
            partial(find_turns, window=window, first=first, last=last, most=MAX_TURNS)
        )


def _text_of_no_entry(session: Session, line: int, *, markdown: bool) -> str | None:
    problems = [one for one in list(session.problems) if one.line == line]
    if problems and problems[0].kind != "newerVersion":
        return problem_text(problems, markdown=markdown)
    if line > min([session.line_count, *session.index.line[:1]]) or session.line_count < line:
        return None
    return header_text(session.header, session.name, session.index.count, markdown=markdown)


_ANSWERS: Final[Mapping[str, Callable[[Fetching, OpenSession, Any], Awaitable[Any]]]] = {
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Fetching.symbols,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: Fetching.folds,
    lsp.TEXT_DOCUMENT_HOVER: Fetching.hover,
    lsp.TEXT_DOCUMENT_DEFINITION: Fetching.definition,
    lsp.TEXT_DOCUMENT_REFERENCES: Fetching.references,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: Fetching.highlights,
    lsp.TEXT_DOCUMENT_CODE_ACTION: Fetching.actions,
    lsp.TEXT_DOCUMENT_CODE_LENS: Fetching.lenses,
    lsp.TEXT_DOCUMENT_INLAY_HINT: Fetching.hints,
}
_LISTS: Final = _ANSWERS.keys() - {lsp.TEXT_DOCUMENT_HOVER, lsp.TEXT_DOCUMENT_DEFINITION}
