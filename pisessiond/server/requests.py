"""The requests of one client: which function answers, what is at work, what was cancelled.

Messages are taken in the order they came. A plain handler answers at once; an asynchronous one
starts as a task in that order, under a cancel scope of its own. The answer is queued in the same
step in which the handler returns, so it stands before whatever happens next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from pisessiond.protocol.errors import RpcError, unauthorized
from pisessiond.protocol.methods import EXIT, INITIALIZE
from pisessiond.protocol.wire import MAX_IN_FLIGHT, MAX_MESSAGE_BYTES, MutationParams, WireModel
from pisessiond.server.conversion import to_rpc_error
from pisessiond.server.dispatch import BEFORE_INITIALIZE, HANDLERS, Handler
from pisessiond.server.envelope import (
    HasWire,
    Message,
    RawJson,
    encode,
    encode_result,
    error_response,
    response,
)
from pisessiond.server.lsp import LSP_METHODS

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection

READS_AT_ONCE: Final = 4
"""Questions of one client at work at once: a few, so that others need not queue behind hundreds."""

_TOO_LARGE: Final = RpcError(
    "TooLarge", "The answer is larger than a message may be; ask for less of it."
)
_CANCELLED: Final = RpcError("Cancelled", "The request was cancelled; nothing was changed.")


class Requests:
    """What one client has asked and not been answered yet."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._scopes: dict[object, anyio.CancelScope] = {}
        self._changed = anyio.Event()
        self._reading = anyio.Semaphore(READS_AT_ONCE, fast_acquire=True)
        self._tasks: TaskGroup | None = None

    def start(self, tasks: TaskGroup) -> None:
        """Says where the asynchronous handlers run."""
        self._tasks = tasks

    @property
    def running(self) -> int:
        """How many are at work."""
        return len(self._scopes)

    @property
    def is_full(self) -> bool:
        """Whether no more may be read for now.

        A client that has 256 requests at work is not refused the next one: it is read when one
        of them is done, as with any full pipe.
        """
        return len(self._scopes) >= MAX_IN_FLIGHT

    async def wait_fewer(self) -> None:
        """Waits until one of them has ended."""
        await self._changed.wait()

    async def wait_none(self) -> None:
        """Waits until all of them have ended."""
        while self._scopes:
            await self._changed.wait()

    def cancel(self, request_id: object) -> None:
        """Cancels one of them, if it is still at work."""
        if (scope := self._scopes.get(request_id)) is not None:
            scope.cancel()

    def cancel_all(self) -> None:
        """Cancels each; what is being committed is still carried out and answered."""
        for scope in self._scopes.values():
            scope.cancel()

    def take(self, message: Message) -> None:
        """Answers a request or a notification, or starts what will."""
        try:
            self._check(message)
            name = message.method
            if (handler := HANDLERS.get(name or "")) is not None:
                params = handler.take(message.params)
                if handler.is_async:
                    self._start(message, handler, params)
                else:
                    self._answer_now(message, handler, params)
            elif name in LSP_METHODS:
                self._start(message, None, None)
            else:
                raise RpcError("MethodNotFound", f"No method {_shown(name)}.", method=_shown(name))
        except RpcError as error:
            self._refuse(message, error)

    def _check(self, message: Message) -> None:
        phase = self._connection.phase
        if self._connection.must_show_token and message.method != INITIALIZE.name:
            self._connection.close_soon()
            raise unauthorized()
        if phase == "new" and message.method not in BEFORE_INITIALIZE:
            raise RpcError("NotInitialized", "Send initialize first.")
        if phase == "shut" and message.method != EXIT.name:
            raise RpcError("InvalidRequest", "After shutdown only exit may follow.")
        if message.id is not None and message.id in self._scopes:
            raise RpcError("InvalidRequest", "The id is that of a request still at work.")

    def _refuse(self, message: Message, error: RpcError) -> None:
        if message.id is not None:
            self._connection.outbound.put(error_response(message.id, error))

    def _answer_now(self, message: Message, handler: Handler, params: WireModel) -> None:
        try:
            result = handler.call(self._connection, params)
            answer = b"" if message.id is None else response(message.id, result)
        except Exception as error:  # noqa: BLE001
            raise to_rpc_error(error, handler.method.name) from None
        if answer:
            self._connection.outbound.put(answer)

    def _start(self, message: Message, handler: Handler | None, params: WireModel | None) -> None:
        assert self._tasks is not None
        # A notification has no id; it counts as at work under a key of its own.
        key: object = message.id if message.id is not None else object()
        scope = self._scopes[key] = anyio.CancelScope()
        self._tasks.start_soon(self._run, key, scope, message, handler, params)

    async def _run(
        self,
        key: object,
        scope: anyio.CancelScope,
        message: Message,
        handler: Handler | None,
        params: WireModel | None,
    ) -> None:
        answer: bytes | None = None
        try:
            with scope:
                # A scope cancelled before its task began would still let the handler run up to
                # its first wait, and perhaps stage something.
                if not scope.cancel_called:
                    answer = await self._answer(message, handler, params)
            if answer is None:
                answer = self._error(message, _CANCELLED)
        finally:
            del self._scopes[key]
            self._changed.set()
            self._changed = anyio.Event()
        if len(answer) > MAX_MESSAGE_BYTES:
            answer = self._error(message, _TOO_LARGE)
        if answer:
            self._connection.outbound.put(answer)

    async def _answer(
        self, message: Message, handler: Handler | None, params: WireModel | None
    ) -> bytes:
        """The encoded answer; empty for a notification and where the LSP half has answered."""
        try:
            if handler is None or params is None:
                await self._connection.lsp.handle(message)
                return b""
            result = await self._result(message, handler, params)
            return b"" if message.id is None else response(message.id, result)
        except Exception as error:  # noqa: BLE001
            return self._error(message, to_rpc_error(error, message.method or ""))

    async def _result(
        self, message: Message, handler: Handler, params: WireModel
    ) -> HasWire | None:
        connection = self._connection

        async def act() -> RawJson:
            return encode_result(await handler.call(connection, params))

        if handler.method.kind == "read":
            async with self._reading:
                answer: HasWire | None = await handler.call(connection, params)
                return answer
        if not isinstance(params, MutationParams) or params.request_id is None:
            result: HasWire | None = await handler.call(connection, params)
            return result
        key = (connection.client.id, params.request_id)
        sent = encode(message.params)
        return await connection.state.replays.run(key, handler.method.name, sent, act)

    def _error(self, message: Message, error: RpcError) -> bytes:
        return b"" if message.id is None else error_response(message.id, error)


def _shown(name: object) -> str:
    """A method's name as an error repeats it: never longer than a name is."""
    return str(name)[:100]
