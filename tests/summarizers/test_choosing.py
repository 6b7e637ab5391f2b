"""Who writes a summary, by name: from a request, from the settings, else the session's model."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pisessiond.core.summary_task import SummaryTask
from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName, Price
from pisessiond.models.endpoints import Endpoint, NotUsable, Secret, Wanted
from pisessiond.summarizers.base import (
    Choice,
    Lend,
    NoSummarizer,
    Received,
    Summarizer,
    Written,
)
from pisessiond.summarizers.choosing import (
    ConfiguredSummarizers,
    Own,
    OwnModel,
    OwnPi,
    OwnProgram,
    Reach,
    SummarizerSettings,
)
from pisessiond.summarizers.command import CommandSummarizer
from pisessiond.summarizers.extract import ExtractSummarizer
from pisessiond.summarizers.http import Http
from pisessiond.summarizers.http_model import HttpSummarizer
from pisessiond.summarizers.lent import LentSummarizer
from pisessiond.summarizers.pi import PiSummarizer
from tests.support.model_replies import says
from tests.support.model_server import model_server

pytestmark = pytest.mark.anyio

HERE = ModelName("local", "big/model:1")
NO_KEY = ModelName("far", "m")
TASK = SummaryTask("history", ({"role": "user", "content": "hi"},))


@dataclass
class Known:
    """Endpoints of one model that can be reached; notes what it was asked."""

    url: str = "http://127.0.0.1:9"
    asked: list[object] = field(default_factory=list)

    async def resolve(self, model: ModelName) -> Endpoint | NotUsable:
        self.asked.append(model)
        if model != HERE:
            return NotUsable(f"No key for {model.provider} was found; set one.")
        return Endpoint("openai-completions", self.url, model.model, Secret("k", "X"))

    async def resolve_wanted(self, wanted: Wanted) -> Endpoint | NotUsable:
        self.asked.append(wanted)
        if wanted.key_env == "UNSET":
            return NotUsable("The environment variable UNSET is not set.")
        return Endpoint(wanted.api, wanted.base_url or self.url, wanted.model)

    async def names(self) -> Sequence[ModelName]:
        return [HERE]


@dataclass
class Facts:
    facts: ModelFacts = UNKNOWN

    def known(self, model: ModelName) -> ModelFacts | None:
        del model
        return self.facts

    async def look_up(self, model: ModelName) -> ModelFacts:
        del model
        return self.facts

    def window_at_hand(self, model: ModelName) -> int | None:
        del model
        return self.facts.window


@dataclass
class Desk:
    reach: Reach
    resolving: Known
    dry: Known

    async def choose(
        self, name: str | None = None, model: ModelName | None = HERE, lend: Lend | None = None
    ) -> Summarizer:
        return await ConfiguredSummarizers(self.reach).choose(name, model, lend)

    async def refusal(
        self, name: str | None = None, model: ModelName | None = HERE, lend: Lend | None = None
    ) -> NoSummarizer:
        with pytest.raises(NoSummarizer) as refused:
            await self.choose(name, model, lend)
        sentence = str(refused.value)
        assert sentence.endswith("`summary`.")
        assert "extract" in sentence
        return refused.value

    async def choices(
        self, model: ModelName | None = HERE, lend: Lend | None = None
    ) -> dict[str, Choice]:
        told = await ConfiguredSummarizers(self.reach).choices(model, lend)
        assert [choice.is_default for choice in told] == [True] + [False] * (len(told) - 1)
        assert all(choice.is_ready == (choice.reason is None) for choice in told)
        by_name = {choice.name: choice for choice in told}
        assert len(by_name) == len(told)
        return by_name


def desk(
    use: str | None = None,
    own: Mapping[str, Own] | None = None,
    *,
    facts: ModelFacts = UNKNOWN,
    path: str = "/nowhere",
    url: str = "http://127.0.0.1:9",
) -> Desk:
    settings = SummarizerSettings(use=use, own=own or {})
    resolving, dry = Known(url), Known(url)
    reach = Reach(
        settings=lambda: settings,
        endpoints=resolving,
        dry_endpoints=dry,
        models=Facts(facts),
        http=Http(),
        agent_dir=Path("/nowhere/agent"),
        environment={"PATH": path},
    )
    return Desk(reach, resolving, dry)


async def lend(task: SummaryTask, received: Received) -> Written:
    del task
    received(3)
    return Written("abc", {"input": 1}, HERE)


@pytest.fixture
def with_pi(tmp_path: Path) -> str:
    """A PATH with something called pi on it."""
    (tmp_path / "pi").touch(mode=0o755)
    return str(tmp_path)


# The order: request, settings, session


async def test_without_any_name_the_session_is_summarised_by_its_own_model() -> None:
    chosen = await desk().choose()
    assert isinstance(chosen, HttpSummarizer)
    assert (chosen.name, chosen.model) == ("local/big/model:1", HERE)
    assert (await desk().choose("session")).name == chosen.name


async def test_the_settings_go_before_the_model_of_the_session() -> None:
    assert isinstance(await desk("extract").choose(), ExtractSummarizer)


async def test_the_request_goes_before_the_settings() -> None:
    chosen = await desk("extract").choose("local/big/model:1", NO_KEY)
    assert chosen.model == HERE


async def test_without_a_key_nobody_is_taken_instead() -> None:
    refused = await desk().refusal(model=NO_KEY, lend=lend)
    assert str(refused).startswith("No key for far was found; set one. ")
    assert refused.choices == ("local/big/model:1", "client", "extract")


async def test_a_session_without_a_model_says_so() -> None:
    assert "names no model yet" in str(await desk().refusal(model=None))


async def test_what_the_settings_name_and_nobody_has_is_told() -> None:
    refused = await desk("nobody").refusal()
    assert "called “nobody”" in str(refused)
    assert refused.choices[0] == "session"


# Names that are none


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "/usr/bin/evil",
        "./evil",
        "../evil/x",
        "~/evil",
        "http://127.0.0.1/v1",
        "https://evil.example/v1/model",
        "file:///etc/passwd",
        "!command",
        "$KEY/x",
        "a b/c",
        "local/",
        "local//etc",
        "Extract",
        "mine ",
        "\n",
        "x" * 10_000,
    ],
)
async def test_a_path_an_address_or_a_command_is_a_name_that_nobody_has(name: str) -> None:
    made = desk(own={"mine": OwnProgram(("cat",))})
    refused = await made.refusal(name)
    assert "No summarizer is called" in str(refused)
    assert "\n" not in str(refused)
    assert len(str(refused)) < 400
    assert name not in made.resolving.asked
    assert made.resolving.asked == []


# Those of the settings


async def test_a_program_of_the_settings_is_chosen_by_its_name(with_pi: str) -> None:
    made = desk(own={"mine": OwnProgram(("pi",), 7.0, 500)}, path=with_pi)
    chosen = await made.choose("mine")
    assert isinstance(chosen, CommandSummarizer)
    assert (chosen.name, chosen.model) == ("mine", None)
    assert chosen.facts.max_output == 500
    assert not chosen.is_extract


async def test_a_program_that_is_not_there_says_so() -> None:
    made = desk(own={"mine": OwnProgram(("/no/such/folder/thing",))})
    assert str(await made.refusal("mine")).startswith("The program thing is not there")


async def test_a_model_of_the_settings_is_reached_as_they_say() -> None:
    wanted = Wanted("anthropic-messages", "m", base_url="http://127.0.0.1:1")
    facts = ModelFacts(window=9, max_output=800, price=Price(1, 2))
    made = desk(own={"mine": OwnModel(wanted, 7.0, 500)}, facts=facts)
    chosen = await made.choose("mine")
    assert (chosen.name, chosen.model) == ("mine", ModelName("anthropic", "m"))
    assert chosen.facts == ModelFacts(window=9, max_output=500, price=Price(1, 2))
    assert made.resolving.asked == [wanted]


async def test_a_model_of_the_settings_without_its_key_says_so() -> None:
    own = OwnModel(Wanted("openai-completions", "m", key_env="UNSET"))
    assert "UNSET is not set" in str(await desk(own={"mine": own}).refusal("mine"))


async def test_pi_writes_with_the_model_of_the_session(with_pi: str) -> None:
    chosen = await desk(path=with_pi, facts=ModelFacts(window=5)).choose("pi", NO_KEY)
    assert isinstance(chosen, PiSummarizer)
    assert (chosen.name, chosen.model, chosen.facts.window) == ("pi", NO_KEY, 5)


async def test_the_settings_may_say_what_pi_means(with_pi: str) -> None:
    own: dict[str, Own] = {"pi": OwnPi(("gone",)), "fast": OwnPi(model=HERE)}
    made = desk(own=own, path=with_pi)
    assert "program gone" in str(await made.refusal("pi"))
    fast = await made.choose("fast", NO_KEY)
    assert isinstance(fast, PiSummarizer)
    assert (fast.name, fast.model) == ("fast", HERE)


async def test_pi_that_is_not_installed_says_so() -> None:
    assert "program pi is not there" in str(await desk().refusal("pi"))


# A client's model


async def test_a_client_writes_when_it_is_named_and_lends() -> None:
    chosen = await desk().choose("client", lend=lend)
    assert isinstance(chosen, LentSummarizer)
    told: list[int] = []
    assert await chosen.write(TASK, told.append) == Written("abc", {"input": 1}, HERE)
    assert told == [3]
    assert "lends its model" in str(await desk().refusal("client"))


# All that could be named


async def test_all_choices_are_told_the_default_first(with_pi: str) -> None:
    own: dict[str, Own] = {"mine": OwnProgram(("gone",)), "other": OwnProgram(("pi",))}
    told = await desk(own=own, path=with_pi).choices(NO_KEY)
    assert list(told) == [
        "session",
        "mine",
        "other",
        "local/big/model:1",
        "pi",
        "client",
        "extract",
    ]
    assert told["session"].model == NO_KEY
    assert told["session"].reason == "No key for far was found; set one."
    assert told["local/big/model:1"].model == HERE
    ready = [name for name, choice in told.items() if choice.is_ready]
    assert ready == ["other", "local/big/model:1", "pi", "extract"]


async def test_the_default_of_the_settings_is_told_even_where_nobody_has_that_name() -> None:
    told = await desk("far/away").choices()
    assert next(iter(told)) == "far/away"
    assert not told["far/away"].is_ready


async def test_a_client_that_lends_is_ready() -> None:
    assert (await desk().choices(lend=lend))["client"].is_ready


async def test_telling_of_all_runs_no_key_command() -> None:
    own = OwnModel(Wanted("openai-completions", "m"))
    made = desk("mine", {"mine": own})
    await made.choices()
    assert made.resolving.asked == []
    assert made.dry.asked


def test_the_environment_shows_itself_to_nobody() -> None:
    assert "/secret/bin" not in repr(desk(path="/secret/bin").reach)


async def test_whoever_is_ready_can_be_chosen(with_pi: str) -> None:
    own: dict[str, Own] = {"mine": OwnProgram(("pi",)), "fast": OwnPi(model=HERE)}
    made = desk(own=own, path=with_pi)
    for name, choice in (await made.choices(lend=lend)).items():
        if choice.is_ready:
            chosen = await made.choose(name, lend=lend)
            assert chosen.model == choice.model


@pytest.mark.parametrize("name", ["local/big/model:1", "fast"])
async def test_where_nothing_is_to_be_written_no_key_command_runs(name: str) -> None:
    made = desk(own={"fast": OwnModel(Wanted("openai-completions", "m"))})
    chosen = await ConfiguredSummarizers(made.reach).choose(name, HERE, None, to_write=False)
    assert chosen.name == name
    assert made.resolving.asked == []
    assert len(made.dry.asked) == 1


async def test_the_chosen_model_is_asked() -> None:
    async with server_desk(says("## Goal\nx")) as (made, server):
        written = await (await made.choose()).write(TASK, lambda _units: None)
        (request,) = server.requests
    assert written.text == "## Goal\nx"
    assert request.json["model"] == HERE.model
    assert "hi" in request.json["messages"][-1]["content"]


@asynccontextmanager
async def server_desk(reply: Any) -> AsyncIterator[tuple[Desk, Any]]:
    async with model_server(reply) as server:
        made = desk(url=server.openai_url)
        try:
            yield made, server
        finally:
            await made.reach.http.aclose()
