"""Searching: files, open and unsaved sessions, what changed since, pages."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from pisessiond.core.dates import iso_from_ms
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.places import Places
from pisessiond.service.searching import SearchPage, SearchWish
from pisessiond.service.sessions import open_sessions
from pisessiond.service.stores import Stores
from pisessiond.storage.catalogue import CatalogueFile
from pisessiond.storage.glancing import FolderGlances
from pisessiond.storage.jsonl import JsonlStore
from pisessiond.storage.memory import MemoryStore
from pisessiond.storage.text_index import TextIndex
from tests.support.files import FaultyFiles
from tests.support.service import (
    ME,
    START_MS,
    HandClock,
    House,
    answer,
    entry,
    foreign,
    label,
    read_text,
    service,
    spell,
    user,
)

pytestmark = pytest.mark.anyio


async def search(house: House, query: str, **wanted: Any) -> SearchPage:
    return await house.sessions.search(SearchWish(query, **wanted))


async def found(house: House, query: str, **wanted: Any) -> list[tuple[str, Any]]:
    page = await search(house, query, **wanted)
    assert page.pending == 0
    return sorted((one.session, one.entry) for one in page.hits)


def new(text: str, entry_id: str) -> dict[str, Any]:
    """A message to append where the session stands."""
    return {**user(text), "id": entry_id}


async def test_words_in_files_are_found_without_opening_them(tmp_path: Path) -> None:
    async with service(tmp_path) as house:
        house.file(user("Fix the login", "a"), answer("Done: Größe", "b", "a"), name="s1")
        house.file(user("Another login", "c"), name="s2", cwd="/srv/other")
        assert await found(house, "login") == [("s1", "a"), ("s2", "c")]
        (hit,) = (await search(house, "grosse")).hits
        assert (hit.role, hit.tool, hit.time) == ("assistant", None, iso_from_ms(START_MS))
        assert (hit.snippet.text, hit.snippet.matches) == ("Done: Größe", ((6, 11),))
        assert (hit.cwd, hit.name) == (house.cwd, None)
        assert house.sessions.open_sessions == []
        assert await found(house, "login", cwd="/srv/other") == [("s2", "c")]
        assert await found(house, "login", session="s1") == [("s1", "a")]
        assert await found(house, "login", session=hit.path) == [("s1", "a")]
        assert await found(house, "login", role="assistant") == []
        assert await found(house, "") == []
        assert await found(house, '"(') == []


async def test_unsaved_and_memory_sessions_are_searched(tmp_path: Path) -> None:
    async with service(tmp_path) as house:
        for store in ("jsonl", "memory"):
            session = await house.create(store)
            await session.append([user("日本の unsavedWord", f"a{store}")], origin=ME)
            await session.label(f"a{store}", "Mine", origin=ME)
            assert await found(house, "日本", session=session.handle) == [
                (session.handle, f"a{store}")
            ]
            assert (session.handle, f"a{store}") in await found(house, "unsaved", label="mine")
            assert await found(house, "unsaved", label="other") == []
            assert await found(house, "unsaved", cwd="/srv/other") == []
            assert await found(house, "unsaved", tool="bash") == []
            later = START_MS + 1
            assert await found(house, "unsaved", since=later) == []
        assert len(await found(house, "unsaved")) == 2


async def test_what_is_appended_is_found_at_once_and_only_once(tmp_path: Path) -> None:
    async with service(tmp_path) as house:
        session = await house.opened(user("one", "a"), answer("two", "b", "a"))
        assert await found(house, "three") == []
        await session.append([new("three", "c")], origin=ME)
        assert await found(house, "three") == [(session.handle, "c")]
        foreign(session, user("three again", "d", "c"))
        assert await found(house, "three") == [(session.handle, "c"), (session.handle, "d")]


async def test_a_rewritten_file_is_not_believed(tmp_path: Path) -> None:
    async with service(tmp_path) as house:
        path = house.file(user("before", "a"), user("stays", "b", "a"))
        assert await found(house, "before") == [("s1", "a")]
        lines = path.read_bytes().splitlines(keepends=True)
        lines[1] = lines[1].replace(b"before", b"behind")
        path.write_bytes(b"".join(lines))
        assert await found(house, "before") == []
        assert await found(house, "behind") == [("s1", "a")]
        path.unlink()
        assert await found(house, "stays") == []


async def test_old_files_have_the_ids_that_opening_them_gives(tmp_path: Path) -> None:
    async with service(tmp_path) as house:
        old = [
            {"type": "message", "timestamp": iso_from_ms(START_MS), "message": message}
            for message in (
                {"role": "user", "content": "ancient words"},
                {"role": "hookMessage", "content": "hooked words"},
            )
        ]
        path = house.file(*old, name="s1", version=1)
        assert len(await found(house, "ancient")) == 1
        hits = await found(house, "words")
        session = await house.open(path)
        assert {one for _, one in hits} == set(session.session.index.ids)
        assert await found(house, "hooked", role="custom") == [hits[0]] or hits[1:]


async def test_copies_in_forks_are_grouped(tmp_path: Path) -> None:
    async with service(tmp_path) as house:
        session = await house.opened(user("shared", "a"), answer("words", "b", "a"))
        forked = await session.fork("b", position="at", cwd=None, origin=ME)
        await house.sessions.get(forked.session).append([user("own words")], origin=ME)
        page = await search(house, "shared")
        (hit,) = page.hits
        sessions = {hit.session, *(one for one, _ in hit.copies)}
        assert sessions == {"s1", forked.session}
        assert len((await search(house, "words")).hits) == 2


async def test_pages_follow_one_another(tmp_path: Path) -> None:
    async with service(tmp_path) as house:
        entries = [
            user(f"word {n}", f"{n:08x}", timestamp=iso_from_ms(START_MS - n)) for n in range(230)
        ]
        house.file(*entries)
        unsaved = await house.create()
        await unsaved.append([new(f"word new {n}", f"n{n}") for n in range(5)], origin=ME)
        seen: list[Any] = []
        cursor = None
        while True:
            page = await search(house, "word", limit=3, cursor=cursor)
            seen += [one.entry for one in page.hits]
            if (cursor := page.cursor) is None:
                break
            # What is indexed meanwhile shifts nothing.
            if len(seen) == 30:
                house.file(user("word between", "z"), name="s9")
        assert len(seen) == len(set(seen)) == 235
        for wrong in ("", "x", "1.2.3", "1.2.3.x", "1.2.3." + "9" * 30, "-1.0.0.0"):
            with pytest.raises(InvalidRequest):
                await search(house, "word", cursor=wrong)


async def test_odd_files_stop_nothing(tmp_path: Path) -> None:
    async with service(tmp_path) as house:
        house.file(user("needle", "a"), b"\xff\xfe broken\n", b"{}\n", b"[1]\n", name="s1")
        house.file(b"", name="s2")
        bad = house.sessions_folder / "other.jsonl"
        bad.write_bytes(b'{"needle": 1}\nneedle\n')
        (house.sessions_folder / "half.jsonl").write_bytes(spell(user("needle", "b"))[:-9])
        before = bad.read_bytes()
        assert await found(house, "needle") == [("s1", "a")]
        assert bad.read_bytes() == before


async def test_names_labels_tools_and_summaries(tmp_path: Path) -> None:
    call = {
        "type": "toolCall",
        "id": "t",
        "name": "bash",
        "arguments": {"command": "grep -r needle"},
    }
    async with service(tmp_path) as house:
        house.file(
            user("hello", "a"),
            entry("message", "b", "a", message={"role": "assistant", "content": [call]}),
            entry("session_info", "c", "b", name="needle work"),
            label("d", "c", "a", "needle label"),
            entry("branch_summary", "e", "d", summary="a needle", fromId="b"),
        )
        every = ["b", "c", "d", "e"]
        assert await found(house, "needle") == [("s1", one) for one in every]
        roles = {"b": "assistant", "c": "name", "d": "label", "e": "summary"}
        for entry_id, role in roles.items():
            assert await found(house, "needle", role=role) == [("s1", entry_id)]
        assert await found(house, "needle", tool="bash") == [("s1", "b")]
        assert {one.name for one in (await search(house, "needle")).hits} == {"needle work"}
        assert await found(house, "hello", label="NEEDLE LABEL") == [("s1", "a")]


async def test_an_answer_is_cut_short_after_a_while_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pisessiond.service.searching._AT_ONCE", 10)
    async with service(tmp_path) as house:
        house.file(*(user("max size", f"{number:08x}") for number in range(300)))
        assert await found(house, "max_size") == []
        monkeypatch.setattr("pisessiond.service.searching.LOOK_SECONDS", -1.0)
        page = await search(house, "max_size")
        assert (page.hits, page.cursor is None) == ([], False)
        monkeypatch.setattr("pisessiond.service.searching.LOOK_SECONDS", 60.0)
        assert (await search(house, "max_size", cursor=page.cursor)).cursor is None


@asynccontextmanager
async def kept_service(folder: Path, catalogue: Path) -> AsyncIterator[House]:
    """A service whose catalogue is a file."""
    hand = HandClock()
    kept = CatalogueFile(str(catalogue))
    stores = Stores(JsonlStore(), MemoryStore(), kept, FolderGlances(), TextIndex(kept))
    places = Places(str(folder / "agent"), str(folder), {}, read_text)
    async with open_sessions(
        stores, places, hand.surroundings, hand.new_session_id, "first-assistant"
    ) as sessions:
        yield House(sessions, folder, hand, FaultyFiles())


HARM = {
    "deleted": None,
    "words": "UPDATE search_words_data SET block = randomblob(length(block))",
    "texts": "DROP TABLE search_texts",
    "all words": "DROP TABLE search_words",
    "files": "DROP TABLE files",
    "version": "UPDATE about SET version = 77",
    "part": "UPDATE parts SET version = 77",
}


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("when", ["running", "restarted"])
async def test_an_index_that_is_gone_or_harmed_is_filled_again(
    tmp_path: Path, harm: str, when: str
) -> None:
    path = tmp_path / "cache" / "catalogue.sqlite"

    def do_harm() -> None:
        statement = HARM[harm]
        if statement is None:
            path.unlink()
            return
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement)
            connection.commit()

    async def found_soon(house: House) -> bool:
        for _ in range(4):
            if [one.entry for one in (await search(house, "needle")).hits] == ["a"]:
                return True
        return False

    async with kept_service(tmp_path, path) as house:
        house.file(user("needle", "a"), *(user(f"word{n} hay", f"x{n}") for n in range(50)))
        assert await found_soon(house)
        if when == "running":
            do_harm()
            assert await found_soon(house)
    if when == "restarted":
        do_harm()
    async with kept_service(tmp_path, path) as house:
        assert await found_soon(house)
        assert len((await search(house, "hay", limit=100)).hits) == 50


async def test_thousands_of_files_pend_rather_than_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pisessiond.service.searching.CATCH_UP_SECONDS", 0.0)
    async with service(tmp_path) as house:
        for number in range(20):
            house.file(user("word", "a", timestamp=iso_from_ms(number)), name=f"s{number}")
        page = await search(house, "word")
        assert page.pending > 0
        monkeypatch.undo()
        assert len(await found(house, "word")) == 20
