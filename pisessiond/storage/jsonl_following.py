"""A session file as far as it was read: what is new in it, and whether it still is the same one.

Nothing here writes. Foreign lines are taken as they come, a last one without line feed when it is
time; a file that is no longer what was read is told by its device and inode, its size, its time of
change, where only that is another by the sum of its bytes, and where it grew by what stands before
the new lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from pisessiond.core.lines import OddLine, read_line
from pisessiond.storage.base import Run, StoredLine
from pisessiond.storage.errors import FileChanged, StoreError, Unreadable
from pisessiond.storage.jsonl_reading import Identity, Reader, words
from pisessiond.storage.jsonl_sums import Sum
from pisessiond.storage.jsonl_writing import World

_CHUNK = 256 << 10
_REMEMBERED_AT_ONCE = 8 << 20
_LAST = 64
"""So many bytes before the new lines are compared: the end of an entry, no other being the same."""

TORN_SECONDS = 0.25
"""How long another writer is given to end its last line before we write behind it."""
_LOOK_SECONDS = 0.01
"""How often it is looked meanwhile."""


class FollowedFile:
    """One file and how far it was read."""

    def __init__(self, path: str, world: World) -> None:
        self._path = path
        self._world = world
        self._files = world.files
        self._known: Identity | None = None
        self._end = 0
        """Where the next unread byte is: behind the last whole line that was taken in."""
        self._open_tail = b""
        """The last line when it has no line feed yet but was understood as a line."""
        self._last = b""
        """The bytes just before `_end`."""
        self._waited_for: tuple[int, int] | None = None
        """The last line (its place and length) that has had its time to go on."""
        self._left: list[tuple[int, int]] = []
        """Places where failed writes of ours left something that has not been read yet."""
        self._reader: Reader | None = None
        self._sum = Sum()

    def look(self) -> list[StoredLine]:
        """Whole lines that another writer added since the file was last looked at.

        Raises:
            FileChanged: what was read before is no longer there as it was.
            Unreadable: it cannot be read.
        """
        now = self._identity_now()
        if now == self._known or self._is_only_touched(now):
            return []
        self._require_same(now)
        lines = self._read_tail(now)
        self._known = now
        return lines

    def _identity_now(self) -> Identity:
        try:
            return Identity.of(self._files.stat(self._path))
        except FileNotFoundError as error:
            raise FileChanged("it was deleted") from error
        except OSError as error:
            raise Unreadable(self._path, words(error)) from error

    def _require_same(self, now: Identity) -> None:
        known = self._known
        if known is None:
            raise FileChanged("it was never read")
        if (now.device, now.inode) != (known.device, known.inode):
            raise FileChanged("it was replaced by another file")
        if now.size < known.size:
            raise FileChanged("it was truncated")
        if now.size == known.size:
            raise FileChanged("it was rewritten in place")

    def _read_tail(self, now: Identity) -> list[StoredLine]:
        """Whole lines that came behind what was read; a torn last line waits for its end."""
        before = self._end, self._open_tail, self._last
        try:
            return self._read_whole_lines(now)
        except StoreError:
            # What was read of them is given with the rest, once all can be read.
            self._end, self._open_tail, self._last = before
            raise

    def _read_whole_lines(self, now: Identity) -> list[StoredLine]:
        reader = self._open_reader()
        start = self._end
        # An editor that saves in place moves all that stands behind what was edited. A change that
        # moves nothing is not seen here: that would take reading the whole file at each append.
        if reader.read(len(self._last), start - len(self._last)) != self._last:
            raise FileChanged("it was rewritten in place")
        if self._open_tail:
            tail = reader.read(len(self._open_tail) + 1, start)
            if not tail.startswith(self._open_tail) or tail[len(self._open_tail) :] != b"\n":
                raise FileChanged("its last line was changed")
            self._advance(len(tail), tail)
            start = self._end
        stored = []
        for run in self._runs(reader, start, now.size):
            offset = run.offset
            for line in run.lines:
                if offset < self._end:
                    stored.append(self._foreign_line(line, offset))
                offset += len(line) + 1
        self._open_tail = b""
        self._left = [place for place in self._left if place[1] > self._end]
        return stored

    def _begin(self) -> None:
        """Go back to the beginning of the file."""
        self._end = 0
        self._last = self._open_tail = b""

    def _advance(self, length: int, last: bytes) -> None:
        """Go on behind whole lines, of which `last` is the end, if not all."""
        self._end += length
        self._last = (self._last + last[-_LAST:])[-_LAST:]
        self._open_tail = b""

    def _foreign_line(self, line: bytes, offset: int) -> StoredLine:
        is_left = any(start <= offset < stop for start, stop in self._left)
        return StoredLine(line, (offset, len(line)), is_ours=False, is_left=is_left)

    def _news(self) -> list[StoredLine]:
        """What has to be taken in before anything is written: foreign lines, a last one included.

        Our write ends a last line that has no line feed. It may be whole, and an entry like any
        other. Or it is torn; then whoever writes it gets a moment to go on.
        """
        if foreign := self.look():
            return foreign
        tail = self._last_line()
        waited = TORN_SECONDS if self._waited_for == (self._end, len(tail)) else 0.0
        while waited < TORN_SECONDS and is_torn(tail):
            self._world.sleep(_LOOK_SECONDS)
            waited += _LOOK_SECONDS
            if foreign := self.look():
                return foreign
            tail = self._last_line()
        self._waited_for = self._end, len(tail)
        if self._open_tail or not tail:
            return []
        self._open_tail = tail
        return [self._foreign_line(tail, self._end)]

    def _last_line(self) -> bytes:
        """What stands behind the last line feed."""
        assert self._known is not None
        length = self._known.size - self._end
        if self._open_tail or not length:
            return self._open_tail
        return self._open_reader().read(length, self._end)

    def _runs(self, reader: Reader, start: int, end: int) -> Iterator[Run]:
        """Whole lines between two offsets; a last line without line feed comes by itself."""
        pending = b""
        position = start
        while position < end:
            chunk = reader.read_some(min(_CHUNK, end - position), position)
            if not chunk:
                break
            position += len(chunk)
            lines = chunk.split(b"\n")
            if len(lines) == 1:
                pending += chunk
                continue
            whole = len(chunk) - len(lines[-1])
            offset = self._end
            last = pending[-_LAST:] + chunk[max(whole - _LAST, 0) : whole]
            self._advance(len(pending) + whole, last)
            lines[0] = pending + lines[0]
            pending = lines.pop()
            yield Run(offset, lines)
        self._open_tail = pending
        if pending:
            yield Run(self._end, [pending])

    def _open_reader(self) -> Reader:
        if self._reader is None:
            self._reader = Reader(self._files, self._path)
        return self._reader

    @property
    def is_remembered(self) -> bool:
        return self._known is None or self._sum.size == self._known.size

    def remember(self) -> bool:
        known = self._known
        if known is None:
            return False
        reader = self._open_reader()
        self._sum.extend(reader, min(known.size, self._sum.size + _REMEMBERED_AT_ONCE))
        if self._identity_now() != known:
            # Whether these bytes are those that were read, nobody knows.
            self._sum = Sum()
            return False
        return not self.is_remembered

    def _is_only_touched(self, now: Identity) -> bool:
        """Whether nothing but the time of a file that was read is another; known is the new one."""
        known = self._known
        if known is None or now[:3] != known[:3] or not self.is_remembered:
            return False
        if not self._sum.fits(self._open_reader()) or self._identity_now() != now:
            return False
        self._known = now
        return True

    def close(self) -> None:
        """Let go of the open file; it is opened again when it is needed."""
        self._reader = None


def is_torn(line: bytes) -> bool:
    """Whether a line is the beginning of one: neither blank nor whole JSON."""
    understood = read_line(line)
    return isinstance(understood, OddLine) and understood.kind == "badLine"
