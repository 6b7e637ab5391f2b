"""What we write equals what real pi writes for the same operations, but for ids and times."""

import json
import random
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from pisessiond.core.changes import Draft
from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.errors import NothingToCompact
from pisessiond.core.fork import NewId, all_lines, branch_lines
from pisessiond.core.session import Session
from tests.support import random_sessions
from tests.support.corpus import SAMPLES, Sample
from tests.support.operations import ORIGIN, Builder, Op, alike, service, texts_by_pi
from tests.support.pi import NOT_GIVEN, Pi, op, ref
from tests.support.random_operations import operations
from tests.support.seen import at, inspected, open_file, told_by_pi

CWD: Final = "/srv/demo"
USER: Final = {"role": "user", "content": "the end", "timestamp": 1}

CURRENT: Final = tuple(
    sample
    for sample in SAMPLES
    if "error" not in sample.pi_open
    and not sample.oracle["idsRenamedToIndex"]  # new ids at each opening: see the migrations
    and sample.oracle["bytes"]
)


def built_by_us(folder: Path, ops: Sequence[Op], pi: Pi) -> Builder:
    """Runs operations on our service, and has pi open every file that it wrote."""

    async def build() -> Builder:
        async with service(folder) as sessions:
            builder = Builder(sessions, folder / "ours", CWD)
            await builder.run(ops)
            for path in builder.paths:
                if Path(path).exists():
                    # By path: the current one is asked as it stands in memory.
                    held = (await sessions.open(path=path)).session
                    check_reopened(pi, Path(path), at(held, held.leaf_id), held.leaf_id)
            return builder

    return anyio.run(build)


def check_reopened(pi: Pi, path: Path, context: dict[str, Any], leaf: Any) -> None:
    """pi opens a file of ours, and sees what we see when we open it again."""
    theirs = told_by_pi(pi.open(path))
    again = inspected(open_file(path))
    assert again.pop("problems") == []
    assert again == theirs
    if leaf == theirs["leafId"]:
        assert {name: theirs[name] for name in context} == context


def check_same_bytes(pi: Pi, folder: Path, ops: Sequence[Op]) -> Builder:
    built = pi.build(folder / "pi", CWD, ops)
    ours = built_by_us(folder, ops, pi)
    refused = [isinstance(result, dict) for result in built["results"]]
    assert [isinstance(result, dict) for result in ours.results] == refused
    assert alike(ours.texts()) == alike(texts_by_pi(built))
    return ours


def test_every_operation_writes_pis_bytes(pi: Pi, tmp_path: Path) -> None:
    text = [{"type": "text", "text": "naïve \u2028 \U0001f642 \ud83d"}]
    arguments = {"b": 1e-7, "10": 1.0, "2": 5e-6, "a": [-0.0, 1e21, None], "__proto__": "x"}
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": arguments}
    system = {"role": "system", "content": "Be brief.", "sections": {"rules": "None.", "2": "x"}}
    tools = {"toolsAdded": [{"name": "read", "description": "reads", "parameters": {}}]}
    usage = {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 12}
    answer = {"role": "assistant", "content": [*text, call], "provider": "p", "model": "m"}
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": text}
    bash = {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0}
    note = {"role": "custom", "customType": "n", "content": "seen", "display": True}
    ops = [
        op("create", {"id": "made-here"}),
        op("appendModelChange", "demo", "größer"),
        op("appendThinkingLevelChange", "high"),
        op("appendMessage", {**system, **tools, "timestamp": 1}),
        op("appendMessage", {"role": "user", "content": text, "timestamp": 2}),
        op("appendMessage", {**answer, "usage": usage, "stopReason": "stop", "timestamp": 3}),
        op("appendMessage", {**result, "isError": False, "timestamp": 4}),
        op("appendMessage", {**bash, "timestamp": 5}),
        op("appendMessage", {**note, "timestamp": 6}),
        op("appendMessage", {"role": "narrator", "content": None, "timestamp": 7}),
        op("appendUsage", "compaction", "demo", "demo-1", usage, "with a note"),
        op("appendUsage", "compaction", "demo", "demo-1", usage),
        op("appendUsage", "compaction", "demo", "demo-1", usage, ""),
        op("appendCustomEntry", "mark", {"2": 1.0, "b": None}),
        op("appendCustomEntry", "mark", None),
        op("appendCustomEntry", "mark"),
        op("appendSessionInfo", "  two\r\nlines\n"),
        op("appendCustomMessageEntry", "hint", "mind the gap", True, {"n": 1}),
        op("appendCustomMessageEntry", "hint", text, False),
        op("appendContextEdit", ref(5), {"content": "shorter"}),
        op("appendContextEdit", ref(6), None),
        op("appendContextEdit", ref(4), {"content": "a question"}),
        op("appendContextEdit", ref(3), None),
        op("appendLabelChange", ref(4), " padded "),
        op("appendLabelChange", ref(5), "good"),
        op("appendLabelChange", ref(5), NOT_GIVEN),
        op("appendLabelChange", ref(6), ""),
        op("appendLabelChange", ref(8), "kept"),
        op("appendLabelChange", "ffffffff", "nowhere"),
        op("appendCompaction", "told", ref(6), 4321, {"readFiles": ["ü"]}, False),
        op("appendCompaction", "told again", ref(8), 12, NOT_GIVEN, True),
        op("branch", ref(5)),
        op("appendMessage", {"role": "user", "content": "another way", "timestamp": 8}),
        op("branchWithSummary", ref(4), "left behind", NOT_GIVEN, True),
        op("resetLeaf"),
        op("appendMessage", {"role": "user", "content": "a new root", "timestamp": 9}),
        op("branchWithSummary", None, "all left behind", NOT_GIVEN, True),
        op("branch", ref(30)),
        op("appendMessage", USER),
        op("createBranchedSession", ref(38)),
        op("appendMessage", USER),
        op("createBranchedSession", ref(8)),
        op("appendMessage", USER),
        op("forkFrom", ref(0), "/srv/elsewhere"),
        op("appendMessage", USER),
    ]
    ours = check_same_bytes(pi, tmp_path, ops)
    assert [number for number, one in enumerate(ours.results) if isinstance(one, dict)] == [22, 28]
    assert len(ours.paths) == len([text for text in ours.texts() if text is not None]) == 4


@pytest.mark.parametrize("seeds", [range(at, at + 10) for at in range(0, 60, 10)], ids=str)
def test_random_operations_write_pis_bytes(pi: Pi, seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        check_same_bytes(pi, tmp_path / str(seed), operations(seed))


# Compacting --------------------------------------------------------------------------------------


def test_a_compaction_is_cut_and_written_as_pi_does(pi: Pi, tmp_path: Path) -> None:
    long = {"role": "user", "content": "word " * 30_000, "timestamp": 2}
    answer = {"role": "assistant", "content": [], "provider": "p", "model": "m", "timestamp": 3}
    tools = [{"name": "read", "description": "reads", "parameters": {"2": 1.0}}]
    begin = [
        op("create"),
        op("appendMessage", {"role": "system", "content": "a", "sections": {"s": "x"}}),
        op("appendMessage", {"role": "system", "content": "b", "toolsAdded": tools}),
        *[op("appendMessage", message) for message in (long, answer, long, answer)],
    ]

    async def build() -> tuple[str, dict[str, Any]]:
        async with service(tmp_path) as sessions:
            builder = Builder(sessions, tmp_path / "ours", CWD)
            await builder.run(begin)
            done = await builder.current.compact(summary="told", origin=ORIGIN)
            entry = builder.current.session.entry(builder.current.session.row_of(done.entry))
            kept = builder.results.index(entry["firstKeptEntryId"])
            (text,) = builder.texts()
            assert text is not None
            return text, {**entry, "kept": kept}

    text, entry = anyio.run(build)
    compact = op("appendCompaction", "told", ref(entry["kept"]), entry["tokensBefore"])
    compact["args"] += [NOT_GIVEN, True]
    built = pi.build(tmp_path / "pi", CWD, [*begin, compact])
    assert alike([text]) == alike([built["text"]])
    assert entry["systemMessage"]["content"] == "a\n\nb"


def without_chance(line: str) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(line)
    del entry["id"], entry["timestamp"]
    entry.get("systemMessage", {}).pop("timestamp", None)
    return entry


def test_a_compaction_carries_the_system_message_that_the_model_sees(
    pi: Pi, tmp_path: Path
) -> None:
    compacted = 0
    for seed in range(80):
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(random_sessions.ordinary(seed).data)
        session = open_file(path)
        try:
            prepared = session.prepare_compaction(
                session.leaf, CompactionSettings(keep_recent_tokens=200)
            )
        except NothingToCompact:
            continue
        draft = Draft(session, lambda: "5eed5eed", "2026-12-01T00:00:00.000Z")
        line = draft.compact(prepared, "told").line.decode()
        kept, tokens = prepared.first_kept_entry_id, prepared.tokens_before
        more = [NOT_GIVEN, True]
        ops = [op("open", str(path)), op("appendCompaction", "told", kept, tokens, *more)]
        built = pi.build(tmp_path / "pi", CWD, [*ops, op("appendMessage", USER)])
        *_, theirs, _ = lines_of(built["text"] or path.read_text("utf-8"))
        assert without_chance(line) == without_chance(theirs), seed
        compacted += 1
    assert compacted > 30


# Foreign lines -----------------------------------------------------------------------------------


def some_entries(session: Session, chance: random.Random, most: int) -> list[Any]:
    ids = [session.index.ids[row] for row in session.index.in_order()]
    return chance.sample(ids, min(most, len(ids)))


def lines_of(text: str) -> list[str]:
    """Lines as session files have them; `splitlines` knows other ends of lines too."""
    return text.removesuffix("\n").split("\n")


def counted_ids() -> NewId:
    numbers = count()
    return lambda is_taken: f"{next(numbers):08x}"


def check_forks(pi: Pi, path: Path, folder: Path, places: Sequence[Any]) -> int:
    """Forks at entries, and the whole file elsewhere: pi's lines, spelled as they were."""
    session = open_file(path)
    session_file = folder / "copy.jsonl"
    for place in places:
        session_file.write_bytes(path.read_bytes())
        opened, fork = op("open", str(session_file)), op("createBranchedSession", place)
        built = pi.build(folder / "pi", CWD, [opened, fork, op("appendMessage", USER)])
        row = session.row_of(place)
        ours = branch_lines(session, row, counted_ids())
        check_lines(pi, ours, lines_of(built["text"])[1:-1])
    return len(places)


def check_lines(pi: Pi, ours: Sequence[bytes], theirs: Sequence[str]) -> None:
    spelled = pi.stringify([line.decode("utf-8", "replace") for line in ours])
    assert None not in spelled
    assert labels_numbered([text or "" for text in spelled]) == labels_numbered(theirs)


def labels_numbered(lines: Sequence[str]) -> list[Any]:
    """Entries, with ids of label entries by number, and times as they are."""
    entries = [json.loads(line) for line in lines]
    names = {
        entry["id"]: f"@{number}"
        for number, entry in enumerate(entries)
        if entry["type"] == "label"
    }
    for entry in entries:
        entry["id"] = names.get(entry["id"], entry["id"])
        if "parentId" in entry and isinstance(entry["parentId"], str):
            entry["parentId"] = names.get(entry["parentId"], entry["parentId"])
    # As text, since the order of members counts.
    return [json.dumps(entry) for entry in entries]


@pytest.mark.parametrize("sample", CURRENT, ids=str)
def test_a_fork_of_a_corpus_file_holds_pis_lines(pi: Pi, sample: Sample, tmp_path: Path) -> None:
    if sample.pi_open["cycleOnLeafPath"] or not sample.pi_open["entryCount"]:
        places: list[Any] = []
    else:
        session = open_file(sample.path)
        chance = random.Random(sample.name)
        places = [
            place for place in some_entries(session, chance, 3) if pi_walks(pi, sample, place)
        ]
    check_forks(pi, sample.path, tmp_path, places)
    copy = tmp_path / "whole.jsonl"
    copy.write_bytes(sample.path.read_bytes())
    # Opened first, since pi's own fork leaves the entries of an old file as they are.
    ops = [op("open", str(copy)), op("forkFrom", str(copy), "/srv/elsewhere")]
    built = pi.build(tmp_path / "whole", CWD, ops)
    assert built["text"] is not None
    header, *theirs = lines_of(built["text"])
    assert json.loads(header)["cwd"] == "/srv/elsewhere"
    spelled = pi.stringify(
        [line.decode("utf-8", "replace") for line in all_lines(open_file(sample.path))]
    )
    assert spelled == last_of_each_id(theirs)


def last_of_each_id(lines: Sequence[str]) -> list[str]:
    """Entries as we count them: without lines that have no id, and of one id the last line."""
    by_id: dict[Any, str] = {}
    for line in lines:
        entry = json.loads(line)
        if isinstance(entry, dict) and "id" in entry:
            by_id.pop(entry["id"], None)
            by_id[entry["id"]] = line
    return list(by_id.values())


def pi_walks(pi: Pi, sample: Sample, place: Any) -> bool:
    """Whether pi finds its way from an entry to the root."""
    return "error" not in pi.at(sample.path, place)


@pytest.mark.parametrize("seeds", [range(40), range(40, 80)], ids=str)
def test_a_fork_of_a_random_session_holds_pis_lines(pi: Pi, seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(random_sessions.ordinary(seed).data)
        places = some_entries(open_file(path), random.Random(seed), 3)
        assert check_forks(pi, path, tmp_path, places) == len(places)
