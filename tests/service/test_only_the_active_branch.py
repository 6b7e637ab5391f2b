"""Words that stand on another branch only never reach whoever writes a summary."""

import random
import re
from contextlib import suppress
from typing import Any

import pytest

from pisessiond.core.errors import CannotShrink, NothingToCompact
from pisessiond.core.summary_prompts import make_prompt
from pisessiond.service.open_session import OpenSession
from pisessiond.service.previewing import summary_input
from tests.support.naive import naive_branch
from tests.support.service import ME, Entry, House, entry, in_file, user
from tests.support.summarizers import Desk

pytestmark = pytest.mark.anyio

_NAMED = re.compile(r"zq\d+")
"""Each entry says one word that no other says; "zq" stands in no text of ours."""


def tree(chance: random.Random, size: int) -> list[Entry]:
    """Entries of all kinds, each below any of those before it, that know their own word."""
    entries: list[Entry] = []
    for number in range(size):
        entry_id, word = f"e{number}", f"zq{number}"
        near = entries[-1:] if chance.random() < 0.7 else entries
        parent = chance.choice(near)["id"] if near else None
        entries.append(_entry(chance, entry_id, parent, word, entries))
    return entries


def _entry(
    chance: random.Random, entry_id: str, parent: str | None, word: str, entries: list[Entry]
) -> Entry:
    text = f"{word} " + "x" * chance.choice((10, 200, 600))
    path = [one["id"] for one in naive_branch(entries, parent)]
    kind = chance.choice(
        ("user", "answer", "answer", "result", "bash", "note", "summary", "compaction", "edit")
    )
    match kind:
        case "answer":
            call = {"type": "toolCall", "id": "t", "name": "read", "arguments": {"path": word}}
            message: Any = {"role": "assistant", "content": [{"type": "text", "text": text}, call]}
        case "result":
            message = {"role": "toolResult", "toolCallId": "t", "content": text}
        case "bash":
            message = {"role": "bashExecution", "command": "ls", "output": text, "exitCode": 0}
        case "note":
            return entry(
                "custom_message", entry_id, parent, customType="n", content=text, display=True
            )
        case "summary" if parent is not None:
            return entry("branch_summary", entry_id, parent, fromId=parent, summary=text)
        case "compaction" if path:
            kept = chance.choice(path)
            return entry(
                "compaction",
                entry_id,
                parent,
                summary=text,
                firstKeptEntryId=kept,
                tokensBefore=1,
            )
        case "edit" if path:
            replacement = chance.choice((None, {"content": text}))
            target = chance.choice(path)
            return entry("context_edit", entry_id, parent, targetId=target, replacement=replacement)
        case _:
            return user(text, entry_id, parent)
    return entry("message", entry_id, parent, message=message)


def read_by(desk: Desk) -> set[str]:
    """The words that reached the summarizer, in whatever part of what it was asked."""
    found: set[str] = set()
    for task in desk.writer.tasks:
        shown = summary_input(task)
        prompt = make_prompt(task)
        parts = (str(task.messages), task.previous_summary, shown.text, prompt.user, prompt.system)
        found.update(word for part in parts for word in _NAMED.findall(part or ""))
    desk.writer.tasks.clear()
    return found


def said_on(session: OpenSession, leaf: str | None) -> set[str]:
    """The words of the entries on a branch."""
    return {
        word
        for one in naive_branch(in_file(session), leaf)
        for word in _NAMED.findall(str({name: one[name] for name in one if name != "fromId"}))
    }


@pytest.mark.parametrize("seed", range(40))
async def test_a_compaction_tells_of_its_branch_alone(office: House, desk: Desk, seed: int) -> None:
    chance = random.Random(seed)
    entries = tree(chance, chance.randint(5, 60))
    session = await office.opened(*entries)
    for _ in range(4):
        leaf = chance.choice(entries)["id"]
        await session.navigate(leaf, exact=True, origin=ME)
        desk.folder.keep(chance.choice((0, 1, 100, 400)))
        branch = said_on(session, leaf)
        try:
            await session.compact(origin=ME)
        except (NothingToCompact, CannotShrink):
            continue
        finally:
            assert read_by(desk) <= branch
        stored = _NAMED.findall(str(in_file(session)[-1]["summary"]))
        assert set(stored) <= branch


@pytest.mark.parametrize("seed", range(40))
async def test_a_move_tells_of_what_is_left_alone(office: House, desk: Desk, seed: int) -> None:
    chance = random.Random(1_000 + seed)
    entries = tree(chance, chance.randint(5, 60))
    session = await office.opened(*entries)
    for _ in range(4):
        leaf, target = (chance.choice(entries)["id"] for _ in "ab")
        await session.navigate(leaf, exact=True, origin=ME)
        left = said_on(session, leaf)
        path = {one["id"] for one in naive_branch(in_file(session), target)}
        shared = [one for one in naive_branch(in_file(session), leaf) if one["id"] in path]
        # What an edit on the branch puts into its target is of the branch, too.
        left -= said_on(session, shared[-1]["id"]) if shared else set()
        await session.navigate(target, exact=True, summarize=True, origin=ME)
        assert read_by(desk) <= left


async def test_the_summarizer_reads_something(office: House, desk: Desk) -> None:
    read: set[str] = set()
    for seed in range(10):
        chance = random.Random(seed)
        session = await office.opened(*tree(chance, 60), name=f"s{seed}")
        desk.folder.keep(1)
        with suppress(NothingToCompact, CannotShrink):
            await session.compact(origin=ME)
        read |= read_by(desk)
    assert len(read) > 20
