"""The row files, painted and spoken by the commands."""

from pathlib import Path

import pytest

from pisessiond.cli.plain_text import cell_width
from tests.rows.painted import painted, row_files

FILES = row_files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rows_look_and_sound_as_agreed(path: Path) -> None:
    hint = "if the change is meant, run: python -m tests.rows.painted"
    assert painted(path) == path.with_suffix(".txt").read_text("utf-8"), hint


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_line_is_wider_than_the_window(path: Path) -> None:
    width = 0
    for line in painted(path).splitlines():
        if line.startswith("== "):
            width = int(line.split()[1]) if line[3].isdigit() else 10_000
        else:
            assert cell_width(line) <= width
