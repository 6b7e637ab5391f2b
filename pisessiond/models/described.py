"""What is known of a model and of keys, for people and for programs. No key is ever part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from pisessiond.models.base import ModelFacts, ModelName
from pisessiond.models.endpoints import Endpoint, NotUsable, shown_address
from pisessiond.models.keys import KeySource, NoKey, Stored
from pisessiond.models.pi_models import PiModels
from pisessiond.models.providers import PROVIDERS
from pisessiond.models.resolving import FileEndpoints


def key_lines(
    endpoints: FileEndpoints, stored: Mapping[str, Stored], models: PiModels
) -> Iterator[tuple[str, str]]:
    """Each provider for which there is a key, a sign-in, or an address of the user's own."""
    for name in sorted({*PROVIDERS, *stored, *models.providers}):
        source = endpoints.key_source(name)
        if isinstance(source, KeySource):
            how = "a command of " if source.runs_a_command else ""
            yield name, f"set, from {how}{source.shown}"
        elif source.is_signed_in:
            yield name, "signed in with pi; the summarizer `pi` can use it"
        elif name in stored or name in models.providers:
            yield name, _why(source)


def _why(source: NoKey) -> str:
    return f"not set: {source.reason}"


def describe_model(
    name: ModelName,
    facts: ModelFacts,
    window_source: str,
    found: Endpoint | NotUsable,
) -> dict[str, Any]:
    """A model: window, price, and whether it can be reached."""
    told: dict[str, Any] = {
        "model": str(name),
        "window": facts.window,
        "windowSource": window_source,
        "maxOutput": facts.max_output,
        "price": None if facts.price is None else asdict(facts.price),
        "usable": isinstance(found, Endpoint),
    }
    if isinstance(found, NotUsable):
        return {**told, "reason": found.reason}
    return {
        **told,
        "api": found.api,
        "baseUrl": shown_address(found.base_url),
        "key": "none is needed" if found.key is None else f"set, from {found.key.source}",
    }
