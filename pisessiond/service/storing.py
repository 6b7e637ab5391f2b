"""Calling a store: in a worker, and with its failures in the service's own words."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import anyio
import anyio.to_thread

from pisessiond.service.errors import (
    Degraded,
    FileChanged,
    NotSynced,
    NotThrownAway,
    ReadOnly,
    SessionExists,
    SessionNotFound,
    Unreadable,
)
from pisessiond.storage import errors as store_errors
from pisessiond.storage.base import Claimed

T = TypeVar("T")

_WORKERS = anyio.CapacityLimiter(math.inf)
"""Not bounded here: each session has one writer, and the requests in flight are bounded."""


async def in_worker(work: Callable[[], T], *, abandon: bool = False) -> T:
    """Run blocking work in a thread; a store's failure comes out as the service's own.

    Args:
        work: what blocks.
        abandon: a cancelled caller need not wait for it to end; for work that changes nothing.
    """

    def guarded() -> T:
        with store_failures():
            return work()

    return await anyio.to_thread.run_sync(guarded, limiter=_WORKERS, abandon_on_cancel=abandon)


class Left(Exception):
    """Raised in a worker whose caller has gone before it began; nobody hears of it."""


class Questions:
    """A few workers for what changes nothing, whose callers need not wait for it to end.

    They share one interpreter with the event loop, and each may hold a whole branch: sixty at once
    made everyone wait for seconds and took gigabytes. A worker that was left counts until it ends.
    """

    def __init__(self, at_once: int) -> None:
        self._free = anyio.Semaphore(at_once, fast_acquire=True)

    async def ask(self, work: Callable[[], T]) -> T:
        """What `work` gives, once a worker is free for it."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        lock = threading.Lock()
        running, left = threading.Event(), threading.Event()

        def guarded() -> T:
            with lock:
                if left.is_set():
                    raise Left
                running.set()
            try:
                return work()
            finally:
                with lock:
                    running.clear()
                    give_back = left.is_set()
                if give_back:
                    # The loop may have ended meanwhile; then nobody waits for a worker. Nor does
                    # the worker for the loop: one that is ending takes calls and carries out none,
                    # and the process could not end before its threads.
                    with suppress(RuntimeError):
                        loop.call_soon_threadsafe(self._free.release)

        try:
            return await in_worker(guarded, abandon=True)
        finally:
            with lock:
                left.set()
                still_runs = running.is_set()
            if not still_runs:
                self._free.release()


@contextmanager
def store_failures() -> Iterator[None]:
    """Raise what a store raises as the service's own errors.

    Raises:
        SessionNotFound: nothing is at the path.
        Unreadable: the system does not let us read.
        SessionExists: a new session was to be written where a file is.
        ReadOnly: the system does not let us write.
        Degraded: a write failed and was taken back.
        NotSynced: a write may be lost, and no other is taken for now.
        NotThrownAway: a file could not be moved to the trash.
        FileChanged: what was read is no longer there as it was.
    """
    try:
        yield
    except Claimed as error:
        raise ReadOnly(str(error), error.owner) from error
    except store_errors.NoSuchSession as error:
        raise SessionNotFound(error.path) from error
    except store_errors.Unreadable as error:
        raise Unreadable(error.reason) from error
    except store_errors.SessionFileExists as error:
        raise SessionExists(error.path) from error
    except store_errors.NotWritable as error:
        raise ReadOnly(error.reason) from error
    except store_errors.NotSynced as error:
        raise NotSynced(error.reason, is_kept=error.kept is not None) from error
    except store_errors.Degraded as error:
        raise Degraded(error.reason) from error
    except store_errors.NotThrownAway as error:
        raise NotThrownAway(error.reason) from error
    except store_errors.FileChanged as error:
        raise FileChanged(error.reason) from error
