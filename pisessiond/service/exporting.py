"""Exports of a session: as one text that is bounded, or piece by piece into a file; blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal

from pisessiond.core.export_html import export_html
from pisessiond.core.export_jsonl import export_jsonl
from pisessiond.core.export_markdown import export_markdown
from pisessiond.core.session import Session
from pisessiond.service.errors import TooLarge

Format = Literal["jsonl", "markdown", "html"]

ANSWER_BYTES: Final = 8 << 20
"""Bytes of an export that travel in an answer; larger ones go to a file."""

_BLOCK: Final = 1 << 18


def export_pieces(
    session: Session, row: int, kind: Format, *, whole: bool, timestamp: str, cwd: str
) -> Iterator[bytes]:
    """The export in pieces; for Markdown and HTML every row must have been sized."""
    if kind == "jsonl":
        return export_jsonl(session, row, timestamp, cwd)
    if kind == "markdown":
        texts = export_markdown(session, row)
    else:
        texts = export_html(session, row, whole=whole)
    return (text.encode() for text in texts)


def bounded(pieces: Iterator[bytes]) -> str:
    """All of an export.

    Raises:
        TooLarge: it is larger than an answer may be.
    """
    found = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > ANSWER_BYTES:
            raise TooLarge(ANSWER_BYTES)
        found.append(piece)
    # A line that is no UTF-8 is copied as it is into a file only.
    return b"".join(found).decode("utf-8", "replace")


class Abandoned(Exception):
    """Nobody waits for this export any more."""


def in_blocks(pieces: Iterator[bytes], is_wanted: Callable[[], bool]) -> Iterator[bytes]:
    """The same bytes in pieces worth a write each, as long as somebody wants them.

    Raises:
        Abandoned: nobody does.
    """
    gathered: list[bytes] = []
    size = 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if not is_wanted():
            raise Abandoned
        if size >= _BLOCK:
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)
