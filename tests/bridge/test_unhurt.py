"""Whatever goes wrong in the bridge or around it: pi lives, and its model gets what its user sent.

`PISESSIOND_BRIDGE_FAULT` names a callback of the bridge that throws whenever it is called; `*` stands
for all of them.
"""

import asyncio
import contextlib
import re
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.bridge.home import BRIDGE, PiHome, pi_home
from tests.bridge.model import MarkedModel
from tests.bridge.running import pi_rpc, pi_tui
from tests.bridge.scripted_daemon import ScriptedDaemon, scripted_daemon
from tests.support.model_server import model_server_in_thread
from tests.support.pi import PI_FOLDER

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

NAMED: Final = re.compile(r"\b(?:guard|after|every|soon)\(\s*'([^']+)'")
OLDEST_DRIVEN: Final = PI_FOLDER / "node_modules" / "pi-oldest-driven"
AT_ONCE: Final = 4


def callbacks() -> list[str]:
    """Names of all callbacks of the bridge."""
    named = {
        name for path in BRIDGE.glob("*.js") for name in NAMED.findall(path.read_text("utf-8"))
    }
    events = re.search(r"WATCHED = \[(.*?)\]", (BRIDGE / "events.js").read_text("utf-8"), re.S)
    assert events is not None
    named |= {f"event.{name}" for name in re.findall(r"'(\w+)'", events[1])}
    return sorted(named)


async def live(fault: str) -> None:
    """A short life of a pi whose bridge fails: two runs, a move, a prompt, another session."""
    model = MarkedModel()
    with model_server_in_thread(model) as server, pi_home(server.openai_url) as home:
        async with (
            scripted_daemon(home) as daemon,
            pi_rpc(home, PISESSIOND_BRIDGE_FAULT=fault) as pi,
        ):
            await pi.turn("One.")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    bridge = await daemon.attached()
                    for method, params in (
                        ("pi/navigate", {"target": (await pi.entries())[-1]["parentId"]}),
                        ("pi/compact", {"summary": "s"}),
                        ("pi/prompt", {"text": "Prompted."}),
                        ("pi/fork", {"entry": (await pi.entries())[-1]["id"], "position": "at"}),
                    ):
                        await asyncio.wait_for(bridge.begin(method, **params), 0.5)
            await pi.until(lambda: pi.settled == len(model.prompts), "the end of all runs")
            await pi.data("new_session")
            await pi.turn("Two.")
            assert set(model.prompts) - {"Prompted."} == {"One.", "Two."}
            assert pi.is_alive
            assert await pi.close() == 0, fault


async def test_pi_outlives_a_fault_in_every_callback() -> None:
    names = callbacks()
    assert len(names) > 30
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> None:
        async with limit:
            await live(name)

    results = await asyncio.gather(*(one(name) for name in [*names, "*"]), return_exceptions=True)
    failed = {
        name: result
        for name, result in zip([*names, "*"], results, strict=True)
        if result is not None
    }
    assert failed == {}


async def test_after_several_faults_the_bridge_takes_itself_out(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_tui(home, PISESSIOND_BRIDGE_FAULT="watch.poll") as pi:
        bridge = await daemon.attached()
        await pi.shows("the bridge has taken itself out")
        await bridge.until(lambda: bridge.is_gone, "the end of the connection")
        await pi.enters("Go on.")
        await pi.shows("An answer to: Go on.")


async def test_a_second_copy_does_nothing(home: PiHome, daemon: ScriptedDaemon) -> None:
    copy = home.folder / "copy"
    shutil.copytree(BRIDGE, copy, ignore=shutil.ignore_patterns("node_modules"))
    async with pi_rpc(home, "-e", str(copy)) as pi:
        bridge = await daemon.attached()
        assert bridge.about["pi"]["drive"] is True
        await pi.turn("Once.")
        await bridge.idle()
        assert bridge.count == len(await pi.entries()) == len(bridge.ids)
        commands = (await pi.data("get_commands"))["commands"]
        assert [one["name"] for one in commands if "pisessiond" in one["name"]] == ["pisessiond"]
        await pi.data("new_session")
        await bridge.until(lambda: bridge.gen == 2, "the new session")
        assert len(daemon.bridges) == 1


SHADOW: Final = """
export default (pi) => {
  const take = () => pi.registerCommand('pisessiond', { handler: async () => {} });
  WHEN
};
"""


async def test_a_command_that_another_extension_has_too_is_never_sent(
    home: PiHome, daemon: ScriptedDaemon, model: MarkedModel
) -> None:
    shadow = home.folder / "shadow.js"
    shadow.write_text(SHADOW.replace("WHEN", "take();"))
    async with pi_rpc(home, "-e", str(shadow)) as pi:
        bridge = await daemon.attached()
        assert bridge.about["pi"]["drive"] is False
        assert "another extension" in bridge.about["pi"]["why"]
        await pi.turn("A question.")
        target = (await pi.entries())[0]["id"]
        assert await bridge.refused("pi/navigate", target=target) == "ReadOnly"
        # Even if it were sent, it is kept from the model.
        text = "/pisessiond @01234567-89ab-cdef-0123-456789abcdef"
        await pi.data("prompt", message=text)
        await pi.turn("Another question.")
    assert model.prompts == ["A question.", "Another question."]


async def test_a_command_that_is_taken_later_is_not_sent_either(
    home: PiHome, daemon: ScriptedDaemon, model: MarkedModel
) -> None:
    shadow = home.folder / "shadow.js"
    shadow.write_text(SHADOW.replace("WHEN", "pi.on('agent_end', take);"))
    async with pi_rpc(home, "-e", str(shadow)) as pi:
        bridge = await daemon.attached()
        assert bridge.about["pi"]["drive"] is True
        await pi.turn("A question.")
        await bridge.idle()
        target = (await pi.entries())[0]["id"]
        assert await bridge.refused("pi/navigate", target=target) == "Unsupported"
    assert model.prompts == ["A question."]


async def test_the_oldest_pi_that_is_driven(
    home: PiHome, daemon: ScriptedDaemon, model: MarkedModel
) -> None:
    async with pi_rpc(home, package=OLDEST_DRIVEN) as pi:
        bridge = await daemon.attached()
        assert bridge.about["pi"]["version"] == "0.84.2"
        assert bridge.about["pi"]["drive"] is True
        await pi.turn("First question.")
        await pi.turn("[tool:echo hello]")
        await bridge.idle()
        entries = await pi.entries()
        await bridge.until(lambda: bridge.ids == [one["id"] for one in entries], "the mirror")
        answer = next(one["id"] for one in entries if "An answer to" in str(one))
        await bridge.done("pi/navigate", target=answer)
        await bridge.done("pi/navigate", target=entries[-1]["id"], summarize=True, summary="Left.")
        await bridge.done("pi/label", target=answer, label="good")
        await bridge.done("pi/prompt", text="From outside.")
        await bridge.idle()
        await bridge.done("pi/fork", entry=answer, position="at")
        await bridge.until(lambda: bridge.gen == 2, "the fork")
        await bridge.done("pi/reread")
        assert pi.faults() == []
    assert model.prompts == ["First question.", *["[tool:echo hello]"] * 2, "From outside."]


@pytest.mark.parametrize(
    ("variables", "drives", "why"),
    [
        ({"PISESSIOND_BRIDGE": ""}, False, "has not allowed it"),
        ({"PISESSIOND_BRIDGE": "watch"}, False, "may only be watched"),
        ({"PISESSIOND_BRIDGE": "drive", "PI_SESSION_ID": "x"}, False, "another pi began"),
    ],
)
async def test_who_is_only_watched(
    home: PiHome, daemon: ScriptedDaemon, variables: dict[str, str], drives: bool, why: str
) -> None:
    async with pi_rpc(home, **variables) as pi:
        bridge = await daemon.attached()
        assert bridge.about["pi"]["drive"] is drives
        assert why in bridge.about["pi"]["why"]
        assert bridge.about["pi"]["nested"] is ("PI_SESSION_ID" in variables)
        assert await bridge.refused("pi/prompt", text="Do it.") == "ReadOnly"
        await pi.turn("Mine.")
        await bridge.idle()


async def test_a_folder_that_is_open_to_others_is_not_trusted(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    home.state.chmod(0o755)
    async with pi_rpc(home) as pi:
        await pi.turn("Alone.")
        await pi.data("prompt", message="/pisessiond")
        said = await pi.until(lambda: [one for one in pi.events if "notifyType" in one], "the word")
        assert "open to others" in said[0]["message"]
    assert daemon.bridges == []


async def test_switched_off_it_does_nothing(home: PiHome, daemon: ScriptedDaemon) -> None:
    async with pi_rpc(home, PISESSIOND_BRIDGE="off") as pi:
        await pi.turn("Alone.")
        assert await pi.close() == 0
    assert daemon.bridges == []


async def test_the_socket_is_found_where_the_address_file_says(home: PiHome) -> None:
    async with scripted_daemon(home) as daemon:
        elsewhere = home.folder / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        (home.state / "socket").rename(elsewhere / "s")
        (home.state / "address").write_text(f"{elsewhere}/s\n")
        async with pi_rpc(home):
            await daemon.attached()


async def test_a_daemon_that_stops_reading_costs_pi_nothing(home: PiHome) -> None:
    taken: list[asyncio.StreamWriter] = []

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.append(writer)
        while b"initialize" not in await reader.read(1 << 16):
            pass
        body = b'{"jsonrpc": "2.0", "id": %d, "result": {}}' % len(taken)
        writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    server = await asyncio.start_unix_server(deaf, home.state / "socket", limit=1 << 12)
    Path(home.state / "socket").chmod(0o600)
    try:
        async with pi_rpc(home, "--no-session") as pi:
            for number in range(8):
                await asyncio.wait_for(pi.turn(f"[big:900] {number}"), 10)
            await pi.until(lambda: len(taken) > 1, "another connection")
            assert await pi.close() == 0
    finally:
        server.close()
        for writer in taken:
            writer.close()
