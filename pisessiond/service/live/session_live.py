"""The running pi of one session: who writes it now, who wrote what came, where it stands."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio

from pisessiond.core.lines import EntryId
from pisessiond.core.projection import Entry
from pisessiond.service.errors import Busy, PiBusy, ReadOnly
from pisessiond.service.live.deciding import decide, watched_only
from pisessiond.service.live.pi import LivePi, RunningPi
from pisessiond.service.types import EXTERNAL, AnyOrigin, ChangeKind, Origin

if TYPE_CHECKING:
    from pisessiond.service.held_session import HeldSession
    from pisessiond.storage.base import StoredLine

ANNOUNCE_SECONDS: Final = 0.5
"""How long a line that came is left unattributed until the pi that has the session open says that
it is its own: a bridge looks at its leaf every 200 ms at least."""

_WRITERS_KEPT: Final = 4_096

_PAUSE_SECONDS: Final = 0.05
"""Between a pi's word that it is idle and the next try, which it may still refuse."""


class NowOwned(Exception):
    """A pi has come or gone since it was decided who writes; to be decided anew."""


@dataclass(slots=True)
class Written:
    """What is known of an entry before it is read: who wrote it, and as what."""

    origin: AnyOrigin
    kind: ChangeKind = "append"
    details: dict[str, Any] = field(default_factory=dict)


class SessionLive:
    """What a session knows of the running pi that have it open."""

    def __init__(self, held: HeldSession) -> None:
        # Weakly, so that a session which left memory is freed at once.
        self._weak = weakref.ref(held)
        self.pis: list[RunningPi] = []
        self.is_mirror = False
        """Whether its entries live in a pi, and not in a file."""
        self.mirrored: set[EntryId] = set()
        """Ids of the entries that pi has sent of such a session."""
        self.pending: list[StoredLine] = []
        """Lines of it that are not taken in yet."""
        self._unsettled = 0
        """Pi that are attaching or parting."""
        self._changed = anyio.Event()
        self._waits_for_idle = False
        self._addressed: RunningPi | None = None
        """Of several, the one through which something was changed last."""
        self._writers: dict[EntryId, Written] = {}
        self.presumed: Written | None = None
        """Whose those entries are that nobody has announced, while a pi attaches."""

    # Who there is ------------------------------------------------------------------------------

    @property
    def owner(self) -> RunningPi | None:
        """The pi that alone has it open."""
        return self.pis[0] if len(self.pis) == 1 else None

    @property
    def views(self) -> tuple[LivePi, ...]:
        """Those that have it open, as clients are told."""
        owner = self.owner
        return tuple(one.view(is_owner=one is owner) for one in self.pis)

    @property
    def read_only(self) -> str | None:
        """Why nothing can be written because of a pi; None when that is no reason."""
        owner = self.owner
        if owner is not None and not owner.process.drives:
            return str(watched_only(owner)).removeprefix("This session is read-only: ")
        if self.is_mirror and not self.pis:
            return "the pi that held it is gone, and it is on no disk; export a copy."
        return None

    def arrive(self, pi: RunningPi) -> None:
        """A pi has it open, from this moment on."""
        self.pis = [one for one in self.pis if one is not pi] + [pi]
        pi.changed = self.tell
        self.tell()

    def leave(self, pi: RunningPi) -> None:
        """A pi has it open no more."""
        self.pis = [one for one in self.pis if one is not pi]
        pi.changed = lambda: None
        self.tell()

    def tell(self) -> None:
        """Tell clients, and whoever waits, that something is different."""
        self._changed.set()
        self._changed = anyio.Event()
        if (held := self._weak()) is not None:
            held.presence.changed()
            held.on_file()

    # Who writes --------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Whether no pi is attaching or parting."""
        return not self._unsettled and not any(one.bridge.is_gone for one in self.pis)

    def insist_settled(self) -> None:
        """Raises: NowOwned: a pi is attaching or parting."""
        if not self.is_settled:
            raise NowOwned

    def insist_ours(self) -> None:
        """Raises: NowOwned: a pi writes it."""
        if self.pis or self._unsettled:
            raise NowOwned

    def decide(self, origin: AnyOrigin, *, needs_idle: bool) -> RunningPi | None:
        """The pi through which an act goes; None: the daemon writes. See `deciding.decide`."""
        if self.pis and not isinstance(origin, Origin):
            pi = self.pis[0]
            raise ReadOnly(f"pi {pi.pid} has it open, and writes it.", f"pi {pi.pid}")
        pid = origin.through if isinstance(origin, Origin) else None
        return decide(self.pis, pid, needs_idle=needs_idle)

    def refuse_if_open(self) -> None:
        """Raises: ReadOnly: a pi has it open, which would lose what it stands on."""
        if self.pis:
            pi = self.pis[0]
            raise ReadOnly(
                f"pi {pi.pid} has it open; let it open another one first.", f"pi {pi.pid}"
            )

    async def ready(self, origin: AnyOrigin) -> None:
        """See to it that what takes long, and moves the leaf in the end, could be stored now.

        Raises:
            As `deciding.decide`; PiBusy only where the asker would not wait.
        """
        await self.settled()
        while True:
            try:
                self.decide(origin, needs_idle=True)
                return
            except PiBusy as error:
                await self.wait_idle(origin, error)

    async def settled(self) -> None:
        """Wait while a pi is attaching or parting; some seconds at most."""
        while not self.is_settled:
            await self._changed.wait()

    def unsettle(self) -> None:
        """A pi begins to attach or to part."""
        self._unsettled += 1

    def settle(self) -> None:
        """It has attached, or is gone."""
        self._unsettled -= 1
        self.tell()

    async def wait_idle(self, origin: AnyOrigin, refusal: PiBusy, *, is_paid: bool = False) -> None:
        """Wait until the pi that refused is idle or gone.

        What was paid for waits besides the one request that may; the operation it belongs to is
        one of a kind already.

        Raises:
            PiBusy: the asker would not wait, or the pi does not answer.
            Busy: another request waits already.
        """
        if is_paid:
            await self._idle(refusal)
            return
        if not isinstance(origin, Origin) or not origin.when_idle:
            raise refusal
        if self._waits_for_idle:
            raise Busy("wait", "another request, which waits for pi to be idle,")
        self._waits_for_idle = True
        try:
            await self._idle(refusal)
        finally:
            self._waits_for_idle = False

    async def _idle(self, refusal: PiBusy) -> None:
        while any(one.pid == refusal.pid and not one.state.idle for one in self.pis):
            await self._changed.wait()
        if any(one.pid == refusal.pid and one.is_stalled for one in self.pis):
            raise refusal
        # pi may refuse for what it has not told yet.
        await anyio.sleep(_PAUSE_SECONDS)

    # Who wrote ---------------------------------------------------------------------------------

    def announce(self, ids: Iterable[EntryId], written: Written) -> None:
        """Say who wrote entries that are about to be read; the last word on one counts."""
        for entry_id in ids:
            self._writers[entry_id] = written
        while len(self._writers) > _WRITERS_KEPT:
            del self._writers[next(iter(self._writers))]
        self._changed.set()
        self._changed = anyio.Event()

    async def arrived(self, ids: Sequence[EntryId]) -> None:
        """Of a mirror: wait until the pi has sent these entries; a second at most."""
        held = self._weak()
        if not self.is_mirror or held is None:
            return
        with anyio.move_on_after(1.0):
            while any(entry_id not in self.mirrored for entry_id in ids):
                await self._changed.wait()

    def disown(self, ids: Iterable[EntryId]) -> None:
        """Forget what was said of entries that are known already."""
        for entry_id in ids:
            self._writers.pop(entry_id, None)

    async def expect(
        self, lines: Sequence[StoredLine], ids_of: Callable[[Sequence[StoredLine]], list[EntryId]]
    ) -> None:
        """Give the pi that has it open a moment to say that entries are its own."""
        if not self.pis or self.presumed is not None:
            return
        ids = ids_of(lines)
        with anyio.move_on_after(ANNOUNCE_SECONDS):
            while self.pis and any(entry_id not in self._writers for entry_id in ids):
                await self._changed.wait()

    def by_writer(
        self, came: Sequence[tuple[int, EntryId, Entry]]
    ) -> list[tuple[Written, list[tuple[int, Entry]]]]:
        """Entries that came, by runs of those with one writer.

        Args:
            came: row, id and body of each, in order.
        """
        runs: list[tuple[Written, list[tuple[int, Entry]]]] = []
        for row, entry_id, entry in came:
            written = self._writers.pop(entry_id, None) or self.presumed
            if written is None:
                written = runs[-1][0] if runs and runs[-1][0].origin == EXTERNAL else None
                written = written or Written(EXTERNAL)
            if runs and runs[-1][0] is written:
                runs[-1][1].append((row, entry))
            else:
                runs.append((written, [(row, entry)]))
        return runs

    # Where it stands ---------------------------------------------------------------------------

    def place(self) -> int | None:
        """The row at which pi has it stand; None: nobody says, or that is not read yet."""
        pi, held = self.owner or self._addressed, self._weak()
        if pi is None or pi not in self.pis or held is None:
            return None
        session = held.session
        if pi.leaf is None:
            return session.row_of(None)
        row = session.index.find(pi.leaf)
        return None if row is None else session.stands_at(row)

    def address(self, pi: RunningPi) -> None:
        """Of several: from now on the session stands where this one does."""
        self._addressed = pi
