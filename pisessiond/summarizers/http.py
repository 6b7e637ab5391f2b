"""The HTTP connections of a daemon to models. They know nothing of what goes over them.

httpx is imported and its clients are made when a model is first asked, in a worker: reading the
system's certificates takes longer than a loop may stand still.
"""

from __future__ import annotations

import ipaddress
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from pisessiond import __version__
from pisessiond.summarizers.retrying import Failure

if TYPE_CHECKING:
    import ssl

    import httpx

USER_AGENT: Final = f"pisessiond/{__version__}"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a model may take, in seconds; None for no limit."""

    connect: float | None = 15.0
    idle: float | None = 300.0
    """Between two pieces, also before the first (pi: `httpIdleTimeoutMs`). A local model reads a
    long prompt for minutes before it says anything."""
    whole: float | None = 600.0
    """The whole call, with all tries and the waits between them."""


class Http:
    """One client for each proxy, made when it is needed and kept until the end."""

    def __init__(self) -> None:
        self._clients: dict[str | None, httpx.AsyncClient] = {}
        self._making = anyio.Lock()

    async def client(self, proxy: str | None) -> httpx.AsyncClient:
        """The client that goes through that proxy; None: what the environment says.

        `NO_PROXY` holds for either.

        Raises:
            Failure: the proxy is none that can be used.
        """
        async with self._making:
            client = self._clients.get(proxy)
            if client is None:
                client = await anyio.to_thread.run_sync(
                    lambda: _make_client(proxy), abandon_on_cancel=True
                )
                self._clients[proxy] = client
            return client

    async def aclose(self) -> None:
        """Close all connections."""
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()


def _make_client(proxy: str | None) -> httpx.AsyncClient:
    import httpx

    # They tell addresses, which may hold keys, and at their finest level headers.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # Text comes in small pieces; compression would hold them back and gain nothing.
    headers = {"user-agent": USER_AGENT, "accept-encoding": "identity"}
    try:
        context = httpx.create_ssl_context()
    except OSError:
        raise Failure(
            "connection",
            "The certificates named by SSL_CERT_FILE or SSL_CERT_DIR cannot be read; "
            "look at these variables.",
        ) from None
    try:
        if proxy is None:
            return httpx.AsyncClient(headers=headers, verify=context)
        # The environment's own proxies would come before the given one.
        routes = _routes(proxy, context)
        return httpx.AsyncClient(headers=headers, verify=context, mounts=routes, trust_env=False)
    except (ImportError, ValueError, httpx.InvalidURL):
        # ImportError: a SOCKS proxy without its package. The address may hold a password.
        place = "the environment" if proxy is None else "the settings"
        raise Failure(
            "connection",
            f"The proxy of {place} cannot be used; it has to be one like http://host:port.",
        ) from None


def _routes(proxy: str, context: ssl.SSLContext) -> dict[str, httpx.AsyncHTTPTransport | None]:
    """All through the proxy, but for what `NO_PROXY` names; in httpx's patterns."""
    import urllib.request

    import httpx

    past = [name.strip() for name in urllib.request.getproxies().get("no", "").split(",")]
    if "*" in past:
        return {}
    through = httpx.AsyncHTTPTransport(proxy=proxy, verify=context)
    return {"all://": through, **{_pattern(name): None for name in past if name}}


def _pattern(name: str) -> str:
    """The pattern of httpx for an entry of `NO_PROXY`, which it reads so in the environment.

    `example.org` stands for its subdomains too, `.example.org` for them alone.
    """
    if "://" in name:
        return name
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return f"all://{name}" if name.lower() == "localhost" else f"all://*{name}"
    return f"all://[{address}]" if address.version == 6 else f"all://{address}"
