"""Sizes of messages, and the system message as it stands after several."""

from typing import Any

import pytest

from pisessiond.core.system_state import EMPTY, replay
from pisessiond.core.tokens import (
    IMAGE_CHARS,
    PARTS,
    content_text,
    estimate_tokens,
    message_chars,
    usage_tokens,
)
from tests.support.naive import replay_all

IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


def text(words: Any) -> dict[str, Any]:
    return {"type": "text", "text": words}


def check_chars(message: dict[str, Any], **expected: int) -> None:
    chars = message_chars(message)
    assert {part: count for part, count in chars.items() if count} == expected
    assert set(chars) <= set(PARTS)
    assert estimate_tokens(message) == -(-sum(expected.values()) // 4)


def test_texts_count_utf16_units() -> None:
    check_chars({"role": "user", "content": "a\u00e9\U0001f600"}, user=4)
    check_chars({"role": "user", "content": [text("abc"), IMAGE]}, user=3, images=IMAGE_CHARS)
    check_chars({"role": "custom", "content": "abc"}, user=3)
    check_chars({"role": "toolResult", "content": [text("abc")]}, toolResults=3)
    check_chars({"role": "branchSummary", "summary": "abc"}, summaries=3)
    check_chars({"role": "compactionSummary", "summary": "abc"}, summaries=3)


def test_an_assistant_message_counts_thinking_and_calls_but_no_image() -> None:
    call = {"type": "toolCall", "name": "read", "arguments": {"b": 1.0, "2": "\u00e9"}}
    thinking = {"type": "thinking", "thinking": "hmm"}
    content = [text("ab"), thinking, call, IMAGE, {"type": "unheard-of"}]
    # read{"2":"é","b":1}
    check_chars(
        {"role": "assistant", "content": content}, assistant=2, thinking=3, toolCalls=4 + 15
    )


def test_shell_output_counts_whether_or_not_it_is_sent() -> None:
    message = {"role": "bashExecution", "command": "ls", "output": "a\nb"}
    check_chars(message, user=5)
    check_chars({**message, "excludeFromContext": True}, user=5)


def test_a_system_message_counts_sections_and_tools() -> None:
    message = {
        "role": "system",
        "content": "abc",
        "sections": {"x": "de", "y": None, "z": ""},
        "toolsAdded": [{"name": "t"}],
    }
    check_chars(message, system=3 + 2 + len('[{"name":"t"}]'))
    check_chars({"role": "system", "content": [text("abc")], "toolsAdded": []}, system=3 + 2)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": "unheard-of", "content": "abc"},
        {"role": ["user"], "content": "abc"},
        {"role": "assistant", "content": "abc"},
        {"role": "assistant", "content": [None, "abc", text(None), text(5), text(["a"])]},
        {"role": "assistant", "content": [{"type": "toolCall"}]},
        {"role": "user", "content": None},
        {"role": "user", "content": {"type": "text", "text": "abc"}},
        {"role": "bashExecution", "command": 5},
        {"role": "branchSummary"},
    ],
)
def test_what_is_unknown_or_malformed_counts_nothing(message: dict[str, Any]) -> None:
    assert estimate_tokens(message) == 0


def test_a_call_without_arguments_counts_its_name() -> None:
    check_chars({"role": "assistant", "content": [{"type": "toolCall", "name": "ls"}]}, toolCalls=2)


USAGE = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"totalTokens": 7, **USAGE}, 7),
        ({"totalTokens": 0, **USAGE}, 10),
        ({"totalTokens": None, **USAGE}, 10),
        (USAGE, 10),
        ({**USAGE, "input": None}, 9),
        ({"totalTokens": 7}, 7),
        ({"input": 1, "output": 2, "cacheRead": 3}, None),
        ({**USAGE, "input": "1"}, None),
        ({"totalTokens": "7"}, None),
        ({"totalTokens": -7, **USAGE}, None),
        ({"totalTokens": True, **USAGE}, None),
        ({"totalTokens": 6.5}, 7),
        ({"totalTokens": float("inf")}, None),
        (dict.fromkeys(USAGE, 0), None),
        ({}, None),
        (None, None),
        ("7", None),
    ],
)
def test_usage_is_measured_when_it_is_whole(usage: Any, tokens: int | None) -> None:
    assert usage_tokens({"role": "assistant", "usage": usage}) == tokens


def test_only_answers_that_came_to_an_end_are_measured() -> None:
    measured = {"role": "assistant", "usage": USAGE, "stopReason": "length"}
    assert usage_tokens(measured) == 10
    assert usage_tokens({**measured, "stopReason": "aborted"}) is None
    assert usage_tokens({**measured, "stopReason": "error"}) is None
    assert usage_tokens({**measured, "role": "user"}) is None
    assert usage_tokens({"role": "assistant"}) is None


def test_text_blocks_are_joined() -> None:
    assert content_text("abc", "-") == "abc"
    assert content_text([text("a"), IMAGE, None, text(1.0), text(None), text(True)], "-") == (
        "a-1--true"
    )
    assert content_text(None, "-") == ""


def system(content: Any, **members: Any) -> dict[str, Any]:
    return {"role": "system", "content": content, **members}


def check_replay(messages: list[dict[str, Any]], expected: dict[str, Any] | None) -> None:
    state = replay_all(messages)
    assert state.message() == expected
    assert list(state.message() or {}) == list(expected or {})
    assert state.tokens == (estimate_tokens(expected) if expected else 0)


def test_without_system_messages_there_is_none() -> None:
    check_replay([], None)
    check_replay([{"role": "user", "content": "hello", "timestamp": 1}], None)
    # pi counts a message with neither time nor tools as none.
    check_replay([system("hello")], None)


def test_contents_are_joined_and_the_first_time_stays() -> None:
    check_replay(
        [system("a", timestamp=5), system(""), system([text("b"), text("c")], timestamp=9)],
        {"role": "system", "content": "a\n\nb\nc", "timestamp": 5},
    )
    check_replay([system("a", timestamp=None)], {"role": "system", "content": "a", "timestamp": 0})


def test_sections_are_patched_by_name() -> None:
    check_replay(
        [
            system("", sections={"x": "1", "y": "2"}, timestamp=5),
            system("", sections={"x": None, "y": "3", "z": "4"}),
            system("", sections={"x": "5"}),
        ],
        {
            "role": "system",
            "content": "",
            "sections": {"y": "3", "z": "4", "x": "5"},
            "timestamp": 5,
        },
    )


def test_tools_are_removed_before_others_are_added() -> None:
    check_replay(
        [
            system("", toolsAdded=[{"name": "a"}, {"name": "b"}]),
            system("", toolsRemoved=[{"name": "a"}], toolsAdded=[{"name": "a", "new": True}]),
            system("", toolsRemoved=[{"name": "unheard-of"}], toolsAdded=None),
        ],
        {
            "role": "system",
            "content": "",
            "toolsAdded": [{"name": "b"}, {"name": "a", "new": True}],
            "timestamp": 0,
        },
    )


def test_replaying_leaves_the_earlier_state_alone() -> None:
    first = replay(EMPTY, system("a", sections={"x": "1"}, toolsAdded=[{"name": "t"}]))
    before = first.message()
    replay(first, system("b", sections={"x": None}, toolsRemoved=[{"name": "t"}]))
    assert first.message() == before
    assert replay(first, {"role": "user", "content": "c"}) is first
