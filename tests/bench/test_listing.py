"""Listing many sessions has not become far slower than it was meant to be."""

from collections.abc import Sequence

import pytest

from tests.bench.figures import Row
from tests.bench.listing import measure_listing
from tests.bench.patience import always_beyond
from tests.support.pi import PiMissing

pytestmark = pytest.mark.slow


def test_no_figure_of_a_list_is_five_times_beyond_what_was_to_be_reached(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def measured() -> Sequence[Row]:
        try:
            table = measure_listing(40, rounds=1)
        except PiMissing as error:
            pytest.fail(str(error), pytrace=False)
        with capsys.disabled():
            print(f"\n{table.text()}")
        return table.rows

    assert always_beyond(measured, 5) == set()
