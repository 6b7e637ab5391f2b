"""Titles: what tells most of an entry, first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core.javascript import utf16_length
from pisessiond.core.titles import LIMIT, call_title, calls_of, telling_line, title
from tests.core.test_preview import HOSTILE, TYPES, VALUES, is_plain


def entry(role: str, **rest: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, **rest}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": "c1", "name": name, "arguments": arguments}


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ("Fix the login", "Fix the login"),
        ("\n\n  Fix\tthe login \nand more", "Fix the login"),
        ("## The **goal** of `this`", "The goal of this"),
        ("> - [x] done already", "done already"),
        ("1. first\n2. second", "first"),
        ("---\n***\n\n| --- | --- |\nwords", "words"),
        ("```python\nimport os\n```", "import os"),
        ("<context>\n<file path='a'>\n</file>\nWhat is this?", "What is this?"),
        ("<b>bold</b> words", "<b>bold</b> words"),
        ("-5 degrees", "-5 degrees"),
        ("#hashtag", "#hashtag"),
        ("*emphasis* stays", "*emphasis* stays"),
        ("👍", "👍"),
        ("???", "???"),
        ("- \n* \n> ", "- * >"),
        ("", ""),
        ("a\u202eb\u200bc\x1b[31m", "abc[31m"),
        ("\u200b\u200b\nwords", "words"),
        ("x" * 81, "x" * 79 + "…"),
    ],
)
def test_the_first_line_that_tells_anything(told: str, line: str) -> None:
    assert telling_line(told) == line


@pytest.mark.parametrize(
    ("block", "line"),
    [
        (call("bash", command="pytest -q --tb=long"), "bash pytest -q --tb=long"),
        (call("bash", command="cd /srv\n\npytest"), "bash cd /srv pytest"),
        (call("read", path="src/a.py"), "read src/a.py"),
        (call("read", path="src/a.py", offset=40, limit=41), "read src/a.py:40-80"),
        (call("read", path="src/a.py", offset=40), "read src/a.py:40"),
        (call("read", path="src/a.py", offset="40", limit=True), "read src/a.py"),
        (
            call("edit", path="/srv/someone/project/src/session/store.py", edits=[]),
            "edit …/someone/project/src/session/store.py",
        ),
        (call("write", path="/a/" + "b" * 60), "write …/" + "b" * 60),
        (call("write", path="b" * 60), "write " + "b" * 60),
        (call("grep", path="src", pattern="def main"), "grep def main"),
        (call("ask", question="## Which\none?", n=1), "ask Which"),
        (call("ls"), "ls"),
        (call("", path="a"), "call a"),
        ({"type": "toolCall"}, "call"),
        (None, ""),
    ],
)
def test_a_call_names_its_tool_before_its_target(block: Any, line: str) -> None:
    assert call_title(block) == line


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (entry("user", content="## Fix\nit"), "Fix"),
        (entry("user", content=[text(""), {"type": "image"}]), "[1 image]"),
        (entry("user", content=[{"type": "image"}] * 2), "[2 images]"),
        (entry("user", content=None), ""),
        (entry("assistant", content=[text("Done"), call("ls")]), "Done"),
        (entry("assistant", content=[call("ls"), call("read", path="a")]), "ls · read a"),
        (entry("assistant", content=[], stopReason="aborted"), "aborted"),
        (
            entry("assistant", content=[], stopReason="error", errorMessage="overloaded"),
            "error: overloaded",
        ),
        (entry("assistant", content=[{"type": "thinking", "thinking": "Hm"}]), "thinking"),
        (entry("toolResult", toolName="bash", content="\n1 failed\n"), "bash: 1 failed"),
        (entry("toolResult", toolName="read", content=[{"type": "image"}]), "read: [1 image]"),
        (entry("bashExecution", command="npm test", output="x"), "npm test"),
        (entry("custom", customType="plan", content="approved"), "plan: approved"),
        (
            {"type": "custom_message", "customType": "plan-mode", "content": "approved"},
            "plan-mode: approved",
        ),
        ({"type": "compaction", "summary": "## Goal", "tokensBefore": 186_000}, "Compaction 186k"),
        ({"type": "compaction", "summary": "x"}, "Compaction"),
        (
            {"type": "branch_summary", "summary": "## Goal\nA clock"},
            "Summary of the branch left: Goal",
        ),
        ({"type": "model_change", "provider": "p", "modelId": "opus-5"}, "model p opus-5"),
        ({"type": "label", "label": "green"}, "label green"),
        ({"type": "foo"}, "unknown: foo"),
    ],
)
def test_an_entry_is_known_by_what_tells_most(one: dict[str, Any], line: str) -> None:
    assert title(one) == line


def test_a_tool_result_is_known_by_the_call_it_answers() -> None:
    answer = entry("assistant", content=[text("Let me see"), call("bash", command="pytest -q")])
    result = entry("toolResult", toolCallId="c1", toolName="bash", content="1 failed")
    (made,) = calls_of(answer)
    assert title(result, call_title(made)) == "bash pytest -q"
    assert title(result) == "bash: 1 failed"


@given(
    st.sampled_from(TYPES),
    st.dictionaries(
        st.sampled_from(
            ["message", "summary", "content", "name", "customType", "tokensBefore", "label"]
        ),
        VALUES,
    ),
    HOSTILE,
    st.sampled_from([20, LIMIT, 200]),
)
def test_any_entry_has_a_title(
    kind: str, members: dict[str, Any], call_words: str, limit: int
) -> None:
    line = title({"type": kind, "id": "x", **members}, call_words, limit)
    assert is_plain(line)
    assert line == line.strip()
    assert utf16_length(line) <= limit


@given(HOSTILE)
def test_any_text_has_a_telling_line(words: str) -> None:
    line = telling_line(words)
    assert is_plain(line)
    assert utf16_length(line) <= LIMIT
    line.encode()
