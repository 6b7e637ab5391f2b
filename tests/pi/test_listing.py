"""Our list beside real pi's over the corpus: names, first messages, counts, times."""

import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.core.dates import date_ms
from pisessiond.core.preview import clean_line
from tests.service.test_finding import listed
from tests.support.corpus import SAMPLES
from tests.support.pi import Pi
from tests.support.service import service

pytestmark = pytest.mark.anyio

SEPARATOR: Final = (
    "pi's list, unlike its opening, also ends lines at U+2028 and U+2029: to it the line is torn."
)
THROWS: Final = "pi's list leaves out a file with a message of a shape that it does not expect."

NOT_OURS: Final = {
    "derived+mutated+lone-cr-separators.jsonl": (
        "pi's list, unlike its opening, takes lone carriage returns for ends of lines; it cannot "
        "open this file either."
    ),
}
"""Files that pi lists and we do not, with the reason."""

OURS_ALONE: Final = {
    "derived+mutated+message-missing.jsonl": THROWS,
    "derived+mutated+message-null.jsonl": THROWS,
    "derived+mutated+null-content.jsonl": THROWS,
    "generated+odd+odd-2-052.jsonl": THROWS,
    "generated+odd+odd-2-109.jsonl": THROWS,
    "generated+bytes+bytes-2-197.jsonl": (
        "There is a carriage return between two members of the header, where pi's list ends a line."
    ),
}
"""Files that we list and pi does not, with the reason."""

OTHERWISE: Final = {
    "generated+bytes+bytes-2-103.jsonl": ({"messages"}, SEPARATOR),
    "generated+leafy+leafy-2-101.jsonl": ({"messages"}, SEPARATOR),
    "generated+leafy+leafy-2-196.jsonl": ({"messages", "first"}, SEPARATOR),
    "generated+plain+plain-2-070.jsonl": ({"messages"}, SEPARATOR),
    "synth+pi160+unicode.jsonl": (
        {"messages", "first", "name"},
        SEPARATOR + " In names, we show half a surrogate pair as U+FFFD.",
    ),
}
"""Files of which we tell something else: what, and why."""


def told_by_pi(info: dict[str, Any]) -> dict[str, Any]:
    first = info["firstMessage"]
    return {
        "id": info["id"],
        "cwd": info["cwd"],
        "name": info["name"],
        "messages": info["messageCount"],
        "first": None if first == "(no messages)" else clean_line(first),
        "created": info["created"],
        "modified": info["modified"],
        "parent": info["parentSessionPath"],
    }


async def told_by_us(folder: Path) -> dict[str, dict[str, Any]]:
    async with service(folder) as house:
        rows = await listed(house)
    return {
        Path(one.path or "").name: {
            "id": one.session,
            "cwd": one.cwd,
            "name": one.name,
            "messages": one.messages,
            "first": one.first_message,
            "created": date_ms(one.created) if one.created is not None else None,
            "modified": date_ms(one.modified),
            "parent": one.parent_session,
        }
        for one in rows
    }


async def test_our_list_tells_what_pis_list_tells(pi: Pi, tmp_path: Path) -> None:
    folder = tmp_path / "agent" / "sessions" / "--corpus--"
    folder.mkdir(parents=True)
    for sample in SAMPLES:
        shutil.copy(sample.path, folder / sample.name.replace("/", "+"))
    theirs = {Path(one["path"]).name: told_by_pi(one) for one in pi.list(folder)}
    ours = await told_by_us(tmp_path)
    assert set(theirs) - set(ours) == set(NOT_OURS)
    assert set(ours) - set(theirs) == set(OURS_ALONE)
    wrong = {}
    for name in theirs.keys() & ours.keys():
        differs = {part for part in ours[name] if ours[name][part] != theirs[name][part]}
        if differs != OTHERWISE.get(name, (set(), ""))[0]:
            wrong[name] = {part: (ours[name][part], theirs[name][part]) for part in differs}
    assert wrong == {}
    assert len(theirs) > len(SAMPLES) // 2
