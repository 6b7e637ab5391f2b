"""pi's settings: what is merged, what falls back, and how a fault is named."""

import pytest

from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.errors import BadSetting
from pisessiond.core.pi_settings import CompactionTable, Override, read_session_settings
from pisessiond.core.setting_layers import Merged, read_layer


def merged(project: str, user: str) -> Merged:
    return Merged([read_layer(project, "project"), read_layer(user, "user")])


def test_each_value_of_an_override_falls_back_on_its_own() -> None:
    table = CompactionTable(
        CompactionSettings(reserve_tokens=1, keep_recent_tokens=2),
        {"a/b": Override(reserve_tokens=5), "a/c": Override(keep_recent_tokens=0)},
    )
    assert table.resolve("a/b") == CompactionSettings(reserve_tokens=5, keep_recent_tokens=2)
    assert table.resolve("a/c") == CompactionSettings(reserve_tokens=1, keep_recent_tokens=0)
    assert table.resolve("A/b") == table.resolve(None) == table.default


def test_an_override_may_come_from_both_files() -> None:
    found = read_session_settings(
        merged(
            '{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": 1}}}}',
            '{"compaction": {"modelOverrides": {"a/b": {"keepRecentTokens": 2}, "x/y": {}}}}',
        )
    )
    assert found.compaction.overrides == {"a/b": Override(1, 2), "x/y": Override()}


@pytest.mark.parametrize("hiding", ["null", "[]", '"x"', "5"])
def test_what_is_no_object_hides_what_stands_below_it(hiding: str) -> None:
    found = merged(f'{{"compaction": {hiding}}}', '{"compaction": {"reserveTokens": 1}}')
    assert read_session_settings(found).compaction.default == CompactionSettings()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"compaction": {"reserveTokens": -1}}', "compaction.reserveTokens"),
        ('{"compaction": {"keepRecentTokens": 9007199254740992}}', "compaction.keepRecentTokens"),
        ('{"compaction": {"keepRecentTokens": null}}', "compaction.keepRecentTokens"),
        ('{"compaction": {"keepRecentTokens": true}}', "compaction.keepRecentTokens"),
        ('{"branchSummary": {"reserveTokens": 0.5}}', "branchSummary.reserveTokens"),
    ],
)
@pytest.mark.parametrize("place", ["project", "user"])
def test_a_fault_names_file_and_key(text: str, key: str, place: str) -> None:
    found = read_session_settings(merged(*((text, "") if place == "project" else ("", text))))
    assert found.problem is not None
    assert (found.problem.file, found.problem.key) == (place, key)
    assert found.compaction.default == CompactionSettings()


def test_a_fault_that_the_project_covers_is_none() -> None:
    found = merged('{"compaction": {"reserveTokens": 1}}', '{"compaction": {"reserveTokens": "x"}}')
    assert read_session_settings(found).problem is None


def test_a_bad_override_is_a_problem_of_its_model_alone() -> None:
    found = read_session_settings(
        merged("", '{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": "x"}}}}')
    )
    assert found.problem is None
    assert found.compaction.problem_with("a/c") is None
    problem = found.compaction.problem_with("a/b")
    assert problem is not None
    assert problem.key == 'compaction.modelOverrides["a/b"].reserveTokens'


def test_a_long_value_is_not_repeated_whole() -> None:
    problem = read_session_settings(
        merged("", '{"compaction": {"reserveTokens": "%s"}}' % ("x" * 500))
    ).problem
    assert len(str(problem)) < 200


@pytest.mark.parametrize("text", ["{", "5", "null", '"x"', "{} {}", "{'a': 1}", '{"a": NaN}'])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(BadSetting) as refusal:
        read_layer(text, "~/settings.json")
    assert refusal.value.file == "~/settings.json"


def test_deep_nesting_is_refused_like_what_is_no_json() -> None:
    with pytest.raises(BadSetting):
        read_layer('{"a":' + "[" * 100_000, "x")
