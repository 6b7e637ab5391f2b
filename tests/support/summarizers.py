"""A summarizer that writes what a test tells it to, when it is told to."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.pi_settings import CompactionTable
from pisessiond.core.summary_task import SummaryTask
from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName
from pisessiond.service.open_session import OpenSession
from pisessiond.service.settings import FolderSettings
from pisessiond.service.subscribers import Absent
from pisessiond.summarizers.base import (
    Choice,
    Lend,
    NoSummarizer,
    Received,
    SummaryFailed,
    Written,
)
from tests.support.service import Entry, HandClock, Listener, answer, entry, user

MODEL = ModelName("demo", "demo-1")

USAGE: dict[str, Any] = {
    "input": 100,
    "output": 20,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 120,
    "cost": {"input": 0.001, "output": 0.002, "cacheRead": 0, "cacheWrite": 0, "total": 0.003},
}


class Gate:
    """Where whoever comes waits until it is opened."""

    def __init__(self) -> None:
        self._arrived = anyio.Event()
        self._opened = anyio.Event()

    async def arrived(self) -> None:
        """Wait until someone waits here."""
        with anyio.fail_after(10):
            await self._arrived.wait()

    def open(self) -> None:
        self._opened.set()

    async def wait(self) -> None:
        self._arrived.set()
        await self._opened.wait()


@dataclass
class Scripted:
    """A summarizer: writes `text`, or fails, after the gate if there is one."""

    name: str = "scripted"
    model: ModelName | None = MODEL
    facts: ModelFacts = UNKNOWN
    is_extract: bool = False
    text: str = "Told."
    usage: dict[str, Any] | None = field(default_factory=lambda: dict(USAGE))
    arrivals: Sequence[int] = (2, 5)
    """What is told to have come before the text is there."""
    gate: Gate | None = None
    failures: list[Exception] = field(default_factory=list)
    """Raised one after another before a text is given again."""
    tasks: list[SummaryTask] = field(default_factory=list)
    """What it was asked for."""
    at_work: int = 0
    """Texts being written now."""
    on_step: Callable[[], object] = lambda: None
    """Called before each step of writing."""

    async def write(self, task: SummaryTask, received: Received) -> Written:
        self.tasks.append(task)
        self.at_work += 1
        try:
            for count in self.arrivals:
                await self._step()
                received(count)
            if self.gate is not None:
                await self.gate.wait()
            if self.failures:
                raise self.failures.pop(0)
            await self._step()
            return Written(self.text, self.usage, self.model)
        finally:
            self.at_work -= 1

    async def _step(self) -> None:
        self.on_step()
        await anyio.lowlevel.checkpoint()

    def fail(self, times: int = 1) -> None:
        """Fail so many times."""
        sentence = "The model is overloaded; try again later."
        self.failures += [SummaryFailed(self.name, "overloaded", sentence) for _ in range(times)]


class Lending:
    """The summarizer `client`: has the text written by whoever lends a model."""

    name = "client"
    model: ModelName | None = None
    facts = UNKNOWN
    is_extract = False

    def __init__(self, lend: Lend) -> None:
        self._lend = lend

    async def write(self, task: SummaryTask, received: Received) -> Written:
        return await self._lend(task, received)


@dataclass
class OneSummarizer:
    """Knows the scripted one, which is the default, and `client`."""

    scripted: Scripted = field(default_factory=Scripted)
    is_there: bool = True
    """Whether the scripted one is set up."""
    session_models: list[ModelName | None] = field(default_factory=list)
    """What models the sessions stood at."""
    to_write: list[bool] = field(default_factory=list)
    """Whether each who chose one was to have something written."""

    async def choose(
        self,
        name: str | None,
        session_model: ModelName | None,
        lend: Lend | None,
        *,
        to_write: bool = True,
    ) -> Any:
        await anyio.lowlevel.checkpoint()
        self.to_write.append(to_write)
        self.session_models.append(session_model)
        if name == "client" and lend is not None:
            return Lending(lend)
        if name in (None, self.scripted.name) and self.is_there:
            return self.scripted
        raise NoSummarizer("No summarizer has that name; name one of those there are.", ["x"])

    async def choices(self, session_model: ModelName | None, lend: Lend | None) -> Sequence[Choice]:
        self.session_models.append(session_model)
        names = ["scripted"] if lend is None else ["scripted", "client"]
        return [Choice(name, None, True, None, name == "scripted") for name in names]


@dataclass
class OneFolder:
    """Settings that are the same everywhere, and can be changed."""

    settings: FolderSettings = field(default_factory=FolderSettings)

    def for_folder(self, cwd: str) -> FolderSettings:
        del cwd
        return self.settings

    def set(self, **changes: Any) -> None:
        self.settings = replace(self.settings, **changes)

    def keep(self, tokens: int, *, reserve: int = 16_384) -> None:
        """Have compactions keep about so much."""
        settings = CompactionSettings(keep_recent_tokens=tokens, reserve_tokens=reserve)
        self.set(compaction=CompactionTable(settings))


@dataclass
class OneWindow:
    """Models that all have the same window."""

    window: int | None = None

    def known(self, model: ModelName) -> ModelFacts | None:
        del model
        return None

    async def look_up(self, model: ModelName) -> ModelFacts:
        del model
        await anyio.lowlevel.checkpoint()
        return ModelFacts(window=self.window)

    def window_at_hand(self, model: ModelName) -> int | None:
        del model
        return self.window


class Desk:
    """All that summaries depend on, in the hands of a test."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """What the service takes the time to be."""
        self.summarizers = OneSummarizer()
        self.folder = OneFolder()
        self.models = OneWindow()
        self.hand = HandClock()
        self.hand.surroundings = replace(
            self.hand.surroundings,
            summarizers=self.summarizers,
            settings=self.folder,
            models=self.models,
            monotonic=lambda: self.seconds,
        )
        self.folder.keep(100)

    @property
    def writer(self) -> Scripted:
        return self.summarizers.scripted


def words(name: str, tokens: int = 100) -> str:
    """A text of so many tokens in which a name can be found."""
    return (f"{name} " + "word " * tokens)[: tokens * 4]


CALLS: list[Entry] = [
    {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a.py"}},
    {"type": "toolCall", "id": "t2", "name": "write", "arguments": {"path": "b.py"}},
]

TALK: list[Entry] = [
    entry("model_change", "m1", None, provider="demo", modelId="demo-1"),
    user(words("first"), "u1", "m1"),
    entry(
        "message",
        "a1",
        "u1",
        message={"role": "assistant", "content": [{"type": "text", "text": words("one")}, *CALLS]},
    ),
    user(words("second"), "u2", "a1"),
    answer(words("two"), "a2", "u2"),
]
"""Two turns of some two hundred tokens each; what is kept by default begins inside the second."""


class Running:
    """What runs beside the test until its summary is let through."""

    def __init__(self, desk: Desk, tasks: TaskGroup, act: Callable[[], Awaitable[Any]]) -> None:
        self.outcome: Any = None
        """What it answered or raised."""
        self.scope = anyio.CancelScope()
        """Its request's."""
        self._gate = desk.writer.gate = Gate()
        self._over = anyio.Event()
        tasks.start_soon(self._run, act)

    async def _run(self, act: Callable[[], Awaitable[Any]]) -> None:
        with self.scope:
            try:
                self.outcome = await act()
            except Exception as error:  # noqa: BLE001 - looked at by the test
                self.outcome = error
        self._over.set()

    async def asked(self) -> None:
        """Wait until a summary is asked for."""
        await self._gate.arrived()

    async def over(self) -> Any:
        """Wait until it is over."""
        with anyio.fail_after(10):
            await self._over.wait()
        return self.outcome

    def let_through(self) -> None:
        """Let the summary come."""
        self._gate.open()

    async def finish(self) -> Any:
        """Let the summary come, and wait until it is over."""
        self.let_through()
        return await self.over()


class Voice(Listener):
    """A client that has the session open and has a word in what is done to it."""

    def __init__(self, session: OpenSession, name: str = "nvim", **answers: Any) -> None:
        """
        Args:
            session: what it has open.
            name: for people; it is also the client's id.
            answers: by the last part of the method: what it answers, or an exception.
        """
        self.name = name
        self.client_id = name
        self.answers = answers
        self.asked: list[tuple[str, dict[str, Any], float]] = []
        self.is_silent = False
        """Whether it says nothing until its time is over."""
        self.time = anyio.Event()
        """Set when its time is over."""
        self.was_asked = anyio.Event()
        super().__init__(session)

    def offers(self, method: str) -> bool:
        return method.partition("/")[2] in self.answers

    async def ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        self.asked.append((method, params, seconds))
        self.was_asked.set()
        await anyio.lowlevel.checkpoint()
        if self.is_silent:
            await self.time.wait()
            raise Absent(method)
        answer = self.answers[method.partition("/")[2]]
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)
