"""Fixtures of the tests with real daemons."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.daemon import homes


@pytest.fixture
def home() -> Iterator[homes.Home]:
    """A machine of its own, with no daemon yet."""
    with homes.home() as made:
        yield made


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
