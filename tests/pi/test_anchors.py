"""After a move, real pi 1.6.0 and agent-core 0.80.2 reopen at the place moved to."""

import random
from pathlib import Path
from shutil import copyfile

import pytest

from pisessiond import app, offline
from pisessiond.service.types import Origin
from tests.support.corpus import SAMPLES, Sample
from tests.support.pi import Pi
from tests.support.random_sessions import ordinary

pytestmark = pytest.mark.anyio

ME = Origin("test", "t")
UNKNOWN_TO_CORE = (b'"context_edit"', b'"systemMessage"', b'"role":"system"')
"""What agent-core 0.80.2 reads otherwise than pi, whatever the place."""
SEEN = ("context", "thinkingLevel", "model")
WHOLE = [
    sample
    for sample in SAMPLES
    if "error" not in sample.pi_open
    and sample.path.parent.name in ("synth+pi160", "generated+plain", "generated+leafy")
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


async def move_and_close(path: Path, place: str | None) -> None:
    places = app.session_places(str(path.parent / "agent"))
    async with app.sessions(places, app.ServeOptions(persist="anchor")) as sessions:
        session = await sessions.open(path=str(path))
        await session.navigate(place, exact=True, origin=ME)
        await sessions.aclose()


async def check(pi: Pi, path: Path, place: str | None, *, core_reads_all: bool) -> None:
    before = path.stat().st_mtime_ns
    expected = pi.at(path, place)
    size = None if place is None else pi.sizes(path, [place])[0]["tokens"]
    await move_and_close(path, place)
    assert path.stat().st_mtime_ns == before
    opened = pi.open(path)
    assert {name: opened[name] for name in SEEN} == {name: expected[name] for name in SEEN}
    assert opened["estimateProjectedContextTokens"]["tokens"] == (size or 0)
    core = pi.core(path)
    if "error" not in core:
        assert core["leafId"] == opened["leafId"]
        if core_reads_all and not any(mark in path.read_bytes() for mark in UNKNOWN_TO_CORE):
            assert core["context"]["sha256"] == opened["context"]["sha256"]
    assert offline.inspect(str(path))["leafId"] == opened["leafId"]
    places = app.session_places(str(path.parent / "agent"))
    async with app.sessions(places, app.ServeOptions()) as sessions:
        session = await sessions.open(path=str(path))
        assert session.leaf == place


@pytest.mark.parametrize("sample", WHOLE, ids=lambda s: s.path.name)
async def test_a_corpus_file_reopens_where_it_was_moved_to(
    pi: Pi, sample: Sample, tmp_path: Path
) -> None:
    path = tmp_path / sample.path.name
    copyfile(sample.path, path)
    ids = [entry["id"] for entry in pi.sizes(path) if "id" in entry]
    chosen = random.Random(sample.path.name).sample(ids, min(3, len(ids)))
    for place in (*chosen, None):
        copyfile(sample.path, path)
        await check(pi, path, place, core_reads_all=True)


@pytest.mark.parametrize("seed", range(40))
async def test_a_random_session_reopens_where_it_was_moved_to(
    pi: Pi, seed: int, tmp_path: Path
) -> None:
    made = ordinary(seed)
    path = tmp_path / "s.jsonl"
    for place in (random.Random(seed).choice(sorted(set(made.ids))), None):
        path.write_bytes(made.data)
        # These hold shapes that agent-core reads otherwise, too many to name.
        await check(pi, path, place, core_reads_all=False)
