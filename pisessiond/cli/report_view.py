"""Answers about sessions and the daemon as lines of text: pure functions of the wire's JSON."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Any

from pisessiond.cli.figures import (
    count,
    format_cost,
    format_day,
    format_size,
    format_tokens,
    parse_time,
)
from pisessiond.cli.plain_text import cell_width, clean_line, cut, fill
from pisessiond.client import answers


def size_text(size: answers.ContextSize | None) -> str:
    """`84k of 200k  42% measured`; what it was before a compaction as long as that is all known."""
    if size is None:
        return "size being counted"
    tokens, percent = format_size(size["tokens"], size["source"], size["window"])
    of = f" of {format_tokens(size['window'])}" if size["window"] else ""
    before = ""
    if size["before"] is not None:
        was = format_size(size["before"], "measured", size["window"])
        before = f" (was {was[1] or was[0]})"
    return f"{tokens}{of}{'  ' + percent if percent else ''}{before} {size['source']}"


def short_size(size: answers.ContextSize | None) -> str:
    """`84k 42%`."""
    if size is None:
        return "?"
    return " ".join(format_size(size["tokens"], size["source"], size["window"])).rstrip()


def title_of(opened: answers.OpenResult) -> str:
    """The session's name, else its id, with `[+]` while nothing is on disk."""
    name = clean_line(opened["name"] or "") or clean_line(opened["session"])
    return name + (" [+]" if opened["unsaved"] else "")


def problem_lines(problems: list[answers.Problem]) -> Iterator[str]:
    """Each problem with its place, and under it what it means."""
    for problem in problems:
        place = _place(problem["line"], problem["offset"], problem["entry"])
        head = f"{place}: " if place else ""
        yield f"{head}{clean_line(problem['message'])} ({clean_line(problem['kind'])})"
        if problem["consequence"]:
            yield f"    {clean_line(problem['consequence'])}"


def _place(line: int | None, offset: int | None, entry: Any) -> str:
    words = [] if line is None else [f"line {line}"]
    if offset is not None:
        words.append(f"byte {offset}")
    if entry is not None:
        words.append(f"entry {clean_line(str(entry))}")
    return ", ".join(words)


def repair_lines(repair: dict[str, Any]) -> Iterator[str]:
    """What a repair wrote, and every line that is not in it as it was."""
    for mended in (*repair["leftOut"], *repair["changed"]):
        place = _place(mended["line"], mended["offset"], mended["entry"])
        yield f"{place}: {clean_line(mended['what'])}"
    if repair["keepsLeaf"]:
        yield "an entry was added at the end, so that pi stands where the session stands"
    left_out = count(len(repair["leftOut"]), "line")
    changed = count(len(repair["changed"]), "entry", "entries")
    entries = count(repair["entries"], "entry", "entries")
    path = clean_line(repair["path"])
    yield f"written: {path} ({entries}; {left_out} left out, {changed} changed)"


def recovery_lines(
    found: list[dict[str, Any]], width: int, zone: tzinfo | None = None
) -> Iterator[str]:
    """Sessions that never got their file: state, day and time, entries, id, first message."""
    for one in found:
        time = parse_time(one["modified"], zone)
        when = f"{format_day(time):>5} {time:%H:%M}" if time else " " * 11
        session = clean_line(one["session"] or one["file"].rpartition("/")[2])
        head = f"{one['state']:<8} {when} {one['entries']:>4}  {session}  "
        yield cut(head + clean_line(one["firstMessage"] or "no message yet"), width)
        if one["state"] == "conflict":
            yield f"    another program wrote its file: {clean_line(one['path'] or '')}"


def stats_lines(stats: answers.StatsResult) -> Iterator[str]:
    """Totals of the active branch beside those of the whole file."""
    both = (stats["branch"], stats["file"])
    rows = [
        (clean_line(role), *(str(part["messages"].get(role, 0)) for part in both))
        for role in sorted({role for part in both for role in part["messages"]})
    ]
    rows.append(("tool calls", *(str(part["toolCalls"]) for part in both)))
    kinds: dict[str, str] = {
        "input": "tokens in",
        "output": "tokens out",
        "cacheRead": "cache read",
        "cacheWrite": "cache write",
    }
    for kind, words in kinds.items():
        rows.append((words, *(format_tokens(part["tokens"][kind]) for part in both)))  # type: ignore[literal-required]
    rows.append(("cost", *(format_cost(part["cost"]) for part in both)))
    for first, second, third in [("", "active branch", "whole file"), *rows]:
        yield f"{first:<16} {second:>14} {third:>12}".rstrip()
    for model in stats["file"]["models"]:
        tokens = sum(model["tokens"].values())  # type: ignore[arg-type]
        yield f"{clean_line(model['model'])}: {format_tokens(tokens)}, {format_cost(model['cost'])}"


def status_lines(status: answers.StatusResult) -> Iterator[str]:
    """The daemon, its clients and its sessions."""
    memory = f"{status['memory']['rss'] / 1_000_000:.0f} MB"
    yield (
        f"pisessiond {status['version']} · process {status['pid']} · up {_span(status['uptime'])}"
        f" · {memory} · protocol {status['protocolVersion']}"
    )
    yield f"log: {clean_line(status['log']) if status['log'] else 'standard error'}"
    if (watch := status["watch"]) is not None and watch["reason"] is not None:
        yield f"other programs are noticed by {watch['how']}: {clean_line(watch['reason'])}"
    if status["address"]:
        also = f" and {status['tcp']}" if status["tcp"] else ""
        yield f"socket: {clean_line(status['address'])}{also}"
    for client in status["clients"]:
        what = count(len(client["sessions"]), "session")
        waiting = f", {count(client['queued'], 'message')} waiting" if client["queued"] else ""
        yield f"client   {_column(client['name'], 20)} {client['transport']}, {what}{waiting}"
    for pi in status.get("pis", []):
        where = _column(pi["session"] or "no session", 20)
        yield f"pi       {where} process {pi['pid']}, {pi['mode']}, {pi['state']}"
    for session in status["sessions"]:
        listeners = count(session["subscribers"], "listener")
        place = clean_line(session["path"] or "in memory")
        handle = _column(session["session"], 20)
        yield f"session  {handle} rev {session['rev']}, {listeners}, {place}"


def _column(text: str, cells: int) -> str:
    text = clean_line(text)
    return text if cell_width(text) >= cells else fill(text, cells)


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
