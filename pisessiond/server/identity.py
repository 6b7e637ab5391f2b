"""Who is at the other end of a connection."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from pisessiond.protocol.errors import invalid_params
from pisessiond.service.types import Origin


@dataclass(frozen=True, slots=True)
class Client:
    """What a client said of itself in `initialize`."""

    id: str
    name: str
    cwd: str | None = None
    session_dir: str | None = None

    def origin(self, request_id: str | None) -> Origin:
        """This client as the one who does something."""
        return Origin(client=self.name, client_id=self.id, request_id=request_id)

    def resolve(self, path: str, member: str) -> str:
        """A path from a request, made absolute.

        The daemon's own folder means nothing to a client, so a relative path starts at the
        folder the client named in `initialize`.

        Raises:
            RpcError: InvalidParams, it is relative and the client named no folder.
        """
        if "\0" in path:
            raise invalid_params(member, "a path holds no NUL character")
        if PurePath(path).is_absolute():
            return path
        if self.cwd is None or not PurePath(self.cwd).is_absolute():
            raise invalid_params(member, "give an absolute path, or a `cwd` in initialize")
        return str(PurePath(self.cwd, path))


def plain_lsp_client(client_info: dict[str, Any] | None) -> Client:
    """An editor that knows nothing of us: a passing id, and the name LSP gives it."""
    name = (client_info or {}).get("name")
    return Client(id=f"lsp-{uuid.uuid4()}", name=name if isinstance(name, str) and name else "LSP")
