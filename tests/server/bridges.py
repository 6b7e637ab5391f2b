"""A scripted pi that speaks the true format over a real socket."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc

from pisessiond.protocol.methods import ASKED, METHODS
from pisessiond.protocol.pi_models import PiAnswer, PiAttachParams
from pisessiond.server.framing import FrameDecoder
from tests.server.support import Client, Running
from tests.support.scripted_pi import ScriptedPi

ALL = tuple(name for name in ASKED if name.startswith("pi/"))


class WireBridge:
    """The connection of one scripted pi: answers what it is asked as it comes."""

    def __init__(self, client: Client, pi: ScriptedPi, tasks: anyio.abc.TaskGroup) -> None:
        self.client = client
        self.pi = pi
        self.cancelled: list[Any] = []
        self._answers: dict[Any, dict[str, Any]] = {}
        self._came = anyio.Event()
        self._ids = iter(range(1, 1_000_000))
        pi.tell = self._tell
        tasks.start_soon(self._serve)

    async def _serve(self) -> None:
        async for body in self._messages():
            if "method" not in body:
                self._answers[body["id"]] = body
                self._came.set()
                self._came = anyio.Event()
            elif body["method"] == "$/cancelRequest":
                self.cancelled.append(body["params"]["id"])
            elif not self.pi.is_dumb:
                await self._answer(body)

    async def _messages(self) -> AsyncIterator[dict[str, Any]]:
        """All that comes, however long that takes."""
        decoder = FrameDecoder()
        while data := await self.client.reader.read(65_536):
            decoder.feed(data)
            while (body := decoder.next_body()) is not None:
                yield json.loads(body)

    async def _answer(self, asked: dict[str, Any]) -> None:
        model = ASKED[asked["method"]].params
        given = model.model_validate(asked["params"], by_alias=True, by_name=False)
        answer = await self.pi.answer(asked["method"], given.model_dump(exclude_unset=True))
        wire = PiAnswer.model_validate(answer).model_dump(by_alias=True, exclude_unset=True)
        self.client.send(id=asked["id"], result=wire)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._ids)
        self.client.send(id=number, method=method, params=params)
        with anyio.fail_after(5):
            while number not in self._answers:
                await self._came.wait()
        return self._answers.pop(number)

    async def attach(self, reason: str = "startup") -> dict[str, Any]:
        given = PiAttachParams.model_validate(self.pi.attach(reason))
        wire = given.model_dump(by_alias=True, exclude_unset=True)
        answer = await self.ask("pi/attach", wire)
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    async def _tell(self, method: str, params: dict[str, Any]) -> None:
        model = METHODS[method].params.model_validate(params)
        wire = model.model_dump(by_alias=True, exclude_unset=True)
        self.client.send(method=method, params=wire)


def process(pi: ScriptedPi, **members: Any) -> dict[str, Any]:
    """What its bridge says of its process in `initialize`."""
    return {
        "pid": pi.pid, "started": 1_000, "mode": "tui", "hasUi": True, "version": "1.6.0",
        "drive": True, **members,
    }  # fmt: skip


@asynccontextmanager
async def bridge(daemon: Running, pi: ScriptedPi, **members: Any) -> AsyncIterator[WireBridge]:
    """A pi that is connected and has said nothing yet; its process is the test's own."""
    pi.pid = os.getpid()
    async with daemon.fresh() as client, anyio.create_task_group() as tasks:
        await client.initialize("pi", pi=process(pi, **members), requests=list(ALL))
        yield WireBridge(client, pi, tasks)
        tasks.cancel_scope.cancel()
