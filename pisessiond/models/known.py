"""What is known of models: the user's own word, pi's `models.json`, then genai-prices."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from subprocess import DEVNULL, PIPE
from typing import Any, Final

import anyio
import anyio.to_thread

from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName, Price, PriceTier
from pisessiond.models.pi_models import PiModels
from pisessiond.settings.files import CachedFile, Unreadable

log = logging.getLogger(__name__)
# In a command, which has no log, a window that is unknown says enough.
log.addHandler(logging.NullHandler())

LOOKUP_SECONDS: Final = 20.0
"""A lookup takes a third of a second; on a busy machine many times that."""

PAUSE_SECONDS: Final = 600.0
"""After a lookup that failed, models count as unknown for so long."""

KEPT_DAYS: Final = 7
"""Prices may depend on the day, so that what was kept on disk is asked for anew after these."""

_DAY: Final = 86_400


class KnownModels:
    """Facts from files and from lookups, kept in memory and in a cache file."""

    def __init__(
        self,
        windows: Callable[[], Mapping[str, int]],
        models: CachedFile[PiModels],
        cache_path: str | None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Know nothing yet.

        Args:
            windows: the user's own word, by `provider/model`; without I/O.
            models: pi's models.json.
            cache_path: where lookups are kept; None keeps them in memory alone.
            now: seconds since 1970.
        """
        self._windows = windows
        self._models = models
        self._cache = _CacheFile(cache_path, now)
        self._now = now
        self._found: dict[ModelName, ModelFacts] = {}
        self._failed: dict[ModelName, float] = {}
        """When the last lookup of a model failed."""
        self._asking = anyio.Lock()

    def known(self, model: ModelName) -> ModelFacts | None:
        """What is known at once, without any I/O; None: `look_up` has to be asked."""
        read = self._models.last
        if read is None:
            return None
        base = self._found.get(model)
        if base is None:
            if not self._needs_no_lookup(read, model):
                return None
            base = UNKNOWN
        return self._put_together(read, model, base)

    async def look_up(self, model: ModelName) -> ModelFacts:
        """What can be found out; `UNKNOWN` when nothing can. Never raises, may take a second."""
        await anyio.to_thread.run_sync(self.refresh)
        if (facts := self.known(model)) is not None:
            return facts
        async with self._asking:
            # Whoever waited here may find that the other one asked for the same, and failed.
            if model not in self._found and not self._has_failed(model):
                base = await anyio.to_thread.run_sync(self._cache.find, model)
                if base is None:
                    base = await self._ask(model)
                if base is not None:
                    self._found[model] = base
        base = self._found.get(model, UNKNOWN)
        return self._put_together(self._models.last or PiModels(), model, base)

    def window_at_hand(self, model: ModelName) -> int | None:
        """The window of a model that was looked up once or is named in a file; it looks nothing up.

        It may read files, so it belongs in a worker; never raises.
        """
        if self._models.last is None:
            self.refresh()
        base = self._found.get(model) or self._cache.find(model, may_be_old=True) or UNKNOWN
        return self._put_together(self._models.last or PiModels(), model, base).window

    def refresh(self) -> None:
        """Look whether models.json changed. It reads, so it belongs in a worker; never raises."""
        # What cannot be read changes nothing of what is known; `config` says why.
        with suppress(Unreadable):
            self._models.look()

    def _needs_no_lookup(self, read: PiModels, model: ModelName) -> bool:
        if read.is_complete(model.provider, model.model):
            return True
        return self._has_failed(model)

    def _has_failed(self, model: ModelName) -> bool:
        failed = self._failed.get(model)
        return failed is not None and self._now() - failed < PAUSE_SECONDS

    def _put_together(self, read: PiModels, model: ModelName, base: ModelFacts) -> ModelFacts:
        facts = read.facts(model.provider, model.model, base)
        window = self._windows().get(str(model))
        return facts if window is None else replace(facts, window=window)

    async def _ask(self, model: ModelName) -> ModelFacts | None:
        """What genai-prices knows; None when it could not be asked."""
        try:
            with anyio.fail_after(LOOKUP_SECONDS):
                output = await _look_up(json.dumps([[model.provider, model.model]]).encode())
            (answer,) = json.loads(output)
            facts = facts_from(answer)
        except Exception as error:  # noqa: BLE001 - a program that is none of ours may do anything
            log.warning("the facts of a model cannot be looked up: %s", type(error).__name__)
            self._failed[model] = self._now()
            return None
        await anyio.to_thread.run_sync(partial(self._cache.keep, model, answer))
        return facts


async def _look_up(models: bytes) -> bytes:
    """What `lookup` prints for these."""
    # Starting is not cut short: asyncio would leave a process that it is starting to nobody.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            [sys.executable, "-P", "-m", "pisessiond.models.lookup"],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            start_new_session=True,
        )
    async with process:
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdin.send(models)
        await process.stdin.aclose()
        return b"".join([part async for part in process.stdout])


def facts_from(answer: Mapping[str, Any]) -> ModelFacts:
    """The facts in an answer of `lookup`."""
    price = answer["price"]
    return ModelFacts(
        window=answer["window"],
        price=None
        if price is None
        else Price(
            price["input"],
            price["output"],
            price["cacheRead"],
            price["cacheWrite"],
            tuple(
                PriceTier(
                    one["above"], one["input"], one["output"], one["cacheRead"], one["cacheWrite"]
                )
                for one in price["tiers"]
            ),
        ),
    )


class _CacheFile:
    """Answers of lookups on disk, for one version of genai-prices. It blocks."""

    def __init__(self, path: str | None, now: Callable[[], float]) -> None:
        self._path = path
        self._now = now
        self._kept: dict[str, Any] | None = None
        """By `provider/model`: the answer and the time it is from."""

    def find(self, model: ModelName, *, may_be_old: bool = False) -> ModelFacts | None:
        """What was kept of a model; for windows, which do not change, of any day."""
        kept = self._load().get(str(model))
        try:
            if kept is None:
                return None
            if not may_be_old and not 0 <= self._now() - kept["at"] < KEPT_DAYS * _DAY:
                return None
            return facts_from(kept["facts"])
        except (KeyError, TypeError):
            return None

    def keep(self, model: ModelName, answer: Mapping[str, Any]) -> None:
        kept = self._load()
        kept[str(model)] = {"at": self._now(), "facts": answer}
        if self._path is None:
            return
        text = json.dumps({"version": _version(), "models": kept})
        part = f"{self._path}.{os.getpid()}"
        # Whatever goes wrong with a cache costs time and nothing else.
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(part, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(part, self._path)

    def _load(self) -> dict[str, Any]:
        if self._kept is None:
            self._kept = self._read()
        return self._kept

    def _read(self) -> dict[str, Any]:
        if self._path is None:
            return {}
        try:
            with open(self._path, encoding="utf-8") as file:
                read = json.load(file)
            return dict(read["models"]) if read["version"] == _version() else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def _version() -> str:
    from importlib.metadata import version

    return version("genai-prices")
