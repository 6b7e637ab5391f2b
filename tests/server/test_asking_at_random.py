"""Random mixtures of requests, cancellations, questions and answers: nothing lost or reordered."""

from __future__ import annotations

import random
from typing import Any

import anyio
import pytest

from pisessiond.server import held, requests
from pisessiond.service.subscribers import Absent
from tests.server.fake_service import Gate
from tests.server.support import PATIENCE, Client, Running

pytestmark = pytest.mark.anyio

PARAMS = {
    "session": "s",
    "operation_id": "op",
    "kind": "history",
    "system": "",
    "prompt": "",
    "max_tokens": 1,
}


class Mixture:
    """One client's side of it, and what the daemon's side heard."""

    def __init__(self, daemon: Running, client: Client, seed: int) -> None:
        self.random = random.Random(seed)
        self.daemon = daemon
        self.client = client
        self.sent: list[str] = []
        self.open_questions: list[str] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.refused_without_id = 0
        self.broken = 0
        self.heard: list[str] = []
        """What came of the daemon's questions, one each."""
        self.asked = 0

    async def ask(self) -> None:
        try:
            answer = await self.daemon.connections[0].ask("session/summarize", PARAMS, 60)
            self.heard.append(answer["summary"])
        except Absent:
            self.heard.append("absent")

    def send_something(self) -> None:
        match self.random.randrange(8):
            case 0 if self.sent:
                cancelled = {"id": self.random.choice(self.sent[-4:])}
                self.client.send(method="$/cancelRequest", params=cancelled)
            case 1:
                self.client.send_body(b"no JSON")
                self.broken += 1
            case 2 if self.open_questions:
                place = self.random.randrange(len(self.open_questions))
                asked = self.open_questions.pop(place)
                self.client.send(id=asked, result={"summary": asked})
            case _:
                name = f"e{len(self.sent)}"
                self.sent.append(name)
                params = {"session": "s", "entry": {"id": name, "text": "x" * 50}}
                self.client.send(id=name, method="session/append", params=params)

    async def take_one(self) -> None:
        message = await self.client.receive()
        if message.get("method") == "session/summarize":
            self.open_questions.append(message["id"])
        elif message.get("method") == "$/cancelRequest":
            if message["params"]["id"] in self.open_questions:
                self.open_questions.remove(message["params"]["id"])
        elif message["id"] is None:
            self.refused_without_id += 1
        else:
            assert message["id"] not in self.answers
            self.answers[message["id"]] = message

    async def take_all(self) -> None:
        while True:
            with anyio.move_on_after(0.01):
                await self.take_one()
                continue
            return

    @property
    def is_over(self) -> bool:
        return (
            len(self.answers) == len(self.sent)
            and self.refused_without_id == self.broken
            and len(self.heard) == self.asked
        )


@pytest.mark.parametrize("seed", range(25))
async def test_each_request_is_answered_once_and_acts_keep_their_order(
    daemon: Running, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(requests, "MAX_IN_FLIGHT", 3)
    monkeypatch.setattr(held, "HELD_BYTES", 3_000)
    session = daemon.session()
    async with (
        daemon.client(requests=["session/summarize"]) as client,
        anyio.create_task_group() as tasks,
    ):
        mixture = Mixture(daemon, client, seed)
        for _ in range(12):
            gate = session.before_commit = Gate()
            for _ in range(mixture.random.randrange(12)):
                if mixture.random.random() < 0.2:
                    mixture.asked += 1
                    tasks.start_soon(mixture.ask)
                mixture.send_something()
            await mixture.take_all()
            session.before_commit = None
            gate.open.set()
        with anyio.fail_after(PATIENCE):
            while not mixture.is_over:
                for question in mixture.open_questions:
                    client.send(id=question, result={"summary": question})
                mixture.open_questions.clear()
                await mixture.take_all()
        client.unread.clear()
    done = [name for name in mixture.sent if "result" in mixture.answers[name]]
    assert list(session.lines) == done
    refused = {one["error"]["code"] for one in mixture.answers.values() if "error" in one}
    assert refused <= {-32800}
    said = [one for one in mixture.heard if one != "absent"]
    assert len(said) == len(set(said))
