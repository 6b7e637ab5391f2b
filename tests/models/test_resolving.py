"""Where models are reached, and what is said of those that cannot be."""

import json
import time
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from pisessiond.models.base import ModelName, Price
from pisessiond.models.config_values import Commands, Unresolved
from pisessiond.models.endpoints import Endpoint, NotUsable, Secret, Wanted, shown_address
from pisessiond.models.keys import NoKey, read_auth
from pisessiond.models.pi_models import read_pi_models
from pisessiond.models.resolving import FileEndpoints
from pisessiond.settings.files import CachedFile

pytestmark = pytest.mark.anyio


class Agent:
    """An agent dir."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def endpoints(self, **environment: str) -> FileEndpoints:
        environment = {"PATH": "/usr/bin:/bin", **environment}
        return FileEndpoints(
            CachedFile(f"{self.folder}/models.json", lambda t: read_pi_models(t, "models.json")),
            CachedFile(f"{self.folder}/auth.json", read_auth),
            environment,
            Commands(environment),
        )

    def models(self, **providers: Any) -> None:
        text = json.dumps({"providers": {k.replace("_", "-"): v for k, v in providers.items()}})
        (self.folder / "models.json").write_text(text)

    def auth(self, **entries: Any) -> None:
        (self.folder / "auth.json").write_text(json.dumps(entries))


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def found(answer: Endpoint | NotUsable) -> Endpoint:
    assert isinstance(answer, Endpoint), answer
    return answer


def reason(answer: Endpoint | NotUsable) -> str:
    assert isinstance(answer, NotUsable), answer
    return answer.reason


# Providers that pi knows


async def test_anthropic_is_reached_with_its_variable(agent: Agent) -> None:
    endpoint = found(
        await agent.endpoints(ANTHROPIC_API_KEY="k").resolve(ModelName("anthropic", "c"))
    )
    assert (endpoint.api, endpoint.base_url, endpoint.auth) == (
        "anthropic-messages",
        "https://api.anthropic.com",
        "x-api-key",
    )
    assert endpoint.key is not None
    assert (endpoint.key.reveal(), endpoint.key.source) == ("k", "ANTHROPIC_API_KEY")


@pytest.mark.parametrize(
    ("provider", "variable", "base_url", "limit", "asks_for_usage"),
    [
        ("openai", "OPENAI_API_KEY", "https://api.openai.com/v1", "max_completion_tokens", True),
        ("mistral", "MISTRAL_API_KEY", "https://api.mistral.ai/v1", "max_tokens", False),
        ("deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com", "max_tokens", True),
        ("xai", "XAI_API_KEY", "https://api.x.ai/v1", "max_completion_tokens", True),
        (
            "google",
            "GEMINI_API_KEY",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "max_tokens",
            True,
        ),
        (
            "fireworks",
            "FIREWORKS_API_KEY",
            "https://api.fireworks.ai/inference/v1",
            "max_completion_tokens",
            True,
        ),
    ],
)
def test_other_providers_speak_chat_completions(
    agent: Agent, provider: str, variable: str, base_url: str, limit: str, asks_for_usage: bool
) -> None:
    name = ModelName(provider, "m")
    endpoint = found(agent.endpoints(**{variable: "k"}).resolve_now(name))
    assert (endpoint.api, endpoint.base_url, endpoint.auth) == (
        "openai-completions",
        base_url,
        "bearer",
    )
    assert endpoint.max_tokens_field == limit
    assert endpoint.supports_usage_in_streaming is asks_for_usage
    assert endpoint.system_role == "system"


def test_another_address_of_a_provider_keeps_its_peculiarities(agent: Agent) -> None:
    agent.models(mistral={"baseUrl": "https://eu.example/"}, together={"baseUrl": "http://proxy"})
    endpoints = agent.endpoints(MISTRAL_API_KEY="k", TOGETHER_API_KEY="k")
    mistral = found(endpoints.resolve_now(ModelName("mistral", "m")))
    assert (mistral.base_url, mistral.supports_usage_in_streaming) == (
        "https://eu.example/v1",
        False,
    )
    together = found(endpoints.resolve_now(ModelName("together", "m")))
    assert (together.base_url, together.max_tokens_field) == ("http://proxy", "max_tokens")


@pytest.mark.parametrize(
    ("provider", "environment", "words"),
    [
        ("anthropic", {}, "There is no key for anthropic; set ANTHROPIC_API_KEY for the daemon"),
        ("anthropic", {"ANTHROPIC_API_KEY": ""}, "There is no key for anthropic"),
        ("anthropic", {"ANTHROPIC_OAUTH_TOKEN": "x"}, "name the summarizer `pi`"),
        ("anthropic", {"ANTHROPIC_API_KEY": "sk-ant-oat01-x"}, "the token of a subscription"),
        ("anthropic", {"ANTHROPIC_API_KEY": "a\nb"}, "no header can carry"),
        ("amazon-bedrock", {"AWS_BEARER_TOKEN_BEDROCK": "k"}, "Only pi can reach amazon-bedrock"),
        ("nobody", {}, "Nothing says how nobody is reached"),
    ],
)
def test_what_cannot_be_reached_says_what_to_do(
    agent: Agent, provider: str, environment: dict[str, str], words: str
) -> None:
    said = reason(agent.endpoints(**environment).resolve_now(ModelName(provider, "m")))
    assert words in said
    assert said.endswith(".")
    assert "oat01" not in said


def test_a_sign_in_stays_pi_s_even_beside_a_variable(agent: Agent) -> None:
    agent.auth(anthropic={"type": "oauth", "access": "secret", "refresh": "r", "expires": 1})
    endpoints = agent.endpoints(ANTHROPIC_API_KEY="k")
    said = reason(endpoints.resolve_now(ModelName("anthropic", "m")))
    assert "which only pi may use; name the summarizer `pi`" in said
    assert "secret" not in said
    source = endpoints.key_source("anthropic")
    assert isinstance(source, NoKey)
    assert source.is_signed_in


def test_a_variable_that_auth_json_names_and_nobody_set_is_named(agent: Agent) -> None:
    agent.auth(openai={"type": "api_key", "key": "$WORK_KEY"})
    said = reason(agent.endpoints().resolve_now(ModelName("openai", "m")))
    assert said.startswith("auth.json takes the key of openai from WORK_KEY, which is not set")
    assert found(agent.endpoints(OPENAI_API_KEY="k").resolve_now(ModelName("openai", "m"))).key


def test_an_api_that_is_not_spoken_is_named(agent: Agent) -> None:
    agent.models(x={"baseUrl": "http://h", "api": "openai-responses", "apiKey": "k"})
    said = reason(agent.endpoints().resolve_now(ModelName("x", "m")))
    assert said == "x/m speaks openai-responses, which only pi does; name the summarizer `pi`."


def test_files_that_say_nothing_sound_refuse_everything(agent: Agent) -> None:
    (agent.folder / "models.json").write_text("{")
    endpoints = agent.endpoints(OPENAI_API_KEY="k")
    assert "models.json: the text is no JSON" in reason(
        endpoints.resolve_now(ModelName("openai", "m"))
    )
    agent.models()
    (agent.folder / "auth.json").write_text('{"openai": "sk-secret"')
    said = reason(endpoints.resolve_now(ModelName("openai", "m")))
    assert said == "pi's auth.json is no JSON object; correct it."


# Models of the user's own


def test_a_server_of_ones_own_is_reached_as_models_json_says(agent: Agent) -> None:
    agent.models(
        local={
            "baseUrl": "http://127.0.0.1:8080/v1",
            "api": "openai-completions",
            "compat": {"supportsUsageInStreaming": False, "maxTokensField": "max_tokens"},
            "headers": {"x-team": "$TEAM"},
            "models": [
                {
                    "id": "m",
                    "reasoning": True,
                    "contextWindow": 32_768,
                    "cost": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4},
                    "compat": {"supportsDeveloperRole": True, "supportsFinishReason": False},
                    "samplingParams": {"temperature": 0.5, "top_p": 1},
                    "samplingParamsByThinkingLevel": {"off": {"top_p": 0.9}, "high": {"k": 1}},
                }
            ],
            "modelOverrides": {"m": {"samplingParams": {"temperature": 0}}},
        }
    )
    endpoint = found(agent.endpoints(TEAM="blue").resolve_now(ModelName("local", "m")))
    assert endpoint.key is None
    assert endpoint.headers == {"x-team": "blue"}
    assert endpoint.max_tokens_field == "max_tokens"
    assert endpoint.supports_usage_in_streaming is False
    assert endpoint.supports_finish_reason is False
    assert endpoint.system_role == "developer"
    assert endpoint.sampling == {"temperature": 0, "top_p": 0.9}
    assert endpoint.facts.window == 32_768
    assert endpoint.facts.price == Price(1, 2, 3, 4)
    assert "blue" not in repr(endpoint)


def test_names_are_those_of_models_that_could_be_asked_now(agent: Agent) -> None:
    agent.models(
        local={
            "baseUrl": "http://h",
            "api": "openai-completions",
            "models": [{"id": "a"}, {"id": "b", "api": "google-generative-ai"}],
        },
        keyed={
            "baseUrl": "http://h",
            "api": "anthropic-messages",
            "apiKey": "!exit 1",
            "models": [{"id": "c"}],
        },
        unset={
            "baseUrl": "http://h",
            "api": "anthropic-messages",
            "apiKey": "$NOWHERE",
            "models": [{"id": "d"}],
        },
        groq={"models": [{"id": "e"}]},
    )
    named = [str(one) for one in agent.endpoints().names_now()]
    assert named == ["local/a", "keyed/c"]
    named = [str(one) for one in agent.endpoints(GROQ_API_KEY="k", NOWHERE="k").names_now()]
    assert named == ["local/a", "keyed/c", "unset/d", "groq/e"]


# Summarizers of the user's settings


def test_a_summarizer_with_its_own_address_gets_no_key_of_another(agent: Agent) -> None:
    endpoints = agent.endpoints(OPENAI_API_KEY="k", MINE="m")
    wanted = Wanted("openai-completions", "qwen", base_url="http://127.0.0.1:1/v1/")
    endpoint = found(endpoints.resolve_wanted_now(wanted))
    assert (endpoint.key, endpoint.base_url) == (None, "http://127.0.0.1:1/v1")
    wanted = Wanted("openai-completions", "qwen", base_url="http://127.0.0.1:1/v1", key_env="MINE")
    key = found(endpoints.resolve_wanted_now(wanted)).key
    assert key is not None
    assert (key.reveal(), key.source) == ("m", "MINE")


def test_a_summarizer_takes_what_its_provider_has(agent: Agent) -> None:
    endpoints = agent.endpoints(OPENROUTER_API_KEY="k")
    wanted = Wanted("openai-completions", "a/b", provider="openrouter")
    endpoint = found(endpoints.resolve_wanted_now(wanted))
    assert endpoint.base_url == "https://openrouter.ai/api/v1"
    assert endpoint.key is not None
    wanted = Wanted("openai-completions", "a/b", provider="openrouter", base_url="http://proxy")
    endpoint = found(endpoints.resolve_wanted_now(wanted))
    assert (endpoint.base_url, endpoint.key is None) == ("http://proxy", False)


def test_a_summarizer_that_asks_for_what_is_not_there_says_so(agent: Agent) -> None:
    endpoints = agent.endpoints(ANTHROPIC_API_KEY="k")
    said = reason(endpoints.resolve_wanted_now(Wanted("anthropic-messages", "m", key_env="MY_KEY")))
    assert "The environment variable MY_KEY" in said
    said = reason(
        endpoints.resolve_wanted_now(Wanted("openai-completions", "m", provider="anthropic"))
    )
    assert "does not speak openai-completions" in said


# Secrets and commands

SLACK = 5
"""Times are asserted at so many times of what is promised: machines that test are busy."""


def _is_gone(pid: int) -> bool:
    """Or a zombie that its new parent has not yet looked after."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret("sk-very", "auth.json")
    assert (
        "sk-very"
        not in f"{secret} {secret!r} {[secret]} {Endpoint('anthropic-messages', 'u', 'm', secret)}"
    )
    with pytest.raises(TypeError):
        json.dumps(secret)


def test_a_command_runs_once_for_five_minutes(tmp_path: Path) -> None:
    clock = [0.0]
    count = tmp_path / "count"
    commands = Commands({"PATH": "/usr/bin:/bin"}, lambda: clock[0])
    text = f"!echo x >> {count}; echo key"
    assert [commands.resolve(text) for _ in range(3)] == ["key"] * 3
    clock[0] = 299.0
    commands.resolve(text)
    assert count.read_text() == "x\n"
    clock[0] = 301.0
    commands.resolve(text)
    assert count.read_text() == "x\nx\n"


def test_a_command_that_fails_is_asked_again(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    commands = Commands({"PATH": "/usr/bin:/bin"})
    with pytest.raises(Unresolved, match="exit code 1"):
        commands.resolve(f"!test -e {flag} && echo key")
    flag.touch()
    assert commands.resolve(f"!test -e {flag} && echo key") == "key"


def test_a_command_that_hangs_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pisessiond.models.config_values.COMMAND_SECONDS", 0.2)
    pid = tmp_path / "pid"
    with pytest.raises(Unresolved, match="gave no answer") as refusal:
        Commands({"PATH": "/usr/bin:/bin"}).resolve(f"!sleep 60 & echo $! > {pid}; wait")
    assert "sleep" not in str(refusal.value)
    until = time.monotonic() + 5
    while not _is_gone(int(pid.read_text())):
        assert time.monotonic() < until
        time.sleep(0.01)


async def test_a_cancelled_question_does_not_wait_for_the_command(agent: Agent) -> None:
    """Which ends, with all that it started, although it hangs."""
    pid = agent.folder / "pid"
    command = f"!sleep 60 & echo $! > {pid}.new; mv {pid}.new {pid}; wait"
    agent.models(x={"baseUrl": "http://h", "api": "openai-completions", "apiKey": command})
    endpoints = agent.endpoints()
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(endpoints.resolve, ModelName("x", "m"))
        while not pid.exists():
            await anyio.sleep(0.01)
        begun = anyio.current_time()
        tasks.cancel_scope.cancel()
    assert anyio.current_time() - begun < 0.5
    while not _is_gone(int(pid.read_text())):
        assert anyio.current_time() - begun < 0.5 * SLACK
        await anyio.sleep(0.01)


async def test_who_waits_for_anothers_command_is_asked_again_when_that_gives_up(
    agent: Agent,
) -> None:
    flag = agent.folder / "flag"
    command = f"!test -e {flag} && echo key && exit; touch {flag}; sleep 60"
    agent.models(x={"baseUrl": "http://h", "api": "openai-completions", "apiKey": command})
    endpoints = agent.endpoints()
    first = anyio.CancelScope()
    answers: list[Endpoint | NotUsable] = []

    async def give_up() -> None:
        with first:
            await endpoints.resolve(ModelName("x", "m"))

    async def ask() -> None:
        answers.append(await endpoints.resolve(ModelName("x", "m")))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(give_up)
            while not flag.exists():
                await anyio.sleep(0.01)
            tasks.start_soon(ask)
            await anyio.sleep(0)
            first.cancel()
    key = found(answers[0]).key
    assert key is not None
    assert key.reveal() == "key"


def test_an_address_is_shown_without_what_may_be_a_key() -> None:
    assert shown_address("https://me:hunter2@host:1/v1") == "https://…@host:1/v1"
    assert shown_address("https://host/v1?key=sk-1\n#x") == "https://host/v1?…"
    assert shown_address("http://[::1]:8080/v1") == "http://[::1]:8080/v1"
