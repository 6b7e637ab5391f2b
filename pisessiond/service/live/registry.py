"""All running pi that are connected: which session each has open, its coming and its going."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import anyio
import anyio.abc

from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.session import Session
from pisessiond.service.errors import ServiceError
from pisessiond.service.faults import log_fault, survive
from pisessiond.service.live.mirrors import Home, Mirrors
from pisessiond.service.live.pi import Bridge, PiProcess, PiState, RunningPi
from pisessiond.service.live.session_live import Written
from pisessiond.service.live.telling import follow_leaf
from pisessiond.service.live.words import Attach, Attached, PiChange, is_path, sound
from pisessiond.service.open_session import OpenSession
from pisessiond.service.stores import Stores
from pisessiond.service.storing import in_worker
from pisessiond.service.surroundings import Surroundings
from pisessiond.service.types import EXTERNAL

log = logging.getLogger(__name__)

PARTING_SECONDS: Final = 3.0
"""How long a pi whose connection ended, and whose process lives, has to come back."""


class LivePis:
    """The running pi of one daemon."""

    def __init__(
        self, home: Home, stores: Stores, surroundings: Surroundings, tasks: anyio.abc.TaskGroup
    ) -> None:
        self.connected: list[RunningPi] = []
        """Every pi with a connection, in the order they came."""
        self.mirrors = Mirrors(home, stores, surroundings, tasks)
        self._home = home
        self._surroundings = surroundings
        self._tasks = tasks
        self._greets_until = surroundings.monotonic() + surroundings.pis_come_within

    def greet(self, held: OpenSession) -> None:
        """A file was opened: while pi are on their way to a daemon that just began, acts wait.

        One of them may have that session open, and would be written behind its back.
        """
        left = self._greets_until - self._surroundings.monotonic()
        if left > 0:
            held.live.unsettle()
            self._start_soon(partial(self._greet, held, left))

    async def _greet(self, held: OpenSession, seconds: float) -> None:
        try:
            await anyio.sleep(seconds)
        finally:
            held.live.settle()

    def came(self, process: PiProcess, client_id: str, bridge: Bridge) -> RunningPi:
        """A pi has connected; what it has open it says next."""
        pi = RunningPi(process, client_id, bridge)
        self.connected.append(pi)
        return pi

    async def attach(self, pi: RunningPi, given: Attach) -> Attached:
        """A pi has a session open, and from this moment on writes it alone.

        Raises:
            InvalidRequest: what it says cannot be.
            ServiceError, SessionFileError: its file is no session, or cannot be read.
        """
        given.insist_sound()
        async with pi.order:
            pi.attaches += 1
            try:
                held = await self._held_for(given)
            except Exception:
                # Whatever it has open now, what it had before it has left.
                await self._let_go(pi)
                raise
            before = [one for one in held.live.pis if pi.replaces(one)]
            held.live.unsettle()
            try:
                if pi.held is not None and pi.held is not held:
                    await self._let_go(pi)
                pi.held = held
                pi.returns()
                pi.session, pi.state, pi.seq = given.session, given.state, 0
                pi.leaf, pi.count = given.session.leaf, given.session.count
                pi.has_run = not given.state.idle
                held.live.arrive(pi)
                for old in before:
                    if old is not pi:
                        pi.uncounted = old.uncounted
                        self._replace(old)
                async with held.changing:
                    position = await self._take_over(held, pi, given, is_known=bool(before))
            finally:
                held.live.settle()
            pi.attached(given.gen)
            log.info("pi %d has a session open (%s)", pi.pid, given.reason)
            if pi.unseen and given.reason == "startup" and not pi.was_let_read:
                pi.was_let_read = True
                self._start_soon(partial(self._let_read, pi))
            return Attached(held.handle, held.live.owner is pi, pi.unseen, position)

    async def _held_for(self, given: Attach) -> OpenSession:
        """The session that a pi has open, loaded or mirrored."""
        session = given.session
        if session.file is not None and session.on_disk:
            mirror = self.mirrors.find(session.id)
            if mirror is not None:
                await self.mirrors.become_file(mirror, session.file)
            return await self._open(session.file)
        return await self.mirrors.mirror(session, given.entries or ())

    async def _let_read(self, pi: RunningPi) -> None:
        """A pi has missed what was written while it started: it reads its file anew.

        Only before its user has done anything with it, so that nobody wonders.
        """
        is_fresh = pi.state.idle and not pi.has_run and pi.process.drives
        if is_fresh and pi.held is not None and pi.held.live.owner is pi:
            await pi.reread()

    async def _open(self, file: str) -> OpenSession:
        """The session of a file.

        One that is held is not looked at here: that would wait for what is being written to it,
        and from now on nothing more is to be.
        """
        path = await in_worker(lambda: os.path.realpath(file))
        held = self._home.held_at(path) or await self.same_file(path, self._home.open_sessions)
        return held or await self._home.open(path=path)

    async def same_file(
        self, path: str, sessions: Sequence[OpenSession] | None = None
    ) -> OpenSession | None:
        """The session of that very file under another path (a hard link, another mount).

        Args:
            path: a real path.
            sessions: among which; None: those that a pi has open.
        """
        if sessions is None:
            sessions = [one.held for one in self.connected if one.held is not None]
        by_path = {one.path: one for one in sessions if one.path and not one.is_unsaved}
        if path in by_path or not by_path:
            return by_path.get(path)
        found = await in_worker(lambda: _same_file(path, list(by_path)))
        return None if found is None else by_path.get(found)

    async def _take_over(
        self, held: OpenSession, pi: RunningPi, given: Attach, *, is_known: bool
    ) -> EntryId | None:
        """Read what is in the file, compare it with what pi has, and stand where pi stands."""
        position = None
        if not held.live.is_mirror:
            # Daemons of other agent folders do not hear of this pi; nor are they to write.
            with suppress(ServiceError, OSError):
                await held.claim_file()
            held.live.presumed = Written(pi.origin if is_known else EXTERNAL)
            try:
                await held.take_in_news()
            finally:
                held.live.presumed = None
            if given.reason != "reconnect":
                # It has just read the file, up to its newest entry. One that comes back may have
                # missed lines before that.
                known = len(held.session.index) - unseen_by(held.session, given.session.last_id)
                pi.uncounted = known - given.session.count
            if held.has_unkept_place and given.reason in ("startup", "resume"):
                position = held.leaf if held.live.owner is pi and pi.process.drives else None
        held.has_unkept_place = False
        held.leaf_conflict = None
        follow_leaf(held, pi.origin)
        return position

    def _replace(self, old: RunningPi) -> None:
        """A later connection of the same process has taken over."""
        if old.held is not None:
            held, old.held = old.held, None
            held.live.leave(old)
        old.returns()

    async def detached(self, pi: RunningPi, gen: int, reason: str, target: str | None) -> None:
        """A pi has left its session, and says so.

        One that opens the same session again, as for a reload, has read its file before it says
        so: until then nothing is written.
        """
        async with pi.order:
            held = pi.held
            if held is None or pi.gen != gen:
                return
            if reason == "reload" or await self._is_file_of(held, target):
                held.live.unsettle()
                self._start_soon(partial(self._part, pi, held))
            else:
                await self._let_go(pi)

    async def _is_file_of(self, held: OpenSession, file: str | None) -> bool:
        if file is None or not is_path(file):
            return False
        return await in_worker(lambda: os.path.realpath(file)) == held.path

    async def _let_go(self, pi: RunningPi) -> None:
        """A pi has its session open no more: read what it wrote last; then it may be ours."""
        held, pi.held = pi.held, None
        if held is None:
            return
        log.info("pi %d has left its session", pi.pid)
        held.live.unsettle()
        try:
            held.live.leave(pi)
            await self._read_tail(held)
        finally:
            held.live.settle()
            if held.live.is_mirror and not held.live.pis:
                self.mirrors.keep_for_a_while(held)

    async def _read_tail(self, held: OpenSession) -> None:
        try:
            await held.look()
        except ServiceError as error:
            log.info("what a pi left could not be read: %s", type(error).__name__)
            return
        if (owner := held.live.owner) is not None:
            follow_leaf(held, owner.origin)
        elif not held.live.pis:
            held.keep_place_of_clients()

    def gone(self, pi: RunningPi) -> None:
        """The connection to a pi has ended."""
        self.connected = [one for one in self.connected if one is not pi]
        if pi.held is not None:
            pi.held.live.unsettle()
            self._start_soon(partial(self._part, pi, pi.held))

    async def _part(self, pi: RunningPi, held: OpenSession) -> None:
        """Wait until it is back, as long as its process lives; then let go of it."""
        attaches = pi.attaches
        try:
            lives = await self._lives(pi)
            if lives and attaches == pi.attaches:
                with anyio.move_on_after(PARTING_SECONDS):
                    await pi.returned.wait()
            if pi.held is held and attaches == pi.attaches:
                await self._let_go(pi)
        finally:
            held.live.settle()

    async def _lives(self, pi: RunningPi) -> bool:
        if not pi.bridge.is_gone:
            return True
        is_running, process = self._surroundings.is_running, pi.process
        try:
            return await in_worker(lambda: is_running(process.pid, process.started))
        except Exception as error:  # noqa: BLE001 - who stays for ever would be worse
            log_fault(log, "it was not to be told whether a pi lives", error)
            return True

    def _start_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do that beside everything else; a fault in it ends nothing else."""
        self._tasks.start_soon(survive, "what follows from a pi", work)

    async def changed(self, pi: RunningPi, change: PiChange) -> None:
        """Entries came in a pi, or its leaf moved: read them, and stand where it stands."""
        held = await pi.session_of(change.gen)
        if held is None:
            return
        has_gap, pi.seq = change.seq != pi.seq + 1, change.seq
        pi.leaf, pi.count = change.leaf, change.count
        if pi.session is not None and change.on_disk and not pi.session.on_disk:
            pi.session = replace(pi.session, on_disk=True)
        live = held.live
        if live.is_mirror and change.on_disk and pi.session is not None:
            await self.mirrors.become_file(held, pi.session.file or "")
        entries = sound(change.entries)
        if live.is_mirror:
            self.mirrors.take(held, entries)
        ids = [one["id"] for one in entries]
        live.announce([one for one in ids if not held.has_entry(one)], Written(pi.origin))
        try:
            async with held.changing:
                await held.take_in_news()
                live.disown(one for one in ids if held.has_entry(one))
                follow_leaf(held, pi.origin)
            if live.is_mirror and (has_gap or held.session.index.count != pi.count):
                await self._mirror_anew(pi)
        except ServiceError as error:
            log.info("what a pi wrote could not be read: %s", type(error).__name__)

    async def _mirror_anew(self, pi: RunningPi) -> None:
        """A word of pi was missed: ask for all there is."""
        held = pi.held
        answer = await pi.snapshot()
        if answer is None or pi.session is None:
            return
        if held is not None and pi.held is held and held.live.is_mirror:
            # Else it has its file by now, or pi has another one: a copy would be a second session.
            await self.mirrors.mirror(pi.session, answer, anew=True)

    async def state(self, pi: RunningPi, gen: int, state: PiState) -> None:
        """What a pi is doing is something else."""
        if await pi.session_of(gen) is None:
            return
        if state.tokens is None and state.window is None:
            state = replace(state, tokens=pi.state.tokens, window=pi.state.window)
        pi.state = state
        pi.has_run = pi.has_run or not state.idle
        pi.changed()


def _same_file(path: str, others: Sequence[str]) -> str | None:
    try:
        wanted = os.stat(path)
    except OSError:
        return None
    for other in others:
        with suppress(OSError):
            if os.path.samestat(wanted, os.stat(other)):
                return other
    return None


def unseen_by(session: Session, last_id: EntryId | None) -> int:
    """How many entries stand in the file behind the newest one that a pi knows."""
    index = session.index
    row = NONE if last_id is None else index.find(last_id)
    return 0 if row is None else len(index) - 1 - row
