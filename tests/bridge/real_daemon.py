"""The real daemon beside a real pi, in the same home."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio

from pisessiond.client.aio import Client, connect
from tests.bridge.home import ROOT, PiHome
from tests.bridge.running import PATIENCE

START_SECONDS: Final = 20.0


class RealDaemon:
    """Runs until its block ends; can be killed and started anew at the same address."""

    def __init__(self, home: PiHome) -> None:
        self.home = home
        self.socket = str(home.state / "socket")
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pisessiond", "serve",
            "--agent-dir", str(self.home.agent_dir), "--socket", self.socket,
            "--log-file", str(self.home.folder / "daemon.log"),
            cwd=ROOT,
            env=self.home.environment(),
            stdin=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        deadline = asyncio.get_running_loop().time() + START_SECONDS
        while True:
            assert self._process.returncode is None, self.log()
            assert asyncio.get_running_loop().time() < deadline, self.log()
            try:
                _, writer = await asyncio.open_unix_connection(self.socket)
            except OSError:
                await asyncio.sleep(0.02)
                continue
            writer.close()
            await writer.wait_closed()
            return

    def log(self) -> str:
        return (self.home.folder / "daemon.log").read_text()

    async def kill(self) -> None:
        """Without a word to anyone."""
        assert self._process is not None
        self._process.kill()
        await self._process.wait()

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await asyncio.wait_for(self._process.wait(), START_SECONDS)

    @asynccontextmanager
    async def client(self, name: str = "editor", *, lasting: bool = False) -> AsyncIterator[Client]:
        async with connect(self.socket, name=name, client_id=name, reconnect=lasting) as one:
            yield one


@asynccontextmanager
async def real_daemon(home: PiHome) -> AsyncIterator[RealDaemon]:
    daemon = RealDaemon(home)
    await daemon.start()
    try:
        yield daemon
    finally:
        await daemon.stop()


async def live_pis(client: Client, count: int) -> list[Any]:
    """The running pi that are connected, once there are so many with a session."""
    with anyio.fail_after(PATIENCE):
        while True:
            found = [one for one in (await client.status()).get("pis", []) if one["session"]]
            if len(found) == count:
                return found
            await anyio.sleep(0.02)
