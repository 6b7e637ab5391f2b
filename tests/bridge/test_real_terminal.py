"""A real pi in a terminal, moved by a client of the real daemon."""

from collections.abc import AsyncIterator

import anyio
import pytest

from pisessiond.client.answers import EntryId
from pisessiond.client.errors import RpcFailure
from pisessiond.client.session import Session
from tests.bridge.home import PiHome
from tests.bridge.model import MarkedModel
from tests.bridge.real_daemon import RealDaemon, live_pis, real_daemon
from tests.bridge.running import PATIENCE, PiTui, pi_tui

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
async def true_daemon(home: PiHome, anyio_backend: str) -> AsyncIterator[RealDaemon]:
    async with real_daemon(home) as made:
        yield made


async def asks(tui: PiTui, session: Session, text: str) -> None:
    since = len(tui.seen)
    await tui.enters(text)
    await tui.shows(f"An answer to: {text}", since)
    with anyio.fail_after(PATIENCE):
        while not session.pis or session.pis[0]["state"] != "idle":
            try:
                async for _ in session.changes(0.2):
                    break
            except TimeoutError:
                await session.sync()


async def labelled(session: Session, entry: EntryId) -> None:
    """Label an entry, again while pi says that its session was replaced under way."""
    with anyio.fail_after(PATIENCE):
        while True:
            try:
                await session.label(entry, "after")
                return
            except RpcFailure as failure:
                if failure.kind not in ("SessionChanged", "Busy"):
                    raise


async def test_a_terminal_follows_keeps_its_draft_and_reloads(
    home: PiHome, true_daemon: RealDaemon, model: MarkedModel
) -> None:
    async with pi_tui(home) as tui, true_daemon.client() as client:
        (live,) = await live_pis(client, 1)
        session = await client.open(session=live["session"])
        await asks(tui, session, "First question.")
        await asks(tui, session, "Second question.")
        opened = await client.open(session=session.handle)
        nodes = (await opened.tree(around="leaf", count=20, filter="all"))["nodes"]
        second = [node["id"] for node in nodes if node.get("role") == "user"][-1]
        await tui.types("a draft of mine")
        since = len(tui.seen)

        moved = await opened.navigate(second)

        assert moved["editorText"] == "Second question."
        await tui.shows("a draft of mine", since)
        prompts = len(model.prompts)

        since = len(tui.seen)
        await tui.types("\x15")
        await tui.enters("/reload")
        await tui.shows("eload", since)
        await labelled(opened, second)
        (live,) = await live_pis(client, 1)
        assert (live["session"], live["owner"], live["unseen"]) == (session.handle, True, 0)
        assert len(model.prompts) == prompts
