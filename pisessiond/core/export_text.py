"""Text of a session made fit for a page: every character is seen, and none acts.

A session holds whatever a model, a tool or a web page wrote. What steers a terminal goes, what
turns the reading direction is named, and half a surrogate pair is U+FFFD. Joiners stay: emoji and
several scripts are spelled with them.
"""

from __future__ import annotations

import re

from pisessiond.core.javascript import stringify
from pisessiond.core.preview import clean_line
from pisessiond.core.projection import Entry

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_BREAKS = re.compile("\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean_block(text: str) -> str:
    """The text with its line breaks and tabs, and nothing that hides or acts."""
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", _ESCAPES.sub("", text))
    text = _DIRECTION.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
    return _SURROGATES.sub("\ufffd", _UNSEEN.sub("", text))


def plain(value: object, limit: int = 200) -> str:
    """A value of unknown type as one clean line; "" for what is no text or number."""
    if isinstance(value, str):
        return clean_line(_ESCAPES.sub("", value), limit)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return clean_line(str(value), limit) if is_number else ""


def format_tokens(tokens: int) -> str:
    """`812`, `9.4k`, `84k`, `1.2M`: three digits at most, in the steps of pi's footer."""
    for limit, unit, sign in ((999.5, 1, ""), (9_950, 1_000, "k"), (999_500, 1_000, "k")):
        if tokens < limit:
            value = tokens / unit
            is_short = sign and tokens < 9_950
            return f"{int(value * 10 + 0.5) / 10:.1f}{sign}" if is_short else f"{value:.0f}{sign}"
    millions = tokens / 1_000_000
    return f"{millions:.1f}M" if tokens < 9_950_000 else f"{millions:.0f}M"


def clock_of(entry: Entry) -> tuple[str, str]:
    """Day and time of an entry as its own timestamp says them, `2026-11-12` and `14:31`."""
    time = entry.get("timestamp")
    found = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)", time) if isinstance(time, str) else None
    return (found[1], found[2]) if found else ("", "")


def arguments_text(arguments: object) -> str:
    """The arguments of a tool call as people read them: names, and texts as they stand."""
    if not isinstance(arguments, dict):
        return "" if arguments is None else clean_block(stringify(arguments))
    lines = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else stringify(value)
        glue = "\n" if "\n" in text else " "
        lines.append(f"{plain(name)}:{glue}{clean_block(text)}")
    return "\n".join(lines)
