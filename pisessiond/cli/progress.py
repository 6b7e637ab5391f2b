"""A bar for what is counted: on the standard error of a terminal, and gone when it is done."""

from __future__ import annotations

import sys
import time

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


def _say(text: str) -> None:
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()
