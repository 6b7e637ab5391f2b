"""Whatever goes wrong in the bridge or around it: pi lives, and its model gets what its user sent.

`PISESSIOND_BRIDGE_FAULT` names callbacks of the bridge that throw when they are first called; with
a star behind the name whenever they are called, and a star alone stands for all of them.
"""

import asyncio
import contextlib
import math
import re
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.bridge.home import BRIDGE, PiHome, pi_home
from tests.bridge.model import MarkedModel
from tests.bridge.running import PATIENCE, PiRpc, pi_rpc, pi_tui
from tests.bridge.scripted_daemon import Bridge, ScriptedDaemon, scripted_daemon
from tests.support.model_server import model_server_in_thread
from tests.support.pi import PI_FOLDER

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

NAMED: Final = re.compile(r"\b(?:guard|after|every|soon|begin)\(\s*'([^']+)'")
OLDEST_DRIVEN: Final = PI_FOLDER / "node_modules" / "pi-oldest-driven"
AT_ONCE: Final = 4
ANSWERED_WITHIN: Final = 3.0
"""Seconds; what is lost to a fault is not waited for any longer."""


def callbacks() -> list[str]:
    """Names of all callbacks of the bridge."""
    named = {
        name for path in BRIDGE.glob("*.js") for name in NAMED.findall(path.read_text("utf-8"))
    }
    events = re.search(r"WATCHED = \[(.*?)\]", (BRIDGE / "events.js").read_text("utf-8"), re.DOTALL)
    assert events is not None
    named |= {f"event.{name}" for name in re.findall(r"'(\w+)'", events[1])}
    return sorted(named)


async def live(faults: str) -> set[str]:
    """A short life of a pi whose bridge fails: two runs, a move, a prompt, another session.

    Returns:
        In which callbacks it says that it has failed.
    """
    model = MarkedModel()
    variables = {"PISESSIOND_BRIDGE_FAULT": faults}
    with model_server_in_thread(model) as server, pi_home(server.openai_url) as home:
        async with scripted_daemon(home) as daemon, pi_rpc(home, variables=variables) as pi:
            await pi.turn("One.")
            await pi.turn("[big:4] One.")
            await pi.data("set_session_name", name="A name")
            with contextlib.suppress(TimeoutError):
                comes_within = 3 if faults in {*ALONE, "*"} else PATIENCE
                await drive(pi, await asyncio.wait_for(daemon.attached(), comes_within))
                await asyncio.wait_for(daemon.attached(2), 1)
            await pi.idle()
            await pi.data("new_session")
            await pi.turn("Two.")
            assert set(model.prompts) - {"[slow:500] Prompted.", "Queued."} == {
                "One.",
                "[big:4] One.",
                "Two.",
            }
            said = await status_of(pi)
            assert pi.is_alive
            assert await pi.close() == 0, faults
    found = re.search(r"(?:caught|restarted): (.*) \(", said)
    return set(found[1].split(", ")) if found else set()


async def drive(pi: PiRpc, bridge: Bridge) -> None:
    """Whatever comes of it."""
    entries = [one["id"] for one in await pi.entries()]
    for method, params in (
        # The first two may be lost to a fault of the link.
        ("pi/label", {"target": entries[0], "label": "x"}),
        ("pi/label", {"target": entries[0], "label": "y"}),
        ("pi/navigate", {"target": entries[-2]}),
        ("pi/navigate", {"target": entries[-1], "summarize": True, "summary": "s"}),
        ("pi/compact", {"summary": "s"}),
        ("pi/prompt", {"text": "[slow:500] Prompted."}),
        ("pi/prompt", {"text": "Queued."}),
    ):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(bridge.begin(method, **params), ANSWERED_WITHIN)
    await pi.idle()
    at = {"entry": entries[-1], "position": "at"}
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(bridge.begin("pi/fork", **at), ANSWERED_WITHIN)
    bridge.writer.close()


async def status_of(pi: PiRpc) -> str:
    """What `/pisessiond` says. Asked twice: it may fail once."""
    await pi.data("prompt", message="/pisessiond")
    await pi.data("prompt", message="/pisessiond")
    await pi.data("get_state")
    return "\n".join(one["message"] for one in pi.events if "notifyType" in one)


IN_TERMINALS: Final = frozenset({"consent.ask", "event.ui_prompt_end", "event.ui_prompt_start"})
"""They are called where a user is asked."""

ALONE: Final = (
    "bridge.attach",
    "link.introduce",
    "link.retry",
    "session_start",
    "socket.close",
    "socket.connect",
    "socket.data",
)
"""Little else is called after a fault in one of these: the connection is gone or never made."""

RARE: Final = frozenset(
    "consent.given consent.patience drive.begin event.model_select event.session_compact_failed "
    "event.thinking_level_select link.appeared link.given link.patience link.stuck prompt.patience "
    "link.unwatched showing.end socket.error".split()
)
"""What happens in this life at times only, or never: timers of waits that end before, above all."""


async def test_pi_outlives_a_fault_in_every_callback() -> None:
    names = callbacks()
    # One fault less than the bridge bears, so that it can still say which they were.
    seldom = IN_TERMINALS | RARE
    rest = [name for name in names if name not in {*ALONE, *seldom}]
    many = math.ceil(len(rest) / 4)
    lives = [",".join(rest[at::many]) for at in range(many)]
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(faults: str) -> set[str]:
        async with limit:
            return await live(faults)

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(one(faults)) for faults in [*lives, *ALONE, ",".join(seldom), "*"]
        ]
    caught = set().union(*(task.result() for task in tasks))
    assert set(names) - caught <= seldom


@pytest.mark.parametrize("name", sorted(IN_TERMINALS))
async def test_pi_outlives_a_fault_while_its_user_is_asked(
    home: PiHome, daemon: ScriptedDaemon, name: str
) -> None:
    async with pi_tui(home, PISESSIOND_BRIDGE_FAULT=name) as pi:
        bridge = await daemon.attached()
        said = {"type": "custom_message", "customType": "t", "content": "Words.", "display": True}
        assert await bridge.refused("pi/append", entries=[said]) == "Unsupported"
        if name != "consent.ask":
            await pi.shows("May Tester")
            await pi.types("\r")
        await pi.enters("Mine.")
        await pi.shows("An answer to: Mine.")
        await pi.enters("/pisessiond")
        await pi.shows(f"faults were caught: {name}")


async def test_after_several_faults_the_bridge_takes_itself_out(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_tui(home, PISESSIOND_BRIDGE_FAULT="watch.poll*") as pi:
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
    async with pi_rpc(home, variables=variables) as pi:
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
    async with pi_rpc(home, variables={"PISESSIOND_BRIDGE": "off"}) as pi:
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
