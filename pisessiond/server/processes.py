"""Whether a process still lives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_TOLERANCE: Final = 1.0
"""Seconds; the system counts in hundredths."""


def is_running(pid: int, started: float) -> bool:
    """Whether the process of that id that began at that time (as of `began_at`) lives.

    Where the system does not say when it began, any process of that id counts.
    """
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    if _has_ended(pid):
        return False
    began = began_at(pid)
    return began is None or abs(began - started) < _TOLERANCE


def began_at(pid: int) -> float | None:
    """When a process began, in seconds since the system did; None where that is not told.

    Setting the clock does not change it.
    """
    fields = _fields(pid)
    return None if fields is None else int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _has_ended(pid: int) -> bool:
    """Whether it only waits for its parent to notice that."""
    fields = _fields(pid)
    return fields is not None and fields[0] in "ZX"


def _fields(pid: int) -> list[str] | None:
    """What Linux tells of a process behind its name, which may hold anything."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (OSError, ValueError):
        return None
    fields = told.rpartition(")")[2].split()
    return fields if len(fields) > 19 and fields[19].isdigit() else None
