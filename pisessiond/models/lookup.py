"""Asks genai-prices about models, in a process of its own: `python -m pisessiond.models.lookup`.

Its tables take 27 MB and 150 ms to load, for a handful of numbers that are kept afterwards.
On standard input a JSON array of `[provider, model]` under pi's names; on standard output an
object for each: `window` in tokens and `price` in dollars for a million tokens, or null.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from pisessiond.models.providers import GENAI_PROVIDERS

_KINDS: Final = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cacheRead": "cache_read_mtok",
    "cacheWrite": "cache_write_mtok",
}


def find(provider: str, model: str) -> dict[str, Any]:
    """What is known of one model."""
    from datetime import UTC, datetime

    from genai_prices.data_snapshot import get_snapshot

    nothing = {"window": None, "price": None}
    their_name = GENAI_PROVIDERS.get(provider)
    if their_name is None:
        return nothing
    try:
        _, found = get_snapshot().find_provider_model(model, None, their_name, None)
    except LookupError:
        return nothing
    return {
        "window": found.context_window,
        "price": _price(found.get_prices(datetime.now(UTC))),
    }


def _price(prices: Any) -> dict[str, Any] | None:
    parts = {ours: getattr(prices, theirs, None) for ours, theirs in _KINDS.items()}
    if parts["input"] is None or parts["output"] is None:
        return None
    starts = sorted({tier.start for part in parts.values() for tier in getattr(part, "tiers", ())})
    return {
        **{name: _rate(part, 0) for name, part in parts.items()},
        "tiers": [
            {"above": start, **{name: _rate(part, start + 1) for name, part in parts.items()}}
            for start in starts
        ],
    }


def _rate(part: Any, tokens: int) -> float:
    """The rate of a request with that much input."""
    if part is None:
        return 0.0
    if not hasattr(part, "tiers"):
        return float(part)
    # The tiers stand in order; the last one that is passed counts for the whole request.
    passed = [tier.price for tier in part.tiers if tokens > tier.start]
    return float(passed[-1] if passed else part.base)


def main() -> None:
    """Answer the one question on standard input."""
    asked = json.load(sys.stdin)
    json.dump([find(provider, model) for provider, model in asked], sys.stdout)


if __name__ == "__main__":
    main()
