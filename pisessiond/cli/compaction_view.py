"""A compaction before it is made, as lines of text: pure functions of the wire's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pisessiond.cli.canvas import Canvas, entry_count, forecast_words
from pisessiond.cli.figures import count, format_size, format_tokens
from pisessiond.cli.plain_text import clean_line, clean_text
from pisessiond.client import answers

TURNS_SHOWN: Final = 8
"""Turns on either side of the cut that are named; of more the largest are."""

_INPUTS: Final = {
    "history": "what is summarised",
    "turnPrefix": "the beginning of the turn that is split",
    "branch": "the branch that is left",
}


@dataclass(slots=True)
class _Turn:
    """A user message and what follows it; without one the end of a turn that began before."""

    begins: answers.Node | None
    nodes: list[answers.Node] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return sum(node["tokens"] or 0 for node in self.nodes)


def compaction_lines(
    title: str,
    preview: answers.CompactionPreview,
    size: answers.ContextSize,
    nodes: Sequence[answers.Node],
    canvas: Canvas,
) -> Iterator[str]:
    """The dry run of a compaction: sizes, what goes, the cut, what stays, files, writer and cost.

    Args:
        title: the session's.
        preview: what the daemon says of it.
        size: the context size at the leaf.
        nodes: those of the entries that are summarised and kept, as far as they are known.
        canvas: where it is drawn.
    """
    yield canvas.spread(f" Compact {title}", "dry run, nothing is changed")
    yield from _sizes(preview, size, canvas)
    known = {node["id"]: node for node in nodes}
    gone = [known[entry] for entry in preview["summarised"] if entry in known]
    kept = [known[entry] for entry in preview["kept"] if entry in known]
    system = (size.get("parts") or {}).get("system", 0)
    estimated = size["estimated"]
    tokens = None if estimated is None else max(estimated - preview["tokensKept"], 0)
    yield _stretch("summarised", len(preview["summarised"]), gone, tokens, canvas)
    yield from _turns(gone, canvas)
    if preview["previousSummary"]:
        yield "   and the summary before, brought up to date"
    cut = "cut, inside a turn: its beginning is summarised apart"
    yield canvas.rule(cut if preview["isSplitTurn"] else "cut")
    yield _stretch("kept", len(preview["kept"]), kept, preview["tokensKept"] - system, canvas)
    begun = gone if preview["isSplitTurn"] else []
    yield from _turns(kept, canvas, _newest_prompt(begun))
    yield from _foot(preview, size, canvas)


def _sizes(
    preview: answers.CompactionPreview, size: answers.ContextSize, canvas: Canvas
) -> Iterator[str]:
    window, due_at = size["window"], size["dueAt"]
    before, kept = preview["tokensBefore"], preview["tokensKept"]
    due = f"automatic compaction at {format_tokens(due_at)}" if due_at is not None else ""
    now = [canvas.bar(before, window, due_at), *format_size(before, size["source"], window)]
    yield canvas.spread(f" now    {_joined(*now, size['source'])}", due)
    then = [canvas.bar(kept, window, due_at), *format_size(kept, "estimated", window)]
    most = format_tokens(preview["summaryAtMost"])
    yield canvas.spread(f" after  {_joined(*then)} and the summary, at most {most}")


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)


def _stretch(
    what: str, entries: int, nodes: Sequence[answers.Node], tokens: int | None, canvas: Canvas
) -> str:
    times = [node["time"] for node in nodes if canvas.clock(node["time"])]
    span = canvas.span(times[0], times[-1]) if times else ""
    words = ", ".join(part for part in (what, entry_count(entries), span) if part)
    return canvas.spread(f" {words}", "" if tokens is None else f"~{format_tokens(tokens)}")


def _newest_prompt(nodes: Sequence[answers.Node]) -> answers.Node | None:
    return next((node for node in reversed(nodes) if _is_prompt(node)), None)


def _is_prompt(node: answers.Node) -> bool:
    return node["type"] == "message" and node.get("role") == "user"


def _turns(
    nodes: Sequence[answers.Node], canvas: Canvas, begun: answers.Node | None = None
) -> Iterator[str]:
    """The turns of a stretch with their sizes; `begun` is the prompt of one that is split."""
    turns: list[_Turn] = []
    for node in nodes:
        if _is_prompt(node) or not turns:
            turns.append(_Turn(node if _is_prompt(node) else None))
        turns[-1].nodes.append(node)
    largest = sorted(turns, key=lambda turn: -turn.tokens)[:TURNS_SHOWN]
    for turn in turns:
        if any(turn is one for one in largest):
            size = format_tokens(turn.tokens)
            yield canvas.spread(f"   {_turn_title(turn, begun, canvas)}", size)
    if len(turns) > len(largest):
        yield f"   {canvas.glyphs.cut} {count(len(turns) - len(largest), 'more turn')}"


def _turn_title(turn: _Turn, begun: answers.Node | None, canvas: Canvas) -> str:
    if turn.begins is not None:
        return canvas.titled(turn.begins)
    entries = entry_count(len(turn.nodes))
    if begun is None:
        return f"{entries} before the next prompt"
    return f'{entries} of "{clean_line(begun["preview"])}"'


def _foot(
    preview: answers.CompactionPreview, size: answers.ContextSize, canvas: Canvas
) -> Iterator[str]:
    read, modified = len(preview["readFiles"]), len(preview["modifiedFiles"])
    files = f" files in the summary: {read} read, {modified} modified"
    forecast = preview["forecast"]
    if forecast is not None:
        files += f" {canvas.dot} {forecast_words(forecast)}"
    yield canvas.spread(files)
    if forecast is not None and _is_too_much(forecast, size):
        yield from canvas.wrapped(
            f"That is more than its window of {format_tokens(size['window'] or 0)} takes: name a "
            "summarizer with a larger one, or extract."
        )
    if forecast is None and (reason := preview.get("noSummarizer")):
        yield from canvas.wrapped(clean_line(reason))


def _is_too_much(forecast: answers.Forecast, size: answers.ContextSize) -> bool:
    # The window of another model than the session's is not known here.
    window = size["window"] if forecast["model"] == size["model"] else None
    return window is not None and forecast["tokensIn"] > window


def input_lines(inputs: Sequence[answers.SummaryInput], canvas: Canvas) -> Iterator[str]:
    """What a summarizer would read, whole."""
    for one in inputs:
        if one["previousSummary"]:
            yield canvas.rule("the summary before")
            yield from clean_text(one["previousSummary"]).split("\n")
        yield canvas.rule(_INPUTS[one["kind"]])
        yield from clean_text(one["text"]).split("\n")


def compacted_line(answer: answers.CompactResult, window: int | None, canvas: Canvas) -> str:
    """`compacted · leaf 5f2c91aa · 186k 93% → ~34k ~17%`."""
    leaf = clean_line(str(answer["leaf"]))
    words = [f"compacted {canvas.dot} leaf {leaf}"]
    before, after = answer.get("tokensBefore"), answer.get("tokensAfter")
    if before is not None and after is not None:
        now = _joined(*format_size(before, "measured", window))
        words.append(f"{now} {canvas.arrow} {_joined(*format_size(after, 'estimated', window))}")
    return f" {canvas.dot} ".join(words)
