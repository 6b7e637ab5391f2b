"""What those who draw rows are told: rows kept up by changes are the rows asked for anew."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from pisessiond.core.errors import SessionError
from pisessiond.core.flush import FlushRule
from pisessiond.core.rows.growing import Growing
from pisessiond.core.rows.row import FILTERS, Filter, RowsChange
from pisessiond.service import row_book
from pisessiond.service.errors import ServiceError
from pisessiond.service.open_session import OpenSession
from pisessiond.service.row_pages import RowsPage, RowsWish, make_page
from pisessiond.service.subscribers import OnlyListens
from pisessiond.service.types import SessionChange
from tests.support.row_screen import RowScreen, without_places
from tests.support.service import ME, OTHER, Entry, House, answer, entry, foreign, service, user

pytestmark = pytest.mark.anyio


class Life:
    """Two clients and another program, at one session, at random."""

    def __init__(self, house: House, session: OpenSession, seed: int) -> None:
        self.house = house
        self.session = session
        self.chance = random.Random(seed)
        self.count = 0

    async def act(self) -> None:
        """One act of somebody; what the rules refuse is none."""
        acts: list[tuple[Callable[[], Awaitable[Any]], int]] = [
            (self.turn, 8),
            (self.steps, 8),
            (self.word, 6),
            (self.silent, 3),
            (self.elsewhere, 4),
            (self.label, 5),
            (self.rename, 1),
            (self.edit, 3),
            (self.navigate, 6),
            (self.compact, 2),
            (self.compact_by_hand, 1),
            (self.fork, 1),
            (self.other_program, 6),
        ]
        names, weights = zip(*acts, strict=True)
        (chosen,) = self.chance.choices(names, weights)
        self.house.hand.wind()
        try:
            await chosen()
        except (SessionError, ServiceError):
            pass

    @property
    def origin(self) -> Any:
        return self.chance.choice((ME, OTHER))

    def new_id(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def some(self) -> Any:
        return self.chance.choice(self.session.session.index.ids)

    def steps_of(self, count: int) -> list[Entry]:
        entries: list[Entry] = []
        for _ in range(count):
            call = self.new_id()
            tool = self.chance.choice(("bash", "read"))
            content: list[Entry] = [
                {"type": "toolCall", "id": call, "name": tool, "arguments": {"command": call}}
            ]
            if self.chance.random() < 0.3:
                content.insert(0, {"type": "text", "text": f"Let me {call}"})
            stop = self.chance.choice(("toolUse", "toolUse", "toolUse", "aborted"))
            message = {"role": "assistant", "content": content, "stopReason": stop}
            usage = {"totalTokens": self.chance.randrange(3_000)}
            entries.append({"type": "message", "message": {**message, "usage": usage}})
            if self.chance.random() < 0.9:
                result: Entry = {"role": "toolResult", "toolCallId": call, "toolName": tool}
                result |= {"content": [{"type": "text", "text": "x" * self.chance.randrange(90)}]}
                bad = {"isError": self.chance.random() < 0.2}
                entries.append({"type": "message", "message": {**result, **bad}})
        return entries

    async def append(self, *entries: Entry) -> None:
        if self.chance.random() < 0.5:
            await self.session.append(entries, origin=self.origin)
            return
        for one in entries:
            await self.session.append([one], origin=self.origin)

    async def turn(self) -> None:
        steps = self.steps_of(self.chance.randrange(4))
        said = answer("Done", usage=self.chance.randrange(9_000))
        await self.append(user(f"Please {self.count}"), *steps, said)

    async def steps(self) -> None:
        await self.append(*self.steps_of(self.chance.randint(1, 3)))

    async def word(self) -> None:
        await self.append(self.chance.choice((user("Hm"), answer("So"), _bash(), _note())))

    async def silent(self) -> None:
        kinds: tuple[Entry, ...] = (
            {"type": "model_change", "provider": "p", "modelId": f"m{self.count % 3}"},
            {"type": "thinking_level_change", "thinkingLevel": "high"},
            {"type": "custom", "customType": "state", "data": 1},
        )
        await self.append(self.chance.choice(kinds))

    async def elsewhere(self) -> None:
        given = {**user("Elsewhere"), "id": self.new_id(), "parentId": self.some()}
        await self.session.append([given], origin=self.origin, detached=True)

    async def label(self) -> None:
        text = self.chance.choice(("good", "bad", None))
        await self.session.label(self.some(), text, origin=self.origin)

    async def rename(self) -> None:
        await self.session.rename(self.new_id(), origin=self.origin)

    async def edit(self) -> None:
        replacement: Any = self.chance.choice((None, {"content": "short"}, "restore"))
        await self.session.edit_context(self.some(), replacement, origin=self.origin)

    async def navigate(self) -> None:
        target = None if self.chance.random() < 0.05 else self.some()
        options: Any = {"exact": self.chance.random() < 0.5}
        if self.chance.random() < 0.2:
            options["summary"] = "What was there"
        if self.chance.random() < 0.2:
            options["label"] = "there"
        await self.session.navigate(target, origin=self.origin, **options)

    async def compact(self) -> None:
        await self.session.compact(summary="All of it", origin=self.origin)

    async def compact_by_hand(self) -> None:
        kept = {"firstKeptEntryId": self.some(), "tokensBefore": 9}
        await self.append({"type": "compaction", "summary": "By hand", **kept})

    async def fork(self) -> None:
        await self.session.fork(self.some(), position="at", cwd=None, origin=self.origin)

    async def other_program(self) -> None:
        if self.session.path is None or self.session.is_unsaved:
            return
        parent = self.session.leaf if self.chance.random() < 0.6 else self.some()
        entries = []
        for _ in range(self.chance.randint(1, 3)):
            entry_id = self.new_id()
            made = self.chance.choice((user("Outside"), answer("Outside"), *self.steps_of(1)[:1]))
            time_now = {"timestamp": self.house.hand.now_iso()}
            entries.append({**made, "id": entry_id, "parentId": parent, **time_now})
            parent = entry_id
        foreign(self.session, *entries)
        await self.session.look()


def _bash() -> Entry:
    message = {"role": "bashExecution", "command": "ls", "output": "", "exitCode": 1}
    return {"type": "message", "message": message}


def _note() -> Entry:
    return {"type": "custom_message", "customType": "x", "content": "Look", "display": True}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", ["immediate", "first-assistant"])
async def test_rows_kept_up_by_changes_are_those_asked_for_anew(
    tmp_path: Path, rule: FlushRule, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with service(tmp_path, rule) as house:
        session = await house.create()
        await session.append([user("First")], origin=ME)
        life = Life(house, session, seed)
        screens = [RowScreen(session, name, f"client-{name}") for name in FILTERS]
        for screen in screens:
            await screen.open()
        for _ in range(15):
            for _ in range(life.chance.choice((1, 1, 1, 9))):
                await life.act()
            for screen in screens:
                await screen.settle()
                kept = without_places(screen.mirror.rows())
                assert kept == without_places(await screen.fresh()), screen.filter
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def _talk(house: House) -> OpenSession:
    """A session that stands at an answer, all sizes told."""
    session = await house.opened(user("Hello", "u1"), answer("Hi", "a1", "u1", usage=500))
    await session.sized()
    while session.sizing.told is None or session.sizing.told.largest is None:
        await anyio.lowlevel.checkpoint()
    return session


@pytest.mark.parametrize("filter_name", FILTERS)
async def test_going_on_asks_for_nothing(house: House, filter_name: Filter) -> None:
    session = await _talk(house)
    screen = RowScreen(session, filter_name)
    await screen.open()
    life = Life(house, session, 1)
    for _ in range(12):
        await life.turn()
        await life.word()
        await life.silent()
        foreign(session, user("Outside", life.new_id(), str(session.leaf)))
        await session.look()
        await screen.settle()
    assert screen.asked == []
    assert without_places(screen.mirror.rows()) == without_places(await screen.fresh())


async def test_a_storm_is_told_in_few_words_that_end_where_it_ended(house: House) -> None:
    session = await _talk(house)
    screen, heard = RowScreen(session, "default"), Heard()
    await screen.open()
    session.subscribe(heard)
    session.rows.listen(heard, "default")
    for number in range(200):
        await session.append([user(f"Word {number}")], origin=ME)
    session.news.flush()
    assert len(heard.told) < 150
    assert max(len(rows.upsert) for rows in heard.told) > 2
    await screen.settle()
    assert screen.asked == []
    assert without_places(screen.mirror.rows()) == without_places(await screen.fresh())


class Heard(OnlyListens):
    """Keeps what it is told of rows under the default filter."""

    def __init__(self) -> None:
        self.told: list[RowsChange] = []

    def session_changed(self, change: SessionChange) -> None:
        if (rows := change.rows.get("default")) is not None:
            self.told.append(rows)

    def session_reset(self, session: str, reason: str) -> None:
        pass


async def _heard_by_one_who_draws(session: OpenSession) -> Heard:
    heard = Heard()
    page = await session.rows.page(RowsWish(around="here"))
    session.subscribe(heard)
    session.rows.listen(heard, "default")
    assert session.rows.is_current(page)
    return heard


async def test_what_alters_rows_anywhere_makes_them_stale(house: House) -> None:
    session = await _talk(house)
    heard = await _heard_by_one_who_draws(session)
    acts: dict[str, Callable[[], Awaitable[Any]]] = {
        "fork": lambda: session.fork("a1", position="at", cwd=None, origin=ME),
        "move": lambda: session.navigate("u1", origin=ME, exact=True),
    }
    for name, act in acts.items():
        await session.rows.page(RowsWish())
        await act()
        assert heard.told.pop().stale == (None,), name
    await session.rename("other", origin=ME)
    await session.rows.page(RowsWish())
    heard.told.clear()
    await session.rename("another", origin=ME)
    assert [[row.id for row in told.upsert] for told in heard.told] == [["e:u1", "here"]]
    assert heard.told[0].stale == ()


async def test_what_is_put_back_is_told_without_a_mark(house: House) -> None:
    session = await _talk(house)
    acts: list[tuple[Any, list[str]]] = [
        (None, ["omitted"]),
        ({"content": "x"}, ["replaced"]),
        ("restore", []),
    ]
    for replacement, marks in acts:
        heard = await _heard_by_one_who_draws(session)
        await session.edit_context("a1", replacement, origin=ME)
        told = [row for change in heard.told for row in change.upsert if row.entry == "a1"]
        assert [flag for flag in told[0].flags if flag != "active"] == marks
        session.unsubscribe(heard)


async def test_rows_of_a_new_session_are_told_when_it_is_saved(house: House) -> None:
    session = await house.create()
    await session.append([user("Hello")], origin=ME)
    screen = RowScreen(session, "default")
    await screen.open()
    assert "unsaved" in screen.mirror.rows()[0]["flags"]
    await session.append([answer("Hi")], origin=ME)
    await screen.settle()
    assert not any("unsaved" in row["flags"] for row in screen.mirror.rows())


async def test_rows_come_before_sizes_and_whoever_draws_is_told_when_those_are_known(
    house: House,
) -> None:
    path = house.file(user("Hello", "u1"), *(answer(str(n), f"a{n}", "u1") for n in range(3_000)))
    session = await house.open(path)
    page = await session.rows.page(RowsWish(around="here"))
    assert {row.size for row in page.rows} == {None}
    assert {row.tokens for row in page.rows} == {None}
    heard = Heard()
    session.subscribe(heard)
    session.rows.listen(heard, "default")
    is_late = not session.rows.is_current(page)
    await session.sized()
    with anyio.fail_after(5):
        while not heard.told and not is_late:
            await anyio.lowlevel.checkpoint()
    assert is_late or heard.told[0].stale == (None,)
    page = await session.rows.page(RowsWish(around="here"))
    assert all(row.size is not None and row.tokens is not None for row in page.rows)
    assert session.rows.is_current(page)


async def test_a_page_is_of_the_moment_it_was_asked_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await _talk(house)
    await session.rows.page(RowsWish())
    reached, go_on = threading.Event(), threading.Event()

    def slow_page(*args: Any, **named: Any) -> Any:
        reached.set()
        assert go_on.wait(5)
        return make_page(*args, **named)

    monkeypatch.setattr(row_book, "make_page", slow_page)
    pages: list[RowsPage] = []

    async def ask() -> None:
        pages.append(await session.rows.page(RowsWish()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.to_thread.run_sync(reached.wait, 5)
        rev = session.rev
        await session.append([user("More"), answer("Of it")], origin=ME)
        await session.append([user("Elsewhere", "x1", "u1")], origin=ME, detached=True)
        go_on.set()
    assert pages[0].rev == rev
    assert [row.id for row in pages[0].rows] == ["e:u1", "e:a1", "here"]
    assert not session.rows.is_current(pages[0])


async def test_what_goes_wrong_with_rows_keeps_nothing_from_being_stored(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = await _talk(house)
    heard = await _heard_by_one_who_draws(session)

    def broken(*_: Any) -> Any:
        raise KeyError("row")

    monkeypatch.setattr(Growing, "grow", broken)
    done = await session.append([user("More")], origin=ME)
    assert session.leaf == done.leaf
    assert [told.stale for told in heard.told] == [(None,)]
    assert "rows could not be kept up" in caplog.text


async def test_an_append_costs_little_more_where_rows_are_drawn(house: House) -> None:
    """Also behind 20,000 entries: the rows of three filters are kept up in constant time."""
    figures: dict[str, float] = {}
    for size in (200, 20_000):
        session = await _talk_of(house, size)
        await session.sized()
        for name, filters in (("nobody", ()), ("three filters", FILTERS[:3])):
            screens = [RowScreen(session, one, one) for one in filters]
            for screen in screens:
                await session.rows.page(RowsWish(filter=screen.filter))
                session.subscribe(screen)
                session.rows.listen(screen, screen.filter)
            figures[f"{size}, {name}"] = await _cost_of_append(session)
            assert all(told.upsert for screen in screens for told in screen.told())
    print({name: f"{figure * 1e6:.0f} us" for name, figure in figures.items()})
    for size in (200, 20_000):
        assert figures[f"{size}, three filters"] < 3 * figures[f"{size}, nobody"] + 0.002
    assert figures["20000, three filters"] < 3 * figures["200, three filters"] + 0.002


async def _talk_of(house: House, size: int) -> OpenSession:
    path = house.file(
        *(answer(f"So {n}", f"o{n}", f"o{n - 1}" if n else None) for n in range(size)),
        name=f"talk-{size}",
    )
    return await house.open(path)


async def _cost_of_append(session: OpenSession) -> float:
    """Seconds on the event loop and in workers, the best of some."""
    costs = []
    for number in range(30):
        began = time.perf_counter()
        await session.append([user(f"Word {number}")], origin=ME)
        costs.append(time.perf_counter() - began)
        session.news.flush()
    return sorted(costs)[len(costs) // 4]


@pytest.mark.parametrize("seed", range(4))
async def test_entries_are_found_in_the_rows_that_show_them(house: House, seed: int) -> None:
    session = await _talk(house)
    life = Life(house, session, seed)
    assert await session.rows.rows_of(["u1"]) == {}
    await session.rows.page(RowsWish())
    for _ in range(40):
        await life.act()
    index = session.session.index
    line = [index.ids[row] for row in index.branch(session.session.leaf)]
    found = await session.rows.rows_of([*line, "unknown"])
    assert found.keys() == set(line)
    page = await session.rows.page(RowsWish(count=2_000))
    held = {row.id: row for row in page.rows}
    for one in line:
        row = held[found[one]]
        ends = [index.depth[session.session.row_of(end)] for end in (row.first, row.last)]
        assert ends[0] <= index.depth[session.session.row_of(one)] <= ends[1] or row == page.rows[0]


async def test_work_says_how_many_of_its_results_are_out(house: House) -> None:
    lines: list[Entry] = [user("Hello", "u1")]
    for number in range(3):
        call = {"type": "toolCall", "id": f"c{number}", "name": "bash", "arguments": {}}
        said = {"role": "assistant", "content": [call]}
        came: Entry = {"role": "toolResult", "toolCallId": f"c{number}", "toolName": "bash"}
        came["content"] = [{"type": "text", "text": "long"}]
        parent = lines[-1]["id"]
        lines.append(entry("message", f"a{number}", parent, message=said))
        lines.append(entry("message", f"r{number}", f"a{number}", message=came))
    session = await house.opened(*lines, answer("Done", "a9", "r2"))
    await session.sized()
    screen = RowScreen(session, "default")
    await screen.open()

    async def work_after(target: str, replacement: Any) -> tuple[Any, bool]:
        await session.edit_context(target, replacement, origin=ME)
        await screen.settle()
        (row,) = (row for row in screen.mirror.rows() if row["kind"] == "work")
        return row.get("out"), "omitted" in row["flags"]

    short = {"content": [{"type": "text", "text": "out"}]}
    assert await work_after("r1", short) == (1, False)
    assert await work_after("u1", None) == (1, False)
    assert await work_after("r0", None) == (2, False)
    assert await work_after("r2", short) == (3, True)
    assert await work_after("r1", "restore") == (2, False)
    page = await session.rows.page(RowsWish())
    (work,) = (row for row in page.rows if row.kind == "work")
    assert (work.out, "omitted" in work.flags) == (2, False)
