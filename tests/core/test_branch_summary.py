"""What a branch summary is made from when one navigates away."""

from collections.abc import Sequence
from typing import Any

from pisessiond.core.branch_summary import (
    BranchSummaryPreparation,
    prepare_branch_summary,
    rows_left,
)
from pisessiond.core.file_operations import compute_file_lists
from pisessiond.core.session import Session
from tests.support.exports import session_of


def user(entry_id: str, words: str) -> dict[str, Any]:
    return {"id": entry_id, "type": "message", "message": {"role": "user", "content": words}}


def result(entry_id: str, words: str) -> dict[str, Any]:
    return {"id": entry_id, "type": "message", "message": {"role": "toolResult", "content": words}}


def summary(entry_id: str, words: str, **members: Any) -> dict[str, Any]:
    return {"id": entry_id, "type": "branch_summary", "summary": words, "fromId": "x", **members}


def edit(entry_id: str, target: str, replacement: Any) -> dict[str, Any]:
    return {
        "id": entry_id,
        "type": "context_edit",
        "targetId": target,
        "replacement": replacement,
    }


TREE = session_of(
    {**user(entry_id, "x"), "parentId": parent}
    for entry_id, parent in {"a": None, "b": "a", "c": "b", "d": "c", "x": "b", "y": None}.items()
)


def left(leaf: str | None, target: str | None) -> str:
    rows = rows_left(TREE.index, TREE.row_of(leaf), TREE.row_of(target))
    return "".join(str(TREE.id_of(row)) for row in rows)


def one_branch(entries: list[dict[str, Any]]) -> Session:
    above = (None, *(entry["id"] for entry in entries))
    pairs = zip(entries, above, strict=False)
    return session_of(entry | {"parentId": parent} for entry, parent in pairs)


def prepared(entries: list[dict[str, Any]], budget: int) -> BranchSummaryPreparation:
    session = one_branch(entries)
    return prepare_branch_summary(session, session.index.branch(session.leaf), budget)


def told(entries: list[dict[str, Any]], budget: int = 0) -> list[str]:
    messages = prepared(entries, budget).messages
    return [m["summary"] if "summary" in m else m["content"] for m in messages]


def test_entries_back_to_the_deepest_shared_one_are_left() -> None:
    assert left("d", "x") == "cd"
    assert left("d", "b") == "cd"
    assert left("d", "d") == ""
    assert left("b", "d") == ""
    assert left("d", None) == "abcd"
    assert left(None, "b") == ""
    assert left("d", "y") == "abcd"


def test_settings_marks_and_results_are_left_out() -> None:
    model = {"id": "m", "type": "model_change", "provider": "p", "modelId": "m"}
    broken = {"id": "n", "type": "message", "message": None}
    entries = [user("a", "one"), model, result("r", "found"), broken, user("b", "two")]
    assert told(entries) == ["one", "two"]


def test_the_newest_get_their_place_first() -> None:
    entries = [user("a", "x" * 40), user("b", "y" * 40), user("c", "z" * 40)]
    assert told(entries, 20) == ["y" * 40, "z" * 40]
    assert told(entries, 19) == ["z" * 40]
    assert told(entries, 9) == []
    assert told(entries, -1) == told(entries, 0) == ["x" * 40, "y" * 40, "z" * 40]
    assert prepared(entries, 20).total_tokens == 20


def test_a_summary_that_no_longer_fits_is_the_last_below_nine_tenths() -> None:
    entries = [user("a", "x"), summary("s", "s" * 4000), user("b", "y" * 36)]
    assert told(entries, 11) == ["s" * 4000, "y" * 36]
    assert told(entries, 10) == ["y" * 36]


def test_edits_among_the_entries_hold() -> None:
    entries = [
        user("a", "one"),
        user("b", "two"),
        user("c", "three"),
        summary("s", "kept"),
        edit("e", "a", None),
        edit("f", "b", {"content": "older"}),
        edit("g", "b", {"content": "newer"}),
        edit("h", "s", None),
        edit("i", "elsewhere", None),
    ]
    assert told(entries) == ["newer", "three", "kept"]


def test_compactions_and_empty_summaries_are_told() -> None:
    system = {"role": "system", "content": "Be brief."}
    compaction = {"id": "c", "type": "compaction", "summary": "old", "systemMessage": system}
    assert told([compaction, summary("s", "")]) == ["old", ""]


def test_files_come_from_every_summary_and_the_messages_looked_at() -> None:
    def call(name: str, file: str) -> dict[str, Any]:
        block = {"type": "toolCall", "name": name, "arguments": {"path": file}}
        message = {"role": "assistant", "content": [block, {"type": "text", "text": "x" * 40}]}
        return {"id": file, "type": "message", "message": message}

    entries = [
        summary("s", "far", details={"readFiles": ["far.py"], "modifiedFiles": ["edited.py"]}),
        summary("t", "hook", details={"readFiles": ["hook.py"]}, fromHook=True),
        call("read", "out-of-sight.py"),
        call("write", "just-over.py"),
        call("read", "edited.py"),
        call("read", "near.py"),
    ]
    # The message that breaks the budget was looked at, those before it were not.
    lists = compute_file_lists(prepared(entries, 48).file_operations)
    assert lists.read_files == ("far.py", "near.py")
    assert lists.modified_files == ("edited.py", "just-over.py")


def test_no_more_is_read_than_finds_a_place() -> None:
    entries = [summary("s", "far"), edit("e", "m999", {"content": "short"})]
    entries += [user(f"m{number}", "x" * 400) for number in range(1_000)]
    session = one_branch(entries)
    read: list[int] = []
    lines = session.lines

    def counted(rows: Sequence[int]) -> list[bytes]:
        read.extend(rows)
        return lines(rows)

    session.lines = counted  # type: ignore[method-assign]
    found = prepare_branch_summary(session, session.index.branch(session.leaf), 250)
    assert [m["content"] for m in found.messages] == ["x" * 400, "x" * 400, "short"]
    assert len(read) < 200
