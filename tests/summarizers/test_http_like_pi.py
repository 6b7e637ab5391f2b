"""Real pi at the same model server: it understands what the server says, and counts as we do."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pisessiond.models.base import ModelFacts, Price, PriceTier
from pisessiond.models.endpoints import Api
from tests.summarizers.support import KEY, desk
from tests.support.model_replies import ANTHROPIC_USAGE, AnthropicMessage, OpenAICompletion, Reply
from tests.support.model_server import ModelServer
from tests.support.pi import PI_PACKAGE, node_path

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

COST = {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}
TIER = {"inputTokensAbove": 5000, "input": 6, "output": 22.5, "cacheRead": 0.6, "cacheWrite": 7.5}
PRICE = Price(3, 15, 0.3, 3.75, (PriceTier(5000, 6, 22.5, 0.6, 7.5),))


def anthropic(**counts: int) -> Reply:
    told = {**ANTHROPIC_USAGE, **counts}
    last = {"output_tokens": 345, "output_tokens_details": {"thinking_tokens": 45}}
    return AnthropicMessage(["Hello ", "there."], usage=told, last_usage=last).reply()


def openai(**told: Any) -> Reply:
    usage = {"prompt_tokens": 1234, "completion_tokens": 345, "total_tokens": 1579, **told}
    return OpenAICompletion(["Hello ", "there."], usage=usage).reply()


CASES: list[tuple[Api, Reply]] = [
    ("anthropic-messages", anthropic(input_tokens=1234)),
    ("anthropic-messages", anthropic(input_tokens=1234, cache_read_input_tokens=4567)),
    ("anthropic-messages", anthropic(input_tokens=7, cache_creation_input_tokens=890)),
    ("openai-completions", openai()),
    (
        "openai-completions",
        openai(
            prompt_tokens_details={"cached_tokens": 1000},
            completion_tokens_details={"reasoning_tokens": 45},
        ),
    ),
    ("openai-completions", openai(prompt_tokens=9000, prompt_cache_hit_tokens=77)),
]


@pytest.mark.parametrize(("api", "reply"), CASES)
async def test_pi_understands_the_server_and_counts_as_we_do(
    api: Api, reply: Reply, tmp_path: Path
) -> None:
    async with desk(api, reply, facts=ModelFacts(price=PRICE)) as one:
        ours = await one.write()
        theirs = await ask_pi(one.server, api, tmp_path)
    assert ours.usage is not None
    assert theirs["stopReason"] == "stop"
    assert [block["text"] for block in theirs["content"]] == [ours.text] == ["Hello there."]
    usage = theirs["usage"]
    # pi also says that nothing of it is cached for an hour.
    assert usage.pop("cacheWrite1h", 0) == 0
    assert ours.usage == usage


@pytest.mark.parametrize(("api", "reply"), [CASES[0], CASES[3]])
async def test_pi_sends_what_we_send(api: Api, reply: Reply, tmp_path: Path) -> None:
    async with desk(api, reply) as one:
        await one.write()
        await ask_pi(one.server, api, tmp_path)
        ours, theirs = one.server.requests
    assert ours.target == theirs.target.partition("?")[0]
    for name in ("authorization", "x-api-key", "anthropic-version", "accept", "content-type"):
        assert ours.headers.get(name) == theirs.headers.get(name), name
    # The limit of the answer has two names, of which pi takes the other one here.
    named = set(ours.json) - {"max_tokens"}
    assert named <= set(theirs.json)
    assert [message["role"] for message in theirs.json["messages"]][-1] == "user"


async def ask_pi(server: ModelServer, api: str, folder: Path) -> dict[str, Any]:
    """The message that a pi of its own ends with."""
    home = folder / "home"
    home.mkdir(parents=True)
    is_anthropic = api == "anthropic-messages"
    model = {"id": "the-model", "contextWindow": 100_000, "maxTokens": 1000}
    provider = {
        "baseUrl": server.url if is_anthropic else server.openai_url,
        "api": api,
        "apiKey": KEY,
        "models": [{**model, "cost": {**COST, "tiers": [TIER]}}],
    }
    (home / "models.json").write_text(json.dumps({"providers": {"prov": provider}}))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PI_CODING_AGENT_DIR": str(home)}
    quiet = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}
    bundle = os.fspath(PI_PACKAGE / "dist" / "bundle" / "cli.js")
    arguments = ["-p", "--mode", "json", "--no-session", "--model", "prov/the-model", "Hello"]
    process = await asyncio.create_subprocess_exec(
        os.fspath(node_path()),
        bundle,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=environment | quiet,
    )
    said, complaints = await asyncio.wait_for(process.communicate(), 60)
    ends = [json.loads(line) for line in said.splitlines() if b'"message_end"' in line]
    messages = [end["message"] for end in ends if end["message"]["role"] == "assistant"]
    assert messages, complaints.decode()
    last: dict[str, Any] = messages[-1]
    return last
