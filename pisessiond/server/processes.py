"""Whether a process still lives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_TOLERANCE: Final = 5.0
"""Seconds by which two programs' ideas of when a process began may differ."""


def is_running(pid: int, started: float) -> bool:
    """Whether the process of that id that began at that time (in seconds since 1970) lives.

    Where the system does not say when it began, any process of that id counts.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    began = _began(pid)
    return began is None or (began > 0 and abs(began - started) < _TOLERANCE)


def _began(pid: int) -> float | None:
    """When a process began; 0 when it has ended and only waits to be noticed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        lines = Path("/proc/stat").read_text("ascii", "replace").splitlines()
        booted = next(float(line.split()[1]) for line in lines if line.startswith("btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    if fields[0] in "ZX":
        return 0.0
    return booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")
