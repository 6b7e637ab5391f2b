"""What a context is made of at every entry, against the plain projection."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core import kinds
from pisessiond.core.composition import LARGEST, Composition
from pisessiond.core.index import NONE
from pisessiond.core.lines import Head, read_line
from pisessiond.core.session import Session
from pisessiond.core.tokens import PARTS, estimate_tokens, message_chars, message_parts
from tests.core.test_roads import MESSAGE
from tests.core.test_sizes import BODY, lines, message, opened
from tests.support.corpus import SAMPLES, Sample
from tests.support.naive import iso, naive_composition
from tests.support.random_sessions import leafy, mutated, ordinary, repeated
from tests.support.seen import open_file

Entry = dict[str, Any]

BLOCKS = st.lists(
    st.sampled_from(
        [
            {"type": "text", "text": "x"},
            {"type": "text", "text": "🙂🙂"},
            {"type": "thinking", "thinking": "abcde"},
            {"type": "toolCall", "name": "ls", "arguments": {"path": "."}},
            {"type": "image", "data": "", "mimeType": "image/png"},
            {"type": "hologram", "text": "unseen"},
        ]
    ),
    max_size=4,
)
RICH = BODY | st.builds(
    lambda role, content: message(role, content=content),
    st.sampled_from(["user", "assistant", "toolResult", "custom"]),
    BLOCKS,
)


def check(session: Session, row: int) -> None:
    """That a row's composition is the projection's, counted message by message."""
    composition = Composition(session.sizes, row)
    check_same(session, row, composition)


def check_same(session: Session, row: int, composition: Composition) -> None:
    parts, ranked = naive_composition(session.projection(row))
    assert composition.parts() == parts
    assert sum(parts.values()) == session.size_at(row).estimated
    told = composition.largest(10_000)
    assert [tokens for _, tokens in told] == [tokens for _, tokens in ranked][: len(told)]
    assert {(session.id_of(at), tokens) for at, tokens in told} <= set(ranked)
    assert len(told) >= min(LARGEST, len(ranked))


def entries_of(drawn: list[tuple[str, str | None, Entry]]) -> list[Entry]:
    return [
        {"id": name, "parentId": parent, "timestamp": iso(0), **body}
        for name, parent, body in drawn
    ]


@given(lines(RICH))
def test_any_file_at_any_entry(drawn: list[tuple[str, str | None, Entry]]) -> None:
    session = opened(entries_of(drawn))
    session.measure_rest()
    for row in (NONE, *session.index.in_order()):
        check(session, row)


@given(st.lists(st.tuples(st.integers(0, 99), RICH), max_size=14))
def test_it_goes_on_with_what_is_appended(drawn: list[tuple[int, Entry]]) -> None:
    stored: dict[int, bytes] = {}
    session = opened([])
    session._read_lines = lambda wanted: [stored[at] for at, _ in wanted]
    composition = Composition(session.sizes, NONE)
    for row, (number, body) in enumerate(drawn):
        for name in ("firstKeptEntryId", "targetId"):
            if name in body:
                body = {**body, name: f"e{number % (row + 1)}"}
        parent = f"e{row - 1}" if row else None
        entry = {"id": f"e{row}", "parentId": parent, "timestamp": iso(0), **body}
        stored[row] = json.dumps(entry).encode()
        head = read_line(stored[row])
        assert isinstance(head, Head)
        session.take_in(head, stored[row], row)
        session.size_at(row)
        if not composition.go_on(row):
            has_edit = session.index.has_forward_edit
            assert head.kind == kinds.COMPACTION or has_edit
            composition = Composition(session.sizes, row)
        assert composition.row == row
        check_same(session, row, composition)


def test_an_edit_of_a_large_entry_lets_the_next_one_in() -> None:
    entries: list[Entry] = []
    for number in range(100):
        entries.append({**message("user", content="x" * 4 * (number + 1)), "id": f"e{number}"})
    for number in range(60):
        edit = {"type": "context_edit", "targetId": f"e{99 - number}", "replacement": None}
        entries.append({**edit, "id": f"edit{number}"})
    for above, entry in zip([None, *entries], entries, strict=False):
        entry["parentId"] = above and above["id"]
    session = opened(entries)
    session.measure_rest()
    composition = Composition(session.sizes, 99)
    for row in range(100, 160):
        assert composition.can_spare(1) == (row < 154)
        assert not composition.go_on(row)
        session.size_at(row)
        assert composition.reach(row, 1)
        if composition.can_spare(0):
            check_same(session, row, composition)
    assert not composition.can_spare(0)
    check(session, 159)


@given(MESSAGE)
def test_the_parts_of_a_message_are_whole_and_add_up(given_message: Entry) -> None:
    parts = message_parts(given_message)
    assert sum(parts.values()) == estimate_tokens(given_message)
    assert all(tokens >= 0 for tokens in parts.values())
    chars = message_chars(given_message)
    assert parts.keys() == chars.keys()
    assert all(abs(parts[part] - chars[part] / 4) < 1 for part in parts)


@pytest.mark.parametrize(
    ("role", "content", "parts"),
    [
        ("user", "🙂" * 4_000, {"user": 2_000}),
        ("user", "語" * 4_000, {"user": 1_000}),
        ("user", [{"type": "image"}], {"images": 1_200}),
        ("toolResult", [{"type": "image"}] * 2, {"images": 2_400}),
        ("toolResult", [{"type": "text", "text": "x"}, {"type": "image"}], {"images": 1_200}),
        ("assistant", [{"type": "image"}], {}),
        ("assistant", [{"type": "text", "text": "🙂" * 4_000}], {"assistant": 2_000}),
        ("assistant", [{"type": "thinking", "thinking": "語" * 4_000}], {"thinking": 1_000}),
    ],
)
def test_parts_to_the_token(role: str, content: Any, parts: dict[str, int]) -> None:
    session = opened([{**message(role, content=content), "id": "a", "parentId": None}])
    session.measure_rest()
    told = {k: v for k, v in Composition(session.sizes, 0).parts().items() if v}
    has_text = role == "toolResult" and len(content) == 2 and content[0]["type"] == "text"
    assert told == ({**parts, "toolResults": 1} if has_text else parts)
    assert list(Composition(session.sizes, NONE).parts()) == list(PARTS)


OPENED = [one for one in SAMPLES if "error" not in one.pi_open and one.path.stat().st_size]


@pytest.mark.parametrize("sample", OPENED, ids=str)
def test_the_corpus(sample: Sample) -> None:
    session = open_file(sample.path)
    rows = session.index.in_order()
    # Every projection is read and counted anew, so of long files every so manyth entry will do.
    for row in rows[:: max(1, len(rows) // 40)]:
        check(session, row)


@pytest.mark.parametrize("make", [ordinary, repeated, leafy, mutated])
@pytest.mark.parametrize("seed", range(12))
def test_random_sessions(make: Any, seed: int, tmp_path: Any) -> None:
    path = tmp_path / "made.jsonl"
    path.write_bytes(make(seed).data)
    session = open_file(path)
    for row in session.index.in_order():
        check(session, row)
