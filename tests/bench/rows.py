"""What rows cost: opening with them beside opening without, appends that are drawn, pages."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from statistics import median
from typing import Any, Final

import anyio

from pisessiond.core.rows.row import FILTERS
from pisessiond.service.open_session import OpenSession
from pisessiond.service.row_pages import RowsWish
from pisessiond.service.subscribers import OnlyListens
from pisessiond.service.types import SessionChange
from tests.bench.figures import Row, Samples, Table
from tests.bench.generated import session_file, user_message
from tests.support.service import ME, House, service

APPENDS: Final = 40


class _Screen(OnlyListens):
    """Draws rows, and counts what it is told of them."""

    def __init__(self, name: str) -> None:
        self.client_id = name
        self.upserts = 0

    def session_changed(self, change: SessionChange) -> None:
        self.upserts += sum(len(rows.upsert) for rows in change.rows.values())

    def session_reset(self, session: str, reason: str) -> None:
        pass


def measure_rows(entries: int, rounds: int) -> Table:
    """Figures of a session of so many entries."""
    samples: Samples = {}
    for _ in range(rounds):
        for name, seconds in anyio.run(_round, entries).items():
            samples.setdefault(name, []).append(seconds * 1_000)
    rows = [
        Row("open with rows, beside without", "ms", samples["rows"], samples["bare"], 4.0),
        Row(
            "append, three filters drawn, beside none",
            "ms",
            samples["drawn"],
            samples["alone"],
            3.0,
        ),
        Row("the main line again, after a move", "ms", samples["again"]),
    ]
    return Table(f"rows of {entries:,} entries", rows)


async def _round(entries: int) -> dict[str, float]:
    found = {}
    for name, act in (("bare", _open_bare), ("rows", _open_with_rows)):
        found[name] = await _in_a_house(entries, act)
    found.update(await _in_a_house(entries, _changes))
    return found


async def _in_a_house(entries: int, act: Callable[[House, Path], Coroutine[Any, Any, Any]]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        shutil.copyfile(session_file(entries), path)
        async with service(Path(folder) / "house", "immediate") as house:
            return await act(house, path)


async def _open_bare(house: House, path: Path) -> float:
    began = time.perf_counter()
    await house.open(path)
    return time.perf_counter() - began


async def _open_with_rows(house: House, path: Path) -> float:
    began = time.perf_counter()
    session = await house.open(path)
    await session.rows.page(RowsWish(around="here"))
    return time.perf_counter() - began


async def _changes(house: House, path: Path) -> dict[str, float]:
    session = await house.open(path)
    await session.context_size()
    alone = await _append(session)
    screens = []
    for name in FILTERS[:3]:
        await session.rows.page(RowsWish(around="here", filter=name))
        screens.append(screen := _Screen(name))
        session.subscribe(screen)
        session.rows.listen(screen, name)
    drawn = await _append(session)
    assert all(screen.upserts >= APPENDS for screen in screens)
    await session.navigate(
        session.session.id_of(session.session.index.parent[session.session.leaf]),
        origin=ME,
        exact=True,
    )
    began = time.perf_counter()
    await session.rows.page(RowsWish(around="here"))
    return {"alone": alone, "drawn": drawn, "again": time.perf_counter() - began}


async def _append(session: OpenSession) -> float:
    """Seconds of one append, the median of some."""
    took = []
    for number in range(APPENDS):
        began = time.perf_counter()
        await session.append([{"type": "message", "message": user_message(number)}], origin=ME)
        took.append(time.perf_counter() - began)
        session.news.flush()
    return median(took)
