"""Sessions that move in and out: exports, imports, the trash."""

from __future__ import annotations

import errno
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from pisessiond.core.errors import EntryNotFound, NotASession
from pisessiond.service import exporting
from pisessiond.service.errors import (
    Degraded,
    FileExists,
    InvalidRequest,
    NotThrownAway,
    ReadOnly,
    SessionExists,
    SessionNotFound,
    TooLarge,
)
from pisessiond.service.listing import Wanted
from pisessiond.service.open_session import OpenSession
from pisessiond.service.subscribers import OnlyListens
from pisessiond.storage import errors as store
from pisessiond.storage.other_files import SystemOtherFiles
from tests.support.exports import SAMPLE
from tests.support.files import FaultyFiles
from tests.support.seen import inspected, open_file
from tests.support.service import ME, HandClock, House, answer, in_file, label, service, user

pytestmark = pytest.mark.anyio


class Bin(SystemOtherFiles):
    """A trash that is a folder, or is not there."""

    def __init__(self, folder: Path, files: FaultyFiles) -> None:
        super().__init__(files)
        self.folder = folder
        self.is_there = True

    def throw_away(self, path: str) -> None:
        if not self.is_there:
            raise store.NotThrownAway("there is none for this disk")
        self.folder.mkdir(exist_ok=True)
        Path(path).rename(self.folder / Path(path).name)


@asynccontextmanager
async def _house(folder: Path) -> AsyncIterator[House]:
    hand, files = HandClock(), FaultyFiles()
    hand.surroundings = replace(hand.surroundings, other_files=Bin(folder / "bin", files))
    async with service(folder, hand=hand, files=files) as house:
        yield house


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with _house(tmp_path) as made:
        yield made


def bin_of(house: House) -> Bin:
    found = house.hand.surroundings.other_files
    assert isinstance(found, Bin)
    return found


async def export(session: OpenSession, kind: exporting.Format, **named: Any) -> Any:
    given = {"entry": UNSET, "whole": False, "path": None, **named}
    return await session.export(kind, **given)


TALK = (user("a", "u1"), answer("b", "a1", "u1"), label("l1", "a1", "u1", "green"))


# Exports


async def test_a_branch_is_exported_as_a_session_of_its_own(house: House) -> None:
    session = await house.opened(*TALK, user("c", "u2", "u1"), parentSession="/else.jsonl")
    done = await export(session, "jsonl", entry="l1")
    header, *entries = [json.loads(line) for line in done.text.splitlines()]
    assert list(header) == ["type", "version", "id", "timestamp", "cwd"]
    assert (header["id"], header["timestamp"]) == ("s1", house.hand.now_iso())
    assert [entry["id"] for entry in entries] == ["u1", "a1", "l1"]
    assert done.size == len(done.text.encode())


async def test_before_the_first_entry_an_export_is_a_header(house: House) -> None:
    session = await house.opened(*TALK)
    assert (await export(session, "jsonl", entry=None)).text.count("\n") == 1
    with pytest.raises(EntryNotFound):
        await export(session, "jsonl", entry="nowhere")


@pytest.mark.parametrize("kind", ["jsonl", "markdown", "html"])
async def test_an_export_to_a_path_is_the_same_and_writes_nothing_over(
    house: House, kind: exporting.Format
) -> None:
    session = await house.opened(*TALK)
    text = (await export(session, kind)).text
    path = house.folder / "out"
    done = await export(session, kind, path=str(path))
    assert (done.text, done.path) == (None, str(path))
    assert path.read_text("utf-8") == text
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.stat()
    with pytest.raises(FileExists):
        await export(session, kind, path=str(path))
    (house.folder / "link").symlink_to(house.folder / "elsewhere")
    with pytest.raises(FileExists):
        await export(session, kind, path=str(house.folder / "link"))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


async def test_an_export_that_fails_half_way_leaves_nothing(house: House) -> None:
    session = await house.opened(*TALK)
    path = house.folder / "out"
    house.files.fail("write", errno.ENOSPC)
    with pytest.raises(Degraded):
        await export(session, "html", path=str(path))
    assert not path.exists()
    with pytest.raises(Degraded):
        await export(session, "html", path=str(house.folder / "no" / "folder"))


async def test_an_export_too_large_for_an_answer_goes_to_a_file(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "ANSWER_BYTES", 500)
    session = await house.opened(user("x" * 1_000, "u1"), answer("y", "a1", "u1"))
    with pytest.raises(TooLarge):
        await export(session, "markdown")
    assert (await export(session, "markdown", path=str(house.folder / "out"))).size > 1_000


async def test_only_a_page_holds_a_whole_tree(house: House) -> None:
    session = await house.opened(*TALK)
    with pytest.raises(InvalidRequest):
        await export(session, "markdown", whole=True)
    assert "you are here" in (await export(session, "html", whole=True)).text


# Imports


async def imported(house: House, **given: Any) -> Path:
    named = {"path": None, "text": None, "session_id": None, "cwd": None, "home_cwd": "/srv/home"}
    return Path((await house.sessions.import_copy(**{**named, **given})).path)


async def test_a_copy_has_every_byte_of_its_source(house: House) -> None:
    source = house.folder / "source.jsonl"
    time = "2026-01-01T00:00:00.000Z"
    header = f'{{"type":"session","version":2,"id":"old","timestamp":"{time}","cwd":"/w"}}'
    data = f'junk\n\r\n{header}\r\n{{ "type":"custom","id":"c1" ,"n":1.0}}\n'.encode() + b"\xff\n"
    source.write_bytes(data)
    before = source.stat()
    path = await imported(house, path=str(source))
    assert path.read_bytes() == data
    assert path.name == "2026-01-01T00-00-00-000Z_old.jsonl"
    assert path.parent.name == "--w--"
    assert source.stat() == before
    assert (await house.open(path)).session.id == "old"


async def test_what_was_exported_comes_back_as_the_same_tree(house: House) -> None:
    session = await house.open(SAMPLE)
    text = (await export(session, "jsonl")).text
    path = await imported(house, text=text, session_id="", cwd="/srv/new")
    ours, theirs = inspected(open_file(path)), inspected(session.session)
    for member in ("leafId", "branchLength", "contextEntryIds", "context", "name"):
        assert ours[member] == theirs[member]
    assert ours["header"]["cwd"] == "/srv/new"
    assert ours["header"]["id"] != theirs["header"]["id"]


async def test_of_the_header_only_id_and_folder_change(house: House) -> None:
    header = (
        b'{"type":"session", "version":3,"id":"a","extra":[1.0],"cwd":"/w","timestamp":"x/../y"}'
    )
    path = await imported(house, text=header.decode() + "\n", session_id="b", cwd="/n")
    assert path.read_bytes() == header.replace(b'"a"', b'"b"').replace(b'"/w"', b'"/n"') + b"\n"
    # A time that is none names no file.
    assert path.name == house.hand.now_iso().replace(":", "-").replace(".", "-") + "_b.jsonl"


async def test_an_id_that_is_taken_is_refused(house: House) -> None:
    path = house.file(*TALK)
    with pytest.raises(SessionExists):
        await imported(house, path=str(path))
    with pytest.raises(SessionExists):
        await imported(house, path=str(path), cwd="/srv/elsewhere")
    created = await house.create()
    with pytest.raises(SessionExists):
        await imported(house, path=str(path), session_id=created.handle)
    assert (await imported(house, path=str(path), session_id="")).exists()


async def test_a_copy_is_not_taken_for_the_work_of_another_program(house: House) -> None:
    path = await imported(house, path=str(SAMPLE), session_id="")
    (listed,) = (await house.sessions.list(Wanted())).sessions
    assert (listed.path, listed.last_external, listed.live) == (str(path), None, False)
    path.write_bytes(path.read_bytes() + b"\n")
    (listed,) = (await house.sessions.list(Wanted())).sessions
    assert listed.last_external is not None


@pytest.mark.parametrize("text", ["", "{}\n", "no json\n", '{"type":"message","id":"a"}\n'])
async def test_what_is_no_session_is_refused(house: House, text: str) -> None:
    with pytest.raises(NotASession):
        await imported(house, text=text)
    assert not (house.folder / "agent").exists()


async def test_an_id_that_names_no_file_and_half_a_pair_are_refused(house: House) -> None:
    text = '{"type":"session","id":"../x","cwd":"/w"}\n'
    with pytest.raises(InvalidRequest):
        await imported(house, text=text)
    with pytest.raises(InvalidRequest):
        await imported(house, text=text, session_id="a/b")
    with pytest.raises(InvalidRequest):
        await imported(house, text="\ud800")
    with pytest.raises(SessionNotFound):
        await imported(house, path=str(house.folder / "nothing"))
    assert (await imported(house, text=text, session_id="good")).exists()


# The trash


class Deaf(OnlyListens):
    def __init__(self) -> None:
        self.resets: list[str] = []

    def session_changed(self, change: object) -> None:
        pass

    def session_reset(self, session: str, reason: str) -> None:
        self.resets.append(reason)


async def delete(house: House, session: str | None = None, **named: Any) -> Any:
    given = {"path": None, "discard": False, "origin": ME, **named}
    return await house.sessions.delete(session=session, **given)


async def test_a_deleted_session_is_in_the_trash_and_everyone_is_told(house: House) -> None:
    session = await house.opened(*TALK)
    data, deaf = Path(session.path or "").read_bytes(), Deaf()
    session.subscribe(deaf)
    gone = await delete(house, session.handle)
    assert gone.trashed
    assert deaf.resets == ["gone"]
    assert (bin_of(house).folder / Path(gone.path).name).read_bytes() == data
    with pytest.raises(SessionNotFound):
        house.sessions.get(session.handle)
    with pytest.raises(SessionNotFound):
        await session.append([user("more")], origin=ME)
    with pytest.raises(SessionNotFound):
        await house.sessions.open(session="s1")


async def test_a_session_that_nobody_has_open_is_deleted_by_id_and_by_path(house: House) -> None:
    house.file(*TALK)
    other = house.file(*TALK, name="s2")
    assert (await delete(house, "s1")).trashed
    assert (await delete(house, path=str(other))).session == "s2"
    assert house.sessions.open_sessions == []
    assert list(house.sessions_folder.iterdir()) == []


async def test_what_is_no_session_is_not_deleted(house: House) -> None:
    path = house.folder / "thesis.txt"
    path.write_text("Chapter 1\n")
    with pytest.raises(NotASession):
        await delete(house, path=str(path))
    with pytest.raises(SessionNotFound):
        await delete(house, "nowhere")
    assert path.exists()


async def test_without_a_trash_everything_stays(house: House) -> None:
    session = await house.opened(*TALK)
    deaf = Deaf()
    session.subscribe(deaf)
    bin_of(house).is_there = False
    with pytest.raises(NotThrownAway):
        await delete(house, session.handle)
    assert deaf.resets == []
    await session.append([user("more")], origin=ME)
    assert len(in_file(session)) == 4
    assert NotThrownAway.__base__ is not SessionExists


async def test_an_unsaved_session_goes_only_when_that_is_said(house: House) -> None:
    for session in (await house.create(), await house.create("memory")):
        await session.append([user("not on disk")], origin=ME)
        with pytest.raises(InvalidRequest):
            await delete(house, session.handle)
        assert not (await delete(house, session.handle, discard=True)).trashed
    assert house.sessions.open_sessions == []
    assert not bin_of(house).folder.exists()


async def test_a_session_that_another_process_writes_to_stays(house: House) -> None:
    session = await house.opened(*TALK)

    async def refuse() -> None:
        raise ReadOnly("another process")

    session.claim_file = refuse  # type: ignore[method-assign]
    with pytest.raises(ReadOnly):
        await delete(house, session.handle)
    assert Path(session.path or "").exists()


async def test_a_move_that_was_not_kept_writes_no_file_again(tmp_path: Path) -> None:
    hand = HandClock()
    hand.surroundings = replace(
        hand.surroundings, persist="anchor", other_files=Bin(tmp_path / "bin", FaultyFiles())
    )
    async with service(tmp_path, hand=hand) as house:
        session = await house.opened(*TALK)
        await session.navigate("u1", exact=True, origin=ME)
        await delete(house, session.handle)
        await session.ended.wait()
    assert list(house.sessions_folder.iterdir()) == []


def test_a_new_file_of_no_pieces_is_empty(tmp_path: Path) -> None:
    pieces: Iterable[bytes] = []
    assert SystemOtherFiles().write_new(str(tmp_path / "a"), pieces) == 0
    assert (tmp_path / "a").read_bytes() == b""
