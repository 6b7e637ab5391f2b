"""What all settings files together say for the sessions of a folder.

Of a project's `.pi/settings.json` numbers, switches and the session folder are read, whether or not
pi was told to trust the project: pi would read no more of it for our purposes, and nothing of it
names a program, an address or a key. Those, and `httpProxy`, come from the user's own files alone.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

from pisessiond.core.errors import BadSetting
from pisessiond.core.pi_settings import (
    HTTP_IDLE_MS,
    RetrySettings,
    read_idle_ms,
    read_proxy,
    read_retry_settings,
    read_session_settings,
)
from pisessiond.core.setting_layers import Layer, Merged, read_layer
from pisessiond.service.settings import FolderSettings, Thresholds
from pisessiond.settings.config import Config
from pisessiond.settings.config_file import ConfigFile
from pisessiond.settings.files import CachedFile, Unreadable, unreadable, with_tilde

_FOLDERS: Final = 256
"""Folders whose settings are kept; those not asked for longest go."""

_PROXY_VARIABLES: Final = ("http_proxy", "https_proxy", "all_proxy")

_Read = Layer | BadSetting


T = TypeVar("T")


class _Recent(Generic[T]):
    """What was made for the folders asked for last; safe in several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, folder: str) -> T | None:
        return self._kept.get(folder)

    def keep(self, folder: str, value: T) -> None:
        with self._lock:
            self._kept[folder] = value
            self._kept.move_to_end(folder)
            while len(self._kept) > _FOLDERS:
                self._kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """How models are reached over HTTP."""

    proxy: str | None = None
    """A proxy for all of it; None: those of the environment, if any."""
    connect_seconds: float = 15.0
    idle_seconds: float | None = 300.0
    """How long a server may say nothing; None: as long as it likes."""
    retry: RetrySettings = field(default_factory=RetrySettings)
    problem: BadSetting | None = None
    """The first that means nothing in pi's file; the usual value stands in its place."""


class FileSettings:
    """The settings of one agent dir. All of it reads files, so it belongs in a worker."""

    def __init__(
        self,
        agent_dir: str,
        home: str,
        config: ConfigFile,
        environment: Mapping[str, str],
        also: Callable[[], object] = lambda: None,
    ) -> None:
        """`also` is called at each look, for what else has to notice that files changed."""
        self._home = home
        self._config = config
        self._environment = environment
        self._also = also
        self._global = self._pi_file(agent_dir)
        self._projects = _Recent[CachedFile[_Read]]()
        self._made = _Recent[tuple[tuple[object, ...], FolderSettings]]()

    def for_folder(self, cwd: str) -> FolderSettings:
        """What the files say now for the sessions of `cwd`; never raises."""
        self._also()
        layers = self.layers(cwd)
        config = self._config.look().config
        parts: tuple[object, ...] = (*layers, config)
        known = self._made.get(cwd)
        if known is not None and all(map(_is, known[0], parts)):
            return known[1]
        made = _make_settings(layers, config)
        self._made.keep(cwd, (parts, made))
        return made

    def layers(self, cwd: str) -> list[_Read]:
        """The layers of pi's files, the project's first; of an unusable one what is wrong."""
        return [self._read(file) for file in (self._project(cwd), self._global) if file is not None]

    def config(self) -> Config:
        """Our own settings now."""
        return self._config.look().config

    def http(self) -> HttpSettings:
        """How models are reached: our own settings, then pi's global ones."""
        ours = self.config().http
        read = self._read(self._global)
        problems = [read] if isinstance(read, BadSetting) else []
        merged = Merged([] if isinstance(read, BadSetting) else [read])

        def sound(ask: Callable[[Merged], T], usual: T) -> T:
            try:
                return ask(merged)
            except BadSetting as error:
                problems.append(error)
                return usual

        retry = sound(read_retry_settings, RetrySettings())
        idle = sound(read_idle_ms, HTTP_IDLE_MS)
        pis_proxy = sound(read_proxy, None)
        return HttpSettings(
            proxy=ours.proxy or (None if self._has_proxy() else pis_proxy),
            connect_seconds=ours.connect_seconds,
            idle_seconds=ours.idle_seconds or (idle / 1000 or None),
            retry=retry,
            problem=next(iter(problems), None),
        )

    def _has_proxy(self) -> bool:
        lower = {name.lower() for name, value in self._environment.items() if value}
        return any(name in lower for name in _PROXY_VARIABLES)

    def _project(self, cwd: str) -> CachedFile[_Read] | None:
        if not os.path.isabs(cwd):
            # A header may say anything; where we happen to stand is no project.
            return None
        known = self._projects.get(cwd)
        if known is None:
            known = self._pi_file(os.path.join(cwd, ".pi"))
        self._projects.keep(cwd, known)
        return known

    def _pi_file(self, folder: str) -> CachedFile[_Read]:
        path = os.path.join(folder, "settings.json")
        shown = with_tilde(path, self._home)

        def parse(text: str | None) -> _Read:
            try:
                return read_layer(text, shown)
            except BadSetting as error:
                return error

        return CachedFile(path, parse)

    def _read(self, file: CachedFile[_Read]) -> _Read:
        try:
            return file.look()
        except Unreadable as error:
            return unreadable(with_tilde(file.path, self._home), error)


def _make_settings(layers: list[_Read], config: Config) -> FolderSettings:
    problem = next((one for one in layers if isinstance(one, BadSetting)), None)
    found = read_session_settings(Merged([one for one in layers if isinstance(one, Layer)]))
    own = FolderSettings(
        thresholds=Thresholds(config.context.warn, config.context.high),
        compacts_automatically=config.compaction.automatic,
    )
    if (problem := problem or found.problem) is not None:
        return replace(own, problem=problem)
    return replace(
        own,
        compaction=found.compaction,
        branch_reserve_tokens=found.branch_reserve_tokens,
        skip_branch_prompt=found.skip_branch_prompt,
    )


def _is(one: object, other: object) -> bool:
    return one is other
