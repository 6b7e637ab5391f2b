"""Who has a session open, and who is told of it."""

from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest

from pisessiond.service.live.pi import LivePi
from pisessiond.service.open_session import OpenSession
from pisessiond.service.presence import JOIN_SECONDS
from pisessiond.service.subscribers import OnlyListens
from pisessiond.service.types import Present, SessionChange
from tests.support.service import House

pytestmark = pytest.mark.anyio


class Window(OnlyListens):
    """A client that keeps what it is told of the others."""

    def __init__(self, client_id: str, name: str) -> None:
        self.client_id = client_id
        self.name = name
        self.told: list[list[str]] = []
        self._heard = anyio.Event()

    def session_changed(self, change: SessionChange) -> None:
        pass

    def session_reset(self, session: str, reason: str) -> None:
        pass

    def session_presence(
        self, session: str, clients: Sequence[Present], pis: Sequence[LivePi]
    ) -> None:
        assert not pis
        self.told.append(_names(clients))
        self._heard.set()

    def opens(self, session: OpenSession) -> list[str]:
        return _names(session.subscribe(self).clients)

    async def hears(self) -> list[str]:
        """What it is told next, or was told since it last heard."""
        if not self.told:
            self._heard = anyio.Event()
            await self._heard.wait()
        told, self.told = self.told, []
        return told[-1]


def _names(clients: Sequence[Present]) -> list[str]:
    return [f"{one.name} {one.client}" for one in clients]


async def test_who_opens_is_answered_who_is_there_and_the_others_are_told(house: House) -> None:
    session = await house.create()
    nvim, code = Window("c1", "nvim"), Window("c2", "vscode")
    assert nvim.opens(session) == ["nvim c1"]
    assert code.opens(session) == ["nvim c1", "vscode c2"]
    assert await nvim.hears() == ["nvim c1", "vscode c2"]
    session.unsubscribe(nvim)
    assert await code.hears() == ["vscode c2"]
    assert nvim.told == []


async def test_a_client_with_two_connections_is_there_once(house: House) -> None:
    session = await house.create()
    old, new, other = Window("c1", "nvim"), Window("c1", "nvim"), Window("c2", "script")
    old.opens(session)
    assert new.opens(session) == ["nvim c1"]
    other.opens(session)
    assert await new.hears() == ["nvim c1", "script c2"]
    session.unsubscribe(old)
    session.unsubscribe(other)
    assert await new.hears() == ["nvim c1"]


async def test_many_comings_and_goings_are_joined_and_the_last_state_is_told(house: House) -> None:
    session = await house.create()
    window = Window("c1", "nvim")
    window.opens(session)
    passers_by = [Window(f"p{number}", "script") for number in range(50)]
    passers_by[0].opens(session)
    await window.hears()
    began = anyio.current_time()
    for one in passers_by[1:]:
        one.opens(session)
        await anyio.lowlevel.checkpoint()
    for one in passers_by[:-1]:
        session.unsubscribe(one)
    assert await window.hears() == ["nvim c1", "script p49"]
    assert anyio.current_time() - began >= JOIN_SECONDS * 0.9
    assert window.told == []


async def test_who_comes_back_at_once_is_no_news(house: House) -> None:
    session = await house.create()
    nvim, code, late = Window("c1", "nvim"), Window("c2", "vscode"), Window("c3", "script")
    nvim.opens(session)
    code.opens(session)
    await nvim.hears()
    session.unsubscribe(nvim)
    nvim.opens(session)
    session.unsubscribe(code)
    code.opens(session)
    late.opens(session)
    assert await code.hears() == ["nvim c1", "vscode c2", "script c3"]
    assert nvim.told == [["nvim c1", "vscode c2", "script c3"]]


async def test_who_only_listens_for_a_client_is_no_client(house: House) -> None:
    class Ear(OnlyListens):
        def session_changed(self, change: SessionChange) -> None:
            pass

        def session_reset(self, session: str, reason: str) -> None:
            pass

    session = await house.create()
    session.subscribe(Ear())
    assert Window("c1", "nvim").opens(session) == ["nvim c1"]
