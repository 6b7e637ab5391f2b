"""Random session files are seen alike by us and by real pi, at every entry."""

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.core.session import Session
from tests.support import random_sessions
from tests.support.pi import Answer, Pi
from tests.support.random_sessions import Made
from tests.support.seen import (
    at,
    inspected,
    open_file,
    prepared,
    prepared_by_pi,
    size_at,
    size_told_by_pi,
    told_by_pi,
)

PLACES: Final = 10
"""Entries of each file at which the whole context is compared."""
KEPT: Final = (200, 2_000, 20_000)


def batches(count: int, size: int) -> list[range]:
    return [range(start, start + size) for start in range(0, count, size)]


def made_files(
    make: Callable[[int], Made], seeds: Iterable[int], folder: Path
) -> Iterable[tuple[Made, Path]]:
    for seed in seeds:
        made = make(seed)
        path = folder / f"{make.__name__}-{seed}.jsonl"
        path.write_bytes(made.data)
        yield made, path


def some_places(made: Made) -> list[str | None]:
    ids = sorted(set(made.ids))
    chosen = random.Random(made.seed).sample(ids, min(PLACES, len(ids)))
    return [*chosen, None]


def check_sizes(pi: Pi, session: Session, path: Path) -> None:
    theirs = [size_told_by_pi(size) for size in pi.sizes(path)]
    assert [size_at(session, size["id"]) for size in theirs] == theirs, path.name
    assert len(theirs) == session.index.count


def check_places(pi: Pi, session: Session, path: Path, places: Iterable[Any]) -> None:
    for place in places:
        ours = at(session, place)
        theirs = pi.at(path, place)
        assert ours == {name: theirs[name] for name in ours}, (path.name, place)


@pytest.mark.parametrize("seeds", batches(200, 20), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_a_random_session_is_seen_as_pi_sees_it(pi: Pi, seeds: range, tmp_path: Path) -> None:
    for made, path in made_files(random_sessions.ordinary, seeds, tmp_path):
        session = open_file(path)
        ours = inspected(session)
        del ours["problems"]
        assert ours == told_by_pi(pi.open(path)), path.name
        check_sizes(pi, session, path)
        places = some_places(made)
        check_places(pi, session, path, places)
        for place, kept in zip(places, KEPT, strict=False):
            theirs = prepared_by_pi(pi.prepare(path, place, keep_recent_tokens=kept))
            assert prepared(session, place, kept) == theirs, (path.name, place, kept)


def does_pi_tell(value: Any) -> bool:
    """Whether an answer, or one of its parts, is neither an error nor what comes of NaN."""
    if not isinstance(value, dict):
        return True
    tokens = value.get("tokens", 0)
    return "error" not in value and isinstance(tokens, int) and not isinstance(tokens, bool)


@pytest.mark.parametrize("seeds", batches(60, 20), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_what_pi_throws_over_does_not_stop_us(pi: Pi, seeds: range, tmp_path: Path) -> None:
    for made, path in made_files(random_sessions.mutated, seeds, tmp_path):
        session = open_file(path)
        ours = inspected(session)
        theirs = told_by_pi(pi.open(path))
        # Sizes may be NaN deep inside a preparation; the tree and the context cannot.
        for name in theirs.keys() - {"prepareCompaction"}:
            assert not does_pi_tell(theirs[name]) or ours[name] == theirs[name], (path.name, name)
        sizes = {size["id"]: size for size in pi.sizes(path)}
        for entry_id, size in sizes.items():
            told = size_at(session, entry_id)
            if does_pi_tell(size) and isinstance(size["usageTokens"], int):
                assert told["tokens"] == size["tokens"], (path.name, entry_id)
        for place in some_places(made):
            told, answer = at(session, place), pi.at(path, place)
            for name in told.keys() & answer.keys():
                assert not does_pi_tell(answer[name]) or told[name] == answer[name], path.name


def without_repeated(data: bytes) -> bytes:
    """A file in which of the lines of one id only the last is left, and no parents in a circle."""
    header, *lines = data.splitlines()
    entries: dict[str, Answer] = {}
    for line in lines:
        entry = json.loads(line)
        # The last line stays where it is.
        entries.pop(entry["id"], None)
        entries[entry["id"]] = entry
    for entry in entries.values():
        if is_below_itself(entry, entries):
            entry["parentId"] = None
    return b"\n".join([header, *(json.dumps(entry).encode() for entry in entries.values()), b""])


def is_below_itself(entry: Answer, entries: dict[str, Answer]) -> bool:
    seen = set()
    parent = entries.get(entry.get("parentId") or "")
    while parent is not None and parent["id"] not in seen:
        if parent is entry:
            return True
        seen.add(parent["id"])
        parent = entries.get(parent.get("parentId") or "")
    return False


@pytest.mark.parametrize("seeds", batches(60, 20), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_of_repeated_ids_the_last_line_counts(pi: Pi, seeds: range, tmp_path: Path) -> None:
    for made, path in made_files(random_sessions.repeated, seeds, tmp_path):
        mended = tmp_path / f"mended-{path.name}"
        mended.write_bytes(without_repeated(made.data))
        session = open_file(path)
        ours = inspected(session)
        kinds = [problem["kind"] for problem in ours.pop("problems")]
        assert ours == told_by_pi(pi.open(mended)), path.name
        assert kinds.count("duplicateId") == len(made.ids) - len(set(made.ids))
        check_sizes(pi, session, mended)
        check_places(pi, session, mended, some_places(made))


def leaf_of(data: bytes) -> str | None:
    """Where the lines of a file lead, one after the other."""
    entries = [json.loads(line) for line in data.splitlines()[1:]]
    ids = {entry["id"] for entry in entries}
    leaf = None
    for entry in entries:
        if entry["type"] != "leaf":
            leaf = entry["id"]
        elif entry["targetId"] is None or entry["targetId"] in ids:
            leaf = entry["targetId"]
    return leaf


@pytest.mark.parametrize("seeds", batches(60, 20), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_a_last_leaf_entry_moves_the_leaf(pi: Pi, seeds: range, tmp_path: Path) -> None:
    for made, path in made_files(random_sessions.leafy, seeds, tmp_path):
        session = open_file(path)
        leaf = leaf_of(made.data)
        ours = inspected(session)
        assert ours["leafId"] == leaf, path.name
        theirs = pi.open(path)
        for name in ("entryCount", "tree", "labels", "name"):
            assert ours[name] == theirs[name], (path.name, name)
        check_sizes(pi, session, path)
        check_places(pi, session, path, [leaf, *some_places(made)])
