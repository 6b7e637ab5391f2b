"""What every store promises (storage/base.py), tried on all of them.

A store that cannot do one of these things says so in the contract, not by being left out here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pisessiond.storage.base import SessionLog, SessionStore, StoredLine
from pisessiond.storage.errors import FileChanged, NoSuchSession
from pisessiond.storage.jsonl import JsonlStore
from pisessiond.storage.memory import MemoryLog, MemoryStore

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}'
A, B, C, D = (b'{"type":"custom","id":"%c"}' % letter for letter in b"abcd")
NAME = "one.jsonl"


@dataclass
class Place:
    """A store, a folder of it, and another program that writes there too."""

    store: SessionStore
    folder: str

    @property
    def path(self) -> str:
        return f"{self.folder}/{NAME}"

    def new(self, *held: bytes) -> SessionLog:
        log = self.store.new(self.path)
        if held:
            log.hold(held)
        return log

    def stored(self, *lines: bytes) -> SessionLog:
        """A log that holds these lines, read once."""
        self.new().append(lines)
        log = self.store.open(self.path)
        lines_of(log)
        return log

    def foreign(self, *lines: bytes) -> None:
        if isinstance(self.store, MemoryStore):
            log = self.store.open(self.path)
            assert isinstance(log, MemoryLog)
            log.add_foreign(lines)
        else:
            with open(self.path, "ab") as file:
                file.write(b"".join(line + b"\n" for line in lines))


@pytest.fixture(params=["jsonl", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    store: SessionStore = JsonlStore() if request.param == "jsonl" else MemoryStore()
    return Place(store, str(tmp_path / "sessions"))


def lines_of(log: SessionLog) -> list[bytes]:
    return [line for run in log.scan() for line in run.lines]


def ours(stored: Sequence[StoredLine]) -> list[tuple[bytes, bool]]:
    return [(item.line, item.is_ours) for item in stored]


def check(log: SessionLog, *lines: bytes) -> None:
    """The log says exactly this, by scanning and by its locators."""
    assert lines_of(log) == list(lines)
    places = [
        (offset, len(line)) for run in log.scan() for offset, line in placed(run.offset, run.lines)
    ]
    assert log.read(places) == list(lines)


def placed(offset: int, lines: Sequence[bytes]) -> list[tuple[int, bytes]]:
    result = []
    for line in lines:
        result.append((offset, line))
        offset += len(line) + 1
    return result


# Held logs


def test_a_new_log_is_nowhere(place: Place) -> None:
    log = place.new(HEADER, A)
    assert log.path == place.path
    assert not log.is_flushed
    assert place.store.list_paths(place.folder) == []
    with pytest.raises(NoSuchSession):
        place.store.open(place.path)


def test_held_lines_are_scanned_and_read(place: Place) -> None:
    log = place.new(HEADER)
    places = log.hold([A, B])
    check(log, HEADER, A, B)
    assert log.read(places) == [A, B]
    assert log.look() == []


def test_the_first_append_stores_what_was_held_first(place: Place) -> None:
    log = place.new(HEADER, A)
    outcome = log.append([B, C])
    assert outcome.written
    assert ours(outcome.lines) == [(B, True), (C, True)]
    assert log.is_flushed
    check(log, HEADER, A, B, C)
    check(place.store.open(place.path), HEADER, A, B, C)
    assert place.store.list_paths(place.folder) == [place.path]


def test_locators_of_held_lines_stay_good_when_they_are_stored(place: Place) -> None:
    log = place.new()
    places = [*log.hold([HEADER]), *log.hold([A, B])]
    places += [item.locator for item in log.append([C]).lines]
    places += [item.locator for item in log.append([D]).lines]
    assert log.read(places) == [HEADER, A, B, C, D]


def test_storing_nothing_more_stores_what_is_held(place: Place) -> None:
    log = place.new(HEADER)
    outcome = log.append([])
    assert outcome.written
    assert outcome.lines == []
    check(place.store.open(place.path), HEADER)


# Stored logs


def test_appended_lines_come_behind_all_others(place: Place) -> None:
    log = place.stored(HEADER, A)
    for line in (B, C):
        outcome = log.append([line])
        assert outcome.written
        assert ours(outcome.lines) == [(line, True)]
        assert log.read([outcome.lines[0].locator]) == [line]
    check(log, HEADER, A, B, C)
    assert log.look() == []


def test_appending_nothing_changes_nothing(place: Place) -> None:
    log = place.stored(HEADER, A)
    outcome = log.append([])
    assert outcome.written
    assert outcome.lines == []
    check(log, HEADER, A)


def test_lines_are_read_in_the_order_asked_for(place: Place) -> None:
    log = place.stored(HEADER, A, B)
    places = [item.locator for item in log.append([C, D]).lines]
    assert log.read([places[1], places[0], places[1]]) == [D, C, D]
    assert log.read([]) == []


def test_a_place_behind_the_end_gives_nothing(place: Place) -> None:
    assert place.stored(HEADER).read([(10_000, 5)]) == [b""]


def test_a_closed_log_can_still_be_used(place: Place) -> None:
    log = place.stored(HEADER)
    (item,) = log.append([A]).lines
    log.close()
    assert log.read([item.locator]) == [A]
    log.close()
    assert log.append([B]).written
    check(log, HEADER, A, B)


def test_only_what_stands_directly_in_a_folder_is_listed(place: Place) -> None:
    place.new().append([HEADER])
    place.store.new(f"{place.folder}/deeper/two.jsonl").append([HEADER])
    assert place.store.list_paths(place.folder) == [place.path]
    assert place.store.list_paths(f"{place.folder}/nowhere") == []


def test_nothing_is_opened_where_nothing_is(place: Place) -> None:
    with pytest.raises(NoSuchSession):
        place.store.open(f"{place.folder}/nothing.jsonl")


# Another writer


def test_foreign_lines_are_seen_once(place: Place) -> None:
    log = place.stored(HEADER)
    place.foreign(A, B)
    seen = log.look()
    assert ours(seen) == [(A, False), (B, False)]
    assert log.read([item.locator for item in seen]) == [A, B]
    assert log.look() == []


def test_foreign_lines_come_first_and_keep_ours_from_being_written(place: Place) -> None:
    log = place.stored(HEADER)
    place.foreign(A)
    outcome = log.append([B])
    assert not outcome.written
    assert ours(outcome.lines) == [(A, False)]
    check(log, HEADER, A)
    assert log.append([B]).written
    check(log, HEADER, A, B)


def test_scanning_takes_note_of_foreign_lines(place: Place) -> None:
    log = place.stored(HEADER)
    place.foreign(A)
    check(log, HEADER, A)
    assert log.look() == []
    assert log.append([B]).written


# Rewriting


def test_rewriting_replaces_everything(place: Place) -> None:
    log = place.stored(HEADER, A, B)
    log.rewrite([HEADER, C])
    check(log, HEADER, C)
    assert log.look() == []
    assert ours(log.append([D]).lines) == [(D, True)]
    check(place.store.open(place.path), HEADER, C, D)


def test_foreign_lines_are_never_rewritten_away(place: Place) -> None:
    log = place.stored(HEADER, A)
    place.foreign(B)
    with pytest.raises(FileChanged):
        log.rewrite([HEADER, C])
    check(log, HEADER, A, B)


# Any order of all that

LINES = st.lists(st.binary(max_size=6).filter(lambda line: b"\n" not in line and line), max_size=3)
ACTS = st.lists(
    st.tuples(st.sampled_from(["hold", "append", "foreign", "look", "close", "scan"]), LINES),
    max_size=12,
)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(acts=ACTS)
def test_a_store_says_what_a_list_says(
    make_place: Callable[[], Place], acts: list[tuple[str, list[bytes]]]
) -> None:
    place = make_place()
    log = place.new(HEADER)
    expected = [HEADER]
    places = [(0, len(HEADER))]
    unseen: list[bytes] = []

    def see(items: Sequence[StoredLine]) -> None:
        places.extend(item.locator for item in items)
        expected.extend(item.line for item in items)

    for act, lines in acts:
        if act == "hold" and not log.is_flushed:
            places += log.hold(lines)
            expected += lines
        elif act == "append":
            outcome = log.append(lines)
            assert outcome.written == (not unseen)
            assert ours(outcome.lines) == (
                [(line, False) for line in unseen] or [(line, True) for line in lines]
            )
            see(outcome.lines)
            unseen = []
        elif act == "foreign" and log.is_flushed:
            place.foreign(*lines)
            unseen += lines
        elif act == "look":
            seen = log.look()
            assert ours(seen) == [(line, False) for line in unseen]
            see(seen)
            unseen = []
        elif act == "close":
            log.close()
        elif act == "scan":
            expected += unseen
            check(log, *expected)
            places = [
                (offset, len(line))
                for run in log.scan()
                for offset, line in placed(run.offset, run.lines)
            ]
            unseen = []
        if len(places) == len(expected):
            assert log.read(places) == expected


@pytest.fixture(params=["jsonl", "memory"])
def make_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Place]:
    numbers = iter(range(1_000_000))

    def make() -> Place:
        store: SessionStore = JsonlStore() if request.param == "jsonl" else MemoryStore()
        return Place(store, str(tmp_path / str(next(numbers))))

    return make
