"""The entries of compactions and summarised moves are pi's, byte for byte.

pi runs its own `compact` and `generateBranchSummary` with a model that gives known texts, and
appends what comes out. Given that summary, our line is the same bytes. How we put a summary
together from those texts is compared too: only the words between them are our own.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.core.branch_summary import prepare_branch_summary, rows_left
from pisessiond.core.changes import Draft, Summary
from pisessiond.core.compaction import CompactionPreparation, CompactionSettings
from pisessiond.core.errors import NothingToCompact
from pisessiond.core.file_operations import (
    FileOperations,
    compute_file_lists,
    format_file_lists,
)
from pisessiond.core.session import Session
from pisessiond.core.summary_text import (
    assemble_branch_summary,
    assemble_compaction,
    branch_tasks,
    compaction_tasks,
    sum_usage,
    summary_details,
)
from tests.support import random_sessions
from tests.support.pi import Answer, Pi
from tests.support.random_conversations import Conversation, grown
from tests.support.seen import inspected, open_file, told_by_pi
from tests.support.summarised import compaction_by_pi, compaction_by_us

COST: Final = {"input": 0.25, "output": 0.5, "cacheRead": 0, "cacheWrite": 0, "total": 0.75}
COUNTS: Final = {"input": 100, "output": 20, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 127}
ANSWERS: Final[tuple[Answer, ...]] = (
    {"text": "First text. \u2028\U0001f642", "usage": {**COUNTS, "cost": COST}},
    {"text": "Second text.", "usage": {**COUNTS, "input": 7, "reasoning": 5, "cost": COST}},
)
TEXTS: Final = tuple(answer["text"] for answer in ANSWERS)


def given(summary: str, operations: FileOperations, count: int) -> Summary:
    """What our own summarizer stores of a summary that took `count` calls."""
    usage = sum_usage(answer["usage"] for answer in ANSWERS[:count])
    details = summary_details(operations, is_extract=False)
    return Summary(summary, details=details, usage=usage, from_hook=False)


def draft_like(session: Session, line: str) -> Draft:
    """A draft that gives the id and the time that pi gave."""
    entry = json.loads(line)
    return Draft(session, lambda: entry["id"], entry["timestamp"])


def prepared_at(session: Session, entry_id: Any, keep: int) -> CompactionPreparation | None:
    settings = CompactionSettings(keep_recent_tokens=keep)
    try:
        return session.prepare_compaction(session.row_of(entry_id), settings)
    except NothingToCompact:
        return None


def words_between(whole: str, parts: Sequence[str]) -> tuple[str, ...]:
    """What stands in front of, between and behind parts that a text is put together from."""
    between = []
    rest = whole
    for part in parts:
        before, found, rest = rest.partition(part)
        assert found == part
        between.append(before)
    return (*between, rest)


def files(folder: Path, seeds: range) -> list[tuple[int, Path]]:
    made = []
    for seed in seeds:
        path = folder / f"{seed}.jsonl"
        path.write_bytes((grown if seed % 3 else random_sessions.ordinary)(seed).data)
        made.append((seed, path))
    return made


@pytest.mark.parametrize("seeds", [range(at, at + 40) for at in (0, 40, 80)], ids=str)
def test_a_compaction_is_the_line_that_pi_writes(pi: Pi, seeds: range, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed, path in files(tmp_path, seeds):
        session = open_file(path)
        chance = random.Random(seed)
        ids = [session.index.ids[row] for row in session.index.in_order()]
        for place in {session.leaf_id, *chance.sample(ids, min(3, len(ids)))}:
            keep = chance.choice((0, 50, 200, 1_000, 3_000))
            ours = prepared_at(session, place, keep)
            theirs = pi.compact_at(path, place, keep, ANSWERS)
            if ours is None or theirs is None:
                assert (ours, theirs) == (None, None), (path.name, place, keep)
                continue
            draft = draft_like(session, theirs["line"])
            draft.move(place)
            count = len(theirs["asked"])
            new = draft.compact(ours, given(theirs["summary"], ours.file_operations, count))
            assert new.line.decode() == theirs["line"], (path.name, place, keep)
            check_put_together(ours, theirs, seen)
    assert min(seen.values()) > 2, seen
    assert len(seen) == 5


def check_put_together(ours: CompactionPreparation, theirs: Answer, seen: Counter[str]) -> None:
    """The same texts for the same questions, in the same places of the summary."""
    tasks = compaction_tasks(ours)
    asked = theirs["asked"]
    assert len(tasks) == len(asked)
    if ours.previous_summary and tasks[0].kind == "history":
        assert ours.previous_summary in asked[0]
    texts = TEXTS[: len(tasks)]
    lists = format_file_lists(compute_file_lists(ours.file_operations))
    parts: Sequence[str] = (*texts, lists) if lists else texts
    if tasks[0].kind == "turnPrefix" and ours.previous_summary:
        # Without new history the previous summary stays as it is.
        parts = (ours.previous_summary, *parts)
    mine = words_between(assemble_compaction(ours, texts), parts)
    pis = words_between(theirs["summary"], parts)
    assert [bool(words) for words in mine] == [bool(words) for words in pis]
    assert [words.count("\n") for words in mine] == [words.count("\n") for words in pis]
    seen[" ".join(task.kind for task in tasks)] += 1
    seen["previous" if ours.previous_summary else "first"] += 1


@pytest.mark.parametrize("seeds", [range(at, at + 40) for at in (0, 40, 80)], ids=str)
def test_a_branch_summary_is_the_line_that_pi_writes(pi: Pi, seeds: range, tmp_path: Path) -> None:
    written = 0
    for seed, path in files(tmp_path, seeds):
        session = open_file(path)
        chance = random.Random(seed)
        ids = [session.index.ids[row] for row in session.index.in_order()]
        for _ in range(4):
            start, target = chance.choice([session.leaf_id, *ids]), chance.choice(ids)
            budget = chance.choice(((128_000, 16_384), (4_000, 2_000), (300, 10)))
            new_leaf = chance.choice((target, None))
            written += check_move(pi, session, path, (start, target, new_leaf), budget)
    assert written > 30


def check_move(
    pi: Pi, session: Session, path: Path, move: tuple[Any, Any, Any], budget: tuple[int, int]
) -> bool:
    """Whether the branch that this move leaves has anything to be summarised."""
    start, target, new_leaf = move
    window, reserve = budget
    left = rows_left(session.index, session.row_of(start), session.row_of(target))
    prepared = prepare_branch_summary(session, left, window - reserve)
    theirs = pi.move_with_summary(path, *move, ANSWERS, window=window, reserve=reserve)
    if theirs is not None and "error" in theirs:
        return False  # pi stumbles over null content, which we read as none
    tasks = branch_tasks(prepared, reserve)
    if theirs is None or not theirs["asked"]:
        # Where nothing on the branch says anything, pi stores a sentence that says so.
        assert tasks == ()
        return False
    assert len(tasks) == 1
    lists = format_file_lists(compute_file_lists(prepared.file_operations))
    parts = (TEXTS[0], lists) if lists else (TEXTS[0],)
    mine = words_between(assemble_branch_summary(prepared, TEXTS[:1]), parts)
    pis = words_between(theirs["summary"], parts)
    assert [bool(words) for words in mine] == [bool(words) for words in pis]
    draft = draft_like(session, theirs["line"])
    draft.move(new_leaf)
    summary = given(theirs["summary"], prepared.file_operations, 1)
    line = draft.summarise_branch(summary, start).line
    assert line.decode() == theirs["line"], (path.name, start, target)
    return True


@pytest.mark.parametrize("seeds", [range(at, at + 15) for at in (0, 15, 30, 45)], ids=str)
def test_compactions_in_a_row_by_us_and_by_pi_go_on_alike(
    pi: Pi, seeds: range, tmp_path: Path
) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        conversation = Conversation(seed)
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(conversation.data())
        chance = random.Random(seed)
        before = ""
        for _ in range(5):
            grow(conversation, path, chance.choice((1, 2, 5)))
            who = chance.choice(("us", "pi"))
            if compacted(pi, path, conversation, who, chance.choice((0, 50, 400, 2_000))):
                seen[f"{before}{who}"] += 1
                before = f"{who}, then "
                check_seen_alike(pi, path)
    assert len(seen) == 6
    assert min(seen.values()) > 2, seen


def grow(conversation: Conversation, path: Path, turns: int) -> None:
    start = len(conversation.lines)
    for _ in range(turns):
        conversation.turn()
        if conversation.is_likely(0.3):
            conversation.note()
    with path.open("ab") as file:
        file.write(conversation.data(start))


def compacted(pi: Pi, path: Path, conversation: Conversation, who: str, keep: int) -> bool:
    """Let one of the two append a compaction to the file; whether there was one to append."""
    session = open_file(path)
    if who == "us":
        prepared = prepared_at(session, session.leaf_id, keep)
        if prepared is None:
            return False
        texts = TEXTS[: len(compaction_tasks(prepared))]
        summary = assemble_compaction(prepared, texts)
        entry_id = f"{len(conversation.lines):08x}"
        draft = Draft(session, lambda: entry_id, conversation.iso())
        told = given(summary, prepared.file_operations, len(texts))
        line = draft.compact(prepared, told).line
        with path.open("ab") as file:
            file.write(line + b"\n")
    else:
        theirs = pi.compact_at(path, session.leaf_id, keep, ANSWERS, in_place=True)
        if theirs is None:
            return False
        line = theirs["line"].encode()
    conversation.go_on_from(line)
    return True


def check_seen_alike(pi: Pi, path: Path) -> None:
    """Both see the same session, and would compact it alike once more."""
    session = open_file(path)
    ours = inspected(session)
    assert ours.pop("problems") == []
    assert ours == told_by_pi(pi.open(path)), path.name
    ids = [session.index.ids[row] for row in session.index.in_order()]
    places: list[Answer] = [{"id": entry, "keep": 100} for entry in ids[-3:]]
    for place, theirs in zip(places, pi.prepare_all(path, places), strict=True):
        told = compaction_by_us(session, place["id"], place["keep"])
        assert told == compaction_by_pi(theirs), (path.name, place)
