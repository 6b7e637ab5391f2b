"""Answers kept for a while, so that a repeated request repeats the answer and not the act.

A client that lost its connection cannot know whether its last request was carried out. It sends
it again with the same `requestId`; for ten minutes the answer is the first one's. While the first
is still at work the second waits for it, which may be as long as a model takes to write a summary.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import anyio

from pisessiond.protocol.errors import invalid_params
from pisessiond.server.envelope import RawJson

KEPT_SECONDS: Final = 600.0
KEPT_COUNT: Final = 20_000
KEPT_BYTES: Final = 16 << 20

Key: TypeAlias = tuple[str, str]
"""`client.id` and `requestId`."""


@dataclass(slots=True)
class _Kept:
    fingerprint: bytes
    began: float
    done: anyio.Event
    answer: RawJson | None = None
    error: Exception | None = None
    """What it was refused with, for who waits; later ones try again."""


class Replays:
    """The answers of the last ten minutes to requests that carried a `requestId`.

    Past 20,000 answers or 16 MiB the oldest go first.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._bytes = 0

    async def run(
        self, key: Key, method: str, params: bytes, act: Callable[[], Awaitable[RawJson]]
    ) -> RawJson:
        """The answer of `act`, or the one it gave before under this key.

        What fails or is cancelled has changed nothing and is not kept. Whoever waited for it
        meanwhile is refused the same way, so that no model is asked once more by itself, and
        nothing begins anew that someone ended. What was taken back, or ended with the client that
        asked for it, is carried out for whoever waited.

        Raises:
            RpcError: InvalidParams, the key stood for another request.
        """
        fingerprint = hashlib.sha256(method.encode() + b"\0" + params).digest()
        self._forget_old()
        while (kept := self._kept.get(key)) is not None:
            if kept.fingerprint != fingerprint:
                raise invalid_params("requestId", "it was used for another request")
            if kept.answer is not None:
                return kept.answer
            await kept.done.wait()
            if kept.error is not None:
                raise kept.error
        return await self._act(key, _Kept(fingerprint, self._clock(), anyio.Event()), act)

    async def _act(self, key: Key, kept: _Kept, act: Callable[[], Awaitable[RawJson]]) -> RawJson:
        self._kept[key] = kept
        try:
            answer = await act()
        except BaseException as error:
            was_taken_back = anyio.current_effective_deadline() == -math.inf
            if isinstance(error, Exception) and not was_taken_back:
                kept.error = error
            if self._kept.get(key) is kept:
                del self._kept[key]
            raise
        else:
            kept.answer = answer
            if self._kept.get(key) is kept:
                self._bytes += len(answer.data)
            return answer
        finally:
            kept.done.set()

    def _forget_old(self) -> None:
        horizon = self._clock() - KEPT_SECONDS
        while self._kept:
            kept = next(iter(self._kept.values()))
            room = len(self._kept) < KEPT_COUNT and self._bytes < KEPT_BYTES
            if kept.answer is None or (kept.began > horizon and room):
                return
            self._kept.popitem(last=False)
            self._bytes -= len(kept.answer.data)
