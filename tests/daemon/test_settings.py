"""The daemon and `config.toml`."""

import json
import os
from pathlib import Path

import pytest

from pisessiond.client import blocking
from tests.daemon.homes import Home

pytestmark = pytest.mark.slow


def write(home: Home, text: str) -> None:
    home.state.mkdir(mode=0o700, exist_ok=True)
    (home.state / "config.toml").write_text(text, "utf-8")


def log_of(home: Home) -> str:
    return Path(home.place.log).read_text("utf-8")


def test_the_file_counts_and_options_beat_it(home: Home) -> None:
    write(home, "[daemon]\nidle = 0.3\n")
    with home.popen("serve") as process:
        assert process.wait(20) == 0
    assert "stopping: idle" in log_of(home)
    write(home, "[daemon]\nidle = 3600\n")
    with home.popen("serve", "--idle", "0.3") as process:
        assert process.wait(20) == 0


def test_how_sessions_are_written_is_taken_from_the_file(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PISESSIOND_HOME", "PI_CODING_AGENT_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, home.environment[name])
    write(home, '[sessions]\nflush = "immediate"\n')
    with blocking.connect() as client:
        session = client.create(str(home.folder))
        assert session.path is not None
        assert os.path.exists(session.path)


def test_a_daemon_with_a_faulty_file_runs_as_usual_and_says_so(home: Home) -> None:
    write(home, "[daemon]\nidle = 0.3\nsink = 'always'\n")
    assert home.status()["pid"]
    assert "config.toml: daemon.sink is no setting" in log_of(home)
    told = json.loads(home.run("doctor", "--json", code=1).stdout)
    (finding,) = [one for one in told["findings"] if one["topic"] == "settings"]
    assert "daemon.sink" in finding["message"]
    assert home.run("config", code=1).stdout.startswith("wrong: ")
