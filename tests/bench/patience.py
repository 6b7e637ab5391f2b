"""Figures of a machine on which other programs are at work too."""

from collections.abc import Callable, Sequence

from tests.bench.figures import Row

TRIES = 3


def always_beyond(measure: Callable[[], Sequence[Row]], factor: float) -> set[str]:
    """The figures that are beyond `factor` times their limit in each of three measurements.

    One that is within it once shows what the product can do; the others show the machine. A second
    and a third measurement are made only where the one before had something beyond.
    """
    beyond: set[str] | None = None
    for _ in range(TRIES):
        now = {row.name for row in measure() if not row.is_within(factor)}
        beyond = now if beyond is None else beyond & now
        if not beyond:
            break
    return beyond or set()
