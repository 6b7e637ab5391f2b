"""Times that the tests in VS Code take of what a person waits for, for one table at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MEASURED: Final[dict[str, list[float]]] = {}


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Measures what happens inside; the same words may be measured again."""
    began = time.perf_counter()
    yield
    _MEASURED.setdefault(what, []).append(time.perf_counter() - began)


def measured(what: str, seconds: float) -> None:
    """Adds a time that was taken elsewhere."""
    _MEASURED.setdefault(what, []).append(seconds)


def table() -> list[str]:
    """A line for each thing measured: the middle one and the longest, in milliseconds."""
    width = max((len(what) for what in _MEASURED), default=0)
    lines = []
    for what, times in _MEASURED.items():
        ordered = sorted(1000 * one for one in times)
        middle, most = ordered[len(ordered) // 2], ordered[-1]
        more = f", at most {most:,.0f} of {len(ordered)}" if len(ordered) > 1 else ""
        lines.append(f"{what:<{width}} {middle:>7,.0f} ms{more}")
    return lines
