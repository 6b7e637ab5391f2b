"""A terminal's screen as a picture: what tmux captured, drawn with the colours it had."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

# These carry no types.
pyte: Any = importlib.import_module("pyte")
image: Any = importlib.import_module("PIL.Image")
drawing: Any = importlib.import_module("PIL.ImageDraw")
fonts: Any = importlib.import_module("PIL.ImageFont")

FONT: Final = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"
BOLD: Final = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf"
SIZE: Final = 14
COLOURS: Final = 64
"""As many as a screen of text needs; the file is a third as large then."""
_NAMES: Final = {
    "black": "000000",
    "red": "cd3131",
    "green": "0dbc79",
    "brown": "c0a000",
    "blue": "2472c8",
    "magenta": "bc3fbc",
    "cyan": "11a8cd",
    "white": "e5e5e5",
}


def to_png(captured: str, path: Path, columns: int, lines: int) -> None:
    """Draws what `tmux capture-pane -e -p` gave."""
    screen = pyte.Screen(columns, lines)
    pyte.Stream(screen).feed(captured.rstrip("\n").replace("\n", "\r\n"))
    plain, bold = fonts.truetype(FONT, SIZE), fonts.truetype(BOLD, SIZE)
    width = round(plain.getlength("M"))
    height = SIZE + 4
    picture = image.new("RGB", (columns * width, lines * height), "#14161b")
    pen = drawing.Draw(picture)
    for row in range(lines):
        for column in range(columns):
            cell = screen.buffer[row][column]
            ink, paper = _colour(cell.fg, "e0e2ea"), _colour(cell.bg, "14161b")
            if cell.reverse:
                ink, paper = paper, ink
            left, top = column * width, row * height
            pen.rectangle([left, top, left + width - 1, top + height - 1], fill=paper)
            if cell.data == "⑂":
                _draw_fork(pen, left, top, ink)
            elif cell.data.strip():
                font = bold if cell.bold else plain
                pen.text((left, top + 1), cell.data, font=font, fill=ink)
            if cell.strikethrough:
                middle = top + height // 2
                pen.line([left, middle, left + width, middle], fill=ink)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.quantize(COLOURS).save(path, optimize=True)


def _draw_fork(pen: Any, left: int, top: int, ink: str) -> None:
    # The font has no such sign; a terminal takes it from another one.
    pen.line([left + 4, top + 15, left + 4, top + 9], fill=ink)
    pen.line([left + 1, top + 4, left + 1, top + 7, left + 4, top + 9], fill=ink)
    pen.line([left + 7, top + 4, left + 7, top + 7, left + 4, top + 9], fill=ink)


def _colour(name: str, default: str) -> str:
    if name == "default":
        return f"#{default}"
    return f"#{_NAMES.get(name.removeprefix('bright'), name)}"
