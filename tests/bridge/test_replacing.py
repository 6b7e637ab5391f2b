"""pi gets another session, by its user or from outside, over one connection."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.home import PiHome
from tests.bridge.model import MarkedModel
from tests.bridge.running import PiRpc, pi_rpc
from tests.bridge.scripted_daemon import Bridge, ScriptedDaemon
from tests.bridge.test_unhurt import status_of

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


async def two_turns(pi: PiRpc, bridge: Bridge) -> tuple[list[str], list[str]]:
    """Ids of the questions and of the answers."""
    for text in ("First question.", "Second question."):
        await pi.turn(text)
    await bridge.idle()
    messages = [one for one in await pi.entries() if one["type"] == "message"]
    return ids_of(messages, "user"), ids_of(messages, "assistant")


def ids_of(messages: list[dict[str, Any]], role: str) -> list[str]:
    return [one["id"] for one in messages if one["message"]["role"] == role]


async def agrees(pi: PiRpc, bridge: Bridge) -> None:
    entries = [entry["id"] for entry in await pi.entries()]
    leaf = await pi.leaf()
    await bridge.until(lambda: (bridge.count, bridge.leaf) == (len(entries), leaf), "the mirror")
    assert pi.faults() == []


async def test_sessions_come_and_go_over_one_connection(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        users, _ = await two_turns(pi, bridge)
        first = bridge.session["file"]
        await pi.data("new_session")
        await bridge.until(lambda: bridge.gen == 2, "the new session")
        attach = bridge.all_of("pi/attach")[-1]
        assert (attach["reason"], attach["previousFile"]) == ("new", first)
        await pi.turn("In the new one.")
        await agrees(pi, bridge)
        await pi.data("switch_session", sessionPath=first)
        await bridge.until(lambda: bridge.gen == 3, "the first session")
        assert bridge.session["file"] == first
        await pi.data("fork", entryId=users[1])
        await bridge.until(lambda: bridge.gen == 4, "the fork")
        assert bridge.session["parentSession"] == first
        await pi.turn("In the fork.")
        await agrees(pi, bridge)
        reasons = [one["reason"] for one in bridge.all_of("pi/attach")]
        assert reasons == ["startup", "new", "resume", "fork"]
        gone = [(one["gen"], one["reason"]) for one in bridge.all_of("pi/detached")]
        assert gone == [(1, "new"), (2, "resume"), (3, "fork")]
        assert len(daemon.bridges) == 1


async def test_pi_opens_a_file_and_keeps_going(home: PiHome, daemon: ScriptedDaemon) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        await two_turns(pi, bridge)
        other = home.sessions / "other.jsonl"
        header = {"type": "session", "version": 3, "id": "other", "cwd": str(home.project)}
        stamp = "2026-01-01T00:00:00.000Z"
        other.write_text(json.dumps(header | {"timestamp": stamp}) + "\n")
        answer = await bridge.done("pi/switch", file=str(other))
        assert answer["file"] == str(other)
        await bridge.until(lambda: bridge.session["id"] == "other", "the other session")
        await pi.turn("Hello there.")
        await agrees(pi, bridge)


async def test_what_pi_could_not_open_is_refused(home: PiHome, daemon: ScriptedDaemon) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        missing = home.sessions / "none" / "missing.jsonl"
        assert await bridge.refused("pi/switch", file=str(missing)) == "SessionNotFound"
        assert not missing.parent.exists()
        assert await bridge.refused("pi/switch", file="relative.jsonl") == "InvalidParams"
        assert await bridge.refused("pi/switch", file=str(home.project)) == "SessionNotFound"
        odd = home.sessions / "odd.jsonl"
        for text in ("", "no json\n", '{"type": "message"}\n'):
            odd.write_text(text)
            assert await bridge.refused("pi/switch", file=str(odd)) == "NotASession"
        header = {"type": "session", "version": 3, "id": "odd", "timestamp": "t"}
        odd.write_text(json.dumps(header | {"cwd": str(home.folder / "gone")}) + "\n")
        assert await bridge.refused("pi/switch", file=str(odd)) == "Unsupported"
        assert await bridge.refused("pi/reread") == "Unsupported"
        assert await bridge.refused("pi/fork", entry="none", position="at") == "EntryNotFound"
        entry = (await pi.entries())[0]["id"]
        assert await bridge.refused("pi/fork", entry=entry, position="at") == "Unsupported"
        assert await bridge.refused("pi/fork", entry=entry, position="before") == "InvalidParams"
        assert bridge.gen == 1
        await pi.turn("Still here.")


async def test_pi_reads_its_file_anew_and_stands_where_it_stood(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        _, answers = await two_turns(pi, bridge)
        await bridge.done("pi/navigate", target=answers[0])
        foreign = {"type": "custom", "customType": "x", "id": "foreign1", "parentId": answers[1]}
        with Path(bridge.session["file"]).open("a") as file:
            file.write(json.dumps(foreign | {"timestamp": "2026-01-01T00:00:00.000Z"}) + "\n")
        answer = await bridge.done("pi/reread")
        assert answer["leaf"] == answers[0] == await pi.leaf()
        assert [one["id"] for one in await pi.entries()][-1] == "foreign1"
        await agrees(pi, bridge)
        assert bridge.gen == 2


async def test_a_session_in_memory_is_forked_by_pi(home: PiHome, daemon: ScriptedDaemon) -> None:
    async with pi_rpc(home, "--no-session") as pi:
        bridge = await daemon.attached()
        users, answers = await two_turns(pi, bridge)
        answer = await bridge.done("pi/fork", entry=users[1], position="before")
        assert answer["editorText"] == "Second question."
        assert answer["leaf"] == answers[0]
        await bridge.until(lambda: bridge.gen == 2, "the fork")
        await pi.turn("Instead.")
        await agrees(pi, bridge)
        assert list(bridge.entries.values()) == await pi.entries()


async def test_a_file_is_forked_by_pi_at_any_entry(home: PiHome, daemon: ScriptedDaemon) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        _, answers = await two_turns(pi, bridge)
        first = bridge.session["file"]
        answer = await bridge.done("pi/fork", entry=answers[0], position="at")
        assert answer["file"] != first
        await bridge.until(lambda: bridge.gen == 2, "the fork")
        assert (await pi.entries())[-1]["id"] == answers[0]
        await pi.turn("In the fork.")
        await agrees(pi, bridge)


async def test_what_was_asked_before_is_known_after_a_replacement(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        _, answers = await two_turns(pi, bridge)
        asked = {"requestId": "fork", "entry": answers[0], "position": "at", "gen": 1}
        first = await bridge.done("pi/fork", **asked)
        assert await bridge.done("pi/fork", **asked) == first
        assert bridge.gen == 2


async def test_a_daemon_that_comes_again_is_told_everything(
    home: PiHome, daemon: ScriptedDaemon, model: MarkedModel
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        await pi.turn("Heard.")
        bridge.writer.close()
        again = await daemon.attached(2)
        assert again.all_of("pi/attach")[-1]["reason"] == "reconnect"
        assert again.about["client"]["id"] == bridge.about["client"]["id"]
        await pi.turn("Heard again.")
        await agrees(pi, again)
    assert model.prompts == ["Heard.", "Heard again."]


async def test_an_answer_goes_to_the_daemon_that_asked(
    home: PiHome, daemon: ScriptedDaemon
) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        await pi.turn("[big:4]")
        await pi.turn("[big:4] Again.")
        await bridge.idle()
        bridge.begin("pi/compact", "pd:7", instructions="[slowsum:1000]")
        await bridge.until(lambda: bridge.state.get("operation") == "compaction", "the compaction")
        bridge.writer.close()
        again = await daemon.attached(2)
        await again.until(lambda: again.state.get("idle"), "the end of the compaction")
        # Every daemon counts from one. This would be taken for the answer to a question of its own.
        await again.done("pi/snapshot")
        assert not again.is_gone
        assert bridge.session["file"] == again.session["file"]
        assert (await pi.entries())[-1]["type"] == "compaction"


async def test_what_was_shown_goes_with_its_session(home: PiHome, daemon: ScriptedDaemon) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        await pi.turn("Something.")
        await bridge.done("pi/label", target=(await pi.entries())[-1]["id"], label="x")
        assert shown(pi) == ["labelled by Tester"]
        # pi throws at a timer that asks a session which has ended, and five faults end the bridge.
        await pi.data("new_session")
        assert shown(pi) == ["labelled by Tester", None]


async def test_a_compaction_ends_with_its_session(home: PiHome, daemon: ScriptedDaemon) -> None:
    async with pi_rpc(home) as pi:
        bridge = await daemon.attached()
        await pi.turn("[big:4]")
        await pi.turn("[big:4] Again.")
        await bridge.idle()
        asked = bridge.begin("pi/compact", instructions="[slowsum:20000]")
        await bridge.until(lambda: bridge.state.get("operation") == "compaction", "the compaction")
        await pi.data("new_session")
        assert (await asked)["refused"] == "Cancelled"
        await bridge.until(lambda: bridge.gen == 2, "the new session")
        assert shown(pi)[-1] is None
        assert "faults" not in await status_of(pi)


def shown(pi: PiRpc) -> list[str | None]:
    """What stood in pi's status line, one after the other."""
    lines = [one for one in pi.events if one.get("method") == "setStatus"]
    return [one.get("statusText") for one in lines if one["statusKey"] == "pisessiond"]
