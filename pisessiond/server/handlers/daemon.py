"""What the daemon says of itself, and its end."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pisessiond.protocol.errors import RpcError
from pisessiond.protocol.lifecycle_models import (
    ConnectedClient,
    ConnectedPi,
    Memory,
    NoParams,
    Nothing,
    ServedSession,
    ShutdownParams,
    StatusResult,
    WatchStatus,
)
from pisessiond.protocol.wire import PROTOCOL_VERSION
from pisessiond.server.pi_conversion import live_members

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection
    from pisessiond.service.live.pi import RunningPi
    from pisessiond.service.watching import WatchState


def status(connection: Connection, _: NoParams) -> StatusResult:
    """How the daemon is; a plain look, answered whatever else is at work."""
    state = connection.state
    result = StatusResult(
        pid=os.getpid(),
        version=state.about.version,
        protocol_version=PROTOCOL_VERSION,
        started=state.started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        uptime=round((datetime.now(UTC) - state.started).total_seconds(), 3),
        clients=[_client(one) for one in sorted(state.connections, key=lambda one: one.number)],
        sessions=[
            ServedSession(
                session=one.handle,
                path=one.path,
                epoch=one.epoch,
                rev=one.rev,
                subscribers=len(one.subscribers),
            )
            for one in state.sessions.open_sessions
        ],
        watch=_watch(state.sessions.watch_state),
        memory=Memory(rss=resident_bytes()),
        log=state.about.log,
        agent_dir=state.about.agent_dir,
        address=state.about.address,
        tcp=state.tcp,
        idle=state.about.idle,
    )
    if pis := [_pi(one.pi) for one in state.connections if one.pi is not None]:
        result.pis = sorted(pis, key=lambda one: one.pid)
    return result


def _pi(pi: RunningPi) -> ConnectedPi:
    held, session = pi.held, pi.session
    view = pi.view(is_owner=held is not None and held.live.owner is pi)
    return ConnectedPi(
        **live_members(view),
        session=None if held is None else held.handle,
        file=None if session is None else session.file,
    )


def _watch(known: WatchState | None) -> WatchStatus | None:
    return None if known is None else WatchStatus(how=known.how, reason=known.reason)


def _client(connection: Connection) -> ConnectedClient:
    known = connection.phase != "new"
    return ConnectedClient(
        name=connection.client.name if known else "unknown",
        id=connection.client.id if known else None,
        transport=connection.transport,
        initialized=known,
        sessions=list(connection.subscriptions),
        running=connection.requests.running,
        queued=connection.outbound.queued,
        queued_bytes=connection.outbound.queued_bytes,
    )


def resident_bytes() -> int:
    """Resident set of this process; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def shutdown(connection: Connection, params: ShutdownParams) -> Nothing:
    """Ends the daemon, once this answer is on its way."""
    others = connection.state.others_at_work(connection) if params.if_idle else None
    if others is not None:
        raise RpcError(
            "Busy",
            f"The daemon is in use ({others}) and runs on.",
            operation="serving",
            client=others,
        )
    connection.state.stop("shutdown")
    return Nothing()
