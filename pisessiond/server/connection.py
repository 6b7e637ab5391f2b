"""One client: its stream, its queue, what it is subscribed to, and its end.

A connection shares nothing with another one but the sessions. `shutdown` and `exit`, a malformed
frame, a stalled or vanished client end this connection alone.
"""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio
import anyio.lowlevel

from pisessiond.protocol.errors import RpcError
from pisessiond.protocol.methods import DID_RESET
from pisessiond.protocol.notification_models import DidReset
from pisessiond.protocol.wire import MAX_MESSAGE_BYTES
from pisessiond.server.asking import Asking
from pisessiond.server.conversion import (
    did_change,
    did_presence,
    did_progress,
    sessions_did_change,
)
from pisessiond.server.envelope import Message, RawJson, encode, error_response, notification
from pisessiond.server.framing import FramingError
from pisessiond.server.identity import Client
from pisessiond.server.logs import tag_with
from pisessiond.server.lsp.half import LspHalf
from pisessiond.server.outbound import STALL_SECONDS, Outbound, Stalled
from pisessiond.server.pi_conversion import ConnectedBridge
from pisessiond.server.requests import Requests
from pisessiond.server.streams import MessageStream

if TYPE_CHECKING:
    from pisessiond.core.rows.row import Filter
    from pisessiond.protocol.lifecycle_models import InitializeParams
    from pisessiond.server.state import DaemonState
    from pisessiond.service.live.pi import LivePi, PiProcess, RunningPi
    from pisessiond.service.open_session import OpenSession
    from pisessiond.service.types import ListedSession, Present, Progress, SessionChange, Snapshot

log = logging.getLogger(__name__)

MESSAGES_A_TURN: Final = 64
"""So many small messages of one client are about a millisecond; then the others get a turn."""

CLOSE_SECONDS: Final = 1.0
"""How long each step of an ending connection may take: running requests to end, answers to be
handed on, the transport to send them. Together they fit into the daemon's own end."""

UNKNOWN_BYTES: Final = 1 << 20
"""Bytes of a message on TCP from a client that has not shown its token: an `initialize` of an
editor has some tens of thousands."""
UNKNOWN_SECONDS: Final = 10.0
"""How long such a client may take."""

_numbers = itertools.count(1)


class Connection:
    """One client of the daemon, and the subscriber that its sessions tell of their changes."""

    def __init__(
        self, state: DaemonState, stream: MessageStream, *, stall_seconds: float = STALL_SECONDS
    ) -> None:
        self.number = next(_numbers)
        """Counted from 1 since the start of the daemon; names the connection in the log."""
        self.state = state
        self.transport = stream.transport
        self.phase: Literal["new", "ready", "shut"] = "new"
        self.requests = Requests(self)
        wake = self.requests.waker.wake
        self.outbound = Outbound(stream, stall_seconds=stall_seconds, when_room=wake)
        self.asking = Asking(self.outbound, number=self.number, begun=wake)
        self.lsp = LspHalf(self)
        self.subscriptions: dict[str, OpenSession] = {}
        """Sessions this client hears of, by handle."""
        self._drawn: dict[str, Filter] = {}
        """Under which filter it draws the rows of each."""
        self.must_show_token = stream.transport == "tcp"
        """Whether the client has still to prove that it is this user's."""
        self._stream = stream
        self._client: Client | None = None
        self.pi: RunningPi | None = None
        """The pi whose bridge this is; None for all other clients."""
        self._list_cwd: str | None = None
        """Of which folder the list is watched; None: of all."""
        self._closing = anyio.Event()
        self._gone = False
        """Whether nothing can be sent any more."""
        self.exited_early = False
        """Whether `exit` came without `shutdown`."""

    @property
    def client(self) -> Client:
        """Who the client is; known once `initialize` was answered."""
        assert self._client is not None, "handlers that need the client come after initialize"
        return self._client

    @property
    def name(self) -> str:
        """The client's name, for people."""
        return self.client.name

    @property
    def client_id(self) -> str:
        """What the client keeps over reconnects."""
        return self.client.id

    @property
    def running_pi(self) -> RunningPi:
        """The pi whose bridge this is; methods of bridges are answered to no one else."""
        assert self.pi is not None, "methods of kind pi are answered to bridges only"
        return self.pi

    @property
    def peer_pid(self) -> int | None:
        """The process at the other end; None where the system does not say."""
        return self._stream.peer_pid

    def begin(self, client: Client, params: InitializeParams, pi: PiProcess | None = None) -> None:
        """Takes the client's name: from here on all methods are answered."""
        self._client = client
        if pi is not None:
            self.pi = self.state.sessions.live.came(pi, client.id, ConnectedBridge(self))
        self.phase = "ready"
        if self.must_show_token:
            self.must_show_token = False
            self._stream.limit_body(MAX_MESSAGE_BYTES)
        self.lsp.begin(params)
        log.info("client %d is %r over %s", self.number, client.name, self.transport)

    # What handlers ask for.

    def session(self, handle: str) -> OpenSession:
        """An open session by its handle.

        Raises:
            SessionNotFound: None has it.
        """
        return self.state.sessions.get(handle)

    def subscribe(self, session: OpenSession, since: tuple[str, int] | None = None) -> Snapshot:
        """How a session stands; from this very moment on the client is told of its changes."""
        known = self.subscriptions.get(session.handle)
        if known is not None and known is not session:
            known.unsubscribe(self)
        snapshot = session.subscribe(self, since)
        self.subscriptions[session.handle] = session
        self.outbound.reopened(session.handle)
        return snapshot

    def draw(self, session: OpenSession, filter_name: Filter) -> None:
        """Tells with each change of a session how its rows have changed, from now on."""
        self._drawn[session.handle] = filter_name
        session.rows.listen(self, filter_name)

    def unsubscribe(self, handle: str) -> None:
        """Ends a subscription, if there is one."""
        self._drawn.pop(handle, None)
        if (session := self.subscriptions.pop(handle, None)) is not None:
            session.unsubscribe(self)

    # What sessions tell; on the loop, and never waiting.

    def session_changed(self, change: SessionChange) -> None:
        """Sends a change on, or drops it where the client reads too slowly."""
        drawn = self._drawn.get(change.session)
        self.outbound.put_state(change.session, did_change(change, drawn))

    def session_reset(self, session: str, reason: str) -> None:
        """Tells the client to open a session again; the old subscription is over."""
        self.unsubscribe(session)
        self.outbound.reopened(session)
        params = DidReset.model_validate({"session": session, "reason": reason})
        self.outbound.put(notification(DID_RESET.name, params))

    def session_progress(self, progress: Progress) -> None:
        """Tells where an operation of a session stands.

        Beginnings and ends are dropped only together with changes of the session; opening it
        again then says whether an operation runs.
        """
        if progress.state == "report":
            self.outbound.put_passing(did_progress(progress))
        else:
            self.outbound.put_state(progress.session, did_progress(progress))

    def session_presence(
        self, session: str, clients: Sequence[Present], pis: Sequence[LivePi]
    ) -> None:
        """Tells who has a session open."""
        self.outbound.put_state(session, did_presence(session, clients, pis))

    # What sessions ask.

    def offers(self, method: str) -> bool:
        """Whether the client answers this request of the daemon."""
        return self.phase == "ready" and self.asking.offers(method)

    async def ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What the client answers to a request of the daemon; see `Asking.ask`."""
        return await self.asking.ask(method, params, seconds)

    def take_answer(self, message: Message) -> None:
        """Hands an answer to whoever asked; one that nobody waits for means nothing."""
        if self.pi is not None:
            self.pi.heard()
        if not self.asking.take(message):
            self.lsp.take_answer(message)

    def watch_list(self, cwd: str | None) -> None:
        """Tells of changes of the list from now on, of those of `cwd` or of all."""
        self._list_cwd = cwd
        self.state.sessions.watch_list(self)

    def sessions_changed(self, rows: Sequence[ListedSession], gone: Sequence[str]) -> None:
        """Sends on how the list has changed."""
        cwd = self._list_cwd
        if cwd is not None:
            wanted = os.path.normpath(cwd)
            rows = [one for one in rows if os.path.normpath(one.cwd) == wanted]
        if rows or gone:
            self.outbound.put(sessions_did_change(rows, gone))

    def notify(self, method: str, params: dict[str, object]) -> None:
        """Tells the client something unasked."""
        self.outbound.put(notification(method, RawJson(encode(params))))

    # Its life.

    def close_soon(self) -> None:
        """Ends the connection once what is at work and what waits is dealt with.

        What the client was asked it can answer no more.
        """
        self.asking.close()
        self._closing.set()

    async def run(self) -> None:
        """Serves the client until one side ends it."""
        self.state.joined(self)
        tag_with(self.number)
        try:
            async with anyio.create_task_group() as tasks:
                self.requests.start(tasks)
                self.lsp.start(tasks)
                tasks.start_soon(self._write)
                tasks.start_soon(self._read)
                if self.must_show_token:
                    self._stream.limit_body(UNKNOWN_BYTES)
                    tasks.start_soon(self._expect_token)
                await self._closing.wait()
                await self._wind_up()
                tasks.cancel_scope.cancel()
        finally:
            self._gone = True
            self.asking.close()
            if self.pi is not None:
                self.state.sessions.live.gone(self.pi)
            self.state.sessions.unwatch_list(self)
            for handle in list(self.subscriptions):
                self.unsubscribe(handle)
            self.lsp.end()
            with anyio.move_on_after(CLOSE_SECONDS, shield=True) as limit:
                await self._stream.aclose()
            if limit.cancelled_caught:
                self._stream.abort()
            self.state.left(self)
            log.info("client %d left", self.number)

    async def _expect_token(self) -> None:
        await anyio.sleep(UNKNOWN_SECONDS)
        if self.must_show_token:
            self.close_soon()

    async def _wind_up(self) -> None:
        """Lets what was asked before the end be answered, for a while."""
        if not self._gone:
            with anyio.move_on_after(CLOSE_SECONDS):
                await self.requests.wait_none()
        if self.state.stopping.is_set():
            self.state.sessions.stop_operations()
        self.requests.cancel_all()
        with anyio.move_on_after(CLOSE_SECONDS):
            await self.requests.wait_none()
            if not self._gone:
                await self.outbound.wait_idle()

    async def _write(self) -> None:
        try:
            await self.outbound.run(lambda: self._gone)
        except Stalled:
            log.warning("client %d took nothing for too long and was closed", self.number)
            self._stream.abort()
        except OSError:
            pass
        self._gone = True
        self.close_soon()

    async def _read(self) -> None:
        taken = 0
        try:
            while not self._closing.is_set():
                body = await self._stream.receive()
                if body is None:
                    self._gone = self._gone or self._stream.is_peer_gone()
                    break
                self.requests.receive(body)
                taken += 1
                if taken % MESSAGES_A_TURN == 0:
                    await anyio.lowlevel.checkpoint()
                await self.requests.wait_readable()
            self.asking.close()
            if not self._gone:
                await self.requests.wait_none_held()
        except FramingError as error:
            log.info("client %d sent no frame: %s", self.number, error)
            refusal = RpcError("InvalidRequest", f"Malformed frame: {error}. Closing.")
            self.outbound.put(error_response(None, refusal))
        finally:
            self.close_soon()
