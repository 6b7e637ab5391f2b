"""Who writes a session now: the daemon, or which running pi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pisessiond.service.errors import (
    AmbiguousOwner,
    PiBusy,
    ReadOnly,
    ServiceError,
    SessionChanged,
)
from pisessiond.service.live.pi import RunningPi


def decide(
    pis: Sequence[RunningPi], pid: int | None, *, needs_idle: bool, may_watch: bool = False
) -> RunningPi | None:
    """The pi through which a session is to be changed; None: the daemon writes it.

    Args:
        pis: those that have it open.
        pid: the one that is meant; None: whichever there is.
        needs_idle: it would harm a run.
        may_watch: one that is only watched will do.

    Raises:
        AmbiguousOwner: several have it open, and none was named.
        SessionChanged: the one that was named has it not open.
        ReadOnly: that one lets itself be watched only.
        PiBusy: it is at work, or does not answer.
    """
    chosen = _choose(pis, pid)
    if chosen is None or may_watch:
        return chosen
    if not chosen.process.drives:
        raise watched_only(chosen)
    if chosen.is_stalled:
        raise PiBusy("pi does not answer", chosen.pid)
    if needs_idle and not chosen.state.idle:
        raise PiBusy(chosen.state.operation or "turn", chosen.pid)
    return chosen


def _choose(pis: Sequence[RunningPi], pid: int | None) -> RunningPi | None:
    if pid is not None:
        named = next((one for one in pis if one.pid == pid), None)
        if named is None:
            raise SessionChanged(pid)
        return named
    if len(pis) > 1:
        raise AmbiguousOwner([_choice(one) for one in pis])
    return pis[0] if pis else None


def _choice(pi: RunningPi) -> dict[str, Any]:
    return {"pid": pi.pid, "mode": pi.process.mode, "state": pi.standing, "leaf": pi.leaf}


def watched_only(pi: RunningPi) -> ServiceError:
    """The refusal of a change to a session whose pi lets itself be watched only."""
    why = pi.process.why or "it lets itself be watched only."
    return ReadOnly(f"pi {pi.pid} has it open: {why} Ask that pi, or fork.", f"pi {pi.pid}")
