"""What rows say of entries that were edited in the context, and put back."""

from typing import Any

from pisessiond.core.rows.building import edited_at

SAID = [{"type": "text", "text": "said"}]
BODIES: dict[int, Any] = {
    0: {"type": "message", "message": {"role": "user", "content": SAID}},
    1: {"type": "custom_message", "content": "noted"},
    2: {"type": "message", "message": {"role": "bashExecution", "command": "ls"}},
    10: {"type": "context_edit", "replacement": None},
    11: {"type": "context_edit", "replacement": {"content": "short"}},
    12: {"type": "context_edit", "replacement": {"content": list(SAID)}},
    13: {"type": "context_edit", "replacement": {"content": "noted"}},
    14: {"type": "context_edit", "replacement": {"content": []}},
}


def check(edits: dict[int, int], expected: dict[int, bool]) -> None:
    assert edited_at(edits, BODIES.__getitem__) == expected


def test_left_out_and_replaced_are_told_apart() -> None:
    check({0: 10, 1: 11}, {0: True, 1: False})


def test_what_was_put_back_is_edited_no_more() -> None:
    check({0: 12, 1: 13}, {})


def test_a_replacement_of_what_has_no_content_counts() -> None:
    check({2: 14}, {2: False})
