"""Writes that fail: nothing changes, everyone is told, and a retry works."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from pisessiond.core.problems import Problem
from pisessiond.service.errors import Degraded, NotSynced, ReadOnly
from pisessiond.service.open_session import OpenSession
from tests.support.seen import open_file
from tests.support.service import ME, OTHER, Entry, House, Listener, answer, in_file, user

pytestmark = pytest.mark.anyio

TALK = [user("hello", "u1"), answer("hi", "a1", "u1"), user("more", "u2", "a1")]
GIVEN = [{**user("x"), "id": "x1"}, {**answer("y"), "id": "x2"}]


@pytest.fixture
async def talk(house: House) -> OpenSession:
    """u1 - a1 - u2, stored; it stands at a1."""
    session = await house.create()
    await session.append(TALK, origin=ME)
    await session.navigate("a1", exact=True, origin=ME)
    return session


def bodies(session: OpenSession) -> list[Entry]:
    return session.session.entries(range(len(session.session.index)))


def told(listener: Listener) -> list[tuple[str, Any, list[str]]]:
    """Kind, origin and kinds of problems of what was heard since the last time."""
    listener.settle()
    heard, listener.heard = listener.heard, []
    return [
        (one.kind, one.origin, [problem.kind for problem in one.details.get("problems", [])])
        for one in heard
    ]


def fault(house: House, name: str) -> None:
    if name == "half":
        house.files.write_only(9)
    else:
        house.files.fail(name, errno.EACCES if name == "open_write" else errno.ENOSPC)


@pytest.mark.parametrize("name", ["write", "half"])
async def test_a_failed_write_changes_no_entry_and_everyone_is_told(
    talk: OpenSession, house: House, name: str
) -> None:
    first, second = Listener(talk), Listener(talk)
    before = talk.leaf, bodies(talk)
    fault(house, name)
    with pytest.raises(Degraded):
        await talk.append(GIVEN, origin=ME)
    assert (talk.leaf, bodies(talk)) == before
    left: list[tuple[str, Any, list[str]]] = [("problem", "repair", ["badLine"])]
    expected = left * (name == "half") + [("problem", ME, ["degraded"])]
    assert told(first) == told(second) == expected
    assert [problem.kind for problem in talk.snapshot().problems][-1] == "degraded"
    assert talk.last_external is None

    done = await talk.append(GIVEN, origin=OTHER)
    assert done.ids == ("x1", "x2")
    recovered = [("append", OTHER, []), ("problem", OTHER, ["recovered"])]
    assert told(first) == told(second) == recovered
    assert "degraded" not in [problem.kind for problem in talk.snapshot().problems]
    check_file(talk)


def check_file(session: OpenSession) -> None:
    """The file says what the session says."""
    assert session.path is not None
    stored = open_file(Path(session.path))
    held = session.session
    assert stored.index.ids == held.index.ids
    assert stored.index.line == held.index.line
    assert stored.index.at == held.index.at
    assert stored.leaf_id == held.leaf_id
    problems = [(p.kind, p.line, p.offset) for p in held.problems]
    assert [(p.kind, p.line, p.offset) for p in stored.problems] == problems


async def test_a_write_that_was_refused_is_told_to_whoever_asked(
    talk: OpenSession, house: House
) -> None:
    listener = Listener(talk)
    fault(house, "open_write")
    with pytest.raises(ReadOnly):
        await talk.append(GIVEN, origin=ME)
    assert told(listener) == []
    await talk.append(GIVEN, origin=ME)
    check_file(talk)


async def test_a_disk_that_stays_full_is_told_once(talk: OpenSession, house: House) -> None:
    listener = Listener(talk)
    house.files.fail("write", errno.ENOSPC, always=True)
    for _ in range(3):
        with pytest.raises(Degraded):
            await talk.append(GIVEN, origin=ME)
    assert told(listener) == [("problem", ME, ["degraded"])]
    house.files.heal()
    await talk.append(GIVEN, origin=ME)
    assert [kind for kind, *_ in told(listener)] == ["append", "problem"]


async def test_a_session_that_cannot_be_made_is_told_as_well(house: House) -> None:
    session = await house.create()
    await session.append(TALK[:1], origin=ME)
    listener = Listener(session)
    fault(house, "half")
    with pytest.raises(Degraded):
        await session.append(TALK[1:], origin=ME)
    assert told(listener) == [("problem", ME, ["degraded"])]
    assert session.is_unsaved
    assert session.path is not None
    assert not os.path.exists(session.path)
    await session.append(TALK[1:], origin=ME)
    kinds = [kind for kind, *_ in told(listener)]
    assert sorted(kinds) == ["append", "problem", "save"]
    check_file(session)


async def test_after_a_failed_sync_a_session_is_read_only_until_it_is_opened_anew(
    talk: OpenSession, house: House
) -> None:
    listener = Listener(talk)
    before = talk.leaf, bodies(talk)
    fault(house, "sync_data")
    with pytest.raises(NotSynced):
        await talk.append(GIVEN, origin=ME)
    assert told(listener) == [("problem", ME, ["degraded"])]
    await talk.look()
    assert (talk.leaf, bodies(talk)) == before
    with pytest.raises(ReadOnly):
        await talk.append([user("z")], origin=ME)
    with pytest.raises(ReadOnly):
        await talk.navigate("u1", origin=ME)
    assert talk.snapshot().read_only is not None
    assert talk.leaf == "a1"

    assert await house.sessions.open(session=talk.handle) is talk
    assert listener.resets == ["rewritten"]
    assert talk.snapshot().read_only is None
    done = await talk.append(GIVEN, origin=ME)
    assert done.ids == ("x1", "x2")
    await talk.append([user("z")], origin=ME)
    assert [body["id"] for body in in_file(talk)].count("x1") == 1
    check_file(talk)
    assert "degraded" not in [problem.kind for problem in talk.snapshot().problems]


async def test_a_torn_line_that_our_write_ends_is_told(house: House) -> None:
    torn = b'{"type":"message","id":"t1","par'
    session = await house.opened(*TALK, torn)
    listener = Listener(session)
    assert [problem.kind for problem in session.session.problems] == ["badLine"]
    await session.append([{**user("x"), "id": "x1"}], origin=ME)
    assert told(listener) == [("problem", "repair", ["tornTail"]), ("append", ME, [])]
    (problem,) = session.session.problems
    assert isinstance(problem, Problem)
    assert session.path is not None
    data = Path(session.path).read_bytes()
    assert problem.offset is not None
    assert data[problem.offset :].startswith(torn + b"\n{")
    assert problem.line == 5
    assert open_file(Path(session.path)).leaf_id == session.leaf == "x1"
