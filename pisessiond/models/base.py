"""The contract of what is known about models. It does no I/O itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model as sessions name it."""

    provider: str
    model: str

    def __str__(self) -> str:
        """As settings name it: `provider/model`."""
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0
    tiers: tuple[PriceTier, ...] = ()
    """What large requests cost instead."""


@dataclass(frozen=True, slots=True)
class PriceTier:
    """The price of a whole request whose input is large; US dollars for a million tokens."""

    input_tokens_above: int
    """It holds for more input than this, whatever was cached of it."""
    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model; None is unknown, never a guess."""

    window: int | None = None
    """Its context window in tokens."""
    max_output: int | None = None
    """What it can write in one answer, in tokens."""
    price: Price | None = None


UNKNOWN = ModelFacts()


class Models(Protocol):
    """Whoever knows models."""

    def known(self, model: ModelName) -> ModelFacts | None:
        """What is known at once, without any I/O; None: `look_up` has to be asked."""
        ...

    async def look_up(self, model: ModelName) -> ModelFacts:
        """What can be found out; `UNKNOWN` when nothing can. Never raises, may take a second."""
        ...

    def window_at_hand(self, model: ModelName) -> int | None:
        """The window in tokens, of a model looked up once or named by the user; None: unknown.

        It looks nothing up, but may read a file, so it belongs in a worker.
        """
        ...


class NoModels:
    """Knows nothing; for tests and for tools that need no windows."""

    def known(self, model: ModelName) -> ModelFacts | None:
        del model
        return UNKNOWN

    async def look_up(self, model: ModelName) -> ModelFacts:
        del model
        return UNKNOWN

    def window_at_hand(self, model: ModelName) -> int | None:
        del model
        return None
