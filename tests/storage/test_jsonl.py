"""What only a file can do to a store: broken lines, faults, and other programs at any moment."""

import errno
import gc
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pisessiond.storage.errors import (
    Degraded,
    FileChanged,
    NoSuchSession,
    NotSynced,
    NotWritable,
    SessionFileExists,
    StoreError,
    Unreadable,
)
from pisessiond.storage.jsonl import JsonlLog, JsonlStore
from pisessiond.storage.jsonl_following import TORN_SECONDS, is_torn
from pisessiond.storage.unsynced import UnsyncedLines
from tests.support.files import FaultyFiles

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}'
A, B, C = (b'{"type":"custom","id":"%c"}' % letter for letter in b"abc")


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "one.jsonl"


def opened(path: Path, files: FaultyFiles, data: bytes | None = None) -> JsonlLog:
    """A log that was read once."""
    if data is not None:
        path.write_bytes(data)
    log = JsonlStore(files).open(str(path))
    scanned(log)
    return log


def new(path: Path, files: FaultyFiles, *held: bytes) -> JsonlLog:
    log = JsonlStore(files).new(str(path))
    log.hold(held)
    return log


def scanned(log: JsonlLog) -> list[tuple[int, bytes]]:
    found = []
    for run in log.scan():
        offset = run.offset
        for line in run.lines:
            found.append((offset, line))
            offset += len(line) + 1
    return found


def joined(*lines: bytes) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Reading


def check_scan(path: Path, files: FaultyFiles, data: bytes, *lines: bytes) -> None:
    """Reading gives these lines where they are, and leaves no trace."""
    path.write_bytes(data)
    os.utime(path, ns=(1_000_000_000, 2_000_000_000))
    log = JsonlStore(files).open(str(path))
    found = scanned(log)
    assert [line for _, line in found] == list(lines)
    assert all(data[at : at + len(line)] == line for at, line in found)
    assert log.read([(at, len(line)) for at, line in found]) == list(lines)
    assert log.look() == []
    assert path.read_bytes() == data
    assert path.stat().st_mtime_ns == 2_000_000_000
    assert os.listdir(path.parent) == [path.name]


def test_a_last_line_needs_no_line_feed(path: Path, files: FaultyFiles) -> None:
    check_scan(path, files, HEADER + b"\n" + A, HEADER, A)


def test_a_torn_last_line_is_a_line(path: Path, files: FaultyFiles) -> None:
    check_scan(path, files, HEADER + b"\n" + A[:9], HEADER, A[:9])


def test_carriage_returns_stay_with_their_line(path: Path, files: FaultyFiles) -> None:
    check_scan(path, files, HEADER + b"\r\n" + A + b"\r\n", HEADER + b"\r", A + b"\r")


def test_only_line_feeds_end_lines(path: Path, files: FaultyFiles) -> None:
    odd = "a\u2028b\u2029c\u0085d\ve\ff\rg".encode()
    check_scan(path, files, odd + b"\n\n" + b"\xff\xfe\x00", odd, b"", b"\xff\xfe\x00")


def test_lines_longer_than_a_read_are_whole(path: Path, files: FaultyFiles) -> None:
    long = b"x" * (3 << 20)
    check_scan(path, files, joined(HEADER, long, A), HEADER, long, A)


def test_short_reads_are_continued(path: Path, files: FaultyFiles) -> None:
    for _ in range(3):
        files.instead("pread", lambda fd, length, at: os.pread(fd, min(length, 7), at))
    log = opened(path, files, joined(HEADER, A))
    assert [line for _, line in scanned(log)] == [HEADER, A]
    files.instead("pread", lambda fd, length, at: os.pread(fd, 3, at))
    assert log.read([(0, len(HEADER))]) == [HEADER]


def test_a_file_that_shrinks_under_a_reader_gives_what_is_there(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, joined(HEADER, A))
    os.truncate(path, 10)
    assert log.read([(0, len(HEADER)), (len(HEADER) + 1, len(A))]) == [HEADER[:10], b""]


def test_what_cannot_be_read_is_said(path: Path, files: FaultyFiles) -> None:
    path.write_bytes(joined(HEADER))
    files.fail("stat", errno.EACCES)
    with pytest.raises(Unreadable):
        JsonlStore(files).open(str(path))
    log = JsonlStore(files).open(str(path))
    files.fail("open_read", errno.EACCES)
    with pytest.raises(Unreadable):
        scanned(log)
    files.fail("pread", errno.EIO)
    with pytest.raises(Unreadable):
        scanned(log)
    scanned(log)
    files.fail("pread", errno.EIO)
    with pytest.raises(Unreadable):
        log.read([(0, 5)])
    add(path, joined(A))
    files.fail("pread", errno.EIO)
    with pytest.raises(Unreadable):
        log.look()
    assert [item.line for item in log.look()] == [A], "what could not be read comes when it can"
    path.unlink()
    log.close()
    with pytest.raises(NoSuchSession):
        scanned(log)


def test_a_folder_is_no_session(path: Path, files: FaultyFiles) -> None:
    path.mkdir()
    with pytest.raises(StoreError):
        scanned(JsonlStore(files).open(str(path)))


# Making


def test_a_new_file_is_private_and_its_folders_are_made(tmp_path: Path, files: FaultyFiles) -> None:
    path = tmp_path / "a" / "b" / "one.jsonl"
    new(path, files, HEADER).append([A])
    assert path.read_bytes() == joined(HEADER, A)
    assert mode_of(path) == 0o600
    assert mode_of(path.parent) == 0o755


def test_a_new_file_costs_one_write_and_its_folder_is_synced(
    path: Path, files: FaultyFiles
) -> None:
    new(path, files, HEADER, A).append([B])
    assert files.calls["write"] == files.calls["sync_data"] == files.calls["sync"] == 1


def test_what_is_there_is_never_overwritten(path: Path, files: FaultyFiles) -> None:
    log = new(path, files, HEADER)
    path.write_bytes(b"mine")
    with pytest.raises(SessionFileExists):
        log.append([A])
    assert path.read_bytes() == b"mine"
    assert [line for _, line in scanned(log)] == [HEADER]
    assert not log.is_flushed


def test_neither_is_a_link_that_leads_nowhere(path: Path, files: FaultyFiles) -> None:
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(SessionFileExists):
        new(path, files, HEADER).append([A])
    assert not (path.parent / "elsewhere").exists()


@pytest.mark.parametrize(
    ("call", "error", "kind"),
    [
        ("make_folders", errno.EACCES, NotWritable),
        ("make_folders", errno.EROFS, NotWritable),
        ("make_folders", errno.ENOSPC, Degraded),
        ("open_write", errno.EACCES, NotWritable),
        ("open_write", errno.EMFILE, Degraded),
        ("write", errno.ENOSPC, Degraded),
        ("sync_data", errno.EIO, Degraded),
        ("fstat", errno.EIO, Degraded),
        ("sync", errno.EIO, Degraded),
    ],
)
def test_a_file_that_could_not_be_made_can_be_made_later(
    path: Path, files: FaultyFiles, call: str, error: int, kind: type[StoreError]
) -> None:
    log = new(path, files, HEADER, A)
    files.fail(call, error)
    with pytest.raises(kind):
        log.append([B])
    assert not path.exists()
    assert not log.is_flushed
    assert [line for _, line in scanned(log)] == [HEADER, A]
    assert log.append([B]).written
    assert path.read_bytes() == joined(HEADER, A, B)


def test_a_file_made_by_halves_is_taken_away_again(path: Path, files: FaultyFiles) -> None:
    log = new(path, files, HEADER, A)
    files.write_only(20)
    with pytest.raises(Degraded):
        log.append([B])
    assert not path.exists()
    assert log.append([B]).written
    assert path.read_bytes() == joined(HEADER, A, B)


# The file without a byte


def test_an_empty_file_is_filled(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, b"")
    path.chmod(0o640)
    inode = path.stat().st_ino
    assert not log.is_flushed
    log.hold([HEADER])
    assert path.read_bytes() == b""
    assert log.append([A]).written
    assert path.read_bytes() == joined(HEADER, A)
    assert (path.stat().st_ino, mode_of(path)) == (inode, 0o640)
    assert log.append([B]).written
    assert path.read_bytes() == joined(HEADER, A, B)


def test_an_empty_file_is_empty_again_after_a_fault(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, b"")
    log.hold([HEADER])
    files.write_only(20)
    with pytest.raises(Degraded):
        log.append([A])
    assert path.read_bytes() == b""
    assert log.append([A]).written
    assert path.read_bytes() == joined(HEADER, A)


def test_an_empty_file_that_another_program_filled_is_theirs(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, b"")
    log.hold([HEADER])
    add(path, joined(HEADER, B))
    with pytest.raises(FileChanged):
        log.append([A])
    assert path.read_bytes() == joined(HEADER, B)
    assert log.is_flushed
    assert [line for _, line in scanned(log)] == [HEADER, B]
    assert log.append([C]).written
    assert path.read_bytes() == joined(HEADER, B, C)


def test_an_empty_file_that_another_program_filled_is_seen_while_only_a_header_is_held(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, b"")
    log.hold([HEADER])
    assert log.look() == []
    add(path, joined(HEADER, B))
    with pytest.raises(FileChanged):
        log.look()
    assert [line for _, line in scanned(log)] == [HEADER, B]


def test_what_is_held_for_an_empty_file_is_not_given_up_by_a_look(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, b"")
    log.hold([HEADER, A])
    add(path, joined(HEADER, B))
    assert log.look() == []
    assert [line for _, line in scanned(log)] == [HEADER, A]


def test_an_empty_file_that_was_deleted_is_made(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, b"")
    log.hold([HEADER])
    path.unlink()
    assert log.append([A]).written
    assert path.read_bytes() == joined(HEADER, A)


# Appending


def test_an_append_is_one_write_and_one_sync(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, joined(HEADER))
    log.append([A, B, C])
    assert path.read_bytes() == joined(HEADER, A, B, C)
    assert files.calls["write"] == files.calls["sync_data"] == 1


@pytest.mark.parametrize("last", [A, A[:9]], ids=["whole", "torn"])
def test_a_line_without_line_feed_is_ended_first(
    path: Path, files: FaultyFiles, last: bytes
) -> None:
    log = opened(path, files, HEADER + b"\n" + last)
    (item,) = log.append([B]).lines
    assert item.is_ours
    assert path.read_bytes() == joined(HEADER, last, B)
    assert log.read([item.locator]) == [B]
    assert log.look() == []
    assert log.append([C]).written
    assert path.read_bytes() == joined(HEADER, last, B, C)


@pytest.mark.parametrize("last", [A, A[:9]], ids=["whole", "torn"])
def test_another_writer_may_end_that_line(path: Path, files: FaultyFiles, last: bytes) -> None:
    log = opened(path, files, HEADER + b"\n" + last)
    add(path, b"\n" + B + b"\n")
    assert [item.line for item in log.look()] == [B]
    assert log.append([C]).written
    assert path.read_bytes() == joined(HEADER, last, B, C)


def test_a_line_that_goes_on_where_it_seemed_to_end_is_another_line(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, HEADER + b"\n" + A[:9])
    add(path, A[9:] + b"\n")
    with pytest.raises(FileChanged):
        log.look()
    assert [line for _, line in scanned(log)] == [HEADER, A]


def test_half_a_foreign_line_waits_for_its_end(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, joined(HEADER))
    add(path, A + b"\n" + B[:9])
    assert [item.line for item in log.look()] == [A]
    assert log.look() == []
    add(path, B[9:] + b"\n")
    assert [item.line for item in log.look()] == [B]
    assert log.append([C]).written
    assert path.read_bytes() == joined(HEADER, A, B, C)


@pytest.mark.parametrize("last", [A, A[:9]], ids=["whole", "torn"])
@pytest.mark.parametrize("looked", [False, True])
def test_a_foreign_line_without_line_feed_is_taken_in_before_we_write_behind_it(
    path: Path, files: FaultyFiles, last: bytes, looked: bool
) -> None:
    log = opened(path, files, joined(HEADER))
    add(path, last)
    if looked:
        assert log.look() == []
    outcome = log.append([B])
    assert not outcome.written
    assert [(item.line, item.is_ours) for item in outcome.lines] == [(last, False)]
    assert path.read_bytes() == HEADER + b"\n" + last
    assert log.read([outcome.lines[0].locator]) == [last]
    assert log.append([B]).written
    assert path.read_bytes() == joined(HEADER, last, B)


def test_a_writer_that_comes_between_look_and_write_keeps_its_place(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, joined(HEADER))
    files.before("write", lambda: add(path, joined(A)))
    outcome = log.append([B, C])
    assert outcome.written
    assert [(i.line, i.is_ours) for i in outcome.lines] == [(A, False), (B, True), (C, True)]
    assert path.read_bytes() == joined(HEADER, A, B, C)
    assert log.read([item.locator for item in outcome.lines]) == [A, B, C]
    assert log.look() == []


def test_a_line_of_another_writer_that_reads_as_ours_is_theirs(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, HEADER)
    files.before("write", lambda: add(path, b"\n" + joined(A)))
    outcome = log.append([A])
    assert [(i.line, i.is_ours) for i in outcome.lines if i.line] == [(A, False), (A, True)]


def test_a_writer_that_comes_between_write_and_answer_is_seen(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, HEADER + b"\n" + A)
    files.before("sync_data", lambda: add(path, joined(C)))
    outcome = log.append([B])
    assert [(i.line, i.is_ours) for i in outcome.lines] == [(B, True), (C, False)]
    assert path.read_bytes() == joined(HEADER, A, B, C)
    assert log.read([item.locator for item in outcome.lines]) == [B, C]


# What another program does to the file


def replace(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def rewrite_in_place(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"custom", b"CUSTOM"))
    os.utime(path, ns=(5, 5))


def rewrite_longer(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"custom", b"custom" * 20) + joined(C))


CHANGES: list[Callable[[Path], None]] = [
    Path.unlink,
    replace,
    rewrite_in_place,
    rewrite_longer,
    lambda path: os.truncate(path, 30),
    lambda path: os.truncate(path, 0),
]
NAMES = ["gone", "replaced", "rewritten", "longer", "cut", "emptied"]


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
@pytest.mark.parametrize("act", ["look", "append", "rewrite"])
def test_a_changed_file_is_told_and_nothing_is_written(
    path: Path, files: FaultyFiles, change: Callable[[Path], None], act: str
) -> None:
    log = opened(path, files, joined(HEADER, A))
    change(path)
    now = path.read_bytes() if path.exists() else None
    acts: dict[str, Callable[[], object]] = {
        "look": log.look,
        "append": lambda: log.append([B]),
        "rewrite": lambda: log.rewrite([HEADER]),
    }
    with pytest.raises(FileChanged):
        acts[act]()
    assert (path.read_bytes() if path.exists() else None) == now


@pytest.mark.parametrize("end", [b"\n", b""], ids=["ended", "open"])
def test_a_rewrite_is_told_from_an_append_whatever_was_taken_in_before(
    path: Path, files: FaultyFiles, end: bytes
) -> None:
    long = A.replace(b"custom", b"custom" * 90_000)
    log = opened(path, files, joined(HEADER, long) + A + end)
    log.append([B])
    add(path, joined(B))
    assert [item.line for item in log.look()] == [B]
    log.append([C])
    add(path, joined(C, A, long))
    assert [item.line for item in log.look()] == [C, A, long]
    before = path.read_bytes()
    path.write_bytes(before.replace(B, B + b" ", 1) + joined(A))
    with pytest.raises(FileChanged):
        log.look()
    path.write_bytes(before + joined(A))
    assert [item.line for item in log.look()] == [A]


# Faults


def fail_at_write(files: FaultyFiles) -> None:
    files.fail("write", errno.ENOSPC)


def fail_at_half(files: FaultyFiles) -> None:
    files.write_only(11)


def fail_at_sync(files: FaultyFiles) -> None:
    files.fail("sync_data", errno.EIO)


ENDS = pytest.mark.parametrize("end", [b"\n", b""], ids=["ended", "open"])


@ENDS
def test_a_refused_write_leaves_the_file_as_it_was(
    path: Path, files: FaultyFiles, end: bytes
) -> None:
    log = opened(path, files, HEADER + b"\n" + A + end)
    fail_at_write(files)
    with pytest.raises(Degraded):
        log.append([B, C])
    assert path.read_bytes() == HEADER + b"\n" + A + end
    assert log.look() == []
    (item,) = log.append([B]).lines
    assert path.read_bytes() == joined(HEADER, A, B)
    assert log.read([item.locator]) == [B]


def test_a_write_that_took_nothing_but_gave_a_new_time_is_no_rewriting(
    path: Path, files: FaultyFiles
) -> None:
    # So does a full disk on Linux, which stamps the file before it looks for room.
    log = opened(path, files, joined(HEADER))

    def write(descriptor: int, data: bytes) -> int:
        os.utime(path, ns=(5, 5))
        raise OSError(errno.ENOSPC, "full")

    files.instead("write", write)
    with pytest.raises(Degraded):
        log.append([A])
    assert log.look() == []
    assert log.append([A]).written


BLANK = b" " * len(B)
CUTS = [
    (1, [b""]),
    (11, [B[:10]]),
    (len(B), [B[:-1]]),
    (len(B) + 1, [BLANK]),
    (len(B) + 8, [BLANK, C[:6]]),
    (len(B) + 1 + len(C), [BLANK, C[:-1]]),
]


@ENDS
@pytest.mark.parametrize(("count", "left"), CUTS, ids=[str(count) for count, _ in CUTS])
def test_a_write_cut_short_leaves_no_entry(
    path: Path, files: FaultyFiles, end: bytes, count: int, left: list[bytes]
) -> None:
    log = opened(path, files, HEADER + b"\n" + A + end)
    files.write_only(count if end else count + 1)
    with pytest.raises(Degraded):
        log.append([B, C])
    assert path.read_bytes() == joined(HEADER, A, *left)
    assert [(item.line, item.is_left) for item in log.look()] == [(line, True) for line in left]
    (item,) = log.append([B]).lines
    assert path.read_bytes() == joined(HEADER, A, *left, B)
    assert log.read([item.locator]) == [B]
    assert files.calls["truncate"] == 0


def test_the_line_feed_that_ends_an_open_line_may_be_all_that_was_taken(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, HEADER + b"\n" + A)
    files.write_only(1)
    with pytest.raises(Degraded):
        log.append([B])
    assert path.read_bytes() == joined(HEADER, A)
    assert log.look() == []
    assert log.append([B]).written
    assert path.read_bytes() == joined(HEADER, A, B)


def test_a_fragment_that_cannot_be_ended_is_cut_off(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, joined(HEADER))
    files.write_only(11)
    files.fail("pwrite", errno.ENOSPC)
    with pytest.raises(Degraded):
        log.append([A])
    assert path.read_bytes() == joined(HEADER)
    assert log.look() == []
    assert log.append([A]).written
    assert path.read_bytes() == joined(HEADER, A)


def test_but_never_when_another_program_wrote_behind_it(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, joined(HEADER))

    def write(descriptor: int, data: bytes) -> int:
        written = os.write(descriptor, data[:11])
        add(path, joined(C))
        return written

    files.instead("write", write)
    files.fail("pwrite", errno.EIO)
    with pytest.raises(Degraded):
        log.append([B])
    assert path.read_bytes() == joined(HEADER) + B[:11] + joined(C)
    assert files.calls["truncate"] == 0


def test_a_fragment_that_stays_is_ended_by_the_next_write(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, joined(HEADER))
    files.write_only(11)
    files.fail("pwrite", errno.EIO)
    files.fail("truncate", errno.EIO)
    with pytest.raises(Degraded):
        log.append([A])
    outcome = log.append([A])
    assert not outcome.written
    assert [(item.line, item.is_left) for item in outcome.lines] == [(A[:11], True)]
    outcome = log.append([A])
    assert outcome.ended == len(joined(HEADER))
    assert path.read_bytes() == joined(HEADER, A[:11], A)


def test_a_fragment_is_not_ended_in_another_file(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, joined(HEADER))
    files.write_only(11)
    other = joined(HEADER, C, C, C)

    def swap() -> None:
        path.unlink()
        path.write_bytes(other)

    files.before("open_write", swap, skip=1)
    with pytest.raises(Degraded):
        log.append([A])
    assert path.read_bytes() == other


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errno.EACCES, NotWritable),
        (errno.EPERM, NotWritable),
        (errno.EROFS, NotWritable),
        (errno.EMFILE, Degraded),
    ],
)
def test_a_refused_opening_changes_nothing(
    path: Path, files: FaultyFiles, error: int, kind: type[StoreError]
) -> None:
    log = opened(path, files, joined(HEADER))
    files.fail("open_write", error)
    with pytest.raises(kind):
        log.append([A])
    assert path.read_bytes() == joined(HEADER)
    assert log.append([A]).written


@pytest.mark.parametrize("fault", [fail_at_write, fail_at_half])
@ENDS
def test_a_failed_write_costs_another_writer_nothing_that_came_before_it(
    path: Path, files: FaultyFiles, fault: Callable[[FaultyFiles], None], end: bytes
) -> None:
    log = opened(path, files, HEADER + b"\n" + A + end)
    theirs = joined(C) if end else b"\n" + joined(C)

    def come_between() -> None:
        add(path, theirs)

    files.before("open_write", come_between)
    fault(files)
    with pytest.raises(Degraded):
        log.append([B])
    check_theirs(path, log, HEADER, A, C)


def check_theirs(path: Path, log: JsonlLog, *lines: bytes) -> None:
    """The file says these lines and nothing else whole; the last is seen as a foreign one."""
    assert sound(path.read_bytes().split(b"\n")) == list(lines)
    seen = log.look()
    assert [item.line for item in seen if not item.is_left and item.line] == [lines[-1]]
    assert sound([item.line for item in seen]) == [lines[-1]]
    assert log.look() == []
    assert log.append([B]).written
    assert sound(path.read_bytes().split(b"\n")) == [*lines, B]
    assert sound([line for _, line in scanned(log)]) == [*lines, B]


def sound(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if line.strip() and not is_torn(line)]


@ENDS
@pytest.mark.parametrize("count", [1, 2, 11, len(B)])
def test_a_failed_write_costs_another_writer_nothing_that_came_behind_it(
    path: Path, files: FaultyFiles, end: bytes, count: int
) -> None:
    log = opened(path, files, HEADER + b"\n" + A + end)

    def write(descriptor: int, data: bytes) -> int:
        written = os.write(descriptor, data[:count])
        add(path, joined(C))
        return written

    files.instead("write", write)
    with pytest.raises(Degraded):
        log.append([B])
    check_theirs(path, log, HEADER, A, C)


def test_what_is_on_disk_does_not_fail_for_want_of_a_look(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, joined(HEADER))
    files.fail("stat", errno.EIO, skip=1)
    assert log.append([A]).written
    assert log.look() == []
    assert path.read_bytes() == joined(HEADER, A)


def test_an_answer_that_cannot_be_checked_is_still_one_of_the_stores_errors(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, joined(HEADER))
    files.fail("stat", errno.EIO, skip=1)
    files.fail("fstat", errno.EIO)
    with pytest.raises(StoreError):
        log.append([A])
    assert path.read_bytes() == joined(HEADER, A)
    assert [item.line for item in log.look()] == [A]
    files.fail("fstat", errno.EIO)
    with pytest.raises(StoreError):
        scanned(log)


# A sync that failed


@pytest.fixture
def kept(tmp_path: Path) -> UnsyncedLines:
    return UnsyncedLines(str(tmp_path / "unsynced"))


def told(log: JsonlLog) -> str | None:
    return log.refusal


def kept_in(tmp_path: Path) -> list[list[bytes]]:
    """The lines of each copy, without its first, which names the session file."""
    copies = sorted((tmp_path / "unsynced").glob("*"))
    return [copy.read_bytes().splitlines()[1:] for copy in copies]


def test_after_a_failed_sync_nothing_is_written_until_the_file_is_read_anew(
    path: Path, files: FaultyFiles, kept: UnsyncedLines
) -> None:
    path.write_bytes(joined(HEADER))
    log = JsonlStore(files, unsynced=kept).open(str(path))
    scanned(log)
    fail_at_sync(files)
    with pytest.raises(NotSynced) as failure:
        log.append([A])
    assert failure.value.kept is not None
    assert told(log) == str(failure.value)
    assert kept_in(path.parent) == [[A]]
    calls = files.calls.copy()
    for act in (lambda: log.append([B]), lambda: log.rewrite([HEADER, B])):
        with pytest.raises(NotSynced):
            act()
    assert log.look() == []
    assert files.calls == calls, "nothing is asked of the disk again"

    assert [line for _, line in scanned(log)] == [HEADER, A]
    assert told(log) is None
    assert log.append([B]).written
    assert path.read_bytes() == joined(HEADER, A, B)
    assert kept_in(path.parent) == []
    assert log.look() == []


def test_what_may_not_be_on_disk_is_written_once_more_before_anything_else(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, joined(HEADER))
    fail_at_sync(files)
    with pytest.raises(NotSynced):
        log.append([A])
    scanned(log)
    written: list[tuple[bytes, int]] = []

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        written.append((data, offset))
        return os.pwrite(descriptor, data, offset)

    files.instead("pwrite", pwrite)
    log.append([B])
    assert written == [(joined(A), len(joined(HEADER)))]
    log.append([C])
    assert len(written) == 1
    assert path.read_bytes() == joined(HEADER, A, B, C)


def test_a_disk_that_goes_on_failing_keeps_the_file_read_only(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, joined(HEADER))
    files.fail("sync_data", errno.EIO, always=True)
    for _ in range(3):
        with pytest.raises(NotSynced):
            log.append([A])
        assert [line for _, line in scanned(log)] == [HEADER, A]
    files.heal()
    assert log.append([B]).written
    assert path.read_bytes() == joined(HEADER, A, B)


def test_a_fragment_whose_end_may_not_be_on_disk_counts_as_a_failed_sync(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, joined(HEADER))
    files.write_only(11)
    fail_at_sync(files)
    with pytest.raises(NotSynced):
        log.append([A])
    assert log.refusal is not None
    assert path.read_bytes() == joined(HEADER, A[:10])


def test_relaxed_asks_for_no_sync_of_an_append_and_still_for_that_of_a_rewriting(
    tmp_path: Path, files: FaultyFiles
) -> None:
    log = JsonlStore(files, sync="relaxed").new(str(tmp_path / "one.jsonl"))
    log.hold([HEADER])
    log.append([A])
    log.append([B])
    assert files.calls["sync_data"] == files.calls["sync"] == 0
    log.rewrite([HEADER, B])
    assert files.calls["sync"] == 2


# Torn lines


def test_a_torn_line_is_given_time_and_then_ended(path: Path, files: FaultyFiles) -> None:
    waits: list[float] = []
    path.write_bytes(HEADER + b"\n" + A[:9])
    log = JsonlStore(files, sleep=waits.append).open(str(path))
    scanned(log)
    outcome = log.append([B])
    assert sum(waits) == pytest.approx(TORN_SECONDS)
    assert outcome.ended == len(joined(HEADER))
    assert path.read_bytes() == joined(HEADER, A[:9], B)
    assert log.append([C]).ended is None
    assert sum(waits) == pytest.approx(TORN_SECONDS)


def test_a_whole_line_without_line_feed_waits_for_nobody(path: Path, files: FaultyFiles) -> None:
    waits: list[float] = []
    path.write_bytes(HEADER + b"\n" + A)
    log = JsonlStore(files, sleep=waits.append).open(str(path))
    scanned(log)
    assert log.append([B]).ended is None
    assert waits == []
    assert path.read_bytes() == joined(HEADER, A, B)


@pytest.mark.parametrize("rest", [A[9:] + b"\n", A[9:]], ids=["ended", "open"])
def test_a_torn_line_that_goes_on_in_time_is_whole(
    path: Path, files: FaultyFiles, rest: bytes
) -> None:
    path.write_bytes(joined(HEADER))
    log = JsonlStore(files, sleep=lambda _: add(path, rest)).open(str(path))
    scanned(log)
    add(path, A[:9])
    outcome = log.append([B])
    assert not outcome.written
    assert [item.line for item in outcome.lines] == [A]
    outcome = log.append([B])
    assert outcome.ended is None
    assert path.read_bytes() == joined(HEADER, A, B)


def test_half_a_line_that_comes_just_before_ours_is_not_glued_to_it(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, joined(HEADER))
    files.before("write", lambda: add(path, A[:9]))
    with pytest.raises(FileChanged):
        log.append([B])
    lines = [line for _, line in scanned(log)]
    assert lines == [HEADER, A[:9], b" " * (len(B) - 1)]
    add(path, A[9:] + b"\n")
    log.look()
    assert log.append([B]).written
    assert path.read_bytes() == joined(*lines, A[9:], B)


# Rewriting


def test_a_rewritten_file_keeps_its_mode_and_leaves_nothing_else(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, joined(HEADER, A))
    path.chmod(0o640)
    log.rewrite([HEADER, B])
    assert path.read_bytes() == joined(HEADER, B)
    assert mode_of(path) == 0o640
    assert os.listdir(path.parent) == [path.name]
    assert files.calls["sync"] == 2


@pytest.mark.parametrize(
    ("call", "error", "kind"),
    [
        ("open_write", errno.EACCES, NotWritable),
        ("write", errno.ENOSPC, Degraded),
        ("sync", errno.EIO, Degraded),
        ("replace", errno.EROFS, NotWritable),
    ],
)
def test_a_failed_rewriting_changes_nothing(
    path: Path, files: FaultyFiles, call: str, error: int, kind: type[StoreError]
) -> None:
    log = opened(path, files, joined(HEADER, A))
    files.fail(call, error)
    with pytest.raises(kind):
        log.rewrite([HEADER, B])
    assert path.read_bytes() == joined(HEADER, A)
    assert os.listdir(path.parent) == [path.name]
    assert log.append([B]).written
    assert path.read_bytes() == joined(HEADER, A, B)


def test_a_rewriting_writes_on_after_a_short_write(path: Path, files: FaultyFiles) -> None:
    log = opened(path, files, joined(HEADER, A))
    files.write_only(5)
    log.rewrite([HEADER, B])
    assert path.read_bytes() == joined(HEADER, B)


def test_what_another_program_left_of_a_rewriting_is_no_hindrance(
    path: Path, files: FaultyFiles
) -> None:
    log = opened(path, files, joined(HEADER, A))
    left = Path(f"{path}.{os.getpid()}.migrating")
    left.write_bytes(b"from a process of the same number")
    log.rewrite([HEADER, B])
    assert path.read_bytes() == joined(HEADER, B)


# Descriptors


def test_no_descriptor_is_left_open(path: Path, files: FaultyFiles) -> None:
    # What earlier tests left in cycles would be closed in the middle of this one.
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    log = opened(path, files, joined(HEADER))
    log.append([A])
    for fault in (fail_at_write, fail_at_half, fail_at_sync):
        log.look()
        fault(files)
        with pytest.raises((Degraded, NotSynced)):
            log.append([B])
    scanned(log)
    log.close()
    other = new(path.with_name("two.jsonl"), files, HEADER)
    fail_at_write(files)
    with pytest.raises(Degraded):
        other.append([A])
    other.append([A])
    assert len(os.listdir("/proc/self/fd")) == before
