"""Keeping where a session was moved to, so that the file reopens there (`navigation.persist`).

A move changes no byte by itself. When the place would be lost (2 s after the move with nothing
appended, the last client gone, the session leaving memory, the daemon stopping) one entry is
written that makes pi and us reopen there, and the file's modification time is put back, since
`pi --continue` goes by it. One entry for a hundred moves, none where something was appended since,
where the file reopens there anyway, or where another program has gone on in the meantime.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import anyio

from pisessiond.core.anchors import place_entry
from pisessiond.core.entries import complete_entry, encode_entry
from pisessiond.core.lines import head_of
from pisessiond.service.errors import NotSynced, ServiceError
from pisessiond.service.live.session_live import NowOwned
from pisessiond.service.nodes import make_node
from pisessiond.service.storing import in_worker
from pisessiond.service.types import REPAIR, Change

if TYPE_CHECKING:
    from pisessiond.service.held_session import HeldSession

SETTLE_SECONDS = 2.0
"""How long after the last move the place is kept."""


class PlaceKeeper:
    """Watches over one session's place."""

    def __init__(self, session: HeldSession) -> None:
        # Weakly, so that a session which left memory is freed at once.
        self._weak = weakref.ref(session)
        self._due = anyio.Event()

    def moved(self) -> None:
        """A client moved the leaf: the time until it is kept begins anew."""
        self._due.set()

    async def run(self) -> None:
        """Keep the place each time a move has settled, until cancelled."""
        while True:
            await self._due.wait()
            while self._due.is_set():
                self._due = anyio.Event()
                with anyio.move_on_after(SETTLE_SECONDS):
                    await self._due.wait()
            await self.keep()

    async def keep(self) -> None:
        """Write what makes the file reopen where the session stands, if it would not.

        A failed write is not told: nothing that was acknowledged is lost, and the next move or
        the end of the session tries again. A failed sync is, since the session is read-only then.
        """
        session = self._weak()
        if session is None:
            return
        with anyio.CancelScope(shield=True):
            async with session.changing:
                if not session.has_unkept_place or session.live.pis:
                    return
                try:
                    await self._write(session)
                except NotSynced as error:
                    await session.writing.failed(error, REPAIR)
                except (ServiceError, NowOwned):
                    return

    async def _write(self, held: HeldSession) -> None:
        if held.session.needs_migration:
            await self._note(held)
            return
        await held.take_in_news()
        if not held.has_unkept_place:
            return
        await held.claim_file()
        session, log, surroundings = held.session, held.log, held.surroundings
        stood = session.file_place()
        if stood == session.leaf:
            held.has_unkept_place = False
            return
        given = place_entry(surroundings.persist, session.leaf_id, session.id_of(stood))
        entry_id = surroundings.new_id()
        while session.index.find(entry_id) is not None:
            entry_id = surroundings.new_id()
        entry = complete_entry(given, entry_id, given["parentId"], surroundings.now_iso())
        line = encode_entry(entry)
        # A pi may have come while the file was read and claimed.
        held.live.insist_ours()
        outcome = await in_worker(lambda: log.append([line], keep_time=True))
        if not outcome.written:
            await held.take_in_lines(outcome.lines)
            return
        for item in outcome.lines:
            if item.is_ours:
                row = session.take_in(head_of(entry), line, item.locator[0])
        held.has_unkept_place = False
        held.rows.note([(row, entry)], REPAIR)
        held.tell([Change("append", REPAIR, (make_node(session, row, entry),))])

    async def _note(self, held: HeldSession) -> None:
        """Keep the place of a file of an old format beside it; only a client's write migrates."""
        path, place = held.path, held.leaf
        if path is not None:
            await in_worker(lambda: held.surroundings.place_notes.keep(path, place))
        held.has_unkept_place = False
