"""A home and a model for every test here."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.bridge.home import PiHome, pi_home
from tests.bridge.model import MarkedModel
from tests.bridge.scripted_daemon import ScriptedDaemon, scripted_daemon
from tests.support.model_server import model_server_in_thread


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def model() -> MarkedModel:
    return MarkedModel()


@pytest.fixture
def home(model: MarkedModel) -> Iterator[PiHome]:
    with model_server_in_thread(model) as server, pi_home(server.openai_url) as made:
        yield made


@pytest.fixture
async def daemon(home: PiHome, anyio_backend: str) -> AsyncIterator[ScriptedDaemon]:
    async with scripted_daemon(home) as made:
        yield made
