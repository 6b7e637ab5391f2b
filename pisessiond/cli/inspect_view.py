"""What `inspect` found in a file, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pisessiond.cli.figures import count, format_tokens
from pisessiond.cli.plain_text import clean_line
from pisessiond.cli.report_view import problem_lines


def inspect_lines(found: dict[str, Any]) -> Iterator[str]:
    """The facts of a session file, one a line, the file's problems last."""
    context = found["context"]
    by_role: dict[str, int] = {}
    for role, number in context["roles"]:
        by_role[clean_line(str(role))] = by_role.get(clean_line(str(role)), 0) + number
    made_of = ", ".join(f"{role} {number}" for role, number in by_role.items())
    size = found["estimateProjectedContextTokens"]
    deep = count(found["branchLength"], "entry", "entries")
    facts = {
        "session": _word(found["sessionId"]),
        "name": _word(found["name"]),
        "folder": _word(found["cwd"]),
        "entries": str(found["entryCount"]),
        "leaf": f"{_word(found['leafId'])}, {deep} deep",
        "context": f"{count(context['count'], 'message')}" + (f": {made_of}" if made_of else ""),
        "size": f"{'' if size['usageTokens'] else '~'}{format_tokens(size['tokens'])} tokens",
        "model": _model(found["model"]),
        "thinking": _word(found["thinkingLevel"]),
        "labels": ", ".join(_labels(found["labels"])) or "none",
        "compaction": _cut(found["prepareCompaction"]),
    }
    for name, fact in facts.items():
        yield f"{name:<11} {fact}"
    problems = found.get("problems") or []
    if problems:
        yield count(len(problems), "problem") + ":"
        for line in problem_lines(problems):
            yield f"  {line}"


def _word(value: Any) -> str:
    return "none" if value is None else clean_line(str(value))


def _model(model: Any) -> str:
    if not isinstance(model, dict):
        return _word(model)
    return clean_line("/".join(str(part) for part in model.values()))


def _labels(labels: dict[str, Any]) -> Iterator[str]:
    for target, label in labels.items():
        yield f"[{clean_line(str(label))}] {clean_line(str(target))}"


def _cut(prepared: Any) -> str:
    default = prepared.get("default") if isinstance(prepared, dict) else None
    if not isinstance(default, dict):
        return "nothing to compact"
    return f"would keep from {_word(default.get('firstKeptEntryId'))}"
