"""An entry as an editor shows it beside the line: who, when, its size there, and what it says.

Nothing that anyone wrote stands outside a code span or a fence, so that no renderer makes a link, a
picture or a tag of it, whatever it knows of Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pisessiond.core.export_markdown import fenced
from pisessiond.core.export_parts import Part, tell
from pisessiond.core.export_text import clean_block, clock_of, format_tokens, plain
from pisessiond.core.javascript import stringify
from pisessiond.core.problems import Problem
from pisessiond.core.totals import Totals
from pisessiond.service.entry_facts import EntryFacts

_MOST_READ: Final = 3_000
_MOST_READ_LINES: Final = 60
"""Characters and lines of what is read."""
_MOST_FOLDED: Final = 600
_MOST_FOLDED_LINES: Final = 10
"""Of thinking, calls and output, which are cut."""
_MOST_PARTS: Final = 12

_PLACES: Final = {
    "leaf": "● you are here",
    "active": "on the active branch",
    "other": "on another branch",
    "replaced": "a later line has its id",
}


def entry_text(facts: EntryFacts, percent: float | None, *, markdown: bool) -> str:
    """What is shown of an entry.

    Args:
        facts: all of it.
        percent: its context size, of the window; None when that is unknown.
        markdown: whether the editor reads Markdown; else it is plain text.
    """
    page = _Page(markdown)
    told = tell(facts.entry)
    who = told.who if told is not None else _word(facts.entry.get("type"))
    detail = facts.call or (told.detail if told is not None else "")
    failed = " · failed" if told is not None and told.failed else ""
    page.heading(who, detail, failed)
    day, time = clock_of(facts.entry)
    page.facts(f"{day} {time}".strip(), page.code(plain(facts.id)), *_states(facts, page))
    page.facts(*_figures(facts, percent))
    for problem in facts.problems:
        page.facts(f"⚠ {_sentence(problem)}")
    if told is None:
        page.block("json", *_cut(clean_block(stringify(facts.entry)), is_folded=True))
        return page.text()
    for part in told.parts[:_MOST_PARTS]:
        _tell_part(page, part)
    if len(told.parts) > _MOST_PARTS:
        page.facts(f"… {len(told.parts) - _MOST_PARTS:,} more parts")
    return page.text()


def header_text(header: dict[str, Any], name: str | None, entries: int, *, markdown: bool) -> str:
    """What is shown of the line that a session begins with."""
    page = _Page(markdown)
    page.heading("Session", plain(name) or plain(header.get("id")), "")
    page.facts(f"{entries:,} entries", page.code(plain(header.get("timestamp"))))
    for word, member in (("id", "id"), ("folder", "cwd"), ("forked from", "parentSession")):
        if told := plain(header.get(member), 1_000):
            page.facts(f"{word} {page.code(told)}")
    return page.text()


def problem_text(problems: list[Problem], *, markdown: bool) -> str:
    """What is shown of a line that is no entry."""
    page = _Page(markdown)
    page.heading("No entry", "", "")
    for problem in problems:
        page.facts(_sentence(problem))
    return page.text()


def _sentence(problem: Problem) -> str:
    # These words are ours alone.
    return f"{problem.message} {problem.consequence}".rstrip()


def _word(kind: object) -> str:
    return {
        "label": "Label",
        "session_info": "Name",
        "usage": "Usage",
        "custom": "State of an extension",
        "leaf": "Leaf",
        "thinking_level_change": "Thinking level",
        "active_tools_change": "Tools",
    }.get(kind if isinstance(kind, str) else "", "Hidden note")


def _states(facts: EntryFacts, page: _Page) -> Iterator[str]:
    if facts.label:
        yield f"label {page.code(facts.label)}"
    yield _PLACES[facts.place]
    if facts.children > 1:
        yield f"{facts.children} branches go on from here"
    if facts.is_summarised:
        yield "summarised: not in the context"
    if facts.is_left_out is not None:
        yield "out of the context" if facts.is_left_out else "replaced in the context"


def _figures(facts: EntryFacts, percent: float | None) -> Iterator[str]:
    size = facts.size
    if size is not None:
        of_window = "" if percent is None else f" ({int(percent + 0.5)}%)"
        if size.measured is None:
            yield f"context here ~{format_tokens(size.tokens)}{of_window}, estimated"
        else:
            yield f"context here {format_tokens(size.tokens)}{of_window}, measured"
    if facts.own:
        yield f"itself ~{format_tokens(facts.own)}"
    if facts.usage is not None:
        yield from _usage(facts.usage)


def _usage(usage: Totals) -> Iterator[str]:
    read = usage.input + usage.cache_read + usage.cache_write
    yield f"read {format_tokens(int(read))}, wrote {format_tokens(int(usage.output))}"
    if usage.cost:
        yield f"cost ${usage.cost:.4f}"


def _tell_part(page: _Page, part: Part) -> None:
    is_folded = part.kind not in ("text", "summary")
    if is_folded and part.title and part.kind != "result":
        page.facts(page.code(part.title))
    language = "json" if part.kind == "data" else "" if is_folded else "markdown"
    if part.text.strip():
        page.block(language, *_cut(part.text.strip("\n"), is_folded=is_folded))


def _cut(text: str, *, is_folded: bool) -> tuple[str, int]:
    """As much of a text as is shown, and how many characters that leaves out."""
    most = _MOST_FOLDED if is_folded else _MOST_READ
    lines = _MOST_FOLDED_LINES if is_folded else _MOST_READ_LINES
    kept = "\n".join(text[:most].split("\n", lines)[:lines])
    return kept, len(text) - len(kept)


class _Page:
    """Lines of our own words, and blocks of theirs, as Markdown or as they are."""

    def __init__(self, is_markdown: bool) -> None:
        self._is_markdown = is_markdown
        self._pieces: list[str] = []

    def code(self, text: str) -> str:
        """A line of theirs among words of ours."""
        if not self._is_markdown or not text:
            return text
        longest = max(map(len, re.findall("`+", text)), default=0)
        fence = "`" * (longest + 1)
        # Without the blanks a sign of its own at either end would join the fence.
        pad = " " if longest else ""
        return f"{fence}{pad}{text}{pad}{fence}"

    def heading(self, who: str, detail: str, more: str) -> None:
        told = f" {self.code(detail)}" if detail else ""
        self._pieces.append((f"**{who}**" if self._is_markdown else who) + told + more)

    def facts(self, *facts: str) -> None:
        if line := " · ".join(fact for fact in facts if fact):
            self._pieces.append(line)

    def block(self, language: str, text: str, missing: int) -> None:
        self._pieces.append(fenced(text, language) if self._is_markdown else text)
        if missing:
            self._pieces.append(f"… {missing:,} more characters")

    def text(self) -> str:
        return "\n\n".join(self._pieces)
