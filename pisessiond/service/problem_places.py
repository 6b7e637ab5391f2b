"""Where in the file a problem is to be seen, and what else has to do with it; reads bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pisessiond.core.index import NONE, is_key
from pisessiond.core.javascript import parse_json
from pisessiond.core.problems import Problem
from pisessiond.core.session import Session
from pisessiond.service.pointing import Spot, naming_members, row_at, spots_of, stored_texts

MOST: Final = 1_000
"""Problems that are located; a file with more is to be checked by other means."""
_MOST_SIBLINGS: Final = 5

_MEMBERS: Final = {
    "orphan": "parentId",
    "cycle": "parentId",
    "duplicateId": "id",
    "noMessage": "message",
    "firstKept": "firstKeptEntryId",
    "leafTarget": "targetId",
    "leafReadings": "targetId",
}
"""What of the line is at fault; of other kinds the whole line."""


@dataclass(frozen=True, slots=True)
class LocatedProblem:
    """A problem with its places."""

    problem: Problem
    spot: Spot | None
    """The member at fault; None: the whole line, or no line at all."""
    related: tuple[tuple[Spot, str], ...] = ()
    """Other places, each with a sentence on what it has to do with it."""


def locate_problems(session: Session, problems: Sequence[Problem]) -> list[LocatedProblem]:
    """The first problems with their places, in the order they came."""
    siblings: dict[Any, list[int]] = {}
    pairs: list[tuple[Problem, int | None]] = []
    for problem in problems[:MOST]:
        line = problem.line
        row = row_at(session, line) if line is not None and problem.kind in _MEMBERS else None
        pairs.append((problem, row))
        named = None
        if row is not None and problem.kind == "orphan":
            named = _named(session, row, "parentId")
        if row is not None and named is not None:
            siblings.setdefault(named, []).append(row)
    return [_locate(session, problem, row, siblings) for problem, row in pairs]


def _locate(
    session: Session, problem: Problem, row: int | None, siblings: dict[Any, list[int]]
) -> LocatedProblem:
    if row is None:
        return LocatedProblem(problem, None)
    member = _MEMBERS[problem.kind]
    spot = _spot(session, row, member)
    named = _named(session, row, member)
    related: list[tuple[Spot, str]] = []
    found = session.index.find(named)
    match problem.kind:
        case "duplicateId" if found is not None:
            related = [(_spot(session, found, "id"), "The line that stands in its place.")]
        case "orphan":
            others = [one for one in siblings.get(named, ()) if one != row][:_MOST_SIBLINGS]
            sentence = "It names the same missing parent."
            related = [(one, sentence) for one in spots_of(session, _all(others, "parentId"))]
        case "cycle" if found not in (None, row):
            related = [
                (_spot(session, one, "parentId"), "It is on the way back.")
                for one in _way_back(session, row)
            ]
        case "firstKept" if found is not None:
            related = [(_spot(session, found, "id"), "The entry it names, which is not above it.")]
        case "leafReadings" if found is not None:
            related = [(_spot(session, found, "id"), "The entry to which the leaf was moved.")]
    return LocatedProblem(problem, spot if spot.end else None, tuple(related))


def _way_back(session: Session, row: int) -> list[int]:
    """The parents that lead from an entry back to itself, where the circle was cut."""
    parent = session.index.parent
    at = session.index.find(_named(session, row, "parentId"))
    way: list[int] = []
    while at not in (None, NONE, row) and len(way) < _MOST_SIBLINGS:
        way.append(at)
        at = parent[at]
    return way


def _spot(session: Session, row: int, member: str) -> Spot:
    if member == "message":
        line, text = session.index.line[row], stored_texts(session, [row])[0]
        found = naming_members(text, member).get(member)
        return Spot(line, text, found.start, found.end) if found else Spot(line, text, 0, 0)
    return spots_of(session, [(row, member)])[0]


def _all(rows: Sequence[int], member: str) -> list[tuple[int, str]]:
    return [(row, member) for row in rows]


def _named(session: Session, row: int, member: str) -> Any:
    text = stored_texts(session, [row])[0]
    found = naming_members(text).get(member)
    value = None if found is None else parse_json(text[found.value : found.end])
    return value if is_key(value) else None
