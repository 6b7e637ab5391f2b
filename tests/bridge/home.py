"""A user of its own for each pi: home, agent folder, model; nothing of the machine's."""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.pi import PI_PACKAGE, node_path

ROOT: Final = Path(__file__).resolve().parents[2]
BRIDGE: Final = ROOT / "clients" / "pi"


@dataclass(frozen=True)
class PiHome:
    """Where pi and the daemon keep what is theirs."""

    folder: Path

    @property
    def agent_dir(self) -> Path:
        return self.folder / "agent"

    @property
    def project(self) -> Path:
        """Where pi works."""
        return self.folder / "project"

    @property
    def sessions(self) -> Path:
        return self.folder / "sessions"

    @property
    def state(self) -> Path:
        """The state folder of the daemon for this agent folder."""
        name = hashlib.sha256(os.fsencode(os.path.realpath(self.agent_dir))).hexdigest()[:12]
        return self.folder / "state" / name

    def environment(self, **more: str) -> dict[str, str]:
        """All that pi is given; nothing of who runs the tests."""
        return {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLUMNS": "110",
            "LINES": "40",
            "PI_CODING_AGENT_DIR": str(self.agent_dir),
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
            "PI_SKIP_VERSION_CHECK": "1",
            "PISESSIOND_HOME": str(self.folder / "state"),
            **more,
        }

    def command(self, *options: str, package: Path = PI_PACKAGE, bridge: bool = True) -> list[str]:
        """How pi is run."""
        program = [str(node_path()), str(package / "dist" / "cli.js")]
        if (bundled := package / "dist" / "bundle" / "cli.js").exists():
            program[1] = str(bundled)
        extension = ["-e", str(BRIDGE)] if bridge else []
        return [*program, "--session-dir", str(self.sessions), *extension, *options]


@contextmanager
def pi_home(model_url: str) -> Iterator[PiHome]:
    """A home that is gone afterwards. Its path is short, as that of a socket has to be."""
    with tempfile.TemporaryDirectory(prefix="pb-") as name:
        home = PiHome(Path(name))
        for folder in (home.agent_dir, home.project, home.sessions):
            folder.mkdir()
        home.state.mkdir(parents=True, mode=0o700)
        home.state.parent.chmod(0o700)
        settings = {"defaultProvider": "loop", "defaultModel": "m", "quietStartup": True}
        settings |= {"compaction": {"enabled": False, "keepRecentTokens": 200}}
        settings |= {"retry": {"enabled": False}}
        (home.agent_dir / "settings.json").write_text(json.dumps(settings))
        model = {"id": "m", "contextWindow": 128_000, "maxTokens": 4_000}
        provider = {"baseUrl": model_url, "api": "openai-completions", "apiKey": "none"}
        models = {"providers": {"loop": provider | {"models": [model]}}}
        (home.agent_dir / "models.json").write_text(json.dumps(models))
        yield home
