"""Puts together where a model is reached: pi's files, the environment, the user's own settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import anyio.to_thread

from pisessiond.models.base import UNKNOWN, ModelName
from pisessiond.models.config_values import Commands, Unresolved
from pisessiond.models.endpoints import Api, AuthStyle, Endpoint, NotUsable, Secret, Wanted
from pisessiond.models.keys import (
    Credentials,
    KeySource,
    NoKey,
    check_key,
    find_key,
)
from pisessiond.models.pi_models import Model, Override, PiModels, Provider
from pisessiond.models.providers import PROVIDERS, max_tokens_field
from pisessiond.settings.files import CachedFile, Unreadable

T = TypeVar("T")

_APIS: Final[tuple[Api, ...]] = ("anthropic-messages", "openai-completions")
_MAKERS: Final[Mapping[Api, str]] = {
    "anthropic-messages": "anthropic",
    "openai-completions": "openai",
}
_NOTHING: Final = Provider()


class _Refused(Exception):
    """The model cannot be reached from here; the message is the sentence for people."""


async def _in_worker(question: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(question, abandon_on_cancel=True)


class FileEndpoints:
    """Endpoints as the files of one agent dir have them."""

    def __init__(
        self,
        models: CachedFile[PiModels],
        auth: CachedFile[Credentials],
        environment: Mapping[str, str],
        commands: Commands,
    ) -> None:
        self._models = models
        self._auth = auth
        self._environment = environment
        self._commands = commands

    async def resolve(self, model: ModelName) -> Endpoint | NotUsable:
        """Where the model is reached. May run the user's key command, for ten seconds at most."""
        with self._for_one() as endpoints:
            return await _in_worker(partial(endpoints.resolve_now, model))

    async def resolve_wanted(self, wanted: Wanted) -> Endpoint | NotUsable:
        """The same for a summarizer of the user's settings."""
        with self._for_one() as endpoints:
            return await _in_worker(partial(endpoints.resolve_wanted_now, wanted))

    async def names(self) -> Sequence[ModelName]:
        """Models that the user set up and that could be used now, without running a command."""
        return await _in_worker(self.names_now)

    @contextmanager
    def _for_one(self) -> Iterator[FileEndpoints]:
        """The same for one question: a key command that runs for it ends when it is cancelled.

        The question does not wait for that; a command may hang over a fingerprint.
        """
        given_up = threading.Event()
        commands = self._commands.until(given_up)
        try:
            yield FileEndpoints(self._models, self._auth, self._environment, commands)
        finally:
            given_up.set()

    # In a worker

    def resolve_now(self, model: ModelName) -> Endpoint | NotUsable:
        """As `resolve`, in this thread."""
        try:
            return self._resolve(model)
        except _Refused as refusal:
            return NotUsable(str(refusal))

    def resolve_wanted_now(self, wanted: Wanted) -> Endpoint | NotUsable:
        """As `resolve_wanted`, in this thread."""
        try:
            return self._resolve_wanted(wanted)
        except _Refused as refusal:
            return NotUsable(str(refusal))

    def names_now(self) -> Sequence[ModelName]:
        """As `names`, in this thread."""
        try:
            providers = self._pi_models().providers
        except _Refused:
            return ()
        return [
            ModelName(name, model.id)
            for name, provider in providers.items()
            if not isinstance(self.key_source(name), NoKey) or _needs_no_key(name, provider)
            for model in provider.models
            if (model.api or provider.api or _own_api(name)) in _APIS
        ]

    def key_source(self, provider: str) -> KeySource | NoKey:
        """Where the key of a provider is; nothing runs for it.

        One that cannot be read counts as one that is not there, with its own reason.
        """
        try:
            return self._key_source(provider)
        except _Refused as refusal:
            return NoKey(str(refusal))

    def _key_source(self, provider: str) -> KeySource | NoKey:
        try:
            stored = self._auth.look()
        except Unreadable as error:
            raise _Refused(f"pi's auth.json {error}") from error
        if stored is None:
            raise _Refused("pi's auth.json is no JSON object; correct it.")
        configured = self._pi_models().providers.get(provider, _NOTHING).api_key
        return find_key(provider, stored, configured, self._environment)

    def _pi_models(self) -> PiModels:
        try:
            read = self._models.look()
        except Unreadable as error:
            raise _Refused(f"pi's models.json {error}") from error
        if read.problem is not None:
            raise _Refused(str(read.problem))
        return read

    def _resolve(self, name: ModelName) -> Endpoint:
        read = self._pi_models()
        provider = read.providers.get(name.provider, _NOTHING)
        model = provider.model(name.model)
        override = provider.model_overrides.get(name.model)
        api = _api(name, provider, model)
        base_url = _base_url(name, provider, model)
        headers = self._headers(name.provider, provider, model, override)
        key, is_bearer = self._key(name.provider, provider)
        endpoint = Endpoint(
            api=api,
            base_url=base_url,
            model=name.model,
            key=key,
            auth=_auth_style(api, is_bearer or provider.auth_header),
            headers=headers,
            facts=read.facts(name.provider, name.model, UNKNOWN),
        )
        if api == "anthropic-messages":
            return endpoint
        return _with_compat(endpoint, name.provider, provider, model, override)

    def _resolve_wanted(self, wanted: Wanted) -> Endpoint:
        maker = _MAKERS[wanted.api]
        name = ModelName(wanted.provider or maker, wanted.model)
        provider = self._pi_models().providers.get(name.provider, _NOTHING)
        model, override = provider.model(name.model), provider.model_overrides.get(name.model)
        headers: Mapping[str, str] = {}
        if wanted.base_url is None or wanted.provider is not None:
            headers = self._headers(name.provider, provider, model, override)
        key, is_bearer = self._wanted_key(wanted, name.provider, provider)
        if wanted.base_url is None and _api(name, provider, model) != wanted.api:
            raise _Refused(
                f"{name} does not speak {wanted.api}; give config.toml a base_url, or another kind."
            )
        base_url = wanted.base_url or _base_url(name, provider, model)
        endpoint = Endpoint(
            api=wanted.api,
            base_url=base_url.rstrip("/"),
            model=wanted.model,
            key=key,
            auth=_auth_style(wanted.api, is_bearer or provider.auth_header),
            headers=headers,
            facts=self._pi_models().facts(name.provider, name.model, UNKNOWN),
        )
        if wanted.api == "anthropic-messages":
            return endpoint
        if wanted.provider is None and wanted.base_url is not None:
            # Nothing that is known of OpenAI's own servers holds at another address.
            return _with_compat(endpoint, "", _NOTHING, None, None)
        return _with_compat(endpoint, name.provider, provider, model, override)

    def _wanted_key(
        self, wanted: Wanted, name: str, provider: Provider
    ) -> tuple[Secret | None, bool]:
        if wanted.key_env is not None:
            if not (key := self._environment.get(wanted.key_env)):
                raise _Refused(
                    f"The environment variable {wanted.key_env}, which config.toml names for the "
                    "key, is not set for the daemon; set it and restart the daemon."
                )
            return self._checked(name, key, wanted.key_env), False
        if wanted.base_url is not None and wanted.provider is None:
            return None, False
        return self._key(name, provider)

    def _key(self, name: str, provider: Provider) -> tuple[Secret | None, bool]:
        """The key, and whether it goes into `Authorization` whatever the API."""
        source = self._key_source(name)
        if isinstance(source, NoKey):
            if not source.is_signed_in and _needs_no_key(name, provider):
                return None, False
            raise _Refused(source.reason)
        key = source.text
        if not source.is_literal:
            key = self._value(key, source.environment, f"The key of {name} cannot be had")
        return self._checked(name, key, source.shown), source.is_bearer

    def _checked(self, provider: str, key: str, shown: str) -> Secret:
        try:
            check_key(provider, key.strip())
        except Unresolved as error:
            raise _Refused(
                f"The key of {provider} from {shown} will not do: {error}; set another, or name "
                "the summarizer `pi`."
            ) from error
        return Secret(key.strip(), shown)

    def _headers(
        self, name: str, provider: Provider, model: Model | None, override: Override | None
    ) -> Mapping[str, str]:
        source = self._key_source(name)
        also = {} if isinstance(source, NoKey) else source.environment
        raw = dict(provider.headers)
        for part in (model, override):
            if part is not None:
                raw |= part.headers
        return {
            header: self._value(value, also, f"The header {header} for {name} cannot be had")
            for header, value in raw.items()
        }

    def _value(self, text: str, also: Mapping[str, str], what: str) -> str:
        try:
            return self._commands.resolve(text, also)
        except Unresolved as error:
            raise _Refused(f"{what}: {error}; look at pi's auth.json or models.json.") from error


def _own_api(provider: str) -> Api | None:
    known = PROVIDERS.get(provider)
    return None if known is None or known.base_url is None else known.api


def _api(name: ModelName, provider: Provider, model: Model | None) -> Api:
    wished = (model.api if model is not None else None) or provider.api
    # Of a provider of its own pi knows each model's API; we know one that all of them serve.
    api = wished or _own_api(name.provider)
    for known in _APIS:
        if api == known:
            return known
    if api is not None:
        raise _Refused(f"{name} speaks {api}, which only pi does; name the summarizer `pi`.")
    if name.provider in PROVIDERS:
        raise _Refused(f"Only pi can reach {name.provider}; name the summarizer `pi`.")
    raise _Refused(
        f"Nothing says how {name.provider} is reached; add it to pi's models.json with baseUrl and "
        "api, or name the summarizer `pi`."
    )


def _base_url(name: ModelName, provider: Provider, model: Model | None) -> str:
    if model is not None and model.base_url is not None:
        return model.base_url.rstrip("/")
    known = PROVIDERS.get(name.provider)
    base_url = provider.base_url or (known.base_url if known is not None else None)
    if base_url is None:
        raise _Refused(
            f"pi's models.json gives no baseUrl for {name.provider}; add it, or name the "
            "summarizer `pi`."
        )
    # What the user added has its whole address; to that of pi's own models belongs the path.
    is_own = known is not None and model is None and provider.api is None
    return base_url.rstrip("/") + (known.path if known is not None and is_own else "")


def _needs_no_key(name: str, provider: Provider) -> bool:
    """A server of the user's own may ask for none, and headers may carry one."""
    if provider.api_key is not None:
        return False
    return bool(provider.headers) or (name not in PROVIDERS and provider.base_url is not None)


def _auth_style(api: Api, is_bearer: bool) -> AuthStyle:
    return "x-api-key" if api == "anthropic-messages" and not is_bearer else "bearer"


def _with_compat(
    endpoint: Endpoint,
    name: str,
    provider: Provider,
    model: Model | None,
    override: Override | None,
) -> Endpoint:
    compat = dict(provider.compat)
    sampling: dict[str, Any] = {}
    reasons = False
    for part in (model, override):
        if part is None:
            continue
        compat |= part.compat
        # No thinking is asked for, so what holds without it counts.
        sampling |= part.sampling_params | part.sampling_params_by_thinking_level.get("off", {})
        reasons = reasons if part.reasoning is None else part.reasoning
    known = PROVIDERS.get(name)
    is_openai = name == "openai" or "api.openai.com" in endpoint.base_url
    # A model that reasons hears developers, where there are any; each server takes `system`.
    has_developer = reasons and compat.get("supportsDeveloperRole", is_openai) is True
    usage = compat.get("supportsUsageInStreaming", known is None or known.usage_in_streaming)
    field = compat.get("maxTokensField")
    return replace(
        endpoint,
        max_tokens_field=field
        if field in ("max_tokens", "max_completion_tokens")
        else max_tokens_field(name, endpoint.base_url),
        supports_usage_in_streaming=usage is not False,
        supports_finish_reason=compat.get("supportsFinishReason") is not False,
        system_role="developer" if has_developer else "system",
        sampling=sampling,
    )
