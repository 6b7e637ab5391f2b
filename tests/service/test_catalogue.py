"""What the index over all session files reads, keeps, forgets and survives."""

import gc
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pisessiond.core.dates import iso_from_ms
from pisessiond.service.listing import Lister, ListPage, Wanted
from pisessiond.service.places import Places
from pisessiond.service.shelf import Shelf, Stop, Stopped
from pisessiond.service.types import ListedSession
from pisessiond.storage.base import SeenFile
from pisessiond.storage.catalogue import CatalogueFile, Lines
from pisessiond.storage.glancing import FolderGlances
from pisessiond.storage.jsonl import JsonlStore
from tests.support.service import START_MS, HandClock, answer, entry, label, read_text, spell, user

ROOT = Path(__file__).resolve().parents[2]


class Desk:
    """A lister with its catalogue on disk, and the folder it looks into."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.agent = folder / "agent"
        self.hand = HandClock()
        self.environment = environment or {}
        self.begin()

    def begin(self) -> None:
        """As after a new start of the daemon."""
        self.catalogue = CatalogueFile(str(self.folder / "cache" / "catalogue.sqlite"))
        self.glances = FolderGlances()
        store = JsonlStore()
        self.shelf = Shelf(self.catalogue, self.glances, store)
        places = Places(str(self.agent), str(self.folder), self.environment, read_text)
        self.lister = Lister(self.shelf, self.glances, places, self.hand.now_iso)

    def begin_anew(self) -> None:
        self.shelf.close()
        self.begin()

    def file(
        self, name: str, *entries: Any, folder: str = "--srv--", at: int = 0, **header: Any
    ) -> Path:
        """A session file that was changed `at` seconds after the first one."""
        path = self.agent / "sessions" / folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {
            "type": "session",
            "version": 3,
            "id": name,
            "timestamp": iso_from_ms(START_MS),
            "cwd": "/srv",
            **header,
        }
        path.write_bytes(b"".join(spell(line) for line in (head, *entries)))
        age(path, at)
        return path

    def page(self, **wanted: Any) -> ListPage:
        return self.lister.page([], Wanted(**{"limit": 5_000, **wanted}))

    def rows(self, **wanted: Any) -> list[ListedSession]:
        """Every row; while files are read, a page may be a short one."""
        found: list[ListedSession] = []
        cursor = None
        while True:
            page = self.page(**wanted, cursor=cursor)
            found += page.sessions
            if (cursor := page.cursor) is None:
                return found

    def names(self, **wanted: Any) -> list[str]:
        return [one.session for one in self.rows(**wanted)]

    def reads(self, act: Callable[[], Any]) -> int:
        """Bytes of session files that are read while something is done."""
        before = self.glances.bytes_read
        act()
        return self.glances.bytes_read - before


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.shelf.close()


def age(path: Path, seconds: int) -> None:
    time = START_MS // 1000 + 60 + seconds
    os.utime(path, (time, time))


def said(at: int, text: str, entry_id: str, parent: str | None = None) -> dict[str, Any]:
    """A user message, some seconds after the first one."""
    time = START_MS + at * 1_000
    made = user(text, entry_id, parent, timestamp=iso_from_ms(time))
    made["message"]["timestamp"] = time
    return made


# What is read ----------------------------------------------------------------------------------


def test_a_file_is_read_once(desk: Desk) -> None:
    path = desk.file("a", user("x" * 10_000, "u1"))
    assert desk.reads(desk.rows) >= path.stat().st_size
    assert desk.reads(desk.rows) == 0
    desk.begin_anew()
    assert desk.reads(desk.rows) == 0
    assert desk.names() == ["a"]


def test_of_a_file_that_grew_only_the_new_bytes_are_read(desk: Desk) -> None:
    path = desk.file("a", user("x" * 100_000, "u1"), answer("y", "a1", "u1", usage=50))
    desk.rows()
    desk.begin_anew()
    new = b"".join(map(spell, (user("z" * 400, "u2", "a1"), answer("w", "a2", "u2", usage=900))))
    with path.open("ab") as file:
        file.write(new)
    # Beside the new bytes, those that show that it is the same file, twice.
    assert desk.reads(desk.rows) <= len(new) + 2 * 256
    (row,) = desk.rows()
    assert (row.messages, row.context_size and row.context_size.tokens) == (4, 900)


def test_a_line_that_is_not_ended_is_read_when_it_is_whole(desk: Desk) -> None:
    path = desk.file("a", user("x", "u1"))
    line = spell(user("y", "u2", "u1"))
    with path.open("ab") as file:
        file.write(line[:20])
    assert desk.rows()[0].messages == 1
    with path.open("ab") as file:
        file.write(line[20:-1])
    assert desk.rows()[0].messages == 2
    with path.open("ab") as file:
        file.write(b"\n" + spell(user("z", "u3", "u2")))
    assert desk.rows()[0].messages == 3


def test_a_file_that_was_written_anew_is_read_anew(desk: Desk) -> None:
    path = desk.file("a", user("first", "u1"), user("more", "u2", "u1"))
    desk.rows()
    # Longer, in place, and other bytes where it ended before.
    with path.open("r+b") as file:
        file.write(path.read_bytes().replace(b"first", b"other").replace(b"more", b"less"))
        file.seek(0, os.SEEK_END)
        file.write(spell(user("third", "u3", "u2")))
    assert (desk.rows()[0].first_message, desk.rows()[0].messages) == ("other", 3)
    desk.file("a", user("short", "u1"), at=5)
    assert (desk.rows()[0].first_message, desk.rows()[0].messages) == ("short", 1)


def test_a_file_that_was_moved_is_not_read_again(desk: Desk) -> None:
    path = desk.file("a", user("x" * 50_000, "u1"))
    desk.rows()
    moved = path.with_name("b.jsonl")
    path.rename(moved)
    assert desk.reads(desk.rows) == 0
    assert [one.path for one in desk.rows()] == [str(moved)]
    moved.unlink()
    assert desk.rows() == []
    assert desk.catalogue.rows() == []


def test_the_first_page_of_a_cold_list_reads_no_more_than_it_shows(desk: Desk) -> None:
    for number in range(50):
        at = number * 100
        desk.file(f"s{number:02}", said(at, "x" * 20_000, "u1"), at=at)
    page = desk.page(limit=3)
    assert [one.session for one in page.sessions] == ["s49", "s48", "s47"]
    assert page.unread >= 40
    # Of each file the header is looked for in its first 8 KiB.
    assert desk.glances.bytes_read <= 50 * 8_192 + 8 * 21_000
    rest = desk.page(cursor=page.cursor)
    assert [one.session for one in rest.sessions] == [f"s{n:02}" for n in range(46, -1, -1)]
    assert (rest.cursor, rest.unread) == (None, 0)


# What survives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", ["delete", "garbage", "cut", "version", "schema", "folder"])
def test_a_catalogue_that_cannot_be_used_is_made_anew(desk: Desk, harm: str) -> None:
    desk.file("a", user("x", "u1"))
    desk.file("b", user("y", "u1"), at=1)
    before = desk.rows()
    desk.shelf.close()
    path = desk.folder / "cache" / "catalogue.sqlite"
    if harm == "delete":
        path.unlink()
    elif harm == "garbage":
        path.write_bytes(b"this is no database" * 500)
    elif harm == "cut":
        path.write_bytes(path.read_bytes()[:5_000])
    elif harm == "folder":
        for one in path.parent.iterdir():
            one.unlink()
        path.parent.rmdir()
    else:
        with sqlite3.connect(path) as connection:
            wrong = "UPDATE about SET version = 99" if harm == "version" else "DROP TABLE files"
            connection.execute(wrong)
        connection.close()
    desk.begin()
    assert desk.rows() == before
    assert len(desk.catalogue.rows()) == 2
    desk.begin_anew()
    assert desk.reads(desk.rows) == 0


def test_a_catalogue_that_is_taken_away_at_work_is_made_anew(desk: Desk) -> None:
    desk.file("a", user("x", "u1"))
    before = desk.rows()
    (desk.folder / "cache" / "catalogue.sqlite").unlink()
    assert desk.rows() == before
    assert len(desk.catalogue.rows()) == 1
    desk.begin_anew()
    assert desk.reads(desk.rows) == 0


def test_a_second_process_keeps_its_catalogue_in_memory(desk: Desk) -> None:
    desk.file("a", user("x", "u1"))
    other = CatalogueFile(str(desk.folder / "cache" / "catalogue.sqlite"))
    assert (desk.catalogue.path is None, other.path is None) == (False, True)
    other.close()
    assert desk.names() == ["a"]


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    catalogue = CatalogueFile(str(tmp_path / "file" / "catalogue.sqlite"))
    assert catalogue.rows() == []
    catalogue.close()


# Parts -----------------------------------------------------------------------------------------


class Copier:
    """A part that keeps the lines it is given."""

    name = "copier"

    def __init__(self, version: int = 1) -> None:
        self.version = version

    def make(self, connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE IF EXISTS copier_lines")
        connection.execute("CREATE TABLE copier_lines (file INTEGER, at INTEGER, line BLOB)")

    def take(self, connection: sqlite3.Connection, file_id: int, lines: Lines) -> None:
        rows = [(file_id, at, line) for at, line in lines]
        connection.executemany("INSERT INTO copier_lines VALUES (?, ?, ?)", rows)

    def forget(self, connection: sqlite3.Connection, file_id: int) -> None:
        connection.execute("DELETE FROM copier_lines WHERE file = ?", (file_id,))


def feed(desk: Desk) -> bytes:
    """Feed the parts; what they hold of all files together."""
    for seen in desk.shelf.look([str(desk.agent / "sessions" / "--srv--")]):
        known = desk.shelf.read(seen, Stop())
        if known is not None:
            for _ in desk.shelf.feed_parts(known, Stop()):
                pass
    rows = desk.catalogue.connection.execute("SELECT line FROM copier_lines ORDER BY file, at")
    return b"".join(row[0] + b"\n" for row in rows)


def test_a_part_is_given_each_line_once(desk: Desk) -> None:
    path = desk.file("a", user("x", "u1"), answer("y", "a1", "u1"))
    desk.catalogue.attach(Copier())
    assert feed(desk) == feed(desk) == path.read_bytes()
    with path.open("ab") as file:
        file.write(spell(user("z", "u2", "a1")))
    assert feed(desk) == path.read_bytes()
    desk.begin_anew()
    desk.catalogue.attach(Copier())
    assert desk.reads(lambda: feed(desk)) == 0
    desk.file("a", user("rewritten", "u1"), at=5)
    assert feed(desk) == path.read_bytes()
    desk.begin_anew()
    desk.catalogue.attach(Copier(version=2))
    assert desk.catalogue.connection.execute("SELECT * FROM copier_lines").fetchall() == []
    assert feed(desk) == path.read_bytes()
    path.unlink()
    assert feed(desk) == b""


# Families --------------------------------------------------------------------------------------


def test_a_family_stands_where_its_newest_member_does(desk: Desk) -> None:
    root = desk.file("root", said(0, "begin", "u1"), at=0)
    desk.file("other", said(10, "else", "u1"), at=10)
    copied = said(0, "begin", "u1")
    later = {"timestamp": iso_from_ms(START_MS + 5_000)}
    fork = desk.file(
        "fork", copied, said(7, "go on", "u2", "u1"), parentSession=str(root), at=7, **later
    )
    desk.file(
        "deep", copied, said(20, "deeper", "u3", "u1"), parentSession=str(fork), at=20, **later
    )
    desk.file("lost", copied, parentSession="/nowhere/x.jsonl", at=1, **later)
    rows = desk.rows()
    told = [(one.session, one.depth, Path(one.root).stem) for one in rows]
    assert told == [
        ("root", 0, "root"),
        ("fork", 1, "root"),
        ("deep", 2, "root"),
        ("other", 0, "other"),
        ("lost", 0, "lost"),
    ]
    assert rows[1].parent_session == str(root)
    point = rows[1].fork
    assert point is not None
    assert (point.entry, point.preview, point.first_message) == ("u1", "begin", "go on")
    assert rows[1].first_message == "begin"
    assert rows[4].fork is not None
    # Page by page it is the same.
    found, cursor = [], None
    while True:
        page = desk.page(limit=1, cursor=cursor)
        found += [one.session for one in page.sessions]
        if (cursor := page.cursor) is None:
            break
    assert found == [name for name, _, _ in told]


def test_parents_in_a_circle_and_links_are_seen_once(desk: Desk) -> None:
    folder = desk.agent / "sessions" / "--srv--"
    desk.file("a", parentSession=str(folder / "b.jsonl"), at=1)
    desk.file("b", parentSession=str(folder / "a.jsonl"), at=2)
    desk.file("c", parentSession=str(folder / "c.jsonl"), at=3)
    (folder.parent / "linked").symlink_to(folder)
    (folder.parent / "loop").symlink_to(folder.parent / "loop")
    (folder / "loop.jsonl").symlink_to(folder / "loop.jsonl")
    (folder / "again.jsonl").symlink_to(folder / "a.jsonl")
    outside = desk.folder / "outside.jsonl"
    outside.write_bytes((folder / "c.jsonl").read_bytes().replace(b'"c"', b'"d"'))
    (folder / "out.jsonl").symlink_to(outside)
    (folder / "gone.jsonl").symlink_to(desk.folder / "not-there.jsonl")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    assert sorted(desk.names()) == ["a", "b", "c", "d"]
    assert str(outside) in [one.path for one in desk.rows()]


# What is asked for -----------------------------------------------------------------------------


def test_a_custom_folder_is_filtered_by_the_header(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    desk = Desk(tmp_path, {"PI_CODING_AGENT_SESSION_DIR": str(shared)})
    shared.mkdir()
    for name, cwd in (("a", "/srv/one"), ("b", "/srv/two"), ("c", "/srv/one/")):
        path = desk.file(name, cwd=cwd)
        path.rename(shared / path.name)
    assert sorted(desk.names(cwd="/srv/one")) == ["a", "c"]
    assert [(one.path, one.is_shared) for one in desk.page(cwd="/srv/one").folders] == [
        (str(shared), True)
    ]
    assert sorted(desk.names()) == ["a", "b", "c"]
    wished = tmp_path / "wished"
    wished.mkdir()
    desk.file("w").rename(wished / "w.jsonl")
    assert desk.names(cwd="/srv", session_dir=str(wished)) == ["w"]
    assert sorted(desk.names(session_dir=str(wished))) == ["a", "b", "c", "w"]


def test_names_queries_live_ones_and_lost_folders(desk: Desk) -> None:
    info = entry("session_info", "i1", "u1", name="Login fix")
    desk.file("named", user("why", "u1"), info, cwd=str(desk.folder))
    gone = str(desk.folder / "gone")
    desk.file("plain", user("login does not work", "u1"), cwd=gone, at=-60 * 60)
    assert desk.names(name="LOGIN") == ["named"]
    assert sorted(desk.names(query="login")) == ["named", "plain"]
    assert desk.names(query="login work") == ["plain"]
    assert desk.names(query="PLAIN") == ["plain"]
    assert desk.names(is_live=True) == ["named"]
    assert desk.names(is_open=True) == desk.names(is_unsaved=True) == []
    assert {one.session: one.cwd_missing for one in desk.rows()} == {"named": False, "plain": True}


# Sizes -----------------------------------------------------------------------------------------


def size_of(desk: Desk) -> tuple[int, str] | None:
    (row,) = desk.rows()
    size = row.context_size
    return None if size is None else (size.tokens, size.source)


def test_the_size_is_that_of_the_place_where_the_file_ends(desk: Desk) -> None:
    first = (user("x" * 40, "u1"), answer("y", "a1", "u1", usage=500))
    desk.file("s", *first, user("z" * 80, "u2", "a1"))
    assert size_of(desk) == (520, "measured")
    # Another branch, from where an answer was measured.
    desk.file("s", *first, answer("w", "a2", "a1", usage=900), user("z" * 80, "u3", "a1"), at=1)
    assert size_of(desk) == (520, "measured")
    # Back at a place of which these lines do not tell: the whole session is asked.
    desk.file("s", *first, answer("w", "a2", "a1", usage=900), user("z" * 80, "u3", "u1"), at=2)
    assert size_of(desk) == (30, "estimated")
    kept = entry("compaction", "c1", "a1", summary="s" * 400, firstKeptEntryId="a1", tokensBefore=9)
    desk.file("s", *first, kept, at=3)
    assert size_of(desk) == (101, "estimated")
    desk.file("s", *first, label("l1", "a1", "u1", "here"), at=4)
    assert size_of(desk) == (500, "measured")


# Trouble ---------------------------------------------------------------------------------------


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def descriptors() -> int:
    # Those of other tests that nobody has let go of yet are not counted.
    gc.collect()
    return len(os.listdir("/dev/fd"))


def test_a_crowd_of_other_files_is_passed_over(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.file("good", user("x", "u1"))
    folder = desk.agent / "sessions" / "--srv--"
    others = [
        b"",
        b"\n\n",
        b"no json\n",
        b'{"a": 1}\n' * 50,
        b"[1, 2]\n",
        b"\x00\xff" * 40,
        b"{" * 900,
    ]
    for number in range(2_000):
        (folder / f"other{number}.jsonl").write_bytes(others[number % len(others)])
    before, base = state(desk.agent), descriptors()
    assert desk.names() == ["good"]
    assert desk.reads(desk.rows) == 0
    assert state(desk.agent) == before
    assert descriptors() == base
    assert caplog.records == []


def test_a_file_that_cannot_be_read_or_vanishes_is_passed_over(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("good", "bad", "odd", "leaving"):
        desk.file(name, user(name, "u1"))
    real = FolderGlances.lines

    def lines(self: FolderGlances, path: str, start: int = 0, stop: int | None = None) -> Any:
        if "bad" in path:
            raise PermissionError(13, "Permission denied")
        if "odd" in path:
            raise RuntimeError("what nobody thought of")
        if "leaving" in path and Path(path).exists():
            Path(path).unlink()
        return real(self, path, start, stop)

    monkeypatch.setattr(FolderGlances, "lines", lines)
    monkeypatch.setattr(Shelf, "parent_of", lambda *_: None)
    base = descriptors()
    assert desk.names() == ["good"]
    assert desk.names() == ["good"]
    monkeypatch.undo()
    # What could not be read is tried again; what went wrong in ways of its own, when it changes.
    assert sorted(desk.names()) == ["bad", "good"]
    age(desk.agent / "sessions" / "--srv--" / "odd.jsonl", 9)
    assert sorted(desk.names()) == ["bad", "good", "odd"]
    assert descriptors() == base


def test_a_list_can_be_given_up_half_way(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        desk.file(f"s{number}", said(number * 100, "x", "u1"), at=number * 100)
    before, base = state(desk.agent), descriptors()
    stop = Stop()
    real = Shelf.read

    def read(self: Shelf, seen: SeenFile, given: Stop) -> Any:
        if "s20" in seen.path:
            stop.set()
        return real(self, seen, given)

    monkeypatch.setattr(Shelf, "read", read)
    with pytest.raises(Stopped):
        desk.lister.page([], Wanted(limit=100), stop)
    assert 10 < len(desk.catalogue.rows()) < 40
    assert (state(desk.agent), descriptors()) == (before, base)
    assert not desk.shelf.is_asked
    assert len(desk.names()) == 40


@dataclass
class Weighed:
    sessions: int
    grown: int
    """Bytes that the process grew by while it listed."""


def weigh(folder: Path) -> Weighed:
    """List an agent dir in a process of its own."""
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from tests.service.test_catalogue import Desk\n"
        "desk = Desk(Path(sys.argv[1]))\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak()\n"
        "print(len(desk.rows()), (peak() - before) * 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    sessions, grown = map(int, done.stdout.split())
    return Weighed(sessions, grown)


@pytest.mark.slow
def test_many_files_and_a_huge_one_stay_small_in_memory(desk: Desk) -> None:
    for number in range(3_000):
        desk.file(f"s{number}", user("x", "u1"), at=number)
    small = weigh(desk.folder)
    assert small.sessions == 3_000
    turn = [user("x" * 30_000, "u", "a"), answer("y" * 30_000, "a", "u", usage=7)]
    lines = b"".join(map(spell, turn))
    with desk.file("huge").open("ab") as file:
        for _ in range(300 * (1 << 20) // len(lines)):
            file.write(lines)
    desk.shelf.close()
    with_huge = weigh(desk.folder)
    assert with_huge.sessions == 3_001
    assert small.grown < 60 << 20
    assert with_huge.grown < 60 << 20


# Percents -------------------------------------------------------------------------------------


def test_the_percent_is_of_the_window_of_the_model_at_the_end(tmp_path: Path) -> None:
    windows = {"demo/one": 1_000, "demo/two": 50_000}
    desk = Desk(tmp_path)
    desk.lister = Lister(
        desk.shelf,
        desk.glances,
        Places(str(desk.agent), str(tmp_path), {}, read_text),
        desk.hand.now_iso,
        lambda model: windows.get(str(model)),
    )

    def percents() -> dict[str, float | None]:
        return {row.session: row.percent for row in desk.rows()}

    one, two = ({"provider": "demo", "model": name} for name in ("one", "two"))
    first, second = answer("y", "a1", "u1", usage=500), answer("y", "a2", "a1", usage=900)
    first["message"] |= one
    second["message"] |= two
    desk.file("a", user("x", "u1"), first)
    desk.file("b", user("x", "u1"), first, second)
    # Of a place that the lines alone do not tell, the whole session does.
    desk.file("c", user("x", "u1"), first, second, user("x" * 40, "u2", "u1"))
    desk.file("d", user("x", "u1"), answer("y", "a1", "u1", usage=500))
    assert percents() == {"a": 50.0, "b": 1.8, "c": None, "d": None}
    windows["demo/one"] = 2_000
    assert percents()["a"] == 25.0
    desk.begin_anew()
    assert [row.percent for row in desk.rows()] == [None] * 4
    desk.shelf.close()
