"""What was found as lines of text: pure functions of the wire's JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import tzinfo

from pisessiond.cli.figures import count, format_day, parse_time
from pisessiond.cli.plain_text import cell_width, clean_line, cut
from pisessiond.client import answers

Paint = Callable[[str, str], str]


def search_lines(
    found: answers.SearchResult, width: int, paint: Paint, zone: tzinfo | None = None
) -> Iterator[str]:
    """Of each result the session, who said it and when, and below it the words where they stand."""
    for hit in found["hits"]:
        yield _head(hit, width, paint, zone)
        yield "    " + _snippet(hit["snippet"], max(width - 4, 8), paint)
    if not found["hits"]:
        yield "nothing found" + (" so far" if found["cursor"] else "")
    if found["cursor"] is not None:
        yield paint(f"… more with --limit, or --cursor {clean_line(found['cursor'])}", "dim")
    if found["pending"]:
        files = count(found["pending"], "session file")
        yield paint(f"{files} still being read; ask again a little later", "warn")


def _head(hit: answers.SearchHit, width: int, paint: Paint, zone: tzinfo | None) -> str:
    time = parse_time(hit["time"], zone)
    when = f"{format_day(time):>5} {time:%H:%M}" if time else " " * 11
    role = clean_line(hit["role"])
    if hit["tool"]:
        role += f" {clean_line(hit['tool'])}"
    entry = clean_line(str(hit["entry"]))
    name = clean_line(hit["name"] or "") or clean_line(hit["session"])
    if hit["copies"]:
        name += f" (and {count(len(hit['copies']), 'copy', 'copies')})"
    parts = [(when, "dim"), (role, "role"), (entry, "id"), (name, "head")]
    painted = []
    room = width
    for text, look in parts:
        # The name comes last, and is what gives way; it is painted once it fits.
        text = cut(text, max(room, 1))
        room -= cell_width(text) + 2
        painted.append(paint(text, look))
        if room <= 0:
            break
    return "  ".join(painted)


def _snippet(snippet: answers.SearchSnippet, width: int, paint: Paint) -> str:
    """The text in one line, with what was found in another look; brackets would be text."""
    units = snippet["text"].encode("utf-16-le", "surrogatepass")

    def piece(start: int, end: int) -> str:
        text = units[2 * start : 2 * end].decode("utf-16-le", "replace")
        # Blanks at the ends part what is put together here.
        cleaned = clean_line(text)
        before = " " if text[:1].isspace() and cleaned else ""
        after = " " if text[-1:].isspace() and (cleaned or text) else ""
        return before + cleaned + after

    made: list[str] = []
    room, at = width, 0
    ends = [(match["start"], match["end"]) for match in snippet["matches"]]
    for start, end in [*ends, (len(units) // 2, len(units) // 2)]:
        for text, look in ((piece(at, start), ""), (piece(start, end), "match")):
            if room <= 0 or not text:
                continue
            shown = cut(text, room)
            room -= cell_width(shown)
            made.append(paint(shown, look))
            if shown != text:
                return "".join(made)
        at = end
    return "".join(made)
