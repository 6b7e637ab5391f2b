"""A real pi that runs: in RPC mode, in a terminal, or once."""

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import termios
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tests.bridge.home import PiHome
from tests.support.pi import PI_PACKAGE

Json = dict[str, Any]
PATIENCE: Final = 30.0
"""Seconds after which what a test waits for counts as missing."""

ENDS_WITHIN: Final = 10.0
ESCAPES: Final = re.compile(
    r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_].*?\x1b\\|\x1b."
)


class Process:
    """What all of them have in common: a process that is gone at the end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.news = asyncio.Event()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None

    async def until(self, is_so: Callable[[], Any], what: str = "it") -> Any:
        """Wait until something is so, looking whenever pi says something, and now and then."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not (found := is_so()):
            assert asyncio.get_running_loop().time() < deadline, f"{what} never came"
            self.news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), 0.02)
        return found

    async def ended(self) -> int:
        """Wait for the end; the exit status."""
        return await asyncio.wait_for(self.process.wait(), ENDS_WITHIN)

    async def end(self) -> None:
        if self.is_alive:
            self.process.send_signal(signal.SIGTERM)
            try:
                await self.ended()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()


class PiRpc(Process):
    """`pi --mode rpc`, with what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__(process)
        self.events: list[Json] = []
        """All lines that are no answers."""
        self._answers: dict[str, asyncio.Future[Json]] = {}
        self._number = 0
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            said = json.loads(line)
            answer = self._answers.pop(said.get("id"), None)
            if said.get("type") == "response" and answer is not None:
                answer.set_result(said)
            else:
                self.events.append(said)
            self.news.set()

    async def ask(self, command: str, **more: Any) -> Json:
        """The answer to a command, as it came."""
        assert self.process.stdin is not None
        self._number += 1
        number = str(self._number)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        line = json.dumps({"id": number, "type": command, **more})
        self.process.stdin.write(line.encode() + b"\n")
        await self.process.stdin.drain()
        return await asyncio.wait_for(answer, PATIENCE)

    async def data(self, command: str, **more: Any) -> Any:
        answer = await self.ask(command, **more)
        assert answer["success"], answer
        return answer.get("data")

    async def entries(self) -> list[Json]:
        """What pi holds, in the order it came."""
        return list((await self.data("get_entries"))["entries"])

    async def leaf(self) -> str | None:
        leaf: str | None = (await self.data("get_entries"))["leafId"]
        return leaf

    async def turn(self, text: str) -> None:
        """A prompt and its whole run."""
        before = self.settled
        await self.data("prompt", message=text)
        await self.until(lambda: self.settled > before, "the end of the run")

    async def idle(self) -> None:
        """Wait until nothing runs."""
        async with asyncio.timeout(PATIENCE):
            while (await self.data("get_state"))["isStreaming"]:
                await asyncio.sleep(0.02)

    @property
    def settled(self) -> int:
        return sum(one["type"] == "agent_settled" for one in self.events)

    def faults(self) -> list[Json]:
        """What extensions did wrong."""
        return [one for one in self.events if one["type"] == "extension_error"]

    async def close(self) -> int:
        """End it as its host does: by the end of its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.ended()

    async def end(self) -> None:
        await super().end()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@asynccontextmanager
async def pi_rpc(
    home: PiHome,
    *options: str,
    bridge: bool = True,
    package: Path = PI_PACKAGE,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[PiRpc]:
    """A pi whose host lets it be driven, unless `PISESSIOND_BRIDGE` says otherwise."""
    process = await asyncio.create_subprocess_exec(
        *home.command("--mode", "rpc", *options, bridge=bridge, package=package),
        cwd=home.project,
        env=home.environment(**({"PISESSIOND_BRIDGE": "drive"} | dict(variables))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 26,
    )
    pi = PiRpc(process)
    try:
        yield pi
    finally:
        await pi.end()


class PiTui(Process):
    """pi in a terminal."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        super().__init__(process)
        self.master = master
        self.said = b""
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            # The end of the process is the end of the terminal.
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self.master)
        self.said += data
        self.news.set()

    @property
    def seen(self) -> str:
        """All that was ever drawn, without colours and moves of the cursor."""
        return ESCAPES.sub("", self.said.decode("utf-8", "replace"))

    async def shows(self, text: str, since: int = 0) -> None:
        """Wait until a text has been drawn."""
        await self.until(lambda: text in self.seen[since:], repr(text))

    async def types(self, text: str) -> None:
        os.write(self.master, text.encode())
        # pi takes what comes in one read for a paste, and a return in it for a line of it.
        await asyncio.sleep(0.15)

    async def enters(self, text: str) -> None:
        await self.types(text)
        os.write(self.master, b"\r")

    async def end(self) -> None:
        await super().end()
        asyncio.get_running_loop().remove_reader(self.master)
        os.close(self.master)


@asynccontextmanager
async def pi_tui(
    home: PiHome, *options: str, bridge: bool = True, **variables: str
) -> AsyncIterator[PiTui]:
    """A pi in a window of 110 by 40."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 110, 0, 0))
    try:
        process = await asyncio.create_subprocess_exec(
            *home.command(*options, bridge=bridge),
            cwd=home.project,
            env=home.environment(**variables),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
    finally:
        os.close(slave)
    pi = PiTui(process, master)
    try:
        yield pi
    finally:
        await pi.end()


async def pi_once(home: PiHome, prompt: str, *options: str, bridge: bool = True) -> tuple[int, str]:
    """`pi -p`: its exit status and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *home.command("-p", *options, prompt, bridge=bridge),
        cwd=home.project,
        env=home.environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode()
