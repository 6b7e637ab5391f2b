"""Programs of different builds and protocols meet."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from pisessiond.client import blocking
from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.errors import RpcFailure
from pisessiond.client.starting import reach_daemon
from pisessiond.protocol.build import is_older
from tests.daemon.homes import Home

pytestmark = pytest.mark.slow

OLD, NEW = "0.0.1", "9.0.0"


def of_build(home: Home, build: str) -> dict[str, str]:
    return home.environment | {"PISESSIOND_TEST_BUILD": build}


def status(home: Home, build: str) -> tuple[dict[str, Any], str]:
    """What the daemon says to a client of a build, and what that one says beside it."""
    done: subprocess.CompletedProcess[str] = home.run("status", "--json", env=of_build(home, build))
    told: dict[str, Any] = json.loads(done.stdout)
    return told, done.stderr


@pytest.fixture(autouse=True)
def at_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PISESSIOND_HOME", "PI_CODING_AGENT_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, home.environment[name])


@pytest.mark.parametrize(
    ("older", "newer"),
    [("0.1.0", "0.2.0"), ("0.9", "0.10"), ("1.0rc1", "1.0"), ("1.0.dev3", "1.0"), ("1", "1.0.1")],
)
def test_builds_have_an_order(older: str, newer: str) -> None:
    assert is_older(older, newer)
    assert not is_older(newer, older)
    assert not is_older(older, older)


def test_what_is_no_version_is_neither_older_nor_newer() -> None:
    assert not is_older("unknown", "1.0")
    assert not is_older("1.0", "unknown")
    assert not is_older("1.0", "1.0.0")


def test_a_newer_client_replaces_an_idle_older_daemon(home: Home) -> None:
    first, _ = status(home, OLD)
    assert first["version"] == OLD
    second, said = status(home, NEW)
    assert second["version"] == NEW
    assert second["pid"] != first["pid"]
    assert said == ""


def test_an_older_client_uses_a_newer_daemon(home: Home) -> None:
    first, _ = status(home, NEW)
    second, said = status(home, OLD)
    assert (second["pid"], said) == (first["pid"], "")


def test_a_busy_older_daemon_runs_on_and_the_client_says_so(home: Home) -> None:
    first, _ = status(home, OLD)
    with blocking.connect(home.place.own_socket, name="editor"):
        second, said = status(home, NEW)
        assert second["pid"] == first["pid"]
        assert f"the daemon is of build {OLD} and this program of {NEW}" in said
        assert "(editor)" in said
    third, said = status(home, NEW)
    assert third["pid"] != first["pid"]
    assert said == ""


def test_entries_on_no_disk_keep_an_older_daemon_running(home: Home) -> None:
    first, _ = status(home, OLD)
    with blocking.connect(home.place.own_socket) as client:
        made = client.create("/srv", store="memory")
        made.append({"type": "custom", "customType": "a"})
    second, said = status(home, NEW)
    assert second["pid"] == first["pid"]
    assert "not on disk yet" in said


def test_the_highest_common_protocol_is_used_or_all_are_listed(home: Home) -> None:
    def initialize(versions: list[int]) -> Any:
        connection = BlockingConnection(reach_daemon(home.place))
        try:
            ours = {"protocolVersions": versions, "client": {"id": "c", "name": "n"}}
            params = {"capabilities": {}, "initializationOptions": {"pisessiond": ours}}
            return connection.call("initialize", params)
        finally:
            connection.close()

    newer = initialize([1, 2, 99])
    assert newer["capabilities"]["experimental"]["pisessiond"]["protocolVersion"] == 1
    for versions in ([99], [0], []):
        with pytest.raises(RpcFailure) as refused:
            initialize(versions)
        assert refused.value.kind == "VersionUnsupported"
        assert refused.value.data["supported"] == [1]
        assert "[1]" in refused.value.message
