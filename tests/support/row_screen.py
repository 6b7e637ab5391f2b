"""A client of the service that draws rows with every fold open, and does what changes tell it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from pisessiond.client.answers import Row
from pisessiond.client.row_mirror import RowMirror
from pisessiond.client.update import Update
from pisessiond.core.rows.row import Filter, RowsChange
from pisessiond.server import row_conversion
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.open_session import OpenSession
from pisessiond.service.row_pages import RowsWish
from pisessiond.service.subscribers import OnlyListens
from pisessiond.service.types import SessionChange

PAGE: Final = 2_000


class RowScreen(OnlyListens):
    """The rows of one session under one filter."""

    def __init__(self, session: OpenSession, filter_name: Filter, client: str = "screen") -> None:
        self.session = session
        self.filter: Filter = filter_name
        self.name = client
        self.client_id = client
        self.mirror = RowMirror()
        self.asked: list[str | None] = []
        """The levels that changes made it ask for again."""
        self._heard: list[SessionChange] = []
        self._is_reset = False

    async def open(self) -> None:
        """Draw everything, and hear of every change from here on."""
        await self.session.rows.page(RowsWish(around="here", filter=self.filter))
        self.session.subscribe(self)
        self.session.rows.listen(self, self.filter)
        self.mirror = RowMirror()
        await self._ask(None)
        await self._open_all()

    def session_changed(self, change: SessionChange) -> None:
        self._heard.append(change)

    def session_reset(self, session: str, reason: str) -> None:
        self._is_reset = True
        self.session.unsubscribe(self)

    def told(self) -> list[RowsChange]:
        """What was heard of rows and not drawn yet."""
        return [rows for one in self._heard if (rows := one.rows.get(self.filter)) is not None]

    async def settle(self) -> None:
        """Hear what is held back to be joined, and draw what was heard."""
        self.session.news.flush()
        if self._is_reset:
            self._is_reset, self._heard = False, []
            await self.open()
        while self._heard:
            heard, self._heard = self._heard, []
            for change in heard:
                for level in self.mirror.apply(self._update(change)):
                    self.asked.append(level)
                    await self._ask(level)
            await self._open_all()

    def _update(self, change: SessionChange) -> Update:
        rows = change.rows.get(self.filter)
        told: list[Any] = [] if rows is None else [row_conversion.rows_change(rows, "repair")]
        parts = tuple(msgspec.json.decode(one.to_wire()) for one in told)
        return Update(change.rev, parts, change.leaf, None)

    async def _ask(self, level: str | None) -> None:
        rows = await rows_of(self.session, level, self.filter)
        if rows is not None:
            self.mirror.hold(level, rows)
        elif level is not None:
            self.mirror.close(level)

    async def _open_all(self) -> None:
        waiting = True
        while waiting:
            closed = [row["id"] for row in self.mirror.rows() if row["rows"]]
            waiting = False
            for name in closed:
                if name not in self.mirror.opened:
                    await self._ask(name)
                    waiting = True

    async def fresh(self) -> list[Row]:
        """All rows as they are asked for anew."""
        other = RowScreen(self.session, self.filter)
        await other._ask(None)
        await other._open_all()
        return other.mirror.rows()


async def rows_of(session: OpenSession, level: str | None, filter_name: Filter) -> list[Row] | None:
    """All rows of a level as on the wire; None where it cannot be opened."""
    rows: list[Row] = []
    after = None
    while True:
        wish = RowsWish(level=level, after=after, count=PAGE, filter=filter_name)
        try:
            page = await session.rows.page(wish)
        except InvalidRequest:
            assert level is not None
            return None
        rows += (msgspec.json.decode(row_conversion.row(one).to_wire()) for one in page.rows)
        if (after := page.after) is None:
            return rows


def without_places(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows without what only says where a row stood when it was told."""
    return [{name: value for name, value in row.items() if name != "after"} for row in rows]
