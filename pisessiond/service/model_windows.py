"""The context windows of a session's models: known at once, or looked up in the background."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from pisessiond.models.base import ModelFacts, ModelName

if TYPE_CHECKING:
    from pisessiond.service.held_session import HeldSession

PATIENCE_SECONDS: Final = 1.0
"""So long whoever asks for a size waits for a window; a lookup may take many times that."""


class ModelWindows:
    """What is known of windows, and lookups that are under way, one for each model."""

    def __init__(self, held: HeldSession) -> None:
        # Weakly, so that a session which left memory is freed at once.
        self._weak = weakref.ref(held)
        self._models = held.surroundings.models
        self._looked_up: dict[ModelName, ModelFacts] = {}
        self._under_way: dict[ModelName, anyio.Event] = {}

    def now(self, model: ModelName | None) -> int | None:
        """The window in tokens as far as it is known; None when it is unknown."""
        if model is None:
            return None
        facts = self._models.known(model) or self._looked_up.get(model)
        return None if facts is None else facts.window

    def look_again(self, model: ModelName | None) -> None:
        """Have it looked up, where it is not known at once."""
        if model is not None and self._models.known(model) is None:
            self._begin(model)

    async def soon(self, model: ModelName) -> int | None:
        """The window, looked up if need be, as long as that does not take long."""
        if self._models.known(model) is None and model not in self._looked_up:
            with anyio.move_on_after(PATIENCE_SECONDS):
                await self._begin(model).wait()
        return self.now(model)

    def _begin(self, model: ModelName) -> anyio.Event:
        done = self._under_way.get(model)
        if done is None:
            done = anyio.Event()
            held = self._weak()
            if held is not None and held.start_soon(partial(self._look_up, model, done)):
                self._under_way[model] = done
            else:
                done.set()
        return done

    async def _look_up(self, model: ModelName, done: anyio.Event) -> None:
        try:
            self._looked_up[model] = await self._models.look_up(model)
        finally:
            del self._under_way[model]
            done.set()
        held = self._weak()
        if held is not None:
            held.sizing.tell_if_other()
