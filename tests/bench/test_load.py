"""Several clients of one daemon wait no longer than five times what was to be reached."""

from collections.abc import Sequence

import pytest

from tests.bench.figures import Row
from tests.bench.load import load_text, measure_load
from tests.bench.patience import always_beyond
from tests.support.pi import PiMissing

pytestmark = pytest.mark.slow


def test_no_client_waits_five_times_longer_than_was_to_be_reached(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def measured() -> Sequence[Row]:
        try:
            table = measure_load(rounds=1, count=400)
        except PiMissing as error:
            pytest.fail(str(error), pytrace=False)
        with capsys.disabled():
            print(f"\n{load_text(table)}")
        assert sum(row.limit is not None for row in table.rows) >= 2
        return table.rows

    assert always_beyond(measured, 5) == set()
