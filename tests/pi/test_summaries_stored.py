"""What the service stores with a summarizer is read by real pi as we tell it.

The service compacts and moves in real files; pi opens them, sees the context and the sizes that
the service told, and its own functions cut the same session at the same place.
"""

import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from pisessiond import app
from pisessiond.core.errors import CannotShrink, NothingToCompact
from pisessiond.service.open_session import OpenSession
from tests.support.pi import Answer, Pi
from tests.support.random_conversations import grown
from tests.support.seen import inspected, open_file, size_told_by_pi, told_by_pi
from tests.support.service import ME, service
from tests.support.summarizers import USAGE, Desk

KEPT: Final = (0, 50, 400, 2_000)


def run(
    folder: Path, act: Callable[[OpenSession, Desk], Awaitable[None]], path: Path, desk: Desk
) -> None:
    """Let `act` do something to the session of a file, in a service of its own."""

    async def with_service() -> None:
        async with service(folder, hand=desk.hand) as house:
            await act(await house.open(path), desk)

    anyio.run(with_service)


def check_read_by_pi(pi: Pi, path: Path) -> Answer:
    """pi opens a file of ours and sees what we see; its size at the leaf."""
    session = open_file(path)
    ours = inspected(session)
    assert ours.pop("problems") == []
    assert ours == told_by_pi(pi.open(path))
    (size,) = pi.sizes(path, [str(session.leaf_id)])
    return size_told_by_pi(size)


def last_entry(path: Path) -> Answer:
    entry: Answer = json.loads(path.read_bytes().splitlines()[-1])
    return entry


@pytest.mark.parametrize("seeds", [range(at, at + 15) for at in (0, 15, 30)], ids=str)
def test_a_stored_compaction_is_read_by_pi_as_we_tell_it(
    pi: Pi, seeds: range, tmp_path: Path
) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(grown(seed).data)
        chance = random.Random(seed)
        for _ in range(2):
            desk = Desk()
            keep = chance.choice(KEPT)
            desk.folder.keep(keep)
            (theirs,) = pi.prepare_all(path, [{"id": open_file(path).leaf_id, "keep": keep}])
            told: list[Any] = []

            async def compact(session: OpenSession, _: Desk, told: list[Any] = told) -> None:
                try:
                    preview = await session.prepare_compaction()
                    told += [preview, await session.compact(origin=ME)]
                except (NothingToCompact, CannotShrink) as refusal:
                    told.append(refusal)

            run(tmp_path / f"service-{seed}", compact, path, desk)
            seen[check_compaction(pi, path, theirs, told)] += 1
    assert min(seen[name] for name in ("stored", "nothing")) > 2, seen


def check_compaction(pi: Pi, path: Path, theirs: Answer | None, told: list[Any]) -> str:
    if theirs is None:
        assert isinstance(told[-1], NothingToCompact)
        return "nothing"
    if isinstance(told[-1], CannotShrink):
        return "cannot shrink"
    preview, done = told
    entry = last_entry(path)
    same = ("firstKeptEntryId", "tokensBefore")
    assert {name: entry[name] for name in same} == {name: theirs[name] for name in same}
    assert (preview.first_kept, preview.tokens_before) == tuple(theirs[name] for name in same)
    assert preview.is_split_turn == theirs["isSplitTurn"]
    assert entry["details"] == theirs["files"]["details"]
    assert entry["summary"].endswith(theirs["files"]["lists"])
    assert entry["fromHook"] is False
    size = check_read_by_pi(pi, path)
    assert (done.entry, done.before, done.after) == (
        size["id"],
        theirs["tokensBefore"],
        size["tokens"],
    )
    return "stored"


@pytest.mark.parametrize("seeds", [range(at, at + 15) for at in (100, 115)], ids=str)
def test_a_stored_branch_summary_is_read_by_pi_as_we_tell_it(
    pi: Pi, seeds: range, tmp_path: Path
) -> None:
    moved = 0
    for seed in seeds:
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(grown(seed).data)
        before = open_file(path)
        target = random.Random(seed).choice(before.index.ids)
        (theirs,) = pi.collect_all(
            path, [{"from": before.leaf_id, "target": target, "budget": 128_000 - 16_384}]
        )
        told: list[Any] = []

        async def move(
            session: OpenSession, _: Desk, told: list[Any] = told, target: Any = target
        ) -> None:
            told.append(await session.navigate(target, summarize=True, origin=ME))
            size = await session.context_size()
            told.append(size.estimated)

        run(tmp_path / f"service-{seed}", move, path, Desk())
        done, estimated = told
        if not theirs["messages"]:
            assert done.summary_entry is None
            continue
        entry = last_entry(path)
        assert (entry["id"], entry["fromId"]) == (done.summary_entry, before.leaf_id)
        assert entry["details"] == theirs["files"]["details"]
        assert entry["summary"].endswith(f"Told.{theirs['files']['lists']}")
        assert (entry["usage"], entry["fromHook"]) == (USAGE, False)
        assert check_read_by_pi(pi, path)["estimated"] == estimated
        moved += 1
    assert moved > 3


def test_what_is_kept_is_what_pis_settings_say_of_the_model(pi: Pi, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    overrides = {"demo/demo-1": {"keepRecentTokens": 60}, "other/größer": {"reserveTokens": 1}}
    ours = {"compaction": {"keepRecentTokens": 700, "modelOverrides": overrides}}
    (agent / "settings.json").write_text(json.dumps(ours))
    kept: Counter[int] = Counter()
    for seed in range(24):
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(grown(seed).data)
        session = open_file(path)
        model = session.settings_at(session.leaf).model or {}
        keep = 60 if model == {"provider": "demo", "modelId": "demo-1"} else 700
        (theirs,) = pi.prepare_all(path, [{"id": session.leaf_id, "keep": keep}])

        async def compact(path: Path = path) -> str:
            async with app.sessions(app.session_places(str(agent)), app.ServeOptions()) as all_:
                try:
                    await (await all_.open(path=str(path))).compact(summary="told", origin=ME)
                except (NothingToCompact, CannotShrink) as refusal:
                    return type(refusal).__name__
                return str(last_entry(path)["firstKeptEntryId"])

        outcome = anyio.run(compact)
        if outcome == "CannotShrink":
            continue
        assert outcome == ("NothingToCompact" if theirs is None else theirs["firstKeptEntryId"])
        kept[keep] += theirs is not None
    assert min(kept[60], kept[700]) > 2, kept
