"""The fast roads and the slow ones, where everything is parsed, give the same figures and heads."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core import kinds
from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.core.lines import Head, head_of, is_entry_id, read_line
from pisessiond.core.measuring import measure, measure_entry
from pisessiond.core.totals import Tally, tally

ODD = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        -1,
        1.5,
        "",
        "x",
        [],
        {},
        ["x"],
        {"a": 1},
        10**20,
        1e300,
        "🙂",
        "\ud800",
    ]
)
TEXT = st.sampled_from(["", "abc", "ünï", "🙂🙂", "x" * 50, "\ud83d", '\u2028\n\t\\"']) | ODD
ARGUMENTS = st.dictionaries(st.sampled_from(["path", "2", "1", "ü"]), TEXT, max_size=3) | ODD
BLOCK = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "thinking", "toolCall", "image", "other"]) | ODD,
        "text": TEXT,
        "thinking": TEXT,
        "name": TEXT,
        "arguments": ARGUMENTS,
    },
)
NUMBER = st.integers(-5, 500) | ODD
USAGE = st.fixed_dictionaries(
    {},
    optional={
        "totalTokens": NUMBER,
        "input": NUMBER,
        "output": NUMBER,
        "cacheRead": NUMBER,
        "cacheWrite": NUMBER,
        "cost": st.fixed_dictionaries({}, optional={"total": NUMBER}) | ODD,
    },
)
ROLES = [
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "custom",
    "system",
    "hookMessage",
    "new",
]
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(ROLES) | ODD,
        "content": st.lists(BLOCK | ODD, max_size=3) | TEXT,
        "usage": USAGE | ODD,
        "stopReason": st.sampled_from(["stop", "error", "aborted"]) | ODD,
        "model": TEXT,
        "command": TEXT,
        "output": TEXT,
        "summary": TEXT,
        "sections": ARGUMENTS,
        "toolsAdded": st.lists(ARGUMENTS, max_size=2) | ODD,
    },
)
TYPES = [*kinds.OF_TYPE, "message", "message", "session", "tomorrow"]
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(TYPES) | ODD,
        "id": st.sampled_from(["a", "b", 7]) | ODD,
        "parentId": st.sampled_from(["a", "b", 7]) | ODD,
        "timestamp": st.sampled_from(["2026-11-30T00:00:00.000Z"]) | ODD,
        "message": MESSAGE | ODD,
        "summary": TEXT,
        "content": st.lists(BLOCK, max_size=2) | TEXT,
        "usage": USAGE | ODD,
        "model": TEXT,
        "targetId": TEXT,
        "label": TEXT,
        "name": TEXT,
        "firstKeptEntryId": TEXT,
    },
)


def spell(entry: Any) -> bytes:
    return json.dumps(entry, ensure_ascii=True).encode()


def slow_head(line: bytes) -> Head | None:
    value = parse_json(line)
    if not isinstance(value, dict) or value.get("type") == "session":
        return None
    return head_of(value) if is_entry_id(value.get("id")) else None


@given(ENTRY)
def test_heads(entry: dict[str, Any]) -> None:
    line = spell(entry)
    understood = read_line(line)
    assert (understood if isinstance(understood, Head) else None) == slow_head(line)


@given(ENTRY)
def test_sizes(entry: dict[str, Any]) -> None:
    line = spell({"id": "a", **entry})
    head = slow_head(line)
    if head is not None:
        assert measure(head.kind, line) == measure_entry(head.kind, line)


@given(st.lists(ENTRY, max_size=4))
def test_totals(entries: list[dict[str, Any]]) -> None:
    slow = Tally()
    for entry in entries:
        parsed = parse_json(spell(entry))
        assert isinstance(parsed, dict)
        slow.add(parsed)
    assert tally(map(spell, entries)) == slow


@given(st.binary(max_size=30) | ENTRY.map(spell).map(lambda line: line[:-2]))
def test_any_bytes_are_some_line(line: bytes) -> None:
    line = line.replace(b"\n", b" ")
    understood = read_line(line)
    try:
        parse_json(line)
    except NotJson:
        assert not isinstance(understood, Head)
    for kind in (kinds.USER, kinds.ASSISTANT, kinds.COMPACTION, kinds.SYSTEM):
        assert measure(kind, line) == measure_entry(kind, line)
    tally([line])
