"""What errors of providers mean: the reason, the sentence, and whether another try is made."""

from typing import Any

import pytest

from pisessiond.models.endpoints import Api, Secret
from pisessiond.summarizers.quoting import MAX_QUOTE, quote, read_error
from tests.summarizers.support import APIS, KEY, USER, desk
from tests.support.model_replies import (
    AnthropicMessage,
    Cut,
    OpenAICompletion,
    Reply,
    Stall,
    Step,
    anthropic_error,
    anthropic_event,
    fails,
    json_reply,
    openai_error,
    openai_event,
    says,
    stream_reply,
)

pytestmark = pytest.mark.anyio

ONCE, OFTEN = 1, 4

A: Api = "anthropic-messages"
O: Api = "openai-completions"  # noqa: E741 - the two stand side by side in the table

# Bodies as the providers document or send them.
BODIES: list[tuple[Api, int, Any, str, int]] = [
    (A, 400, anthropic_error("invalid_request_error", "max_tokens: 9 > 8"), "error", ONCE),
    (
        A,
        400,
        anthropic_error(
            "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"
        ),
        "overflow",
        ONCE,
    ),
    (
        A,
        400,
        anthropic_error(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        ),
        "overflow",
        ONCE,
    ),
    (
        A,
        400,
        anthropic_error(
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
        ),
        "quota",
        ONCE,
    ),
    (A, 401, anthropic_error("authentication_error", "invalid x-api-key"), "auth", ONCE),
    (A, 402, anthropic_error("billing_error", "Payment needed"), "quota", ONCE),
    (A, 403, anthropic_error("permission_error", "Not yours"), "auth", ONCE),
    (A, 404, anthropic_error("not_found_error", "model: claude-x"), "error", ONCE),
    (A, 413, anthropic_error("request_too_large", "Too large"), "overflow", ONCE),
    (A, 429, anthropic_error("rate_limit_error", "Too many requests"), "overloaded", OFTEN),
    (A, 500, anthropic_error("api_error", "Internal server error"), "error", OFTEN),
    (A, 504, anthropic_error("timeout_error", "Timed out"), "timeout", OFTEN),
    (A, 529, anthropic_error("overloaded_error", "Overloaded"), "overloaded", OFTEN),
    (
        O,
        400,
        openai_error(
            "invalid_request_error",
            "This model's maximum context length is 128000 tokens. However, your messages "
            "resulted in 130000 tokens.",
            "context_length_exceeded",
        ),
        "overflow",
        ONCE,
    ),
    (O, 401, openai_error("invalid_request_error", "Wrong", "invalid_api_key"), "auth", ONCE),
    (O, 404, openai_error("invalid_request_error", "No", "model_not_found"), "error", ONCE),
    (O, 408, None, "timeout", OFTEN),
    (O, 422, {"detail": [{"msg": "Field required", "input": {}}]}, "error", ONCE),
    (
        O,
        429,
        openai_error("insufficient_quota", "You exceeded your current quota", "insufficient_quota"),
        "quota",
        ONCE,
    ),
    (
        O,
        429,
        openai_error("requests", "Rate limit reached for gpt-x", "rate_limit_exceeded"),
        "overloaded",
        OFTEN,
    ),
    (
        O,
        429,
        openai_error("tokens", "Request too large for gpt-x on tokens per min (TPM)"),
        "overflow",
        ONCE,
    ),
    # Bedrock's words for a rate, behind a gateway.
    (O, 429, {"message": "Too many tokens, please wait before trying again."}, "overloaded", OFTEN),
    (O, 402, {"error": {"code": 402, "message": "Insufficient credits"}}, "quota", ONCE),
    # OpenRouter's moderation.
    (O, 403, {"error": {"code": 403, "message": "Your input was flagged"}}, "refusal", ONCE),
    (O, 502, {"error": {"code": 502, "message": "Provider returned error"}}, "error", OFTEN),
    (O, 503, {"error": "server busy"}, "overloaded", OFTEN),
    # Ollama, vLLM, llama.cpp, Mistral, Google.
    (O, 404, {"error": "model 'x' not found"}, "error", ONCE),
    (
        O,
        400,
        {"object": "error", "message": "The maximum context length is 4096", "code": 400},
        "overflow",
        ONCE,
    ),
    (
        O,
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
            }
        },
        "overflow",
        ONCE,
    ),
    (O, 401, {"message": "Unauthorized", "request_id": "1"}, "auth", ONCE),
    (
        O,
        400,
        [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}],
        "auth",
        ONCE,
    ),
    (O, 418, "I am a teapot", "error", ONCE),
]


@pytest.mark.parametrize(("api", "status", "body", "reason", "tries"), BODIES)
async def test_an_error_is_what_the_provider_means(
    api: Api, status: int, body: Any, reason: str, tries: int
) -> None:
    async with desk(api, json_reply(body, status)) as one:
        failure = await one.failure()
        assert failure.reason == reason
        assert len(one.server.requests) == tries
        assert ("4 times" in str(failure)) == (tries == OFTEN)


# The same within a stream that began well, and as a body with status 200.
INSIDE: list[tuple[Api, Any, str, int]] = [
    (A, anthropic_error("overloaded_error", "Overloaded"), "overloaded", OFTEN),
    (A, anthropic_error("api_error", "Connection closed."), "error", OFTEN),
    (A, anthropic_error("invalid_request_error", "No"), "error", ONCE),
    (A, anthropic_error("authentication_error", "No"), "auth", ONCE),
    (O, {"error": {"code": 429, "message": "Slow down"}}, "overloaded", OFTEN),
    (O, {"error": {"code": "502", "message": "Provider disconnected"}}, "error", OFTEN),
    (O, {"error": {"code": 402, "message": "No"}}, "quota", ONCE),
    (O, openai_error("server_error", "The server had an error"), "error", OFTEN),
    (
        O,
        {"object": "error", "message": "No", "type": "BadRequestError", "code": 400},
        "error",
        ONCE,
    ),
    (
        O,
        openai_error("invalid_request_error", "the request exceeds the available context size"),
        "overflow",
        ONCE,
    ),
]


@pytest.mark.parametrize(("api", "error", "reason", "tries"), INSIDE)
@pytest.mark.parametrize("place", ["first", "midway", "body"])
async def test_an_error_in_a_stream_means_the_same(
    api: Api, error: Any, reason: str, tries: int, place: str
) -> None:
    maker: Any = AnthropicMessage if api == A else OpenAICompletion
    event = f"event: error\ndata: {openai_event(error)[6:]}" if api == A else openai_event(error)
    begun = [*maker(["Some", " text"]).events()][:-3] if place == "midway" else []
    reply = json_reply(error) if place == "body" else stream_reply([*begun, event])
    async with desk(api, reply) as one:
        failure = await one.failure()
        assert failure.reason == reason
        assert len(one.server.requests) == tries


async def test_an_error_event_without_a_name_is_one() -> None:
    reply = stream_reply([f"data: {anthropic_event(anthropic_error('x', 'No'))[19:]}"])
    async with desk(A, reply) as one:
        assert (await one.failure()).reason == "error"


@pytest.mark.parametrize("word", ["error", "network_error", "abort"])
async def test_a_provider_that_gave_up_underway_is_tried_again(word: str) -> None:
    replies = [OpenAICompletion(["Half"], word).reply(), says("Done.")]
    async with desk(O, replies) as one:
        assert (await one.write()).text == "Done."


# What the sentences say


async def test_a_refused_key_is_named_by_its_source_alone() -> None:
    masked = openai_error("x", "Incorrect API key provided: sk-test-****cdef.", "invalid_api_key")
    async with desk(O, json_reply(masked, 401)) as one:
        sentence = str(await one.failure())
    assert "TEST_API_KEY" in sentence
    assert "cdef" not in sentence
    assert "sk-" not in sentence


async def test_what_may_pass_is_told_as_such_and_what_will_not_points_at_the_settings() -> None:
    async with desk(A, fails(500, "api_error", "boom")) as one:
        assert "failed with status 500: “boom”. Try again later" in str(await one.failure())
    async with desk(A, fails(400, "invalid_request_error", "no such field")) as one:
        assert "Look at the model's settings." in str(await one.failure())


async def test_a_missing_key_is_told_as_missing() -> None:
    async with desk(A, fails(401, "authentication_error", "x-api-key header is required")) as one:
        one.more = {"key": None}
        assert "none is set" in str(await one.failure())
        one.more = {"key": None, "headers": {"x-secret": "abcdefghijk"}}
        assert "headers" in str(await one.failure())


async def test_a_message_is_quoted_on_one_short_line() -> None:
    long = "Field\n\tis \x1b[31mwrong: " + "and so on, " * 100
    async with desk(O, fails(400, "invalid_request_error", long)) as one:
        sentence = str(await one.failure())
    assert "“Field is [31mwrong: and so on, and so on" in sentence
    assert "\x1b" not in sentence


@pytest.mark.parametrize("api", APIS)
async def test_neither_key_nor_headers_nor_prompt_are_quoted(api: Api) -> None:
    secret = "header-secret-42"
    message = f"Bad key {KEY} and {secret} here"
    async with desk(api, fails(400, "invalid_request_error", message)) as one:
        one.more = {"headers": {"x-more": secret}}
        sentence = str(await one.failure())
        assert "“Bad key … and … here”" in sentence
        one.server.script = fails(400, "invalid_request_error", f"Unexpected: {USER}")
        assert "“" not in str(await one.failure())


PRIVATE = "The conversation:\n\tone word\n\ta line\n\tmore of it\n and a longer line than those"


@pytest.mark.parametrize("start", range(len(PRIVATE) - 30))
def test_an_echo_of_the_prompt_is_not_shown(start: int) -> None:
    echo = PRIVATE[start : start + 30]
    assert quote(f"Wrong input {echo}!", secrets=(), private=("", PRIVATE)) == ""


def test_a_longer_line_is_known_however_its_blanks_are_changed() -> None:
    echo = "and  a\nlonger line\tthan those"
    assert quote(f"Wrong input: {echo}", secrets=(), private=(PRIVATE,)) == ""


def test_a_few_words_in_common_are_no_echo() -> None:
    said = "Wrong input in the conversation: a longer one"
    assert quote(said, secrets=(), private=(PRIVATE,)) == f"“{said}”"


def test_quotes_are_bounded() -> None:
    assert len(quote("a b " * 1000, secrets=(), private=())) == MAX_QUOTE + 2
    assert quote("  \n\x00 ", secrets=(), private=()) == ""


@pytest.mark.parametrize(
    "body", [None, 3, [], {}, [[]], {"error": None}, {"error": 3}, {"error": {"message": {"a": 1}}}]
)
def test_errors_of_any_shape_can_be_read(body: Any) -> None:
    error = read_error(body)
    assert isinstance(error.message, str)
    assert error.status is None


async def test_a_page_instead_of_an_error_is_not_quoted() -> None:
    page = Reply([b"<html><title>502 Bad Gateway</title>"], 400, {"content-type": "text/html"})
    async with desk(O, page) as one:
        assert "html" not in str(await one.failure())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    async with desk(O, says("Stolen.")) as elsewhere:
        place = f"{elsewhere.server.openai_url}/chat/completions"
        async with desk(A, Reply([], status, {"location": place})) as one:
            failure = await one.failure()
            assert failure.reason == "protocol"
            assert "base URL" in str(failure)
        assert elsewhere.server.requests == []


async def test_a_huge_error_is_read_in_part() -> None:
    huge = Reply([b"x" * 50_000] * 100, 400)
    async with desk(O, huge) as one:
        assert len(str(await one.failure())) < 500


@pytest.mark.parametrize("end", [Cut(), Stall()])
async def test_an_error_whose_body_does_not_come_is_told_by_its_status(
    end: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pisessiond.summarizers.http_reading.AFTERWORD", 0.1)
    async with desk(O, Reply([b'{"error"', end], 401)) as one:
        assert (await one.failure()).reason == "auth"
        assert len(one.server.requests) == 1


def test_a_key_shows_itself_nowhere() -> None:
    assert KEY not in repr(Secret(KEY, "env"))
