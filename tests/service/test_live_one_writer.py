"""While a pi has a session open, no byte of its file is ours, whatever is asked and whenever."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.core.errors import SessionError
from pisessiond.service.errors import ReadOnly, ServiceError
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import REPAIR, Origin
from tests.support.files import FaultyFiles
from tests.support.live import Attachment, Terminals, terminals, until
from tests.support.scripted_pi import ScriptedPi
from tests.support.service import HandClock, House, answer, in_file, service, user

pytestmark = pytest.mark.anyio

MINE: Final = Origin("editor", "client-1")
FILE = (
    user("first", "a"),
    answer("one", "b", "a"),
    user("more", "c", "b"),
    answer("two", "d", "c"),
)
TORN: Final = b'{"type":"message","id":"t","parentId":"d"'
WRITES: Final = (
    "open_write", "write", "pwrite", "sync", "sync_data", "truncate", "set_times", "replace",
    "unlink", "chmod", "make_folders",
)  # fmt: skip


@pytest.fixture
async def house(tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    """A service that keeps places in the file."""
    hand = HandClock()
    object.__setattr__(hand.surroundings, "persist", "anchor")
    async with service(tmp_path, hand=hand) as made:
        yield made


@pytest.fixture
async def pis(house: House) -> AsyncIterator[Terminals]:
    async with terminals(house) as made:
        yield made


def writes(files: FaultyFiles) -> dict[str, int]:
    return {name: files.calls[name] for name in WRITES if files.calls[name]}


async def everything(session: OpenSession, one: Attachment) -> None:
    """All that a client can ask of a session and all that it does by itself, refused or not."""
    acts: list[Any] = [
        lambda: session.append([user("more")], origin=MINE),
        lambda: session.append([{"type": "custom", "customType": "x"}], origin=MINE, detached=True),
        lambda: session.navigate("b", origin=MINE),
        lambda: session.navigate("a", exact=True, origin=MINE),
        lambda: session.navigate("d", summary="What was left.", label="x", origin=MINE),
        lambda: session.label("b", "x", origin=MINE),
        lambda: session.rename("name", origin=MINE),
        lambda: session.edit_context("b", None, origin=MINE),
        lambda: session.compact(summary="All of it.", origin=MINE),
        lambda: session.compact(summary="By ourselves.", origin=REPAIR),
        lambda: session.delete(discard=True, origin=MINE),
        lambda: session.claim_to_write(MINE),
        session.places.keep,
        session.open_anew,
        session.look,
        session.check,
        session.remember,
        session.catch_up,
    ]
    for act in acts:
        try:
            await act()
        except (ServiceError, SessionError):
            continue
        finally:
            await session.places.keep()


KINDS: Final[dict[str, tuple[bytes, dict[str, Any]]]] = {
    "a sound file": (b"", {}),
    "a torn end": (TORN, {}),
    "an end without line feed": (b'{"type":"custom","id":"x","parentId":"d","customType":"y"}', {}),
    "an old format": (b"", {"version": 2}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("drives", [True, False])
async def test_whatever_is_asked_is_written_by_pi_or_not_at_all(
    house: House, pis: Terminals, kind: str, drives: bool
) -> None:
    end, header = KINDS[kind]
    path = house.file(*FILE, **header)
    pi = ScriptedPi(path)
    with path.open("ab") as file:
        file.write(end)
    session = await house.open(path)
    if kind == "a sound file":
        await session.navigate("b", origin=MINE)
    one = await pis.start(pi, drives=drives)
    before, stamp, file_id = path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino
    house.files.calls.clear()

    await everything(session, one)

    assert writes(house.files) == {}
    assert path.stat().st_ino == file_id
    assert path.read_bytes()[: len(before)] == before
    new = path.read_bytes()[len(before) :]
    if not drives:
        assert (new, path.stat().st_mtime_ns) == (b"", stamp)
    assert all(f'"id": "p{pi.pid}'.encode() in line for line in new.splitlines()[bool(end) :])


def comes(session: OpenSession, one: Attachment, pis: Terminals) -> Any:
    """A claim on the file in the middle of which a pi comes."""
    claim = session.claim_file

    async def claims() -> None:
        await claim()
        if not session.live.pis:
            pis.tasks.start_soon(one.attach)
            await until(lambda: session.live.pis)

    return claims


async def test_a_place_is_not_kept_when_a_pi_comes_in_that_moment(
    house: House, pis: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await house.opened(*FILE)
    await session.navigate("b", origin=MINE)
    one = pis.connect(ScriptedPi(Path(session.path or "")))
    monkeypatch.setattr(session, "claim_file", comes(session, one, pis))

    await session.places.keep()

    await until(lambda: session.live.is_settled)
    assert [entry["id"] for entry in in_file(session)] == ["a", "b", "c", "d"]


async def test_a_file_is_not_thrown_away_when_a_pi_comes_in_that_moment(
    house: House, pis: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await house.opened(*FILE)
    one = pis.connect(ScriptedPi(Path(session.path or "")))
    monkeypatch.setattr(session, "claim_file", comes(session, one, pis))

    with pytest.raises(ReadOnly):
        await session.delete(discard=False, origin=MINE)

    assert len(in_file(session)) == 4
    assert not session.is_gone


async def test_a_batch_is_not_stored_when_a_pi_comes_in_that_moment(
    house: House, pis: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await house.opened(*FILE)
    one = pis.connect(ScriptedPi(Path(session.path or "")))
    monkeypatch.setattr(session, "claim_file", comes(session, one, pis))

    await session.append([user("mine")], origin=MINE)

    assert [method for method, _ in one.pi.asked] == ["pi/append"]
    assert [entry["id"] for entry in in_file(session)] == [e["id"] for e in one.pi.entries]


async def test_the_daemon_of_another_agent_folder_does_not_write_either(
    house: House, pis: Terminals
) -> None:
    claimed: list[str] = []

    class Claims:
        def claim(self, path: str) -> Any:
            claimed.append(path)
            return self

        def release(self) -> None:
            claimed.clear()

    object.__setattr__(house.hand.surroundings, "claims", Claims())
    session = await house.opened(*FILE)
    assert claimed == []

    await pis.start(ScriptedPi(Path(session.path or "")))

    assert claimed == [session.path]


async def test_who_only_says_to_be_that_process_does_not_take_its_place(
    house: House, pis: Terminals
) -> None:
    session = await house.opened(*FILE)
    pi = ScriptedPi(Path(session.path or ""))
    one = await pis.start(pi)
    false = pis.connect(ScriptedPi(pi.file, pid=pi.pid), drives=False)
    object.__setattr__(false.process, "is_confirmed", False)
    await false.attach()
    assert one.running in session.live.pis

    false.cut()
    await until(lambda: session.live.pis == [one.running])
    await session.label("b", "x", origin=MINE)

    assert [method for method, _ in one.pi.asked] == ["pi/label"]
