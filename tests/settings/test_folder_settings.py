"""What all settings files together say for a folder."""

import os
from pathlib import Path

import pytest

from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.errors import BadSetting
from pisessiond.models.base import ModelName
from pisessiond.settings import files
from pisessiond.settings.config_file import ConfigFile
from pisessiond.settings.folder_settings import FileSettings

MODEL = ModelName("a", "b")


class Home:
    """A home with an agent dir, a project and our own file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agent = folder / "agent"
        self.project = folder / "project"
        (self.project / ".pi").mkdir(parents=True)
        self.agent.mkdir()

    def settings(self, **environment: str) -> FileSettings:
        config = ConfigFile(str(self.folder / "config.toml"), "~/config.toml")
        return FileSettings(str(self.agent), str(self.folder), config, environment)

    def globally(self, text: str) -> None:
        (self.agent / "settings.json").write_text(text)

    def in_project(self, text: str) -> None:
        (self.project / ".pi" / "settings.json").write_text(text)

    def ours(self, text: str) -> None:
        (self.folder / "config.toml").write_text(text)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_without_files_all_is_as_usual(home: Home) -> None:
    found = home.settings().for_folder(str(home.project))
    assert found.problem is None
    assert found.compaction_for(MODEL) == CompactionSettings()
    assert (found.thresholds.warn, found.thresholds.high) == (70, 90)
    assert found.compacts_automatically is False


def test_the_project_stands_over_the_user(home: Home) -> None:
    home.globally('{"compaction": {"reserveTokens": 1, "keepRecentTokens": 2}}')
    home.in_project('{"compaction": {"keepRecentTokens": 3}}')
    settings = home.settings()
    found = settings.for_folder(str(home.project)).compaction_for(MODEL)
    assert (found.reserve_tokens, found.keep_recent_tokens) == (1, 3)
    elsewhere = settings.for_folder(str(home.folder)).compaction_for(MODEL)
    assert (elsewhere.reserve_tokens, elsewhere.keep_recent_tokens) == (1, 2)


def test_our_own_file_says_when_a_size_is_large_and_who_begins(home: Home) -> None:
    home.ours("[context]\nwarn = 40\nhigh = 50\n[compaction]\nautomatic = true\n")
    found = home.settings().for_folder(str(home.project))
    assert (found.thresholds.warn, found.thresholds.high) == (40, 50)
    assert found.compacts_automatically is True


def test_each_change_counts_at_the_next_look(home: Home) -> None:
    settings = home.settings()
    folder = str(home.project)
    assert settings.for_folder(folder).skip_branch_prompt is False
    home.globally('{"branchSummary": {"skipPrompt": true}}')
    assert settings.for_folder(folder).skip_branch_prompt is True
    home.in_project('{"branchSummary": {"skipPrompt": false, "reserveTokens": 9}}')
    assert settings.for_folder(folder).skip_branch_prompt is False
    assert settings.for_folder(folder).branch_reserve_tokens == 9
    home.ours("[context]\nwarn = 1\n")
    assert settings.for_folder(folder).thresholds.warn == 1


def test_looking_again_reads_no_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.globally("{}")
    home.in_project("{}")
    settings = home.settings()
    first = settings.for_folder(str(home.project))
    monkeypatch.setattr(files, "read_text", lambda *_, **__: pytest.fail("a file was read"))
    assert settings.for_folder(str(home.project)) is first


def test_a_value_that_means_nothing_names_file_and_key(home: Home) -> None:
    home.globally('{"compaction": {"reserveTokens": -1}}')
    problem = home.settings().for_folder(str(home.project)).problem
    assert problem is not None
    assert (problem.file, problem.key) == ("~/agent/settings.json", "compaction.reserveTokens")
    home.in_project('{"compaction": {"reserveTokens": "x"}}')
    problem = home.settings().for_folder(str(home.project)).problem
    assert problem is not None
    assert problem.file == "~/project/.pi/settings.json"
    assert str(problem) == (
        "~/project/.pi/settings.json: compaction.reserveTokens must be a whole number from 0 to "
        '9007199254740991, and is "x"; correct it.'
    )


def test_a_bad_override_keeps_its_own_model_alone_from_being_compacted(home: Home) -> None:
    home.globally('{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": 0.5}}}}')
    found = home.settings().for_folder(str(home.project))
    assert found.problem is None
    assert found.problem_for(ModelName("A", "b")) is None
    problem = found.problem_for(MODEL)
    assert problem is not None
    assert problem.key == 'compaction.modelOverrides["a/b"].reserveTokens'


def test_what_is_no_json_is_a_problem_of_its_file(home: Home) -> None:
    home.in_project("{")
    problem = home.settings().for_folder(str(home.project)).problem
    assert isinstance(problem, BadSetting)
    assert str(problem).startswith("~/project/.pi/settings.json: the text is no JSON")


def test_what_cannot_be_read_is_a_problem_of_its_file(home: Home) -> None:
    os.mkfifo(home.project / ".pi" / "settings.json")
    problem = home.settings().for_folder(str(home.project)).problem
    assert str(problem) == "~/project/.pi/settings.json: the file is no file; move it away."


@pytest.mark.parametrize("cwd", ["", "here", "\0", "/nowhere/at/all", "~"])
def test_a_folder_that_is_none_has_the_user_s_settings(home: Home, cwd: str) -> None:
    home.globally('{"compaction": {"reserveTokens": 5}}')
    found = home.settings().for_folder(cwd)
    assert (found.problem, found.compaction_for(None).reserve_tokens) == (None, 5)


# Over HTTP


def test_a_project_has_no_say_in_how_models_are_reached(home: Home) -> None:
    home.in_project('{"httpProxy": "http://evil:1", "httpIdleTimeoutMs": 1, "retry": null}')
    home.globally('{"httpProxy": " http://mine:1 ", "httpIdleTimeoutMs": "disabled"}')
    settings = home.settings()
    settings.for_folder(str(home.project))
    found = settings.http()
    assert (found.proxy, found.idle_seconds, found.problem) == ("http://mine:1", None, None)


def test_the_environment_s_proxy_beats_pi_s_and_ours_beats_both(home: Home) -> None:
    home.globally('{"httpProxy": "http://pi:1"}')
    assert home.settings(https_proxy="http://env:1").http().proxy is None
    home.ours('[http]\nproxy = "http://ours:1"\nidle_seconds = 2\n')
    found = home.settings(https_proxy="http://env:1").http()
    assert (found.proxy, found.idle_seconds) == ("http://ours:1", 2)


@pytest.mark.parametrize("proxy", ["5", "false", "[]"])
def test_a_proxy_that_is_no_text_is_told_and_none_is_used(home: Home, proxy: str) -> None:
    home.globally(f'{{"httpProxy": {proxy}, "httpIdleTimeoutMs": 5000}}')
    for environment in ({}, {"https_proxy": "http://env:1"}):
        found = home.settings(**environment).http()
        assert (found.proxy, found.idle_seconds) == (None, 5)
        assert found.problem is not None
        assert found.problem.key == "httpProxy"


def test_a_bad_number_of_retries_is_told_and_the_usual_one_counts(home: Home) -> None:
    home.globally('{"retry": {"maxRetries": "many"}}')
    found = home.settings().http()
    assert found.retry.max_retries == 3
    assert found.problem is not None
    assert found.problem.key == "retry.maxRetries"
