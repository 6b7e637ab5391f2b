"""What clients say their summaries used, made fit for pi to add up."""

from typing import Any

import pytest

from pisessiond.core.given_usage import complete_usage

NOTHING: dict[str, Any] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}


@pytest.mark.parametrize(
    ("given", "counts", "total", "spent"),
    [
        ({"input": 3, "output": 2}, {"input": 3, "output": 2}, 5, 0),
        ({"totalTokens": 9}, {}, 9, 0),
        ({"input": 1, "totalTokens": 4, "cost": {"total": 0.5}}, {"input": 1}, 4, 0.5),
        ({"input": 1, "cost": {"input": 0.1, "output": 0.2}}, {"input": 1}, 1, 0.1 + 0.2),
        ({"input": 1, "output": "2", "cacheRead": -1, "cost": 7}, {"input": 1}, 1, 0),
        ({"input": True, "output": 1}, {"output": 1}, 1, 0),
    ],
)
def test_what_is_not_said_is_nothing(
    given: dict[str, Any], counts: dict[str, int], total: int, spent: float
) -> None:
    usage = complete_usage(given)
    assert usage is not None
    assert {name: usage[name] for name in NOTHING} == {**NOTHING, **counts}
    assert (usage["totalTokens"], usage["cost"]["total"]) == (total, pytest.approx(spent))
    assert list(usage)[:5] == [*NOTHING, "totalTokens"]


@pytest.mark.parametrize("given", [None, {}, {"cost": {"total": 1}}, {"input": float("nan")}])
def test_what_says_nothing_is_not_kept(given: dict[str, Any] | None) -> None:
    assert complete_usage(given) is None


def test_what_is_whole_stays_as_it_is() -> None:
    whole = {
        **NOTHING,
        "input": 4,
        "totalTokens": 4,
        "reasoning": 1,
        "cost": {**NOTHING, "total": 0, "totalFromProvider": True},
    }
    assert complete_usage(whole) == whole
