"""What others say their summaries used, in the form that pi reads.

pi adds up `input`, `output`, `cacheRead`, `cacheWrite` and `cost.total` without looking (pi 1.6.0,
`addUsageToTotals`): one that is missing makes its totals NaN, and a missing `cost` ends them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

_COUNTS: Final = ("input", "output", "cacheRead", "cacheWrite")


def complete_usage(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The usage with zeros for what is not said; None where it says nothing that counts."""
    if given is None or not any(_is_count(given.get(name)) for name in (*_COUNTS, "totalTokens")):
        return None
    usage: dict[str, Any] = {name: _count(given, name) for name in _COUNTS}
    total = given.get("totalTokens")
    usage["totalTokens"] = total if _is_count(total) else sum(usage.values())
    cost = given.get("cost")
    parts = cost if isinstance(cost, dict) else {}
    spent: dict[str, Any] = {name: _count(parts, name) for name in _COUNTS}
    all_spent = parts.get("total")
    spent["total"] = all_spent if _is_count(all_spent) else sum(spent.values())
    others = _other_members(given, {**usage, "cost": None})
    return {**usage, **others, "cost": {**spent, **_other_members(parts, spent)}}


def _other_members(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in known}


def _count(given: Mapping[str, Any], name: str) -> Any:
    value = given.get(name)
    return value if _is_count(value) else 0


def _is_count(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0
