"""The daemon and `config.toml`."""

import json
import os
from pathlib import Path

import pytest

from pisessiond.client import blocking
from tests.daemon.homes import Home
from tests.support.service import answer, user

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


def test_a_program_of_the_settings_writes_the_summary_and_a_change_counts_at_once(
    home: Home,
) -> None:
    entries = [user("Fix the login test. " * 400, "a"), answer("Done. " * 400, "b", "a")]
    entries += [user("And the clock. " * 400, "c", "b"), answer("Done too.", "d", "c")]
    path = str(home.session("s1", entries))
    (home.agent / "settings.json").write_text('{"compaction": {"keepRecentTokens": 10}}', "utf-8")
    write(home, "[summarizers.mine]\nkind = 'command'\nprogram = ['sh', '-c', 'echo 1 by mine']\n")
    listed = json.loads(home.run("summarizers", path, "--json").stdout)
    names = [one["name"] for one in listed["summarizers"]]
    assert "mine" in names
    write(
        home,
        "[summarizer]\nuse = 'other'\n[summarizers.other]\nkind = 'command'\n"
        "program = ['sh', '-c', 'cat > /dev/null; echo 2 by another']\n",
    )
    done = json.loads(home.run("compact", path, "--json").stdout)
    assert done["tokensAfter"] < done["tokensBefore"]
    (compaction,) = [
        entry
        for entry in map(json.loads, Path(path).read_text("utf-8").splitlines())
        if entry["type"] == "compaction"
    ]
    assert "2 by another" in compaction["summary"]


def test_a_setting_that_means_nothing_keeps_a_session_from_being_compacted(home: Home) -> None:
    path = str(home.session("s1", [user("One. " * 400, "a"), answer("Two.", "b", "a")]))
    (home.agent / "settings.json").write_text('{"compaction": {"keepRecentTokens": "10"}}', "utf-8")
    before = Path(path).read_bytes()
    refused = home.run("compact", path, "--summarizer", "extract", code=1)
    assert "settings.json: compaction.keepRecentTokens must be a whole number" in refused.stderr
    assert Path(path).read_bytes() == before
