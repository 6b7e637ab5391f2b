"""Faults of our own: how they are written to the log, and how tasks outlive them.

A task that ends by an exception takes its whole task group along: one session's fault would end
that session for everybody, and the daemon with it. So whatever runs beside the others runs in here.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 0.1
"""Before something that failed is begun anew; twice as long each time."""

PAUSE_AT_MOST: Final = 60.0


def log_fault(log: logging.Logger, what: str, error: BaseException) -> None:
    """Log an exception nobody foresaw: its class and stack, without its own words.

    An exception's message may quote a session, and a log never holds conversation text.
    """
    kind = type(error).__name__
    silent = (RuntimeError, RuntimeError(kind), error.__traceback__)
    log.error("%s: %s", what, kind, exc_info=silent)


async def survive(what: str, work: Callable[[], Awaitable[object]]) -> None:
    """Do something once; a fault in it is logged, and harms nobody else.

    Args:
        what: a name for the log.
        work: what is done.
    """
    try:
        await work()
    except Exception as error:  # noqa: BLE001 - whatever it is, the other tasks go on
        log_fault(log, f"{what} failed", error)


async def go_on(what: str, work: Callable[[], Awaitable[object]]) -> None:
    """Do something that lasts until it is cancelled; begun anew where a fault ended it.

    Args:
        what: a name for the log.
        work: what is done; it must be able to begin anew at any time.
    """
    pause = PAUSE_SECONDS
    while True:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - whatever it is, the other tasks go on
            log_fault(log, f"{what} failed, and begins anew", error)
        else:
            return
        await anyio.sleep(pause)
        pause = min(2 * pause, PAUSE_AT_MOST)
