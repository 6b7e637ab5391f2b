"""Graphs have not become far dearer than they were meant to be, and nobody waits for one."""

from collections.abc import Sequence

import pytest

from pisessiond.core.graph.gathering import Zoom
from tests.bench.figures import Row
from tests.bench.graphs import measure_graphs
from tests.bench.patience import always_beyond

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("entries", [10_000, 100_000])
@pytest.mark.parametrize("zoom", ["branches", "turns", "entries"])
def test_no_figure_of_graphs_is_twice_beyond_what_was_to_be_reached(
    entries: int, zoom: Zoom, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured() -> Sequence[Row]:
        table = measure_graphs(entries, zoom)
        with capsys.disabled():
            print(f"\n{table.text()}")
        return table.rows

    assert always_beyond(measured, 2) == set()
