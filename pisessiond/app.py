"""The composition root: names the concrete stores of the daemon and wires the rest together.

What runs without a daemon is wired in `offline`. Imports are inside the functions, so that none
pays for another.
"""

from __future__ import annotations

import os
import pwd
import secrets
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator

    from pisessiond.core.anchors import Persist
    from pisessiond.core.flush import FlushRule
    from pisessiond.server.claim import Claim
    from pisessiond.service.places import Places
    from pisessiond.service.sessions import Sessions
    from pisessiond.service.surroundings import Surroundings
    from pisessiond.storage.base import SessionStore
    from pisessiond.storage.catalogue import CatalogueFile
    from pisessiond.storage.jsonl_writing import Sync
    from pisessiond.storage.text_index import TextIndex
    from pisessiond.summarizers.base import Summarizers
    from pisessiond.wiring.user_setup import Setup

_END_SECONDS = 6.0
"""An orderly end takes less than five; then something does not come back."""

_PIS_COME_WITHIN = 0.3
"""Seconds: a pi that is not at work is here after a tenth of one."""

_SETTINGS_BYTES = 1 << 20
"""A settings file larger than this is none of pi's."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to run the daemon."""

    socket: str | None = None
    """Where to listen; None with `stdio`."""
    state_folder: str | None = None
    """The folder whose one daemon this is to be; None for a socket that is no one's address."""
    address_file: str | None = None
    """Where to write the socket's path if the file system takes no socket at `socket`."""
    start_lock: int | None = None
    """An open file with the start lock of `state_folder`, held for us by who started us."""
    token_file: str | None = None
    """Holds what clients on TCP must show; made where it is missing."""
    tcp: int | None = None
    """Port to listen on at 127.0.0.1 too; 0 takes any."""
    idle: float = 0.0
    """Seconds without clients and work after which it ends; 0: never."""
    memory_mib: int = 256
    """MiB that sessions may take together before idle ones leave."""
    report: Callable[[str], None] = lambda _: None
    """Told once how it went: `ready`, `running`, or a sentence."""
    claims_folder: str | None = None
    """Where processes of ours say which session files they write to; None claims nothing."""
    places_folder: str | None = None
    """Where the places of old files are kept that a move must not migrate; None keeps none."""
    recovery_folder: str | None = None
    """Where sessions that are not on disk yet are kept; None: they end with the process."""
    cache_folder: str | None = None
    """Where is kept what all session files say; None keeps it as long as the process lives."""
    persist: Persist = "anchor"
    """How a move is kept (pi's own way is `memory`)."""
    sync: Sync = "always"
    """What an acknowledged write survives."""
    unsynced_folder: str | None = None
    """Where lines are kept that may not have reached the disk; None keeps none."""
    stdio: bool = False
    """Serve one client on standard input and output."""
    flush: FlushRule = "first-assistant"
    agent_dir: str | None = None
    """pi's agent folder; None takes pi's own choice."""
    config_file: str | None = None
    """Our own settings; None: nothing is set. What of it counts at the start alone is not looked at
    here, but before, by `wiring.user_setup.start_settings`."""
    log_file: str | None = None
    """None: standard error."""


def serve(options: ServeOptions) -> int:
    """Run the daemon until it is stopped; the exit status.

    0 after an orderly end or when one is running already, 1 when it could not listen or an stdio
    client left without `shutdown`.
    """
    import logging

    import anyio

    from pisessiond.server.logs import set_up_log
    from pisessiond.service.faults import log_fault

    try:
        set_up_log(options.log_file)
    except OSError as error:
        options.report(f"the log {options.log_file} cannot be written: {error.strerror}")
        return 1
    try:
        return anyio.run(_serve, options)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # Standard error leads nowhere once a daemon has let go of its starter.
        log_fault(logging.getLogger(__name__), "the daemon failed", error)
        raise


async def _serve(options: ServeOptions) -> int:
    from pisessiond.server.claim import AlreadyRunning, Claim
    from pisessiond.server.listener import AlreadyServed, ListenError
    from pisessiond.server.tokens import TokenError

    claim = None if options.state_folder is None else Claim(Path(options.state_folder))
    try:
        if claim is not None:
            claim.take(options.start_lock)
        return await _serve_doors(options, claim)
    except AlreadyRunning:
        options.report("running")
        return 0
    except AlreadyServed as error:
        # Its own address: whoever is there is the daemon. Any other socket was asked for by name.
        options.report("running" if claim is not None else str(error))
        return 0 if claim is not None else 1
    except (ListenError, TokenError) as error:
        options.report(str(error))
        return 1
    except OSError as error:
        options.report(f"the state folder {options.state_folder} cannot be used: {error.strerror}")
        return 1
    # The claim is not let go here: it ends with the process, and not a moment before.


async def _serve_doors(options: ServeOptions, claim: Claim | None) -> int:
    from pisessiond.protocol.build import current_build
    from pisessiond.server.daemon import Daemon, Doors
    from pisessiond.server.listener import bind_loopback
    from pisessiond.server.state import About
    from pisessiond.server.tokens import read_token

    path, listening, inherited = _listen(options)
    tcp = None if options.tcp is None else bind_loopback(options.tcp)
    places = session_places(options.agent_dir)
    about = About(
        version=current_build(),
        agent_dir=places.agent_dir,
        address=path,
        log=options.log_file,
        token=read_token(Path(options.token_file)) if tcp and options.token_file else None,
        idle=options.idle,
    )

    def ready() -> None:
        if claim is not None:
            record = {"build": about.version, "address": about.address, "log": about.log}
            claim.begun({**record, "started": daemon.state.started.isoformat()})
        options.report("ready")

    async with sessions(places, options) as held:
        daemon = Daemon(held, about)
        daemon.state.when_stopping = _end_in_time
        if path is None:
            return await daemon.serve_stdio()
        await daemon.serve_socket(Path(path), ready, Doors(claim, listening, inherited, tcp))
    return 0


def _listen(options: ServeOptions) -> tuple[str | None, socket.socket | None, bool]:
    """Where to listen, the socket that does, and whether a service manager made it."""
    from pisessiond.server.listener import (
        ListenError,
        NoSocketsHere,
        adopt_inherited,
        bind_private,
        elsewhere,
    )

    if options.socket is None:
        return None, None, False
    if (inherited := adopt_inherited()) is not None:
        where = inherited.getsockname()
        if os.path.realpath(where) != os.path.realpath(options.socket):
            inherited.close()
            raise ListenError(
                f"The service manager listens at {where}, but clients look at {options.socket}; "
                "name that one in the socket unit."
            )
        return where, inherited, True
    try:
        return options.socket, bind_private(Path(options.socket)), False
    except NoSocketsHere:
        if options.address_file is None:
            raise
        path = elsewhere(Path(options.address_file))
        return path, bind_private(Path(path)), False


def _end_in_time() -> None:
    """See to it that the process ends, whatever a worker waits for.

    A call to a file system that does not answer cannot be taken back, and Python would wait for it.
    What was acknowledged is on disk by then.
    """
    import logging
    import threading

    def give_up() -> None:
        logging.getLogger(__name__).error("a file call did not come back; ending without it")
        os._exit(1)

    timer = threading.Timer(_END_SECONDS, give_up)
    timer.daemon = True
    timer.start()


@asynccontextmanager
async def sessions(places: Places, options: ServeOptions) -> AsyncIterator[Sessions]:
    """The session service over files and memory."""
    import uuid_utils

    from pisessiond.service.sessions import open_sessions
    from pisessiond.service.stores import Stores
    from pisessiond.storage.catalogue import CatalogueFile
    from pisessiond.storage.glancing import FolderGlances
    from pisessiond.storage.memory import MemoryStore
    from pisessiond.wiring.late_summarizers import late_summarizers

    cache = options.cache_folder
    catalogue = CatalogueFile(f"{cache}/catalogue.sqlite" if cache is not None else None)
    texts = _text_index(catalogue)
    setup = _setup(places, options)
    async with (
        late_summarizers(setup, places.agent_dir, places.environment) as summarizers,
        open_sessions(
            Stores(_files(options), MemoryStore(), catalogue, FolderGlances(), texts),
            places,
            _surroundings(options, setup, summarizers),
            lambda: str(uuid_utils.uuid7()),
            options.flush,
        ) as held,
    ):
        yield held


def _text_index(catalogue: CatalogueFile) -> TextIndex | None:
    import sqlite3

    from pisessiond.storage.text_index import TextIndex

    try:
        return TextIndex(catalogue)
    except sqlite3.OperationalError as error:
        import logging

        logging.getLogger(__name__).warning("sessions cannot be searched: %s", error)
        return None


def _files(options: ServeOptions) -> SessionStore:
    from pisessiond.storage.jsonl import JsonlStore
    from pisessiond.storage.recovery import RecoveringStore, RecoveryFolder
    from pisessiond.storage.unsynced import UnsyncedLines

    unsynced, folder = options.unsynced_folder, options.recovery_folder
    files = JsonlStore(
        sync=options.sync, unsynced=UnsyncedLines(unsynced) if unsynced is not None else None
    )
    return files if folder is None else RecoveringStore(files, RecoveryFolder(folder))


def _setup(places: Places, options: ServeOptions) -> Setup:
    from pisessiond.wiring.user_setup import read_setup

    setup = read_setup(
        places.agent_dir,
        places.home,
        places.environment,
        config_file=options.config_file,
        cache_folder=options.cache_folder,
    )
    # What is wrong in it stands in the log from the start.
    setup.config.look()
    return setup


def _surroundings(options: ServeOptions, setup: Setup, summarizers: Summarizers) -> Surroundings:
    from pisessiond.server.processes import is_running
    from pisessiond.service.surroundings import Surroundings
    from pisessiond.storage.base import NoClaims, NoPlaceNotes
    from pisessiond.storage.claims import FolderClaims
    from pisessiond.storage.other_files import SystemOtherFiles
    from pisessiond.storage.place_notes import FolderPlaceNotes
    from pisessiond.storage.watch import FolderWatches

    start = secrets.token_hex(4)
    loads = count(1)
    claims, notes = options.claims_folder, options.places_folder
    return Surroundings(
        now_iso=now_iso,
        new_id=new_id,
        next_epoch=lambda: f"{start}-{next(loads)}",
        claims=FolderClaims(claims, f"process {os.getpid()}") if claims else NoClaims(),
        persist=options.persist,
        place_notes=FolderPlaceNotes(notes) if notes else NoPlaceNotes(),
        other_files=SystemOtherFiles(),
        models=setup.models,
        settings=setup.settings,
        memory_budget=options.memory_mib << 20,
        summarizers=summarizers,
        watches=FolderWatches(),
        is_running=is_running,
        # Only where bridges look for a daemon; they come as soon as its socket is there.
        pis_come_within=_PIS_COME_WITHIN if options.state_folder else 0.0,
    )


def new_id() -> str:
    return secrets.token_hex(4)


def now_iso() -> str:
    from pisessiond.core.dates import iso_from_ms

    return iso_from_ms(time.time_ns() // 1_000_000)


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
