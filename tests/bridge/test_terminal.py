"""A pi in a terminal, with its user at it: what is drawn, what is kept, who is asked."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.bridge.home import PiHome
from tests.bridge.model import MarkedModel
from tests.bridge.running import PiTui, pi_tui
from tests.bridge.scripted_daemon import Bridge, ScriptedDaemon

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

DRAFT = "half a thought"
NO, YES = ("j", "\r"), ("j", "j", "\r")
"""What is pressed at the question whether a client may prompt."""


class Terminal:
    """A pi with two turns that its user typed."""

    def __init__(self, pi: PiTui, bridge: Bridge, model: MarkedModel) -> None:
        self.pi = pi
        self.bridge = bridge
        self.model = model
        self.users: list[str] = []
        self.answers: list[str] = []

    async def begin(self) -> None:
        for text in ("First question.", "Second question."):
            await self.turn(text)
        entries = self.bridge.entries.values()
        self.users = [one["id"] for one in entries if one.get("role") == "user"]
        self.answers = [one["id"] for one in entries if one.get("role") == "assistant"]

    async def turn(self, text: str) -> None:
        asked = len(self.model.prompts)
        await self.pi.enters(text)
        await self.bridge.until(lambda: len(self.model.prompts) > asked, text)
        await self.bridge.until(lambda: self.bridge.state.get("idle"), "the end of the run")
        await self.pi.shows(f"An answer to: {text}")

    async def sends_draft(self) -> None:
        """The draft is still there: a return sends it."""
        asked = len(self.model.prompts)
        await self.pi.types("\r")
        await self.bridge.until(lambda: len(self.model.prompts) > asked, "the draft")
        assert self.model.prompts[-1] == DRAFT
        await self.bridge.until(lambda: self.bridge.state.get("idle"), "the end of the run")


@pytest.fixture
async def terminal(
    home: PiHome, daemon: ScriptedDaemon, model: MarkedModel
) -> AsyncIterator[Terminal]:
    async with pi_tui(home) as pi:
        made = Terminal(pi, await daemon.attached(), model)
        await made.begin()
        yield made
        assert pi.is_alive, pi.seen[-3000:]
        assert "Extension" not in pi.seen, pi.seen[-3000:]


async def says(pi: PiTui, keys: tuple[str, ...]) -> None:
    for key in keys:
        await pi.types(key)


async def test_a_move_is_drawn_and_named_and_keeps_the_draft(terminal: Terminal) -> None:
    pi, bridge = terminal.pi, terminal.bridge
    await pi.types(DRAFT)
    since = len(pi.seen)
    await bridge.done("pi/navigate", target=terminal.answers[0])
    await pi.shows("Navigated to selected point", since)
    await pi.shows("moved by Tester", since)
    await terminal.sends_draft()
    assert bridge.entries[bridge.ids[-2]]["parentId"] == terminal.answers[0]


@pytest.mark.parametrize("method", ["fork", "clone", "reread"])
async def test_another_session_keeps_the_draft(terminal: Terminal, method: str) -> None:
    bridge = terminal.bridge
    await terminal.pi.types(DRAFT)
    if method == "reread":
        answer = await bridge.done("pi/reread")
    else:
        where: dict[str, Any] = {
            "fork": {"entry": terminal.users[1], "position": "before"},
            "clone": {"entry": terminal.answers[1], "position": "at"},
        }[method]
        answer = await bridge.done("pi/fork", **where)
    await bridge.until(lambda: bridge.gen == 2, "the other session")
    assert answer["file"] == bridge.session["file"]
    await terminal.sends_draft()


async def test_what_would_end_pi_is_refused(terminal: Terminal, home: PiHome) -> None:
    bridge = terminal.bridge
    odd = home.sessions / "odd.jsonl"
    odd.write_text("no session\n")
    assert await bridge.refused("pi/switch", file=str(odd)) == "NotASession"
    assert await bridge.refused("pi/switch", file=str(odd) + "x") == "SessionNotFound"
    assert await bridge.refused("pi/fork", entry="none", position="at") == "EntryNotFound"
    wrong = {"entry": terminal.answers[0], "position": "before"}
    assert await bridge.refused("pi/fork", **wrong) == "InvalidParams"
    await terminal.turn("Still here.")


async def test_of_moves_at_once_the_newest_wins(terminal: Terminal) -> None:
    bridge = terminal.bridge
    targets = [terminal.answers[0], terminal.answers[1], terminal.users[0], terminal.answers[0]]
    asked = [bridge.begin("pi/navigate", target=target) for target in targets]
    answers = [await one for one in asked]
    kinds = [one.get("refused") for one in answers]
    assert kinds == [None, "Cancelled", "Cancelled", None]
    assert answers[-1]["leaf"] == terminal.answers[0]


async def test_a_client_prompts_once_the_user_has_said_yes(
    terminal: Terminal, home: PiHome, daemon: ScriptedDaemon
) -> None:
    pi, bridge, model = terminal.pi, terminal.bridge, terminal.model
    asked = len(model.prompts)
    waits = bridge.begin("pi/prompt", text="From outside.", client="Code\x1b[31m")
    await pi.shows("May Code")
    await bridge.until(lambda: bridge.state.get("waitingForUser"), "the question")
    assert len(model.prompts) == asked
    await says(pi, YES)
    assert "refused" not in await waits
    await bridge.until(lambda: model.prompts[-1] == "From outside.", "the prompt")
    await bridge.idle()
    kept = home.state / "prompting.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert list(json.loads(kept.read_text())["clients"]) == ["Code [31m"]
    # Another window of the same editor need not ask; another program asks for itself.
    again = {"client": "Code\x1b[31m", "clientId": "another window"}
    await bridge.done("pi/prompt", text="From outside, too.", **again)
    await bridge.idle()
    asked += 1
    # It may take that back, and then nobody has said no.
    gone = bridge.begin("pi/prompt", "pd:gone", text="Me, too.")
    await pi.shows("May Tester")
    bridge.send({"method": "$/cancelRequest", "params": {"id": "pd:gone"}})
    assert (await gone)["refused"] == "Cancelled"
    await bridge.until(lambda: not bridge.state.get("waitingForUser"), "the end of the question")
    said = {"type": "custom_message", "customType": "t", "content": "Words.", "display": True}
    answer = await bridge.ask("pi/append", entries=[said], client="constructor")
    assert (answer["refused"], answer["needs"]) == ("Unsupported", "the user's yes in pi")
    await bridge.until(lambda: bridge.state.get("waitingForUser"), "the question")
    await says(pi, NO)
    await bridge.until(lambda: not bridge.state.get("waitingForUser"), "the answer")
    answer = await bridge.ask("pi/prompt", text="Me, too.", client="constructor")
    assert "said no" in answer["message"]
    await pi.enters("/pisessiond forget")
    await pi.shows("No client may send prompts any more")
    assert json.loads(kept.read_text()) == {"clients": {}}
    assert model.prompts[asked:] == ["From outside, too."]


@pytest.mark.parametrize("key", ["\r", "\x1b"])
async def test_who_types_when_the_question_comes_has_not_answered_it(
    terminal: Terminal, home: PiHome, key: str
) -> None:
    pi, bridge, model = terminal.pi, terminal.bridge, terminal.model
    asked = len(model.prompts)
    await pi.types(DRAFT)
    waits = bridge.begin("pi/prompt", text="From outside.")
    await bridge.until(lambda: bridge.state.get("waitingForUser"), "the question")
    for sign in " more":
        await pi.types(sign)
    await pi.types(key)
    answer = await waits
    assert (answer["refused"], answer["needs"]) == ("Unsupported", "the user's yes in pi")
    assert not (home.state / "prompting.json").exists()
    assert len(model.prompts) == asked
    # Nor was it a no: the next prompt is asked for.
    waits = bridge.begin("pi/prompt", text="From outside.")
    await bridge.until(lambda: bridge.state.get("waitingForUser"), "the question")
    await says(pi, YES)
    assert "refused" not in await waits


async def test_a_yes_that_cannot_be_kept_counts_all_the_same(
    terminal: Terminal, home: PiHome
) -> None:
    pi, bridge, model = terminal.pi, terminal.bridge, terminal.model
    # Nothing can be put in its place, as on a full disk.
    (home.state / "prompting.json" / "in the way").mkdir(parents=True)
    waits = bridge.begin("pi/prompt", text="From outside.")
    await pi.shows("May Tester")
    await bridge.until(lambda: bridge.state.get("waitingForUser"), "the question")
    await says(pi, YES)
    assert "refused" not in await waits
    await bridge.until(lambda: model.prompts[-1] == "From outside.", "the prompt")


async def test_a_prompt_whose_client_has_gone_is_not_sent(
    terminal: Terminal, daemon: ScriptedDaemon
) -> None:
    pi, bridge, model = terminal.pi, terminal.bridge, terminal.model
    asked = len(model.prompts)
    waits = bridge.begin("pi/prompt", text="From outside.")
    await pi.shows("May Tester")
    bridge.writer.close()
    again = await daemon.attached(2)
    await again.until(lambda: not again.state["waitingForUser"], "the end of the question")
    await pi.types("\r")
    await pi.enters("Mine.")
    await pi.shows("An answer to: Mine.")
    assert model.prompts[asked:] == ["Mine."]
    assert not waits.done()


async def test_a_question_stands_while_another_window_waits_for_it(terminal: Terminal) -> None:
    pi, bridge, model = terminal.pi, terminal.bridge, terminal.model
    asked = len(model.prompts)
    first = bridge.begin("pi/prompt", "pd:first", text="Taken back.", clientId="one window")
    await pi.shows("May Tester")
    await bridge.until(lambda: bridge.state.get("waitingForUser"), "the question")
    second = bridge.begin("pi/prompt", text="From outside.", clientId="another window")
    await bridge.done("pi/snapshot")
    bridge.send({"method": "$/cancelRequest", "params": {"id": "pd:first"}})
    assert (await first)["refused"] == "Cancelled"
    assert bridge.state["waitingForUser"]
    await says(pi, YES)
    assert "refused" not in await second
    await bridge.until(lambda: model.prompts[asked:] == ["From outside."], "the prompt")


async def test_the_user_stops_a_summary_that_a_client_began(terminal: Terminal) -> None:
    pi, bridge = terminal.pi, terminal.bridge
    slow = "[slowsum:20000]"
    asked = bridge.begin(
        "pi/navigate", target=terminal.answers[0], summarize=True, instructions=slow
    )
    await pi.shows("summarising for Tester, /pisessiond stop ends it")
    await pi.enters("/pisessiond stop")
    assert (await asked)["refused"] == "Cancelled"
    assert bridge.leaf == terminal.answers[1]
    await terminal.turn("Go on.")


async def test_the_user_decides_how_far_it_goes(terminal: Terminal, daemon: ScriptedDaemon) -> None:
    pi, bridge = terminal.pi, terminal.bridge
    await pi.enters("/pisessiond")
    await pi.shows("this pi writes the session")
    await pi.enters("/pisessiond watch")
    watching = await daemon.attached(2)
    assert bridge.all_of("pi/detached")[-1]["reason"] == "off"
    assert watching.about["pi"]["drive"] is False
    assert "/pisessiond drive" in watching.about["pi"]["why"]
    assert await watching.refused("pi/navigate", target=terminal.answers[0]) == "ReadOnly"
    await watching.done("pi/snapshot")
    await pi.enters("/pisessiond off")
    await watching.until(lambda: watching.is_gone, "the end of the connection")
    await pi.enters("Alone.")
    await pi.shows("An answer to: Alone.")
    await pi.enters("/pisessiond drive")
    driven = await daemon.attached(3)
    assert driven.about["pi"]["drive"] is True
    await driven.done("pi/navigate", target=terminal.answers[0])


async def test_what_the_user_does_is_heard(terminal: Terminal) -> None:
    pi, bridge = terminal.pi, terminal.bridge
    await pi.enters("/name My talk")
    await bridge.until(lambda: bridge.state.get("name") == "My talk", "the name")
    await pi.enters("!echo from the shell")
    await bridge.until(lambda: bridge.entries[bridge.ids[-1]].get("role") == "bashExecution", "it")
    await pi.enters("/reload")
    await bridge.until(lambda: bridge.gen == 2, "the reload")
    assert bridge.all_of("pi/attach")[-1]["reason"] == "reload"
    await pi.enters("/new")
    await bridge.until(lambda: bridge.gen == 3, "the new session")
    await terminal.turn("In the new one.")
    await bridge.done("pi/navigate", target=bridge.ids[-2])
    # What stood around the session before the reload is gone: nothing is told twice.
    assert len(bridge.ids) == len(set(bridge.ids)) == bridge.count
