"""The bridge among pi's packages: added and taken away as pi does it, by pi or without one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pisessiond.cli.doctor import Finding, connected_pis, examine
from pisessiond.cli.pi_package import (
    CannotInstall,
    install,
    installed_folders,
    package_folder,
    uninstall,
)
from tests.support.pi import PI_PACKAGE, node_path

SETTINGS: dict[str, Any] = {"theme": "dark", "packages": ["npm:pi-other"], "quietStartup": True}


@pytest.fixture
def agent_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(SETTINGS))
    return folder


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


@pytest.fixture
def real_pi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real pi is."""
    script = tmp_path / "bin" / "pi"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{node_path()}" "{PI_PACKAGE}/dist/cli.js" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_TELEMETRY", "0")
    monkeypatch.setenv("PI_SKIP_VERSION_CHECK", "1")


def settings(agent_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((agent_dir / "settings.json").read_text())
    return found


def check_round(agent_dir: Path) -> None:
    """Installed once however often, and gone as if it had never been."""
    folder = package_folder()
    assert installed_folders(str(agent_dir)) == []

    install(str(agent_dir), folder)
    assert install(str(agent_dir), folder) == "nothing"

    relative = os.path.relpath(folder, os.path.realpath(agent_dir))
    assert settings(agent_dir) == {**SETTINGS, "packages": ["npm:pi-other", relative]}
    assert installed_folders(str(agent_dir)) == [folder]
    assert uninstall(str(agent_dir), folder)
    assert not uninstall(str(agent_dir), folder)
    assert settings(agent_dir) == SETTINGS


@pytest.mark.usefixtures("alone")
def test_without_pi_the_list_of_packages_is_changed_and_nothing_else(agent_dir: Path) -> None:
    check_round(agent_dir)


@pytest.mark.slow
@pytest.mark.usefixtures("real_pi")
def test_with_pi_it_is_pi_that_changes_it(agent_dir: Path) -> None:
    check_round(agent_dir)


@pytest.mark.usefixtures("alone")
def test_without_settings_there_are_some(tmp_path: Path) -> None:
    install(str(tmp_path / "agent"), package_folder())

    assert list(settings(tmp_path / "agent")) == ["packages"]


@pytest.mark.usefixtures("alone")
def test_another_copy_of_the_bridge_makes_room(agent_dir: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "package.json").write_text('{"name": "pi-pisession"}')
    packages = [{"source": str(old), "skills": []}]
    (agent_dir / "settings.json").write_text(json.dumps({"packages": packages}))
    assert installed_folders(str(agent_dir)) == [old]

    install(str(agent_dir), package_folder())

    assert installed_folders(str(agent_dir)) == [package_folder()]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("text", ["{", "[]"])
def test_settings_that_are_none_stay_as_they_are(agent_dir: Path, text: str) -> None:
    (agent_dir / "settings.json").write_text(text)

    with pytest.raises(CannotInstall):
        install(str(agent_dir), package_folder())

    assert (agent_dir / "settings.json").read_text() == text


# What doctor says of it


def examined(agent_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Finding:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(agent_dir))
    return next(one for one in examine() if one.topic == "bridge")


@pytest.mark.usefixtures("alone")
def test_doctor_says_whether_pi_loads_it(agent_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = examined(agent_dir, monkeypatch)
    install(str(agent_dir), package_folder())
    after = examined(agent_dir, monkeypatch)

    assert (before.state, before.message) == ("note", "pi does not load the bridge")
    assert before.remedy is not None
    assert before.remedy.endswith("pisessiond pi install")
    assert after.state == "ok"
    assert str(package_folder()) in after.message


@pytest.mark.usefixtures("alone")
def test_doctor_goes_on_where_pi_has_no_settings_to_read(
    agent_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (agent_dir / "settings.json").write_text("{")
    assert examined(agent_dir, monkeypatch).state == "note"


def test_doctor_names_the_pi_that_are_connected() -> None:
    shown = {"pid": 7, "version": "1.6.0", "state": "idle", "drives": False}
    assert connected_pis([]).message == "none is connected"
    assert connected_pis([shown]).message == "connected: process 7 (pi 1.6.0, idle, only watched)"
