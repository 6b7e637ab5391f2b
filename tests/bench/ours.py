"""How long our own session service takes over one file, in a process that does nothing else.

`python ours.py PATH` prints one line of JSON. The file is appended to: give it a copy.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import anyio

from pisessiond.app import ServeOptions, session_places, sessions
from pisessiond.core.index import NONE
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import Origin

MEBIBYTE = 1 << 20
APPENDS = 20
PAGE = 200
ORIGIN = Origin("bench", "bench", None)


def resident_mb() -> float:
    """Resident memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE


@contextmanager
def timed(figures: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    figures[name] = (time.perf_counter() - started) * 1000


async def tree_page(opened: OpenSession, *, at_leaf: bool) -> None:
    around = "leaf" if at_leaf else None
    page = await opened.tree(around=around, after=None, before=None, count=PAGE, filter="all")
    assert len(page.nodes) == PAGE


async def measure(path: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    places = session_places(None)
    # What is imported when first needed, and the threads, are paid for on an empty session.
    async with sessions(places, ServeOptions()) as held:
        await held.create(cwd="/", store="memory", origin=ORIGIN)
    async with sessions(places, ServeOptions()) as held:
        figures["rssImportMb"] = resident_mb()
        with timed(figures, "allMs"):
            with timed(figures, "firstMs"):
                opened = await held.open(path=path)
                snapshot = opened.snapshot()
                await tree_page(opened, at_leaf=True)
            assert snapshot.context_size is not None, "the leaf's size should be known at once"
            figures["rssFirstMb"] = resident_mb()
            await opened.sized()
        figures["rssMb"] = resident_mb()
        figures["entries"] = opened.session.index.count
        figures["tokens"] = (await opened.context_size()).tokens
        await warm(opened, figures)
        await appending(opened, figures)
    return figures


async def warm(opened: OpenSession, figures: dict[str, float]) -> None:
    """Questions to a session that is open and sized."""
    for name, at_leaf in (("firstPageMs", False), ("leafPageMs", True)):
        times: dict[str, float] = {}
        for count in range(9):
            with timed(times, str(count)):
                await tree_page(opened, at_leaf=at_leaf)
        figures[name] = median(times.values())
    session = opened.session
    with timed(figures, "everySizeMs"):
        for row in range(len(session.index)):
            session.size_at(row)
    assert session.size_at(NONE).tokens == 0


async def appending(opened: OpenSession, figures: dict[str, float]) -> None:
    """The size at the leaf after an append, asked as a client's request would ask."""
    times: dict[str, float] = {}
    for count in range(APPENDS):
        message = {"role": "user", "content": "one more line", "timestamp": count}
        await opened.append([{"type": "message", "message": message}], origin=ORIGIN)
        with timed(times, str(count)):
            await opened.context_size()
    figures["sizeAfterAppendMs"] = median(times.values())


if __name__ == "__main__":
    print(json.dumps(anyio.run(measure, sys.argv[1])))
