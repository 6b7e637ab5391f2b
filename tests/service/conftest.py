"""A session service with a hand-wound clock, over a file system that fails on demand."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.service import House, service
from tests.support.summarizers import Desk


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def house(tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    """A service under pi's old rule: a file comes with the first answer."""
    async with service(tmp_path) as house:
        yield house


@pytest.fixture
def desk() -> Desk:
    """What summaries depend on."""
    return Desk()


@pytest.fixture
async def office(tmp_path: Path, desk: Desk, anyio_backend: str) -> AsyncIterator[House]:
    """A service with a summarizer that does what the test says."""
    async with service(tmp_path, hand=desk.hand) as house:
        yield house
