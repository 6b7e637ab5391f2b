"""Summaries without a model: what stands in which section, how long they get, what they keep."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pisessiond.core.extract import LEAST_LENGTH, LENGTH_LIMIT, extract_summary, length_limit
from pisessiond.core.extract_text import lead, sentences, shorten
from pisessiond.core.javascript import utf16_length, well_formed
from pisessiond.core.projection import Message
from pisessiond.core.summary_prompts import make_prompt
from pisessiond.core.summary_task import SummaryTask, TaskKind
from pisessiond.core.tokens import estimate_tokens
from pisessiond.summarizers.extract import ExtractSummarizer

KINDS: tuple[TaskKind, ...] = ("history", "turnPrefix", "branch")


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def says(text: str) -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def calls(number: int, name: str, **arguments: Any) -> Message:
    call = {"type": "toolCall", "id": f"c{number}", "name": name, "arguments": arguments}
    return {"role": "assistant", "content": [call]}


def result(number: int, text: str = "fine", *, fails: bool = False) -> Message:
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": f"c{number}", "content": content, "isError": fails}


def extract(*messages: Message, kind: TaskKind = "history", previous: str | None = None) -> str:
    return extract_summary(SummaryTask(kind, messages, previous))


def section(text: str, name: str) -> list[str]:
    """The lines under a heading."""
    pattern = rf"^#{{2,3}} {re.escape(name)}$\n?(.*?)(?=^#|\Z)"
    found = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return [line for line in found[1].splitlines() if line]


WORK = (
    user("Mend the parser in src/parse.py.\n\nIt must never drop a line. Tests are in tests/."),
    says("I read it first, because the grammar is unclear."),
    calls(1, "read", path="src/parse.py"),
    result(1),
    calls(2, "edit", path="src/parse.py", edits=[]),
    result(2),
    calls(3, "bash", command="pytest -q"),
    result(3, "....F\nE   AssertionError: 3 != 4\n1 failed", fails=True),
    calls(4, "bash", command="ruff check"),
    result(4, "error: E501", fails=True),
    calls(5, "bash", command="ruff check"),
    result(5),
    user("Go on, and look at https://example.org/grammar too."),
    says("The count is off by one.\n\n1. Correct the count\n2. Run the tests again"),
)


def test_each_section_is_made_from_what_belongs_to_it() -> None:
    text = extract(*WORK)
    goal = section(text, "Goal")
    assert goal[0] == "- Mend the parser in src/parse.py."
    assert goal[1].startswith("- Go on, and look at")
    assert section(text, "Constraints & Preferences") == ["- It must never drop a line."]
    assert section(text, "Done") == ["- [x] Changed `src/parse.py`", "- [x] Ran `ruff check`"]
    assert section(text, "In Progress")[-1].startswith("- [ ] Go on")
    assert section(text, "Blocked") == ["- `pytest -q` failed: 1 failed"]
    assert section(text, "Key Decisions")[0].endswith("because the grammar is unclear.")
    assert section(text, "Next Steps")[:2] == ["1. Correct the count", "2. Run the tests again"]
    context = "\n".join(section(text, "Critical Context"))
    assert "https://example.org/grammar" in context
    assert "1 failed" in context


@pytest.mark.parametrize("kind", KINDS)
def test_the_headings_are_those_that_models_are_asked_for(kind: TaskKind) -> None:
    task = SummaryTask(kind, WORK)
    asked = re.findall(r"^#{2,3} .*$", make_prompt(task).user, re.MULTILINE)
    assert re.findall(r"^#{2,3} .*$", extract_summary(task), re.MULTILINE) == asked


@pytest.mark.parametrize("kind", KINDS)
def test_no_section_is_empty_where_there_is_material(kind: TaskKind) -> None:
    bare = [part for part in extract(*WORK, kind=kind).split("\n\n") if part.endswith("(none)")]
    assert bare == []
    for part in extract(*WORK, kind=kind).split("\n\n"):
        assert "\n" in part or part == "## Progress"


@pytest.mark.parametrize(
    "sentence",
    [
        "Never push to main.",
        "Bitte niemals auf main pushen.",
        "不要推送到主分支。",
        "必ずテストを書いて。",
        "Никогда не пушить в main.",
    ],
)
def test_demands_are_found_in_many_languages(sentence: str) -> None:
    text = extract(user(f"Look at this\n\n{sentence}"), says("ok"))
    assert section(text, "Constraints & Preferences") == [f"- {sentence}"]


def test_a_branch_without_its_results_takes_calls_for_done() -> None:
    text = extract(user("x"), calls(1, "write", path="a.py"), kind="branch")
    assert section(text, "Done") == ["- [x] Wrote `a.py`"]


def test_a_call_that_has_not_come_back_is_in_progress() -> None:
    text = extract(user("x"), calls(1, "read", path="b"), result(1), calls(2, "bash", command="m"))
    assert section(text, "In Progress")[0] == "- [ ] `m` has not come back"


def test_what_the_user_ran_counts_unless_it_is_kept_from_the_context() -> None:
    ran = {"role": "bashExecution", "command": "make", "output": "no rule\n", "exitCode": 2}
    kept = {**ran, "command": "secret", "excludeFromContext": True}
    text = extract(user("x"), ran, kept)
    assert section(text, "Blocked") == ["- `make` failed: no rule"]
    assert "secret" not in text


def test_code_is_no_sentence_and_no_goal() -> None:
    text = "```py\nmust = never\n```\nMake it faster. It is slow."
    assert lead(text) == "Make it faster. It is slow."
    assert list(sentences(text)) == ["Make it faster.", "It is slow."]
    assert lead("```py\nx = 1\n```") == "x = 1"


# Earlier summaries


def test_a_summary_before_is_kept_and_brought_up_to_date() -> None:
    before = extract(*WORK)
    after = extract(
        user("Now document it."),
        calls(1, "bash", command="pytest -q"),
        result(1),
        calls(2, "write", path="README.md"),
        result(2),
        previous=before,
    )
    assert section(after, "Goal")[0] == "- Mend the parser in src/parse.py."
    assert section(after, "Goal")[-1] == "- Now document it."
    done = section(after, "Done")
    assert done[0] == "- [x] Changed `src/parse.py`"
    assert done[-1] == "- [x] Wrote `README.md`"
    assert section(after, "Constraints & Preferences") == ["- It must never drop a line."]
    # It went well this time.
    assert section(after, "Blocked") == ["(none)"]


def test_the_summary_of_a_model_is_kept_too() -> None:
    before = """## Goal
Ship it
  in March

## Constraints & Preferences
- (none)

## Progress
### Done
- [x] **Parser**: done
### In Progress
- [ ] Docs

## Key Decisions
- **TOML**: simple

## Next Steps
1. Release

## Critical Context
- port 8080

---

**Turn Context (split turn):**

## Original Request
Add a flag
"""
    text = extract(user("More"), says("Fine"), previous=before)
    assert section(text, "Goal")[:2] == ["- Ship it in March", "- Add a flag"]
    assert section(text, "Done")[0] == "- [x] **Parser**: done"
    assert section(text, "Key Decisions")[0] == "- **TOML**: simple"
    assert "- port 8080" in section(text, "Critical Context")
    assert "Turn Context" not in text


def test_a_summary_without_headings_is_context() -> None:
    text = extract(user("More"), previous="The server listens at 8080.")
    assert "- The server listens at 8080." in section(text, "Critical Context")


def test_summaries_among_the_messages_count_as_said_before() -> None:
    other = {"role": "branchSummary", "summary": "## Key Decisions\n- Use TOML\n"}
    text = extract(user("x"), other, kind="branch")
    assert "- Use TOML" in section(text, "Key Decisions")


def test_a_hundred_compactions_do_not_let_it_grow_without_bound() -> None:
    before: str | None = None
    for at in range(100):
        messages = (
            user(f"Wish {at}: it must {'very ' * 40}fast"),
            says(f"Answer {at} " + "because words " * 30),
            calls(at, "edit", path=f"src/file{at}.py"),
            result(at),
        )
        text = extract(*messages, previous=before)
        assert utf16_length(text) <= LENGTH_LIMIT
        before = text
    assert before is not None
    assert "Wish 0:" in before
    assert "Wish 99:" in before
    assert "`src/file99.py`" in before


# Length

EMOJI = "👩🏽‍💻"
WORDS = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from("。！？漢字\n .`#-*🙂👍🏽\u200d\ud83d必须")
    ),
    max_size=600,
)
MESSAGES = st.lists(
    st.one_of(
        WORDS.map(user),
        WORDS.map(says),
        st.builds(lambda path, at: calls(at, "edit", path=path), WORDS, st.integers(0, 5)),
        st.builds(lambda cmd, at: calls(at, "bash", command=cmd), WORDS, st.integers(0, 5)),
        st.builds(
            lambda text, at, bad: result(at, text, fails=bad),
            WORDS,
            st.integers(0, 5),
            st.booleans(),
        ),
    ),
    max_size=30,
)


@given(MESSAGES, st.sampled_from(KINDS), st.one_of(st.none(), WORDS), st.integers(1, 5_000))
@settings(max_examples=200)
def test_it_is_never_longer_than_it_may_be_and_always_well_formed(
    messages: list[Message], kind: TaskKind, previous: str | None, max_tokens: int
) -> None:
    task = SummaryTask(kind, tuple(messages), previous, max_tokens=max_tokens)
    text = extract_summary(task)
    assert utf16_length(text) <= length_limit(task)
    assert well_formed(text) == text
    text.encode()


@given(MESSAGES, MESSAGES)
@settings(max_examples=50)
def test_what_it_stands_for_was_larger(messages: list[Message], more: list[Message]) -> None:
    before = extract_summary(SummaryTask("history", tuple(messages)))
    after = extract_summary(SummaryTask("history", tuple(more), before))
    new = sum(map(estimate_tokens, more))
    if 4 * new > 2 * LEAST_LENGTH:
        assert utf16_length(after) < 4 * new + utf16_length(before)


def test_no_material_still_gives_all_headings() -> None:
    text = extract()
    assert text.count("(none)") == 8
    assert utf16_length(text) < LEAST_LENGTH


def test_even_the_shortest_has_something_of_each_section() -> None:
    task = SummaryTask("history", WORK, max_tokens=1)
    text = extract_summary(task)
    assert "(none)" not in text
    assert utf16_length(text) <= LEAST_LENGTH


@pytest.mark.parametrize("word", [EMOJI, "e\u0301", "👍🏽", "1\ufe0f\u20e3", "🙂"])
@given(limit=st.integers(2, 40), gap=st.sampled_from(["", " "]))
def test_a_character_is_never_cut(word: str, limit: int, gap: str) -> None:
    cut = shorten(gap.join([word] * 30), limit)
    assert utf16_length(cut) <= limit
    assert cut.endswith("…")
    assert cut[:-1].replace(" ", "").replace(word, "") == ""


def test_words_are_cut_between_words_and_scripts_without_spaces_anywhere() -> None:
    assert shorten("alpha beta gamma", 13) == "alpha beta…"
    assert shorten("漢字" * 10, 6) == "漢字漢字漢…"
    assert shorten("short", 5) == "short"


@pytest.mark.anyio
async def test_the_summarizer_tells_how_much_it_wrote_and_names_no_model() -> None:
    told: list[int] = []
    task = SummaryTask("history", WORK)
    written = await ExtractSummarizer().write(task, told.append)
    assert written.text == extract_summary(task)
    assert told == [utf16_length(written.text)]
    assert (written.usage, written.model) == (None, None)
    assert ExtractSummarizer().is_extract
