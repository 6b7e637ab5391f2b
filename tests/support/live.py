"""Scripted pi attached to a session service, without sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import anyio
import anyio.abc

from pisessiond.service.live.pi import Mode, PiProcess, PiSession, PiState, RunningPi, Silent
from pisessiond.service.live.words import Attach, Attached, PiChange, Reason
from pisessiond.service.open_session import OpenSession
from tests.support.scripted_pi import Answer, ScriptedPi
from tests.support.service import House


class Attachment:
    """The connection of one scripted pi."""

    def __init__(
        self, house: House, pi: ScriptedPi, tasks: anyio.abc.TaskGroup, process: PiProcess
    ) -> None:
        self.pi = pi
        self.house = house
        self.is_gone = False
        self.process = process
        self._tasks = tasks
        self._heard = anyio.Event()
        self.running: RunningPi = house.sessions.live.came(process, f"client-of-{pi.pid}", self)
        pi.tell = self._tell

    @property
    def held(self) -> OpenSession:
        assert self.running.held is not None
        return self.running.held

    def offers(self, method: str) -> bool:
        del method
        return True

    async def drive(self, method: str, params: dict[str, Any], seconds: float) -> Answer:
        if self.pi.is_dumb:
            await anyio.sleep(seconds)
            raise Silent(is_gone=self.is_gone)
        return await self.pi.answer(method, params)

    async def attach(self, reason: Reason = "startup") -> Attached:
        given = self.pi.attach(reason)
        return await self.house.sessions.live.attach(
            self.running,
            Attach(
                given["gen"],
                reason,
                PiSession(**given["session"]),
                PiState(**given["state"]),
                given.get("entries"),
            ),
        )

    async def _tell(self, method: str, params: dict[str, Any]) -> None:
        # As from a socket: whoever tells goes on at once.
        live = self.house.sessions.live
        if method == "pi/didChange":
            self._tasks.start_soon(live.changed, self.running, PiChange(**params))
        else:
            state = PiState(idle=params["idle"], operation=params["operation"])
            self._tasks.start_soon(live.state, self.running, params["gen"], state)

    async def detach(self, reason: str = "quit", target: str | None = None) -> None:
        await self.house.sessions.live.detached(self.running, self.pi.gen, reason, target)

    def cut(self) -> None:
        """The connection ends without a word."""
        self.is_gone = True
        self.house.sessions.live.gone(self.running)


class Terminals:
    """Where pi are started."""

    def __init__(self, house: House, tasks: anyio.abc.TaskGroup) -> None:
        self.house = house
        self.tasks = tasks

    async def start(self, pi: ScriptedPi, mode: Mode = "tui", *, drives: bool = True) -> Attachment:
        """A pi that has its session open, attached."""
        attachment = self.connect(pi, mode, drives=drives)
        await attachment.attach()
        return attachment

    def connect(self, pi: ScriptedPi, mode: Mode = "tui", *, drives: bool = True) -> Attachment:
        """A pi that has said nothing yet."""
        why = None if drives else "it lets itself be watched only."
        process = PiProcess(pi.pid, 1_000.0, mode, mode == "tui", False, "1.6.0", drives, why)
        return Attachment(self.house, pi, self.tasks, process)

    def survivors(self, *pids: int) -> None:
        """Say which processes live on when their connection ends."""
        surroundings = self.house.sessions.live._surroundings
        running = replace(surroundings, is_running=lambda pid, _: pid in pids)
        self.house.sessions.live._surroundings = running


@asynccontextmanager
async def terminals(house: House) -> AsyncIterator[Terminals]:
    async with anyio.create_task_group() as tasks:
        yield Terminals(house, tasks)
        tasks.cancel_scope.cancel()


async def until(condition: Any) -> None:
    """Wait until something is so."""
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.002)


def ids(session: OpenSession) -> list[str]:
    return cast("list[str]", list(session.session.index.ids))
