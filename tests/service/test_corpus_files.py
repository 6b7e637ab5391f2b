"""Every file of the corpus: reading leaves no trace, and a write adds what it was asked to add."""

import os
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.core.errors import NotASession
from pisessiond.service.errors import ReadOnly
from pisessiond.service.listing import Wanted
from pisessiond.service.open_session import OpenSession
from tests.support.corpus import SAMPLES, Sample
from tests.support.differences import DIFFERENCES
from tests.support.pi import Pi
from tests.support.seen import open_file
from tests.support.service import ME, House, service, user

pytestmark = pytest.mark.anyio

TIME: Final = 1_700_000_000_123_456_789
ADDED: Final = {**user("one more"), "id": "added1"}


def state(path: Path) -> tuple[bytes, int, int, int, int, int]:
    """All that reading must leave alone."""
    stat = path.stat()
    return (
        path.read_bytes(),
        stat.st_mtime_ns,
        stat.st_ino,
        stat.st_mode,
        stat.st_uid,
        stat.st_gid,
    )


def copied(house: House, sample: Sample) -> Path:
    house.sessions_folder.mkdir(parents=True, exist_ok=True)
    path = house.sessions_folder / sample.name.replace("/", "_")
    shutil.copy(sample.path, path)
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12_345, 23_456)
    os.utime(path, ns=(TIME, TIME))
    return path


async def look_at(session: OpenSession) -> None:
    """Ask what reads bodies."""
    await session.sized()
    await session.check()
    await session.stats()
    await session.tree(around="leaf", after=None, before=None, count=50, filter="all")
    await session.look()


async def test_opening_listing_and_checking_change_nothing(house: House) -> None:
    files = {copied(house, sample): sample for sample in SAMPLES}
    before = {path: state(path) for path in files}
    await house.sessions.list(Wanted(limit=1_000))
    opened = 0
    for path in files:
        try:
            session = await house.open(path)
        except NotASession:
            continue
        opened += 1
        await look_at(session)
    await house.sessions.list(Wanted(cwd=house.cwd, query="a", limit=1_000))
    await house.sessions.aclose()
    assert opened > len(files) // 2
    assert {path: state(path) for path in files} == before
    assert sorted(house.sessions_folder.iterdir()) == sorted(files)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
async def test_an_append_adds_one_line(pi: Pi, tmp_path: Path, sample: Sample) -> None:
    async with service(tmp_path, "immediate") as house:
        path = copied(house, sample)
        before = state(path)
        try:
            session = await house.open(path)
        except NotASession:
            assert state(path) == before
            return
        ids, leaf = list(session.session.index.ids), session.leaf
        was_old = session.session.needs_migration
        if session.read_only is not None:
            with pytest.raises(ReadOnly):
                await session.append([ADDED], origin=ME)
            assert state(path) == before
            return
        done = await session.append([ADDED], origin=ME)
    stored = open_file(path)
    assert done.ids == ("added1",)
    assert list(stored.index.ids) == [*ids, "added1"]
    assert stored.leaf_id == "added1"
    assert stored.id_of(stored.index.parent[stored.leaf]) == leaf
    after = state(path)
    assert after[3:] == before[3:], "mode and owner are kept"
    if not was_old and before[0]:
        whole = before[0] if before[0].endswith(b"\n") else before[0] + b"\n"
        assert after[0].startswith(whole)
        assert after[0].count(b"\n") == whole.count(b"\n") + 1
    if sample.name not in DIFFERENCES:
        check_pi(pi, path, [*ids, "added1"])
    assert state(path) == after


def check_pi(pi: Pi, path: Path, ids: list[Any]) -> None:
    """pi opens it at the new entry and holds all that we hold."""
    (seen,) = pi.glance([path])
    assert "error" not in seen, seen
    assert seen["leafId"] == "added1"
    assert {str(entry) for entry, _ in seen["entries"]} >= {str(entry) for entry in ids}
