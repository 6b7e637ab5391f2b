"""Where sessions are looked for and made: pi's precedence, from one place.

The client's own wish beats `PI_CODING_AGENT_SESSION_DIR`, which beats the setting `sessionDir` of
the project, which beats the user's; else each working directory has a folder of its own below the
agent dir (pi 1.6.0: `main`, `getDefaultSessionDir`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pisessiond.core.headers import folder_name

ReadText = Callable[[str], str | None]
"""The text of a small file; None when it is not there or not readable."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of session files."""

    path: str
    is_shared: bool
    """It holds the sessions of all working directories, so that headers must be looked at."""


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one agent dir."""

    agent_dir: str
    home: str
    environment: Mapping[str, str]
    read_text: ReadText

    @property
    def sessions_dir(self) -> str:
        """The folder with one folder for each working directory."""
        return os.path.join(self.agent_dir, "sessions")

    def folder_for(self, cwd: str, wished: str | None = None) -> Folder:
        """Where the sessions of `cwd` are; `wished` is the client's own session dir."""
        default = os.path.join(self.sessions_dir, folder_name(cwd))
        chosen = wished or self.environment.get("PI_CODING_AGENT_SESSION_DIR")
        chosen = chosen or self._session_dir_setting(cwd)
        if not chosen:
            return Folder(default, is_shared=False)
        path = os.path.normpath(os.path.join(cwd, self._expand(chosen)))
        return Folder(path, is_shared=path != default)

    @property
    def shared_folder(self) -> str | None:
        """The folder that holds the sessions of every working directory; None without one.

        Of a relative one there is one for each working directory, so that it is none of these.
        """
        chosen = self.environment.get("PI_CODING_AGENT_SESSION_DIR")
        chosen = self._expand(chosen or self._setting(self.agent_dir) or "")
        return os.path.normpath(chosen) if os.path.isabs(chosen) else None

    def _session_dir_setting(self, cwd: str) -> str | None:
        for folder in (os.path.join(cwd, ".pi"), self.agent_dir):
            if found := self._setting(folder):
                return found
        return None

    def _setting(self, folder: str) -> str | None:
        found = _member(self.read_text(os.path.join(folder, "settings.json")), "sessionDir")
        return found if isinstance(found, str) and found else None

    def _expand(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            return self.home + path[1:]
        return path


def _member(text: str | None, name: str) -> Any:
    if text is None:
        return None
    try:
        settings = json.loads(text)
    except ValueError:
        return None
    return settings.get(name) if isinstance(settings, dict) else None
