"""Text from sessions made fit for a terminal, and cut by the cells it takes there.

A session may hold whatever a model or a web page wrote; nothing of it may move the cursor, change
a colour, turn the reading direction or hide.
"""

from __future__ import annotations

import re
import unicodedata

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, …: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"  # the short ones
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI as one C1 character
)
_BREAKS = re.compile(r"\r\n?|[\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # controls; tabs and breaks are gone by then
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width and direction
    "\U000e0000-\U000e0fff]"  # tags, which can spell hidden text
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"[ \t\xa0]+")


def clean_text(text: str) -> str:
    """The text with its line breaks, tabs as four spaces, and nothing that acts on a terminal."""
    text = _BREAKS.sub("\n", _ESCAPES.sub("", text)).replace("\t", "    ")
    return "\n".join(_plain(line) for line in text.split("\n"))


def clean_line(text: str) -> str:
    """The same as one line: breaks, tabs and runs of blanks are one space."""
    return _SPACES.sub(
        " ", _plain(_BREAKS.sub(" ", _ESCAPES.sub("", text)).replace("\t", " "))
    ).strip()


def cell_width(text: str) -> int:
    """How many cells a terminal gives to a line."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def cut(text: str, cells: int, mark: str = "…") -> str:
    """The beginning of a line that fits, with a mark where something is missing."""
    if cell_width(text) <= cells:
        return text
    kept, room = [], cells - len(mark)
    for character in text:
        room -= _cells(character)
        if room < 0:
            break
        kept.append(character)
    return ("".join(kept).rstrip() + mark) if cells >= len(mark) else ""


def fill(text: str, cells: int) -> str:
    """The line with blanks up to a width."""
    return text + " " * (cells - cell_width(text))


def _plain(line: str) -> str:
    # An escape that was cut off leaves its first byte, which goes here with the other controls.
    return _SURROGATES.sub("\ufffd", _UNSEEN.sub("", line))


def _cells(character: str) -> int:
    if character < "\u0300":
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
