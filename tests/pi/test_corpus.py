"""`inspect` of every corpus file equals what real pi answers, but for the table of differences."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond import offline
from tests.support.corpus import CORPUS, SAMPLES, Sample
from tests.support.differences import DIFFERENCES
from tests.support.pi import Pi
from tests.support.seen import (
    inspected,
    named_by_position,
    open_file,
    size_at,
    size_told_by_pi,
    told_by_pi,
)

REFUSED: Final = tuple(sample for sample in SAMPLES if "error" in sample.pi_open)
OPENED: Final = tuple(sample for sample in SAMPLES if "error" not in sample.pi_open)
PROBLEMS: Final = CORPUS.parent / "problems.txt"


def inspect(sample: Sample, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `pisessiond inspect` tells, standing in `folder`."""
    monkeypatch.chdir(folder)
    answer: dict[str, Any] = json.loads(json.dumps(offline.inspect(str(sample.path))))
    if answer["cwd"] == str(folder):
        answer["cwd"] = "<cwd>"
    return answer


@pytest.mark.parametrize("sample", OPENED, ids=str)
def test_inspect_tells_of_a_file_what_pi_tells(
    pi: Pi, sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = named_by_position(open_file(sample.path), inspect(sample, tmp_path, monkeypatch))
    del ours["problems"]
    theirs = told_by_pi(sample.pi_open)
    difference = DIFFERENCES.get(sample.name)
    if difference is None:
        assert ours == theirs
        return
    differing = {name for name in ours if name not in theirs or ours[name] != theirs[name]}
    assert differing == difference.members, difference.reason
    if sample.oracle["bytes"]:
        told = difference.instead(pi, sample.path, tmp_path)
        assert {name: ours[name] for name in told} == told, difference.reason


def test_a_file_without_a_byte_is_another_new_session_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = Sample("derived+mutated/empty.jsonl")
    first, second = (inspect(sample, tmp_path, monkeypatch) for _ in range(2))
    assert first["sessionId"] != second["sessionId"]
    header = first["header"]
    assert list(header) == ["type", "version", "id", "timestamp", "cwd"]
    assert (header["version"], header["id"]) == (3, first["sessionId"])
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-.*", header["id"])


@pytest.mark.parametrize(
    "name",
    [name for name, difference in DIFFERENCES.items() if difference.leaf is not ...],
)
def test_where_a_leaf_entry_leads_agent_core_agrees(name: str) -> None:
    sample = Sample(name)
    ours = inspected(open_file(sample.path))
    core = sample.core
    same = ("leafId", "branchLength", "thinkingLevel", "model", "labels", "name")
    assert {member: ours[member] for member in same} == {member: core[member] for member in same}
    assert core["context"].items() <= ours["context"].items()
    assert ours["estimateContextTokens"] == core["estimateContextTokens"]


@pytest.mark.parametrize("sample", OPENED, ids=str)
def test_the_size_at_every_entry_is_pis(pi: Pi, sample: Sample, tmp_path: Path) -> None:
    difference = DIFFERENCES.get(sample.name)
    path = sample.path if difference is None else difference.file(sample.path, tmp_path)
    session = open_file(sample.path)
    theirs = [size_told_by_pi(size) for size in pi.sizes(path)]
    ids = [session.index.ids[row] for row in session.index.in_order()]
    ours = [
        named_by_position(session, size_at(session, entry_id))
        for entry_id in ids
        if session.index.find(entry_id) is not None
    ]
    assert len(theirs) == session.index.count
    assert {size["id"]: size for size in ours} == {size["id"]: size for size in theirs}


def kinds_of_refusal() -> dict[str, str]:
    told = {}
    for sample in REFUSED:
        with pytest.raises(offline.InspectError) as refusal:
            offline.inspect(str(sample.path))
        told[sample.name] = refusal.value.kind
    return told


def test_what_pi_refuses_is_no_session() -> None:
    assert len(REFUSED) == 7
    assert kinds_of_refusal() == dict.fromkeys([sample.name for sample in REFUSED], "NotASession")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (CORPUS / "derived+mutated" / "bom.jsonl", "NotASession"),
        (CORPUS / "derived+mutated" / "whitespace-only.jsonl", "NotASession"),
        (CORPUS / "derived+mutated", "Unreadable"),
        (CORPUS / "nowhere.jsonl", "SessionNotFound"),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_a_refused_file_ends_the_command_with_one(path: Path, kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pisessiond", "inspect", str(path), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == kind
    assert error["message"].endswith(".")


@pytest.mark.slow
def test_the_command_prints_what_inspect_tells() -> None:
    path = CORPUS / "synth+pi160" / "unicode.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "pisessiond", "inspect", str(path), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == offline.inspect(str(path))


def problem_lines() -> str:
    """Every problem of the corpus, one a line: where it is, its kind, the entry it is about."""
    lines = []
    for sample in OPENED:
        problems = open_file(sample.path).problems
        if problems:
            lines.append(sample.name)
        for problem in problems:
            place = f"line {problem.line} at byte {problem.offset}"
            about = "" if problem.entry is None else f" ({problem.entry})"
            lines.append(f"  {place}: {problem.kind}{about}")
    return "\n".join(lines) + "\n"


def test_every_problem_is_told_with_its_place() -> None:
    assert problem_lines() == PROBLEMS.read_text(encoding="utf-8")


@pytest.mark.parametrize("sample", OPENED, ids=str)
def test_a_problem_names_the_byte_where_its_line_begins(sample: Sample) -> None:
    lines = sample.path.read_bytes().split(b"\n")
    for problem in open_file(sample.path).problems:
        assert problem.line is not None
        before = lines[: problem.line - 1]
        assert problem.offset == sum(len(line) + 1 for line in before)


if __name__ == "__main__":  # python -m tests.pi.test_corpus
    PROBLEMS.write_text(problem_lines(), encoding="utf-8")
