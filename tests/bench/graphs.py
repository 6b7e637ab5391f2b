"""What a graph costs: the first page, the next, one after an append; and what others feel of it.

Everything is counted in the time that this process computes, worker and loop together, so that
other programs on the machine do not count.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import anyio

from pisessiond.core.graph.gathering import Zoom
from pisessiond.server.graph_conversion import graph_text
from pisessiond.service.graph_pages import GraphWish
from pisessiond.service.open_session import OpenSession
from tests.bench.figures import Row, Samples, Table
from tests.bench.generated import user_message
from tests.support.drawn_graphs import branchy
from tests.support.drawn_rows import entries_of, written
from tests.support.service import ME, service

BRANCHES: Final = 200
APPENDS: Final = 5
TICK: Final = 0.001


def measure_graphs(entries: int, zoom: Zoom, rounds: int = 1) -> Table:
    """Figures of a session of so many entries with two hundred branches."""
    samples: Samples = {}
    for _ in range(rounds):
        for name, seconds in anyio.run(_round, entries, zoom).items():
            samples.setdefault(name, []).append(seconds * 1_000)
    # What was to be reached is said of ten thousand entries; a hundred thousand are told alone.
    is_said = entries <= 10_000
    limit = 150.0 if is_said else None
    # Of a hundred thousand it is Python's own collection of garbage that everybody waits for.
    still = 50.0 if is_said else None
    rows = [
        Row("first page, laid out", "ms", samples["first"], limit=limit, limits="value"),
        Row("next page, laid out already", "ms", samples["next"]),
        Row("after an append, laid out anew", "ms", samples["again"], limit=limit, limits="value"),
        Row("2,000 lines as text", "ms", samples["text"]),
        Row("longest the loop stood still", "ms", samples["still"], limit=still, limits="value"),
    ]
    return Table(f"graph of {entries:,} entries, {zoom}", rows)


@contextmanager
def _own_heap_only() -> Iterator[None]:
    """What was in the process before is not looked through for garbage, as in a fresh daemon."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def _round(entries: int, zoom: Zoom) -> dict[str, float]:
    with _own_heap_only(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        path.write_bytes(written(entries_of(branchy(entries, BRANCHES))))
        async with service(Path(folder) / "house", "immediate") as house:
            session = await house.open(path)
            # Everything is counted, and what rows need is gathered, before it begins.
            await session.context_sizes(["u0"])
            await session.rows.graph(GraphWish(zoom="branches", count=1))
            await session.append([_message(0)], origin=ME)
            return await _figures(session, zoom)


async def _figures(session: OpenSession, zoom: Zoom) -> dict[str, float]:
    wish, found = GraphWish(zoom, around="here"), dict[str, float]()
    gaps: list[float] = [0.0]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_tick, gaps)
        found["first"] = await _time(session, wish)
        found["next"] = await _time(session, wish)
        again = []
        for number in range(APPENDS):
            await session.append([_message(number)], origin=ME)
            again.append(await _time(session, wish))
        found["again"] = min(again)
        tasks.cancel_scope.cancel()
    page = await session.rows.graph(GraphWish(zoom, count=2_000))
    began = time.process_time()
    graph_text(page)
    return {**found, "text": time.process_time() - began, "still": max(gaps)}


async def _time(session: OpenSession, wish: GraphWish) -> float:
    began = time.process_time()
    await session.rows.graph(wish)
    return time.process_time() - began


async def _tick(gaps: list[float]) -> None:
    """Notes how much is computed before the loop comes by again."""
    while True:
        began = time.process_time()
        await anyio.sleep(TICK)
        gaps.append(time.process_time() - began)


def _message(number: int) -> dict[str, object]:
    return {"type": "message", "message": user_message(number)}
