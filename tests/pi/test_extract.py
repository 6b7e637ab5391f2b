"""What `extract` stores is to pi an ordinary compaction."""

import json
from pathlib import Path
from typing import Any

from pisessiond.core.changes import Draft, Summary
from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.extract import extract_summary
from pisessiond.core.summary_text import assemble_compaction, compaction_tasks, summary_details
from tests.support.pi import Pi
from tests.support.random_conversations import Conversation
from tests.support.seen import inspected, open_file, told_by_pi


def test_pi_goes_on_from_it_and_passes_over_the_mark(pi: Pi, tmp_path: Path) -> None:
    marked = 0
    for seed in range(12):
        conversation = Conversation(seed)
        for _ in range(6):
            conversation.turn()
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(conversation.data())
        entry = compacted_without_a_model(path)
        assert entry["details"]["summarizer"] == "extract"
        ours = inspected(open_file(path))
        assert ours.pop("problems") == []
        assert ours == told_by_pi(pi.open(path))
        conversation.go_on_from(path.read_bytes().splitlines()[-1])
        start = len(conversation.lines)
        for _ in range(3):
            conversation.turn()
        with path.open("ab") as file:
            file.write(conversation.data(start))
        leaf = open_file(path).leaf_id
        (theirs,) = pi.prepare_all(path, [{"id": leaf, "keep": 50}])
        assert theirs is not None
        assert theirs["previousSummary"] == entry["summary"]
        # It carries the files on, so it has read the lists beside the mark.
        details = theirs["files"]["details"]
        known = {*details["readFiles"], *details["modifiedFiles"]}
        listed = {*entry["details"]["readFiles"], *entry["details"]["modifiedFiles"]}
        assert listed <= known
        marked += bool(listed)
    assert marked > 3


def compacted_without_a_model(path: Path) -> dict[str, Any]:
    """The entry, as it was appended to the file."""
    session = open_file(path)
    prepared = session.prepare_compaction(session.leaf, CompactionSettings(keep_recent_tokens=50))
    texts = [extract_summary(task) for task in compaction_tasks(prepared)]
    details = summary_details(prepared.file_operations, is_extract=True)
    summary = Summary(assemble_compaction(prepared, texts), details=details, from_hook=False)
    draft = Draft(session, lambda: "facade01", "2026-11-30T10:00:00.000Z")
    line = draft.compact(prepared, summary).line
    with path.open("ab") as file:
        file.write(line + b"\n")
    entry: dict[str, Any] = json.loads(line)
    return entry
