"""A damaged file, mended: real pi reads the new one as we read the damaged one."""

import random
import re
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.core.anchors import is_anchor_line
from pisessiond.core.errors import SessionFileError
from pisessiond.core.session import Session
from pisessiond.service.checking import check_file, repair_file
from pisessiond.storage.jsonl import JsonlStore
from tests.support import random_sessions
from tests.support.corpus import SAMPLES, Sample
from tests.support.pi import Pi
from tests.support.seen import inspected, open_file, told_by_pi

NOW: Final = "2026-11-30T00:00:00.000Z"

REFUSED: Final = {
    "derived+mutated/bom.jsonl": "mended all the same",
    "derived+mutated/empty.jsonl": "a new session, with nothing to mend",
    "derived+mutated/header-second.jsonl": "no session",
    "derived+mutated/header-version-4.jsonl": "a newer pi's",
    "derived+mutated/lone-cr-separators.jsonl": "no session",
    "derived+mutated/no-header.jsonl": "no session",
    "derived+mutated/pretty-printed.jsonl": "no session",
    "derived+mutated/whitespace-only.jsonl": "no session",
    "generated+bytes/bytes-2-027.jsonl": "no session",
}
MENDED: Final = tuple(sample for sample in SAMPLES if sample.name not in REFUSED)


def mend(path: Path, out: Path) -> None:
    numbers = count(1)
    repair_file(JsonlStore(), str(path), str(out), lambda: f"{next(numbers):08x}", NOW)


def without_anchor(path: Path, chains: list[Any]) -> list[Any]:
    """pi's tree without the anchor at its end, which is a leaf of the tree and its newest entry."""
    anchor = path.read_bytes().splitlines()[-1]
    if not is_anchor_line(anchor) or b'"00000001"' not in anchor:
        return chains
    return [kept for chain in chains if (kept := _without("00000001", chain))]


def _without(entry: str, chain: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in chain:
        if isinstance(item, list):
            below = [one for one in (_without(entry, under) for under in item) if one]
            # What is left of two branches goes on in the chain it hangs from.
            if len(below) == 1:
                kept += below[0]
            elif below:
                kept.append(below)
        elif item != entry:
            kept.append(item)
    return kept


def expected(session: Session) -> dict[str, Any]:
    told = inspected(session)
    return {
        name: told[name]
        for name in ("sessionId", "tree", "labels", "name", "context", "thinkingLevel", "model")
    }


@pytest.mark.parametrize("sample", MENDED, ids=str)
def test_pi_reads_a_mended_file_as_we_read_the_damaged_one(
    pi: Pi, sample: Sample, tmp_path: Path
) -> None:
    before = (sample.path.read_bytes(), sample.path.stat().st_mtime_ns)
    damaged = open_file(sample.path)
    out = tmp_path / "mended.jsonl"
    mend(sample.path, out)
    assert check_file(JsonlStore(), str(out)) == []
    mended = open_file(out)
    told = told_by_pi(pi.open(out))
    seen = {name: told[name] for name in expected(damaged)}
    seen["tree"] = without_anchor(out, told["tree"])
    assert seen == expected(damaged)
    assert told["leafId"] == mended.id_of(mended.leaf_as_pi)
    assert mended.leaf_id == damaged.leaf_id
    assert (sample.path.read_bytes(), sample.path.stat().st_mtime_ns) == before


def test_a_sound_file_is_copied_byte_for_byte(tmp_path: Path) -> None:
    for number, sample in enumerate(MENDED):
        session = open_file(sample.path)
        if session.problems or session.needs_migration:
            continue
        out = tmp_path / f"{number}.jsonl"
        mend(sample.path, out)
        lines = [line.strip(b" \t\r") for line in sample.path.read_bytes().split(b"\n")]
        assert out.read_bytes().split(b"\n")[:-1] == [line for line in lines if line], sample


@pytest.mark.parametrize("name", sorted(set(REFUSED) - {"derived+mutated/bom.jsonl"}))
def test_what_is_no_session_is_not_mended(name: str, tmp_path: Path) -> None:
    out = tmp_path / "mended.jsonl"
    with pytest.raises(SessionFileError):
        mend(Sample(name).path, out)
    assert not out.exists()


def test_a_byte_order_mark_is_taken_off(pi: Pi, tmp_path: Path) -> None:
    sample = Sample("derived+mutated/bom.jsonl")
    bare, out = tmp_path / "bare.jsonl", tmp_path / "mended.jsonl"
    bare.write_bytes(sample.path.read_bytes()[3:])
    mend(sample.path, out)
    assert out.read_bytes() == bare.read_bytes()
    assert told_by_pi(pi.open(out)) == told_by_pi(pi.open(bare))


# At random


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Lines lost, torn, glued, doubled, exchanged, or filled with what is no entry."""
    header, *lines = data.rstrip(b"\n").split(b"\n")
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(lines))
        what = chance.randrange(7)
        if what == 0 and len(lines) > 1:
            del lines[at]
        elif what == 1:
            lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
        elif what == 2 and at + 1 < len(lines):
            lines[at : at + 2] = [lines[at] + lines[at + 1]]
        elif what == 3:
            lines.insert(chance.randrange(len(lines) + 1), lines[at])
        elif what == 4:
            lines.insert(at, chance.choice((b"null", b"[]", b"{}", b"\0" * 9, b"7", b"{broken")))
        elif what == 5:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            parent = chance.choice((b"gone", b"null", b"00000000"))
            lines[at] = re.sub(rb'("parentId": ?)"[^"]*"', rb'\1"' + parent + b'"', lines[at])
    return b"\n".join([header, *lines]) + chance.choice((b"", b"\n"))


@pytest.mark.parametrize("seeds", [range(at, at + 40) for at in range(0, 120, 40)], ids=str)
def test_random_damage_is_mended(pi: Pi, seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        make = random_sessions.leafy if seed % 2 else random_sessions.ordinary
        path, out = tmp_path / f"{seed}.jsonl", tmp_path / f"{seed}-mended.jsonl"
        path.write_bytes(damaged(make(seed).data, random.Random(seed)))
        session = open_file(path)
        mend(path, out)
        assert check_file(JsonlStore(), str(out)) == [], seed
        told = told_by_pi(pi.open(out))
        seen = {name: told.get(name, told.get("error")) for name in expected(session)}
        seen["tree"] = without_anchor(out, told["tree"])
        assert seen == expected(session), seed
        assert open_file(out).leaf_id == session.leaf_id, seed
