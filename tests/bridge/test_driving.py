"""A pi that is idle, moved and marked from outside: what it does, and what it refuses."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.home import PiHome
from tests.bridge.model import MarkedModel, texts_of
from tests.bridge.running import PATIENCE, PiRpc, pi_rpc
from tests.bridge.scripted_daemon import Bridge, ScriptedDaemon

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


class Room:
    """A pi with two turns, and its bridge."""

    def __init__(self, pi: PiRpc, bridge: Bridge, model: MarkedModel) -> None:
        self.pi = pi
        self.bridge = bridge
        self.model = model
        self.users: list[str] = []
        self.answers: list[str] = []

    async def begin(self) -> None:
        for text in ("First question.", "Second question."):
            await self.pi.turn(text)
        await self.bridge.idle()
        for entry in await self.pi.entries():
            if entry["type"] == "message" and entry["message"]["role"] == "user":
                self.users.append(entry["id"])
            elif entry["type"] == "message" and entry["message"]["role"] == "assistant":
                self.answers.append(entry["id"])

    async def agrees(self) -> None:
        """Mirror, pi and file are the same, and no extension failed."""
        entries = [entry["id"] for entry in await self.pi.entries()]
        leaf = await self.pi.leaf()
        bridge = self.bridge
        await bridge.until(lambda: (bridge.ids, bridge.leaf) == (entries, leaf), "the mirror")
        lines = Path(bridge.session["file"]).read_text("utf-8").splitlines()
        assert [json.loads(line)["id"] for line in lines[1:]] == entries
        assert self.pi.faults() == []


@pytest.fixture
async def room(home: PiHome, daemon: ScriptedDaemon, model: MarkedModel) -> AsyncIterator[Room]:
    async with pi_rpc(home) as pi:
        made = Room(pi, await daemon.attached(), model)
        await made.begin()
        yield made
        await made.agrees()


async def test_a_move_takes_the_leaf_along(room: Room) -> None:
    answer = await room.bridge.done("pi/navigate", target=room.answers[0])
    assert answer["leaf"] == room.answers[0] == await room.pi.leaf()
    await room.pi.turn("Another way.")
    assert room.model.prompts == ["First question.", "Second question.", "Another way."]
    assert room.bridge.entries[room.bridge.ids[-2]]["parentId"] == room.answers[0]


async def test_a_question_as_target_gives_its_text_and_the_place_before_it(room: Room) -> None:
    answer = await room.bridge.done("pi/navigate", target=room.users[1])
    assert (answer["leaf"], answer["editorText"]) == (room.answers[0], "Second question.")
    answer = await room.bridge.done("pi/navigate", target=room.users[0])
    entry = (await room.pi.entries())[room.bridge.ids.index(room.users[0])]
    assert (answer["leaf"], answer["editorText"]) == (entry["parentId"], "First question.")


async def test_a_move_to_where_pi_stands_and_to_nowhere(room: Room) -> None:
    answer = await room.bridge.done("pi/navigate", target=room.answers[1], label="here")
    assert answer["ids"] == [(await room.pi.entries())[-1]["id"]]
    before = await room.pi.leaf()
    assert await room.bridge.refused("pi/navigate", target="missing") == "EntryNotFound"
    assert await room.pi.leaf() == before


async def test_a_base_that_is_no_longer_the_leaf_is_refused(room: Room) -> None:
    bridge = room.bridge
    wrong = await bridge.ask("pi/navigate", target=room.answers[0], baseLeaf=room.users[0])
    assert (wrong["refused"], wrong["leaf"]) == ("LeafMoved", room.answers[1])
    assert await bridge.refused("pi/label", target=room.answers[0], label="x", baseLeaf=None)
    # What does not count for the model does not count here either.
    await bridge.done("pi/label", target=room.answers[0], label="good")
    await bridge.done(
        "pi/append", entries=[{"type": "custom", "customType": "t", "data": {"a": 1}}]
    )
    await bridge.done("pi/navigate", target=room.answers[0], baseLeaf=room.answers[1])


async def test_a_summary_given_is_stored_and_no_model_asked(room: Room) -> None:
    given = {"summary": "What was left.", "details": {"readFiles": ["a.py"], "modifiedFiles": []}}
    answer = await room.bridge.done(
        "pi/navigate", target=room.answers[0], summarize=True, label="left", **given
    )
    entries = {entry["id"]: entry for entry in await room.pi.entries()}
    summary, label = (entries[one] for one in answer["ids"])
    assert (summary["type"], summary["parentId"]) == ("branch_summary", room.answers[0])
    assert (summary["summary"], summary["details"]) == (given["summary"], given["details"])
    assert summary["fromHook"] is True
    assert (label["type"], label["targetId"]) == ("label", summary["id"])
    assert room.model.summaries == 0


async def test_a_summary_by_pi_itself(room: Room) -> None:
    answer = await room.bridge.done("pi/navigate", target=room.answers[0], summarize=True)
    (summary,) = answer["ids"]
    assert answer["leaf"] == summary
    assert room.model.summaries == 1


async def test_a_summary_that_fails_moves_nothing(room: Room) -> None:
    kind = await room.bridge.refused(
        "pi/navigate", target=room.answers[0], summarize=True, instructions="[failsum]"
    )
    assert kind == "SummaryFailed"
    assert await room.pi.leaf() == room.answers[1]


async def test_a_summary_is_cancelled_by_who_asked(room: Room) -> None:
    bridge = room.bridge
    asked = bridge.begin(
        "pi/navigate",
        "pd:mine",
        target=room.answers[0],
        summarize=True,
        instructions="[slowsum:20000]",
    )
    await bridge.until(lambda: bridge.state.get("operation") == "summary", "the summary")
    assert await bridge.refused("pi/navigate", target=room.answers[0]) == "Busy"
    assert await bridge.refused("pi/prompt", text="Not now.") == "Busy"
    bridge.send({"method": "$/cancelRequest", "params": {"id": "pd:mine"}})
    assert (await asked)["refused"] == "Cancelled"
    assert await room.pi.leaf() == room.answers[1]
    await bridge.idle()
    assert room.model.prompts[-1] == "Second question."


async def test_a_compaction_with_a_summary_given(room: Room) -> None:
    bridge = room.bridge
    # Long enough that pi finds something to cut.
    await room.pi.turn("[big:4]")
    await room.pi.turn("[big:4] Again.")
    await bridge.idle()
    first = next(
        entry["id"]
        for entry in reversed(await room.pi.entries())
        if entry.get("message", {}).get("role") == "user"
    )
    given = {"summary": "All of it.", "firstKept": first, "tokensBefore": 4321}
    answer = await bridge.done("pi/compact", **given, details={"readFiles": []})
    entry = (await room.pi.entries())[-1]
    assert answer == {"leaf": entry["id"], "ids": [entry["id"]]}
    assert (entry["type"], entry["summary"]) == ("compaction", "All of it.")
    assert (entry["firstKeptEntryId"], entry["tokensBefore"]) == (first, 4321)
    assert await bridge.refused("pi/compact", summary="Once more.") == "NothingToCompact"
    assert room.model.summaries == 0
    assert await bridge.refused("pi/compact", summary="x", firstKept="none") == "EntryNotFound"


async def test_a_compaction_by_pi_and_one_that_is_cancelled(room: Room) -> None:
    bridge = room.bridge
    assert await bridge.refused("pi/compact") == "NothingToCompact"
    await room.pi.turn("[big:4]")
    await room.pi.turn("[big:4] Again.")
    await bridge.idle()
    leaf = await room.pi.leaf()
    asked = bridge.begin("pi/compact", "pd:mine", instructions="[slowsum:20000]")
    await bridge.until(lambda: bridge.state.get("operation") == "compaction", "the compaction")
    assert await bridge.refused("pi/navigate", target=room.answers[0]) == "Busy"
    bridge.send({"method": "$/cancelRequest", "params": {"id": "pd:mine"}})
    assert (await asked)["refused"] == "Cancelled"
    assert await room.pi.leaf() == leaf
    await bridge.done("pi/compact")
    assert bridge.entries[bridge.ids[-1]]["type"] == "compaction"


async def test_marks_names_and_entries(room: Room) -> None:
    bridge = room.bridge
    await bridge.done("pi/label", target=room.answers[0], label="good")
    await bridge.done("pi/label", target=room.answers[0], label=None)
    await bridge.done("pi/name", name="A name")
    custom = {"type": "custom", "customType": "mine", "data": {"n": 1}}
    note = {
        "type": "custom_message",
        "customType": "note",
        "content": "Mind this.",
        "display": True,
    }
    answer = await bridge.done("pi/append", entries=[custom, note])
    entries = (await room.pi.entries())[-5:]
    assert [one["type"] for one in entries] == [
        "label",
        "label",
        "session_info",
        "custom",
        "custom_message",
    ]
    assert answer["ids"] == [one["id"] for one in entries[-2:]]
    assert (await room.pi.data("get_state"))["sessionName"] == "A name"
    other = [{"type": "model_change", "provider": "p", "modelId": "m"}]
    assert await bridge.refused("pi/append", entries=other) == "ReadOnly"
    assert await bridge.refused("pi/label", target="none", label="x") == "EntryNotFound"
    await bridge.until(lambda: bridge.state.get("name") == "A name", "the name")
    # The model is sent the note with the next prompt, and no run was begun for it.
    assert len(room.model.prompts) == 2


async def test_an_entry_leaves_the_context_and_comes_back(room: Room) -> None:
    bridge = room.bridge
    await bridge.done("pi/contextEdit", target=room.users[0], replacement=None)
    await room.pi.turn("What is left?")
    said = texts_of(room.model.bodies[-1]["messages"])
    assert said == ["Second question.", "What is left?"]
    await bridge.done(
        "pi/contextEdit", target=room.users[0], replacement={"content": "Instead of it."}
    )
    await room.pi.turn("And now?")
    assert "Instead of it." in str(room.model.bodies[-1]["messages"])
    await bridge.done("pi/navigate", target=room.answers[0])
    away = await bridge.refused("pi/contextEdit", target=room.users[1], replacement=None)
    assert away == "NotOnBranch"


async def test_a_message_of_a_client_is_part_of_what_the_model_is_sent_next(room: Room) -> None:
    said: dict[str, Any] = {"role": "user", "content": "Said by a script.", "timestamp": 1}
    await room.bridge.done("pi/append", entries=[{"type": "message", "message": said}])
    assert len(room.model.prompts) == 2
    await room.pi.turn("Go on.")
    assert "Said by a script." in str(room.model.bodies[-1]["messages"])


async def test_what_was_done_is_done_once(room: Room) -> None:
    bridge = room.bridge
    first = await bridge.done("pi/name", requestId="same", name="Once")
    assert await bridge.done("pi/name", requestId="same", name="Once") == first
    named = [one for one in await room.pi.entries() if one["type"] == "session_info"]
    assert len(named) == 1
    # A refusal is none: the next time may fit.
    assert await bridge.refused("pi/label", requestId="r", target="none", label="x")
    await bridge.done("pi/label", requestId="r", target=room.users[0], label="x")


async def test_a_word_for_another_session_is_refused(room: Room) -> None:
    answer = await room.bridge.ask("pi/navigate", target=room.answers[0], gen=99)
    assert answer["refused"] == "SessionChanged"
    assert answer["session"]["id"] == room.bridge.session["id"]


async def test_a_snapshot_holds_everything(room: Room) -> None:
    answer = await room.bridge.done("pi/snapshot")
    assert answer["entries"] == await room.pi.entries()
    assert answer["state"]["idle"] is True
    assert answer["session"]["count"] == len(answer["entries"])


async def test_prompts_run_and_wait(room: Room) -> None:
    bridge = room.bridge
    answer = await bridge.done("pi/prompt", text="[slow:400] From outside.")
    assert answer["queued"] is False
    assert answer["ids"]
    await bridge.until(lambda: bridge.state.get("operation") == "turn", "the run")
    waits = await bridge.done("pi/prompt", text="After it.", deliverAs="followUp")
    assert waits["queued"] is True
    await bridge.until(lambda: bridge.state.get("pending"), "what waits")
    await bridge.until(lambda: room.model.prompts[-1:] == ["After it."], "the next run")
    await bridge.idle()
    assert room.model.prompts[2:] == ["[slow:400] From outside.", "After it."]
    assert await bridge.refused("pi/prompt", text=" ") == "InvalidParams"


async def test_prompts_that_come_at_once_all_reach_the_model(room: Room) -> None:
    bridge = room.bridge
    texts = ["One.", "Two.", "Three."]

    asked = [bridge.begin("pi/prompt", text=text) for text in texts]
    answers = await asyncio.wait_for(asyncio.gather(*asked), PATIENCE)

    assert [answer.get("refused") for answer in answers] == [None] * 3, answers
    await bridge.until(lambda: len(room.model.prompts) == 5, "the last run")
    await bridge.idle()
    assert room.model.prompts[2:] == texts


async def test_a_run_is_stopped(room: Room) -> None:
    bridge = room.bridge
    await room.pi.data("prompt", message="[slow:20000] Too slow.")
    await bridge.until(lambda: bridge.state.get("operation") == "turn", "the run")
    await bridge.done("pi/abort")
    await bridge.idle()
    assert bridge.state["aborted"] is True


async def test_nothing_harms_a_run(room: Room) -> None:
    bridge, pi = room.bridge, room.pi
    await pi.data("prompt", message="[slow:700] Let me finish.")
    await bridge.until(lambda: bridge.state.get("operation") == "turn", "the run")
    other = bridge.session["file"]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("pi/navigate", {"target": room.answers[0]}),
        ("pi/compact", {"summary": "s"}),
        ("pi/fork", {"entry": room.users[1], "position": "before"}),
        ("pi/switch", {"file": other}),
        ("pi/reread", {}),
        ("pi/contextEdit", {"target": room.users[0], "replacement": None}),
    ]
    for method, params in asked:
        answer = await bridge.ask(method, **params)
        assert (answer["refused"], answer["operation"]) == ("Busy", "turn"), method
    await bridge.done("pi/label", target=room.users[0], label="in mid-run")
    await bridge.idle()
    settled = [one for one in pi.events if one["type"] == "agent_settled"]
    assert settled[-1].get("aborted", False) is False
    assert "A slow answer, in time." in str((await pi.entries())[-1])
