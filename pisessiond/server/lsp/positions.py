"""Places in lines, in the characters an editor counts: UTF-16 code units, bytes or code points.

Lines are bytes as they stand in the file. A byte that is no UTF-8 counts as one character, as it is
shown.
"""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from pisessiond.server.lsp.capabilities import Encoding
from pisessiond.service.pointing import Spot

_HIGH: Final = 0xD8
"""The first byte of the units that begin a pair, from here on."""
_LOW: Final = 0xDC


def count_units(text: bytes, encoding: Encoding) -> int:
    """How many characters some bytes of a line are."""
    if encoding == "utf-8" or text.isascii():
        return len(text)
    plain = text.decode("utf-8", "surrogateescape")
    if encoding == "utf-32":
        return len(plain)
    return len(plain.encode("utf-16-le", "surrogatepass")) // 2


def byte_at(line: bytes, character: int, encoding: Encoding) -> int:
    """At which byte of a line a character stands; the end where the line is shorter."""
    if encoding == "utf-8" or line.isascii():
        return min(character, len(line))
    # A character takes a byte at least, and four at most.
    plain = line[: character * 4].decode("utf-8", "surrogateescape")
    if encoding == "utf-32":
        before = plain[:character]
    else:
        units = plain.encode("utf-16-le", "surrogatepass")[: character * 2]
        if units and _HIGH <= units[-1] < _LOW:
            # The middle of a pair is in front of it.
            units = units[:-2]
        before = units.decode("utf-16-le", "surrogatepass")
    return len(before.encode("utf-8", "surrogateescape"))


def range_of(spot: Spot, encoding: Encoding) -> lsp.Range:
    """Where some bytes of a line are, for an editor."""
    start = count_units(spot.text[: spot.start], encoding)
    end = start + count_units(spot.text[spot.start : spot.end], encoding)
    return lsp.Range(
        start=lsp.Position(line=spot.line - 1, character=start),
        end=lsp.Position(line=spot.line - 1, character=end),
    )


def line_range(line: int) -> lsp.Range:
    """A whole line, counted from 1, its end being the beginning of the next one."""
    return lines_range(line, line)


def lines_range(first: int, last: int) -> lsp.Range:
    """Whole lines, counted from 1."""
    return lsp.Range(
        start=lsp.Position(line=first - 1, character=0),
        end=lsp.Position(line=last, character=0),
    )
