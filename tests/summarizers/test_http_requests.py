"""What goes over the wire to a model, field by field."""

import pytest

from pisessiond import __version__
from pisessiond.core.summary_task import Prompt
from pisessiond.models.base import ModelFacts
from pisessiond.models.endpoints import Secret
from pisessiond.summarizers.base import SummaryFailed
from tests.summarizers.support import KEY, SYSTEM, TASK, USER, desk
from tests.support.model_replies import says

pytestmark = pytest.mark.anyio


async def test_a_request_to_anthropic() -> None:
    async with desk("anthropic-messages", says("Done.")) as one:
        await one.write()
        (request,) = one.server.requests
    assert (request.method, request.target) == ("POST", "/v1/messages")
    assert request.headers == {
        "host": f"127.0.0.1:{one.server.port}",
        "user-agent": f"pisessiond/{__version__}",
        "accept": "application/json",
        "accept-encoding": "identity",
        "connection": "keep-alive",
        "content-type": "application/json",
        "content-length": str(len(request.body)),
        "anthropic-version": "2023-06-01",
        "x-api-key": KEY,
    }
    assert request.json == {
        "model": "the-model",
        "max_tokens": 1000,
        "system": SYSTEM,
        "messages": [{"role": "user", "content": USER}],
        "stream": True,
    }


async def test_a_request_to_openai() -> None:
    async with desk("openai-completions", says("Done.")) as one:
        await one.write()
        (request,) = one.server.requests
    assert (request.method, request.target) == ("POST", "/v1/chat/completions")
    assert request.headers == {
        "host": f"127.0.0.1:{one.server.port}",
        "user-agent": f"pisessiond/{__version__}",
        "accept": "application/json",
        "accept-encoding": "identity",
        "connection": "keep-alive",
        "content-type": "application/json",
        "content-length": str(len(request.body)),
        "authorization": f"Bearer {KEY}",
    }
    assert request.json == {
        "model": "the-model",
        "max_tokens": 1000,
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": USER},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_what_a_server_wants_otherwise_is_sent_otherwise() -> None:
    wishes = {
        "max_tokens_field": "max_completion_tokens",
        "supports_usage_in_streaming": False,
        "system_role": "developer",
        "sampling": {"temperature": 0.2, "model": "other", "stream": False, "messages": []},
    }
    async with desk("openai-completions", says("Done."), more=wishes) as one:
        await one.write()
        body = one.server.requests[0].json
    assert body == {
        "model": "the-model",
        "max_completion_tokens": 1000,
        "messages": [
            {"role": "developer", "content": SYSTEM},
            {"role": "user", "content": USER},
        ],
        "stream": True,
        "temperature": 0.2,
    }


async def test_the_users_headers_stand_over_the_usual_ones() -> None:
    theirs = {"X-Api-Key": "other", "Anthropic-Beta": "a,b", "User-Agent": "mine"}
    async with desk("anthropic-messages", says("Done."), more={"headers": theirs}) as one:
        await one.write()
        headers = one.server.requests[0].headers
    assert headers["x-api-key"] == "other"
    assert headers["anthropic-beta"] == "a,b"
    assert headers["user-agent"] == "mine"


async def test_a_server_without_a_key_gets_none() -> None:
    async with desk("openai-completions", says("Done."), more={"key": None}) as one:
        await one.write()
        assert "authorization" not in one.server.requests[0].headers


async def test_anthropics_format_takes_a_bearer_too() -> None:
    async with desk("anthropic-messages", says("Done."), more={"auth": "bearer"}) as one:
        await one.write()
        headers = one.server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in headers


async def test_a_base_url_may_have_a_path_and_a_query() -> None:
    async with desk("openai-completions", says("Done.")) as one:
        one.more = {"base_url": f"{one.server.url}/azure/v1/?version=2"}
        await one.write()
        assert one.server.requests[0].target == "/azure/v1/chat/completions?version=2"


async def test_the_limit_is_what_the_model_can_write() -> None:
    async with desk("anthropic-messages", says("Done.")) as one:
        one.facts = ModelFacts(max_output=300)
        await one.write()
        one.facts = ModelFacts(max_output=3000)
        await one.write()
        assert [request.json["max_tokens"] for request in one.server.requests] == [300, 1000]


async def test_a_lone_surrogate_in_the_prompt_is_no_failure() -> None:
    async with desk("openai-completions", says("Done.")) as one:
        summarizer = one.summarizer
        summarizer._make_prompt = lambda task: Prompt("", "torn \ud83d here")
        await summarizer.write(TASK, one.received.append)
        assert one.server.requests[0].json["messages"][1]["content"] == "torn \ufffd here"


async def test_calls_one_after_another_share_a_connection() -> None:
    async with desk("openai-completions", says("Done.")) as one:
        await one.write()
        await one.write()
        assert len(one.server.requests) == 2
        assert one.server.connections == 1


@pytest.mark.parametrize("key", ["sk-line\nbreak-0123456789", "sk-ключ-0123456789"])
async def test_a_key_that_no_header_holds_is_told_without_it(key: str) -> None:
    async with desk("openai-completions", says("Done.")) as one:
        one.more = {"key": Secret(key, "auth.json")}
        failure = await one.failure()
        assert one.server.requests == []
    assert failure.reason == "auth"
    assert "auth.json" in str(failure)
    assert key not in str(failure)


@pytest.mark.parametrize(
    "url", ["", "localhost:11434", "ftp://host/v1", "http://[::1", "http:///v1", "http://h:99999"]
)
async def test_a_base_url_that_is_none_is_told(url: str) -> None:
    async with desk("openai-completions", says("Done."), more={"base_url": url}) as one:
        with pytest.raises(SummaryFailed, match="base URL") as caught:
            await one.write()
        assert caught.value.reason == "error"
