"""A summary without a model: the usual sections, made from the messages themselves.

It is what is left when no model can be asked, and it is chosen by name only: pi will read it
later as if a model had written it. It is never longer than the summary before it and half of
what is new together, and at most `LENGTH_LIMIT`, however often a session is compacted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from pisessiond.core.extract_gathering import SECTIONS, Material, Section, gather
from pisessiond.core.extract_text import one_line, shorten
from pisessiond.core.javascript import utf16_length
from pisessiond.core.projection import Message
from pisessiond.core.summary_task import SummaryTask, TaskKind
from pisessiond.core.tokens import message_chars

LENGTH_LIMIT: Final = 16_000
"""UTF-16 code units at most."""
LEAST_LENGTH: Final = 800
"""So many are always allowed: the headings alone take a quarter of it."""

_NONE: Final = "(none)"
_LEAST_ITEM: Final = 24
_LEAST_SHARE: Final = 48
_AROUND: Final = 8
"""What stands around an item at most: its mark and the end of the line."""

_Layout = tuple[tuple[str, tuple[Section, ...]], ...]
"""Headings, and what stands under each; one without sections only leads others."""

_WORK: Final[_Layout] = (
    ("## Goal", ("goal",)),
    ("## Constraints & Preferences", ("constraints",)),
    ("## Progress", ()),
    ("### Done", ("done",)),
    ("### In Progress", ("inProgress",)),
    ("### Blocked", ("blocked",)),
    ("## Key Decisions", ("decisions",)),
    ("## Next Steps", ("next",)),
)
_LAYOUTS: Final[dict[TaskKind, _Layout]] = {
    "history": (*_WORK, ("## Critical Context", ("context",))),
    "branch": _WORK,
    "turnPrefix": (
        ("## Asked", ("goal",)),
        ("## Done So Far", ("done", "decisions")),
        ("## Needed for the Rest", ("constraints", "blocked", "context")),
    ),
}
_MARKS: Final[dict[Section, str]] = {"done": "- [x] ", "inProgress": "- [ ] "}
_WEIGHTS: Final[dict[Section, int]] = {
    "goal": 4,
    "constraints": 3,
    "done": 4,
    "inProgress": 1,
    "blocked": 2,
    "decisions": 3,
    "next": 2,
    "context": 4,
}

# The headings of summaries that are brought up to date: pi's, agent-core's and our own.
_KNOWN_HEADINGS: Final[dict[str, Section]] = {
    "goal": "goal",
    "asked": "goal",
    "original request": "goal",
    "constraints & preferences": "constraints",
    "progress": "done",
    "done": "done",
    "done so far": "done",
    "progress so far": "done",
    "early progress": "done",
    "in progress": "inProgress",
    "blocked": "blocked",
    "key decisions": "decisions",
    "next steps": "next",
    "critical context": "context",
    "needed for the rest": "context",
    "context needed to continue": "context",
    "context for suffix": "context",
}
_HEADING: Final = re.compile(r"^#{1,6}\s+(.*?)\s*:?\s*#*$")
_ITEM: Final = re.compile(r"^\s*(?:[-*+]|\d{1,4}[.)])\s+(?:\[[ xX]\]\s+)?")
_RULE: Final = re.compile(r"^(?:-{3,}|\*\*[^*]+:?\*\*:?)$")
_FAILED: Final = re.compile(r"^(`.*`) failed")


def extract_summary(task: SummaryTask) -> str:
    """The text for a task. The user's own wishes cannot be heeded without a model."""
    material = gather(task.messages)
    earlier = [task.previous_summary or "", *_summaries(task.messages)]
    _put_before(material, _read_summaries(earlier))
    layout = _LAYOUTS[task.kind]
    used = [section for _, sections in layout for section in sections]
    limit = length_limit(task) - sum(len(heading) + 4 for heading, _ in layout)
    chosen = _choose({section: list(material.found[section]) for section in used}, limit)
    return "\n\n".join(_render(heading, sections, chosen) for heading, sections in layout)


def length_limit(task: SummaryTask) -> int:
    """How long the text for a task may be, in UTF-16 code units."""
    new = sum(chain.from_iterable(message_chars(m).values() for m in task.messages))
    had = utf16_length(task.previous_summary or "")
    return max(LEAST_LENGTH, min(LENGTH_LIMIT, 4 * task.max_tokens, had + new // 2))


# What earlier summaries said


def _summaries(messages: Iterable[Message]) -> list[str]:
    texts = (
        message.get("summary")
        for message in messages
        if message.get("role") in ("branchSummary", "compactionSummary")
    )
    return [text for text in texts if isinstance(text, str)]


def _read_summaries(texts: Iterable[str]) -> dict[Section, list[str]]:
    """What stood under which heading; what stood under none is context."""
    said: dict[Section, list[str]] = {section: [] for section in SECTIONS}
    for text in texts:
        section: Section = "context"
        for line in text.splitlines():
            if heading := _HEADING.match(line):
                section = _KNOWN_HEADINGS.get(heading[1].casefold(), "context")
            elif not _RULE.match(line.strip()):
                _take_line(said[section], line)
    return said


def _take_line(items: list[str], line: str) -> None:
    text = one_line(_ITEM.sub("", line))
    if not text or text == _NONE:
        return
    if items and line[:1].isspace() and not _ITEM.match(line):
        items[-1] = f"{items[-1]} {text}"
    else:
        items.append(text)


def _put_before(material: Material, earlier: Mapping[Section, Sequence[str]]) -> None:
    """What was said before, unless it is said again or is over."""
    for section, items in earlier.items():
        now = material.found[section]
        kept = dict.fromkeys(item for item in items if item not in now)
        if section == "blocked":
            kept = {item: None for item in kept if not _is_over(item, material.succeeded)}
        material.found[section] = kept | now


def _is_over(item: str, succeeded: set[str]) -> bool:
    found = _FAILED.match(item)
    return found is not None and found[1] in succeeded


# What there is room for


def _choose(found: Mapping[Section, Sequence[str]], limit: int) -> dict[Section, list[str]]:
    """Of each section what has room: each has its share, and what one leaves goes to the others."""
    filled = [section for section in found if found[section]]
    weight = sum(_WEIGHTS[section] for section in filled)
    chosen: dict[Section, list[str]] = {section: [] for section in found}
    free = limit - _AROUND * (len(found) - len(filled))
    # Those that need the least first, so that what they leave is known.
    for section in sorted(filled, key=lambda section: _need(found[section]) / _WEIGHTS[section]):
        share = max(_LEAST_SHARE, free * _WEIGHTS[section] // weight)
        chosen[section] = _fit(found[section], share)
        free -= _need(chosen[section])
        weight -= _WEIGHTS[section]
    return chosen


def _need(items: Iterable[str]) -> int:
    return sum(utf16_length(item) + _AROUND for item in items)


def _fit(items: Sequence[str], share: int) -> list[str]:
    """The first item and the newest ones that have room, in their order."""
    kept: dict[int, str] = {}
    for at in (0, *range(len(items) - 1, 0, -1)):
        room = share - _need(kept.values()) - _AROUND
        if room < _LEAST_ITEM:
            break
        # The first does not take all from the newest.
        most = max(_LEAST_ITEM, room // 2) if at == 0 and len(items) > 1 else room
        kept[at] = shorten(items[at], most)
    return [kept[at] for at in sorted(kept)]


def _render(
    heading: str, sections: Sequence[Section], chosen: Mapping[Section, Sequence[str]]
) -> str:
    lines = [
        f"{_mark(section, number)}{item}"
        for section in sections
        for number, item in enumerate(chosen[section], 1)
    ]
    if not sections:
        return heading
    return "\n".join([heading, *(lines or [_NONE])])


def _mark(section: Section, number: int) -> str:
    return f"{number}. " if section == "next" else _MARKS.get(section, "- ")
