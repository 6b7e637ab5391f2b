"""What comes of answers: texts, usage, and answers that are no summary."""

import itertools
import time
from dataclasses import replace
from typing import Any

import pytest

from pisessiond.models.base import ModelFacts, ModelName, Price
from pisessiond.models.endpoints import Api
from pisessiond.summarizers.base import SummaryFailed
from pisessiond.summarizers.http import Limits
from pisessiond.summarizers.retrying import RetryPolicy
from tests.summarizers.support import APIS, TASK, desk
from tests.support.model_replies import (
    ANTHROPIC_USAGE,
    OPENAI_USAGE,
    AnthropicMessage,
    Cut,
    OpenAICompletion,
    Pause,
    Reply,
    Stall,
    Step,
    anthropic_event,
    json_reply,
    openai_event,
    says,
    stream_reply,
)

pytestmark = pytest.mark.anyio

TEXT = "## Goal\nZiel: größer 😀 und 上海.\n\n## Next Steps\n1. Weiter."
UNITS = len(TEXT.encode("utf-16-le")) // 2


@pytest.mark.parametrize("api", APIS)
async def test_a_text_comes_whole_and_is_counted_underway(api: Api) -> None:
    async with desk(api, says(TEXT, pieces=7)) as one:
        written = await one.write()
    assert written.text == TEXT
    assert written.model == ModelName("prov", "the-model")
    assert len(one.received) == 7
    assert one.received == sorted(one.received)
    assert one.received[-1] == UNITS


@pytest.mark.parametrize("api", APIS)
async def test_white_space_around_it_is_taken_off(api: Api) -> None:
    async with desk(api, says(f"\n\n {TEXT}\n ")) as one:
        assert (await one.write()).text == TEXT


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_where_the_network_tears_it_does_not_matter(api: Api, size: int) -> None:
    # Inside characters of several bytes and between CR and LF, too.
    async with desk(api, says(TEXT).with_crlf().in_pieces(size)) as one:
        assert (await one.write()).text == TEXT


@pytest.mark.parametrize("api", APIS)
async def test_a_slow_drip_is_not_too_slow_as_long_as_something_comes(api: Api) -> None:
    slow = says("Done.", pieces=1).in_pieces(40, pause=0.02)
    async with desk(api, slow) as one:
        one.limits = type(one.limits)(idle=1.0)
        assert (await one.write()).text == "Done."


async def test_a_character_in_two_halves_is_joined() -> None:
    message = OpenAICompletion(["\ud83d", "\ude00 and \ud83d alone"])
    events = (event.encode("utf-8", "surrogatepass") for event in message.events())
    escaped = [event.replace(b"\xed\xa0\xbd", b"\\ud83d") for event in events]
    escaped = [event.replace(b"\xed\xb8\x80", b"\\ude00") for event in escaped]
    async with desk("openai-completions", Reply(escaped)) as one:
        assert (await one.write()).text == "😀 and \ufffd alone"
    assert one.received[-1] == len("xx and x alone")


# Odd but usable


async def test_thinking_is_not_part_of_the_text() -> None:
    thinks = AnthropicMessage(["Done."], thinking="Hmm.").reply()
    async with desk("anthropic-messages", thinks) as one:
        assert (await one.write()).text == "Done."
        assert one.received == [5]
    reasons = OpenAICompletion(["Done."], reasoning="Hmm.").reply()
    async with desk("openai-completions", reasons) as one:
        assert (await one.write()).text == "Done."
        assert one.received == [5]


@pytest.mark.parametrize(
    "odd",
    [
        OpenAICompletion(["Done."], comments=True),
        OpenAICompletion(["Done."], done=False),
        OpenAICompletion(["Done."], usage=None),
        OpenAICompletion(["Done."], usage_in_choice=True),
        OpenAICompletion(["Done."], finish_reason="end"),
    ],
)
async def test_servers_that_do_it_otherwise_are_understood(odd: OpenAICompletion) -> None:
    async with desk("openai-completions", odd.reply()) as one:
        written = await one.write()
    assert written.text == "Done."
    assert (written.usage is None) == (odd.usage is None)


async def test_text_in_parts_is_read() -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Done."}]
    chunks = [
        OpenAICompletion([]).chunk({"content": parts}),
        OpenAICompletion([]).chunk({}, "stop"),
    ]
    async with desk("openai-completions", stream_reply(map(openai_event, chunks))) as one:
        assert (await one.write()).text == "Done."


async def test_a_last_event_without_its_empty_line_counts() -> None:
    chunks = [*OpenAICompletion(["Done."], usage=None, done=False).events()]
    chunks[-1] = chunks[-1].rstrip("\n")
    async with desk("openai-completions", stream_reply(chunks)) as one:
        assert (await one.write()).text == "Done."


async def test_a_server_that_never_says_why_it_ends_is_believed_where_that_is_known() -> None:
    reply = OpenAICompletion(["Done."], finish_reason=None, usage=None).reply()
    async with desk("openai-completions", reply) as one:
        one.more = {"supports_finish_reason": False}
        assert (await one.write()).text == "Done."
        one.more = {}
        failure = await one.failure()
        assert failure.reason == "protocol"
        assert "supportsFinishReason" in str(failure)
        assert len(one.server.requests) == 2


async def test_a_reason_to_have_ended_in_every_piece_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pisessiond.summarizers.http_reading.AFTERWORD", 0.15)
    chunks = [OpenAICompletion([]).chunk({"content": f"{n} "}, "stop") for n in range(10)]
    slow = [step for chunk in chunks for step in (openai_event(chunk).encode(), Pause(0.05))]
    async with desk("openai-completions", Reply([*slow, b"data: [DONE]\n\n"])) as one:
        assert (await one.write()).text == "0 1 2 3 4 5 6 7 8 9"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_that_is_no_stream_is_read_all_the_same(api: Api, kind: str) -> None:
    maker = AnthropicMessage if api == "anthropic-messages" else OpenAICompletion
    whole = maker([TEXT]).whole()
    reply = Reply(whole.steps, headers={"content-type": kind}, is_chunked=False)
    async with desk(api, reply) as one:
        written = await one.write()
    assert written.text == TEXT
    assert written.usage is not None
    assert one.received == [UNITS]


@pytest.mark.parametrize("api", APIS)
async def test_what_breaks_behind_the_end_of_the_text_takes_nothing_from_it(api: Api) -> None:
    end = "end_turn" if api == "anthropic-messages" else '"stop"'
    async with desk(api, says("Done.").ended_after(end, Cut())) as one:
        assert (await one.write()).text == "Done."
        assert len(one.server.requests) == 1


@pytest.mark.parametrize(
    ("api", "end"),
    [
        ("anthropic-messages", "end_turn"),
        ("anthropic-messages", "message_stop"),
        ("openai-completions", '"stop"'),
        ("openai-completions", "[DONE]"),
    ],
)
async def test_a_server_that_never_closes_is_left_soon(
    api: Api, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pisessiond.summarizers.http_reading.AFTERWORD", 0.1)
    async with desk(api, says("Done.").ended_after(end, Stall()), limits=Limits(idle=2)) as one:
        start = time.monotonic()
        assert (await one.write()).text == "Done."
        assert await one.server.requests[0].until_gone() - start < 1


@pytest.mark.parametrize("api", APIS)
async def test_events_of_unknown_kinds_are_passed_over(api: Api) -> None:
    reply = says("Done.").changed(
        lambda r: Reply([b'event: news\ndata: {"type": "news"}\n\n', *r.steps], headers=r.headers)
    )
    async with desk(api, reply) as one:
        assert (await one.write()).text == "Done."


# Usage


async def test_the_usage_of_anthropic() -> None:
    first = {**ANTHROPIC_USAGE, "input_tokens": 30, "cache_read_input_tokens": 200}
    last = {"output_tokens": 50, "output_tokens_details": {"thinking_tokens": 8}}
    reply = AnthropicMessage(["Done."], usage=first, last_usage=last).reply()
    facts = ModelFacts(price=Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75))
    async with desk("anthropic-messages", reply, facts=facts) as one:
        usage = (await one.write()).usage
    assert usage == {
        "input": 30,
        "output": 50,
        "cacheRead": 200,
        "cacheWrite": 0,
        "reasoning": 8,
        "totalTokens": 280,
        "cost": {
            "input": pytest.approx(0.00009),
            "output": pytest.approx(0.00075),
            "cacheRead": pytest.approx(0.00006),
            "cacheWrite": 0,
            "total": pytest.approx(0.0009),
            "totalFromProvider": False,
        },
    }


async def test_the_last_usage_of_anthropic_replaces_what_it_tells_of_the_first() -> None:
    first = {**ANTHROPIC_USAGE, "cache_read_input_tokens": 7}
    last = {"input_tokens": 31, "output_tokens": 5, "cache_read_input_tokens": None}
    reply = AnthropicMessage(["Done."], usage=first, last_usage=last).reply()
    async with desk("anthropic-messages", reply) as one:
        usage = (await one.write()).usage
    assert usage is not None
    assert (usage["input"], usage["output"], usage["cacheRead"]) == (31, 5, 7)
    assert usage["totalTokens"] == 43
    assert usage["cost"]["total"] == 0


@pytest.mark.parametrize(
    ("told", "input_tokens", "read", "write"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 20}}, 80, 20, 0),
        ({"prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 30}}, 50, 20, 30),
        ({"prompt_cache_hit_tokens": 20}, 80, 20, 0),
        ({"cached_tokens": 20}, 80, 20, 0),
        ({"prompt_tokens_details": None}, 100, 0, 0),
        ({"prompt_tokens_details": {"cached_tokens": 900}}, 0, 900, 0),
        ({"prompt_tokens_details": {"cached_tokens": "20"}}, 100, 0, 0),
    ],
)
async def test_the_usage_of_openai(
    told: dict[str, Any], input_tokens: int, read: int, write: int
) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107, **told}
    async with desk("openai-completions", OpenAICompletion(["x"], usage=usage).reply()) as one:
        found = (await one.write()).usage
    assert found is not None
    cost = found.pop("cost")
    assert cost["totalFromProvider"] is False
    assert found == {
        "input": input_tokens,
        "output": 7,
        "cacheRead": read,
        "cacheWrite": write,
        "reasoning": 0,
        "totalTokens": input_tokens + read + write + 7,
    }


@pytest.mark.parametrize(
    ("told", "total"),
    [
        ({"cost": 0.5, "is_byok": False}, 0.5),
        ({"cost": 0.1, "is_byok": True, "cost_details": {"upstream_inference_cost": 2}}, 2.1),
        ({"cost": 0.5}, None),
        ({"cost": "0.5", "is_byok": False}, None),
        ({"cost": 0.1, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, None),
    ],
)
async def test_what_openrouter_says_it_costs_is_the_total(
    told: dict[str, Any], total: float | None
) -> None:
    reply = OpenAICompletion(["x"], usage={**OPENAI_USAGE, **told}).reply()
    async with desk("openai-completions", reply) as one:
        summarizer = one.summarizer
        summarizer.model = ModelName("openrouter", "a/b")
        found = (await summarizer.write(TASK, one.received.append)).usage
        elsewhere = (await one.write()).usage
    assert found is not None
    assert elsewhere is not None
    assert found["cost"]["totalFromProvider"] is (total is not None)
    assert found["cost"]["total"] == pytest.approx(total or 0)
    assert elsewhere["cost"]["totalFromProvider"] is False


# No summary


def _both(anthropic: str, openai: str) -> list[tuple[Api, Reply]]:
    return [
        ("anthropic-messages", AnthropicMessage(["Half"], stop_reason=anthropic).reply()),
        ("openai-completions", OpenAICompletion(["Half"], finish_reason=openai).reply()),
    ]


UNUSABLE = [
    *(("length", *pair) for pair in _both("max_tokens", "length")),
    *(("toolCall", *pair) for pair in _both("tool_use", "tool_calls")),
    *(("refusal", *pair) for pair in _both("refusal", "content_filter")),
    *(
        ("overflow", *pair)
        for pair in _both("model_context_window_exceeded", "model_context_window_exceeded")
    ),
    *(("error", *pair) for pair in _both("something_new", "something_new")),
    ("error", "anthropic-messages", AnthropicMessage(["x"], stop_reason="pause_turn").reply()),
    ("toolCall", "anthropic-messages", AnthropicMessage(["x"], tool="read").reply()),
    ("toolCall", "openai-completions", OpenAICompletion(["x"], tool="read").reply()),
    ("refusal", "openai-completions", OpenAICompletion([], refusal="I cannot.").reply()),
    ("empty", "anthropic-messages", AnthropicMessage([]).reply()),
    ("empty", "anthropic-messages", AnthropicMessage([" \n"], thinking="Hm.").reply()),
    ("empty", "openai-completions", OpenAICompletion([]).reply()),
    ("empty", "openai-completions", OpenAICompletion([], reasoning="Hm.").reply()),
    ("protocol", "anthropic-messages", OpenAICompletion(["x"]).reply()),
    ("protocol", "openai-completions", AnthropicMessage(["x"]).reply()),
    ("protocol", "anthropic-messages", OpenAICompletion(["x"]).whole()),
    ("protocol", "openai-completions", AnthropicMessage(["x"]).whole()),
    *(
        ("protocol", api, reply)
        for api, reply in itertools.product(
            APIS,
            [
                Reply([b"<!doctype html><p>Sign in"], headers={"content-type": "text/html"}),
                Reply([]),
                Reply([b"   \n"]),
                Reply([b'{"half": ']),
                Reply([b"data: no JSON\n\n"]),
                Reply([b"data: 1\n\n"]),
                Reply([b"just words\n\n"]),
                json_reply({}),
            ],
        )
    ),
]


@pytest.mark.parametrize(("reason", "api", "reply"), UNUSABLE)
async def test_an_answer_that_is_no_summary_says_why(reason: str, api: Api, reply: Reply) -> None:
    async with desk(api, reply) as one:
        failure = await one.failure()
        assert failure.reason == reason
        assert len(one.server.requests) == 1
        assert f"127.0.0.1:{one.server.port}" in str(failure)


async def test_a_limit_of_length_names_the_limit() -> None:
    async with desk("openai-completions", OpenAICompletion(["x"], "length").reply()) as one:
        assert "1000 tokens" in str(await one.failure())
        assert "reserveTokens" in str(await one.failure())
        one.facts = ModelFacts(max_output=500)
        assert "500 tokens" in (sentence := str(await one.failure()))
        assert "reserveTokens" not in sentence


async def test_a_full_window_that_is_told_as_length_is_an_overflow() -> None:
    usage = {"prompt_tokens": 995, "completion_tokens": 0}
    reply = OpenAICompletion([], "length", usage=usage).reply()
    async with desk("openai-completions", reply, facts=ModelFacts(window=1000)) as one:
        assert (await one.failure()).reason == "overflow"
        one.facts = ModelFacts(window=100_000)
        assert (await one.failure()).reason == "length"


async def test_a_model_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pisessiond.summarizers.answers.MAX_TEXT", 50)
    endless = itertools.repeat(openai_event(OpenAICompletion([]).chunk({"content": "more "})))
    reply = stream_reply(itertools.islice(endless, 2000))
    async with desk("openai-completions", reply) as one:
        assert (await one.failure()).reason == "length"


async def test_a_line_without_end_is_left() -> None:
    reply = Reply([b"data: ", *([b"x" * 1_000_000] * 6)])
    async with desk("anthropic-messages", reply) as one:
        assert (await one.failure()).reason == "protocol"


async def test_an_event_that_is_torn_by_the_end_is_a_lost_connection() -> None:
    events = [*AnthropicMessage(["Done."]).events()]
    torn = stream_reply([*events[:4], events[4][:40]])
    async with desk("anthropic-messages", torn) as one:
        failure = await one.failure()
        assert failure.reason == "connection"
        assert len(one.server.requests) == 4


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("end", [Cut(), Pause(0)])
async def test_wherever_a_stream_ends_a_text_is_whole_or_none(api: Api, end: Step) -> None:
    whole = says(TEXT)
    async with desk(api, whole, policy=RetryPolicy(retries=0)) as one:
        await one.write()
        is_anthropic = api == "anthropic-messages"
        size = len(whole.for_path("/v1/messages" if is_anthropic else "/x").body())
        found = set()
        for at in range(0, size, 13):
            one.server.script = whole.changed(
                lambda r, at=at: replace(r, steps=[r.body()[:at], end])  # type: ignore[misc]
            )
            try:
                assert (await one.write()).text == TEXT
                found.add("whole")
            except SummaryFailed as failure:
                found.add(failure.reason)
    # Where not even one event came, and yet the body ended, it is no stream.
    assert {"whole", "connection"} <= found <= {"whole", "connection", "protocol"}
    assert "protocol" not in found or end == Pause(0)


async def test_blocks_that_begin_with_text_count() -> None:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": _text("Do")},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ne."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": None},
    ]
    async with desk("anthropic-messages", stream_reply(map(anthropic_event, events))) as one:
        assert (await one.write()).text == "Done."


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
