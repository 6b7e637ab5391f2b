"""The composition root: the one place that names concrete stores and wires the rest together.

The command line reaches what runs without a daemon (`serve`, `inspect`, `schema`) through here.
Imports are inside the functions, so that none pays for another.
"""

from __future__ import annotations

import os
import pwd
import secrets
import sys
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pisessiond import __version__

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from pisessiond.core.flush import FlushRule
    from pisessiond.service.places import Places
    from pisessiond.service.session_queue import Clock
    from pisessiond.service.sessions import Sessions

_SETTINGS_BYTES = 1 << 20
"""A settings file larger than this is none of pi's."""

_LOG_BYTES = 4 << 20
_LOG_FILES = 3


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to run the daemon."""

    socket: str | None = None
    """Where to listen; None with `stdio`."""
    stdio: bool = False
    """Serve one client on standard input and output."""
    flush: FlushRule = "first-assistant"
    agent_dir: str | None = None
    """pi's agent folder; None takes pi's own choice."""
    log_file: str | None = None
    """None: standard error."""


class InspectError(Exception):
    """A file that cannot be inspected."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def serve(options: ServeOptions) -> int:
    """Run the daemon until it is stopped; the exit status.

    0 after an orderly end, 1 when it could not listen or an stdio client left without `shutdown`.
    """
    import anyio

    _set_up_log(options.log_file)
    try:
        return anyio.run(_serve, options)
    except KeyboardInterrupt:
        return 130


async def _serve(options: ServeOptions) -> int:
    from pisessiond.server.daemon import Daemon
    from pisessiond.server.listener import AlreadyServed, ListenError
    from pisessiond.server.state import About

    places = session_places(options.agent_dir)
    about = About(
        version=__version__,
        agent_dir=places.agent_dir,
        address=options.socket,
        log=options.log_file,
    )
    async with sessions(places, options.flush) as held:
        daemon = Daemon(held, about)
        if options.socket is None:
            return await daemon.serve_stdio()
        try:
            await daemon.serve_socket(Path(options.socket))
        except (AlreadyServed, ListenError) as error:
            print(f"pisessiond: {error}", file=sys.stderr)
            return 1
    return 0


def sessions(places: Places, flush: FlushRule) -> AbstractAsyncContextManager[Sessions]:
    """The session service over files and memory."""
    import uuid_utils

    from pisessiond.service.sessions import Stores, open_sessions
    from pisessiond.storage.jsonl import JsonlStore
    from pisessiond.storage.memory import MemoryStore

    return open_sessions(
        Stores(JsonlStore(), MemoryStore()),
        places,
        _clock(),
        lambda: str(uuid_utils.uuid7()),
        flush,
    )


def _clock() -> Clock:
    from pisessiond.core.dates import iso_from_ms
    from pisessiond.service.session_queue import Clock

    start = secrets.token_hex(4)
    loads = count(1)
    return Clock(
        now_iso=lambda: iso_from_ms(time.time_ns() // 1_000_000),
        new_id=lambda: secrets.token_hex(4),
        next_epoch=lambda: f"{start}-{next(loads)}",
    )


def session_places(agent_dir: str | None) -> Places:
    """Where pi keeps its sessions, by its own environment variables."""
    from pisessiond.service.places import Places

    home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    chosen = agent_dir or os.environ.get("PI_CODING_AGENT_DIR") or f"{home}/.pi/agent"
    if chosen.startswith("~/"):
        chosen = home + chosen[1:]
    return Places(os.path.realpath(chosen), home, dict(os.environ), _read_small_file)


def _read_small_file(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_SETTINGS_BYTES)
    except OSError:
        return None


def inspect(path: str) -> dict[str, Any]:
    """Everything about a session file at its leaf; nothing is changed.

    Raises:
        InspectError: it is no session, or cannot be read.
    """
    import uuid_utils

    from pisessiond.core.errors import SessionFileError
    from pisessiond.core.headers import make_header
    from pisessiond.core.inspection import inspect_session
    from pisessiond.service.loading import load_or_begin
    from pisessiond.storage.errors import NoSuchSession, StoreError
    from pisessiond.storage.jsonl import JsonlStore

    here = os.getcwd()
    try:
        log = JsonlStore().open(os.path.realpath(path))
        header = make_header(str(uuid_utils.uuid7()), _clock().now_iso(), here)
        return inspect_session(load_or_begin(log, header).session, here)
    except SessionFileError as error:
        raise InspectError("NotASession", str(error)) from error
    except NoSuchSession as error:
        raise InspectError("SessionNotFound", str(error)) from error
    except StoreError as error:
        raise InspectError("Unreadable", str(error)) from error


def schema() -> dict[str, Any]:
    """The protocol as an OpenRPC document."""
    from pisessiond.protocol.schema import openrpc

    return openrpc()


def _set_up_log(path: str | None) -> None:
    """Log to a rotating file of mode 0600, or to standard error."""
    import logging
    from logging.handlers import RotatingFileHandler

    handler: logging.Handler
    if path is None:
        handler = logging.StreamHandler()
    else:
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        handler = RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("pygls").setLevel(logging.WARNING)
