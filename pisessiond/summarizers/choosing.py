"""Who writes a summary: chosen by name, from what the user set up.

A name comes from a request, else from the user's settings, else it is the session's own model.
Programs, addresses and keys come from the user's settings alone; a name that looks like one of
them is a name that nobody has. `extract`, `pi` and `client` write only when they are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from anyio import to_thread

from pisessiond.core.preview import clean_line
from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName, Models
from pisessiond.models.endpoints import Endpoint, Endpoints, NotUsable, Wanted
from pisessiond.summarizers.base import Choice, Lend, NoSummarizer, Summarizer
from pisessiond.summarizers.http import Http, Limits
from pisessiond.summarizers.retrying import RetryPolicy

if TYPE_CHECKING:
    from pisessiond.summarizers.http_model import HttpSummarizer

SESSION: Final = "session"
_MODEL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/[^\s/]\S*")
_MANY: Final = 100
"""So many models are told of at most."""


@dataclass(frozen=True, slots=True)
class OwnModel:
    """A summarizer of the user's settings that asks a model over HTTP."""

    wanted: Wanted
    seconds: float = 600.0
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class OwnProgram:
    """One that runs a program of the user's."""

    program: tuple[str, ...]
    seconds: float = 600.0
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class OwnPi:
    """One that runs pi; also the one named `pi` where the settings do not change it."""

    program: tuple[str, ...] = ("pi",)
    model: ModelName | None = None
    """None: the session's."""
    seconds: float = 600.0
    max_tokens: int | None = None


Own: TypeAlias = OwnModel | OwnProgram | OwnPi


@dataclass(frozen=True, slots=True)
class SummarizerSettings:
    """What the user's settings say of summarizers at one moment."""

    use: str | None = None
    """The name that is taken when a request gives none."""
    own: Mapping[str, Own] = field(default_factory=dict)
    proxy: str | None = None
    limits: Limits = field(default_factory=Limits)
    retries: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True)
class Reach:
    """How what summarizers stand on is reached."""

    settings: Callable[[], SummarizerSettings]
    """May read files, so it is called in a worker."""
    endpoints: Endpoints
    dry_endpoints: Endpoints
    """The same, but no command of the user's runs for a key: for telling what could be chosen."""
    models: Models
    http: Http
    agent_dir: Path
    environment: Mapping[str, str] = field(repr=False)
    """Of the daemon; may hold keys."""


class ConfiguredSummarizers:
    """All that can write summaries here; a `Summarizers`."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def choose(
        self,
        name: str | None,
        session_model: ModelName | None,
        lend: Lend | None,
        *,
        to_write: bool = True,
    ) -> Summarizer:
        """The summarizer of that name; without one that of the settings, else the session's model.

        Where it is not `to_write`, no command of the user's runs for a key.

        Raises:
            NoSummarizer: there is none.
        """
        endpoints = self._reach.endpoints if to_write else self._reach.dry_endpoints
        settings = await to_thread.run_sync(self._read)
        chosen = name if name is not None else settings.use or SESSION
        made = await self._make(chosen, settings, endpoints, session_model, lend)
        if not isinstance(made, NotUsable):
            return made
        choices = await self._choices(settings, session_model, lend)
        ready = [choice.name for choice in choices if choice.is_ready and choice.name != chosen]
        raise NoSummarizer(f"{made.reason} {_instead(ready)}", ready)

    async def choices(self, session_model: ModelName | None, lend: Lend | None) -> Sequence[Choice]:
        """All that could be named, the default first; no program and no key command runs."""
        settings = await to_thread.run_sync(self._read)
        return await self._choices(settings, session_model, lend)

    def _read(self) -> SummarizerSettings:
        # A daemon starts without the writers; what they import is loaded here, in the worker.
        from pisessiond.summarizers import command, extract, http_model, lent, pi  # noqa: F401

        return self._reach.settings()

    # Making one

    async def _make(
        self,
        name: str,
        settings: SummarizerSettings,
        endpoints: Endpoints,
        session_model: ModelName | None,
        lend: Lend | None,
    ) -> Summarizer | NotUsable:
        from pisessiond.summarizers.extract import ExtractSummarizer
        from pisessiond.summarizers.lent import LentSummarizer

        own = _own(settings, name)
        if own is not None:
            return await self._make_own(name, own, settings, endpoints, session_model)
        if name == "extract":
            return ExtractSummarizer()
        if name == "client":
            return _NO_CLIENT if lend is None else LentSummarizer(lend)
        model = session_model if name == SESSION else _model_named(name)
        if model is None:
            return _NO_MODEL if name == SESSION else _unknown(name)
        found = await endpoints.resolve(model)
        if isinstance(found, NotUsable):
            return found
        return await self._http(str(model), model, found, settings)

    async def _make_own(
        self,
        name: str,
        own: Own,
        settings: SummarizerSettings,
        endpoints: Endpoints,
        session_model: ModelName | None,
    ) -> Summarizer | NotUsable:
        from pisessiond.summarizers.command import CommandSummarizer
        from pisessiond.summarizers.pi import PiSummarizer

        if isinstance(own, OwnModel):
            found = await endpoints.resolve_wanted(own.wanted)
            if isinstance(found, NotUsable):
                return found
            model = _model_of(own.wanted)
            limits = replace(settings.limits, whole=own.seconds)
            bounded = replace(settings, limits=limits)
            return await self._http(name, model, found, bounded, own.max_tokens)
        if (missing := await self._missing(own.program)) is not None:
            return missing
        environment = self._reach.environment
        if isinstance(own, OwnProgram):
            facts = _at_most(UNKNOWN, own.max_tokens)
            return CommandSummarizer(
                name, own.program, seconds=own.seconds, facts=facts, environment=environment
            )
        asked = own.model or session_model
        facts = UNKNOWN if asked is None else await self._reach.models.look_up(asked)
        return PiSummarizer(
            name,
            asked,
            agent_dir=self._reach.agent_dir,
            program=own.program,
            seconds=own.seconds,
            facts=_at_most(facts, own.max_tokens),
            environment=environment,
        )

    async def _http(
        self,
        name: str,
        model: ModelName,
        endpoint: Endpoint,
        settings: SummarizerSettings,
        max_tokens: int | None = None,
    ) -> HttpSummarizer:
        from pisessiond.core.summary_prompts import make_prompt
        from pisessiond.summarizers.http_model import HttpSummarizer, Way

        known, said = await self._reach.models.look_up(model), endpoint.facts
        facts = ModelFacts(
            window=known.window or said.window,
            max_output=known.max_output or said.max_output,
            price=known.price or said.price,
        )
        way = Way(self._reach.http, settings.proxy, settings.limits, settings.retries)
        return HttpSummarizer(
            model, endpoint, _at_most(facts, max_tokens), make_prompt, way, name=name
        )

    async def _missing(self, program: Sequence[str]) -> NotUsable | None:
        from pisessiond.summarizers.process import find_program

        found = await to_thread.run_sync(find_program, program, self._reach.environment)
        return _not_there(program) if found is None else None

    # Telling of all

    async def _choices(
        self, settings: SummarizerSettings, session_model: ModelName | None, lend: Lend | None
    ) -> list[Choice]:
        default = settings.use or SESSION
        set_up = [str(model) for model in (await self._reach.dry_endpoints.names())[:_MANY]]
        names = [default, SESSION, *settings.own, *set_up, "pi", "client", "extract"]
        return [
            await self._choice(name, settings, session_model, lend, is_default=name == default)
            for name in dict.fromkeys(names)
        ]

    async def _choice(
        self,
        name: str,
        settings: SummarizerSettings,
        session_model: ModelName | None,
        lend: Lend | None,
        *,
        is_default: bool,
    ) -> Choice:
        own = _own(settings, name)
        model, problem = await self._look_at(name, own, session_model, lend)
        reason = None if problem is None else problem.reason
        return Choice(name, model, problem is None, reason, is_default)

    async def _look_at(
        self, name: str, own: Own | None, session_model: ModelName | None, lend: Lend | None
    ) -> tuple[ModelName | None, NotUsable | None]:
        """Who would write, and what stands against it."""
        found: Endpoint | NotUsable | None = None
        if isinstance(own, OwnModel):
            model: ModelName | None = _model_of(own.wanted)
            found = await self._reach.dry_endpoints.resolve_wanted(own.wanted)
        elif own is not None:
            model = (own.model or session_model) if isinstance(own, OwnPi) else None
            found = await self._missing(own.program)
        elif name in ("extract", "client"):
            return None, _NO_CLIENT if name == "client" and lend is None else None
        else:
            model = session_model if name == SESSION else _model_named(name)
            if model is None:
                return None, _NO_MODEL if name == SESSION else _unknown(name)
            found = await self._reach.dry_endpoints.resolve(model)
        return model, found if isinstance(found, NotUsable) else None


_NO_CLIENT: Final = NotUsable(
    "No client that has this session open lends its model; open it in an editor that does."
)
_NO_MODEL: Final = NotUsable("The session names no model yet; name one.")


def _own(settings: SummarizerSettings, name: str) -> Own | None:
    return settings.own.get(name) or (OwnPi() if name == "pi" else None)


def _model_named(name: str) -> ModelName | None:
    """The model that a name names; None when it is another kind of name, a path or an address."""
    if _MODEL_NAME.fullmatch(name) is None:
        return None
    return ModelName(*name.split("/", 1))


def _model_of(wanted: Wanted) -> ModelName:
    maker = "anthropic" if wanted.api == "anthropic-messages" else "openai"
    return ModelName(wanted.provider or maker, wanted.model)


def _at_most(facts: ModelFacts, max_tokens: int | None) -> ModelFacts:
    if max_tokens is None:
        return facts
    return replace(facts, max_output=min(max_tokens, facts.max_output or max_tokens))


def _unknown(name: str) -> NotUsable:
    return NotUsable(f"No summarizer is called “{clean_line(name, 80)}”.")


def _not_there(program: Sequence[str]) -> NotUsable:
    title = clean_line(Path(program[0]).name, 80)
    return NotUsable(
        f"The program {title} is not there, not on the daemon's PATH or may not be run; install "
        "it, or correct `program` in config.toml."
    )


def _instead(ready: Sequence[str]) -> str:
    """What can be done, in a sentence."""
    named = ", ".join(ready[:5])
    return (
        f"Name another summarizer ({named}), set one up in config.toml, or give the text in "
        "`summary`."
    )
