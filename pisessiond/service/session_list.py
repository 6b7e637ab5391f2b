"""What can be asked of all sessions at once, open or not: a page of the list, a search, news."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pisessiond.core.lines import EntryId
from pisessiond.service.cataloguing import Cataloguing, ListSubscriber
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.listing import Lister, ListPage, Wanted
from pisessiond.service.open_session import OpenSession
from pisessiond.service.places import Places
from pisessiond.service.searching import Searcher, SearchPage, SearchWish
from pisessiond.service.shelf import Shelf, Stop
from pisessiond.service.stores import Stores
from pisessiond.service.storing import in_worker
from pisessiond.service.surroundings import Surroundings


class SessionList:
    """All sessions of the folders that are looked at, and the open ones."""

    def __init__(
        self,
        stores: Stores,
        places: Places,
        surroundings: Surroundings,
        open_sessions: Callable[[], Sequence[OpenSession]],
    ) -> None:
        """`open_sessions` are those that are held open now."""
        self._stores = stores
        self._now_iso = surroundings.now_iso
        self._open_sessions = open_sessions
        self._shelf = Shelf(stores.catalogue, stores.glances, stores.jsonl)
        self._lister = Lister(
            self._shelf,
            stores.glances,
            places,
            surroundings.now_iso,
            surroundings.models.window_at_hand,
        )
        self._cataloguing = Cataloguing(
            self._shelf, self._lister, places.sessions_dir, surroundings.watches, open_sessions
        )

    async def page(self, wanted: Wanted) -> ListPage:
        """A page of sessions, families of forks by their newest activity.

        Raises:
            InvalidRequest: the cursor is none that an answer gave.
        """
        stop, held = Stop(), self._open_sessions()
        try:
            return await in_worker(lambda: self._lister.page(held, wanted, stop), abandon=True)
        finally:
            stop.set()
            self.sessions_changed()

    async def search(self, wish: SearchWish) -> SearchPage:
        """A page of the entries in which words stand, on disk or not.

        Raises:
            InvalidRequest: the cursor is none that an answer gave, or nothing can be searched.
        """
        if self._stores.texts is None:
            raise InvalidRequest("query", "cannot be served: Python's SQLite here has no FTS5.")
        searcher = Searcher(
            self._stores.texts,
            self._shelf,
            lambda session_dir: self._lister.folders(None, session_dir),
            self._stores.jsonl,
            self._now_iso,
        )
        stop, held = Stop(), self._open_sessions()
        try:
            return await in_worker(lambda: searcher.page(held, wish, stop), abandon=True)
        finally:
            stop.set()

    def forks_of(self, path: str) -> Sequence[tuple[str, EntryId | None]]:
        """Paths of a session's forks, and the last entry of each that came along; in a worker."""
        return self._shelf.forks_of(path)

    def watch(self, subscriber: ListSubscriber) -> None:
        """Tell of changes from now on."""
        self._cataloguing.subscribers.add(subscriber)

    def unwatch(self, subscriber: ListSubscriber) -> None:
        """Tell no more; not having told is no error."""
        self._cataloguing.subscribers.discard(subscriber)

    def sessions_changed(self) -> None:
        """A session was opened, saved or closed."""
        self._cataloguing.sessions_changed()

    def note_ours(self, opened: OpenSession) -> None:
        """A session leaves memory: what its file holds now is known, whoever wrote it."""
        self._lister.note_ours(opened)

    def note_made(self, path: str) -> None:
        """A file was made here that is not opened. Blocks."""
        self._lister.note_made(path)

    async def run(self) -> None:
        """Read what files say in the background, until cancelled."""
        await self._cataloguing.run()

    def close(self) -> None:
        """Close what is kept about all sessions."""
        self._shelf.close()
