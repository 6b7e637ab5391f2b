"""Remakes what the row files say is painted and spoken: `python -m tests.rows.painted`.

Each `NAME.json` holds rows as the daemon answers them, in the order of the screen, and which are
open; `NAME.txt` holds what every client makes of them. A change of look is a diff there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date
from pathlib import Path
from typing import Final

from pisessiond.cli.row_view import ASCII, UNICODE, RowView
from pisessiond.cli.row_words import speak

HERE: Final = Path(__file__).parent
PAINTED: Final = (
    ("80 cells", 80, UNICODE),
    ("44 cells", 44, UNICODE),
    ("30 cells", 30, UNICODE),
    ("30 cells, ASCII", 30, ASCII),
    ("20 cells", 20, UNICODE),
    ("10 cells", 10, UNICODE),
)


def row_files() -> list[Path]:
    """All files of rows, by name."""
    return sorted(HERE.glob("*.json"))


def painted(path: Path) -> str:
    """What the rows of a file look and sound like."""
    return "\n".join(_lines(path)) + "\n"


def _lines(path: Path) -> Iterator[str]:
    given = json.loads(path.read_text("utf-8"))
    rows, opened = given["rows"], set(given["open"])
    for name, width, glyphs in PAINTED:
        yield f"== {name}"
        view = RowView(width, glyphs, UTC, date.fromisoformat(given["today"]))
        yield from view.draw(rows, opened)
    yield "== spoken"
    for row in rows:
        yield speak(row, UTC, is_open=row["id"] in opened)


if __name__ == "__main__":
    for file in row_files():
        file.with_suffix(".txt").write_text(painted(file), "utf-8")
