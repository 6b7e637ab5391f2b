"""Proxies of the environment and of the settings, and what a client costs before it is used."""

import asyncio
import logging
import subprocess
import sys
import threading
import time

import anyio
import pytest

from pisessiond.models.endpoints import Api
from pisessiond.summarizers import http as http_module
from pisessiond.summarizers.http import Http
from tests.summarizers.support import APIS, KEY, desk
from tests.support.model_replies import Reply, Stall, says
from tests.support.model_server import CERTIFICATE, model_server

pytestmark = pytest.mark.anyio

FAR = "http://model.invalid/v1"
"""A host that only a proxy could know."""


async def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with model_server(says("By proxy.")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with desk("openai-completions", says("x"), more={"base_url": FAR}) as one:
            assert (await one.write()).text == "By proxy."
        (request,) = proxy.requests
        assert request.target == "http://model.invalid/v1/chat/completions"
        assert request.headers["host"] == "model.invalid"


@pytest.mark.parametrize("except_for", ["127.0.0.1", "example.org, 127.0.0.1", "*"])
async def test_no_proxy_holds_for_either(except_for: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with model_server(says("By proxy.")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", except_for)
        async with desk("openai-completions", says("Straight.")) as one:
            assert (await one.write()).text == "Straight."
            one.proxy = proxy.url
            assert (await one.write()).text == "Straight."
        assert proxy.requests == []


async def test_the_proxy_of_the_settings_goes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    async with model_server(says("Set.")) as ours, model_server(says("Theirs.")) as theirs:
        monkeypatch.setenv("HTTP_PROXY", theirs.url)
        monkeypatch.setenv("NO_PROXY", "example.org")
        async with desk("anthropic-messages", says("x"), more={"base_url": FAR}) as one:
            one.proxy = ours.url
            assert (await one.write()).text == "Set."
        assert theirs.requests == []


@pytest.mark.parametrize("given", [True, False])
async def test_tls_goes_through_a_tunnel_and_shows_the_proxy_no_key(
    given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with model_server(Reply([], 407, closes=True)) as proxy:
        if not given:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with desk("openai-completions", says("x")) as one:
            one.proxy = proxy.url if given else None
            one.more = {"base_url": "https://model.invalid/v1"}
            failure = await one.failure()
        assert failure.reason == "connection"
        assert "proxy" in str(failure)
        (request,) = proxy.requests
        assert (request.method, request.target) == ("CONNECT", "model.invalid:443")
        assert KEY not in repr(request)


async def test_a_proxy_that_wants_a_login_is_told_as_the_proxy() -> None:
    async with model_server(Reply([b"denied"], 407, is_chunked=False)) as proxy:
        more = {"base_url": FAR}
        async with desk("openai-completions", says("x"), proxy=proxy.url, more=more) as one:
            failure = await one.failure()
    assert failure.reason == "connection"
    assert "The proxy before" in str(failure)


async def test_a_proxy_at_a_port_that_is_none_is_told() -> None:
    more, proxy = {"base_url": FAR}, "http://127.0.0.1:99999"
    async with desk("openai-completions", says("x"), proxy=proxy, more=more) as one:
        assert "proxy" in str(await one.failure())


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1", "nonsense", "ftp://127.0.0.1"])
@pytest.mark.parametrize("given", [True, False])
async def test_a_proxy_that_cannot_be_used_is_told(
    address: str, given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not given:
        monkeypatch.setenv("ALL_PROXY", address)
    async with desk("openai-completions", says("x"), proxy=address if given else None) as one:
        if address == "nonsense" and not given:
            # httpx reads it as the name of a host.
            assert (await one.failure()).reason == "connection"
            return
        failure = await one.failure()
        assert failure.reason == "connection"
        assert ("settings" if given else "environment") in str(failure)


@pytest.mark.parametrize("api", APIS)
async def test_tls_is_spoken_with_whom_is_trusted(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(api, says("Done."), tls=True) as one:
        failure = await one.failure()
        assert failure.reason == "connection"
        assert "self-signed certificate" in str(failure)
        assert one.server.requests == []
        assert one.clock.sleeps == []
        await one.http.aclose()
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        assert (await one.write()).text == "Done."


async def test_a_cancelled_call_leaves_a_server_behind_tls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    halting = says("Half of it", pieces=2).ended_after("Half", Stall())
    async with desk("openai-completions", halting, tls=True) as one:
        task = asyncio.create_task(one.write())
        await one.server.until(1)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - start < 0.5
        assert await one.server.requests[0].until_gone() - start < 0.5


async def test_certificates_that_are_not_there_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent/certificates.pem")
    async with desk("openai-completions", says("x")) as one:
        failure = await one.failure()
    assert failure.reason == "connection"
    assert "SSL_CERT_FILE" in str(failure)


async def test_the_loop_goes_on_while_a_client_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    loop_goes_on = threading.Event()
    make = http_module._make_client

    def slow(proxy: str | None) -> object:
        assert loop_goes_on.wait(5), "the loop stands still"
        return make(proxy)

    monkeypatch.setattr(http_module, "_make_client", slow)
    http = Http()
    async with anyio.create_task_group() as group:
        group.start_soon(http.client, None)
        await anyio.wait_all_tasks_blocked()
        loop_goes_on.set()
    await http.aclose()


async def test_waiting_for_a_client_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    leave = threading.Event()
    monkeypatch.setattr(http_module, "_make_client", lambda proxy: leave.wait(5))
    with anyio.move_on_after(0.05) as scope:
        await Http().client(None)
    late = anyio.current_time() - scope.deadline
    leave.set()
    assert scope.cancelled_caught
    assert late < 0.5


async def test_nothing_of_a_call_is_logged_but_failures(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with desk("openai-completions", says("Done.")) as one:
        await one.write()
    assert [record for record in caplog.records if record.name.startswith("http")] == []
    assert KEY not in caplog.text


def test_httpx_is_not_imported_before_it_is_used() -> None:
    code = "import sys, pisessiond.summarizers.http_model; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
