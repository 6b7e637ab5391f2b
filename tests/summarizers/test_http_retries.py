"""Trying again: what, how often, after which waits, and what clients hear meanwhile."""

import email.utils
import math

import anyio
import pytest

from pisessiond.core.pi_settings import RetrySettings
from pisessiond.models.endpoints import Api
from pisessiond.summarizers.http import Limits
from pisessiond.summarizers.retrying import (
    Failure,
    Pacing,
    RetryPolicy,
    requested_wait,
    spell_seconds,
    with_retries,
)
from tests.summarizers.support import APIS, TASK, Clock, desk
from tests.support.model_replies import Cut, Pause, Reply, Stall, fails, json_reply, says
from tests.support.model_server import free_port

pytestmark = pytest.mark.anyio

BUSY = fails(529, "overloaded_error", "Overloaded")
PATIENT = RetryPolicy(retries=6, base_delay=2, max_delay=20)


@pytest.mark.parametrize("api", APIS)
async def test_waits_double_up_to_their_longest(api: Api) -> None:
    async with desk(api, [BUSY] * 6 + [says("Done.")], policy=PATIENT) as one:
        assert (await one.write()).text == "Done."
        assert one.clock.sleeps == [2, 4, 8, 16, 20, 20]


@pytest.mark.parametrize("api", APIS)
async def test_the_last_failure_says_how_often_it_was_tried(api: Api) -> None:
    async with desk(api, BUSY) as one:
        failure = await one.failure()
        assert failure.reason == "overloaded"
        assert str(failure).endswith("It was tried 4 times.")
        assert one.clock.sleeps == [2, 4, 8]
        one.policy = RetryPolicy(retries=0)
        assert str(await one.failure()).endswith("It was tried once.")


async def test_chance_takes_up_to_a_quarter_off() -> None:
    clock = Clock()
    pacing = Pacing(sleep=clock.sleep, chance=lambda: 0.999)

    async def attempt() -> None:
        raise Failure("overloaded", "Busy.", is_transient=True)

    with pytest.raises(Failure):
        await with_retries(attempt, RetryPolicy(), pacing, "x")
    assert clock.sleeps == pytest.approx([1.5, 3, 6], rel=1e-3)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "7"}, 7),
        ({"retry_after": "0"}, 0),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after_ms": "250"}, 0.25),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after_ms": "soon", "retry_after": "9"}, 9),
        ({"retry_after": email.utils.formatdate(1_000_000_030, usegmt=True)}, 30),
        ({"retry_after": email.utils.formatdate(1, usegmt=True)}, 0),
        ({"retry_after": "later"}, 2),
        ({"retry_after": "-3"}, 2),
        ({"retry_after": "inf"}, 2),
        ({"retry_after": "nan"}, 2),
    ],
)
@pytest.mark.parametrize("api", APIS)
async def test_a_server_is_waited_for_as_long_as_it_asks(
    api: Api, headers: dict[str, str], wait: float
) -> None:
    busy = fails(429, "rate_limit_error", "Slow down", **headers)
    async with desk(api, [busy, says("Done.")]) as one:
        assert (await one.write()).text == "Done."
        assert one.clock.sleeps == [wait]


@pytest.mark.parametrize("api", APIS)
async def test_a_wait_that_is_too_long_is_told_at_once(api: Api) -> None:
    busy = fails(429, "rate_limit_error", "Slow down", retry_after="3000")
    async with desk(api, busy) as one:
        failure = await one.failure()
        assert failure.reason == "overloaded"
        assert "50 minutes" in str(failure)
        assert len(one.server.requests) == 1
        one.policy = RetryPolicy(retries=1, max_requested_delay=math.inf)
        one.limits = Limits(whole=None)
        await one.failure()
        assert one.clock.sleeps == [3000]


async def test_a_server_that_says_not_to_retry_is_obeyed() -> None:
    busy = fails(529, "overloaded_error", "Overloaded", x_should_retry="false")
    async with desk("anthropic-messages", busy) as one:
        await one.failure()
        assert len(one.server.requests) == 1


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("resets", [False, True])
async def test_a_connection_cut_before_the_answer_is_made_again(api: Api, resets: bool) -> None:
    async with desk(api, [says("x").after(Cut(resets)), says("Done.")]) as one:
        assert (await one.write()).text == "Done."
        assert one.received[0] > 0


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("resets", [False, True])
async def test_a_stream_cut_after_text_came_begins_anew(api: Api, resets: bool) -> None:
    cut = says("Half of it", pieces=2).ended_after("Half", Cut(resets))
    async with desk(api, [cut, says("Done.", pieces=1)]) as one:
        assert (await one.write()).text == "Done."
        # What was received goes back, as it is no longer there. A reset may outrun the text.
        assert one.received in ([5, 0, 5], [5])
        assert resets or one.received == [5, 0, 5]


@pytest.mark.parametrize("api", APIS)
async def test_a_stream_that_ends_without_its_end_is_cut(api: Api) -> None:
    whole = says("Half of it", pieces=2).ended_after("Half", Pause(0))
    async with desk(api, whole) as one:
        failure = await one.failure()
        assert failure.reason == "connection"
        assert "before the answer" in str(failure)
        assert len(one.server.requests) == 4


async def test_a_stream_of_nothing_but_pings_is_cut() -> None:
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    async with desk("anthropic-messages", [Reply([ping] * 3), says("Done.")]) as one:
        assert (await one.write()).text == "Done."


@pytest.mark.parametrize("api", APIS)
async def test_what_never_answers_is_tried_again_and_told(api: Api) -> None:
    async with desk(api, says("x")) as one:
        one.more = {"base_url": f"http://127.0.0.1:{free_port()}"}
        failure = await one.failure()
        assert failure.reason == "connection"
        assert "connection refused" in str(failure)
        assert one.clock.sleeps == [2, 4, 8]


async def test_an_unknown_host_is_told() -> None:
    async with desk("openai-completions", says("x")) as one:
        one.more = {"base_url": "http://no-such-host.invalid/v1"}
        one.policy = RetryPolicy(retries=0)
        failure = await one.failure()
        assert failure.reason == "connection"
        assert "no-such-host.invalid" in str(failure)


async def test_tls_that_is_none_is_told_and_not_tried_again() -> None:
    async with desk("openai-completions", says("x")) as one:
        one.more = {"base_url": one.server.openai_url.replace("http:", "https:")}
        failure = await one.failure()
        assert failure.reason == "connection"
        assert "TLS" in str(failure)
        assert one.server.connections == 1


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("where", ["headers", "midway"])
async def test_silence_is_not_waited_for_for_ever(api: Api, where: str) -> None:
    silent = says("x").after(Stall()) if where == "headers" else _silent_after("Half")
    async with desk(api, silent, limits=Limits(idle=0.2)) as one:
        failure = await one.failure()
        assert failure.reason == "timeout"
        assert "1 second" in str(failure)
        assert len(one.server.requests) == 1
        await one.server.requests[0].until_gone()


def _silent_after(text: str) -> Reply:
    return says("Half of it", pieces=2).ended_after(text, Stall())


@pytest.mark.parametrize("api", APIS)
async def test_the_whole_call_has_a_limit_however_lively_it_is(api: Api) -> None:
    lively = says("x" * 5000, pieces=200).in_pieces(100, pause=0.01)
    async with desk(api, lively, limits=Limits(whole=0.3)) as one:
        failure = await one.failure()
        assert failure.reason == "timeout"
        assert "was not done within" in str(failure)
        assert one.received
        await one.server.requests[0].until_gone()


async def test_a_wait_that_the_whole_call_has_no_time_for_is_not_begun() -> None:
    async with desk("openai-completions", BUSY, limits=Limits(whole=1.5)) as one:
        one.real_time = True
        start = anyio.current_time()
        failure = await one.failure()
        assert failure.reason == "overloaded"
        assert "tried once" in str(failure)
        assert anyio.current_time() - start < 1


def test_the_policy_is_what_pis_settings_say() -> None:
    assert RetryPolicy.of(RetrySettings()) == RetryPolicy()
    assert RetryPolicy.of(RetrySettings(enabled=False)).retries == 0
    unlike = RetrySettings(True, 7, 500, 9_000, 0)
    assert RetryPolicy.of(unlike) == RetryPolicy(7, 0.5, 9.0, math.inf)


async def test_what_is_no_http_is_not_tried_again() -> None:
    babble = Reply([]).after(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", Cut())
    async with desk("openai-completions", babble) as one:
        assert (await one.failure()).reason == "protocol"
        assert len(one.server.requests) == 1


async def test_a_failed_call_leaves_the_next_one_alone() -> None:
    replies = [json_reply({}, 400), _silent_after("Half"), says("Done.")]
    async with desk("openai-completions", replies, limits=Limits(idle=0.2)) as one:
        await one.failure()
        await one.failure()
        assert (await one.write()).text == "Done."


def test_waits_are_spelled_for_people() -> None:
    assert [spell_seconds(s) for s in (0, 0.2, 1, 59, 60, 61, 3600, 5000)] == [
        "0 seconds",
        "1 second",
        "1 second",
        "59 seconds",
        "1 minute",
        "2 minutes",
        "1 hour",
        "2 hours",
    ]


def test_no_header_is_no_wait() -> None:
    assert requested_wait({}, 0) is None


async def test_another_try_is_not_made_for_a_bug() -> None:
    async with desk("openai-completions", says("Done.")) as one:
        summarizer = one.summarizer

        def broken(characters: int) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await summarizer.write(TASK, broken)
        assert len(one.server.requests) == 1
