"""Two branches side by side, against the same figures worked out by plain walks."""

import json
import random
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from pisessiond.core.comparison import Stretch, add_up, part
from pisessiond.core.file_operations import FileLists
from pisessiond.core.index import NONE
from pisessiond.core.session import Session, load_session
from pisessiond.core.totals import Totals
from tests.support import random_sessions
from tests.support.naive import iso

Entry = dict[str, Any]
HEADER: Entry = {"type": "session", "version": 3, "id": "s", "timestamp": iso(0), "cwd": "/"}


def opened(data: bytes) -> Session:
    lines = data.split(b"\n")[:-1]
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    return load_session(
        [(0, lines)], lambda places: [data[at : at + length] for at, length in places]
    )


def session_of(*entries: Entry) -> Session:
    return opened(b"".join(json.dumps(line).encode() + b"\n" for line in (HEADER, *entries)))


def message(entry_id: str, parent: str | None, second: Any, role: str, **rest: Any) -> Entry:
    time = iso(second) if isinstance(second, int) else second
    head = {"type": "message", "id": entry_id, "parentId": parent, "timestamp": time}
    return {**head, "message": {"role": role, "content": "x", **rest}}


def call(name: str, path: str) -> Entry:
    return {"type": "toolCall", "id": "1", "name": name, "arguments": {"path": path}}


def rows(session: Session, ids: str) -> list[int]:
    return [session.row_of(one) for one in ids]


# How the tree looks: "a<" roots, letters children of what stands before them.
TREE = [
    message("a", None, 0, "user"),
    message("b", "a", 1, "assistant"),
    message("c", "b", 2, "user"),
    message("d", "c", 3, "assistant"),
    message("e", "b", 4, "user"),
    message("z", None, 5, "user"),
]


@pytest.mark.parametrize(
    ("a", "b", "ancestor", "left", "right"),
    [
        ("d", "e", "b", "cd", "e"),
        ("e", "d", "b", "e", "cd"),
        ("d", "b", "b", "cd", ""),
        ("b", "d", "b", "", "cd"),
        ("d", "d", "d", "", ""),
        ("d", "z", None, "abcd", "z"),
        ("d", None, None, "abcd", ""),
        (None, None, None, "", ""),
    ],
)
def test_branches_part_at_the_deepest_entry_on_both(
    a: str | None, b: str | None, ancestor: str | None, left: str, right: str
) -> None:
    session = session_of(*TREE)
    parted = part(session.index, session.row_of(a), session.row_of(b))
    assert session.id_of(parted.ancestor) == ancestor
    assert (parted.a, parted.b) == (rows(session, left), rows(session, right))


def test_a_stretch_adds_up_what_its_entries_say() -> None:
    usage = {"input": 10, "output": 3, "cacheRead": 5, "cacheWrite": 7, "cost": {"total": 0.25}}
    calls = [call("read", "b.py"), call("read", "a.py"), call("edit", "a.py")]
    nested = {"calls": [call("write", "c.py")], "complete": True}
    session = session_of(
        message("u", None, 10, "user"),
        message("a", "u", 12, "assistant", content=calls, usage=usage),
        message("t", "a", "no time", "toolResult", nestedCalls=nested),
        {
            "type": "branch_summary",
            "id": "s",
            "parentId": "t",
            "timestamp": iso(30),
            "fromId": "u",
            "summary": "x",
            "usage": usage,
            "details": {"readFiles": ["elsewhere.py"], "modifiedFiles": []},
        },
    )
    assert add_up(session, rows(session, "uats")) == Stretch(
        entries=4,
        turns=1,
        totals=Totals(20, 6, 10, 14, 0.5),
        seconds=20.0,
        files=FileLists(("b.py",), ("a.py", "c.py")),
    )


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ((), 0.0),
        ((7,), 0.0),
        ((7, 9), 2.0),
        ((9, 7), 0.0),
        (("soon", 3, 8, None), 5.0),
        ((None, "soon"), 0.0),
    ],
)
def test_the_time_between_ends_is_told_by_what_can_be_read(
    times: Sequence[Any], seconds: float
) -> None:
    ids = "abcd"[: len(times)]
    parents = [None, *ids]
    entries = [
        message(one, parent, time, "user")
        for one, parent, time in zip(ids, parents, times, strict=False)
    ]
    session = session_of(*entries)
    assert add_up(session, rows(session, ids)).seconds == seconds


# Random trees


def naive_path(session: Session, row: int) -> list[int]:
    path = []
    while row != NONE:
        path.append(row)
        row = session.index.parent[row]
    return path[::-1]


def naive_part(one: list[int], other: list[int]) -> tuple[int, list[int], list[int]]:
    shared = [row for row in one if row in other]
    ancestor = shared[-1] if shared else NONE
    return ancestor, one[len(shared) :], other[len(shared) :]


def naive_usage(entry: Entry) -> Entry:
    holder = entry
    if entry["type"] == "message":
        holder = entry["message"] if entry["message"]["role"] == "assistant" else {}
    elif entry["type"] not in ("compaction", "branch_summary", "usage"):
        holder = {}
    return holder.get("usage") or {}


def naive_calls(entry: Entry) -> list[Entry]:
    body = entry["message"] if entry["type"] == "message" else {}
    if body.get("role") == "assistant":
        return [block for block in body.get("content") or [] if block["type"] == "toolCall"]
    if body.get("role") == "toolResult":
        found: list[Entry] = body.get("nestedCalls", {}).get("calls", [])
        return found
    return []


def naive_stretch(entries: list[Entry]) -> Stretch:
    totals = Totals()
    paths: dict[str, set[str]] = {"read": set(), "write": set(), "edit": set()}
    for entry in entries:
        usage = naive_usage(entry)
        totals.input += usage.get("input", 0)
        totals.output += usage.get("output", 0)
        totals.cache_read += usage.get("cacheRead", 0)
        totals.cache_write += usage.get("cacheWrite", 0)
        totals.cost += usage.get("cost", {}).get("total", 0)
        for one in naive_calls(entry):
            path = one["arguments"].get("path")
            if one["name"] in paths and isinstance(path, str) and path:
                paths[one["name"]].add(path)
    modified = paths["write"] | paths["edit"]
    times = [t for t in (naive_time(entry.get("timestamp")) for entry in entries) if t is not None]
    return Stretch(
        entries=len(entries),
        turns=sum(e["type"] == "message" and e["message"]["role"] == "user" for e in entries),
        totals=totals,
        seconds=max(round((times[-1] - times[0]) * 1000), 0) / 1000 if times else 0.0,
        files=FileLists(
            tuple(sorted(paths["read"] - modified, key=_units)),
            tuple(sorted(modified, key=_units)),
        ),
    )


def _units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def naive_time(time: Any) -> float | None:
    if not isinstance(time, str):
        return None
    try:
        return datetime.fromisoformat(time + "T00:00:00Z" if len(time) == 10 else time).timestamp()
    except ValueError:
        return None


@pytest.mark.parametrize("seed", range(150))
def test_random_trees_compare_as_plain_walks_do(seed: int) -> None:
    made = random_sessions.ordinary(seed)
    session = opened(made.data)
    by_id = {
        line["id"]: line for line in map(json.loads, made.data.split(b"\n")[1:-1]) if "id" in line
    }
    chance = random.Random(seed)
    for _ in range(8):
        a, b = (chance.choice([NONE, *range(len(session.index))]) for _ in range(2))
        parted = part(session.index, a, b)
        paths = naive_path(session, a), naive_path(session, b)
        assert (parted.ancestor, parted.a, parted.b) == naive_part(*paths)
        for side in (parted.a, parted.b):
            entries = [by_id[session.index.ids[row]] for row in side]
            assert add_up(session, side) == naive_stretch(entries)
