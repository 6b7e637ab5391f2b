"""Families of forks: sessions below the one they were forked from, by their newest activity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pisessiond.service.open_session import OpenSession
from pisessiond.service.shelf import Known
from pisessiond.storage.base import SeenFile


@dataclass(slots=True)
class Item:
    """A session in the list: a file, an open session, or both."""

    key: str
    """The path, or the handle of one without a file."""
    parent: str | None
    bound_ms: float
    """Its last activity, at most."""
    seen: SeenFile | None = None
    known: Known | None = None
    opened: OpenSession | None = None
    forks: list[Item] = field(default_factory=list)

    @property
    def is_sure(self) -> bool:
        """Whether that activity is known, not only what it can be at most."""
        return self.seen is None or self.known is not None


def families(items: dict[str, Item]) -> list[Item]:
    """The roots, their forks hung below them; a circle of parents is cut at one of its members."""
    cut: set[str] = set()
    done: set[str] = set()
    for item in items.values():
        path: dict[str, None] = {}
        at: Item | None = item
        while at is not None and at.key not in done and at.key not in path:
            path[at.key] = None
            at = items.get(at.parent) if at.parent is not None else None
        if at is not None and at.key in path:
            members = list(path)
            cut.add(min(members[members.index(at.key) :]))
        done.update(path)
    roots = []
    for item in items.values():
        parent = items.get(item.parent) if item.parent is not None else None
        if parent is None or item.key in cut:
            roots.append(item)
        else:
            parent.forks.append(item)
    return roots


def preorder(root: Item) -> Iterator[tuple[Item, int]]:
    """A family, each member before its forks, those by their newest activity; with depths."""
    waiting = [(root, 0)]
    while waiting:
        item, depth = waiting.pop()
        yield item, depth
        forks = sorted(item.forks, key=lambda fork: (-newest_ms(fork), fork.key), reverse=True)
        waiting.extend((fork, depth + 1) for fork in forks)


def newest_ms(root: Item) -> float:
    """The newest activity in a family, at most."""
    newest = root.bound_ms
    waiting = list(root.forks)
    while waiting:
        item = waiting.pop()
        newest = max(newest, item.bound_ms)
        waiting.extend(item.forks)
    return newest


def without_strangers(root: Item) -> list[Item]:
    """The families that are left of one when files that are no sessions are taken out."""
    kept = []
    waiting = [root]
    while waiting:
        item = waiting.pop()
        strangers = [fork for fork in item.forks if _is_stranger(fork)]
        for stranger in strangers:
            item.forks.remove(stranger)
            waiting.append(stranger)
        waiting.extend(item.forks)
        if _is_stranger(item):
            kept += [fork for fork in item.forks if not _is_stranger(fork)]
    return kept if _is_stranger(root) else [root, *kept]


def _is_stranger(item: Item) -> bool:
    return item.seen is None and item.opened is None
