"""What the daemon hears of a real pi that runs, in every mode."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.bridge.home import BRIDGE, PiHome
from tests.bridge.model import MarkedModel
from tests.bridge.running import PATIENCE, pi_once, pi_rpc, pi_tui
from tests.bridge.scripted_daemon import Bridge, ScriptedDaemon

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


def in_file(path: str) -> list[str]:
    lines = Path(path).read_text("utf-8").splitlines()
    return [json.loads(line)["id"] for line in lines[1:]]


async def test_a_turn_with_a_tool_is_mirrored_entry_by_entry(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        assert bridge.about["pi"]["mode"] == "rpc"
        assert bridge.about["pi"]["drive"] is True
        assert bridge.session["onDisk"] is False
        await pi.turn("[tool:echo hello]")
        await bridge.idle()
        entries = await pi.entries()
        await bridge.until(lambda: bridge.count == len(entries), "every entry")
        assert bridge.ids == [entry["id"] for entry in entries]
        assert bridge.leaf == entries[-1]["id"]
        assert bridge.ids == in_file(bridge.session["file"])
        flushed = [one["onDisk"] for one in bridge.all_of("pi/didChange")]
        assert flushed == sorted(flushed)
        assert pi.faults() == []
        assert await pi.close() == 0
    assert bridge.all_of("pi/detached")[-1]["reason"] == "quit"


def operations(bridge: Bridge) -> list[str | None]:
    return [state.get("operation") for state in bridge.all_of("pi/didState")]


async def test_it_registers_in_a_terminal(home: PiHome, daemon: ScriptedDaemon) -> None:
    async with pi_tui(home) as pi:
        bridge = await daemon.attached()
        assert bridge.about["pi"]["mode"] == "tui"
        assert bridge.about["pi"]["pid"] == pi.pid
        await pi.enters("What is a tree?")
        # The whole of it may be told before anybody looks.
        await bridge.until(lambda: "turn" in operations(bridge), "the run")
        await bridge.until(lambda: bridge.state.get("idle"), "the end of the run")
        await pi.shows("An answer to: What is a tree?")
        assert bridge.ids == in_file(bridge.session["file"])


async def test_a_pi_that_answers_once_ends_with_and_without_a_daemon(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    # It waits for nobody: an answer that came at once could end it before the daemon has heard.
    status, said = await pi_once(home, "[slow:1000] One answer.")
    assert (status, said.strip()) == (0, "A slow answer, in time.")
    bridge = await daemon.attached()
    assert bridge.about["pi"]["mode"] == "print"
    assert bridge.about["pi"]["drive"] is False
    await daemon.stop()
    assert (await pi_once(home, "Another."))[0] == 0


async def test_a_session_in_memory_comes_whole(
    home: PiHome, daemon: ScriptedDaemon, model: MarkedModel
) -> None:
    async with pi_rpc(home, "--no-session") as pi:
        bridge = await daemon.attached()
        await pi.turn("Remember this.")
        await bridge.idle()
        assert list(bridge.entries.values()) == await pi.entries()
        assert "file" not in bridge.session
    assert model.prompts == ["Remember this."]


async def test_pi_loads_it_once_it_is_installed(home: PiHome, daemon: ScriptedDaemon) -> None:
    install = home.command("x", bridge=False)[:2]
    process = await asyncio.create_subprocess_exec(
        *install, "install", str(BRIDGE), cwd=home.project, env=home.environment()
    )
    assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
    settings = json.loads((home.agent_dir / "settings.json").read_text())
    assert len(settings["packages"]) == 1
    async with pi_rpc(home, bridge=False):
        await daemon.attached()
