"""An editor that speaks LSP with a daemon over the real service, on a real socket."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import anyio

from tests.server.support import PATIENCE, Client, Running, running_daemon
from tests.support.service import House, service

SAMPLE: Final = Path(__file__).resolve().parents[2] / "clients" / "python" / "sample.jsonl"

MODERN: Final[dict[str, Any]] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"codeLens": {"refreshSupport": True}, "inlayHint": {"refreshSupport": True}},
    "textDocument": {
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "publishDiagnostics": {"relatedInformation": True},
        "foldingRange": {"foldingRange": {"collapsedText": True}},
    },
    "window": {"showDocument": {"support": True}},
}
"""The capabilities of an editor that can show all we say."""


class LspEditor:
    """One editor, with one session file in it."""

    def __init__(self, client: Client, daemon: Running, house: House, uri: str) -> None:
        self.client = client
        self.daemon = daemon
        self.house = house
        self.uri = uri

    @property
    def document(self) -> dict[str, Any]:
        return {"textDocument": {"uri": self.uri}}

    async def ask(self, feature: str, **params: Any) -> Any:
        """The result of a question about the file."""
        return await self.client.call(f"textDocument/{feature}", {**self.document, **params})

    async def at(self, feature: str, line: int, character: int = 0, **params: Any) -> Any:
        """The result of a question about a place; lines as LSP counts them."""
        position = {"line": line, "character": character}
        return await self.ask(feature, position=position, **params)

    async def hover(self, line: int, character: int = 0) -> str:
        found = await self.at("hover", line, character)
        return "" if found is None else str(found["contents"]["value"])

    async def actions(self, line: int, start: int = 0, end: int = 0, **context: Any) -> list[Any]:
        """The code actions at a line, or at some characters of it."""
        ends = {"line": line, "character": end}
        asked = {"start": {"line": line, "character": start}, "end": ends}
        given: list[Any] = await self.ask(
            "codeAction", range=asked, context={"diagnostics": [], **context}
        )
        return given

    async def execute(self, command: str, **target: Any) -> dict[str, Any]:
        """The whole answer to a command about the file."""
        arguments = [{"uri": self.uri, **target}]
        params = {"command": f"pisessiond.lsp.{command}", "arguments": arguments}
        return await self.client.ask("workspace/executeCommand", params)

    def opens(self, uri: str | None = None) -> None:
        document = {"uri": uri or self.uri, "languageId": "jsonl", "version": 1, "text": "x"}
        self.client.send(method="textDocument/didOpen", params={"textDocument": document})

    def closes(self, uri: str | None = None) -> None:
        document = {"uri": uri or self.uri}
        self.client.send(method="textDocument/didClose", params={"textDocument": document})

    async def told(self, method: str) -> Any:
        """The params of the next message of the daemon's own, which must be this one."""
        message = await self.client.receive()
        assert message.get("method") == method, message
        self.last = message
        return message.get("params")

    async def problems(self) -> list[dict[str, Any]]:
        """What is pushed next."""
        told = await self.told("textDocument/publishDiagnostics")
        assert told["uri"] == self.uri
        found: list[dict[str, Any]] = told["diagnostics"]
        return found

    async def opened(self) -> list[dict[str, Any]]:
        """Opens the file and waits for its problems."""
        self.opens()
        return await self.problems()


@contextlib.asynccontextmanager
async def lsp_editor(
    folder: Path, path: Path, capabilities: dict[str, Any] | None = None
) -> AsyncIterator[LspEditor]:
    """A daemon, and an editor that has said these capabilities and opened nothing yet."""
    async with (
        service(folder) as house,
        running_daemon(folder, house.sessions) as daemon,
        daemon.fresh() as client,
    ):
        given = MODERN if capabilities is None else capabilities
        await client.call("initialize", {"capabilities": given, "clientInfo": {"name": "Ed"}})
        yield LspEditor(client, daemon, house, path.as_uri())


async def until(is_so: Any) -> None:
    """Waits until something is so."""
    with anyio.fail_after(PATIENCE):
        while not is_so():
            await anyio.sleep(0.005)
