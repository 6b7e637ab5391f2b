"""A session service with a hand-wound clock, over a file system that fails on demand."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.service import House, service


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def house(tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    """A service under pi's old rule: a file comes with the first answer."""
    async with service(tmp_path) as house:
        yield house
