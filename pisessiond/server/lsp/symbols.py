"""The outline and the folds of a session: turns, work, branches, compactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lsprotocol import types as lsp

from pisessiond.core.export_text import format_tokens
from pisessiond.core.rows.outline import Item
from pisessiond.core.rows.row import Row, RowKind
from pisessiond.server.lsp.capabilities import EditorView
from pisessiond.server.lsp.positions import line_range, lines_range

MAX_SYMBOLS: Final = 5_000
"""Items of one outline. Ten thousand keep the loop busy for a quarter of a second, and no one
scrolls through more."""

_KINDS: Final[dict[RowKind, lsp.SymbolKind]] = {
    "user": lsp.SymbolKind.String,
    "answer": lsp.SymbolKind.Method,
    "work": lsp.SymbolKind.Function,
    "step": lsp.SymbolKind.Function,
    "bash": lsp.SymbolKind.Operator,
    "compaction": lsp.SymbolKind.Namespace,
    "summarised": lsp.SymbolKind.Namespace,
    "branchSummary": lsp.SymbolKind.Package,
    "alternative": lsp.SymbolKind.Class,
    "group": lsp.SymbolKind.Class,
    "ahead": lsp.SymbolKind.Class,
    "note": lsp.SymbolKind.Field,
}


def document_symbols(items: Iterable[Item]) -> list[lsp.DocumentSymbol]:
    """The outline, nested; each symbol's range holds those of its children."""
    return [_symbol(item) for item in items]


def _symbol(item: Item) -> lsp.DocumentSymbol:
    children = document_symbols(item.children)
    first = min([item.first, *(one.range.start.line + 1 for one in children)])
    last = max([item.last, *(one.range.end.line for one in children)])
    return lsp.DocumentSymbol(
        name=_name(item.row),
        detail=_detail(item),
        kind=_KINDS.get(item.row.kind, lsp.SymbolKind.Property),
        range=lines_range(first, last),
        selection_range=line_range(item.first),
        children=children or None,
    )


def symbol_information(
    items: Iterable[Item], uri: str, holder: str | None = None
) -> list[lsp.SymbolInformation]:
    """The outline, flat, for editors that nest nothing."""
    made: list[lsp.SymbolInformation] = []
    for item in items:
        made.append(
            lsp.SymbolInformation(
                name=_name(item.row),
                kind=_KINDS.get(item.row.kind, lsp.SymbolKind.Property),
                location=lsp.Location(uri=uri, range=lines_range(item.first, item.last)),
                container_name=holder,
            )
        )
        made += symbol_information(item.children, uri, _name(item.row))
    return made


def _name(row: Row) -> str:
    # VS Code refuses a symbol without a name.
    return row.title or row.kind


def _detail(item: Item) -> str | None:
    row = item.row
    facts = [f"[{row.label}]"] if row.label else []
    if row.size is not None:
        tilde = "~" if row.size.source == "estimated" else ""
        facts.append(tilde + format_tokens(row.size.tokens))
    if item.holds_leaf:
        facts.append("● you are here")
    return " · ".join(facts) or None


# Folds -----------------------------------------------------------------------------------------


def folding_ranges(items: Sequence[Item], view: EditorView) -> list[lsp.FoldingRange]:
    """The folds of header and settings, turns, work, summarised parts and branches.

    Only where their lines are one run; the outermost come first, as an editor may take only so
    many.
    """
    made = list(_header(items, view))
    level: list[Item] = list(items)
    while level:
        made += [fold for item in level if (fold := _fold(item, view)) is not None]
        level = [child for item in level for child in item.children]
    return made[: view.most_folds]


def _header(items: Sequence[Item], view: EditorView) -> Iterator[lsp.FoldingRange]:
    first = min((item.first for item in items), default=1)
    if first > 2:
        title = "session" if view.titles_folds else None
        yield lsp.FoldingRange(start_line=0, end_line=first - 2, collapsed_text=title)


def _fold(item: Item, view: EditorView) -> lsp.FoldingRange | None:
    if not item.is_run or item.last <= item.first:
        return None
    is_region = item.row.kind in ("summarised", "alternative", "ahead")
    return lsp.FoldingRange(
        start_line=item.first - 1,
        end_line=item.last - 1,
        kind=lsp.FoldingRangeKind.Region if is_region else None,
        collapsed_text=_name(item.row) if view.titles_folds else None,
    )
