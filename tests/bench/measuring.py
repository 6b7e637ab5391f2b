"""Runs us and pi in turn over one file, in fresh processes each time, and compares."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench.figures import Row, Samples, Table
from tests.bench.generated import session_file
from tests.bench.over_socket import measure_appending, measure_disk, measure_opening, scratch_copy
from tests.support.pi import Pi

ROOT = Path(__file__).resolve().parents[2]
POSITIONS = 20
"""Entries at which pi is asked for the size; it walks the branch each time, so all would take it
minutes. What all would take is the mean of these, times the entries."""


def measure(entries: int, rounds: int, appends: int) -> Table:
    """The table of a file of so many entries."""
    path = session_file(entries)
    ours: Samples = {}
    socket: Samples = {}
    appending: Samples = {}
    pi: Samples = {}
    disk: Samples = {}
    with scratch_copy(path) as copy, scratch_copy(path) as grown:
        for _ in range(rounds):
            _add(ours, _measure_ours(copy))
            _add(pi, Pi.bench(path, positions=POSITIONS))
            _add(socket, measure_opening(str(path)))
            _add(disk, measure_disk(appends))
            _add(appending, measure_appending(grown, appends))
    assert ours["tokens"][0] == pi["tokens"][0], "we and pi should agree about the size"
    title = f"{entries:,} entries, {path.stat().st_size / 1e6:.0f} MB"
    return Table(title, _rows(ours, socket, appending, pi, disk))


def _measure_ours(path: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.ours", path],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        timeout=120,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _add(samples: Samples, figures: dict[str, float]) -> None:
    for name, value in figures.items():
        samples.setdefault(name, []).append(value)


def _each(function: Callable[..., float], samples: Samples, *names: str) -> list[float]:
    return [function(*values) for values in zip(*(samples[name] for name in names), strict=True)]


def _rows(
    ours: Samples, socket: Samples, appending: Samples, pi: Samples, disk: Samples
) -> list[Row]:
    opened = pi["openMs"]
    answered = _each(lambda *parts: sum(parts), pi, "openMs", "sizeMs", "treeMs")
    everywhere = _each(lambda mean, count: mean * count, pi, "sampledSizeMeanMs", "entries")
    return [
        Row("first answer: leaf size and 200 nodes; pi: open", "ms", ours["firstMs"], opened, 0.4),
        Row("  pi: open, size and getTree", "ms", ours["firstMs"], answered),
        Row("  over the socket; pi: open", "ms", socket["firstMs"], opened),
        Row("every size known; pi: open", "ms", ours["allMs"], opened, 0.8),
        Row("  pi: open, size and getTree", "ms", ours["allMs"], answered),
        Row("  over the socket; pi: open", "ms", socket["allMs"], opened),
        Row("memory after the first answer", "MB", ours["rssFirstMb"], pi["rssOpenMb"], 0.4),
        Row("memory when every size is known", "MB", ours["rssMb"], pi["rssMb"], 0.4),
        Row("  before opening", "MB", ours["rssImportMb"], pi["rssImportMb"]),
        Row("  of the daemon, every size known", "MB", socket["rssMb"], pi["rssMb"], 0.4),
        Row(
            "size at the leaf after an append",
            "ms",
            ours["sizeAfterAppendMs"],
            pi["sizeAfterAppendMs"],
            0.01,
        ),
        Row(
            f"size of every entry; pi: from {POSITIONS} of them",
            "ms",
            ours["everySizeMs"],
            everywhere,
        ),
        Row(
            "first page of 200 nodes, warm; pi: getTree",
            "ms",
            ours["firstPageMs"],
            pi["treeMs"],
            20,
            "value",
        ),
        Row("  around the leaf", "ms", ours["leafPageMs"], pi["treeMs"], 20, "value"),
        Row("  over the socket", "ms", socket["firstPageMs"], pi["treeMs"], 20, "value"),
        Row(
            "append over the socket, synced; pi: unsynced",
            "ms",
            appending["medianMs"],
            pi["appendMs"],
            3,
            "value",
        ),
        Row("  the slowest in a hundred", "ms", appending["p99Ms"], pi["appendP99Ms"]),
        Row("  bare write and fdatasync", "ms", disk["medianMs"]),
        Row("  the slowest in a hundred of those", "ms", disk["p99Ms"]),
        Row("appends from 8 clients at once", "/s", appending["togetherPerSecond"]),
    ]


def compare_sizes(small: Table, large: Table) -> Row:
    """Whether the size after an append takes as long in a large session as in a small one."""
    name = "size at the leaf after an append"
    here, there = (next(r for r in table.rows if r.name == name) for table in (large, small))
    return Row("the same in the smaller file", "ms", here.ours, there.ours, 1.5)
