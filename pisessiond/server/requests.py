"""The requests of one client: which function answers, what is at work, what was cancelled.

Messages are taken in the order they came. A plain handler answers at once; an asynchronous one
starts as a task in that order, under a cancel scope of its own. The answer is queued in the same
step in which the handler returns, so it stands before whatever happens next.

While too much is at work no more is taken, and usually no more is read. Only while the daemon
waits for an answer of the client are messages read on and held here, in order; answers are found
among them at once, and so are cancellations.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from pisessiond.protocol.errors import RpcError, unauthorized
from pisessiond.protocol.methods import CANCEL, EXIT, INITIALIZE
from pisessiond.protocol.wire import MAX_IN_FLIGHT, MAX_MESSAGE_BYTES, MutationParams, WireModel
from pisessiond.server.dispatch import BEFORE_INITIALIZE, HANDLERS, Handler
from pisessiond.server.envelope import (
    BadMessage,
    HasWire,
    Message,
    RawJson,
    encode,
    encode_result,
    error_response,
    parse_message,
    response,
)
from pisessiond.server.held import HeldMessages
from pisessiond.server.lsp.capabilities import LSP_METHODS
from pisessiond.server.refusals import to_rpc_error
from pisessiond.server.waking import Waker
from pisessiond.service.errors import STOPPED

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection

log = logging.getLogger(__name__)

READS_AT_ONCE: Final = 4
"""Questions of one client at work at once: a few, so that others need not queue behind hundreds."""

_TOO_LARGE: Final = RpcError(
    "TooLarge", "The answer is larger than a message may be; ask for less of it."
)
_CANCELLED: Final = RpcError("Cancelled", "The request was cancelled; nothing was changed.")
_STOPPED: Final = RpcError("Cancelled", STOPPED)


class Requests:
    """What one client has asked and not been answered yet."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._scopes: dict[object, anyio.CancelScope] = {}
        self._held = HeldMessages()
        self._lets_in = False
        """Whether `_let_in` runs."""
        self.waker = Waker()
        """Wakes who waits to read on: when a request has ended, when answers were sent, when the
        client is asked something."""
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
    def has_room(self) -> bool:
        """Whether more may be taken for now.

        A client that has 256 requests at work is not refused the next one: it is taken when one
        of them is done, as with any full pipe.
        """
        return len(self._scopes) < MAX_IN_FLIGHT and self._connection.outbound.has_room

    async def wait_readable(self) -> None:
        """Waits until more may be read, taken or not."""
        while not self.has_room or self._held:
            if self._connection.asking.is_waiting:
                if not self._held.is_full:
                    return
                # What comes next will not be looked at, so an answer behind it cannot come.
                log.info("client %d sends more than it lets be answered", self._connection.number)
                self._connection.asking.give_up()
            await self.waker.wait()

    async def wait_none_held(self) -> None:
        """Waits until all that was read has been taken."""
        while self._held:
            await self.waker.wait()

    async def wait_none(self) -> None:
        """Waits until all of them have ended."""
        while self._scopes or self._held:
            await self.waker.wait()

    def cancel(self, request_id: str | int) -> None:
        """Cancels one of them, if it is still at work or held."""
        if (scope := self._scopes.get(request_id)) is not None:
            scope.cancel()
        elif self._held.drop(request_id):
            self.waker.wake()
            self._connection.outbound.put(error_response(request_id, _CANCELLED))

    def cancel_all(self) -> None:
        """Cancels each; what is being committed is still carried out and answered.

        What is held is forgotten: it is as if it had never been read.
        """
        self._held.clear()
        for scope in self._scopes.values():
            scope.cancel()

    def receive(self, body: bytes) -> None:
        """Deals with a message, now or when its turn comes."""
        is_free = self.has_room and not self._held
        try:
            message = parse_message(body)
        except BadMessage as bad:
            if is_free:
                self._refuse_bad(bad)
            else:
                self._hold(None, body)
            return
        if message.method is None:
            self._connection.take_answer(message)
        elif is_free or (message.method == CANCEL.name and message.id is None):
            self._take(message)
        else:
            self._hold(message.id, body)

    def _hold(self, request_id: object, body: bytes) -> None:
        assert self._tasks is not None
        self._held.put(request_id, body)
        if not self._lets_in:
            self._lets_in = True
            self._tasks.start_soon(self._let_in)

    async def _let_in(self) -> None:
        """Takes what is held, in order, as there is room; ends when nothing is held any more."""
        while self._held:
            if not self.has_room:
                await self.waker.wait()
                continue
            try:
                self._take(parse_message(self._held.take()))
            except BadMessage as bad:
                self._refuse_bad(bad)
            await anyio.lowlevel.checkpoint()
        self._lets_in = False
        self.waker.wake()

    def _refuse_bad(self, bad: BadMessage) -> None:
        self._connection.outbound.put(error_response(bad.id, bad.error))
        if self._connection.must_show_token:
            self._connection.close_soon()

    def _take(self, message: Message) -> None:
        """Answers a request or a notification, or starts what will."""
        try:
            self._check(message)
            name = message.method
            handler = HANDLERS.get(name or "")
            if handler is not None and self._may_call(handler):
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

    def _may_call(self, handler: Handler) -> bool:
        """Whether the method is one on this connection."""
        pi = self._connection.pi
        if pi is not None:
            pi.heard()
        return handler.method.kind != "pi" or pi is not None

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
                is_stopping = self._connection.state.stopping.is_set()
                answer = self._error(message, _STOPPED if is_stopping else _CANCELLED)
        finally:
            del self._scopes[key]
            self.waker.wake()
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
                return await self._connection.lsp.handle(message)
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
        # A repetition is watched under a token of its own.
        given = message.params if isinstance(message.params, dict) else {}
        sent = encode({name: one for name, one in given.items() if name != "workDoneToken"})
        return await connection.state.replays.run(key, handler.method.name, sent, act)

    def _error(self, message: Message, error: RpcError) -> bytes:
        return b"" if message.id is None else error_response(message.id, error)


def _shown(name: object) -> str:
    """A method's name as an error repeats it: never longer than a name is."""
    return str(name)[:100]
