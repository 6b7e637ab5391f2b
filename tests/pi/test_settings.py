"""pi's settings files mean here what they mean to pi's own SettingsManager."""

import json
import random
from typing import Any

import pytest

from pisessiond.core.errors import BadSetting
from pisessiond.core.pi_settings import (
    read_idle_ms,
    read_proxy,
    read_retry_settings,
    read_session_settings,
)
from pisessiond.core.setting_layers import Merged, read_layer
from tests.support.pi import Pi

pytestmark = pytest.mark.slow

MODELS = ["a/b", "A/b", "a/b/c", "a/", None]

BIG = 2**53

TOKENS = [
    "0",
    "1",
    "1.0",
    "1.5",
    "-0",
    "-1",
    "1e3",
    "1e400",
    str(BIG - 1),
    str(BIG),
    "123456789012345678901234567890",
    "null",
    "true",
    '"20"',
    "[]",
    "{}",
]

TEXTS: list[tuple[str | None, str | None]] = [
    (None, None),
    ("", ""),
    ("{}", None),
    (" {} \n", None),
    ("\ufeff{}", None),
    ("\ufeff\ufeff{}", None),
    ("[]", None),
    ('[{"compaction": {"reserveTokens": 1}}]', None),
    ("null", None),
    ("5", None),
    ('"text"', None),
    ("{", '{"compaction": {"reserveTokens": 7}}'),
    ('{"compaction": {"reserveTokens": 7}}', "{,}"),
    ('{"compaction": {"reserveTokens": 7} // said\n}', None),
    ('{"compaction": {"reserveTokens": 7},}', None),
    ('{"compaction": {"reserveTokens": 1, "reserveTokens": 2}}', None),
    ('{"compaction": {"reserveTokens": 1}}', '{"compaction": {"keepRecentTokens": 2}}'),
    ('{"compaction": {"reserveTokens": 1}}', '{"compaction": {"reserveTokens": 2}}'),
    ('{"compaction": {"reserveTokens": 1}}', '{"compaction": null}'),
    ('{"compaction": {"reserveTokens": 1}}', '{"compaction": []}'),
    ('{"compaction": {"reserveTokens": 1}}', '{"compaction": "x"}'),
    ('{"compaction": []}', '{"compaction": {"reserveTokens": 2}}'),
    ('{"compaction": {"reserveTokens": 1}}', '{"compaction": {"reserveTokens": null}}'),
    ('{"compaction": {"reserveTokens": -1}}', '{"compaction": {"reserveTokens": 2}}'),
    ('{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": 5}}}}', None),
    (
        '{"compaction": {"reserveTokens": 9, "modelOverrides": {"a/b": {"keepRecentTokens": 5}}}}',
        None,
    ),
    (
        '{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": 5, "keepRecentTokens": 6}}}}',
        '{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": 7}}}}',
    ),
    (
        '{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": 5}}}}',
        '{"compaction": {"modelOverrides": {"A/b": {"reserveTokens": 7}}}}',
    ),
    (
        '{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": 5}}}}',
        '{"compaction": {"modelOverrides": null}}',
    ),
    (
        '{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": 5}}}}',
        '{"compaction": {"modelOverrides": {"a/b": null}}}',
    ),
    ('{"compaction": {"modelOverrides": {"a/b": null}}}', None),
    ('{"compaction": {"modelOverrides": {"a/b": false}}}', None),
    ('{"compaction": {"modelOverrides": {"a/b": []}}}', None),
    ('{"compaction": {"modelOverrides": {"a/b": {}}}}', None),
    ('{"compaction": {"modelOverrides": {"a/b/c": {"reserveTokens": 5}}}}', None),
    ('{"compaction": {"modelOverrides": {"a/*": {"reserveTokens": 5}}}}', None),
    ('{"compaction": {"modelOverrides": {"A/b": {"reserveTokens": "x"}}}}', None),
    ('{"compaction": {"modelOverrides": []}}', None),
    ('{"compaction": {"modelOverrides": "a/b"}}', None),
    *[
        ('{"compaction": {"KEY": VALUE}}'.replace("KEY", key).replace("VALUE", value), None)
        for key in ("reserveTokens", "keepRecentTokens")
        for value in TOKENS
    ],
    *[
        (
            '{"compaction": {"modelOverrides": {"a/b": {"keepRecentTokens": VALUE}}}}'.replace(
                "VALUE", value
            ),
            None,
        )
        for value in TOKENS
    ],
    *[
        (
            '{"compaction": {"enabled": VALUE}, "branchSummary": {"skipPrompt": VALUE}}'.replace(
                "VALUE", value
            ),
            None,
        )
        for value in ("true", "false", "null", "0", "1", '""', '"false"', '"yes"', "[]", "{}")
    ],
    ('{"branchSummary": {"reserveTokens": 5}}', '{"branchSummary": {"skipPrompt": true}}'),
    ('{"branchSummary": {"reserveTokens": null}}', None),
    ('{"branchSummary": 5}', None),
    ('{"compaction": 5}', None),
    ('{"compaction": true}', '{"compaction": 5}'),
    ('{"branchSummary": "none"}', '{"branchSummary": []}'),
    ('{"retry": 5}', None),
    ('{"retry": {"enabled": "no", "provider": 5}}', None),
    ('{"retry": {"enabled": false, "maxRetries": 0, "baseDelayMs": 1.5}}', None),
    ('{"retry": {"maxDelayMs": 5}}', None),
    ('{"retry": {"maxDelayMs": 5, "provider": {"maxRetryDelayMs": 6}}}', None),
    ('{"retry": {"maxDelayMs": 5, "provider": {"maxRetryDelayMs": null, "timeoutMs": 1}}}', None),
    ('{"retry": {"maxDelayMs": 5, "provider": "x"}}', None),
    ('{"retry": {"maxDelayMs": "5"}}', None),
    ('{"retry": {"maxDelayMs": 5}}', '{"retry": {"provider": {"maxRetryDelayMs": 7}}}'),
    ('{"retry": {"provider": {"maxRetryDelayMs": 7}}}', '{"retry": {"maxDelayMs": 5}}'),
    ('{"retry": null}', None),
    ('{"httpProxy": "http://one:1"}', '{"httpProxy": "http://two:2"}'),
    *[
        ('{"httpProxy": VALUE}'.replace("VALUE", value), None)
        for value in ("5", "true", "false", "null", '""', '"  "', '" http://one:1 "', "[]", "{}")
    ],
    *[
        ('{"httpIdleTimeoutMs": VALUE}'.replace("VALUE", value), None)
        for value in (
            "0",
            "1.9",
            "-1",
            "null",
            "true",
            "1e400",
            '"disabled"',
            '" DISABLED "',
            '"250"',
            '""',
            '"1_0"',
            '"x"',
            "[]",
        )
    ],
    ('{"httpIdleTimeoutMs": 5}', '{"httpIdleTimeoutMs": null}'),
]


def ours(global_text: str | None, project_text: str | None) -> dict[str, Any]:
    layers, unread = [], []
    for text, scope in ((project_text, "project"), (global_text, "global")):
        try:
            layers.append(read_layer(text, scope))
        except BadSetting:
            unread.append(scope)
    merged = Merged(layers)
    found = read_session_settings(merged)

    def compaction(model: str | None) -> Any:
        problem = found.problem or found.compaction.problem_with(model)
        if problem is not None:
            return {"error": problem.key}
        settings = found.compaction.resolve(model)
        return {
            "enabled": settings.enabled,
            "reserveTokens": settings.reserve_tokens,
            "keepRecentTokens": settings.keep_recent_tokens,
        }

    retry = read_retry_settings(merged)
    try:
        idle: Any = read_idle_ms(merged)
    except BadSetting as error:
        idle = {"error": error.key}
    try:
        proxy: Any = read_proxy(Merged([one for one in layers if one.file == "global"]))
    except BadSetting as error:
        proxy = {"error": error.key}
    return {
        "unread": unread[::-1],
        "compaction": [compaction(model) for model in MODELS],
        "branch": {
            "reserveTokens": found.branch_reserve_tokens,
            "skipPrompt": found.skip_branch_prompt,
        },
        "retry": {
            "enabled": retry.enabled,
            "maxRetries": retry.max_retries,
            "baseDelayMs": retry.base_delay_ms,
            "maxAgentDelayMs": retry.max_agent_delay_ms,
        },
        "maxRetryDelayMs": retry.max_retry_delay_ms,
        "idle": idle,
        "proxy": proxy,
    }


def pis(answer: dict[str, Any]) -> dict[str, Any]:
    """pi's answer in our shape: messages are ours, what they name has to be the same."""
    told = {**answer, "compaction": [_judged(one) for one in answer["compaction"]]}
    told["idle"] = _judged(answer["idle"])
    if isinstance(answer["proxy"], dict):
        # pi does not check it, and ends with what JavaScript says.
        assert answer["proxy"]["error"] == "httpProxy?.trim is not a function"
        told["proxy"] = {"error": "httpProxy"}
    told["maxRetryDelayMs"] = told.pop("provider")["maxRetryDelayMs"]
    # Whoever uses them asks whether they are true.
    told["branch"] = {**answer["branch"], "skipPrompt": _is_true(answer["branch"]["skipPrompt"])}
    told["retry"] = {**answer["retry"], "enabled": _is_true(answer["retry"]["enabled"])}
    return told


def _judged(one: Any) -> Any:
    if not isinstance(one, dict):
        return one
    if "error" in one:
        return {"error": one["error"].removeprefix("Invalid ").split(" setting: ")[0]}
    return {**one, "enabled": _is_true(one["enabled"])}


def _is_true(value: Any) -> bool:
    return value in ([], {}) or bool(value)


def test_every_text_means_what_it_means_to_pi(pi: Pi) -> None:
    cases = [{"global": one, "project": two, "models": MODELS} for one, two in TEXTS]
    answers = pi.ask("settings", cases=cases)
    for (one, two), answer in zip(TEXTS, answers, strict=True):
        mine, theirs = ours(one, two), pis(answer)
        if "error" in str(mine["compaction"]):
            # With pi the branch's settings have no part in this.
            del mine["branch"], theirs["branch"]
        assert mine == theirs, (one, two)


def _random_settings(chance: random.Random) -> str:
    def tokens() -> Any:
        return chance.choice([0, 1, 5, 16384, 1.0, None, -1, "x", BIG, {}, True])

    def fields() -> dict[str, Any]:
        names = chance.sample(["reserveTokens", "keepRecentTokens", "other"], chance.randint(0, 3))
        return {name: tokens() for name in names}

    compaction: Any = fields()
    if chance.random() < 0.7:
        names = chance.sample(["a/b", "A/b", "a/b/c", "a/"], chance.randint(0, 4))
        compaction["modelOverrides"] = {
            name: chance.choice([fields(), fields(), fields(), None, [], 0]) for name in names
        }
    if chance.random() < 0.1:
        compaction = chance.choice([None, [], "x", 5])
    return json.dumps({"compaction": compaction} if chance.random() < 0.9 else {})


def test_random_pairs_of_files_mean_what_they_mean_to_pi(pi: Pi) -> None:
    chance = random.Random(6)
    pairs = [(_random_settings(chance), _random_settings(chance)) for _ in range(400)]
    cases = [{"global": one, "project": two, "models": MODELS} for one, two in pairs]
    answers = pi.ask("settings", cases=cases)
    seen: set[str] = set()
    for (one, two), answer in zip(pairs, answers, strict=True):
        mine, theirs = ours(one, two)["compaction"], pis(answer)["compaction"]
        # Where several values are wrong, pi and we may name another one first.
        assert [_fault_alone(o) for o in mine] == [_fault_alone(o) for o in theirs], (one, two)
        seen.update(str(one) for one in mine)
    assert len(seen) > 20


def _fault_alone(one: dict[str, Any]) -> dict[str, Any]:
    return {"error": True} if "error" in one else one
