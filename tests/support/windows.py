"""Models and settings by hand, for tests of sizes and windows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName
from pisessiond.service.settings import FolderSettings
from tests.support.service import HandClock, House, service


@dataclass
class HandModels:
    """Knows what it is told, some of it only when it is looked up and let go on."""

    facts: dict[str, ModelFacts] = field(default_factory=dict)
    """By `provider/model`."""
    slow: set[str] = field(default_factory=set)
    """Those that are not known at once."""
    looked_up: list[str] = field(default_factory=list)
    may_go_on: anyio.Event = field(default_factory=anyio.Event)

    def known(self, model: ModelName) -> ModelFacts | None:
        return None if str(model) in self.slow else self.facts.get(str(model), UNKNOWN)

    def window_at_hand(self, model: ModelName) -> int | None:
        facts = self.known(model)
        return None if facts is None else facts.window

    async def look_up(self, model: ModelName) -> ModelFacts:
        self.looked_up.append(str(model))
        if str(model) in self.slow:
            await self.may_go_on.wait()
        return self.facts.get(str(model), UNKNOWN)


@dataclass
class HandSettings:
    """Says what it is told, and who asked."""

    found: FolderSettings = field(default_factory=FolderSettings)
    asked: list[str] = field(default_factory=list)

    def for_folder(self, cwd: str) -> FolderSettings:
        self.asked.append(cwd)
        return self.found


@dataclass
class Windows:
    """A running service, and what it is told of models and settings."""

    house: House
    models: HandModels
    settings: HandSettings


@asynccontextmanager
async def windows(folder: Path) -> AsyncIterator[Windows]:
    """A service that knows `demo/one` with a window of 1,000 tokens."""
    models = HandModels({"demo/one": ModelFacts(1_000), "demo/two": ModelFacts(50_000)})
    settings, hand = HandSettings(), HandClock()
    hand.surroundings = replace(hand.surroundings, models=models, settings=settings)
    async with service(folder, hand=hand) as house:
        yield Windows(house, models, settings)
