"""pi's models.json, auth.json and the environment give the same models and keys here as in pi."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from pisessiond.models.base import UNKNOWN, ModelName
from pisessiond.models.config_values import Commands
from pisessiond.models.endpoints import Endpoint, NotUsable
from pisessiond.models.keys import read_auth
from pisessiond.models.pi_models import read_pi_models
from pisessiond.models.resolving import FileEndpoints
from pisessiond.settings.files import CachedFile
from tests.support.pi import Pi

pytestmark = pytest.mark.slow

OLLAMA = {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "apiKey": "dummy"}

Case = tuple[str | None, str | None, dict[str, str], list[tuple[str, str]]]


def local(**members: Any) -> str:
    provider = {**OLLAMA, "models": [{"id": "m"}], **members}
    return json.dumps({"providers": {"local": {k: v for k, v in provider.items() if v != ""}}})


def stored(provider: str, **entry: Any) -> str:
    return json.dumps({provider: {"type": "api_key", **entry}})


M = [("local", "m")]
CLAUDE = [("anthropic", "claude-sonnet-4-5")]
GROQ = [("groq", "llama-3.3-70b-versatile")]

CASES: list[Case] = [
    (local(), None, {}, M),
    (local(apiKey="$KEY"), None, {"KEY": "k"}, M),
    (local(apiKey="$KEY"), None, {}, M),
    (local(apiKey="$KEY"), None, {"KEY": ""}, M),
    (local(apiKey="${KEY}-$KEY.$OTHER"), None, {"KEY": "k", "OTHER": "o"}, M),
    (local(apiKey="$$KEY $!x ${no name} ${ $ $9"), None, {"KEY": "k"}, M),
    (local(apiKey="!echo ' printed '"), None, {}, M),
    (local(apiKey="!echo $KEY"), None, {"KEY": "k"}, M),
    (local(apiKey="!exit 3"), None, {}, M),
    (local(apiKey="!true"), None, {}, M),
    (local(apiKey=" $KEY"), None, {"KEY": "k"}, M),
    (local(apiKey="$KEY"), stored("local", key="mine"), {"KEY": "k"}, M),
    (local(apiKey="$KEY"), stored("local", key="$OTHER"), {"OTHER": "o"}, M),
    (local(), stored("local", key="$OTHER", env={"OTHER": "own"}), {"OTHER": "o"}, M),
    (local(headers={"x-a": "$A", "x-b": "b"}), stored("local", key="k", env={"A": "1"}), {}, M),
    (local(headers={"x-a": "$A"}, authHeader=True), None, {"A": "1"}, M),
    (local(headers={"x-a": "$A"}), None, {}, M),
    (local(headers={"x-a": "!echo 1"}, models=[{"id": "m", "headers": {"x-a": "2"}}]), None, {}, M),
    (
        local(models=[{"id": "m", "contextWindow": 5, "maxTokens": 6, "samplingParams": {"k": 1}}]),
        None,
        {},
        M,
    ),
    (
        local(models=[{"id": "m", "cost": dict.fromkeys(("input", "output"), 1)}]),
        None,
        {},
        M,
    ),
    (local(models=[{"id": "m", "api": "anthropic-messages", "baseUrl": "http://o/"}]), None, {}, M),
    (local(models=[{"id": "m", "contextWindow": 0}]), None, {}, M),
    (local(models=[{"id": "m", "contextWindow": "5"}]), None, {}, M),
    (local(models=[{"id": ""}]), None, {}, M),
    (local(models=[{"id": "m"}, {"id": "m", "contextWindow": 7}]), None, {}, M),
    (local(modelOverrides={"m": {"contextWindow": 9, "maxTokens": 8}}), None, {}, M),
    (local(baseUrl=5), None, {}, M),
    (local(apiKey=""), stored("local", key="k"), {}, M),
    ('{"providers": {} // said\n}', None, {}, M),
    ('{"providers": {"local": {"baseUrl": "http://x//y", "headers": {},},},}', None, {}, M),
    ("{", None, {}, M),
    ("[]", None, {}, M),
    ("{}", None, {}, M),
    ("\ufeff" + local(), None, {}, M),
    (None, None, {"ANTHROPIC_API_KEY": "a"}, CLAUDE),
    (None, None, {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_AUTH_TOKEN": "t"}, CLAUDE),
    (None, None, {}, CLAUDE),
    (None, stored("anthropic", key="s"), {"ANTHROPIC_API_KEY": "a"}, CLAUDE),
    (None, stored("anthropic", key="$NONE"), {"ANTHROPIC_API_KEY": "a"}, CLAUDE),
    (None, stored("anthropic", key="!echo s"), {"ANTHROPIC_API_KEY": "a"}, CLAUDE),
    (None, stored("anthropic"), {"ANTHROPIC_API_KEY": "a"}, CLAUDE),
    (None, "{", {"ANTHROPIC_API_KEY": "a"}, CLAUDE),
    (
        '{"providers": {"anthropic": {"baseUrl": "http://p/"}}}',
        None,
        {"ANTHROPIC_API_KEY": "a"},
        CLAUDE,
    ),
    ('{"providers": {"anthropic": {"apiKey": "c"}}}', None, {"ANTHROPIC_API_KEY": "a"}, CLAUDE),
    (
        '{"providers": {"anthropic": {"apiKey": "c"}}}',
        stored("anthropic"),
        {"ANTHROPIC_API_KEY": "a"},
        CLAUDE,
    ),
    (
        '{"providers": {"groq": {"baseUrl": "http://p", "apiKey": "c", "headers": {"x": "y"}}}}',
        None,
        {"GROQ_API_KEY": "g"},
        GROQ,
    ),
    (
        '{"providers": {"groq": {"models": [{"id": "own"}]}}}',
        None,
        {"GROQ_API_KEY": "g"},
        [("groq", "own"), *GROQ],
    ),
]


def test_models_and_keys_are_those_of_pi(pi: Pi, tmp_path: Path) -> None:
    asked = [
        {"models": models, "auth": auth, "env": env, "names": names}
        for models, auth, env, names in CASES
    ]
    for case, answer in zip(CASES, pi.ask("models", cases=asked), strict=True):
        check(tmp_path, case, answer)


def check(folder: Path, case: Case, answer: dict[str, Any]) -> None:
    models, auth, env, names = case
    for name, text in (("models.json", models), ("auth.json", auth)):
        (folder / name).unlink(missing_ok=True)
        if text is not None:
            (folder / name).write_text(text, "utf-8")
    environment = {"PATH": "/usr/bin:/bin", **env}
    pi_models = CachedFile(str(folder / "models.json"), lambda text: read_pi_models(text, "it"))
    endpoints = FileEndpoints(
        pi_models,
        CachedFile(str(folder / "auth.json"), read_auth),
        environment,
        Commands(environment),
    )
    is_refused = pi_models.look().problem is not None
    for (provider, model), theirs in zip(names, answer["models"], strict=True):
        ours = endpoints.resolve_now(ModelName(provider, model))
        if answer["hasError"] or is_refused:
            # pi goes on with its own models; a file that is wrong is said to be wrong here.
            assert answer["hasError"], case
            assert isinstance(ours, NotUsable), case
            continue
        if theirs is None or theirs["auth"] is None or "failed" in theirs["auth"]:
            assert isinstance(ours, NotUsable), (case, ours)
            continue
        assert isinstance(ours, Endpoint), (case, ours)
        assert ours.api == theirs["api"], case
        assert ours.base_url == theirs["baseUrl"].rstrip("/"), case
        assert (sent(ours), case) == (sent_by_pi(theirs), case)
        assert ours.sampling == theirs["samplingParams"], case
        facts = pi_models.look().facts(provider, model, UNKNOWN)
        if facts.window is not None:
            assert (facts.window, facts.max_output) == (
                theirs["contextWindow"],
                theirs["maxTokens"],
            )


def sent(endpoint: Endpoint) -> dict[str, str]:
    """The headers that carry something, key included."""
    key = "" if endpoint.key is None else endpoint.key.reveal()
    carried = {"x-api-key": key} if endpoint.auth == "x-api-key" else {"key": key}
    return {**endpoint.headers, **carried}


def sent_by_pi(theirs: dict[str, Any]) -> dict[str, str]:
    auth = theirs["auth"]["auth"]
    headers = dict(auth.get("headers") or {})
    key = auth.get("apiKey")
    if bearer := headers.pop("Authorization", None):
        # We send no second header with the same key.
        return {**headers, "key": bearer.removeprefix("Bearer ")}
    name = "x-api-key" if theirs["api"] == "anthropic-messages" else "key"
    return {**headers, name: key.strip()}


def test_random_key_templates_are_filled_in_as_by_pi(pi: Pi, tmp_path: Path) -> None:
    chance = random.Random(9)
    parts = ["$", "$$", "$!", "{", "}", "A", "${A}", "$A", "$_b9", "9", "-", "${", "$A_", "x"]
    env = {"A": "one", "_b9": "two"}
    cases: list[Case] = []
    for _ in range(300):
        text = "k" + "".join(chance.choices(parts, k=chance.randint(1, 8)))
        cases.append((local(apiKey=text), None, env, M))
    asked = [{"models": m, "auth": a, "env": e, "names": n} for m, a, e, n in cases]
    for case, answer in zip(cases, pi.ask("models", cases=asked), strict=True):
        check(tmp_path, case, answer)
