"""Two branches set side by side: figures, ends and files that change meanwhile."""

import json
from pathlib import Path

import pytest

from pisessiond.core.errors import EntryNotFound
from pisessiond.service.views import ComparedSide, TokenTotals
from tests.support.service import Entry, House, entry, label, user

pytestmark = pytest.mark.anyio

USAGE = {"input": 10, "output": 3, "cacheRead": 5, "cacheWrite": 7, "cost": {"total": 0.25}}


def said(text: str, entry_id: str, parent: str, second: int, *calls: tuple[str, str]) -> Entry:
    blocks = [
        {"type": "toolCall", "id": "1", "name": name, "arguments": {"path": path}}
        for name, path in calls
    ]
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}, *blocks],
        "usage": USAGE,
    }
    time = f"2026-11-30T00:00:{second:02}.000Z"
    return entry("message", entry_id, parent, message=message, timestamp=time)


def asked(text: str, entry_id: str, parent: str | None, second: int) -> Entry:
    return user(text, entry_id, parent, timestamp=f"2026-11-30T00:00:{second:02}.000Z")


TREE = (
    asked("Fix it", "u1", None, 0),
    said("How?", "a1", "u1", 1),
    asked("Freeze the clock", "u2", "a1", 10),
    said("Done", "a2", "u2", 52, ("read", "x.py"), ("edit", "y.py")),
    asked("Inject a clock", "u3", "a1", 55),
    said("Done, too", "a3", "u3", 59, ("write", "x.py")),
)


async def test_each_side_tells_what_it_added(house: House) -> None:
    session = await house.opened(*TREE)
    found = await session.compare("a2", "a3")
    assert (found.rev, found.ancestor) == (session.rev, "a1")
    sizes = await session.context_sizes(["a1", "a2", "a3"])
    assert found.ancestor_size == sizes["a1"]
    assert found.a == ComparedSide(
        entries=2,
        turns=1,
        size=sizes["a2"],
        tokens=TokenTotals(10, 3, 5, 7),
        cost=0.25,
        seconds=42.0,
        read_files=("x.py",),
        modified_files=("y.py",),
    )
    assert (found.b.seconds, found.b.read_files, found.b.modified_files) == (4.0, (), ("x.py",))


async def test_one_end_may_stand_above_the_other(house: House) -> None:
    session = await house.opened(*TREE)
    found = await session.compare("a1", "a2")
    assert (found.ancestor, found.a.entries, found.b.entries) == ("a1", 0, 2)
    assert found.a.size == found.ancestor_size
    same = await session.compare("a3", "a3")
    assert (same.ancestor, same.a.entries, same.b.entries) == ("a3", 0, 0)


async def test_branches_of_different_roots_share_nothing(house: House) -> None:
    session = await house.opened(*TREE, user("Another beginning", "r2", None))
    found = await session.compare("a2", "r2")
    assert (found.ancestor, found.ancestor_size) == (None, None)
    assert (found.a.entries, found.b.entries) == (4, 1)


async def test_the_place_before_the_first_entry_can_be_an_end(house: House) -> None:
    session = await house.opened(*TREE)
    found = await session.compare(None, "a1")
    assert (found.ancestor, found.a.entries, found.b.entries) == (None, 0, 2)
    assert found.a.size.tokens == 0


async def test_an_end_that_is_not_there_is_named(house: House) -> None:
    session = await house.opened(*TREE)
    with pytest.raises(EntryNotFound):
        await session.compare("a2", "nowhere")


async def test_a_file_that_was_rewritten_is_compared_as_it_is_now(house: House) -> None:
    session = await house.opened(*TREE)
    assert session.path is not None
    head = Path(session.path).read_bytes().split(b"\n")[0]
    changed = (label("l1", None, "u1", "new"), {**TREE[0], "parentId": "l1"}, *TREE[1:])
    lines = [head, *(json.dumps(line).encode() for line in changed)]
    Path(session.path).write_bytes(b"\n".join(lines) + b"\n")
    found = await session.compare(None, "a2")
    assert found.b.entries == 5
