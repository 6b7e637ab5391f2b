"""Summaries by real pi 1.6.0 with a model server on loopback: what comes back, what fails."""

import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.core.summary_prompts import make_prompt
from pisessiond.core.summary_task import SummaryTask
from pisessiond.models.base import ModelName
from pisessiond.summarizers.base import FailureReason, SummaryFailed, Written
from pisessiond.summarizers.pi import PiSummarizer
from pisessiond.summarizers.pi_events import PiEvents
from tests.support.model_replies import Stall, fails, says
from tests.support.model_server import ModelServer, Script, model_server
from tests.support.pi import PI_PACKAGE, node_path

pytestmark = pytest.mark.anyio

MODEL = ModelName("local", "vendor/m:high")
TASK = SummaryTask(
    "history",
    ({"role": "user", "content": "/help @secret.txt !ls  näïve 🙂 \ud83d"},),
    previous_summary="## Goal\nMend it",
    instructions="Mind the parser",
)
TEXT = "## Goal\nMend the näïve parser 🙂"


@dataclass
class Desk:
    """pi, set up in a folder of its own for one server."""

    server: ModelServer
    home: Path
    told: list[int] = field(default_factory=list)

    @property
    def agent_dir(self) -> Path:
        return self.home / "agent"

    def summarizer(self, model: ModelName | None = MODEL, seconds: float = 60) -> PiSummarizer:
        return PiSummarizer(
            "pi",
            model,
            agent_dir=self.agent_dir,
            program=(str(node_path()), str(PI_PACKAGE / "dist" / "bundle" / "cli.js")),
            seconds=seconds,
            environment={"PATH": "/usr/bin:/bin", "HOME": str(self.home)},
        )

    async def write(self, task: SummaryTask = TASK, model: ModelName | None = MODEL) -> Written:
        return await self.summarizer(model).write(task, self.told.append)

    def set_up(self, **settings: Any) -> None:
        self.agent_dir.mkdir()
        models = [
            {
                "id": MODEL.model,
                "contextWindow": 200_000,
                "maxTokens": 9_000,
                "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
            }
        ]
        provider = {
            "baseUrl": self.server.openai_url,
            "api": "openai-completions",
            "apiKey": "test-key",
            "models": models,
        }
        self.write_json("models.json", {"providers": {MODEL.provider: provider}})
        self.write_json("settings.json", {"retry": {"baseDelayMs": 1}, **settings})

    def write_json(self, name: str, value: Any) -> None:
        (self.agent_dir / name).write_text(json.dumps(value))

    def session_files(self) -> list[Path]:
        return list(self.home.rglob("*.jsonl"))


@asynccontextmanager
async def desk(home: Path, script: Script, **settings: Any) -> AsyncIterator[Desk]:
    async with model_server(script) as server:
        made = Desk(server, home)
        made.set_up(**settings)
        yield made


async def check_fails(home: Path, script: Script, reason: FailureReason, *words: str) -> Desk:
    async with desk(home, script) as made:
        with pytest.raises(SummaryFailed) as failed:
            await made.write()
        assert failed.value.reason == reason, str(failed.value)
        for word in words:
            assert word in str(failed.value)
        assert "test-key" not in str(failed.value)
        assert made.session_files() == []
        return made


@pytest.mark.slow
async def test_the_model_of_the_session_is_asked_for_nothing_but_the_summary(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path, says(TEXT)) as made:
        # What the user has added to pi for work is nothing for summaries.
        (made.agent_dir / "APPEND_SYSTEM.md").write_text("Answer in verse.")
        (made.agent_dir / "AGENTS.md").write_text("Never write summaries.")
        written = await made.write()
        (request,) = made.server.requests
        assert made.session_files() == []
    assert written.text == TEXT
    assert written.model == MODEL
    assert made.told == sorted(made.told)
    assert made.told[-1] == len(TEXT) + 1
    body = request.json
    prompt = make_prompt(TASK)
    assert body["model"] == MODEL.model
    assert not body.get("tools")
    system, user = body["messages"]
    assert system["content"].startswith(prompt.system)
    assert "verse" not in system["content"]
    assert "Never write" not in system["content"]
    assert user["role"] == "user"
    assert user["content"] == [{"type": "text", "text": prompt.user}]


@pytest.mark.slow
async def test_usage_and_cost_are_those_that_pi_counts(tmp_path: Path) -> None:
    async with desk(tmp_path, says(TEXT)) as made:
        usage = (await made.write()).usage
    assert usage is not None
    counted = usage["input"] + usage["output"] + usage["cacheRead"] + usage["cacheWrite"]
    assert usage["totalTokens"] == counted > 0
    assert usage["cost"]["input"] == pytest.approx(3e-6 * usage["input"])
    assert usage["cost"]["total"] > 0


@pytest.mark.slow
async def test_a_prompt_larger_than_any_pipe_goes_through(tmp_path: Path) -> None:
    long = SummaryTask("history", ({"role": "user", "content": "wörd " * 100_000},))
    async with desk(tmp_path, says(TEXT)) as made:
        assert (await made.write(long)).text == TEXT
        (request,) = made.server.requests
    assert request.json["messages"][-1]["content"][0]["text"] == make_prompt(long).user


@pytest.mark.slow
async def test_without_a_model_pi_takes_its_own(tmp_path: Path) -> None:
    settings = {"defaultProvider": MODEL.provider, "defaultModel": MODEL.model}
    async with desk(tmp_path, says(TEXT), **settings) as made:
        assert (await made.write(model=None)).model == MODEL


@pytest.mark.slow
async def test_pi_tries_again_after_what_passes(tmp_path: Path) -> None:
    replies = [fails(503, "error", "busy"), fails(503, "error", "busy"), says(TEXT)]
    async with desk(tmp_path, replies) as made:
        assert (await made.write()).text == TEXT
        assert len(made.server.requests) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "reason", "words"),
    [
        (says(TEXT, finish_reason="length"), "length", "cut off"),
        (says(""), "empty", "wrote nothing"),
        (fails(401, "error", "Incorrect API key provided: test-key"), "auth", "log in"),
        (fails(402, "error", "no credit"), "quota", "account"),
        (fails(429, "error", "slow down"), "overloaded", "slow down"),
        (fails(400, "error", "maximum context length is 10 tokens"), "overflow", "larger window"),
        (fails(400, "error", "what is this"), "error", "what is this"),
    ],
    ids=["length", "empty", "auth", "quota", "overloaded", "overflow", "error"],
)
async def test_what_is_no_summary_says_why(
    tmp_path: Path, script: Script, reason: FailureReason, words: str
) -> None:
    await check_fails(tmp_path, script, reason, words)


@pytest.mark.slow
async def test_a_tool_call_ends_it_at_once_where_pi_would_go_on_for_ever(tmp_path: Path) -> None:
    calls = says("I look.", tool="bash", finish_reason="tool_calls")
    # It may ask once more before it hears that it is to end.
    made = await check_fails(
        tmp_path, [calls, says("").after(Stall())], "toolCall", "called a tool"
    )
    assert len(made.server.requests) <= 2


@pytest.mark.slow
async def test_what_pi_would_compact_afterwards_is_not_waited_for(tmp_path: Path) -> None:
    # With these pi compacts after every answer.
    compaction = {"reserveTokens": 199_999, "keepRecentTokens": 0}
    replies = [says(TEXT), says("").after(Stall())]
    async with desk(tmp_path, replies, compaction=compaction) as made:
        with anyio.fail_after(20):
            assert (await made.write()).text == TEXT


@pytest.mark.slow
async def test_a_provider_that_pi_does_not_know_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path, says(TEXT)) as made:
        with pytest.raises(SummaryFailed, match='Unknown provider "nobody"') as failed:
            await made.write(model=ModelName("nobody", "m"))
        assert failed.value.reason == "program"
        assert made.server.requests == []


async def test_a_pi_that_cannot_start_is_quoted_where_it_names_the_fault(tmp_path: Path) -> None:
    # As Node says it, which is too old for pi.
    said = "file:///pi/cli.js:2\\nimport { a } from 'b';\\nSyntaxError: no such export\\n    at c"
    program = [sys.executable, "-S", "-c", f'raise SystemExit("{said}")']
    made = PiSummarizer("pi", MODEL, agent_dir=tmp_path, program=program, seconds=20)
    with pytest.raises(SummaryFailed, match="answer: “SyntaxError: no such export”"):
        await made.write(TASK, lambda _units: None)


@pytest.mark.slow
async def test_a_provider_without_a_login_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path, says(TEXT)) as made:
        with pytest.raises(SummaryFailed, match="No API key found for anthropic") as failed:
            await made.write(model=ModelName("anthropic", "claude-sonnet-4-5"))
        assert failed.value.reason == "auth"


@pytest.mark.slow
async def test_cancelling_ends_pi_and_its_request_within_half_a_second(tmp_path: Path) -> None:
    async with desk(tmp_path, says(TEXT).ended_after("Goal", Stall())) as made:
        async with anyio.create_task_group() as group:
            group.start_soon(made.write)
            request = await made.server.until(1)
            begin = time.monotonic()
            group.cancel_scope.cancel()
        assert time.monotonic() - begin < 0.5
        assert await request.until_gone() - begin < 0.5
        assert made.session_files() == []


# What the stream may look like, without pi


def read(*events: Any, size: int = 7) -> PiEvents:
    lines = "".join(f"{e if isinstance(e, str) else json.dumps(e)}\n" for e in events).encode()
    read = PiEvents(lambda _units: None)
    for at in range(0, len(lines), size):
        read.take(lines[at : at + size])
    return read


def answer(text: str, stop: str, tokens: int = 0) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stopReason": stop,
        "usage": {"input": tokens, "totalTokens": tokens},
    }
    return {"type": "message_end", "message": message}


def test_lines_that_are_no_events_are_passed_over() -> None:
    events = read("hello", "[1]", "{", '{"type":1}', answer("a", "stop"), answer("b", "stop"))
    assert events.is_over
    assert events.answer is not None
    assert events.answer.text == "a"


def test_a_failed_attempt_is_the_end_only_when_pi_says_so() -> None:
    failed = answer("", "error", tokens=2)
    again = read(failed, {"type": "agent_end", "messages": [], "willRetry": True})
    assert not again.is_over
    assert read(failed, {"type": "agent_end", "messages": [], "willRetry": False}).is_over


def test_what_all_attempts_used_is_added_up() -> None:
    usage = read(answer("", "error", tokens=2), answer("a", "stop", tokens=5)).usage
    assert usage is not None
    assert usage["totalTokens"] == usage["input"] == 7


def test_a_lone_surrogate_in_an_answer_is_read() -> None:
    line = json.dumps(answer("a\ud83d", "stop"))
    events = read(line)
    assert events.answer is not None
    assert events.answer.text == "a\ud83d"
