"""The helper that asks the real pi says what the corpus noted down: it can be trusted."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import CORPUS, SAMPLES, Sample
from tests.support.pi import NOT_GIVEN, Pi, PiFailed, op, ref

pytestmark = pytest.mark.slow


def test_every_corpus_file_is_the_one_that_was_asked_about() -> None:
    assert len(SAMPLES) == 83
    for sample in SAMPLES:
        noted = sample.oracle
        data = sample.path.read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (noted["bytes"], noted["sha256"])


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_pi_answers_as_noted(pi: Pi, sample: Sample) -> None:
    assert without_chance(sample, pi.open(sample.path)) == without_chance(sample, sample.pi_open)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_agent_core_answers_as_noted(pi: Pi, sample: Sample) -> None:
    assert pi.core(sample.path) == sample.core


def without_chance(sample: Sample, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer without what a 0-byte file gets anew at each opening."""
    if sample.oracle["bytes"]:
        return answer
    chance = ("sessionId", "header", "fileAfterOpen")
    return {name: value for name, value in answer.items() if name not in chance}


def test_asking_leaves_the_file_as_it_was(pi: Pi) -> None:
    for sample in SAMPLES:
        before = sample.path.stat()
        pi.open(sample.path)
        pi.at(sample.path, None)
        after = sample.path.stat()
        assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)


def test_the_size_at_the_leaf_is_the_size_of_the_open_file(pi: Pi) -> None:
    for sample in SAMPLES:
        noted = sample.pi_open
        estimate = noted.get("estimateProjectedContextTokens")
        if estimate is None or noted["leafId"] in (None, "<undefined>"):
            continue
        (size,) = pi.sizes(sample.path, [noted["leafId"]])
        assert size["tokens"] == estimate["tokens"], sample
        assert size["measured"] == (estimate["lastUsageIndex"] is not None), sample


def test_sizes_name_every_entry_once(pi: Pi) -> None:
    sample = Sample("derived+mutated/self-parent.jsonl")
    sizes = pi.sizes(sample.path)
    assert len(sizes) == sample.pi_open["entryCount"]
    assert any("error" in size for size in sizes)


def test_a_place_has_its_own_context(pi: Pi) -> None:
    sample = Sample("synth+pi160/tree-branches-labels.jsonl")
    assert pi.at(sample.path, None)["context"]["count"] == 0
    there = pi.at(sample.path, "9af2e9a3", messages=True)
    assert there["contextEntryIds"][-1] == "9af2e9a3"
    assert len(there["messages"]) == there["context"]["count"]
    assert pi.at(sample.path, "nowhere") == {"error": "Error: Entry nowhere not found"}


def test_a_compaction_is_prepared_with_the_text_to_summarise(pi: Pi) -> None:
    sample = Sample("synth+pi160/split-turn.jsonl")
    noted = sample.pi_open["prepareCompaction"]["keep200"]
    prepared = pi.prepare(sample.path, keep_recent_tokens=200)
    assert prepared is not None
    assert prepared["firstKeptEntryId"] == noted["firstKeptEntryId"]
    assert len(prepared["messagesToSummarize"]) == noted["messagesToSummarize"]
    assert prepared["turnPrefixConversation"].startswith("[User]: ")
    assert pi.prepare(sample.path, keep_recent_tokens=10**9) is None


def test_a_branch_is_collected_back_to_the_common_ancestor(pi: Pi) -> None:
    sample = Sample("synth+pi160/tree-branches-labels.jsonl")
    collected = pi.collect(sample.path, "d2cd768c", "9af2e9a3")
    assert collected["commonAncestorId"] == "39cb944d"
    assert collected["entryIds"] == ["a5d5c9de", "f3142ee9", "d2cd768c"]


def test_a_session_is_built_from_operations(pi: Pi, tmp_path: Path) -> None:
    user = {"role": "user", "content": "hello", "timestamp": 1}
    built = pi.build(
        tmp_path / "sessions",
        "/srv/demo",
        [
            op("create", {"id": "made-here"}),
            op("appendThinkingLevelChange", "high"),
            op("appendMessage", user),
            op("appendCustomEntry", "mark", {"b": 1, "a": 2}),
            op("branch", ref(1)),
            op("appendCompaction", "told", ref(1), 12, NOT_GIVEN, True),
            op("appendLabelChange", "nowhere", "x"),
            op("createBranchedSession", ref(2)),
        ],
    )
    results = built["results"]
    assert built["leafId"] == results[2]
    assert results[6] == {"error": "Error: Entry nowhere not found"}
    assert set(built["files"]) == {results[0], results[7]}
    lines = [json.loads(line) for line in built["files"][results[0]].splitlines()]
    assert [line["type"] for line in lines] == [
        "session",
        "thinking_level_change",
        "message",
        "custom",
        "compaction",
    ]
    assert lines[4]["parentId"] == lines[4]["firstKeptEntryId"] == results[1]
    assert "details" not in lines[4]
    assert list(lines[3]) == ["type", "customType", "data", "id", "parentId", "timestamp"]
    assert built["text"] == built["files"][results[7]]


def test_a_session_without_a_message_is_not_on_disk(pi: Pi, tmp_path: Path) -> None:
    built = pi.build(tmp_path, "/srv/demo", [op("create"), op("appendSessionInfo", "named")])
    assert built["text"] is None
    assert built["files"] == {}


def test_javascript_can_be_asked_in_bulk(pi: Pi) -> None:
    assert pi.stringify(['{"b": 1.0, "2": 5e-6, "1": "\\ud800é"}', "NaN"]) == [
        '{"1":"\\ud800é","2":0.000005,"b":1}',
        None,
    ]
    assert pi.date_ms(["1970-01-01T00:00:00.001Z", "nonsense", None]) == [1, None, 0]
    siblings = [
        {"id": "late", "timestamp": "2026-01-01T00:00:01.000Z"},
        {"id": "early", "timestamp": "2026-01-01T00:00:00.000Z"},
    ]
    assert pi.sort(siblings) == ["early", "late"]


def test_a_wrong_question_is_told_and_the_next_one_answered(pi: Pi) -> None:
    with pytest.raises(PiFailed, match="no such operation"):
        pi.ask("nonsense")
    assert pi.ask("ping")["node"].startswith("v24.")


def test_pi_is_measured_in_a_process_of_its_own() -> None:
    measured = Pi.bench(CORPUS / "synth+pi160" / "deep-chain-3000.jsonl", positions=5)
    assert measured["entries"] == 3002
    for member in ("importMs", "openMs", "sizeMs", "treeMs", "rssMb"):
        assert measured[member] > 0
