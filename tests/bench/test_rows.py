"""Rows have not become far dearer than they were meant to be, and no dearer with the file."""

from collections.abc import Sequence

import pytest

from tests.bench.figures import Row
from tests.bench.patience import always_beyond
from tests.bench.rows import measure_rows

pytestmark = pytest.mark.slow

APPEND = "append, three filters drawn, beside none"


@pytest.mark.parametrize("entries", [1_000, 100_000])
def test_no_figure_of_rows_is_twice_beyond_what_was_to_be_reached(
    entries: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured() -> Sequence[Row]:
        table = measure_rows(entries, rounds=1)
        with capsys.disabled():
            print(f"\n{table.text()}")
        return table.rows

    assert always_beyond(measured, 2) == set()


def test_an_append_that_is_drawn_costs_the_same_behind_a_hundred_times_as_many_entries() -> None:
    def drawn(entries: int) -> float:
        (row,) = (row for row in measure_rows(entries, rounds=1).rows if row.name == APPEND)
        return min(row.ours)

    small = drawn(1_000)
    assert any(drawn(100_000) < 2 * small + 1 for _ in range(3))
