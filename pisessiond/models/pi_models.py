"""pi's `models.json`: endpoints and models that the user set up, and what is changed of known ones.

It lies in the agent dir and nowhere else. A file that pi would refuse is refused as a whole, as pi
does; members that nobody here needs are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from pisessiond.core.errors import BadSetting
from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.models.base import ModelFacts, Price, PriceTier

DEFAULT_WINDOW: Final = 128_000
DEFAULT_MAX_TOKENS: Final = 16_384

Text = Annotated[str, msgspec.Meta(min_length=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class _Struct(msgspec.Struct, frozen=True, rename="camel"):
    pass


class Tier(_Struct, frozen=True, rename="camel"):
    """What a request costs whose input is larger than that."""

    input_tokens_above: float
    input: float
    output: float
    cache_read: float
    cache_write: float


class Cost(_Struct, frozen=True, rename="camel"):
    """US dollars for a million tokens; in an override any part may be missing."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    tiers: list[Tier] | None = None


class WholeCost(Cost, frozen=True, rename="camel", kw_only=True):
    """The same for a model of the user's own, where no part may be missing."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class Override(_Struct, frozen=True, rename="camel"):
    """What is changed of a model."""

    reasoning: bool | None = None
    cost: Cost | None = None
    context_window: Positive | None = None
    max_tokens: Positive | None = None
    sampling_params: dict[str, Any] = msgspec.field(default_factory=dict)
    sampling_params_by_thinking_level: dict[str, dict[str, Any]] = msgspec.field(
        default_factory=dict
    )
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    compat: dict[str, Any] = msgspec.field(default_factory=dict)


class Model(Override, frozen=True, rename="camel", kw_only=True):
    """A model the user added."""

    id: Text
    cost: WholeCost | None = None
    api: Text | None = None
    base_url: Text | None = None


class Provider(_Struct, frozen=True, rename="camel"):
    """An endpoint."""

    base_url: Text | None = None
    api_key: Text | None = None
    api: Text | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    compat: dict[str, Any] = msgspec.field(default_factory=dict)
    auth_header: bool = False
    models: list[Model] = msgspec.field(default_factory=list)
    model_overrides: dict[str, Override] = msgspec.field(default_factory=dict)

    def model(self, model_id: str) -> Model | None:
        """The model of that id; of two the later one, as with pi."""
        return next((one for one in reversed(self.models) if one.id == model_id), None)


class PiModels:
    """One state of the file."""

    def __init__(
        self, providers: Mapping[str, Provider] | None = None, problem: BadSetting | None = None
    ) -> None:
        self.providers = providers or {}
        self.problem = problem
        """Why the file does not count."""

    def facts(self, provider_id: str, model_id: str, known: ModelFacts) -> ModelFacts:
        """What the file says of a model, over what is known of it elsewhere."""
        provider = self.providers.get(provider_id)
        if provider is None:
            return known
        if (model := provider.model(model_id)) is not None:
            # pi's usual values are no guess: they are what pi goes by.
            known = ModelFacts(
                window=int(model.context_window or DEFAULT_WINDOW),
                max_output=int(model.max_tokens or DEFAULT_MAX_TOKENS),
                price=known.price if model.cost is None else _price(model.cost, None),
            )
        if (override := provider.model_overrides.get(model_id)) is not None:
            window, most = override.context_window, override.max_tokens
            known = ModelFacts(
                window=known.window if window is None else int(window),
                max_output=known.max_output if most is None else int(most),
                price=known.price if override.cost is None else _price(override.cost, known.price),
            )
        return known

    def says_window(self, provider_id: str, model_id: str) -> bool:
        """Whether the window of a model comes from here."""
        return self.facts(provider_id, model_id, ModelFacts()).window is not None

    def is_complete(self, provider_id: str, model_id: str) -> bool:
        """Whether the file says all there is to know of a model."""
        facts = self.facts(provider_id, model_id, ModelFacts())
        return facts.window is not None and facts.price is not None


def _price(cost: Cost, below: Price | None) -> Price | None:
    under = below or Price(0.0, 0.0)
    if below is None and (cost.input is None or cost.output is None):
        return None
    tiers = under.tiers if cost.tiers is None else tuple(map(_tier, cost.tiers))
    return Price(
        under.input if cost.input is None else cost.input,
        under.output if cost.output is None else cost.output,
        under.cache_read if cost.cache_read is None else cost.cache_read,
        under.cache_write if cost.cache_write is None else cost.cache_write,
        tiers,
    )


def _tier(tier: Tier) -> PriceTier:
    return PriceTier(
        int(tier.input_tokens_above), tier.input, tier.output, tier.cache_read, tier.cache_write
    )


# pi 1.6.0: `stripJsonComments`. Comments from `//` on, and commas before a closing bracket.
_COMMENT: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*')
_TRAILING_COMMA: Final = re.compile(r'"(?:\\.|[^"\\])*"|,(\s*[}\]])')


def strip_comments(text: str) -> str:
    """JSON as pi lets `models.json` be written, without what JSON has not."""
    text = _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else "", text)
    return _TRAILING_COMMA.sub(lambda found: found[0] if found[1] is None else found[1], text)


def read_pi_models(text: str | None, shown: str) -> PiModels:
    """What the text of the file says; without one there is nothing."""
    if text is None:
        return PiModels()
    try:
        value = parse_json(strip_comments(text.removeprefix("\ufeff")))
    except NotJson as error:
        reason = f"is no JSON, not even with comments ({error}); correct it."
        return PiModels(problem=BadSetting(shown, "the text", reason))
    providers = value.get("providers") if isinstance(value, dict) else None
    if not isinstance(providers, dict):
        reason = "must be an object of providers in braces; correct it."
        return PiModels(problem=BadSetting(shown, "providers", reason))
    read = {}
    for name, members in providers.items():
        try:
            read[name] = msgspec.convert(members, Provider)
        except msgspec.ValidationError as error:
            # Its words name types and places, never values.
            reason = f"means nothing to pi ({error}); correct it."
            return PiModels(problem=BadSetting(shown, f"providers.{name}", reason))
    return PiModels(read)
