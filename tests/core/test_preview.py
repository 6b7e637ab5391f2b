"""Previews: one plain line whatever the entry holds."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core.javascript import utf16_length
from pisessiond.core.preview import LIMIT, clean_line, preview

HOSTILE = st.text(
    st.characters(codec=None, categories=None)  # surrogates and everything else
    | st.sampled_from("\x1b\x07\x00\x7f\x9b\u202e\u2066\u200b\ufeff\u2028\u0085\n\r\t\u3000 🙂é"),
    max_size=260,
)


def is_plain(line: str) -> bool:
    return all(
        unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") and char not in BIDI
        for char in line
    )


BIDI = "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"


@given(HOSTILE)
def test_any_text_becomes_one_short_plain_line(text: str) -> None:
    line = clean_line(text)
    assert is_plain(line)
    assert line == line.strip()
    assert "  " not in line
    assert utf16_length(line) <= LIMIT
    line.encode()
    assert clean_line(line) == line


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | HOSTILE,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "role", "content", "name", "arguments", "path", "summary"]
            ),
            inner
            | st.sampled_from(["text", "toolCall", "image", "user", "assistant", "bashExecution"]),
            max_size=4,
        )
    ),
    max_leaves=10,
)
TYPES = (
    "message compaction branch_summary custom_message context_edit thinking_level_change "
    "model_change active_tools_change label session_info usage custom leaf tomorrow"
).split()


@given(
    st.sampled_from(TYPES),
    st.dictionaries(
        st.sampled_from(
            [
                "message",
                "summary",
                "content",
                "name",
                "label",
                "targetId",
                "customType",
                "activeToolNames",
                "kind",
                "model",
            ]
        ),
        VALUES,
    ),
)
def test_any_entry_has_a_preview(kind: str, members: dict[str, Any]) -> None:
    line = preview({"type": kind, "id": "x", **members})
    assert is_plain(line)
    assert utf16_length(line) <= LIMIT


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ({"role": "user", "content": " a\n\tb "}, "a b"),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
            "a b",
        ),
        ({"role": "user", "content": [{"type": "image"}]}, "[1 image]"),
        ({"role": "user", "content": [{"type": "image"}] * 2}, "[2 images]"),
        ({"role": "user", "content": None}, ""),
        ({"role": "user", "content": "\x1b[31mred\x1b[0m"}, "[31mred[0m"),
        ({"role": "user", "content": "a\u202eb\u200bc"}, "abc"),
        ({"role": "user", "content": "a \x1b b"}, "a b"),
        ({"role": "bashExecution", "command": "ls\n-l", "output": "x"}, "ls -l"),
        ({"role": "assistant", "content": [], "errorMessage": "no"}, "no"),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "x"},
                    {"type": "toolCall", "name": "read", "arguments": {"path": "a.py"}},
                    {"type": "toolCall", "name": "other", "arguments": None},
                ],
            },
            "read a.py · other",
        ),
        (None, ""),
        ([], ""),
        ({"role": ["odd"], "content": "text"}, "text"),
    ],
)
def test_a_message_is_known_by_its_words(message: Any, line: str) -> None:
    assert preview({"type": "message", "message": message}) == line


def test_a_long_line_is_cut_at_a_character_and_says_so() -> None:
    assert clean_line("x" * 200) == "x" * 200
    assert clean_line("x" * 201) == "x" * 199 + "…"
    assert clean_line("x" * 198 + "🙂🙂") == "x" * 198 + "…"
    assert clean_line("x" * 198 + "🙂") == "x" * 198 + "🙂"


def test_a_huge_text_costs_no_more_than_its_beginning() -> None:
    assert preview({"type": "compaction", "summary": json.dumps(["x"] * 10**6)}).endswith("…")
