"""The outline of a tree: nested where branches split, flat elsewhere, never too deep."""

from __future__ import annotations

from lsprotocol import types as lsp

from pisessiond.core.problems import Problem
from pisessiond.server.lsp_features import MAX_DEPTH, diagnostics, document_symbols
from pisessiond.service.types import Node


def nodes(drawing: str) -> list[Node]:
    """Nodes from lines `id parent` in preorder; `-` is no parent."""
    made = []
    for line in drawing.split("\n"):
        if line.strip():
            name, parent = line.split()
            above = None if parent == "-" else parent
            made.append(Node(name, above, "message", "user", name, None, 0, None, None, None))
    return made


def drawn(symbols: list[lsp.DocumentSymbol]) -> str:
    """`a(b c)`: b and c stand inside a."""
    return " ".join(
        one.name + (f"({drawn(list(one.children))})" if one.children else "") for one in symbols
    )


def check(drawing: str, expected: str) -> None:
    assert drawn(document_symbols(nodes(drawing), {})) == expected


def test_nothing() -> None:
    check("", "")


def test_a_run_is_flat_in_its_root() -> None:
    check("a -\n b a\n c b\n d c", "a(b c d)")


def test_alternatives_stand_in_the_run_and_hold_their_own() -> None:
    check("a -\n b a\n c b\n d c\n e b\n f e", "a(b c(d) e(f))")


def test_several_roots() -> None:
    check("a -\n b a\n c -\n d -", "a(b) c d")


def test_a_node_whose_parent_is_hidden_hangs_under_the_one_that_is_seen() -> None:
    a, b, c = nodes("a -\n b x\n c y")
    b = Node("b", "x", "message", "user", "b", None, 0, None, None, None, (), "a")
    c = Node("c", "y", "message", "user", "c", None, 0, None, None, None, (), "b")
    assert drawn(document_symbols([a, b, c], {})) == "a(b c)"


def test_the_depth_is_bounded() -> None:
    lines = ["n0 -"]
    for level in range(1, 300):
        lines += [f"n{level} n{level - 1}"]
    # A second child at every level, behind the first one's subtree.
    lines += [f"m{level} n{level - 1}" for level in range(299, 0, -1)]
    symbols = document_symbols(nodes("\n".join(lines)), {})
    count = deepest = 0
    stack = [(one, 1) for one in symbols]
    while stack:
        symbol, depth = stack.pop()
        count += 1
        deepest = max(deepest, depth)
        stack += [(child, depth + 1) for child in symbol.children or ()]
    assert (count, deepest) == (599, MAX_DEPTH)


def test_a_symbol_says_where_and_what() -> None:
    node = Node("a", None, "message", "user", "", None, 0, None, None, "mark")
    (symbol,) = document_symbols([node], {"a": 4})
    assert (symbol.name, symbol.detail) == ("user", "mark")
    assert symbol.range.start.line == 3
    assert symbol.selection_range == symbol.range


def test_a_problem_of_no_line_stands_at_the_first() -> None:
    (one,) = diagnostics([Problem("other", "text")])
    assert (one.range.start.line, one.severity) == (0, lsp.DiagnosticSeverity.Warning)
