"""The LSP half of a connection: an outline and diagnostics for session files, for any editor.

pygls does what it is good at, LSP's types and features; the connection keeps the stream, the
queue and the requests. Nothing here imports pygls before an editor first asks for something of
LSP's: with lsprotocol it takes a quarter of a second and 20 MB, which scripts, the command line
and the first answer of a fresh daemon should not pay. It is loaded in a worker thread, begun
as soon as a client's `initialize` shows an editor's capabilities, so no other client waits.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from pisessiond.protocol.errors import RpcError
from pisessiond.protocol.lifecycle_models import InitializeParams
from pisessiond.server.lsp_documents import Document, Documents

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection
    from pisessiond.server.envelope import Message
    from pisessiond.server.lsp_server import PiServer

log = logging.getLogger(__name__)

DOCUMENT_SYMBOL: Final = "textDocument/documentSymbol"
DID_OPEN: Final = "textDocument/didOpen"
DID_CLOSE: Final = "textDocument/didClose"

LSP_METHODS: Final = frozenset({DOCUMENT_SYMBOL, DID_OPEN, DID_CLOSE})
"""What goes to pygls. Everything else of LSP's is not offered, so a request for it is refused
and a notification ignored without loading anything."""


def lsp_capabilities(client: dict[str, Any]) -> dict[str, Any]:
    """What the LSP half can do, for the answer to `initialize`.

    Said here rather than asked of pygls, which is not loaded yet; a test holds it against what
    pygls would say.
    """
    general = client.get("general")
    offered = general.get("positionEncodings") if isinstance(general, dict) else None
    known = [one for one in offered or () if one in ("utf-8", "utf-16", "utf-32")]
    return {
        "positionEncoding": known[0] if known else "utf-16",
        # The daemon reads the files itself and wants no text, only to know what is open.
        "textDocumentSync": {"openClose": True, "change": 0, "save": False},
        "documentSymbolProvider": {"label": "pi session"},
    }


class LspHalf:
    """What one client's editor sees of its session files."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._documents = Documents(connection.state, self._refresh)
        self._initialize: InitializeParams | None = None
        self._server: PiServer | None = None
        self._order = anyio.Lock()
        self._tasks: TaskGroup | None = None

    def start(self, tasks: TaskGroup) -> None:
        """Says where refreshes run."""
        self._tasks = tasks

    def begin(self, params: InitializeParams) -> None:
        """Takes the client's `initialize`, which pygls is given when it is needed."""
        self._initialize = params
        if "textDocument" in params.capabilities and self._tasks is not None:
            self._tasks.start_soon(_load)

    def end(self) -> None:
        """Lets go of the files the editor had open."""
        self._documents.close_all()

    async def handle(self, message: Message) -> None:
        """Lets pygls answer a request, or take a notification, in the order they came.

        What the feature will need of a session is fetched first, under the request's own cancel
        scope, so that the feature itself is a plain function: pygls then starts no tasks, which
        nobody would own.
        """
        async with self._order:
            uri = _document_uri(message.params)
            if self._server is None:
                self._server = await self._make_server()
            if message.method == DID_OPEN:
                await self._documents.open(uri, session_path(uri))
            elif message.method == DOCUMENT_SYMBOL:
                await self._documents.outline(uri, session_path(uri))
            elif message.method == DID_CLOSE:
                self._documents.close(uri)
            self._server.feed(message)

    def take_answer(self, message: Message) -> None:
        """Hands pygls the answer to a request of its own; others mean nothing."""
        if self._server is not None:
            self._server.take_answer(message)

    async def _make_server(self) -> PiServer:
        module = await _load()
        assert self._initialize is not None, "LSP methods come after initialize"
        params = self._initialize.model_dump(by_alias=True, exclude_unset=True)
        made: PiServer = module.PiServer(self._connection.outbound.put, self._documents, params)
        return made

    def _refresh(self, document: Document) -> None:
        """Publishes a file's problems again, after they may have changed."""
        if self._tasks is not None and self._server is not None:
            self._tasks.start_soon(self._publish, document)

    async def _publish(self, document: Document) -> None:
        try:
            changed = await document.refresh_problems()
        except Exception as error:  # noqa: BLE001
            log.info("problems of a document could not be read: %s", type(error).__name__)
            return
        if changed and self._server is not None:
            self._server.publish(document)


async def _load() -> Any:
    return await anyio.to_thread.run_sync(_import)


def _import() -> Any:
    from pisessiond.server import lsp_server

    lsp_server.shared_converter()
    return lsp_server


def _document_uri(params: dict[str, Any] | list[Any] | None) -> str:
    document = params.get("textDocument") if isinstance(params, dict) else None
    uri = document.get("uri") if isinstance(document, dict) else None
    if not isinstance(uri, str):
        raise RpcError("InvalidParams", "textDocument.uri is missing.", path="textDocument.uri")
    return uri


def session_path(uri: str) -> str | None:
    """The file a URI names, if it may be a session's; else None."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in path:
        return None
    return path if path.endswith(".jsonl") else None
