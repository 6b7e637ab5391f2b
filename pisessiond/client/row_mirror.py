"""The rows of one session as a client holds them, kept in step by updates. It asks for nothing.

It holds whole levels: the main line and what is open. A change puts rows in, takes rows out, or
names levels that are to be asked for again; so a client draws only what it has opened, and asks
only for what a change could not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pisessiond.client.answers import Row
from pisessiond.client.update import Update

Level = str | None
"""The row one opens; None: the main line."""


class RowMirror:
    """The levels of one session that are drawn."""

    def __init__(self) -> None:
        self._levels: dict[Level, list[Row]] = {}
        self._level_of: dict[str, Level] = {}
        """By the id of a row, the level it is on."""

    @property
    def opened(self) -> set[str]:
        """The rows whose inside is held."""
        return {level for level in self._levels if level is not None}

    def hold(self, level: Level, rows: Iterable[Row]) -> None:
        """Take in a whole level as the daemon answered it; what is gone from it is closed.

        The inside of a row that is not held is not taken: it is gone since it was asked for.
        """
        if level is not None and level not in self._level_of:
            self.close(level)
            return
        before = self._levels.get(level, ())
        self._levels[level] = []
        kept = set()
        for row in rows:
            kept.add(row["id"])
            self._take_out(row["id"])
            self._levels[level].append(row)
            self._level_of[row["id"]] = level
        for row in before:
            if row["id"] not in kept and self._level_of.get(row["id"]) == level:
                self._forget(row["id"])

    def close(self, level: str) -> None:
        """Let go of the inside of a row, and of what is open in there."""
        waiting = [level]
        while waiting:
            for row in self._levels.pop(waiting.pop(), ()):
                self._level_of.pop(row["id"], None)
                waiting.append(row["id"])

    def rows(self) -> list[Row]:
        """All rows in the order of the screen, opened ones before their inside."""
        return list(self._walk())

    def _walk(self) -> Iterator[Row]:
        waiting = [iter(self._levels.get(None, ()))]
        while waiting:
            row = next(waiting[-1], None)
            if row is None:
                waiting.pop()
                continue
            yield row
            if row["id"] in self._levels:
                waiting.append(iter(self._levels[row["id"]]))

    def apply(self, update: Update) -> list[Level]:
        """Take an update in; the levels that are to be asked for again, outer ones first.

        Applying one twice changes nothing.
        """
        if update.snapshot is not None:
            return self._within([None])
        stale: list[Level] = []
        for change in update.changes:
            if change["kind"] == "rows":
                for row_id in change.get("gone", ()):
                    self._forget(row_id)
                stale += [row["level"] for row in change.get("upsert", ()) if not self._put(row)]
                stale += change.get("stale", ())
        return self._within(stale)

    def _put(self, row: Row) -> bool:
        """Put a row behind the one it stands after; whether that one is there."""
        if row["level"] not in self._levels:
            # It is inside something that is not drawn, perhaps only now.
            self._forget(row["id"])
            return True
        self._take_out(row["id"])
        level = self._levels[row["level"]]
        self._level_of[row["id"]] = row["level"]
        at = len(level)
        # Mostly it is one of the last.
        while at and level[at - 1]["id"] != row["after"]:
            at -= 1
        level.insert(at, row)
        return at > 0 or row["after"] is None

    def _forget(self, row_id: str) -> None:
        self._take_out(row_id)
        self.close(row_id)

    def _take_out(self, row_id: str) -> None:
        if row_id in self._level_of:
            level = self._levels.get(self._level_of.pop(row_id), [])
            at = next((at for at in reversed(range(len(level))) if level[at]["id"] == row_id), None)
            if at is not None:
                del level[at]

    def _within(self, levels: Sequence[Level]) -> list[Level]:
        """Those of some levels that are held, with what is open inside them, outer ones first."""
        found: dict[Level, None] = {}
        waiting = list(dict.fromkeys(level for level in levels if level in self._levels))
        while waiting:
            level = waiting.pop()
            if level not in found:
                found[level] = None
                waiting += [row["id"] for row in self._levels[level] if row["id"] in self._levels]
        return sorted(found, key=self._depth)

    def _depth(self, level: Level) -> int:
        depth = 0
        while level is not None and depth <= len(self._levels):
            level = self._level_of.get(level)
            depth += 1
        return depth
