"""Reading all session files in the background, and telling of sessions that came, changed or left.

Everything is read in slices of some milliseconds, newest files first, and not while somebody waits
for a list. Folders are watched while the daemon runs, so that the list is up to date before it is
asked for; what is answered never relies on that, every list looks at the folders itself.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import anyio
import anyio.abc

from pisessiond.service.listing import Lister
from pisessiond.service.live.pi import LivePi
from pisessiond.service.open_session import OpenSession
from pisessiond.service.shelf import Shelf, Stop, Stopped
from pisessiond.service.storing import in_worker
from pisessiond.service.types import ListedSession
from pisessiond.storage.base import FolderWatch, SeenFile, Watches

log = logging.getLogger(__name__)

BEGIN_SECONDS: Final = 0.5
"""The daemon has clients to serve before it begins."""

SLICE_SECONDS: Final = 0.01
REST_SECONDS: Final = 0.005
"""Between two slices, for everything else."""

LOOK_SECONDS: Final = 60.0
"""How often all folders are looked at where they are watched too: an event may be lost."""

POLL_SECONDS: Final = 5.0
"""How often they are where they cannot be watched."""

JOIN_SECONDS: Final = 0.1
"""Changes so close together are told at once."""

ROWS_AT_ONCE: Final = 200


class ListSubscriber(Protocol):
    """Whoever wants to hear of changes of the list. Called on the event loop; must not block."""

    def sessions_changed(self, rows: Sequence[ListedSession], gone: Sequence[str]) -> None:
        """Sessions that are new or have changed, and paths or handles of those that are no more."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far reading all files has got."""

    done: int
    total: int


class Cataloguing:
    """Keeps a shelf up to date while a daemon runs."""

    def __init__(
        self,
        shelf: Shelf,
        lister: Lister,
        sessions_dir: str,
        watches: Watches | None,
        sessions: Callable[[], Sequence[OpenSession]],
    ) -> None:
        """Watch the session folders by `watches`; None: nothing is done in the background."""
        self._shelf = shelf
        self._lister = lister
        self._sessions_dir = sessions_dir
        self._watches = watches
        self._sessions = sessions
        self._dirty: dict[str, None] = {}
        """Paths and handles that subscribers have not been told of."""
        self._told: dict[str, tuple[int, bool, tuple[LivePi, ...]]] = {}
        """Open sessions as they were last told: by how many clients and which running pi, and
        whether unsaved."""
        self._watch: FolderWatch | None = None
        self._events: set[str] = set()
        self._woken = anyio.Event()
        self._tell = anyio.Event()
        self.subscribers: set[ListSubscriber] = set()
        self.progress = Progress(0, 0)
        self._are_files_other = False
        """Whether files were read or are gone since the forks of open sessions were looked at."""
        shelf.changed = self._note

    def _note(self, path: str) -> None:
        self._are_files_other = True
        if self.subscribers:
            self._dirty[path] = None

    def sessions_changed(self) -> None:
        """A session was opened, saved or closed, or files were read."""
        self._tell.set()

    async def run(self) -> None:
        """Keep up to date until cancelled."""
        stop = Stop()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._announce)
                if self._watches is not None:
                    await anyio.sleep(BEGIN_SECONDS)
                    await self._keep_up(self._watches, tasks, stop)
        finally:
            stop.set()

    async def _keep_up(self, watches: Watches, tasks: anyio.abc.TaskGroup, stop: Stop) -> None:
        watched: frozenset[str] = frozenset()
        try:
            while True:
                self._woken = anyio.Event()
                events, self._events = self._events, set()
                found = await in_worker(partial(self._look, events), abandon=True)
                await self._read(found, stop)
                wanted = await in_worker(self._folders, abandon=True)
                if wanted != watched:
                    old = self._watch
                    self._watch = watch = await in_worker(partial(watches.watch, wanted))
                    if old is not None:
                        old.close()
                    watched = wanted
                    tasks.start_soon(self._listen, watch)
                    # Whatever changed before the watch began is found by looking once more.
                    continue
                is_told = self._watch is not None and self._watch.reason is None
                pause = LOOK_SECONDS if is_told else POLL_SECONDS
                with anyio.move_on_after(pause):
                    await self._woken.wait()
        finally:
            if self._watch is not None:
                self._watch.close()
            self._watch = None

    def _folders(self) -> frozenset[str]:
        folders = {folder.path for folder in self._lister.folders()}
        return frozenset(folders | {self._sessions_dir})

    async def _listen(self, watch: FolderWatch) -> None:
        while self._watch is watch:
            if changed := await in_worker(watch.wait, abandon=True):
                self._events |= changed
                self._woken.set()

    def _look(self, events: set[str]) -> list[SeenFile]:
        """The files that may have to be read: those told of, or all."""
        if events and all(path.endswith(".jsonl") for path in events):
            seen = {path: self._shelf.see(path) for path in events}
            return [one for one in seen.values() if one is not None]
        return self._shelf.look(folder.path for folder in self._lister.folders())

    async def _read(self, found: Sequence[SeenFile], stop: Stop) -> None:
        work = self._work(found, stop)
        has_more = True
        while has_more:
            await self._stand_aside()
            has_more = await in_worker(partial(self._slice, work), abandon=True)
            self._tell.set()
            await anyio.sleep(REST_SECONDS)

    async def _stand_aside(self) -> None:
        """Wait while somebody asks; that ends in a worker, which sets no events here."""
        while self._shelf.is_asked:  # noqa: ASYNC110
            await anyio.sleep(REST_SECONDS)

    @staticmethod
    def _slice(work: Iterator[None]) -> bool:
        """Go on for a little; whether there is more to do."""
        end = time.monotonic() + SLICE_SECONDS
        try:
            for _ in work:
                if time.monotonic() > end:
                    return True
        except Stopped:
            return False
        return False

    def _work(self, found: Sequence[SeenFile], stop: Stop) -> Iterator[None]:
        """Read files, newest first; then give their lines to those who want them."""
        self.progress = Progress(0, len(found))
        for done, seen in enumerate(found, 1):
            stop.check()
            if self._shelf.known(seen) is None:
                self._shelf.read(seen, stop)
                yield
            self.progress = Progress(done, len(found))
        for seen in found:
            known = self._shelf.known(seen)
            if known is None:
                continue
            stop.check()
            if self._shelf.size(known):
                yield
            yield from self._shelf.feed_parts(known, stop)

    # Telling -----------------------------------------------------------------------------------

    async def _announce(self) -> None:
        while True:
            await self._tell.wait()
            self._tell = anyio.Event()
            await self._look_at_forks()
            if not self.subscribers:
                self._dirty.clear()
                continue
            self._note_open()
            while self._dirty:
                some = list(self._dirty)[:ROWS_AT_ONCE]
                for key in some:
                    self._dirty.pop(key, None)
                rows, gone = await in_worker(
                    partial(self._lister.rows, some, self._sessions()), abandon=True
                )
                self._note_told(rows)
                for subscriber in list(self.subscribers):
                    subscriber.sessions_changed(rows, gone)
            await anyio.sleep(JOIN_SECONDS)

    async def _look_at_forks(self) -> None:
        """Have those who draw the rows of a session told where it was forked."""
        if self._are_files_other:
            self._are_files_other = False
            for one in self._sessions():
                if one.rows.is_drawn:
                    await one.rows.look_at_forks()

    def _note_told(self, rows: Sequence[ListedSession]) -> None:
        """Note how open sessions stand in rows: they may have changed while those were made."""
        for row in rows:
            key = row.path or row.session
            if key in self._told:
                self._told[key] = (row.open, row.unsaved, row.pis)

    def _note_open(self) -> None:
        """Note the open sessions that are other than they were told."""
        now = {
            one.path or one.handle: (len(one.subscribers), one.is_unsaved, one.live.views)
            for one in self._sessions()
        }
        for key in now.keys() | self._told.keys():
            if now.get(key) != self._told.get(key):
                self._dirty[key] = None
        self._told = now
