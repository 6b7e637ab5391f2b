"""Trees, projections and sizes worked out by plain walks, for tests to compare with.

A tree can be drawn in text: an entry a word, in file order; `b<a` is an entry `b` whose parent is
`a`, `a` alone a root, `b<a@5` one with a time.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from pisessiond.core.projection import project
from pisessiond.core.session import Projection
from pisessiond.core.system_state import EMPTY, SystemState, replay
from pisessiond.core.tokens import PARTS, Part, estimate_tokens, message_parts, usage_tokens

Entry = dict[str, Any]

Word = tuple[str, str | None, str]


def replay_all(messages: Iterable[Mapping[str, Any]]) -> SystemState:
    """The system state after all messages of a projection."""
    return reduce(replay, messages, EMPTY)


def words(drawing: str) -> list[Word]:
    found = []
    for word in drawing.split():
        word, _, at = word.partition("@")
        name, _, parent = word.partition("<")
        found.append((name, parent or None, iso(int(at or 0))))
    return found


def iso(second: int) -> str:
    return f"2026-11-30T00:{second // 60:02d}:{second % 60:02d}.000Z"


def naive_parents(drawn: list[Word]) -> tuple[dict[str, str | None], set[tuple[str, str]]]:
    """Parents by id as section 3 of SESSION-RULES has them, and the flaws."""
    flaws = set()
    rows: dict[str, int] = {}
    for row, (name, _, _) in enumerate(drawn):
        if name in rows:
            flaws.add(("duplicateId", name))
        rows[name] = row
    parents: dict[str, str | None] = {}
    for name, row in rows.items():
        parent = drawn[row][1]
        if parent is not None and parent not in rows:
            flaws.add(("orphan", name))
            parent = None
        parents[name] = parent
    for name in sorted(rows, key=rows.__getitem__):
        members = cycle_of(name, parents)
        if members:
            first = min(members, key=rows.__getitem__)
            flaws.add(("cycle", first))
            parents[first] = None
    return parents, flaws


def cycle_of(name: str, parents: dict[str, str | None]) -> list[str]:
    """The members of the cycle that the way up from here ends in."""
    seen: list[str] = []
    at: str | None = name
    while at is not None and at not in seen:
        seen.append(at)
        at = parents[at]
    return seen[seen.index(at) :] if at is not None else []


def naive_path(name: str | None, parents: dict[str, str | None]) -> list[str]:
    path = []
    while name is not None:
        path.append(name)
        name = parents[name]
    return path[::-1]


def naive_branch(entries: list[Entry], leaf: str | None) -> list[Entry]:
    by_id = {entry["id"]: entry for entry in entries}
    branch = []
    while leaf is not None:
        branch.append(by_id[leaf])
        leaf = by_id[leaf]["parentId"]
    return branch[::-1]


def naive_selection(branch: list[Entry]) -> list[Entry]:
    """What the newest compaction leaves, it first (SESSION-RULES 4.3)."""
    at = max((i for i, e in enumerate(branch) if e["type"] == "compaction"), default=None)
    if at is None:
        return branch
    ids = [entry["id"] for entry in branch[:at]]
    first = branch[at]["firstKeptEntryId"]
    kept = branch[ids.index(first) : at] if first in ids else []
    return [branch[at], *(e for e in kept if not is_system(e)), *branch[at + 1 :]]


def is_system(entry: Entry) -> bool:
    return bool(entry["type"] == "message" and entry["message"]["role"] == "system")


def naive_messages(branch: list[Entry]) -> list[Entry]:
    return [m for item in project(naive_selection(branch)) for m in item.messages]


def naive_size(branch: list[Entry]) -> tuple[int, int | None]:
    """Estimated and measured (SESSION-RULES section 5)."""
    messages = naive_messages(branch)
    system = replay_all(messages).message()
    estimated = sum(estimate_tokens(m) for m in messages if m["role"] != "system")
    estimated += estimate_tokens(system) if system else 0
    place = {entry["id"]: at for at, entry in enumerate(branch)}
    barrier = max(
        (at for at, e in enumerate(branch) if e["type"] in ("compaction", "context_edit")),
        default=-1,
    )
    after = 0
    for item in reversed(project(naive_selection(branch))):
        if place[item.entry["id"]] <= barrier:
            break
        for message in reversed(item.messages):
            usage = usage_tokens(message)
            if usage is not None:
                return estimated, usage + after
            after += estimate_tokens(message)
    return estimated, None


def naive_composition(projection: Projection) -> tuple[dict[Part, int], list[tuple[Any, int]]]:
    """Tokens by part, and every entry's own, the largest first; system messages as one part."""
    parts: dict[Part, int] = dict.fromkeys(PARTS, 0)
    own: dict[Any, int] = {}
    for item in projection.entries:
        for message in item.messages:
            if message.get("role") != "system":
                for part, tokens in message_parts(message).items():
                    parts[part] += tokens
                    own[item.entry["id"]] = own.get(item.entry["id"], 0) + tokens
    system = replay_all(projection.messages).message()
    parts["system"] = estimate_tokens(system) if system else 0
    ranked = sorted(own.items(), key=lambda one: -one[1])
    return parts, [one for one in ranked if one[1]]
