"""Running pi between the wire and the service, and the bridge as the service asks it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pisessiond.protocol import live_models, pi_models
from pisessiond.server.processes import began_at
from pisessiond.service.live.pi import LivePi, PiProcess, PiSession, PiState, Silent
from pisessiond.service.live.words import Attach, PiChange
from pisessiond.service.subscribers import Absent

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection


class ConnectedBridge:
    """The connection of a bridge."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def is_gone(self) -> bool:
        """Whether it has ended."""
        return self._connection.asking.is_closed

    def offers(self, method: str) -> bool:
        """Whether the bridge answers this."""
        return self._connection.offers(method)

    async def drive(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What the bridge answers. Raises: Silent: nothing, or nothing that could be read."""
        try:
            return await self._connection.ask(method, params, seconds)
        except Absent:
            raise Silent(is_gone=self.is_gone) from None


def process(given: pi_models.PiProcess, peer: int | None) -> PiProcess:
    """The process of a bridge; one whose socket belongs to another process is only watched.

    Args:
        given: what it says of itself.
        peer: the process at the other end of the socket, as the system says; None: it does not.
    """
    drives, why = given.drive, given.why
    is_confirmed = peer == given.pid
    if drives and not is_confirmed:
        drives, why = False, "the system does not confirm that this is its process."
    began = began_at(given.pid)
    if not drives and why is None:
        why = "it lets itself be watched only."
    return PiProcess(
        pid=given.pid,
        # The clock may be set meanwhile; the system's own count of seconds goes on.
        started=float(given.started) if began is None else began,
        mode=given.mode,
        has_ui=given.has_ui,
        nested=given.nested,
        version=given.version,
        drives=drives,
        why=why,
        is_confirmed=is_confirmed,
    )


def attach(given: pi_models.PiAttachParams) -> Attach:
    """What a pi has open."""
    return Attach(
        gen=given.gen,
        reason=given.reason,
        session=session(given.session),
        state=state(given.state),
        entries=given.entries,
    )


def session(given: pi_models.PiSession) -> PiSession:
    """The session a pi has open."""
    return PiSession(
        id=given.id,
        file=given.file,
        on_disk=given.on_disk,
        cwd=given.cwd,
        leaf=given.leaf,
        count=given.count,
        last_id=given.last_id,
        name=given.name,
        parent_session=given.parent_session,
        timestamp=given.timestamp,
    )


def state(given: pi_models.PiState) -> PiState:
    """What a pi is doing."""
    usage = given.usage
    return PiState(
        idle=given.idle,
        operation=given.operation,
        waiting_for_user=given.waiting_for_user,
        pending=given.pending,
        tokens=None if usage is None else usage.tokens,
        window=None if usage is None else usage.window,
    )


def change(given: pi_models.PiDidChangeParams) -> PiChange:
    """What came in a pi."""
    return PiChange(
        gen=given.gen,
        seq=given.seq,
        leaf=given.leaf,
        count=given.count,
        entries=given.entries,
        on_disk=given.on_disk,
    )


def live_pis(given: Iterable[LivePi]) -> list[live_models.LivePi]:
    """Running pi as clients are told of them."""
    return [live_models.LivePi(**live_members(one)) for one in given]


def live_members(given: LivePi) -> dict[str, Any]:
    """The members of one; what it has not stays absent."""
    members: dict[str, Any] = {
        "pid": given.pid,
        "mode": given.mode,
        "version": given.version,
        "state": given.state,
        "waiting_for_user": given.waiting_for_user,
        "pending": given.pending,
        "drives": given.drives,
        "owner": given.owner,
        "unseen": given.unseen,
        "leaf": given.leaf,
    }
    if given.why is not None:
        members["why"] = given.why
    if given.nested:
        members["nested"] = True
    return members
