"""A daemon in a hundred lines: takes bridges on a real socket, notes and checks what they say, and
asks what a test wants to have asked.

Every message is read by the protocol's own models, so that what the bridge sends is what the daemon
understands.
"""

import asyncio
import contextlib
import itertools
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import msgspec

from pisessiond.protocol import pi_models
from pisessiond.server.framing import FrameDecoder, frame
from tests.bridge.home import PiHome

Json = dict[str, Any]
PATIENCE: Final = 30.0

MODELS: Final[dict[str, Any]] = {
    "pi/attach": pi_models.PiAttachParams,
    "pi/detached": pi_models.PiDetachedParams,
    "pi/didChange": pi_models.PiDidChangeParams,
    "pi/didState": pi_models.PiDidStateParams,
    "pi/willNavigate": pi_models.PiWillNavigateParams,
    "pi/willCompact": pi_models.PiWillCompactParams,
}


class Bridge:
    """One connection, from initialize on, and a mirror of pi made from its words alone."""

    def __init__(self, writer: asyncio.StreamWriter, news: asyncio.Event) -> None:
        self.writer = writer
        self.about: Json = {}
        """`initializationOptions.pisessiond`."""
        self.heard: list[tuple[str, Json]] = []
        self.times: list[float] = []
        """When each was heard, on the clock that all processes share."""
        self.more: Callable[[Json], Json] = lambda params: {}
        """Put into the answer to an attach."""
        self.words: Callable[[str, Json], Json | None] = lambda method, params: {}
        """Answers the will-requests; None: never."""
        self.ids: list[Any] = []
        """The entries of the session pi has now, in order; of one on disk only those told since."""
        self.entries: dict[Any, Json] = {}
        self.leaf: Any = None
        self.count = 0
        self.gen = 0
        self.seq = 0
        self.session: Json = {}
        self.state: Json = {}
        self.is_gone = False
        self._news = news
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Json]] = {}

    def send(self, message: Json) -> None:
        self.writer.write(frame(msgspec.json.encode({"jsonrpc": "2.0", **message})))

    def begin(self, method: str, number: str | None = None, **params: Any) -> asyncio.Future[Json]:
        """Ask; the answer comes with the future."""
        number = number or f"pd:{next(self._numbers)}"
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        always = {"gen": self.gen, "requestId": number, "client": "Tester", "clientId": "tester"}
        self.send({"id": number, "method": method, "params": always | params})
        return answer

    async def ask(self, method: str, **params: Any) -> Json:
        """The answer, checked, with all that it holds."""
        return await asyncio.wait_for(self.begin(method, **params), PATIENCE)

    async def done(self, method: str, **params: Any) -> Json:
        """The answer, which is no refusal."""
        answer = await self.ask(method, **params)
        assert "refused" not in answer, answer
        return answer

    async def refused(self, method: str, **params: Any) -> str:
        """Why not."""
        answer = await self.ask(method, **params)
        assert answer.get("message"), answer
        return str(answer["refused"])

    async def until(self, is_so: Callable[[], Any], what: str = "it") -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (found := is_so()):
            assert time.monotonic() < deadline, f"{what} never came"
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 0.02)
        return found

    async def idle(self) -> None:
        await self.until(lambda: self.state.get("idle"), "idleness")

    def all_of(self, method: str) -> list[Json]:
        return [params for name, params in self.heard if name == method]

    def take(self, message: Json) -> None:
        method = message.get("method")
        if method is None:
            answer = self._waiting.pop(message["id"])
            result = message["result"]
            pi_models.PiAnswer.model_validate(result)
            if not answer.done():
                answer.set_result(result)
        elif method in MODELS:
            MODELS[method].model_validate(message["params"])
            self._hear(method, message["params"], message.get("id"))
        elif method == "initialize":
            self.about = message["params"]["initializationOptions"]["pisessiond"]
            pi_models.PiProcess.model_validate(self.about["pi"])
            ours = {"pisessiond": {"protocolVersion": 1, "build": "0", "methods": []}}
            self.send({"id": message["id"], "result": {"capabilities": {"experimental": ours}}})
        else:
            assert method == "initialized", method

    def _hear(self, method: str, params: Json, number: Any) -> None:
        self.heard.append((method, params))
        self.times.append(time.monotonic())
        if method == "pi/attach":
            self._attached(params)
            answer = {"session": params["session"]["id"], "owner": True, "unseen": 0}
            self.send({"id": number, "result": answer | self.more(params)})
        elif method == "pi/didChange" and params["gen"] == self.gen:
            assert params["seq"] == self.seq + 1
            self.seq = params["seq"]
            for entry in params["entries"]:
                self.ids.append(entry["id"])
                self.entries[entry["id"]] = entry
            self.leaf, self.count = params["leaf"], params["count"]
        elif method == "pi/didState":
            self.state = params
        elif method.startswith("pi/will") and (word := self.words(method, params)) is not None:
            self.send({"id": number, "result": word})

    def _attached(self, params: Json) -> None:
        self.gen, self.seq = params["gen"], 0
        self.session, self.state = params["session"], params["state"]
        whole = params.get("entries") or []
        self.ids = [entry["id"] for entry in whole]
        self.entries = {entry["id"]: entry for entry in whole}
        self.leaf, self.count = self.session["leaf"], self.session["count"]


class ScriptedDaemon:
    """Listens where the bridge looks."""

    def __init__(self) -> None:
        self.bridges: list[Bridge] = []
        """All that ever connected, in order."""
        self.news = asyncio.Event()
        self.more: Callable[[Json], Json] = lambda params: {}
        """Put into the answer to an attach."""
        self._tasks: set[asyncio.Task[None]] = set()

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bridge = Bridge(writer, self.news)
        bridge.more = self.more
        self.bridges.append(bridge)
        task = asyncio.create_task(self._serve(bridge, reader))
        self._tasks.add(task)

    async def _serve(self, bridge: Bridge, reader: asyncio.StreamReader) -> None:
        decoder = FrameDecoder()
        try:
            while data := await reader.read(1 << 16):
                decoder.feed(data)
                while (body := decoder.next_body()) is not None:
                    bridge.take(msgspec.json.decode(body))
                self.news.set()
        except ConnectionError:
            pass
        finally:
            bridge.is_gone = True
            self.news.set()
            bridge.writer.close()

    async def attached(self, number: int = 1) -> Bridge:
        """Wait until so many bridges have come and the last of them has attached."""
        deadline = time.monotonic() + PATIENCE
        while len(self.bridges) < number or not self.bridges[number - 1].gen:
            assert time.monotonic() < deadline, "no bridge came"
            self.news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), 0.02)
        return self.bridges[number - 1]

    async def stop(self) -> None:
        for bridge in self.bridges:
            bridge.writer.close()
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        faults = [one for one in ended if isinstance(one, Exception)]
        assert faults == [], faults


@contextlib.asynccontextmanager
async def scripted_daemon(home: PiHome) -> AsyncIterator[ScriptedDaemon]:
    """Listens until the end of the block. What a bridge sent that is wrong fails there."""
    daemon = ScriptedDaemon()
    path = home.state / "socket"
    server = await asyncio.start_unix_server(daemon.connected, path)
    path.chmod(0o600)
    try:
        yield daemon
    finally:
        server.close()
        await daemon.stop()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
