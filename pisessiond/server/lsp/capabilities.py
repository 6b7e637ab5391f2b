"""What the LSP half offers, and what an editor can show of it. Loads nothing of pygls."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote, unquote, urlsplit

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""What a character of a position is."""

DID_OPEN: Final = "textDocument/didOpen"
DID_CLOSE: Final = "textDocument/didClose"
EXECUTE_COMMAND: Final = "workspace/executeCommand"

FEATURES: Final = frozenset(
    {
        "textDocument/codeAction",
        "textDocument/codeLens",
        "textDocument/definition",
        "textDocument/documentHighlight",
        "textDocument/documentSymbol",
        "textDocument/foldingRange",
        "textDocument/hover",
        "textDocument/inlayHint",
        "textDocument/references",
    }
)
"""The questions that pygls answers, out of what was fetched for them."""

LSP_METHODS: Final = FEATURES | {DID_OPEN, DID_CLOSE, EXECUTE_COMMAND}
"""What goes to the LSP half. Everything else of LSP's is not offered, so a request for it is
refused and a notification ignored without loading anything."""

NAVIGATE: Final = "pisessiond.lsp.navigate"
FORK: Final = "pisessiond.lsp.fork"
LABEL: Final = "pisessiond.lsp.label"
OMIT: Final = "pisessiond.lsp.omit"
RESTORE: Final = "pisessiond.lsp.restore"

COMMANDS: Final = (NAVIGATE, FORK, LABEL, OMIT, RESTORE)
"""Names apart from those of the VS Code extension: a client of LSP claims what a server names."""

ACTION_KIND: Final = "pisessiond"
"""The kind of our code actions: they neither fix nor rewrite the text."""


@dataclass(frozen=True, slots=True)
class EditorView:
    """What an editor can show, of what we would say otherwise without it."""

    encoding: Encoding = "utf-16"
    nests_symbols: bool = False
    reads_markdown: bool = False
    relates_places: bool = False
    """Whether it shows the other places of a problem."""
    titles_folds: bool = False
    most_folds: int | None = None
    """Folds at most; None: any number."""
    shows_documents: bool = False
    asks_for_labels: bool = False
    """Whether it asks for a label itself where the command is given none."""
    refreshes: tuple[str, ...] = ()
    """The requests by which it can be told to ask for something anew."""


def lsp_capabilities(client: dict[str, Any]) -> dict[str, Any]:
    """What the LSP half can do, for the answer to `initialize`.

    Said here rather than asked of pygls, which is not loaded yet; a test holds it against what
    pygls would say. Commands are not pygls's: it could not cancel them.
    """
    return {
        "positionEncoding": _encoding(client),
        # The daemon reads the files itself and wants no text, only to know what is open.
        "textDocumentSync": {"openClose": True, "change": 0, "save": False},
        "documentSymbolProvider": {"label": "pi session"},
        "foldingRangeProvider": True,
        "hoverProvider": True,
        "definitionProvider": True,
        "referencesProvider": True,
        "documentHighlightProvider": True,
        "codeLensProvider": {"resolveProvider": False},
        "inlayHintProvider": {"resolveProvider": False},
        "codeActionProvider": {"codeActionKinds": [ACTION_KIND]},
        "executeCommandProvider": {"commands": list(COMMANDS)},
    }


def editor_view(client: dict[str, Any]) -> EditorView:
    """What an editor says of itself in `initialize`."""
    document = _member(client, "textDocument")
    folds = _member(document, "foldingRange")
    most = folds.get("rangeLimit")
    formats = _member(document, "hover").get("contentFormat")
    ours = _member(_member(client, "experimental"), "pisessiond")
    workspace = _member(client, "workspace")
    return EditorView(
        encoding=_encoding(client),
        nests_symbols=_says(document, "documentSymbol", "hierarchicalDocumentSymbolSupport"),
        reads_markdown=isinstance(formats, list) and "markdown" in formats,
        relates_places=_says(document, "publishDiagnostics", "relatedInformation"),
        titles_folds=_says(folds, "foldingRange", "collapsedText"),
        most_folds=most if type(most) is int and most > 0 else None,
        shows_documents=_says(_member(client, "window"), "showDocument", "support"),
        asks_for_labels=ours.get("asksForLabels") is True,
        refreshes=tuple(
            f"workspace/{name}/refresh"
            for name in ("codeLens", "inlayHint")
            if _says(workspace, name, "refreshSupport")
        ),
    )


def _encoding(client: dict[str, Any]) -> Encoding:
    offered = _member(client, "general").get("positionEncodings")
    known: list[Encoding] = [
        one
        for one in (offered if isinstance(offered, list) else ())
        if one in ("utf-8", "utf-16", "utf-32")
    ]
    return known[0] if known else "utf-16"


def _member(given: dict[str, Any], name: str) -> dict[str, Any]:
    found = given.get(name)
    return found if isinstance(found, dict) else {}


def _says(given: dict[str, Any], member: str, name: str) -> bool:
    return _member(given, member).get(name) is True


def session_path(uri: str) -> str | None:
    """The file a URI names, if it may be a session's; else None."""
    try:
        parts = urlsplit(uri)
        # Names of files are bytes: what is no UTF-8 comes through as the system's calls take it.
        path = unquote(parts.path, errors="surrogateescape")
        os.fsencode(path)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in path:
        return None
    return path if path.endswith(".jsonl") else None


def file_uri(path: str) -> str:
    """The URI of a file."""
    return f"file://{quote(os.fsencode(path))}"
