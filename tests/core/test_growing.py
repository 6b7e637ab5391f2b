"""Files whose lines are not in the order of the tree, and what is appended to them."""

import json
import random
from typing import Any

import pytest

from pisessiond.core.index import NeedsRebuild
from pisessiond.core.lines import Head, read_line
from pisessiond.core.session import Session, load_session
from tests.support import random_sessions
from tests.support.naive import iso

Entry = dict[str, Any]


def opened(data: bytes) -> Session:
    lines = data.split(b"\n")[:-1]
    return load_session(
        [(0, lines)], lambda places: [data[at : at + length] for at, length in places]
    )


def new_entries(session: Session, chance: random.Random) -> list[Entry]:
    """Entries to be appended here and there; each may go on from one that was appended before."""
    values = random_sessions.Values(chance.randrange(1 << 30))
    ids: list[Any] = list(session.index.row_of)
    made: list[Entry] = []
    for number in range(6):
        bodies: list[Entry] = [
            {"type": "message", "message": values.assistant_message()},
            {"type": "message", "message": values.system_message()},
            {"type": "compaction", "summary": "S" * 40, "tokensBefore": 1}
            | {"firstKeptEntryId": chance.choice(ids)},
        ]
        head = {"id": f"new{number}", "parentId": chance.choice(ids[-4:]), "timestamp": iso(1)}
        made.append({**head, **chance.choice(bodies)})
        ids.append(head["id"])
    return made


@pytest.mark.parametrize("sized_before", [0, 3, 1_000])
@pytest.mark.parametrize("seed", range(60))
def test_what_is_appended_has_the_size_it_has_when_it_is_loaded(
    seed: int, sized_before: int
) -> None:
    """Whether the file was sized before, in part, or not at all."""
    chance = random.Random(seed)
    data = random_sessions.repeated(seed).data if seed % 3 else random_sessions.ordinary(seed).data
    session = opened(data)
    whole = bytearray(data)
    session._read_lines = lambda places: [bytes(whole[at : at + n]) for at, n in places]
    session.sizes.extend(session.measure_next(sized_before))
    for entry in new_entries(session, chance):
        line = json.dumps(entry).encode()
        head = read_line(line)
        assert isinstance(head, Head)
        at = len(whole)
        whole += line + b"\n"
        try:
            session.take_in(head, line, at)
        except NeedsRebuild:
            return
    session.measure_rest()
    loaded = opened(bytes(whole))
    loaded.measure_rest()
    for row in loaded.index.row_of.values():
        assert session.size_at(row) == loaded.size_at(row)
