"""The LSP half of a connection: session files in any editor, without a plugin of ours.

pygls does what it is good at, LSP's types and features; the connection keeps the stream, the
queue and the requests. Nothing here imports pygls before an editor first asks for something of
LSP's: with lsprotocol it takes a quarter of a second and 20 MB, which scripts, the command line
and the first answer of a fresh daemon should not pay. It is loaded in a worker thread, begun
as soon as a client's `initialize` shows an editor's capabilities, so no other client waits.

The daemon reads the files itself; of an editor's text it only wants to know that it is open.
"""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from pisessiond.protocol.errors import RpcError
from pisessiond.protocol.lifecycle_models import InitializeParams
from pisessiond.server.envelope import RawJson, encode, notification, response
from pisessiond.server.lsp.capabilities import (
    DID_CLOSE,
    DID_OPEN,
    EXECUTE_COMMAND,
    EditorView,
    editor_view,
    file_uri,
)
from pisessiond.server.lsp.commands import MESSAGE_TYPES, execute, is_fault
from pisessiond.server.lsp.documents import Document, Documents
from pisessiond.service.faults import log_fault

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection
    from pisessiond.server.envelope import Message
    from pisessiond.server.lsp.server import PiServer

log = logging.getLogger(__name__)

JOIN_SECONDS: Final = 0.2
"""How long changes are joined before an editor is told to ask anew."""

_PREFIX: Final = "lsp:"
"""Begins the ids of our requests. Those of the rest of the daemon begin with `pd:`."""


class LspHalf:
    """What one client's editor sees of its session files, and does to them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._documents = Documents(connection.state, self._tell_problems_soon, self._refresh_soon)
        self._initialize: InitializeParams | None = None
        self._view = EditorView()
        self._server: PiServer | None = None
        self._loading = anyio.Lock()
        self._order = anyio.Lock()
        """Held while files are opened and closed, which happens in the order it was told."""
        self._tasks: TaskGroup | None = None
        self._numbers = itertools.count(1)
        self._refreshing: dict[str, str] = {}
        """Refreshes that were not answered, by id."""
        self._is_refresh_due = False
        self._joins_refreshes = False

    def start(self, tasks: TaskGroup) -> None:
        """Says where what goes on beside requests runs."""
        self._tasks = tasks

    def begin(self, params: InitializeParams) -> None:
        """Takes the client's `initialize`, which pygls is given when it is needed."""
        self._initialize = params
        self._view = editor_view(params.capabilities)
        if "textDocument" in params.capabilities and self._tasks is not None:
            self._tasks.start_soon(_load)

    def end(self) -> None:
        """Lets go of the files the editor had open."""
        self._documents.close_all()

    async def handle(self, message: Message) -> bytes:
        """Deals with a request or a notification.

        Returns:
            The answer, where it is not pygls that encodes it; else nothing.
        """
        if message.method == EXECUTE_COMMAND:
            return await self._execute(message)
        if message.method in (DID_OPEN, DID_CLOSE):
            async with self._order:
                await self._open_or_close(message.method, _document_uri(message.params))
            return b""
        _document_uri(message.params)
        server = await self._loaded_server()
        read = server.read(message)
        found = await server.fetching.answer(message.method or "", read.params)
        if isinstance(found, RawJson):
            return b"" if message.id is None else response(message.id, found)
        server.answer(read, found)
        return b""

    def take_answer(self, message: Message) -> None:
        """Takes the answer to a request of the LSP half; others mean nothing."""
        if isinstance(message.id, str) and message.id.startswith(_PREFIX):
            if self._refreshing.pop(message.id, None) is not None and self._is_refresh_due:
                self._refresh_soon()
        elif self._server is not None:
            self._server.take_answer(message)

    async def _loaded_server(self) -> PiServer:
        async with self._loading:
            if self._server is None:
                self._server = await self._make_server()
            return self._server

    async def _make_server(self) -> PiServer:
        module = await _load()
        assert self._initialize is not None, "LSP methods come after initialize"
        params = self._initialize.model_dump(by_alias=True, exclude_unset=True)
        put = self._connection.outbound.put
        made: PiServer = module.PiServer(put, self._documents, self._view, params)
        return made

    # Files -------------------------------------------------------------------------------------

    async def _open_or_close(self, method: str, uri: str) -> None:
        if method == DID_OPEN:
            await self._loaded_server()
            await self._documents.open(uri)
        elif self._documents.close(uri) is not None and self._server is not None:
            self._server.publish(uri, ())

    def _tell_problems_soon(self, document: Document) -> None:
        document.wants_problems = True
        if self._tasks is not None and not document.is_telling:
            document.is_telling = True
            self._tasks.start_soon(self._tell_problems, document)

    async def _tell_problems(self, document: Document) -> None:
        """Pushes a file's problems, and again as long as they change meanwhile."""
        try:
            server = await self._loaded_server()
            while document.wants_problems:
                document.wants_problems = False
                found = list(await document.problems())
                is_open = self._documents.get(document.uri) is document
                if is_open and found != document.told:
                    document.told = found
                    server.publish(document.uri, found)
        except Exception as error:  # noqa: BLE001
            log_fault(log, "problems of a document could not be told", error)
        finally:
            document.is_telling = False

    # Views -------------------------------------------------------------------------------------

    def _refresh_soon(self) -> None:
        """Tells an editor that can be told to ask for sizes and places anew, a while from now.

        One request of a kind at a time: an editor that is slow to answer is not asked again
        before it has, and then once.
        """
        self._is_refresh_due = True
        if self._view.refreshes and self._tasks is not None and not self._joins_refreshes:
            self._joins_refreshes = True
            self._tasks.start_soon(self._refresh)

    async def _refresh(self) -> None:
        try:
            await anyio.sleep(JOIN_SECONDS)
        finally:
            self._joins_refreshes = False
        if self._refreshing:
            return
        self._is_refresh_due = False
        for method in self._view.refreshes:
            self._refreshing[self._ask(method, None)] = method

    def _ask(self, method: str, params: dict[str, Any] | None) -> str:
        request_id = f"{_PREFIX}{next(self._numbers)}"
        # A request without parameters has no `params`; null would be none of JSON-RPC's.
        given = {} if params is None else {"params": params}
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, **given}
        self._connection.outbound.put(encode(message))
        return request_id

    # Commands ----------------------------------------------------------------------------------

    async def _execute(self, message: Message) -> bytes:
        try:
            done = await execute(self._connection, message.params)
        except RpcError as error:
            if is_fault(error):
                raise
            self._say("warning", error.message)
            refused = {"kind": error.kind, "message": error.message}
            return self._result(message, {"refused": refused})
        self._say("info", done.sentence)
        if done.shown is not None and self._view.shows_documents:
            self._ask("window/showDocument", {"uri": file_uri(done.shown), "takeFocus": True})
        return self._result(message, {"message": done.sentence, **done.facts})

    def _say(self, kind: str, sentence: str) -> None:
        params = {"type": MESSAGE_TYPES[kind], "message": sentence}
        self._connection.outbound.put(notification("window/showMessage", RawJson(encode(params))))

    def _result(self, message: Message, result: dict[str, Any]) -> bytes:
        return b"" if message.id is None else response(message.id, RawJson(encode(result)))


async def _load() -> Any:
    return await anyio.to_thread.run_sync(_import)


def _import() -> Any:
    from pisessiond.server.lsp import converter, server

    converter.shared_converter()
    return server


def _document_uri(params: dict[str, Any] | list[Any] | None) -> str:
    document = params.get("textDocument") if isinstance(params, dict) else None
    uri = document.get("uri") if isinstance(document, dict) else None
    if not isinstance(uri, str):
        raise RpcError("InvalidParams", "textDocument.uri is missing.", path="textDocument.uri")
    return uri
