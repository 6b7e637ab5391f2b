"""Our own settings: what `config.toml` may hold, and what each of it means.

`docs/configuration.md` is made from this. Names of tables and keys are what users write.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

ModelRef: TypeAlias = Annotated[str, Field(pattern=r"^[^/\s]+/\S+$")]
"""`provider/model`, as sessions name it."""

Percent: TypeAlias = Annotated[float, Field(ge=0, le=100, strict=True)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400, strict=True)]
Tokens: TypeAlias = Annotated[int, Field(gt=0, le=2**53 - 1, strict=True)]
Text: TypeAlias = Annotated[str, Field(min_length=1)]
Url: TypeAlias = Annotated[str, Field(pattern=r"^https?://[^\s/]+\S*$")]

RESERVED: Final = frozenset(("session", "extract", "client"))
"""Names that mean a summarizer already."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Table(BaseModel):
    """Base of all tables: no key but those it names, every value of its own type."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class DaemonTable(Table):
    """The daemon itself. Options of `serve` beat it."""

    idle: Annotated[float, Field(ge=0, strict=True)] = 600.0
    """Seconds without clients and work after which the daemon ends; 0: never. A daemon at a socket
    of your choice (`--socket`) only ends by itself with the flag."""
    sync: Literal["always", "relaxed"] = "always"
    """`always`: an answer means on disk; `relaxed`: a power cut may take the last half minute."""
    tcp: Annotated[int, Field(ge=0, le=65_535, strict=True)] | None = None
    """Port at 127.0.0.1 to listen on too, for clients that show the token; 0 takes any."""
    memory_mib: Annotated[int, Field(ge=1, le=1 << 20, strict=True)] = 256
    """How many MiB sessions may take together before those that nobody has open leave."""


class SessionsTable(Table):
    """How sessions are written. Options of `serve` beat it."""

    flush: Literal["first-assistant", "first-message", "immediate"] = "first-assistant"
    """When a new session's file appears."""
    persist: Literal["anchor", "leaf", "memory"] = "anchor"
    """How a move is kept for the next opening; `memory` does as pi does."""


class ContextTable(Table):
    """How context sizes are shown."""

    warn: Percent = 70.0
    """From which percent of the window a size is shown as large."""
    high: Percent = 90.0
    """From which percent it is shown as nearly full; not below `warn`."""
    windows: dict[ModelRef, Tokens] = Field(default_factory=dict)
    """Context windows in tokens by `"provider/model"`, over all else that is known of them."""

    @model_validator(mode="after")
    def _in_order(self) -> ContextTable:
        if self.high < self.warn:
            raise ValueError(f"high ({self.high:g}) must not be below warn ({self.warn:g})")
        return self


class CompactionTable(Table):
    """Compactions. How much they keep is pi's setting `compaction`."""

    automatic: Annotated[bool, Field(strict=True)] = False
    """Whether the daemon compacts by itself when pi would: only sessions that no other program
    wrote to since they were opened, and only while pi's `compaction.enabled` holds too."""


class SummarizerTable(Table):
    """Who writes summaries."""

    use: Text | None = None
    """The summarizer that is taken when a request names none: a name of `[summarizers]`, `session`
    (the session's own model), `provider/model`, `pi`, `client` or `extract`. Without it the
    session's own model is asked, where its key is at hand."""


class HttpSummarizer(Table):
    """A summarizer that asks a model over HTTP."""

    kind: Literal["anthropic", "openai"]
    """The wire format: Anthropic's Messages, or OpenAI's Chat Completions, which most speak."""
    model: Text
    """The model's id as the provider knows it."""
    provider: Text | None = None
    """The provider whose address and key are taken, from pi's `models.json` and `auth.json` or from
    the environment; without `base_url` the one named like the kind."""
    base_url: Url | None = None
    """The address, instead of the provider's: `/v1/messages` or `/chat/completions` goes behind it.
    A provider's key is sent there only if `provider` names it."""
    key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """The environment variable that holds the key, instead of the provider's."""
    timeout_seconds: Seconds = 600.0
    """How long one summary may take, retries included."""
    max_tokens: Tokens | None = None
    """The longest summary in tokens, where that is less than a compaction allows."""


class CommandSummarizer(Table):
    """A summarizer that is a program of yours: prompt on its input, summary on its output."""

    kind: Literal["command"]
    program: Annotated[list[Text], Field(min_length=1)]
    """The program and its arguments; no shell is between."""
    timeout_seconds: Seconds = 600.0
    """How long one summary may take."""
    max_tokens: Tokens | None = None
    """The longest summary in tokens; the program is told in the prompt alone."""


class PiSummarizer(Table):
    """A summarizer that runs pi, with whatever subscription or provider pi knows."""

    kind: Literal["pi"]
    program: Annotated[list[Text], Field(min_length=1)] = Field(default_factory=lambda: ["pi"])
    """How pi is called here."""
    model: ModelRef | None = None
    """`provider/model`; without it the session's own."""
    timeout_seconds: Seconds = 600.0
    """How long one summary may take."""
    max_tokens: Tokens | None = None
    """The longest summary in tokens, where that is less than a compaction allows."""


AnySummarizer: TypeAlias = Annotated[
    HttpSummarizer | CommandSummarizer | PiSummarizer, Field(discriminator="kind")
]


class HttpTable(Table):
    """How models are reached over HTTP."""

    proxy: Url | None = None
    """A proxy for all of it. Without it `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the daemon's
    environment count, then pi's `httpProxy`."""
    connect_seconds: Seconds = 15.0
    """How long connecting may take."""
    idle_seconds: Seconds | None = None
    """How long a server may say nothing. Without it pi's `httpIdleTimeoutMs` counts."""


class Config(Table):
    """All of `config.toml`."""

    daemon: DaemonTable = DaemonTable()
    sessions: SessionsTable = SessionsTable()
    context: ContextTable = ContextTable()
    compaction: CompactionTable = CompactionTable()
    summarizer: SummarizerTable = SummarizerTable()
    summarizers: dict[str, AnySummarizer] = Field(default_factory=dict)
    """Summarizers of your own, by name."""
    http: HttpTable = HttpTable()

    @field_validator("summarizers")
    @classmethod
    def _are_named_well(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name, table in value.items():
            if _NAME.fullmatch(name) is None:
                raise ValueError(f"{name!r} will not do as a name: letters, digits, - _ . only")
            if name in RESERVED or (name == "pi" and table.kind != "pi"):
                raise ValueError(f"{name!r} means another summarizer already; take another name")
        return value

    @model_validator(mode="after")
    def _names_somebody(self) -> Config:
        name = self.summarizer.use
        known = name is None or "/" in name or name in {*RESERVED, "pi", *self.summarizers}
        if not known:
            raise ValueError(f"summarizer.use names {name!r}, and no summarizer is called so")
        return self


NEEDS_RESTART: Final = frozenset(("daemon", "sessions"))
"""Tables that are read when the daemon starts, and not again."""
