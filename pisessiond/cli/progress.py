"""Saying that something takes long: on a terminal's standard error, and gone when it is done."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 0.7
"""Nothing is said of what is done by then."""

_BAR = 24
_PAUSE_SECONDS = 0.1


class Progress:
    """A bar for something that is counted."""

    def __init__(self, what: str, *, ascii_only: bool) -> None:
        self._what = what
        self._signs = ("#", ".") if ascii_only else ("█", "░")
        self._started = self._said = time.monotonic()
        self._is_shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._started < PATIENCE_SECONDS:
            return
        if self._is_shown and now - self._said < _PAUSE_SECONDS and done < total:
            return
        self._is_shown, self._said = True, now
        full = done * _BAR // max(total, 1)
        bar = self._signs[0] * full + self._signs[1] * (_BAR - full)
        _say(f"{self._what} {bar} {done:,} of {total:,}")

    def end(self) -> None:
        """Take the bar away."""
        if self._is_shown:
            _say("")


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Counts seconds beside `what` for as long as the block takes."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    started = time.monotonic()

    def count() -> None:
        pause = PATIENCE_SECONDS
        is_shown = False
        while not done.wait(pause):
            _say(f"{what}… {time.monotonic() - started:.0f} s")
            is_shown, pause = True, 1.0
        if is_shown:
            _say("")

    counter = threading.Thread(target=count, daemon=True)
    counter.start()
    try:
        yield
    finally:
        done.set()
        counter.join()


def _say(text: str) -> None:
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()
