"""Noticing what other programs do to the files of open sessions, without anyone asking.

Two roads lead to a session's `look`: events of the folders that hold open session files, and a
slow comparison of the files' marks behind them, for events that never came and for folders that
tell of none. Both only say where to look; what has changed is found by the session itself.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.abc

from pisessiond.service.errors import ServiceError
from pisessiond.service.open_session import OpenSession
from pisessiond.service.storing import in_worker
from pisessiond.storage.base import FolderWatch, Mark, Watches

log = logging.getLogger(__name__)

SLOW_SECONDS: Final = 2.0
"""How often marks are compared where events come too."""

FAST_SECONDS: Final = 0.2
"""How often they are where none come."""

RETRY_SECONDS: Final = 60.0
"""How often it is tried again to be told of folders that were not to be watched."""


@dataclass(frozen=True, slots=True)
class WatchState:
    """How changes by other programs are noticed."""

    how: str
    """`inotify`, `fsevents`, or `polling` where at least one open session is looked at instead."""
    reason: str | None = None
    """Why it is polling; None when it is not."""


class Watching:
    """Watches the files of one daemon's open sessions."""

    def __init__(
        self,
        watches: Watches,
        sessions: Callable[[], Sequence[OpenSession]],
        forget: Callable[[OpenSession], None],
    ) -> None:
        """Watch the sessions that `sessions` gives; one whose file is gone is given to `forget`."""
        self._watches = watches
        self._sessions = sessions
        self._forget = forget
        self._changed = anyio.Event()
        self._watch: FolderWatch | None = None
        self._wanted: frozenset[str] = frozenset()
        self._tried_at = 0.0
        self._marks: dict[OpenSession, Mark] = {}
        self._looking: dict[OpenSession, bool] = {}
        """Sessions that are looked at now, and whether they are to be looked at once more."""

    @property
    def state(self) -> WatchState:
        """How it is done now."""
        reason = self._watch.reason if self._watch is not None else None
        return WatchState(self._watches.kind if reason is None else "polling", reason)

    def sessions_changed(self) -> None:
        """A session was opened, saved or closed: other folders may have to be watched."""
        self._changed.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                while True:
                    changed = self._changed = anyio.Event()
                    await self._watch_folders(tasks)
                    await self._compare_marks(tasks)
                    with anyio.move_on_after(self._pause()):
                        await changed.wait()
        finally:
            if self._watch is not None:
                self._watch.close()
            self._watch, self._wanted = None, frozenset()

    def _files(self) -> dict[OpenSession, str]:
        """The sessions that have a file, and its path."""
        return {
            session: session.path
            for session in self._sessions()
            if session.path is not None and not session.is_unsaved and not session.is_gone
        }

    def _pause(self) -> float | None:
        """Until marks are compared next; None: not before another session is open."""
        if not self._marks:
            return None
        watched = self._watch.folders if self._watch is not None else ()
        is_watched = all(folder in watched for folder in self._wanted)
        return SLOW_SECONDS if is_watched else FAST_SECONDS

    # Events ------------------------------------------------------------------------------------

    async def _watch_folders(self, tasks: anyio.abc.TaskGroup) -> None:
        """Watch the folders of the files that are open now.

        The new watch begins before the old one ends, and every session is looked at in between, so
        that no change falls into a gap.
        """
        wanted = frozenset(os.path.dirname(path) for path in self._files().values())
        if wanted == self._wanted and not self._is_to_be_tried_again():
            return
        self._tried_at = anyio.current_time()
        old, self._watch, self._wanted = self._watch, None, wanted
        if wanted:
            self._watch = watch = await in_worker(lambda: self._watches.watch(wanted))
            tasks.start_soon(self._listen, watch, tasks)
            if watch.reason is not None:
                log.info("looking at files instead of being told: %s", watch.reason)
            self._marks.clear()
        if old is not None:
            old.close()

    def _is_to_be_tried_again(self) -> bool:
        """Whether folders that could not be watched may be by now."""
        is_polling = self._watch is not None and self._watch.reason is not None
        return is_polling and anyio.current_time() >= self._tried_at + RETRY_SECONDS

    async def _listen(self, watch: FolderWatch, tasks: anyio.abc.TaskGroup) -> None:
        while self._watch is watch:
            changed = await in_worker(watch.wait, abandon=True)
            if changed and self._watch is watch:
                self._look_at(self._concerned(changed), tasks)

    def _concerned(self, changed: Collection[str]) -> Iterable[OpenSession]:
        """Sessions whose file changed, or the folder it lies in."""
        for session, path in self._files().items():
            if path in changed or os.path.dirname(path) in changed:
                yield session

    # Marks -------------------------------------------------------------------------------------

    async def _compare_marks(self, tasks: anyio.abc.TaskGroup) -> None:
        files = self._files()
        if not files:
            self._marks.clear()
            return
        marks = await in_worker(lambda: self._watches.marks(list(files.values())))
        old, self._marks = self._marks, dict(zip(files, marks, strict=True))
        # One that was not compared before may have changed since it was read.
        changed = [
            one
            for one, mark in self._marks.items()
            if old.get(one, ()) != mark or not one.is_remembered
        ]
        self._look_at(changed, tasks)

    # Looking -----------------------------------------------------------------------------------

    def _look_at(self, sessions: Iterable[OpenSession], tasks: anyio.abc.TaskGroup) -> None:
        for session in sessions:
            if session in self._looking:
                self._looking[session] = True
            else:
                self._looking[session] = False
                tasks.start_soon(self._look, session)

    async def _look(self, session: OpenSession) -> None:
        """Let a session look at its file; once more if something changed meanwhile."""
        again = True
        try:
            while again and not session.ended.is_set():
                self._looking[session] = False
                await session.look()
                await session.remember()
                again = self._looking[session]
        except ServiceError as error:
            if session.is_gone:
                self._forget(session)
            else:
                log.warning("a session's file could not be looked at: %s", type(error).__name__)
        except Exception as error:  # noqa: BLE001 - one session's fault is not the others'
            log.error("looking at a session's file failed: %s", type(error).__name__)
        finally:
            del self._looking[session]
