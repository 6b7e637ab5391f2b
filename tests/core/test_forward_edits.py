"""Sizes where a context edit stands above its target, which only repeated or late ids bring."""

from typing import Any

from tests.core.test_odd_members import session_of


def test_an_answer_that_an_edit_above_it_takes_out_is_not_measured() -> None:
    answer: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "text", "text": "four"}],
        "usage": {"totalTokens": 100},
        "stopReason": "stop",
    }
    base = {"timestamp": ""}
    edit = {**base, "type": "context_edit", "id": "e", "parentId": None, "replacement": None}
    entries: list[dict[str, Any]] = [
        {**edit, "targetId": "second"},
        {**base, "type": "message", "id": "first", "parentId": "e", "message": answer},
        {
            **base,
            "type": "message",
            "id": "second",
            "parentId": "first",
            "message": {**answer, "usage": {"totalTokens": 700}},
        },
        {
            **base,
            "type": "message",
            "id": "user",
            "parentId": "second",
            "message": {"role": "user", "content": "eight ch"},
        },
    ]
    session = session_of(*entries)
    session.measure_rest()
    assert [message["role"] for message in session.projection(3).messages] == ["assistant", "user"]
    size = session.size_at(3)
    assert (size.tokens, size.estimated, size.measured) == (102, 3, 102)
    assert session.id_of(size.usage_row) == "first"
