"""pygls, held so that it serves one client of many. Loaded only when an editor needs it.

Each override mends something pygls 2.1.1 does when it does not own the process; a contract test
for each says when it can go. pygls has no word in the connection's life: it is given single
messages, and what it writes goes into the connection's own queue.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    LanguageServerProtocol,
    lsp_method,
)

from pisessiond import __version__
from pisessiond.protocol.errors import RpcError, invalid_params
from pisessiond.server.envelope import Message, error_response
from pisessiond.server.lsp.capabilities import ACTION_KIND, FEATURES, EditorView
from pisessiond.server.lsp.converter import shared_converter
from pisessiond.server.lsp.documents import Documents
from pisessiond.server.lsp.fetching import Fetching
from pisessiond.server.lsp.problems import diagnostics
from pisessiond.service.problem_places import LocatedProblem

log = logging.getLogger(__name__)

_INTERNAL: Final = -32603

_OPTIONS: Final[dict[str, Any]] = {
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: lsp.DocumentSymbolOptions(label="pi session"),
    lsp.TEXT_DOCUMENT_CODE_LENS: lsp.CodeLensOptions(resolve_provider=False),
    lsp.TEXT_DOCUMENT_INLAY_HINT: lsp.InlayHintOptions(resolve_provider=False),
    lsp.TEXT_DOCUMENT_CODE_ACTION: lsp.CodeActionOptions(code_action_kinds=[ACTION_KIND]),
}


class PiProtocol(LanguageServerProtocol):
    """pygls's protocol without what only the owner of a process may do."""

    _server: PiServer

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.unanswered: set[object] = set()
        """Ids of requests that pygls has sent to the client."""

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: str | int | None = None,
    ) -> Future[Any]:
        """Sends a request of pygls's, whose id is remembered."""
        msg_id = str(uuid.uuid4()) if msg_id is None else msg_id
        self.unanswered.add(msg_id)
        return super().send_request(method, params, callback, msg_id)

    # pygls puts an lru_cache on these two methods, which keeps every closed connection alive.
    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        """LSP's type of a message."""
        return cast("type[Any] | None", lsp.METHOD_TO_TYPES.get(method, (None,))[0])

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        """LSP's type of a response."""
        return cast("type[Any] | None", lsp.METHOD_TO_TYPES.get(method, (None, None))[1])

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: object) -> None:  # type: ignore[override]
        """Never ends the process, as pygls's own would. The connection answers `exit`."""


class _Writer:
    """Where pygls writes: whole bodies, into the connection's queue."""

    def __init__(self, put: Callable[[bytes], None]) -> None:
        self._put = put
        self.muted = True

    def write(self, data: bytes) -> None:
        if not self.muted:
            self._put(data)

    def close(self) -> None:
        """The connection closes itself."""


class PiServer(LanguageServer):
    """One client's language server."""

    protocol: PiProtocol

    def __init__(
        self,
        put: Callable[[bytes], None],
        documents: Documents,
        view: EditorView,
        initialize: dict[str, Any],
    ) -> None:
        super().__init__(
            "pisessiond",
            __version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.None_,
            protocol_cls=PiProtocol,
            converter_factory=shared_converter,
        )
        self.fetching = Fetching(documents, view)
        self._view = view
        self._put = put
        self._prepared: Any = None
        for method in FEATURES:
            self._register(method)
        writer = _Writer(put)
        self.protocol.set_writer(writer, include_headers=False)
        # The client has had its answer to `initialize`; pygls only has to hear of it.
        self._handle(
            self.protocol.structure_message(
                {"jsonrpc": "2.0", "id": 0, "method": lsp.INITIALIZE, "params": initialize}
            )
        )
        writer.muted = False

    def _register(self, method: str) -> None:
        def feature(_: PiServer, params: object) -> Any:
            del params
            return self._prepared

        self.feature(method, _OPTIONS.get(method))(feature)

    def read(self, message: Message) -> Any:
        """A message in LSP's types.

        Raises:
            RpcError: pygls could not read its params.
        """
        try:
            return self.protocol.structure_message(message.raw)
        except JsonRpcException as error:
            raise _refused(error) from None

    def answer(self, message: Any, prepared: Any) -> None:
        """Lets pygls answer a request that was read, with what was fetched for it.

        Raises:
            RpcError: pygls could not deal with it.
        """
        self._prepared = prepared
        try:
            self._handle(message)
        except JsonRpcException as error:
            raise _refused(error) from None
        finally:
            self._prepared = None

    def take_answer(self, message: Message) -> None:
        """Takes the answer to a request that pygls sent, and no other: it would log those."""
        if message.id not in self.protocol.unanswered:
            return
        self.protocol.unanswered.discard(message.id)
        try:
            self._handle(self.protocol.structure_message(message.raw))
        except JsonRpcException:
            log.info("the answer to a request of the LSP half was none")

    def _handle(self, message: Any) -> None:
        self.protocol.handle_message(message)

    def publish(self, uri: str, problems: Sequence[LocatedProblem]) -> None:
        """Pushes a file's problems.

        Pushed only: where an editor also pulls, it would show each twice, and not all of them
        can be told to pull again.
        """
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(
                uri=uri, diagnostics=diagnostics(problems, uri, self._view)
            )
        )

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Answers where pygls would say nothing, and shows the user no internals."""
        log.error("%s in the LSP half", type(error).__name__)
        if source is JsonRpcInternalError and (request_id := self.protocol.msg_id) is not None:
            failed = RpcError("InternalError", f"Internal error ({type(error).__name__}).")
            self._put(error_response(request_id, failed))


def _refused(error: JsonRpcException) -> RpcError:
    if error.code == _INTERNAL:
        return RpcError("InternalError", "Internal error (LSP).")
    return invalid_params("", "they are not LSP's")
