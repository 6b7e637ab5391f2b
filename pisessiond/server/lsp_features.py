"""What LSP features show of a session: plain functions from the service's values to LSP's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from lsprotocol import types as lsp

from pisessiond.core.problems import Problem
from pisessiond.service.types import EntryId, Node

MAX_DEPTH: Final = 64
"""Nested deeper, cattrs reaches Python's recursion limit (at 200) and some editors refuse the
answer; what is deeper stands flat at this depth."""

_KINDS: Final = {
    "user": lsp.SymbolKind.String,
    "assistant": lsp.SymbolKind.Method,
    "toolResult": lsp.SymbolKind.Object,
    "bashExecution": lsp.SymbolKind.Operator,
    "compaction": lsp.SymbolKind.Namespace,
    "branch_summary": lsp.SymbolKind.Package,
}

_SEVERE: Final = frozenset({"badLine", "noId", "cycle"})


def document_symbols(
    nodes: Sequence[Node], lines: Mapping[EntryId, int]
) -> list[lsp.DocumentSymbol]:
    """The branch tree as an outline, from nodes in preorder.

    It is nested only where branches split: a root or an alternative holds the run of entries
    that follow it, flat, and at a branch point each alternative stands in the run and holds its
    own. Otherwise a session of a thousand turns would be a thousand levels deep.
    """
    parents = [
        node.parent if node.visible_parent is None else node.visible_parent for node in nodes
    ]
    alternatives = Counter(parents)
    top: list[lsp.DocumentSymbol] = []
    runs: dict[EntryId, tuple[list[lsp.DocumentSymbol], int]] = {}
    for node, parent in zip(nodes, parents, strict=True):
        symbol = _symbol(node, lines.get(node.id, 1))
        run, depth = (top, 1) if parent is None else runs.get(parent, (top, 1))
        run.append(symbol)
        begins = parent is None or parent not in runs or alternatives[parent] > 1
        if begins and depth < MAX_DEPTH:
            children: list[lsp.DocumentSymbol] = []
            symbol.children = children
            runs[node.id] = (children, depth + 1)
        else:
            runs[node.id] = (run, depth)
    return top


def _symbol(node: Node, line: int) -> lsp.DocumentSymbol:
    where = _line(line)
    return lsp.DocumentSymbol(
        # VS Code refuses a symbol without a name.
        name=node.preview or node.role or node.type or "?",
        detail=node.label if node.label is not None else node.role or node.type,
        kind=_KINDS.get(node.role or node.type, lsp.SymbolKind.Event),
        range=where,
        selection_range=where,
    )


def diagnostics(problems: Iterable[Problem]) -> list[lsp.Diagnostic]:
    """The file's problems at their lines."""
    return [
        lsp.Diagnostic(
            range=_line(problem.line or 1),
            message=f"{problem.message} {problem.consequence}".rstrip(),
            severity=(
                lsp.DiagnosticSeverity.Error
                if problem.kind in _SEVERE
                else lsp.DiagnosticSeverity.Warning
            ),
            code=problem.kind,
            source="pi",
        )
        for problem in problems
    ]


def _line(number: int) -> lsp.Range:
    """A whole line, counted from 1, its end being the beginning of the next one."""
    return lsp.Range(
        start=lsp.Position(line=number - 1, character=0),
        end=lsp.Position(line=number, character=0),
    )
