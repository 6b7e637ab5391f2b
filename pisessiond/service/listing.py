"""The list of sessions: families of forks by their newest activity, page by page.

A page is answered as soon as it is sure. A file that has not been read was not active after its
last change, so families are taken in the order of what they can be at most, and only those that
come first are read; the rest is read in the background. Everything here blocks.
"""

from __future__ import annotations

import base64
import heapq
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pisessiond.core import kinds
from pisessiond.core.dates import date_ms, iso_from_ms
from pisessiond.core.gist import Facts
from pisessiond.core.preview import preview
from pisessiond.models.base import ModelName
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.families import Item, families, newest_ms, preorder, without_strangers
from pisessiond.service.following import is_live
from pisessiond.service.live.pi import LivePi
from pisessiond.service.open_session import OpenSession
from pisessiond.service.places import Folder, Places
from pisessiond.service.shelf import Known, Shelf, Stop
from pisessiond.service.types import ForkPoint, ListedSession, NodeSize
from pisessiond.storage.base import Glances, SeenFile

FIRST_ROWS_SECONDS: Final = 0.1
"""Once so much time has gone into reading, an answer holds the rows it has."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions are asked for; what is None or False does not matter."""

    cwd: str | None = None
    query: str | None = None
    """Every word of it is in name, id, path or one of the first messages."""
    name: str | None = None
    """Every word of it is in the name."""
    is_open: bool = False
    is_unsaved: bool = False
    is_live: bool = False
    limit: int = 50
    cursor: str | None = None
    session_dir: str | None = None
    """The client's own session folder."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the list."""

    sessions: tuple[ListedSession, ...]
    cursor: str | None
    """Of the next page; None at the end."""
    folders: tuple[Folder, ...]
    """Where it was looked."""
    unread: int
    """Files that have not been read yet; the list goes on behind the cursor all the same."""


class Lister:
    """Answers lists for one agent dir."""

    def __init__(
        self,
        shelf: Shelf,
        glances: Glances,
        places: Places,
        now_iso: Callable[[], str],
        window_of: Callable[[ModelName], int | None] = lambda model: None,  # noqa: ARG005
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`window_of` says of models how large their windows are, as far as that is known."""
        self._shelf = shelf
        self._window_of = window_of
        self._glances = glances
        self._places = places
        self._now_iso = now_iso
        self._monotonic = monotonic
        self._ours: dict[str, tuple[int, str | None]] = {}
        """Of files that were open here: their time of change then, and the last foreign append."""

    # Where -------------------------------------------------------------------------------------

    def folders(self, cwd: str | None = None, session_dir: str | None = None) -> list[Folder]:
        """The folders that hold the sessions of `cwd`, or of all working directories."""
        if cwd is not None:
            return [self._places.folder_for(cwd, session_dir)]
        shared = [self._places.shared_folder]
        if session_dir and os.path.isabs(session_dir):
            shared.insert(0, os.path.normpath(session_dir))
        found = [Folder(path, is_shared=True) for path in dict.fromkeys(filter(None, shared))]
        own = self._glances.folders(self._places.sessions_dir)
        return found + [Folder(path, is_shared=False) for path in own]

    # Pages -------------------------------------------------------------------------------------

    def page(
        self, open_sessions: Sequence[OpenSession], wanted: Wanted, stop: Stop | None = None
    ) -> ListPage:
        """A page of the list.

        Raises:
            InvalidRequest: the cursor is none that an answer gave.
            Stopped: `stop` was set meanwhile.
        """
        after = _read_cursor(wanted.cursor)
        stop = stop or Stop()
        with self._shelf.asking():
            folders = self.folders(wanted.cwd, wanted.session_dir)
            items = self._items(open_sessions, folders, wanted)
            rows, cursor = self._take(families(items), folders, wanted, after, stop)
        unread = sum(not item.is_sure for item in items.values())
        return ListPage(tuple(rows), cursor, tuple(folders), unread)

    def rows(
        self, keys: Sequence[str], open_sessions: Sequence[OpenSession]
    ) -> tuple[list[ListedSession], list[str]]:
        """The rows of these paths and handles as they were last read, and those without one."""
        held = {one.path or one.handle: one for one in open_sessions}
        rows, gone = [], []
        for key in keys:
            known, opened = self._shelf.at(key), held.get(key)
            if opened is not None and (opened.is_unsaved or opened.path is None):
                header = opened.session.header.get("parentSession")
                parent = self._parent(header if isinstance(header, str) else None)
                item = Item(key, parent, _open_ms(opened), opened=opened)
            elif known is not None and known.is_session and known.facts is not None:
                parent = self._parent(known.facts.parent)
                item = Item(key, parent, _sure_ms(known), known.seen, known, opened)
            else:
                gone.append(key)
                continue
            rows.append(self._describe(item, *self._root_of(key, parent)))
        return rows, gone

    def _root_of(self, key: str, parent: str | None) -> tuple[str, int]:
        """The root of a session's family, and how many forks lie between."""
        root, passed = key, {key}
        while parent is not None and parent not in passed:
            known = self._shelf.at(parent)
            if known is None or known.facts is None or not known.is_session:
                break
            root = parent
            passed.add(parent)
            parent = self._parent(known.facts.parent)
        return root, len(passed) - 1

    def _items(
        self, open_sessions: Sequence[OpenSession], folders: list[Folder], wanted: Wanted
    ) -> dict[str, Item]:
        items: dict[str, Item] = {}
        held = {one.path: one for one in open_sessions if one.path is not None}
        for seen in self._shelf.look(folder.path for folder in folders):
            if self._shelf.is_bad(seen):
                continue
            known = self._shelf.known(seen)
            if known is not None and not known.is_session:
                continue
            opened = held.get(seen.path)
            if opened is not None and opened.is_unsaved:
                continue
            if known is None:
                parent = self._parent(self._shelf.parent_of(seen))
                item = Item(seen.path, parent, _changed_ms(seen), seen, None, opened)
            else:
                assert known.facts is not None
                parent = self._parent(known.facts.parent)
                item = Item(seen.path, parent, _sure_ms(known), seen, known, opened)
            items[seen.path] = item
        for one in open_sessions:
            if (one.is_unsaved or one.path is None) and self._is_of(one.session.cwd, wanted.cwd):
                header = one.session.header.get("parentSession")
                parent = self._parent(header if isinstance(header, str) else None)
                key = one.path or one.handle
                items[key] = Item(key, parent, _open_ms(one), opened=one)
        return items

    def _parent(self, path: str | None) -> str | None:
        return os.path.realpath(path) if path and os.path.isabs(path) else None

    def _take(
        self,
        roots: list[Item],
        folders: list[Folder],
        wanted: Wanted,
        after: tuple[float, str, str] | None,
        stop: Stop,
    ) -> tuple[list[ListedSession], str | None]:
        """The rows behind `after`, and the cursor behind them."""
        began = self._monotonic()
        has_read = False
        heap = [(-newest_ms(root), root.key, root) for root in roots]
        heapq.heapify(heap)
        rows: list[ListedSession] = []
        last: tuple[float, str, str] | None = None
        while heap:
            top, key, root = heapq.heappop(heap)
            if after is not None and (top, key) < after[:2]:
                continue
            unsure = [item for item, _ in preorder(root) if not item.is_sure]
            if unsure:
                stop.check()
                if rows and self._monotonic() - began > FIRST_ROWS_SECONDS:
                    return rows, _cursor(last)
                for item in unsure:
                    self._read(item, stop)
                has_read = True
                # Whoever was no session has left; its forks are roots now.
                for left in without_strangers(root):
                    heapq.heappush(heap, (-newest_ms(left), left.key, left))
                continue
            is_late = has_read and self._monotonic() - began > FIRST_ROWS_SECONDS
            passed = after is None or (top, key) != after[:2]
            for item, depth in preorder(root):
                if not passed:
                    passed = after is not None and item.key == after[2]
                    continue
                if len(rows) >= wanted.limit:
                    return rows, _cursor(last)
                if self._is_wanted(item, folders, wanted):
                    self._size(item, is_late=is_late)
                    rows.append(self._describe(item, root.key, depth))
                    last = (top, key, item.key)
        return rows, None

    def _read(self, item: Item, stop: Stop) -> None:
        assert item.seen is not None
        known = self._shelf.read(item.seen, stop)
        item.known = known
        if known is None or known.facts is None or not known.is_session:
            item.seen, item.opened = None, None
        else:
            item.bound_ms = _sure_ms(known)

    def _size(self, item: Item, *, is_late: bool) -> None:
        if item.known is not None and not is_late:
            self._shelf.size(item.known)

    # What is wanted ----------------------------------------------------------------------------

    def _is_wanted(self, item: Item, folders: list[Folder], wanted: Wanted) -> bool:
        opened, facts = item.opened, item.known.facts if item.known is not None else None
        is_shared = any(folder.is_shared for folder in folders)
        if facts is not None and is_shared and not self._is_of(facts.cwd, wanted.cwd):
            return False
        if wanted.is_open and (opened is None or not opened.subscribers):
            return False
        if wanted.is_unsaved and (opened is None or not opened.is_unsaved):
            return False
        if wanted.is_live and not self._is_live(_pis_of(item.opened), self._last_external(item)):
            return False
        if wanted.name is None and not wanted.query:
            return True
        row = self._describe(item, item.key, 0)
        if wanted.name is not None and not _has_words(row.name or "", wanted.name):
            return False
        after_fork = row.fork.first_message if row.fork is not None else None
        texts = (row.name, row.session, row.path, row.first_message, after_fork)
        return _has_words(" ".join(filter(None, texts)), wanted.query or "")

    @staticmethod
    def _is_of(header_cwd: object, cwd: str | None) -> bool:
        if cwd is None:
            return True
        if not isinstance(header_cwd, str) or not header_cwd:
            return False
        return os.path.normpath(header_cwd) == os.path.normpath(cwd)

    def note_ours(self, opened: OpenSession) -> None:
        """A session leaves memory: what its file holds now is known, whoever wrote it."""
        if opened.path is not None and not opened.is_unsaved:
            seen = self._glances.file(opened.path)
            if seen is not None:
                self._ours[seen.path] = (seen.mtime_ns, opened.last_external)

    def note_made(self, path: str) -> None:
        """A file is ours as it is now: no other program has written to it."""
        seen = self._glances.file(path)
        if seen is not None:
            self._ours[seen.path] = (seen.mtime_ns, None)

    def _last_external(self, item: Item) -> str | None:
        """When another program last wrote to it, as far as is known."""
        opened, seen = item.opened, item.seen
        if opened is not None:
            if seen is not None:
                self._ours[seen.path] = (seen.mtime_ns, opened.last_external)
            return opened.last_external
        if seen is None:
            return None
        changed, before = self._ours.get(seen.path, (None, None))
        if changed == seen.mtime_ns:
            return before
        return iso_from_ms(seen.mtime_ns // 1_000_000)

    def _is_live(self, pis: Sequence[LivePi], last_external: str | None) -> bool:
        return bool(pis) or is_live(last_external, self._now_iso())

    # Rows --------------------------------------------------------------------------------------

    def _describe(self, item: Item, root: str, depth: int) -> ListedSession:
        if item.known is None and item.opened is not None:
            return self._describe_open(item, item.opened, root, depth)
        known, opened = item.known, item.opened
        assert known is not None
        assert known.facts is not None
        facts, external = known.facts, self._last_external(item)
        # Once: it changes while this is put together, in a worker.
        pis = _pis_of(opened)
        fork = None
        if facts.parent is not None:
            fork = ForkPoint(facts.point, facts.point_text, facts.first_after)
        size = percent = None
        if facts.tokens is not None:
            size = NodeSize(facts.tokens, "measured" if facts.is_measured else "estimated")
            percent = self._percent(facts, facts.tokens)
        return ListedSession(
            session=opened.handle if opened else facts.id or "",
            path=item.key,
            cwd=facts.cwd,
            name=facts.name,
            first_message=facts.first,
            messages=facts.messages,
            created=facts.created,
            modified=_iso(known.active_ms),
            parent_session=item.parent or facts.parent,
            open=len(opened.subscribers) if opened else 0,
            unsaved=False,
            last_external=external,
            fork=fork,
            context_size=size,
            percent=percent,
            live=self._is_live(pis, external),
            cwd_missing=bool(facts.cwd) and not self._glances.is_folder(facts.cwd),
            root=root,
            depth=depth,
            pis=pis,
        )

    def _percent(self, facts: Facts, tokens: int) -> float | None:
        if facts.provider is None or facts.model is None:
            return None
        window = self._window_of(ModelName(facts.provider, facts.model))
        return None if window is None else tokens * 100 / window

    def _describe_open(
        self, item: Item, opened: OpenSession, root: str, depth: int
    ) -> ListedSession:
        """The row of a session that has no file yet, or never will."""
        session, index = opened.session, opened.session.index
        users = [row for row in range(len(index)) if index.kind[row] == kinds.USER]
        created, cwd = session.header.get("timestamp"), session.cwd
        pis = _pis_of(opened)
        size, told = opened.leaf_node_size(), opened.sizing.told
        is_told = size is not None and told is not None and told.tokens == size.tokens
        parent = session.header.get("parentSession")
        fork = None
        if isinstance(parent, str):
            fork = _fork_point(opened, users)
        messages = sum(index.kind_counts[kind] for kind in range(kinds.USER, kinds.NO_MESSAGE + 1))
        return ListedSession(
            session=opened.handle,
            path=opened.path,
            cwd=cwd if isinstance(cwd, str) else "",
            name=session.name,
            first_message=preview(session.entry(users[0])) if users else None,
            messages=messages,
            created=created if isinstance(created, str) else None,
            modified=_iso(item.bound_ms),
            parent_session=item.parent or (parent if isinstance(parent, str) else None),
            open=len(opened.subscribers),
            unsaved=opened.is_unsaved,
            last_external=opened.last_external,
            fork=fork,
            context_size=size,
            percent=told.percent if told is not None and is_told else None,
            live=self._is_live(pis, opened.last_external),
            cwd_missing=isinstance(cwd, str) and bool(cwd) and not self._glances.is_folder(cwd),
            root=root,
            depth=depth,
            pis=pis,
        )


def _pis_of(opened: OpenSession | None) -> tuple[LivePi, ...]:
    return opened.live.views if opened is not None else ()


def _fork_point(opened: OpenSession, users: Sequence[int]) -> ForkPoint:
    session, index = opened.session, opened.session.index
    created = date_ms(session.header.get("timestamp"))
    point = None
    for row in range(len(index)):
        time_ms = date_ms(index.times[row]) if isinstance(index.times[row], str) else None
        if created is None or time_ms is None or time_ms >= created:
            break
        if index.kind[row] in kinds.GIVES_MESSAGE:
            point = row
    after = next((row for row in users if point is None or row > point), None)
    return ForkPoint(
        entry=index.ids[point] if point is not None else None,
        preview=preview(session.entry(point)) if point is not None else None,
        first_message=preview(session.entry(after)) if after is not None else None,
    )


# Times, words, cursors -------------------------------------------------------------------------


def _changed_ms(seen: SeenFile) -> float:
    return seen.mtime_ns / 1_000_000


def _sure_ms(known: Known) -> float:
    """A session's last activity, never after its last change: nothing was unread that is newer."""
    return min(known.active_ms, _changed_ms(known.seen))


def _open_ms(opened: OpenSession) -> float:
    times = opened.session.index.times
    newest = date_ms(times[-1]) if len(times) and isinstance(times[-1], str) else None
    created = opened.session.header.get("timestamp")
    if newest is None:
        newest = date_ms(created) if isinstance(created, str) else None
    return newest or 0.0


def _iso(time_ms: float) -> str:
    return iso_from_ms(int(time_ms))


def _has_words(text: str, words: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())


def _cursor(place: tuple[float, str, str] | None) -> str | None:
    if place is None:
        return None
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _read_cursor(cursor: str | None) -> tuple[float, str, str] | None:
    if cursor is None:
        return None
    try:
        at, root, key = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        return float(at), str(root), str(key)
    except (ValueError, TypeError) as error:
        raise InvalidRequest("cursor", "is not one that an earlier answer gave.") from error
