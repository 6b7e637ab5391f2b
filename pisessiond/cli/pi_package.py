"""The bridge package among pi's own: whether it is installed, and installing it as pi does.

Only the list `packages` in pi's user settings is touched: by pi itself where pi is found, else by
hand in the way pi does it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from pisessiond.client.errors import ClientError

_PI_SECONDS: Final = 120.0


class CannotInstall(ClientError):
    """pi's settings could not be changed; they are as before."""


def package_folder() -> Path:
    """The folder of the package: beside this program, or in the checkout it runs from.

    Raises:
        CannotInstall: it is in neither.
    """
    inside = Path(__file__).resolve().parents[1]
    for folder in (inside / "pi_package", inside.parent / "clients" / "pi"):
        if (folder / "package.json").is_file():
            return folder
    raise CannotInstall("the bridge is not part of this installation; install pisessiond anew")


def package_version(folder: Path) -> str:
    """The version of the package in a folder."""
    found = json.loads((folder / "package.json").read_text("utf-8"))
    return str(found.get("version", "?"))


def installed_folders(agent_dir: str) -> list[Path]:
    """The bridge packages that pi's user settings name, this one or others, as real paths."""
    found = []
    for source in _packages(_settings(agent_dir)):
        path = _path_of(agent_dir, source)
        if path is not None and _is_bridge(path):
            found.append(path)
    return found


def install(agent_dir: str, folder: Path) -> str:
    """Name the package in pi's user settings; who did it, for people.

    Raises:
        CannotInstall: pi refused, or its settings cannot be read or written.
    """
    others = [one for one in installed_folders(agent_dir) if one != folder]
    for other in others:
        uninstall(agent_dir, other)
    if folder in installed_folders(agent_dir):
        return "nothing"
    if (program := shutil.which("pi")) is not None:
        _run(program, "install", agent_dir, folder)
        return program
    settings = _settings(agent_dir)
    relative = os.path.relpath(folder, os.path.realpath(agent_dir))
    settings["packages"] = [*_packages(settings), relative]
    _write(agent_dir, settings)
    return "pisessiond"


def uninstall(agent_dir: str, folder: Path) -> bool:
    """Take the package out of pi's user settings; whether it was there.

    Raises:
        CannotInstall: pi refused, or its settings cannot be read or written.
    """
    if folder not in installed_folders(agent_dir):
        return False
    if (program := shutil.which("pi")) is not None:
        _run(program, "remove", agent_dir, folder)
        return True
    settings = _settings(agent_dir)
    settings["packages"] = [
        one for one in _packages(settings) if _path_of(agent_dir, one) != folder
    ]
    _write(agent_dir, settings)
    return True


def _run(program: str, command: str, agent_dir: str, folder: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the user's own
            [program, command, str(folder)],
            env={**os.environ, "PI_CODING_AGENT_DIR": agent_dir, "PI_OFFLINE": "1"},
            capture_output=True,
            text=True,
            timeout=_PI_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(f"{program} {command} did not work: {error}") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()[-1]
        raise CannotInstall(f"{program} {command} was refused: {said}")


def _settings_file(agent_dir: str) -> Path:
    return Path(agent_dir) / "settings.json"


def _settings(agent_dir: str) -> dict[str, Any]:
    path = _settings_file(agent_dir)
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CannotInstall(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise CannotInstall(f"{path} holds no settings")
    return found


def _packages(settings: dict[str, Any]) -> list[Any]:
    found = settings.get("packages")
    return found if isinstance(found, list) else []


def _path_of(agent_dir: str, source: Any) -> Path | None:
    """The folder that an entry of `packages` names; None for one that is fetched from elsewhere."""
    if isinstance(source, dict):
        source = source.get("source")
    if not isinstance(source, str) or source.startswith(("npm:", "git:", "http:", "https:")):
        return None
    return Path(os.path.realpath(os.path.join(os.path.realpath(agent_dir), source)))


def _is_bridge(folder: Path) -> bool:
    try:
        found = json.loads((folder / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("name") == "pi-pisession"


def _write(agent_dir: str, settings: dict[str, Any]) -> None:
    """All or nothing; a link stays a link."""
    path = Path(os.path.realpath(_settings_file(agent_dir)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".settings-", delete=False
        ) as file:
            file.write(json.dumps(settings, indent=2, ensure_ascii=False))
        if path.exists():
            shutil.copymode(path, file.name)
        os.replace(file.name, path)
    except OSError as error:
        raise CannotInstall(f"{path} cannot be written: {error}") from error
