"""Which texts a summary needs, how long they may get, and what is made of them."""

from typing import Any

import pytest

from pisessiond.core.branch_summary import BranchSummaryPreparation
from pisessiond.core.compaction import CompactionPreparation, CompactionSettings
from pisessiond.core.file_operations import FileOperations
from pisessiond.core.projection import Message
from pisessiond.core.summary_task import SummaryTask
from pisessiond.core.summary_text import (
    LEAST_TOKENS,
    assemble_branch_summary,
    assemble_compaction,
    branch_tasks,
    compaction_tasks,
    sum_usage,
    summary_details,
)
from pisessiond.core.system_state import EMPTY

HISTORY: tuple[Message, ...] = ({"role": "user", "content": "old"},)
PREFIX: tuple[Message, ...] = ({"role": "user", "content": "turn"},)
FILES = FileOperations(read={"b", "a", "c"}, written={"c"}, edited={"d"})
LISTS = "\n\n<read-files>\na\nb\n</read-files>\n\n<modified-files>\nc\nd\n</modified-files>"


def preparation(
    history: tuple[Message, ...] = HISTORY,
    prefix: tuple[Message, ...] = (),
    previous: str | None = None,
    files: FileOperations | None = None,
    reserve: int = 10_000,
) -> CompactionPreparation:
    return CompactionPreparation(
        first_kept_entry_id="k",
        messages_to_summarize=history,
        turn_prefix_messages=prefix,
        is_split_turn=bool(prefix),
        tokens_before=5,
        previous_summary=previous,
        file_operations=files or FileOperations(),
        settings=CompactionSettings(reserve_tokens=reserve),
        summarized_entry_ids=(),
        kept_entry_ids=("k",),
        system=EMPTY,
    )


def branch(*messages: Message, files: FileOperations | None = None) -> BranchSummaryPreparation:
    return BranchSummaryPreparation(messages, files or FileOperations(), 1)


# Tasks


def test_a_cut_between_turns_needs_the_history() -> None:
    (task,) = compaction_tasks(preparation(previous="before"))
    assert (task.kind, task.messages, task.previous_summary) == ("history", HISTORY, "before")


def test_a_split_turn_needs_both() -> None:
    history, prefix = compaction_tasks(preparation(prefix=PREFIX, previous="before"))
    assert (history.kind, history.previous_summary) == ("history", "before")
    assert (prefix.kind, prefix.messages, prefix.previous_summary) == ("turnPrefix", PREFIX, None)


def test_a_split_turn_without_new_history_needs_its_beginning_alone() -> None:
    (task,) = compaction_tasks(preparation((), PREFIX, previous="before"))
    assert task.kind == "turnPrefix"


def test_wishes_reach_every_task() -> None:
    tasks = (
        *compaction_tasks(preparation(prefix=PREFIX), "be brief", True),
        *branch_tasks(branch(*HISTORY), 10_000, "be brief", True),
    )
    assert [task.kind for task in tasks] == ["history", "turnPrefix", "branch"]
    for task in tasks:
        assert (task.instructions, task.replaces_instructions) == ("be brief", True)


def test_a_branch_that_says_nothing_needs_no_text() -> None:
    assert branch_tasks(branch(), 10_000) == ()


@pytest.mark.parametrize(
    ("window", "max_output", "limits"),
    [
        (None, None, (8_000, 5_000)),
        (None, 6_000, (6_000, 5_000)),
        (None, 100, (100, 100)),
        (1_000_000, None, (8_000, 5_000)),
        (10, None, (LEAST_TOKENS, LEAST_TOKENS)),
    ],
)
def test_the_length_is_bounded_by_settings_model_and_window(
    window: int | None, max_output: int | None, limits: tuple[int, int]
) -> None:
    prepared = preparation(prefix=PREFIX)
    tasks = compaction_tasks(prepared, window=window, max_output=max_output)
    assert tuple(task.max_tokens for task in tasks) == limits
    (task,) = branch_tasks(branch(*HISTORY), 10_000, window=window, max_output=max_output)
    assert task.max_tokens == limits[0]


def test_prompt_and_summary_fit_the_window_together() -> None:
    long: tuple[Message, ...] = ({"role": "user", "content": "x" * 40_000},)
    (task,) = compaction_tasks(preparation(long), window=16_000)
    assert LEAST_TOKENS < task.max_tokens < 16_000 - 40_000 // 4


def test_nothing_reserved_still_leaves_room_for_a_summary() -> None:
    (task,) = compaction_tasks(preparation(reserve=0))
    assert task.max_tokens == LEAST_TOKENS


def test_lists_that_will_come_again_are_not_given_to_the_model() -> None:
    (task,) = compaction_tasks(preparation(previous=f"## Goal\nx{LISTS}", files=FILES))
    assert task.previous_summary == "## Goal\nx"


def test_lists_that_an_extension_made_are_kept() -> None:
    told = f"## Goal\nx{LISTS}"
    (task,) = compaction_tasks(preparation(previous=told))
    assert task.previous_summary == told


# Texts


def test_a_compaction_ends_in_the_lists_of_files() -> None:
    assert assemble_compaction(preparation(files=FILES), ["body"]) == f"body{LISTS}"
    assert assemble_compaction(preparation(), ["body"]) == "body"


def test_lists_that_a_model_made_itself_do_not_stand_twice() -> None:
    own = "body\n\n<read-files>\nz\n</read-files>\n\n<modified-files>\ny\n</modified-files>\n"
    assert assemble_compaction(preparation(files=FILES), [own]) == f"body{LISTS}"


@pytest.mark.parametrize(
    "text",
    [
        "body <read-files>\nz\n</read-files> and more",
        "<modified-files>",
        "body\n</read-files>",
        "",
    ],
)
def test_what_only_looks_like_a_list_stays(text: str) -> None:
    assert assemble_compaction(preparation(), [text]) == text


def heading(text: str, before: str, after: str) -> str:
    """What stands between the two texts."""
    assert text.startswith(before)
    assert text.endswith(after)
    return text[len(before) : len(text) - len(after)]


def test_the_beginning_of_a_split_turn_stands_apart() -> None:
    text = assemble_compaction(preparation(prefix=PREFIX, files=FILES), ["history", "turn"])
    between = heading(text, "history", f"turn{LISTS}")
    assert between.startswith("\n\n---\n\n**")
    assert between.endswith(":**\n\n")


def test_without_new_history_the_summary_before_stays_as_it_is() -> None:
    before = f"## Goal\nx{LISTS}"
    text = assemble_compaction(preparation((), PREFIX, before, FILES), ["turn"])
    assert heading(text, before, f"turn{LISTS}").startswith("\n\n---\n\n**")


def test_without_any_history_a_sentence_says_so() -> None:
    text = assemble_compaction(preparation((), PREFIX), ["turn"])
    assert text.split("\n", 1)[0].endswith(".")
    assert "\n\n---\n\n**" in text


def test_a_branch_summary_says_first_what_it_is() -> None:
    text = assemble_branch_summary(branch(*HISTORY, files=FILES), ["body"])
    preamble = heading(text, "", f"body{LISTS}")
    assert "another branch" in preamble
    assert preamble.endswith(":\n\n")


def test_details_name_the_files_and_who_wrote_without_a_model() -> None:
    files = {"readFiles": ["a", "b"], "modifiedFiles": ["c", "d"]}
    assert summary_details(FILES, is_extract=False) == files
    marked = summary_details(FILES, is_extract=True)
    assert list(marked.items()) == [*files.items(), ("summarizer", "extract")]


# Usage

COUNTS = ("input", "output", "cacheRead", "cacheWrite")


def usage(tokens: int, cost: float, **more: Any) -> dict[str, Any]:
    parts = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), tokens)
    costs = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), cost)
    return {
        **parts,
        **more,
        "totalTokens": 4 * tokens,
        "cost": {**costs, "total": 4 * cost, "totalFromProvider": True},
    }


def test_usage_is_added_up_in_pis_order() -> None:
    total = sum_usage([usage(1, 0.5, reasoning=3), usage(2, 0.25)])
    assert total is not None
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0.75)
    assert list(total.items()) == [
        ("input", 3),
        ("output", 3),
        ("cacheRead", 3),
        ("cacheWrite", 3),
        ("reasoning", 3),
        ("totalTokens", 12),
        ("cost", {**cost, "total": 3.0, "totalFromProvider": True}),
    ]


def test_one_usage_stays_as_it_came() -> None:
    odd = {"input": 1, "cost": {"total": 2}, "more": 3}
    assert sum_usage([None, odd]) == odd
    assert sum_usage([None, None]) is None
    assert sum_usage([]) is None


def test_a_sum_is_the_providers_own_only_where_all_of_it_is() -> None:
    other = usage(1, 1)
    del other["cost"]["totalFromProvider"]
    total = sum_usage([usage(1, 1), other])
    assert total is not None
    assert total["cost"]["totalFromProvider"] is False


def test_what_is_no_number_counts_nothing() -> None:
    odd: dict[str, Any] = {
        "input": "5",
        "output": None,
        "cacheRead": True,
        "cost": 3,
        "totalTokens": [],
    }
    total = sum_usage([usage(1, 0.5), odd])
    assert total is not None
    assert {name: total[name] for name in COUNTS} == dict.fromkeys(COUNTS, 1)
    assert total["cost"]["total"] == 2.0
    assert total["cost"]["totalFromProvider"] is False


def test_a_task_keeps_what_it_was_given() -> None:
    (task,) = compaction_tasks(preparation(), "x", False, max_output=2_000)
    assert task == SummaryTask("history", HISTORY, None, "x", False, 2_000)
