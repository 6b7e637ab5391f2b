"""What takes long in a session, as lines of text: who runs it, how far it is, how it ended."""

from __future__ import annotations

from typing import Final

from pisessiond.cli.change_view import origin_name
from pisessiond.cli.figures import format_tokens
from pisessiond.cli.plain_text import clean_line
from pisessiond.client import answers

_NOUNS: Final = {
    "compact": "compaction",
    "summarise": "summary of the branch left",
    "navigate": "move",
    "fork": "fork",
}
_DOING: Final = {
    "compact": "compacting",
    "summarise": "summarising the branch left",
    "navigate": "moving",
    "fork": "forking",
}


def doing(operation: str, received: int) -> str:
    """`compacting, 1.2k received`: how far it is, in characters of summary."""
    word = _DOING.get(operation, clean_line(operation))
    return f"{word}, {format_tokens(received)} received" if received else word


def operation_line(progress: answers.Progress | answers.DidProgress) -> str | None:
    """`nvim: compaction begins`; None for how far it is, which is told while one waits."""
    noun = _NOUNS.get(progress["operation"], clean_line(progress["operation"]))
    who = origin_name(progress["origin"])
    message = clean_line(progress.get("message") or "")
    match progress["state"]:
        case "begin":
            why = ", the context is too large" if progress["reason"] == "threshold" else ""
            return f"{who}: {noun} begins{why}"
        case "done":
            return f"{who}: {noun} done" + (f": {message}" if message else "")
        case "failed":
            return f"{who}: {noun} failed: {message}"
        case "cancelled":
            return f"{who}: {noun}: {message or 'cancelled'}"
        case _:
            return None


def cancelled_line(progress: answers.Progress | None) -> str:
    """What `session/cancel` ended."""
    if progress is None:
        return "nothing runs in this session"
    noun = _NOUNS.get(progress["operation"], clean_line(progress["operation"]))
    how_far = f", {format_tokens(progress['received'])} received" if progress["received"] else ""
    return f"cancelled: {noun} of {origin_name(progress['origin'])}{how_far}"


def choice_line(choice: answers.SummarizerChoice) -> str:
    """`opus  anthropic/claude-opus-5  the default, ready`."""
    model = clean_line(choice["model"] or "")
    name = clean_line(choice["name"])
    state = "ready" if choice["ready"] else f"not ready: {clean_line(choice['reason'] or '')}"
    default = "the default, " if choice["default"] else ""
    parts = [f"{name:<20}", f"{model:<32}" if model and model != name else "", default + state]
    return "  ".join(part for part in parts if part)
