"""What every session file says, read once and then only where it grew.

A `Shelf` knows the files of some folders and brings one of them up to date at a time. Whoever asks
for a list uses it (service/listing.py), and so does what runs in the background
(service/cataloguing.py), which stands aside while somebody asks. It blocks: use it in a worker.

No file is ever written to, and none is trusted: what cannot be read is passed over, what is no
session is remembered as such, and whatever else goes wrong with one file stays with that file.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pisessiond.core.errors import SessionFileError
from pisessiond.core.gist import Facts, Gist, facts_text, read_facts
from pisessiond.core.lines import EntryId
from pisessiond.core.models_named import find_model
from pisessiond.service.loading import load
from pisessiond.storage.base import Catalogue, CatalogueRow, Glances, SeenFile, SessionStore
from pisessiond.storage.errors import CatalogueLost, NoSuchSession, StoreError

log = logging.getLogger(__name__)

SIZED_BYTES: Final = 64 << 20
"""Files up to so large are read whole for the context size where their lines alone do not tell."""

_PEEK_BYTES: Final = 8 << 10
"""A header is looked for in so many bytes before a file is read."""


class Stopped(Exception):
    """The work was to end early."""


class Stop:
    """A request to end early, given to work that blocks."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """End it at the next file or stretch of one."""
        self._event.set()

    def check(self) -> None:
        """Whether to go on.

        Raises:
            Stopped: it is to end.
        """
        if self._event.is_set():
            raise Stopped


@dataclass(slots=True)
class Known:
    """A file and what is known of it."""

    seen: SeenFile
    row: CatalogueRow
    facts: Facts | None
    """None: it is no session."""

    @property
    def is_session(self) -> bool:
        """Whether it opens as one."""
        return self.facts is not None and self.facts.is_session

    @property
    def active_ms(self) -> float:
        """Time of its last activity as pi's list has it, in ms since 1970."""
        facts, changed = self.facts, self.seen.mtime_ns / 1_000_000
        if facts is None:
            return changed
        if facts.active_ms is not None and facts.active_ms > 0:
            return facts.active_ms
        return changed if facts.created_ms is None else facts.created_ms


class Shelf:
    """The session files that were seen, and the facts of those that were read."""

    def __init__(self, catalogue: Catalogue, glances: Glances, store: SessionStore) -> None:
        self._catalogue = catalogue
        self._glances = glances
        self._store = store
        self._lock = threading.RLock()
        self._known: dict[str, Known] | None = None
        self._places: dict[tuple[int, int], str] = {}
        """Paths by device and inode."""
        self._forks: dict[str, list[tuple[str, EntryId | None]]] | None = None
        """Forks by their parent's path; None where files have changed since."""
        self._peeked: dict[SeenFile, str | None] = {}
        self._bad: dict[str, SeenFile] = {}
        """Files that nothing could be made of, as they were then."""
        self._asking = 0
        self._is_closed = False
        self.changed: Callable[[str], None] = lambda _: None
        """Called with the path of a file that was read anew or is gone; in a worker."""

    @property
    def is_asked(self) -> bool:
        """Whether somebody waits for an answer now."""
        return self._asking > 0

    @contextmanager
    def asking(self) -> Iterator[None]:
        """For somebody who waits: the background stands aside."""
        with self._lock:
            self._asking += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1

    def close(self) -> None:
        """Let go of the catalogue; what still reads in a worker keeps nothing any more."""
        with self._lock:
            self._is_closed = True
            self._catalogue.close()

    # Folders -----------------------------------------------------------------------------------

    def look(self, folders: Iterable[str]) -> list[SeenFile]:
        """The session files of some folders, newest first; those that are gone are forgotten."""
        self._recover()
        seen: dict[str, SeenFile] = {}
        real = set()
        for folder in folders:
            for one in self._glances.files(folder):
                seen[one.path] = one
            real.add(os.path.realpath(folder))
        with self._lock:
            known = self._all()
            gone = [p for p in known if p not in seen and os.path.dirname(p) in real]
        new = {one[1:]: one for one in seen.values() if one.path not in known}
        for path in gone:
            moved = new.get(known[path].seen[1:]) if path in known else None
            if self._glances.file(path) is not None:
                continue
            if moved is None or self._take_moved(moved) is None:
                self.forget(path)
        return sorted(seen.values(), key=lambda one: (-one.mtime_ns, one.path))

    def _recover(self) -> None:
        with self._lock:
            if not self._is_closed and self._catalogue.recover():
                self._known = None

    def _all(self) -> dict[str, Known]:
        if self._known is None:
            known = {}
            try:
                rows = self._catalogue.rows()
            except CatalogueLost:
                rows = []
            for row in rows:
                facts = None if row.facts is None else read_facts(row.facts)
                if row.facts is None or facts is not None:
                    seen = SeenFile(row.path, row.device, row.inode, row.size, row.mtime_ns)
                    known[row.path] = Known(seen, row, facts)
            self._places = {(k.seen.device, k.seen.inode): path for path, k in known.items()}
            self._known = known
            self._forks = None
        return self._known

    def forget(self, path: str) -> None:
        """A file is gone."""
        with self._lock:
            found = self._all().pop(path, None)
            self._forks = None
            if found is None or self._is_closed:
                return
            self._places.pop((found.seen.device, found.seen.inode), None)
            try:
                self._catalogue.forget([path])
            except CatalogueLost:
                self._known = None
        if found.is_session:
            self.changed(path)

    # Files -------------------------------------------------------------------------------------

    def known(self, seen: SeenFile) -> Known | None:
        """What is known of a file as it is now; None while it has to be read."""
        with self._lock:
            found = self._all().get(seen.path)
        return found if found is not None and found.seen == seen else None

    def see(self, path: str) -> SeenFile | None:
        """A file as it is now; one that is gone is forgotten."""
        seen = self._glances.file(os.path.realpath(path))
        if seen is None:
            self.forget(path)
        return seen

    def at(self, path: str) -> Known | None:
        """What was last known of the file at a path."""
        with self._lock:
            return self._all().get(path)

    def forks_of(self, path: str) -> list[tuple[str, EntryId | None]]:
        """The paths of the forks of a session, and the last entry of each that came along."""
        with self._lock:
            everything = self._all()
            if self._forks is None:
                self._forks = {}
                for known in everything.values():
                    facts = known.facts
                    if facts is None or not facts.is_session or not facts.parent:
                        continue
                    parent = os.path.realpath(facts.parent)
                    fork = (known.seen.path, facts.point)
                    self._forks.setdefault(parent, []).append(fork)
            return self._forks.get(path, [])

    def is_bad(self, seen: SeenFile) -> bool:
        """Whether reading it as it is now failed before."""
        return self._bad.get(seen.path) == seen

    def parent_of(self, seen: SeenFile) -> str | None:
        """The `parentSession` of a file that has not been read, by its first bytes."""
        old = self.at(seen.path)
        if old is not None and old.facts is not None and old.seen.inode == seen.inode:
            # It grew.
            return old.facts.parent
        if seen in self._peeked:
            return self._peeked[seen]
        gist = Gist()
        try:
            for run in self._glances.lines(seen.path, 0, min(seen.size, _PEEK_BYTES)):
                gist.feed(run.lines[:1] if gist.facts.id is None else [])
        except (StoreError, OSError):
            return None
        if len(self._peeked) > 50_000:
            self._peeked.clear()
        self._peeked[seen] = gist.facts.parent
        return gist.facts.parent

    def read(self, seen: SeenFile, stop: Stop) -> Known | None:
        """Bring a file up to date, reading no more of it than is new.

        None where it cannot be read or is gone.

        Raises:
            Stopped: `stop` was set meanwhile.
        """
        if (known := self.known(seen)) is not None:
            return known
        if self.is_bad(seen):
            return None
        try:
            made = self._take_moved(seen)
            if made is not None:
                return made
            made = self._read(seen, stop)
        except NoSuchSession:
            self.forget(seen.path)
            return None
        except (StoreError, OSError):
            return None
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001 - one file's fault is not the others'
            log.warning("a session file could not be catalogued: %s", type(error).__name__)
            self._bad[seen.path] = seen
            return None
        self._keep(made)
        return made

    def _take_moved(self, seen: SeenFile) -> Known | None:
        """What is known of a file that had another path, from now on under this one."""
        with self._lock:
            known = self._all()
            old = known.get(self._places.get((seen.device, seen.inode), ""))
            if seen.path in known or old is None or old.seen[1:] != seen[1:]:
                return None
            if self._glances.file(old.seen.path) is not None:
                return None
            del known[old.seen.path]
            self._forks = None
            made = Known(seen, old.row._replace(path=seen.path), old.facts)
            self._keep(made)
        if made.is_session:
            self.changed(old.seen.path)
        return made

    def _read(self, seen: SeenFile, stop: Stop) -> Known:
        with self._lock:
            old = self._all().get(seen.path)
        row_id, start, facts = 0, 0, None
        if old is not None and self._has_grown(old, seen):
            row_id, start = old.row.id, old.row.read_to
            # A copy: others may be reading the old ones.
            facts = None if old.row.facts is None else read_facts(old.row.facts)
        gist = Gist(facts)
        read_to = start
        for run in self._glances.lines(seen.path, start, seen.size):
            stop.check()
            gist.feed(run.lines)
            read_to = min(run.offset + sum(map(len, run.lines)) + len(run.lines), seen.size)
            if gist.is_refused:
                break
        done = gist.finish()
        text = None if gist.is_refused else facts_text(done)
        tail = b"" if gist.is_refused else self._glances.tail(seen.path, read_to)
        return Known(
            seen,
            CatalogueRow(row_id, *seen, read_to, tail, text),
            None if gist.is_refused else done,
        )

    def _has_grown(self, old: Known, seen: SeenFile) -> bool:
        """Whether a file is what it was, with more behind it."""
        row = old.row
        if old.facts is None or row.inode != seen.inode or row.device != seen.device:
            return False
        if seen.size <= row.size or seen.size < row.read_to or not row.tail:
            return False
        return self._glances.tail(seen.path, row.read_to) == row.tail

    def _keep(self, made: Known) -> None:
        with self._lock:
            if self._is_closed:
                return
            known = self._all()
            before = known.get(made.seen.path)
            try:
                (made.row,) = self._catalogue.put([made.row])
            except CatalogueLost:
                self._known = None
                return
            known[made.seen.path] = made
            self._forks = None
            self._places[made.seen.device, made.seen.inode] = made.seen.path
        if made.is_session or (before is not None and before.is_session):
            self.changed(made.seen.path)

    def size(self, known: Known) -> bool:
        """Find out the context size at the end where the file's lines alone did not tell.

        Whether there was anything to find out.
        """
        facts, seen = known.facts, known.seen
        if facts is None or not facts.is_session or facts.tokens is not None or facts.is_unsized:
            return False
        try:
            if seen.size > SIZED_BYTES:
                raise _TooLarge
            session = load(self._store.open(seen.path)).session
            session.measure_rest()
            size = session.size_at(session.leaf)
            facts.tokens, facts.is_measured = size.tokens, size.measured is not None
            named = find_model(session, session.leaf, {})
            facts.provider, facts.model = named or (None, None)
        except (StoreError, SessionFileError, OSError, _TooLarge):
            facts.is_unsized = True
        known.row = known.row._replace(facts=facts_text(facts))
        self._keep(known)
        return True

    # Parts -------------------------------------------------------------------------------------

    def feed_parts(self, known: Known, stop: Stop) -> Iterator[None]:
        """Give the lines of a file to those who want them, a stretch at each step."""
        if not self._catalogue.has_parts or not known.is_session:
            return
        row = known.row
        try:
            with self._lock:
                is_closed = self._is_closed
                start = None if is_closed else self._catalogue.behind(row.id, row.read_to)
            if start is None:
                return
            for run in self._glances.lines(known.seen.path, start, row.read_to):
                stop.check()
                at, lines = run.offset, []
                for line in run.lines:
                    lines.append((at, line))
                    at += len(line) + 1
                self._feed(row.id, lines, min(at, row.read_to))
                yield
            self._feed(row.id, (), row.read_to)
        except CatalogueLost:
            with self._lock:
                self._known = None
        except (StoreError, OSError):
            return

    def _feed(self, file_id: int, lines: Sequence[tuple[int, bytes]], read_to: int) -> None:
        with self._lock:
            if not self._is_closed:
                self._catalogue.feed(file_id, lines, read_to)


class _TooLarge(Exception):
    """A file is not read whole just for its size."""
