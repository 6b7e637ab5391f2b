"""How quick it is, printed; the bars are wide, for the machine does other things, too."""

import json
import os
import statistics
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.home import PiHome
from tests.bridge.running import PiRpc, pi_rpc, pi_tui
from tests.bridge.scripted_daemon import Bridge, ScriptedDaemon

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


def long_session(home: PiHome, turns: int) -> tuple[Path, list[str]]:
    """A file of so many questions and answers; the ids of its answers."""
    path = home.sessions / "long.jsonl"
    stamp = "2026-01-01T00:00:00.000Z"
    header = {"type": "session", "version": 3, "id": "long", "timestamp": stamp}
    lines: list[dict[str, Any]] = [header | {"cwd": str(home.project)}]
    usage: dict[str, Any] = {
        "input": 1,
        "output": 1,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 2,
    }
    usage |= {"cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
    answer = {"role": "assistant", "provider": "loop", "model": "m", "api": "openai-completions"}
    for at in range(turns):
        above = lines[-1]["id"] if at else None
        said = {"role": "user", "content": f"Question {at}.", "timestamp": 1}
        parts = [{"type": "text", "text": f"Answer {at}."}]
        more = answer | {"content": parts, "usage": usage, "stopReason": "stop", "timestamp": 2}
        base = {"type": "message", "timestamp": stamp}
        lines.append(base | {"id": f"u{at:07}", "parentId": above, "message": said})
        lines.append(base | {"id": f"a{at:07}", "parentId": f"u{at:07}", "message": more})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path, [str(line["id"]) for line in lines[2::2]]


async def moves(bridge: Bridge, targets: list[str]) -> tuple[list[float], list[float]]:
    """Milliseconds until the leaf was told to have moved, and until the answer."""
    moved, answered = [], []
    for target in targets:
        heard = len(bridge.heard)
        start = time.monotonic()
        await bridge.done("pi/navigate", target=target)
        answered.append((time.monotonic() - start) * 1000)
        told = next(
            at
            for (method, params), at in list(zip(bridge.heard, bridge.times, strict=True))[heard:]
            if method == "pi/didChange" and params["leaf"] == target
        )
        moved.append((told - start) * 1000)
    return moved, answered


def said(what: str, values: list[float]) -> str:
    ordered = sorted(values)
    return f"{what} {statistics.median(ordered):.1f} / {ordered[int(len(ordered) * 0.95)]:.1f}"


async def test_moves(
    home: PiHome, daemon: ScriptedDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = []
    path, answers = long_session(home, 1000)
    async with pi_rpc(home, "--session", str(path)) as pi:
        bridge = await daemon.attached()
        moved, answered = await moves(bridge, [answers[at % 2 * 500] for at in range(1, 41)])
        lines.append(said("rpc, 2,000 entries: leaf moved", moved) + said(", answered", answered))
        assert min(moved) < 100
        assert await pi.close() == 0
    async with pi_tui(home, "--session", str(path)) as terminal:
        bridge = await daemon.attached(2)
        await terminal.shows("Answer ")
        moved, answered = await moves(bridge, [answers[at % 2 * 500] for at in range(1, 13)])
        lines.append(said("tui, 2,000 entries: leaf moved", moved) + said(", answered", answered))
        assert min(moved) < 500
    with capsys.disabled():
        print("\nms, p50 / p95\n" + "\n".join(lines))


async def test_appends_are_told_once_they_are_written(
    home: PiHome, daemon: ScriptedDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        await pi.turn("First.")
        await bridge.idle()
        told = {}
        for number in range(30):
            answer = await bridge.done("pi/label", target=bridge.ids[-1], label=str(number))
            (label,) = answer["ids"]
            told[label] = time_of(bridge, label)
        entries = {entry["id"]: entry for entry in await pi.entries()}
    # pi stamps an entry right before it writes it, in whole milliseconds.
    waits = [(at - stamp_of(entries[label])) * 1000 for label, at in told.items()]
    assert -1 < min(waits) < 50
    with capsys.disabled():
        print("\nms, p50 / p95\n" + said("append in pi to daemon", waits))


def time_of(bridge: Bridge, entry: str) -> float:
    """When the daemon heard of an entry, in seconds since 1970."""
    heard = zip(bridge.heard, bridge.times, strict=True)
    at = next(at for (_, params), at in heard if entry in str(params.get("entries")))
    return at - time.monotonic() + time.time()


def stamp_of(entry: dict[str, Any]) -> float:
    return datetime.fromisoformat(entry["timestamp"]).timestamp()


async def test_starts(
    home: PiHome, daemon: ScriptedDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    took: dict[str, list[float]] = {"without": [], "with": [], "with, no daemon": []}
    for _ in range(4):
        for what, times in took.items():
            hidden = home.state / "socket.hidden"
            if what == "with, no daemon":
                os.rename(home.state / "socket", hidden)
            times.append(await start_of(home, bridge=what != "without"))
            if hidden.exists():
                os.rename(hidden, home.state / "socket")
    # The first ones fill the system's cache.
    middle = {what: statistics.median(times[1:]) for what, times in took.items()}
    with capsys.disabled():
        each = ", ".join(f"{what} the bridge {ms:.0f}" for what, ms in middle.items())
        print(f"\nms from start to pi's first answer: {each}")
    quickest = {what: min(times) for what, times in took.items()}
    assert max(quickest.values()) < 2 * quickest["without"]


async def start_of(home: PiHome, *, bridge: bool) -> float:
    start = time.monotonic()
    async with pi_rpc(home, bridge=bridge) as pi:
        await pi.data("get_state")
        took = (time.monotonic() - start) * 1000
        await ends(pi)
    return took


async def ends(pi: PiRpc) -> None:
    assert await pi.close() == 0
