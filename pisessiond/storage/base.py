"""The contract between the service and wherever sessions are kept.

A `SessionLog` is one session's append-only log of lines: the header first, one entry a line. It
is used by one writer at a time; its calls may block and belong in a worker. A line is named by
its locator `(position, length)`, given when the line is taken and good as long as the log is the
same one. What a log returns as written is durable by its own measure (a file: fdatasync).

Every store passes the same tests (tests/storage/test_contract.py). A database store for several
hosts will stand behind the same contract: positions are opaque to everyone above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

from pisessiond.storage.errors import NotThrownAway, NotWritable

Locator = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive lines, without their line feeds, and where the first one begins."""

    offset: int
    lines: list[bytes]


@dataclass(frozen=True, slots=True)
class StoredLine:
    """A line that is in the log now."""

    line: bytes
    locator: Locator
    is_ours: bool
    """Whether it is one of the lines just given to `append`, not another writer's."""
    is_left: bool = False
    """Whether it is what a failed write of ours left: no entry, and no other writer's."""


@dataclass(frozen=True, slots=True)
class AppendOutcome:
    """What an append did."""

    written: bool
    """False when another writer had added lines first: nothing of ours was written, and the
    caller decides anew with `lines` taken in."""
    lines: list[StoredLine] = field(default_factory=list)
    """All lines new to the log since it was last looked at, in their order, ours among them."""
    ended: int | None = None
    """Where a torn last line begins that this append has ended: known before, and no whole JSON."""


class SessionLog(Protocol):
    """One session's lines."""

    @property
    def path(self) -> str | None:
        """Where it is, or will be once it is flushed; None for a log that is no file."""

    @property
    def is_flushed(self) -> bool:
        """Whether the log is stored; False while all its lines are only held."""

    @property
    def is_safe(self) -> bool:
        """Whether what it holds outlives the process, stored or kept elsewhere."""

    @property
    def may_write(self) -> bool:
        """Whether the system seemed to let us write when the log was scanned."""

    @property
    def refusal(self) -> str | None:
        """Why nothing more is written, in a sentence, until it is scanned anew; None otherwise."""

    def scan(self) -> Iterator[Run]:
        """Every line from the header on, held ones included; remembers how far it read.

        Raises:
            StoreError: it cannot be read.
        """

    def read(self, locators: Sequence[Locator]) -> list[bytes]:
        """The lines at these places. A place that is gone gives what is there now, cut short.

        Raises:
            StoreError: it cannot be read.
        """

    def hold(self, lines: Sequence[bytes]) -> list[Locator]:
        """Keep lines in memory until the first `append`; the log must not be flushed.

        Raises:
            Degraded: they were to be kept elsewhere too, and could not be.
        """

    def look(self) -> list[StoredLine]:
        """Lines that another writer added since the log was last looked at.

        Raises:
            FileChanged: what was read before is no longer there as it was.
            StoreError: it cannot be read.
        """

    def append(self, lines: Sequence[bytes], *, keep_time: bool = False) -> AppendOutcome:
        """Store lines behind all others, held ones first; either all of them or none.

        With `keep_time` the log's time of change stays what it was, where it has one.

        Raises:
            FileChanged: what was read before is no longer there as it was.
            SessionFileExists: a held log was to be created, and something is there.
            NotWritable: the system does not let us write.
            Degraded: the write failed; the log says what it said before.
            NotSynced: what was written may not last; nothing more is, until a new `scan`.
            Unreadable: it cannot be compared with what is known of it.
        """

    def rewrite(self, lines: Sequence[bytes]) -> None:
        """Replace the whole log at once (a migration). Locators are void; scan again.

        Raises:
            The same as `append`.
        """

    def discard(self) -> None:
        """Forget what is held and on no disk, wherever else it is kept; nothing follows."""

    def close(self) -> None:
        """Give back what the log holds open. It may still be read or written afterwards."""

    @property
    def is_remembered(self) -> bool:
        """Whether `look` can tell a log that was only touched from one that was rewritten."""

    def remember(self) -> bool:
        """Work towards `is_remembered`, a stretch at a time; whether to go on. Blocks.

        Raises:
            StoreError: it cannot be read.
        """

    def begin_anew(self) -> None:
        """Forget what was read of a stored log that is not what it was; `scan` comes next."""


class OtherFiles(Protocol):
    """Files that are no open sessions: exports, and the user's trash."""

    def write_new(self, path: str, pieces: Iterable[bytes]) -> int:
        """Write a new file, or leave nothing; how many bytes it has. Blocks.

        Raises:
            SessionFileExists: something is there.
            NotWritable, Degraded: it could not be written.
        """

    def throw_away(self, path: str) -> None:
        """Move a file to the trash, from where people get it back. Blocks.

        Raises:
            NoSuchSession: nothing is there.
            NotThrownAway: there is no trash for it; it stays.
        """


class NoOtherFiles:
    """For a process that leaves all other files alone."""

    def write_new(self, path: str, pieces: Iterable[bytes]) -> int:
        del path, pieces
        raise NotWritable("this process writes no other files")

    def throw_away(self, path: str) -> None:
        del path
        raise NotThrownAway("this process has none")


class SessionStore(Protocol):
    """Where sessions live."""

    def open(self, path: str) -> SessionLog:
        """The log of the session at `path` (its real path).

        Raises:
            NoSuchSession: nothing is there.
            Unreadable: the system does not let us read it.
        """

    def new(self, path: str | None) -> SessionLog:
        """An empty log to be stored at `path`; nothing is created yet."""

    def list_paths(self, folder: str) -> list[str]:
        """The session files directly in a folder, unsorted; empty when it is not there."""

    def bring_back(self) -> list[SessionLog]:
        """Logs that a process held which is no more, as it held them; this process does now."""


class Claimed(Exception):
    """Another process of ours has the session file open for writing."""

    def __init__(self, owner: str) -> None:
        super().__init__(f"another pisessiond ({owner}) has it open for writing.")
        self.owner = owner


class Claim(Protocol):
    """A held claim."""

    def release(self) -> None:
        """Let another process have the file; doing so twice is no error."""


class Claims(Protocol):
    """Where session files are claimed."""

    def claim(self, path: str) -> Claim:
        """The claim on a session file, by its real path.

        Raises:
            Claimed: another process holds it.
        """


class _NoClaim:
    def release(self) -> None:
        return None


class NoClaims:
    """For a process that shares its files with nobody of ours."""

    def claim(self, path: str) -> Claim:
        del path
        return _NoClaim()


class _NoNote(Enum):
    NO_NOTE = "no note"


NO_NOTE: Final = _NoNote.NO_NOTE
"""The mark for a session whose place was not noted; None is a place, before the first entry."""


class PlaceNotes(Protocol):
    """Places of sessions whose logs must not be written to yet."""

    def keep(self, path: str, place: Any) -> None:
        """Note the place (an entry id, or None) of the session at `path`."""

    def find(self, path: str) -> Any:
        """The noted place, or `NO_NOTE`."""

    def drop(self, path: str) -> None:
        """Forget the note; having none is no error."""


class NoPlaceNotes:
    """For a process that keeps nothing beside the sessions."""

    def keep(self, path: str, place: Any) -> None:
        del path, place

    def find(self, path: str) -> Any:
        del path
        return NO_NOTE

    def drop(self, path: str) -> None:
        del path


Mark = tuple[int, ...] | None
"""What tells a file from a changed one without reading it; None: there is none."""


class FolderWatch(Protocol):
    """Folders that are being watched. What it tells is a hint: it may miss and repeat changes."""

    @property
    def folders(self) -> Collection[str]:
        """Those that changes are told of."""

    @property
    def reason(self) -> str | None:
        """Why some are not among them; None when all are."""

    def wait(self) -> set[str]:
        """Paths of files that changed, a burst at once; blocks.

        None after a while, and once it is closed.
        """

    def close(self) -> None:
        """End it; a `wait` at work returns soon."""


class Watches(Protocol):
    """What can watch folders."""

    @property
    def kind(self) -> str:
        """A word for people and programs, such as `inotify`."""

    def watch(self, folders: Collection[str]) -> FolderWatch:
        """Watch these folders, as far as that is possible; blocks."""

    def marks(self, paths: Sequence[str]) -> list[Mark]:
        """The marks of files, in the order of the paths; blocks."""


class CatalogueRow(NamedTuple):
    """What is remembered of one file that may be a session."""

    id: int
    """Given by the catalogue; 0 before."""
    path: str
    """Real path."""
    device: int
    inode: int
    size: int
    mtime_ns: int
    read_to: int
    """Bytes that were understood, whole lines."""
    tail: bytes
    """Fingerprint of the bytes just before `read_to`."""
    facts: str | None
    """What the file says, in the words of whoever put it there; None: it is no session."""


class SeenFile(NamedTuple):
    """A file that may be a session, as it lies in its folder."""

    path: str
    """Real path."""
    device: int
    inode: int
    size: int
    mtime_ns: int


class Glances(Protocol):
    """Looking at session files without opening sessions; everything blocks."""

    @property
    def bytes_read(self) -> int:
        """Of session files, since the start."""

    def folders(self, parent: str) -> list[str]:
        """The real paths of the folders in a folder, links to some followed, each once."""

    def files(self, folder: str) -> list[SeenFile]:
        """The session files of a folder, links to some followed; none where it cannot be read."""

    def file(self, path: str) -> SeenFile | None:
        """A file as it is now; None when there is none."""

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""

    def lines(self, path: str, start: int = 0, stop: int | None = None) -> Iterator[Run]:
        """The whole lines from byte `start` on, to the end or to `stop`.

        Raises:
            StoreError: it cannot be read.
        """

    def tail(self, path: str, end: int) -> bytes:
        """A fingerprint of the bytes before `end`; empty when they are not there.

        Raises:
            StoreError: it cannot be read.
        """


class Catalogue(Protocol):
    """What is remembered of session files, never the truth; everything blocks."""

    @property
    def has_parts(self) -> bool:
        """Whether anybody wants the lines of files."""

    def rows(self) -> list[CatalogueRow]:
        """Every file that is known."""

    def put(self, rows: Sequence[CatalogueRow]) -> list[CatalogueRow]:
        """Keep rows, those with id 0 as new files; the same rows with their ids."""

    def forget(self, paths: Sequence[str]) -> None:
        """Drop all that is known of these files."""

    def behind(self, file_id: int, read_to: int) -> int | None:
        """Where lines of a file are wanted from next; None when none are."""

    def feed(self, file_id: int, lines: Sequence[tuple[int, bytes]], read_to: int) -> None:
        """Give lines to whoever wants them, up to `read_to`."""

    def recover(self) -> bool:
        """Make it anew if it was deleted or broke; True when it was: then nothing is known."""

    def close(self) -> None:
        """Let go of it."""


class TextFilter(NamedTuple):
    """Which texts are wanted beside those with the words; None: all."""

    session: str | None = None
    """Id of a session, or the path of its file."""
    path: str | None = None
    """The path of its file alone."""
    role: str | None = None
    tool: str | None = None
    label: str | None = None
    """A label that the entry has, in whatever case."""
    cwd: str | None = None
    """The folder the session belongs to."""
    since: int | None = None
    """Milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A text that an index names; it may have changed since."""

    path: str
    session: str | None
    """The id in the file's header."""
    cwd: str
    name: str | None
    locator: Locator
    """Where the entry's line was."""
    entry: Any
    """The entry's id; None in a file of version 1, where lines have none."""
    number: int
    """Which of the entry's texts it is."""
    role: str
    tool: str | None
    time: int | None
    """Milliseconds since 1970."""
    copies: tuple[tuple[str | None, str], ...] = ()
    """The same entry in other files (forks and clones): session ids and paths."""


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Texts an index found, the best and newest first."""

    texts: list[IndexedText]
    last: int
    """Give it back for the next page, so that what is indexed meanwhile shifts nothing."""


class TextSearch(Protocol):
    """An index over the words of session files. All of it blocks."""

    def find(
        self, match: str, wanted: TextFilter, *, now: int, last: int | None, start: int, limit: int
    ) -> IndexPage:
        """What a query in FTS5's syntax finds; `now` is what recency is counted from."""

    def read_to(self, path: str) -> int:
        """How far into a file its words are known; 0 when they are not."""

    def pending(self) -> int:
        """How many session files are known whose words are not, or not all."""
