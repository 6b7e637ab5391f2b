"""Where a client left pi is where it opens again, with plain pi, too."""

import json
import signal
from pathlib import Path

import pytest

from tests.bridge.home import PiHome
from tests.bridge.running import PiRpc, pi_rpc
from tests.bridge.scripted_daemon import Bridge, ScriptedDaemon

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


async def first_answer(pi: PiRpc, bridge: Bridge) -> str:
    """After two turns."""
    await pi.turn("First question.")
    answer = str((await pi.entries())[-1]["id"])
    await pi.turn("Second question.")
    await bridge.idle()
    return answer


def lines_of(path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("way", ["input", "signal"])
async def test_a_place_a_client_moved_to_outlives_pi(
    home: PiHome, daemon: ScriptedDaemon, way: str
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        answer = await first_answer(pi, bridge)
        await bridge.done("pi/navigate", target=answer)
        file = bridge.session["file"]
        before = lines_of(file)
        if way == "input":
            assert await pi.close() == 0
        else:
            pi.process.send_signal(signal.SIGTERM)
            await pi.ended()
    more = lines_of(file)[len(before) :]
    assert [(one["type"], one["customType"], one["parentId"]) for one in more] == [
        ("custom", "pisessiond.leaf", answer)
    ]
    async with pi_rpc(home, "--session", file, bridge=False) as pi:
        assert await pi.leaf() == more[0]["id"]
        await pi.turn("Go on from there.")
        entries = {one["id"]: one for one in await pi.entries()}
        said = next(one for one in entries.values() if "Go on from there." in str(one))
        assert said["parentId"] in entries
        assert "Second question." not in str(
            [entries[one] for one in branch(entries, str(said["id"]))]
        )


ANEW = """
export default (pi) => {
  pi.registerCommand('anew', { handler: async (args, ctx) => { await ctx.reload(); } });
};
"""


@pytest.mark.parametrize("way", ["reload", "drive", "reread"])
async def test_a_place_outlives_what_begins_the_bridge_anew(
    home: PiHome, daemon: ScriptedDaemon, way: str
) -> None:
    anew = home.folder / "anew.js"
    anew.write_text(ANEW)
    async with pi_rpc(home, "-e", str(anew)) as pi:
        bridge = await daemon.attached()
        answer = await first_answer(pi, bridge)
        await bridge.done("pi/navigate", target=answer)
        file = bridge.session["file"]
        match way:
            case "reload":
                await pi.data("prompt", message="/anew")
            case "drive":
                await pi.data("prompt", message="/pisessiond drive")
                bridge = await daemon.attached(len(daemon.bridges))
            case _:
                foreign = {"type": "custom", "customType": "x", "id": "foreign1", "parentId": None}
                with Path(file).open("a") as writer:
                    line = foreign | {"timestamp": "2026-01-01T00:00:00.000Z"}
                    writer.write(json.dumps(line) + "\n")
                await bridge.done("pi/reread")
        await bridge.until(lambda: bridge.gen == 2, "the bridge")
        assert await pi.leaf() == answer
        assert await pi.close() == 0
    last = lines_of(file)[-1]
    assert (last.get("customType"), last["parentId"]) == ("pisessiond.leaf", answer)


def branch(entries: dict[str, dict[str, object]], leaf: str) -> list[str]:
    found = []
    at: object = leaf
    while isinstance(at, str):
        found.append(at)
        at = entries[at]["parentId"]
    return found


async def test_nothing_is_written_where_pi_would_open_there_anyway(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        answer = await first_answer(pi, bridge)
        await bridge.done("pi/navigate", target=answer)
        await pi.turn("Gone on.")
        before = lines_of(bridge.session["file"])
        assert await pi.close() == 0
    assert lines_of(bridge.session["file"]) == before


GO = """
export default (pi) => {
  pi.registerCommand('go', {
    handler: async (args, ctx) => {
      const [target, summarize] = args.split(' ');
      await ctx.navigateTree(target, { summarize: summarize === 'yes' });
    },
  });
};
"""


@pytest.mark.parametrize(("when", "lines"), [("", 0), ("always", 1)])
async def test_who_moves_in_pi_alone_is_used_to_its_way(
    home: PiHome, daemon: ScriptedDaemon, when: str, lines: int
) -> None:
    go = home.folder / "go.js"
    go.write_text(GO)
    async with pi_rpc(home, "-e", str(go), variables={"PISESSIOND_BRIDGE_PLACE": when}) as pi:
        bridge = await daemon.attached()
        answer = await first_answer(pi, bridge)
        await pi.data("prompt", message=f"/go {answer}")
        await bridge.until(lambda: bridge.leaf == answer, "the move")
        before = lines_of(bridge.session["file"])
        assert await pi.close() == 0
    assert len(lines_of(bridge.session["file"])) == len(before) + lines


async def test_what_another_program_appended_keeps_its_place(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        answer = await first_answer(pi, bridge)
        await bridge.done("pi/navigate", target=answer)
        file = Path(bridge.session["file"])
        foreign = {"type": "custom", "customType": "x", "id": "foreign1", "parentId": answer}
        with file.open("a") as writer:
            writer.write(json.dumps(foreign | {"timestamp": "2026-01-01T00:00:00.000Z"}) + "\n")
        assert await pi.close() == 0
    assert lines_of(str(file))[-1]["id"] == "foreign1"


async def test_pi_goes_where_the_clients_had_left_the_leaf(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_rpc(home, bridge=False) as pi:
        await pi.turn("First question.")
        answer = str((await pi.entries())[-1]["id"])
        await pi.turn("Second question.")
        file = (await pi.data("get_state"))["sessionFile"]
    daemon.more = lambda params: {"position": answer}
    async with pi_rpc(home, "--session", file) as pi:
        bridge = await daemon.attached()
        await bridge.until(lambda: bridge.leaf == answer, "the place")
        assert await pi.leaf() == answer


async def test_the_user_s_own_moves_and_compactions_take_a_summary_of_ours(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    go = home.folder / "go.js"
    go.write_text(GO)
    async with pi_rpc(home, "-e", str(go)) as pi:
        bridge = await daemon.attached()
        answer = await first_answer(pi, bridge)
        asked: list[tuple[str, dict[str, object]]] = []

        def word(method: str, params: dict[str, object]) -> dict[str, object]:
            asked.append((method, params))
            return {"summary": "By a client.", "details": {"readFiles": []}}

        bridge.words = word
        await pi.data("prompt", message=f"/go {answer} yes")
        await bridge.until(lambda: bridge.entries[bridge.leaf]["type"] == "branch_summary", "it")
        assert (await pi.entries())[-1]["summary"] == "By a client."
        method, params = asked[0]
        assert (method, params["target"], params["summarize"]) == ("pi/willNavigate", answer, True)
        await pi.turn("[big:4]")
        await pi.turn("[big:4] Again.")
        answered = await pi.ask("compact")
        assert answered["data"]["summary"] == "By a client."
        assert asked[1][0] == "pi/willCompact"
        bridge.words = lambda method, params: {"cancel": True}
        leaf = await pi.leaf()
        await pi.data("prompt", message=f"/go {answer} yes")
        await bridge.until(lambda: len(bridge.all_of("pi/willNavigate")) == 2, "the question")
        assert await pi.leaf() == leaf
        assert pi.faults() == []


async def test_a_daemon_that_says_nothing_delays_one_move_only(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    go = home.folder / "go.js"
    go.write_text(GO)
    async with pi_rpc(home, "-e", str(go)) as pi:
        bridge = await daemon.attached()
        answer = await first_answer(pi, bridge)
        bridge.words = lambda method, params: None
        await pi.data("prompt", message=f"/go {answer}")
        await bridge.until(lambda: bridge.leaf == answer, "the move")
        await pi.data("prompt", message=f"/go {bridge.ids[-1]}")
        await bridge.until(lambda: bridge.leaf == bridge.ids[-1], "the other move")
        assert len(bridge.all_of("pi/willNavigate")) == 1
