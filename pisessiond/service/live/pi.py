"""A running pi as its bridge tells of it, and asking that bridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import anyio

from pisessiond.core.lines import EntryId
from pisessiond.service.types import Origin

if TYPE_CHECKING:
    from pisessiond.service.open_session import OpenSession

Mode: TypeAlias = Literal["tui", "rpc", "print", "json"]
Work: TypeAlias = Literal["turn", "compaction", "summary"]
"""What keeps a pi from being idle."""
Standing: TypeAlias = Literal["idle", "turn", "compaction", "summary", "stalled"]

STALL_SECONDS: Final = 2.0
"""After so long without an answer a pi counts as stalled: a terminal that draws a session of
10,000 entries takes 0.7 s."""


_QUIET_SECONDS: Final = 10.0
"""How long the daemon waits for an answer that no client waits for."""


class Silent(Exception):
    """pi was asked, and no answer came: it is stopped, drowned in work, or gone."""

    def __init__(self, *, is_gone: bool) -> None:
        super().__init__("no answer")
        self.is_gone = is_gone
        """Whether its connection has ended."""


class Bridge(Protocol):
    """The connection to the bridge inside a pi."""

    @property
    def is_gone(self) -> bool:
        """Whether it has ended."""
        ...

    def offers(self, method: str) -> bool:
        """Whether the bridge answers this."""
        ...

    async def drive(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What the bridge answers, by the names of our models.

        Raises:
            Silent: nothing came in that time, or nothing that could be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class PiProcess:
    """What does not change while a pi runs."""

    pid: int
    started: float
    """When it began, in seconds since the system did; since 1970 where the system does not say."""
    mode: Mode
    has_ui: bool
    nested: bool
    """Another pi's shell began it."""
    version: str
    drives: bool
    """Whether it can be moved and prompted."""
    why: str | None = None
    """Why it cannot, in a sentence."""
    is_confirmed: bool = True
    """Whether the system says that this process is at the other end."""


@dataclass(frozen=True, slots=True)
class PiState:
    """What a pi is doing."""

    idle: bool = True
    operation: Work | None = None
    waiting_for_user: bool = False
    pending: int = 0
    """Messages that wait for the end of its run."""
    tokens: int | None = None
    """pi's own figure of its context, in tokens; None when not known."""
    window: int | None = None


@dataclass(frozen=True, slots=True)
class PiSession:
    """The session a pi has open, as it says."""

    id: str
    file: str | None
    on_disk: bool
    cwd: str
    leaf: EntryId | None
    count: int
    """Entries in pi's memory."""
    last_id: EntryId | None
    """The newest of them; None when there is none."""
    name: str | None = None
    parent_session: str | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class LivePi:
    """A pi that has a session open, as clients are told of it."""

    pid: int
    mode: Mode
    version: str
    state: Standing
    waiting_for_user: bool
    pending: int
    drives: bool
    why: str | None
    owner: bool
    unseen: int
    leaf: EntryId | None
    nested: bool = False


class RunningPi:
    """One process, over all sessions it opens one after another."""

    def __init__(self, process: PiProcess, client_id: str, bridge: Bridge) -> None:
        self.process = process
        self.client_id = client_id
        self.bridge = bridge
        self.order = anyio.Lock()
        """Held while a word of its bridge is dealt with, so that they stay in their order."""
        self.gen = 0
        """Counts its sessions, as it says."""
        self.seq = 0
        """Of its newest change."""
        self.session: PiSession | None = None
        self.held: OpenSession | None = None
        """The session it has open here; None between two."""
        self.state = PiState()
        self.leaf: EntryId | None = None
        self.count = 0
        self.uncounted = 0
        """Entries of the session that pi counts otherwise, if any."""
        self.was_let_read = False
        """Whether it was asked to read what it had missed; once is enough."""
        self.is_stalled = False
        self.has_run = False
        """Whether a turn ran since it opened the session."""
        self.attaches = 0
        """How often it has said what it has open."""
        self.returned = anyio.Event()
        """Set when it, or a later connection of its process, has a session open again."""
        self._moved = anyio.Event()
        self._heard = 0
        """Counts its words."""
        self.changed: Callable[[], None] = lambda: None
        """Called when something that clients are told of has changed."""

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def origin(self) -> Origin:
        """It, as the one who did something by its own user."""
        return Origin("pi", self.client_id, pid=self.pid)

    @property
    def unseen(self) -> int:
        """Entries in the file that it has not read."""
        if self.held is None or self.held.live.is_mirror:
            return 0
        return max(0, len(self.held.session.index) - self.uncounted - self.count)

    @property
    def standing(self) -> Standing:
        """What people call its state."""
        if self.is_stalled:
            return "stalled"
        return "idle" if self.state.idle else self.state.operation or "turn"

    def is_same_process(self, other: PiProcess) -> bool:
        """Whether that is a later connection of this process."""
        return self.pid == other.pid and abs(self.process.started - other.started) < 2.0

    def replaces(self, other: RunningPi) -> bool:
        """Whether that is an earlier connection of this process, which means nothing from now on.

        Anybody can say that it is this process: where the system does not confirm it, the earlier
        one counts as long as its connection is up.
        """
        if other is self:
            return True
        may = self.process.is_confirmed or other.bridge.is_gone
        return may and other.is_same_process(self.process)

    def view(self, *, is_owner: bool) -> LivePi:
        """It, as clients are told."""
        process = self.process
        return LivePi(
            pid=process.pid,
            mode=process.mode,
            version=process.version,
            state=self.standing,
            waiting_for_user=self.state.waiting_for_user,
            pending=self.state.pending,
            drives=process.drives,
            why=process.why,
            owner=is_owner,
            unseen=self.unseen,
            leaf=self.leaf,
            nested=process.nested,
        )

    def returns(self) -> None:
        """It has a session open again, over this connection or a later one."""
        self.returned.set()
        self.returned = anyio.Event()

    def attached(self, gen: int) -> None:
        """Its words on that session mean something from now on."""
        self.gen = gen
        self._moved.set()
        self._moved = anyio.Event()

    async def session_of(self, gen: int) -> OpenSession | None:
        """The session that a word with this `gen` is about; None when it has been left.

        A word on a session that is just being attached waits; words stay in their order.
        """
        while self.gen < gen and not self.bridge.is_gone:
            await self._moved.wait()
        return self.held if self.gen == gen else None

    def heard(self) -> None:
        """A word came from it: whatever it was, it answers."""
        self._heard += 1
        if self.is_stalled:
            self.is_stalled = False
            self.changed()

    async def ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What its bridge answers to a request about the session it has now.

        Raises:
            Silent: as `Bridge.drive`.
        """
        given = {"gen": self.gen, **params}
        answer: dict[str, Any] | Silent | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._wait_for_stall, seconds <= _QUIET_SECONDS)
            try:
                answer = await self.bridge.drive(method, given, seconds)
            except Silent as error:
                answer = error
            tasks.cancel_scope.cancel()
        if not isinstance(answer, dict):
            raise answer or Silent(is_gone=True)
        self.heard()
        return answer

    async def reread(self) -> None:
        """Have it read its file anew, if it will; it says then what it has."""
        await self._ask_quietly("pi/reread")

    async def snapshot(self) -> list[dict[str, Any]] | None:
        """All its entries, whole; None when it does not say."""
        answer = await self._ask_quietly("pi/snapshot")
        entries: list[dict[str, Any]] | None = answer.get("entries")
        return entries

    async def _ask_quietly(self, method: str) -> dict[str, Any]:
        """What it answers to the daemon itself; empty where it does not."""
        if not self.bridge.offers(method):
            return {}
        name = "pisessiond"
        params = {"request_id": f"{method}-{self.gen}-{self.seq}", "client": name}
        try:
            return await self.ask(method, {**params, "client_id": name}, _QUIET_SECONDS)
        except Silent:
            return {}

    async def _wait_for_stall(self, is_quick: bool) -> None:
        while True:
            heard = self._heard
            await anyio.sleep(STALL_SECONDS)
            # What runs long may be answered when that is done, and a dialog when it is closed.
            owes = (is_quick or self.state.idle) and not self.state.waiting_for_user
            if self._heard == heard and owes and not self.is_stalled:
                self.is_stalled = True
                self.changed()
