"""The log: a rotating file for its owner alone, each line tagged with the client it is about.

It never holds conversation text. Our own lines are written so; what libraries say of a fault may
quote whatever they were given, so of their lines only the place is kept.
"""

from __future__ import annotations

import logging
import os
import traceback
from contextvars import ContextVar
from logging.handlers import RotatingFileHandler
from types import TracebackType
from typing import IO, Final, TypeAlias

LOG_BYTES: Final = 4 << 20
LOG_FILES: Final = 3

_OURS: Final = "pisessiond"
_client: ContextVar[int | None] = ContextVar("client", default=None)

_ExcInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


def tag_with(client: int) -> None:
    """Names the client in whatever this task, and those it starts, log from now on."""
    _client.set(client)


class _Discreet(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        client = _client.get()
        record.client = f" client {client}" if client is not None else ""
        if not record.name.startswith(_OURS):
            record.msg, record.args = f"said something in {record.pathname}:{record.lineno}", ()
        return super().format(record)

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 - logging's own name
        kind = ei[0].__name__ if ei[0] is not None else "no exception"
        return "".join(traceback.format_tb(ei[2])) + kind


class _PrivateFile(RotatingFileHandler):
    """Mode 0600 for each file it begins, whatever the umask; the umask is the sessions' own."""

    def _open(self) -> IO[str]:  # type: ignore[override]
        def opener(path: str, flags: int) -> int:
            file = os.open(path, flags | os.O_CLOEXEC, 0o600)
            os.fchmod(file, 0o600)
            return file

        return open(self.baseFilename, self.mode, encoding="utf-8", opener=opener)


def set_up_log(path: str | None) -> None:
    """Logs to a rotating file, or to standard error when None."""
    handler: logging.Handler
    if path is None:
        handler = logging.StreamHandler()
    else:
        handler = _PrivateFile(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
    handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s%(client)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("pygls").setLevel(logging.WARNING)
