"""Fixtures that every test may ask for."""

from collections.abc import Iterator

import pytest

from tests.support.pi import Pi, PiMissing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Whoever asks the real pi starts a real program, whether or not its author thought of it.
    for item in items:
        if "pi" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def pi() -> Iterator[Pi]:
    """The real pi 1.6.0 (and agent-core 0.80.2), one process for the whole run."""
    helper = Pi()
    try:
        helper.start()
    except PiMissing as error:
        pytest.fail(str(error), pytrace=False)
    try:
        yield helper
    finally:
        helper.stop()
