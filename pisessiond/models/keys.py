"""Where the key of a provider comes from. Keys are read, never written, and never shown.

The order is pi's (1.6.0: `resolveProviderAuth`, `composeApiKeyAuth`): a credential in `auth.json`
owns its provider; without one `apiKey` of `models.json` counts, then the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.models.config_values import Unresolved, is_command, names_in
from pisessiond.models.providers import PROVIDERS

AUTH_FILE: Final = "auth.json"
MODELS_FILE: Final = "models.json"

BEARER_VARIABLE: Final = "ANTHROPIC_AUTH_TOKEN"
"""Holds a token for Anthropic that goes into `Authorization` and beats other variables."""
SUBSCRIPTION_VARIABLE: Final = "ANTHROPIC_OAUTH_TOKEN"
_SUBSCRIPTION_MARK: Final = "sk-ant-oat"


@dataclass(frozen=True, slots=True)
class StoredKey:
    """An entry of `auth.json` of the type `api_key`."""

    key: str = field(repr=False)
    """As it stands there; may stand for another."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """An entry of the type `oauth`: a sign-in, which belongs to pi alone."""


Stored: TypeAlias = StoredKey | SignedIn


Credentials: TypeAlias = Mapping[str, Stored] | None
"""What `auth.json` holds by provider; None: it is no JSON, and nobody knows what it was to say."""


def read_auth(text: str | None) -> Credentials:
    """The credentials of `auth.json`; entries that mean nothing are passed over."""
    if text is None:
        return {}
    try:
        value = parse_json(text.removeprefix("\ufeff"))
    except NotJson:
        # Not even its words may be told: they could quote a key.
        return None
    if not isinstance(value, dict):
        return None
    read = {name: _stored(entry) for name, entry in value.items()}
    return {name: entry for name, entry in read.items() if entry is not None}


def _stored(entry: object) -> Stored | None:
    if not isinstance(entry, dict):
        return None
    if entry.get("type") == "oauth":
        return SignedIn()
    if entry.get("type") != "api_key":
        return None
    key, extra = entry.get("key", ""), entry.get("env", {})
    if not isinstance(key, str) or not isinstance(extra, dict):
        return None
    return StoredKey(key, {k: v for k, v in extra.items() if isinstance(v, str)})


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where a key is, before anything runs for it."""

    text: str = field(repr=False)
    """The key, or what stands for it."""
    shown: str
    """`ANTHROPIC_API_KEY`, `auth.json`, `models.json`."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that count before those of the process."""
    is_literal: bool = False
    """It is the key whatever it looks like: the value of a variable."""
    is_bearer: bool = False
    """It goes into `Authorization` with every API."""

    @property
    def runs_a_command(self) -> bool:
        """Whether a program has to run for it."""
        return not self.is_literal and is_command(self.text)


@dataclass(frozen=True, slots=True)
class NoKey:
    """There is none to be used here."""

    reason: str
    """A sentence with the next step."""
    is_signed_in: bool = False


def find_key(
    provider: str,
    stored: Mapping[str, Stored],
    configured: str | None,
    environment: Mapping[str, str],
) -> KeySource | NoKey:
    """Where the key of a provider is.

    Args:
        provider: as pi names it.
        stored: what `auth.json` holds.
        configured: `apiKey` of the provider in `models.json`.
        environment: of this process.
    """
    entry = stored.get(provider)
    if isinstance(entry, SignedIn):
        return _signed_in(provider)
    if entry is not None and entry.key:
        missing = _missing(entry.key, entry.environment, environment)
        if missing is None:
            return KeySource(entry.key, AUTH_FILE, entry.environment)
        # pi goes on to the environment, too.
        other = _from_environment(provider, environment)
        return _not_set(AUTH_FILE, provider, missing) if isinstance(other, NoKey) else other
    if entry is None and configured is not None:
        missing = _missing(configured, environment)
        if missing is not None:
            return _not_set(MODELS_FILE, provider, missing)
        names = names_in(configured)
        return KeySource(configured, names[0] if len(names) == 1 else MODELS_FILE)
    return _from_environment(provider, environment)


def _missing(text: str, *environments: Mapping[str, str]) -> str | None:
    """The first variable a key is taken from that is set in none of these; None: there is none."""
    unset = (n for n in names_in(text) if not any(one.get(n) for one in environments))
    return next(unset, None)


def _not_set(file: str, provider: str, variable: str) -> NoKey:
    return NoKey(
        f"{file} takes the key of {provider} from {variable}, which is not set for the daemon; set "
        "it and restart the daemon."
    )


def _from_environment(provider: str, environment: Mapping[str, str]) -> KeySource | NoKey:
    if provider == "anthropic":
        if token := environment.get(BEARER_VARIABLE):
            return KeySource(token, BEARER_VARIABLE, is_literal=True, is_bearer=True)
        if environment.get(SUBSCRIPTION_VARIABLE):
            return _signed_in(provider)
    known = PROVIDERS.get(provider)
    variables = known.variables if known is not None else ()
    for name in variables:
        if key := environment.get(name):
            return KeySource(key, name, is_literal=True)
    if not variables:
        return NoKey(f"There is no key for {provider}; give it one in pi's models.json.")
    return NoKey(
        f"There is no key for {provider}; set {variables[0]} for the daemon, or log in to it in pi "
        "with an API key."
    )


def _signed_in(provider: str) -> NoKey:
    return NoKey(
        f"pi is signed in to {provider} with an account, which only pi may use; name the "
        "summarizer `pi`.",
        is_signed_in=True,
    )


def check_key(provider: str, key: str) -> None:
    """Look whether a key may be used here.

    Raises:
        Unresolved: it is a subscription's token, or no header could carry it.
    """
    if provider == "anthropic" and _SUBSCRIPTION_MARK in key:
        raise Unresolved("it is the token of a subscription, which only pi may use")
    if not key.isascii() or not key.isprintable():
        raise Unresolved("it holds characters that no header can carry")
