"""Lines that we did not write come out of forks and migrations as they went in, byte for byte."""

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from pisessiond.service.open_session import OpenSession
from pisessiond.service.sessions import Sessions
from tests.support.corpus import Sample
from tests.support.operations import ORIGIN, service
from tests.support.pi import Pi
from tests.support.seen import at, inspected, open_file, told_by_pi

HEADER: Final = b'{ "cwd":"/srv/demo", "type":"session","id":"foreign" ,"version":3.0, "x":[1E5]}'
LINES: Final = (
    (
        b'{"id":"a","type" : "message", "parentId" :null ,"timestamp":"2026-01-01T00:00:00.000Z",'
        b' "message":{"content":"\\ud83d lone \\u00e9","role":"user"},"n":1.0, "m":1E5,"z":-0.0}'
    ),
    b'{"type":"weather","parentId":"a","id":"b","timestamp":null,"2":{"10":1.50,"1":[ ] } , "":0}',
    (
        b'{"parentId":"zzz","type":"message","id":"c","timestamp":"2026-01-01T00:00:01.000Z",'
        b'"message":{"role":"assistant","content":[{"type":"text","text":"bad \xff\xfe bytes"}],'
        b'"usage":null,"timestamp":1e3},"parentId":"b"}'
    ),
    (
        b'{"type":"label","id":"d","parentId":"c","timestamp":"2026-01-01T00:00:02.000Z",'
        b'"targetId":"a" , "label":"here"}'
    ),
    (
        b'{"type":"compaction","id":"e" , "parentId" : "d","timestamp":"2026-01-01T00:00:03.000Z",'
        b'"summary":"\\u0041","firstKeptEntryId": "c","tokensBefore":1.0e2,"extra":null}'
    ),
    (
        b'{"type":"message","id":"f","parentId":"e","timestamp":"2026-01-01T00:00:04.000Z",'
        b'"message":{"role":"user","content":[],"timestamp":2},"__proto__":{}}'
    ),
)
LABEL: Final = 3

Act = Callable[[Sessions, OpenSession], Awaitable[str]]


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "foreign.jsonl"
    path.write_bytes(b"\n".join([HEADER, *LINES, b""]))
    return path


def lines_after(folder: Path, path: Path, act: Act) -> list[bytes]:
    """The lines of the file that an act on the session at `path` speaks of."""

    async def run() -> str:
        async with service(folder) as sessions:
            return await act(sessions, await sessions.open(path=str(path)))

    data = Path(anyio.run(run)).read_bytes()
    assert data.endswith(b"\n")
    return data[:-1].split(b"\n")


async def clone(sessions: Sessions, session: OpenSession) -> str:
    forked = await session.clone(origin=ORIGIN)
    assert forked.path is not None
    return forked.path


async def fork_at_leaf(sessions: Sessions, session: OpenSession) -> str:
    forked = await session.fork(session.leaf, position="at", cwd=None, origin=ORIGIN)
    assert forked.path is not None
    return forked.path


async def fork_elsewhere(sessions: Sessions, session: OpenSession) -> str:
    forked = await session.fork(None, position=None, cwd="/srv/elsewhere", origin=ORIGIN)
    assert forked.path is not None
    return forked.path


@pytest.mark.parametrize("act", [clone, fork_at_leaf])
def test_the_branch_is_copied_as_bytes(pi: Pi, foreign: Path, tmp_path: Path, act: Act) -> None:
    before = foreign.read_bytes()
    header, *lines, label = lines_after(tmp_path, foreign, act)
    kept = [line for number, line in enumerate(LINES) if number != LABEL]
    # The chain is closed over the label, which is the one change there is.
    kept[LABEL] = kept[LABEL].replace(b'"parentId" : "d"', b'"parentId" : "c"')
    assert lines == kept
    assert json.loads(header)["parentSession"] == str(foreign)
    assert (json.loads(label)["targetId"], json.loads(label)["label"]) == ("a", "here")
    assert foreign.read_bytes() == before


def test_all_is_copied_as_bytes_to_another_folder(foreign: Path, tmp_path: Path) -> None:
    header, *lines = lines_after(tmp_path, foreign, fork_elsewhere)
    assert json.loads(header)["cwd"] == "/srv/elsewhere"
    assert lines == list(LINES)


def test_an_append_leaves_what_stands_there(foreign: Path, tmp_path: Path) -> None:
    async def append(sessions: Sessions, session: OpenSession) -> str:
        await session.rename("ours", origin=ORIGIN)
        assert session.path is not None
        return session.path

    *lines, ours = lines_after(tmp_path, foreign, append)
    assert lines == [HEADER, *LINES]
    assert json.loads(ours)["parentId"] == "f"


@pytest.mark.parametrize("act", [clone, fork_elsewhere])
def test_pi_sees_in_the_copy_what_it_saw_in_the_file(
    pi: Pi, foreign: Path, tmp_path: Path, act: Act
) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(b"\n".join([*lines_after(tmp_path, foreign, act), b""]))
    source, copied = pi.open(foreign), pi.open(copy)
    for member in ("context", "labels", "model", "thinkingLevel"):
        assert copied[member] == source[member]


# Migration ---------------------------------------------------------------------------------------

V1_HEADER: Final = (
    b'{"type":"session", "id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/o"}'
)
V1: Final = (
    (
        b'{"type":"message" ,"timestamp":"2025-01-01T00:00:00.000Z","n":1.0,'
        b'"message":{"role":"user","content":"\\ud83d one","timestamp":1E3}}'
    ),
    (
        b'{"type":"message","message":{"role" : "hookMessage","customType":"h","content":"\xff",'
        b'"display":true},"timestamp":"2025-01-01T00:00:01.000Z"}'
    ),
    b'{"type":"weather","deg":{ "10":1.50,"2":[ ]},"timestamp":"2025-01-01T00:00:02.000Z"}',
    (
        b'{"type":"compaction","summary":"told","firstKeptEntryIndex" : 2, "tokensBefore":1.0e2,'
        b'"timestamp":"2025-01-01T00:00:03.000Z"}'
    ),
    b'{"type":"message","message":{"role":"user","content":"two","timestamp":2}}',
)
V2_HEADER: Final = V1_HEADER.replace(b', "id"', b',"version" : 2, "id"')


def chained(lines: tuple[bytes, ...], ids: list[str]) -> list[bytes]:
    """Version 1 lines with the new members last."""
    made = []
    parent = "null"
    for line, entry_id in zip(lines, ids, strict=True):
        new = f',"id":"{entry_id}","parentId":{parent}'
        parent = f'"{entry_id}"'
        made.append(line[:-1] + new.encode() + b"}")
    return made


async def migrate(sessions: Sessions, session: OpenSession) -> str:
    """The first write, which rewrites an old file; it says nothing about the entries."""
    await session.rename("ours", origin=ORIGIN)
    assert session.path is not None
    return session.path


def test_of_a_first_version_only_the_named_members_change(pi: Pi, tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    path.write_bytes(b"\n".join([V1_HEADER, *V1, b""]))
    ids = [str(entry_id) for entry_id in open_file(path).index.ids]
    header, *lines, _ = lines_after(tmp_path, path, migrate)
    assert header == V1_HEADER[:-1] + b',"version":3}'
    expected = chained(V1, ids)
    expected[1] = expected[1].replace(b'"hookMessage"', b'"custom"')
    kept = f',"firstKeptEntryId":"{ids[1]}"'.encode()
    expected[3] = expected[3].replace(b',"firstKeptEntryIndex" : 2', b"")[:-1] + kept + b"}"
    assert lines == expected
    assert all(re.fullmatch("[0-9a-f]{8}", entry_id) for entry_id in ids)


def test_of_a_second_version_only_the_role_changes(pi: Pi, tmp_path: Path) -> None:
    path = tmp_path / "v2.jsonl"
    entries = chained(V1, [f"000000{number:02}" for number in range(len(V1))])
    path.write_bytes(b"\n".join([V2_HEADER, *entries, b""]))
    header, *lines, _ = lines_after(tmp_path, path, migrate)
    assert header == V2_HEADER.replace(b": 2", b": 3")
    entries[1] = entries[1].replace(b'"hookMessage"', b'"custom"')
    assert lines == entries


OLD: Final = [
    Sample("derived+mutated/v1-with-first-kept-index-and-hook.jsonl"),
    Sample("derived+mutated/header-version-null.jsonl"),
    Sample("derived+mutated/header-version-2.jsonl"),
    Sample("derived+mutated/v2-hookmessage.jsonl"),
]


def seen_at(pi: Pi, path: Path, place: Any) -> dict[str, Any]:
    told = pi.at(path, place)
    return {name: told[name] for name in at(open_file(path), place)}


@pytest.mark.parametrize("sample", OLD, ids=str)
def test_pi_sees_in_a_migrated_file_what_we_said_before(
    pi: Pi, sample: Sample, tmp_path: Path
) -> None:
    path = tmp_path / "old.jsonl"
    path.write_bytes(sample.path.read_bytes())
    session = open_file(path)
    before = inspected(session)
    places = list(session.index.ids)
    contexts = {place: at(session, place) for place in places}
    lines_after(tmp_path, path, migrate)
    after = told_by_pi(pi.open(path))
    assert after == {k: v for k, v in inspected(open_file(path)).items() if k != "problems"}
    for member in ("sessionId", "cwd", "header", "labels", "context"):
        assert after[member] == before[member]
    assert after["entryCount"] == before["entryCount"] + 1
    assert {place: seen_at(pi, path, place) for place in places} == contexts
