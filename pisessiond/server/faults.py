"""How a fault of our own is written to the log: where it happened, and not what was said."""

from __future__ import annotations

import logging


def log_fault(log: logging.Logger, what: str, error: BaseException) -> None:
    """Logs an exception nobody foresaw: its class and stack, without its own words.

    An exception's message may quote a session, and a log never holds conversation text.
    """
    kind = type(error).__name__
    silent = (RuntimeError, RuntimeError(kind), error.__traceback__)
    log.error("%s: %s", what, kind, exc_info=silent)
