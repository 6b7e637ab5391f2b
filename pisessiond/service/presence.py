"""Who has a session open, told to all who have.

It is outside of the revisions: nothing of the session changes with it, and a client that missed a
word is told how things stand by the next one, or when it opens the session.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import anyio

from pisessiond.service.live.pi import LivePi
from pisessiond.service.subscribers import Subscriber
from pisessiond.service.types import Present

JOIN_SECONDS = 0.1
"""How long comings and goings are joined after one was told."""


class Presence:
    """The clients of one session and its running pi, as each of them was told last."""

    def __init__(
        self,
        handle: str,
        subscribers: Collection[Subscriber],
        pis: Callable[[], tuple[LivePi, ...]] = lambda: (),
    ) -> None:
        """Watch over the subscribers of a session.

        Args:
            handle: the session's.
            subscribers: as they are at any time, in the order they came.
            pis: the running pi that have it open.
        """
        self._handle = handle
        self._subscribers = subscribers
        self._pis = pis
        self._told: dict[Subscriber, tuple[tuple[Present, ...], tuple[LivePi, ...]]] = {}
        self._changed = anyio.Event()

    @property
    def clients(self) -> tuple[Present, ...]:
        """Each client once, however many connections it has, in the order they came."""
        # Whoever has no id only listens on behalf of one that has.
        found = {one.client_id: one.name for one in self._subscribers if one.client_id}
        return tuple(Present(client, name) for client, name in found.items())

    def came(self, subscriber: Subscriber) -> None:
        """Tell the others soon that one is there, who is told in what answers its opening."""
        self._told[subscriber] = self.clients, self._pis()
        self._changed.set()

    def went(self, subscriber: Subscriber) -> None:
        """Tell the others soon that one is gone."""
        self._told.pop(subscriber, None)
        self._changed.set()

    def changed(self) -> None:
        """Tell soon that a pi came, went, or does something else."""
        self._changed.set()

    async def run(self) -> None:
        """Tell what changed, at most ten times a second, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            if self._tell():
                await anyio.sleep(JOIN_SECONDS)

    def _tell(self) -> bool:
        """Tell those who know otherwise; whether there was anyone."""
        now = self.clients, self._pis()
        others = [one for one in self._subscribers if self._told.get(one) != now]
        for subscriber in others:
            self._told[subscriber] = now
            subscriber.session_presence(self._handle, *now)
        return bool(others)
