"""Where compactions cut, in drawings, and the same answers as pi gave for the corpus.

A drawing names one entry a word, in the order of the projection. The letter says what it is, the
number how many tokens it has: u(ser) a(ssistant) r(esult) s(ystem) b(ash) c(ustom message), `.` an
entry without a message, `x` an edit that omits the entry before it, `=` one that replaces it, `C`
the newest compaction (first), `o` an older one in what it kept, `;` where the newest stands on the
branch. Ids are `0`, `1`, `2`… by place.

An outcome names the entries: `history / beginning of a split turn | kept`.
"""

import hashlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core.compaction import (
    CompactionSettings,
    find_cut_point,
    prepare_compaction,
    should_compact,
)
from pisessiond.core.errors import NothingToCompact
from pisessiond.core.file_operations import compute_file_lists, format_file_lists
from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.core.projection import ProjectedEntry, project
from pisessiond.core.summary_entries import branch_summary_entry, compaction_entry
from pisessiond.core.tokens import estimate_tokens, usage_tokens
from tests.support.corpus import SAMPLES, Sample
from tests.support.naive import replay_all

ROLES = {"u": "user", "a": "assistant", "r": "toolResult", "s": "system", "c": "custom"}


def draw(drawing: str) -> list[ProjectedEntry]:
    entries: list[dict[str, Any]] = []
    parent = None
    for word in drawing.split():
        if word == ";":
            parent = "0"
            continue
        entry = {"id": str(len(entries)), "parentId": parent, **body(word, len(entries))}
        entries.append(entry)
        # What was kept comes after the compaction in the projection, but before it on the branch.
        parent = "earlier" if word[0] == "C" else entry["id"]
    return project(entries)


def body(word: str, place: int) -> dict[str, Any]:
    kind, words = word[0], "x" * 4 * int(word[1:] or 0)
    if kind == "C":
        return {"type": "compaction", "summary": words or "old", "tokensBefore": 1}
    if kind == "o":
        return {"type": "compaction", "summary": "older"}
    if kind == ".":
        return {"type": "custom", "customType": "mark"}
    if kind in "x=":
        replacement = None if kind == "x" else {"content": words}
        return {
            "type": "context_edit",
            "targetId": str(place - 1),
            "replacement": replacement,
        }
    if kind == "b":
        message: dict[str, Any] = {"role": "bashExecution", "command": "", "output": words}
    else:
        message = {"role": ROLES[kind], "content": [{"type": "text", "text": words}]}
    return {"type": "message", "message": message}


def check(drawing: str, keep: int, outcome: str) -> None:
    """Compacts the drawing so that about `keep` tokens stay; `outcome` may be `nothing`."""
    projected = draw(drawing)
    settings = CompactionSettings(keep_recent_tokens=keep)
    try:
        preparation = prepare_compaction(projected, 77, settings)
    except NothingToCompact:
        assert outcome == "nothing"
        return
    start = 1 if drawing.startswith("C") else 0
    cut = find_cut_point(projected, start, len(projected), keep)
    left, kept = list(preparation.summarized_entry_ids), list(preparation.kept_entry_ids)
    assert preparation.first_kept_entry_id == kept[0] == str(cut.first_kept)
    assert preparation.is_split_turn == cut.is_split_turn == (cut.turn_start is not None)
    turn = len(left) if cut.turn_start is None else cut.turn_start - start
    words = [*left[:turn], *(["/", *left[turn:]] if cut.is_split_turn else []), "|", *kept]
    assert " ".join(words) == outcome
    assert preparation.tokens_before == 77
    assert all(m["role"] != "system" for m in preparation.messages_to_summarize)


def test_the_cut_stands_where_the_budget_is_reached() -> None:
    check("u5 a5 u5 a5", 10, "0 1 | 2 3")
    check("u5 a5 u5 a5", 11, "/ 0 | 1 2 3")
    check("u5 a5 u5 a5", 0, "0 1 / 2 | 3")


def test_a_budget_never_reached_keeps_everything() -> None:
    check("u5 a5 u5 a5", 100, "nothing")
    # System messages before the first allowed entry are no conversation.
    check("s9 u5 a5", 100, "nothing")


def test_a_cut_never_parts_a_result_from_its_call() -> None:
    check("u5 a5 r5 r5 a5 u1", 7, "/ 0 1 2 3 | 4 5")
    # Nothing allowed follows the results, so the last allowed entry is kept.
    check("u5 a5 r50", 10, "/ 0 | 1 2")


def test_a_split_turn_begins_at_the_nearest_user_like_entry() -> None:
    check("u5 a5 b5 a5 r5 a5", 4, "0 1 / 2 3 4 | 5")
    check("u5 a5 c5 a5 r5 a5", 4, "0 1 / 2 3 4 | 5")
    # No user-like entry before the cut: no split turn.
    check("a5 r5 a5", 4, "0 1 | 2")


def test_entries_without_a_message_are_kept_with_what_follows_them() -> None:
    check("u5 a5 . . u5 a5", 10, "/ 0 1 | 2 3 4 5")
    check("u5 . a5 x u5", 5, "/ 0 | 1 2 3 4")


def test_a_cut_at_a_taken_in_entry_splits_the_turn_before_it() -> None:
    # The user message would begin a turn, but the mark in front of it begins none.
    check("u5 a5 . u5 a5", 10, "/ 0 1 | 2 3 4")
    check(". u5 a5 . u5 a5", 10, "0 / 1 2 | 3 4 5")


def test_only_what_follows_the_newest_compaction_is_looked_at() -> None:
    check("C u5 a5 ; u5 a5", 10, "1 2 | 3 4")
    check("C u5 a5 o ; u5 a5", 10, "1 2 3 | 4 5")
    check("C ; u5 a5", 5, "/ 1 | 2")


def test_a_branch_that_ends_in_a_compaction_has_nothing_to_compact() -> None:
    check("C u5 a5 u5 a5", 5, "nothing")
    check("C u5 a5 u5 a5 ; .", 5, "1 2 / 3 | 4 5")
    check("", 5, "nothing")
    check("C", 5, "nothing")


def test_attempts_taken_out_move_the_cut_past_the_last_input() -> None:
    # The omitted answer begins no turn, so the input in front of it is a turn split off.
    check("u5 a5 u9 a5 x", 5, "0 1 / 2 | 3 4")
    check("u5 a5 u9 . a5 x a5 x .", 5, "0 1 / 2 | 3 4 5 6 7 8")
    # A replacing edit of something else, a visible answer or too small a branch leave it there.
    check("u5 a5 u9 a5 x =", 5, "0 1 | 2 3 4 5")
    check("u5 a5 u9 a5 x a5", 14, "0 1 | 2 3 4 5")
    check("u9 a5 x", 50, "nothing")


def test_system_messages_alone_are_nothing_to_summarise() -> None:
    check("s5 u5", 5, "nothing")
    check("s5 u5 u5", 5, "0 1 | 2")


def test_compaction_is_due_when_the_reserve_is_touched() -> None:
    settings = CompactionSettings(reserve_tokens=100)
    assert should_compact(901, 1000, settings)
    assert not should_compact(900, 1000, settings)
    assert not should_compact(901, 1000, CompactionSettings(enabled=False, reserve_tokens=100))


def read(path: str) -> dict[str, Any]:
    return {"type": "toolCall", "name": "read", "arguments": {"path": path}}


def write(path: str) -> dict[str, Any]:
    return {"type": "toolCall", "name": "write", "arguments": {"path": path}}


def said(role: str, content: Any, **members: Any) -> ProjectedEntry:
    message = {"role": role, "content": content, **members}
    return ProjectedEntry({"id": role, "type": "message", "message": message}, (message,))


def compacted(**members: Any) -> list[ProjectedEntry]:
    """A compaction with these members, then a turn that reads a.py and is summarised."""
    compaction = {"id": "C", "type": "compaction", "summary": "old", "tokensBefore": 1, **members}
    nested = {"calls": [{"name": "edit", "arguments": {"path": "nested.py"}}, None, {}]}
    turn = [
        said("user", "look"),
        said("assistant", [read("a.py"), {**read("b.py"), "arguments": None}, read(""), None]),
        said("toolResult", "found", nestedCalls=nested),
        said("user", "x" * 400),
    ]
    turn[0].entry["parentId"] = "C"
    return [*project([compaction]), *turn]


def test_files_are_gathered_from_calls_and_from_the_previous_compaction() -> None:
    details = {"readFiles": ["z.py", "nested.py", 5], "modifiedFiles": ["w.py"]}
    settings = CompactionSettings(keep_recent_tokens=100)
    preparation = prepare_compaction(compacted(details=details), 1, settings)
    assert preparation.previous_summary == "old"
    lists = compute_file_lists(preparation.file_operations)
    assert lists.details() == {
        "readFiles": ["a.py", "z.py"],
        "modifiedFiles": ["nested.py", "w.py"],
    }
    assert format_file_lists(lists) == (
        "\n\n<read-files>\na.py\nz.py\n</read-files>"
        "\n\n<modified-files>\nnested.py\nw.py\n</modified-files>"
    )


def test_the_files_of_an_extensions_compaction_are_not_trusted() -> None:
    settings = CompactionSettings(keep_recent_tokens=100)
    hooked = compacted(details={"readFiles": ["z.py"]}, fromHook=True)
    lists = compute_file_lists(prepare_compaction(hooked, 1, settings).file_operations)
    assert (lists.read_files, lists.modified_files) == (("a.py",), ("nested.py",))


def test_members_stand_in_pis_order_and_only_when_given() -> None:
    assert list(compaction_entry("s", "id", 5)) == ["summary", "firstKeptEntryId", "tokensBefore"]
    full = compaction_entry(
        "s", "id", 5, from_hook=False, usage=None, details={}, system_message={"role": "system"}
    )
    assert list(full)[3:] == ["details", "usage", "fromHook", "systemMessage"]
    assert full["usage"] is None
    summary = branch_summary_entry(None, "s", details={}, from_hook=False)
    assert list(summary) == ["fromId", "summary", "details", "fromHook"]
    assert summary["fromId"] == "root"


def noted_branch(sample: Sample) -> list[dict[str, Any]] | None:
    """The branch that pi saw, read line by line; None for files that need more than that."""
    entries: list[dict[str, Any]] = []
    for line in sample.path.read_bytes().split(b"\n"):
        try:
            value = parse_json(line)
        except NotJson:
            continue
        if isinstance(value, dict):
            entries.append(value)
    if not entries or entries[0].get("version") != 3 or "error" in sample.pi_open:
        return None
    by_id = {entry.get("id"): entry for entry in entries[1:]}
    if None in by_id or len(by_id) != len(entries) - 1:
        return None
    branch: list[dict[str, Any]] = []
    at = sample.pi_open["leafId"]
    while at in by_id and len(branch) <= len(by_id):
        branch.append(by_id[at])
        at = by_id[at].get("parentId")
    return branch[::-1] if len(branch) <= len(by_id) else None


def projected_context(sample: Sample) -> tuple[list[dict[str, Any]], list[ProjectedEntry]] | None:
    branch = noted_branch(sample)
    if not branch or "contextEntryIds" not in sample.pi_open:
        return None
    by_id = {entry["id"]: entry for entry in branch}
    return branch, project([by_id[entry_id] for entry_id in sample.pi_open["contextEntryIds"]])


def context_tokens(branch: list[dict[str, Any]], projected: list[ProjectedEntry]) -> int:
    messages = [(item.entry, message) for item in projected for message in item.messages]
    place = {entry["id"]: at for at, entry in enumerate(branch)}
    stale = [place[e["id"]] for e in branch if e["type"] in ("compaction", "context_edit")]
    for at in range(len(messages) - 1, -1, -1):
        entry, message = messages[at]
        measured = usage_tokens(message)
        if measured is not None:
            if place[entry["id"]] > max(stale, default=-1):
                return measured + sum(estimate_tokens(m) for _, m in messages[at + 1 :])
            break
    others = sum(estimate_tokens(m) for _, m in messages if m.get("role") != "system")
    return replay_all(m for _, m in messages).tokens + others


def test_the_corpus_is_compacted_as_by_pi() -> None:
    compared = 0
    for sample in SAMPLES:
        context = projected_context(sample)
        noted = sample.pi_open.get("prepareCompaction")
        if context is None or not isinstance(noted, dict):
            continue
        tokens = context_tokens(*context)
        estimate = sample.pi_open.get("estimateProjectedContextTokens", {})
        if "tokens" not in estimate:
            continue
        assert tokens == estimate["tokens"], sample
        for name, keep in (("default", 20000), ("keep2000", 2000), ("keep200", 200)):
            if name in noted and not (noted[name] and "error" in noted[name]):
                assert prepared(context[1], tokens, keep, noted[name]) == noted[name], sample
                compared += 1
    assert compared > 100


def prepared(
    projected: list[ProjectedEntry], tokens: int, keep: int, noted: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Our answer in the form of the notes, with those of their members that it can tell."""
    settings = CompactionSettings(keep_recent_tokens=keep)
    try:
        ours = prepare_compaction(projected, tokens, settings)
    except NothingToCompact:
        return None
    previous = ours.previous_summary
    told = {
        "firstKeptEntryId": ours.first_kept_entry_id,
        "isSplitTurn": ours.is_split_turn,
        "tokensBefore": ours.tokens_before,
        "messagesToSummarize": len(ours.messages_to_summarize),
        "turnPrefixMessages": len(ours.turn_prefix_messages),
        "previousSummary": previous and short_hash(previous),
        "readFiles": len(ours.file_operations.read),
    }
    return {**(noted or {}), **told}


def short_hash(text: str) -> str:
    # Node hashes a lone surrogate as U+FFFD.
    data = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
    return hashlib.sha256(data).hexdigest()[:16]


@given(st.lists(st.sampled_from("u1 a2 r3 s2 b4 c1 . x =2 o".split())), st.integers(0, 20))
def test_every_entry_is_either_summarised_or_kept(words: list[str], keep: int) -> None:
    projected = draw(" ".join(["u1", *words]))
    try:
        ours = prepare_compaction(projected, 1, CompactionSettings(keep_recent_tokens=keep))
    except NothingToCompact:
        return
    ids = [item.entry["id"] for item in projected]
    assert [*ours.summarized_entry_ids, *ours.kept_entry_ids] == ids
    assert bool(ours.turn_prefix_messages) <= ours.is_split_turn
    tail = projected[len(ours.summarized_entry_ids) :]
    first = next((m for item in tail for m in item.messages if m["role"] != "system"), None)
    assert first is None or first["role"] != "toolResult"
