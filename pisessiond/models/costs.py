"""What a usage costs, spelled as pi writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pisessiond.models.base import Price, PriceTier

_MILLION = 1_000_000


def cost_of(price: Price | None, usage: Mapping[str, Any]) -> dict[str, float]:
    """The member `cost` of a usage: input, output, cacheRead, cacheWrite and total, in dollars.

    The rules are those of pi 1.6.0's `calculateCost`: the highest tier below the whole input counts
    for the whole request, and what is cached for an hour (`cacheWrite1h`, part of `cacheWrite`)
    costs twice the input. Without a price all of it is 0, as pi writes it then.
    """
    if price is None:
        return dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    read, write = usage.get("cacheRead", 0), usage.get("cacheWrite", 0)
    long_write = usage.get("cacheWrite1h", 0)
    rates = rates_for(price, usage["input"] + read + write)
    cost = {
        "input": rates.input / _MILLION * usage["input"],
        "output": rates.output / _MILLION * usage["output"],
        "cacheRead": rates.cache_read / _MILLION * read,
        "cacheWrite": (rates.cache_write * (write - long_write) + rates.input * 2 * long_write)
        / _MILLION,
    }
    # In this order, so that the sum is pi's to the last bit.
    cost["total"] = cost["input"] + cost["output"] + cost["cacheRead"] + cost["cacheWrite"]
    return cost


def rates_for(price: Price, input_tokens: int) -> Price | PriceTier:
    """What holds for a request with that much input, cached or not."""
    matching = [tier for tier in price.tiers if input_tokens > tier.input_tokens_above]
    # Of equal thresholds the first counts, as with pi.
    return max(matching, key=lambda tier: tier.input_tokens_above, default=price)
