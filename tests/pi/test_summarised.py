"""What a compaction or a summarised move would be made from equals real pi's, whole.

Cut point, split turns, kept entries, the previous summary, the messages, the text that a
summarizer reads and the files are compared at many entries under many budgets.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pisessiond.core.session import Session
from tests.support import random_conversations, random_sessions
from tests.support.corpus import SAMPLES, Sample
from tests.support.differences import DIFFERENCES
from tests.support.pi import Answer, Pi
from tests.support.random_sessions import Made
from tests.support.seen import named_by_position, open_file
from tests.support.summarised import (
    branch_by_pi,
    branch_by_us,
    compaction_by_pi,
    compaction_by_us,
    moves_to_ask,
    places_to_ask,
)

Seen = Counter[str]


def check_compactions(
    pi: Pi, session: Session, path: Path, places: list[Answer], seen: Seen
) -> None:
    named = named_by_position(session, places)
    for place, answer in zip(places, pi.prepare_all(path, named), strict=True):
        if answer is not None and "error" in answer:
            seen["thrown"] += 1  # pi stumbles over null content, which we read as none
            continue
        ours = named_by_position(session, compaction_by_us(session, place["id"], place["keep"]))
        assert ours == compaction_by_pi(answer), (path.name, place)
        if answer is None:
            seen["nothing"] += 1
        else:
            seen["split" if answer["isSplitTurn"] else "whole"] += 1
            seen["again"] += answer["previousSummary"] is not None


def check_moves(pi: Pi, session: Session, path: Path, moves: list[Answer], seen: Seen) -> None:
    named = named_by_position(session, moves)
    for move, answer in zip(moves, pi.collect_all(path, named), strict=True):
        if "error" in answer:
            seen["thrown"] += 1
            continue
        ours = branch_by_us(session, move["from"], move["target"], move["budget"])
        assert named_by_position(session, ours) == branch_by_pi(answer), (path.name, move)
        seen["moves"] += bool(answer["messages"])


def check_file(pi: Pi, path: Path, seed: Any, seen: Seen, count: int = 4) -> None:
    session = open_file(path)
    chance = random.Random(f"{seed}")
    check_compactions(pi, session, path, places_to_ask(session, chance, count), seen)
    check_moves(pi, session, path, moves_to_ask(session, chance, count), seen)


OPENED = tuple(sample for sample in SAMPLES if "error" not in sample.pi_open)


def test_the_corpus_would_be_summarised_as_by_pi(pi: Pi, tmp_path: Path) -> None:
    seen: Seen = Counter()
    for sample in OPENED:
        check_file(pi, comparable(sample, tmp_path), sample.name, seen, 10)
    assert min(seen[what] for what in ("split", "whole", "nothing", "again", "moves")) > 50, seen


def comparable(sample: Sample, folder: Path) -> Path:
    """The file, or the one in its place where we read it otherwise than pi on purpose."""
    difference = DIFFERENCES.get(sample.name)
    return sample.path if difference is None else difference.file(sample.path, folder)


def seeds_of(make: Callable[[int], Made], count: int, size: int) -> list[Any]:
    return [
        pytest.param(make, range(at, at + size), id=f"{make.__name__}-{at}")
        for at in range(0, count, size)
    ]


@pytest.mark.parametrize(
    ("make", "seeds"),
    [
        *seeds_of(random_sessions.ordinary, 200, 50),
        *seeds_of(random_conversations.grown, 100, 25),
    ],
)
def test_a_random_session_would_be_summarised_as_by_pi(
    pi: Pi, make: Callable[[int], Made], seeds: range, tmp_path: Path
) -> None:
    seen: Seen = Counter()
    for seed in seeds:
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(make(seed).data)
        check_file(pi, path, seed, seen)
        path.unlink()
    assert min(seen[what] for what in ("split", "whole", "nothing", "again", "moves")) > 5, seen
