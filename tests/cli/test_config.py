"""`pisessiond config`: what counts, where it comes from, and what is wrong."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pisessiond.cli.doctor import examine
from pisessiond.cli.main import cli
from tests.support.exports import SAMPLE


class Home:
    """A home, an agent dir and a project, with nothing in them."""

    def __init__(self, folder: Path) -> None:
        self.agent, self.project = folder / "agent", folder / "project"
        self.agent.mkdir()
        (self.project / ".pi").mkdir(parents=True)
        self.ours = folder / "own" / "config.toml"
        self.ours.parent.mkdir(mode=0o700)
        self.env: dict[str, str | None] = {
            name: None for name in os.environ if name.endswith("_KEY") or "proxy" in name.lower()
        }
        self.env |= {
            "HOME": str(folder),
            "PI_CODING_AGENT_DIR": str(self.agent),
            "PISESSIOND_HOME": str(self.ours.parent),
        }

    def run(self, *arguments: str, **environment: str) -> Result:
        asked = ["config", "--cwd", str(self.project), *arguments]
        return CliRunner().invoke(cli, asked, env={**self.env, **environment})

    def told(self, *arguments: str, **environment: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.run(*arguments, "--json", **environment).stdout)
        return answer

    def setting(self, key: str, *arguments: str) -> tuple[Any, str]:
        rows = {one["key"]: one for one in self.told(*arguments)["settings"]}
        return rows[key]["value"], rows[key]["source"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_without_files_everything_is_a_default(home: Home) -> None:
    told = home.told()
    assert {one["source"] for one in told["settings"]} == {"default"}
    assert told["problems"] == told["keys"] == told["environment"] == []
    assert [one["found"] for one in told["files"]] == [False] * 5


def test_a_home_in_the_environment_alone_moves_no_agent_folder(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pisessiond.client.address.home_folder", lambda: str(tmp_path / "true"))
    true = tmp_path / "true" / ".pi" / "agent"
    true.mkdir(parents=True)
    (true / "settings.json").write_text('{"httpProxy": "http://proxy.test"}')
    folder = true / "sessions" / "--w--"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLE, folder / "2026-11-12T13-51-40-000Z_sample.jsonl")
    home.env["PI_CODING_AGENT_DIR"] = None
    assert home.setting("httpProxy")[0] == "http://proxy.test"
    told = CliRunner().invoke(cli, ["stats", "--all", "--json"], env=home.env)
    assert json.loads(told.stdout)["sessions"] == 1


@pytest.mark.parametrize("home", ["true", "other"])
def test_doctor_says_where_pi_goes_by_another_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setattr("pisessiond.client.address.home_folder", lambda: str(tmp_path / "true"))
    monkeypatch.setenv("PISESSIOND_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("HOME", str(tmp_path / home))
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    found = [one for one in examine() if one.topic == "home"]
    assert [one.state for one in found] == ([] if home == "true" else ["note"])
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    assert "home" not in {one.topic for one in examine()}


def test_each_value_names_its_own_file(home: Home) -> None:
    home.ours.write_text("[context]\nwarn = 50\n")
    (home.agent / "settings.json").write_text(
        '{"compaction": {"reserveTokens": 1, "keepRecentTokens": 2}, "httpProxy": "http://a:b@c"}'
    )
    (home.project / ".pi" / "settings.json").write_text(
        '{"compaction": {"keepRecentTokens": 3}, "httpProxy": "http://e", "retry": {"enabled": 0}}'
    )
    assert home.setting("context.warn") == (50, "~/own/config.toml")
    assert home.setting("context.high") == (90, "default")
    assert home.setting("compaction.reserveTokens") == (1, "~/agent/settings.json")
    assert home.setting("compaction.keepRecentTokens") == (3, "~/project/.pi/settings.json")
    assert home.setting("retry.enabled") == (True, "default")
    assert home.setting("httpProxy") == ("http://…@c", "~/agent/settings.json")


def test_a_model_s_overrides_are_told_with_it(home: Home) -> None:
    (home.agent / "settings.json").write_text(
        '{"compaction": {"reserveTokens": 1, "modelOverrides": {"a/b": {"reserveTokens": 5}}}}'
    )
    (home.agent / "models.json").write_text(
        json.dumps(
            {
                "providers": {
                    "a": {
                        "baseUrl": "http://h",
                        "api": "openai-completions",
                        "apiKey": "$A_KEY",
                        "models": [
                            {
                                "id": "b",
                                "contextWindow": 9,
                                "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
                            }
                        ],
                    }
                }
            }
        )
    )
    key = 'compaction.modelOverrides["a/b"].reserveTokens'
    assert home.setting(key, "--model", "a/b") == (5, "~/agent/settings.json")
    model = home.told("--model", "a/b", A_KEY="sk-secret")["model"]
    assert (model["window"], model["windowSource"]) == (9, "models.json")
    assert (model["usable"], model["key"]) == (True, "set, from A_KEY")
    assert home.told("--model", "a/b")["model"]["usable"] is False


def test_keys_are_shown_by_their_places_alone_and_nothing_runs_for_them(
    home: Home, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    (home.agent / "auth.json").write_text(
        json.dumps(
            {
                "anthropic": {"type": "oauth", "access": "sk-1", "refresh": "sk-2", "expires": 5},
                "groq": {"type": "api_key", "key": f"!touch {ran}; echo sk-3"},
                "mistral": {"type": "api_key", "key": "sk-4"},
            }
        )
    )
    answer = home.run("--model", "groq/m", OPENAI_API_KEY="sk-5")
    assert "sk-" not in answer.output
    assert not ran.exists()
    keys = {one["provider"]: one["state"] for one in home.told(OPENAI_API_KEY="sk-5")["keys"]}
    assert keys == {
        "anthropic": "signed in with pi; the summarizer `pi` can use it",
        "groq": "set, from a command of auth.json",
        "mistral": "set, from auth.json",
        "openai": "set, from OPENAI_API_KEY",
    }


@pytest.mark.parametrize(
    ("where", "text", "words"),
    [
        ("ours", "[deamon]\n", "~/own/config.toml: deamon is no setting"),
        ("settings", '{"compaction": 5, "branchSummary": {"reserveTokens": -1}}', "branchSummary"),
        ("settings", '{"retry": {"maxRetries": 0.5}}', "~/agent/settings.json: retry.maxRetries"),
        ("settings", "{", "~/agent/settings.json: the text is no JSON"),
        (
            "settings",
            '{"compaction": {"modelOverrides": {"a/b": 1}}}',
            'compaction.modelOverrides["a/b"] must be an object',
        ),
        ("project", '{"compaction": {"reserveTokens": "x"}}', "~/project/.pi/settings.json"),
        ("models", '{"providers": {"x": {"baseUrl": 5}}}', "~/agent/models.json: providers.x"),
        ("auth", '{"x": "sk-secret"', "auth.json: the text is no JSON object"),
    ],
)
def test_what_means_nothing_is_shown_and_exits_with_1(
    home: Home, where: str, text: str, words: str
) -> None:
    path = {
        "ours": home.ours,
        "settings": home.agent / "settings.json",
        "project": home.project / ".pi" / "settings.json",
        "models": home.agent / "models.json",
        "auth": home.agent / "auth.json",
    }[where]
    path.write_text(text)
    answer = home.run()
    assert answer.exit_code == 1
    assert words in answer.output.splitlines()[0]
    assert "sk-secret" not in answer.output
    assert words in home.told()["problems"][0]["message"]


def test_doctor_tells_of_it_too(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in home.env.items():
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(
            name, value
        )
    monkeypatch.chdir(home.project)
    findings = {one.topic: one for one in examine()}
    assert findings["settings"].state == "ok"
    home.ours.write_text("[context]\nwarn = 'x'\n")
    (finding,) = (one for one in examine() if one.topic == "settings")
    assert finding.state == "trouble"
    assert "context.warn" in finding.message


def test_a_model_is_written_as_sessions_write_it(home: Home) -> None:
    assert home.run("--model", "sonnet").exit_code == 2
