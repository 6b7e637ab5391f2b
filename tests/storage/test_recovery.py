"""Recovery files: what is in them when, who may have them, and when they go."""

import errno
import json
import os
from pathlib import Path

import pytest

from pisessiond.storage.errors import Degraded, FileChanged
from pisessiond.storage.jsonl import JsonlStore
from pisessiond.storage.recovery import RecoveringStore, RecoveryFolder
from tests.support.files import FaultyFiles

HEADER = b'{"type":"session","version":3,"id":"s"}'
LINES = [HEADER, b'{"id":"a"}', b'{"id":"b","bytes":"\xff"}']


class Place:
    """A store, and where it keeps what is not stored yet."""

    def __init__(self, folder: Path) -> None:
        self.files = FaultyFiles()
        self.folder = RecoveryFolder(str(folder / "recovery"), self.files)
        self.store = RecoveringStore(JsonlStore(self.files), self.folder)
        self.path = folder / "sessions" / "s.jsonl"
        self._kept = folder / "recovery"

    def kept(self) -> list[Path]:
        return sorted(self._kept.glob("*")) if self._kept.exists() else []

    def held(self) -> list[list[bytes]]:
        """The lines of each recovery file, without the one that names the path."""
        return [one.read_bytes().split(b"\n")[1:-1] for one in self.kept()]

    def killed(self, lines: list[bytes] = LINES) -> Path:
        """The file that a process left which held these lines."""
        log = self.store.new(str(self.path))
        log.hold(lines)
        log.close()
        (file,) = self.kept()
        return file


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def all_lines(log: object) -> list[bytes]:
    return [line for run in log.scan() for line in run.lines]  # type: ignore[attr-defined]


def test_a_header_alone_is_not_kept(place: Place) -> None:
    place.store.new(str(place.path)).hold([HEADER])
    assert place.kept() == []


def test_lines_are_kept_exactly_and_for_their_owner_alone(place: Place) -> None:
    log = place.store.new(str(place.path))
    log.hold([HEADER])
    log.hold(LINES[1:2])
    log.hold(LINES[2:])
    (file,) = place.kept()
    assert place.held() == [LINES]
    assert json.loads(file.read_bytes().split(b"\n")[0]) == {"path": str(place.path)}
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert place.files.calls["sync_data"] == 2


def test_the_file_goes_once_the_session_is_stored(place: Place) -> None:
    log = place.store.new(str(place.path))
    log.hold(LINES[:2])
    done: list[int] = []
    place.files.before("unlink", lambda: done.append(place.files.calls["sync"]))
    log.append(LINES[2:])
    assert place.path.read_bytes() == b"".join(line + b"\n" for line in LINES)
    assert place.kept() == []
    # By then all four new names were synced: both files' and those of the folders they are in.
    assert done == [4]


def test_a_failed_flush_leaves_it(place: Place) -> None:
    log = place.store.new(str(place.path))
    log.hold(LINES[:2])
    place.files.fail("write", errno.ENOSPC)
    with pytest.raises(Degraded):
        log.append(LINES[2:])
    assert place.held() == [LINES[:2]]
    log.append(LINES[2:])
    assert place.kept() == []


@pytest.mark.parametrize("call", ["open_write", "write", "sync_data", "sync"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_what_cannot_be_kept_is_not_held(place: Place, call: str, error: int) -> None:
    log = place.store.new(str(place.path))
    log.hold([HEADER])
    place.files.fail(call, error)
    with pytest.raises(Degraded, match="recovery file"):
        log.hold(LINES[1:2])
    assert all_lines(log) == [HEADER]
    assert place.kept() == []
    log.hold(LINES[1:])
    assert all_lines(log) == LINES == place.held()[0]


@pytest.mark.parametrize("cut", [1, 5, 10])
def test_a_write_cut_short_leaves_nothing_that_counts(place: Place, cut: int) -> None:
    log = place.store.new(str(place.path))
    log.hold(LINES[:2])
    place.files.write_only(cut)
    place.files.fail("write", errno.ENOSPC)
    with pytest.raises(Degraded):
        log.hold(LINES[2:])
    # A kill at this moment: the torn line was never acknowledged.
    (found,) = place.folder.look()
    assert found.lines == LINES[:2]
    log.hold(LINES[2:])
    assert place.held() == [LINES]


# Coming back


def test_a_killed_process_gives_it_back_as_it_was(place: Place) -> None:
    place.killed()
    (log,) = place.store.bring_back()
    assert (log.path, log.is_flushed, log.is_safe) == (str(place.path), False, True)
    assert all_lines(log) == LINES
    log.hold([b'{"id":"c"}'])
    assert place.held() == [[*LINES, b'{"id":"c"}']]
    log.append([b'{"id":"d"}'])
    assert place.path.read_bytes().split(b"\n")[3:] == [b'{"id":"c"}', b'{"id":"d"}', b""]
    assert place.kept() == []


def test_what_one_process_holds_no_other_gets(place: Place) -> None:
    place.killed()
    (log,) = place.store.bring_back()
    assert place.store.bring_back() == []
    assert [one.state for one in place.folder.look()] == ["held"]
    assert not place.folder.drop(place.folder.look()[0].file)
    log.close()
    assert [one.state for one in place.folder.look()] == ["waiting"]
    assert len(place.store.bring_back()) == 1


@pytest.mark.parametrize("keep", [-1, -12, -20])
def test_a_torn_tail_costs_the_torn_line_alone(place: Place, keep: int) -> None:
    file = place.killed()
    os.truncate(file, file.stat().st_size + keep)
    (log,) = place.store.bring_back()
    assert all_lines(log) == LINES[:2]
    log.hold(LINES[2:])
    assert place.held() == [LINES]


@pytest.mark.parametrize("damage", [b"", b"\0" * 50, b"[1]\n{}\n", b'{"path": "here"}\n{}\n'])
def test_a_file_that_says_nothing_is_left_alone(place: Place, damage: bytes) -> None:
    file = place.killed()
    file.write_bytes(damage)
    assert place.store.bring_back() == []
    assert file.read_bytes() == damage
    assert [one.state for one in place.folder.look()] == ["damaged"]


def there(place: Place, content: bytes) -> None:
    place.path.parent.mkdir(exist_ok=True)
    place.path.write_bytes(content)


CONTENT = b"".join(line + b"\n" for line in LINES)


@pytest.mark.parametrize("more", [b"", b'{"id":"c"}\n', b'{"id":"c'])
def test_a_session_that_was_stored_all_the_same_is_not_brought_back(
    place: Place, more: bytes
) -> None:
    place.killed()
    there(place, CONTENT + more)
    assert place.store.bring_back() == []
    assert place.kept() == []
    assert place.path.read_bytes() == CONTENT + more


@pytest.mark.parametrize("length", [0, 1, 30, 50, len(CONTENT) - 1])
@pytest.mark.parametrize("zeros", [0, 40])
def test_a_storing_that_was_cut_short_is_begun_anew(place: Place, length: int, zeros: int) -> None:
    place.killed()
    there(place, CONTENT[:length] + b"\0" * zeros)
    (log,) = place.store.bring_back()
    assert all_lines(log) == LINES
    log.append([b'{"id":"c"}'])
    assert place.path.read_bytes() == CONTENT + b'{"id":"c"}\n'
    assert place.kept() == []


def test_where_another_program_wrote_both_stay(place: Place) -> None:
    file = place.killed()
    there(place, b'{"type":"session","id":"theirs"}\n')
    assert place.store.bring_back() == []
    assert file.exists()
    assert [one.state for one in place.folder.look()] == ["conflict"]
    assert place.path.read_bytes() == b'{"type":"session","id":"theirs"}\n'


def test_an_empty_file_that_another_program_fills_first_keeps_what_was_held(place: Place) -> None:
    there(place, b"")
    log = place.store.open(str(place.path))
    assert list(log.scan()) == []
    log.hold([HEADER])
    log.hold(LINES[1:])
    place.path.write_bytes(b'{"type":"session","id":"theirs"}\n')
    with pytest.raises(FileChanged):
        log.append([b'{"id":"c"}'])
    assert place.held() == [LINES]
    assert [one.state for one in place.folder.look()] == ["conflict"]


def test_a_second_session_at_the_same_path_has_a_file_of_its_own(place: Place) -> None:
    first = place.store.new(str(place.path))
    first.hold(LINES[:2])
    first.close()
    second = place.store.new(str(place.path))
    second.hold([HEADER, b'{"id":"z"}'])
    assert place.held() == [LINES[:2], [HEADER, b'{"id":"z"}']]


def test_every_state_that_a_crash_may_leave_has_what_was_acknowledged(place: Place) -> None:
    """Prompts were acknowledged; an answer was not, and its writing stopped anywhere."""
    kept = place.killed()
    recovery = kept.read_bytes()
    answer = b'{"id":"answer","type":"message"}\n'
    whole = CONTENT + answer
    place.path.parent.mkdir(exist_ok=True)
    states = 0
    for length in range(len(whole) + 1):
        for zeros in {0, len(whole) - length}:
            for tail in (b"", b'{"id":"torn', b"\0" * 20):
                for file in place.kept():
                    file.unlink()
                kept.write_bytes(recovery + tail)
                place.path.write_bytes(whole[:length] + b"\0" * zeros)
                brought = place.store.bring_back()
                if brought:
                    (log,) = brought
                    assert all_lines(log) == LINES
                    log.append([b'{"id":"next"}'])
                    log.close()
                lines = place.path.read_bytes().split(b"\n")
                assert set(LINES) <= set(lines), (length, zeros, tail)
                assert place.kept() == []
                states += 1
    print(f"{states} states after a crash")
    assert states > 500
