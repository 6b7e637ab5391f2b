"""Where a model is reached over HTTP, and with which key. The contract; it does no I/O itself.

What stands here is read from the user's own files and environment, never from a project folder
and never from a request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName

Api: TypeAlias = Literal["anthropic-messages", "openai-completions"]
"""The wire formats that are spoken here, under pi's names."""

AuthStyle: TypeAlias = Literal["x-api-key", "bearer"]
"""The header that carries the key: `x-api-key: …` or `authorization: Bearer …`."""


class Secret:
    """A key. It shows itself to nobody who prints, logs or compares it by its text."""

    __slots__ = ("_text", "source")

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self.source = source
        """Where it came from, to be shown: `ANTHROPIC_API_KEY`, `auth.json`, `models.json`."""

    def reveal(self) -> str:
        """The key itself, for the header of a request and nothing else."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret(from {self.source})"


def shown_address(address: str) -> str:
    """An address as people may see it: without what may hold a password or a key."""
    return re.sub(r"\?.*", "?…", re.sub(r"(?<=//)[^/@]*@", "…@", address), flags=re.DOTALL)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """All that a request to one model needs beside the prompt."""

    api: Api
    base_url: str
    """As pi has it, without a slash at its end: `/v1/messages` (Anthropic) or
    `/chat/completions` (OpenAI) goes behind it."""
    model: str
    """The model's id as the provider knows it."""
    key: Secret | None = None
    """None: the server asks for none, or `headers` carry it."""
    auth: AuthStyle = "bearer"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request, over the usual ones; may hold keys."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """How an OpenAI-compatible server calls the limit of the answer."""
    supports_usage_in_streaming: bool = True
    """Whether `stream_options.include_usage` may be sent."""
    supports_finish_reason: bool = True
    """Whether a stream ends with a `finish_reason`; without it the end of the stream is the end."""
    system_role: Literal["system", "developer"] = "system"
    """The role of the system prompt in Chat Completions."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Members to merge into the body of a Chat Completions request."""
    facts: ModelFacts = UNKNOWN
    """What models.json says of the model; `Models` may know more."""


@dataclass(frozen=True, slots=True)
class NotUsable:
    """A model that cannot be reached over HTTP from here."""

    reason: str
    """A sentence with the next step; it holds no key."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A model as a summarizer of the user's own settings describes it."""

    api: Api
    model: str
    """Its id as the provider knows it."""
    provider: str | None = None
    """Whose address, key and peculiarities count; None: the one named like the API's maker, for
    its address and key only where nothing else is said."""
    base_url: str | None = None
    """Instead of the provider's."""
    key_env: str | None = None
    """The environment variable with the key, instead of the provider's."""


class Endpoints(Protocol):
    """Whoever knows where models are reached."""

    async def resolve(self, model: ModelName) -> Endpoint | NotUsable:
        """Where the model is reached. May run the user's key command, for ten seconds at most."""
        ...

    async def resolve_wanted(self, wanted: Wanted) -> Endpoint | NotUsable:
        """The same for a summarizer of the user's settings."""
        ...

    async def names(self) -> Sequence[ModelName]:
        """Models that the user set up and that could be used now, without running a command."""
        ...
