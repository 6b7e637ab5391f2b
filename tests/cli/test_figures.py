from datetime import UTC

import pytest

from pisessiond.cli.figures import (
    count,
    format_cost,
    format_detail,
    format_size,
    format_tokens,
    parse_time,
)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (812, "812"),
        (999, "999"),
        (1_000, "1.0k"),
        (9_449, "9.4k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (84_100, "84k"),
        (84_500, "85k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (1_234_567, "1.2M"),
        (9_949_999, "9.9M"),
        (12_300_000, "12M"),
    ],
)
def test_tokens_have_three_digits_at_most(tokens: int, text: str) -> None:
    assert format_tokens(tokens) == text


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (9_950, "10.0k"),
        (15_249, "15.2k"),
        (999_949, "999.9k"),
        (999_950, "1.0M"),
        (12_340_000, "12.3M"),
    ],
)
def test_tokens_in_detail_have_one_decimal(tokens: int, text: str) -> None:
    assert format_detail(tokens) == text


@pytest.mark.parametrize(
    ("tokens", "source", "window", "expected"),
    [
        (84_100, "measured", 200_000, ("84k", "42%")),
        (34_000, "estimated", 200_000, ("~34k", "~17%")),
        (84_000, "measured", None, ("84k", "")),
        (0, "estimated", 200_000, ("~0", "~0%")),
        (250_000, "measured", 200_000, ("250k", "125%")),
    ],
)
def test_what_is_estimated_says_so_and_no_limit_is_made_up(
    tokens: int, source: str, window: int | None, expected: tuple[str, str]
) -> None:
    assert format_size(tokens, source, window) == expected


def test_small_costs_keep_their_digits() -> None:
    assert [format_cost(cost) for cost in (0, 0.0042, 0.31, 12)] == [
        "$0.00", "$0.0042", "$0.31", "$12.00",
    ]  # fmt: skip


def test_times_that_cannot_be_read_are_none() -> None:
    assert parse_time("2026-11-12T14:33:00.000Z", UTC) is not None
    assert [parse_time(text) for text in (None, "", "soon", "0001-01-01T00:00:00Z+9")] == [None] * 4


def test_numbers_agree_with_their_noun() -> None:
    assert [count(1, "entry", "entries"), count(1200, "session")] == ["1 entry", "1,200 sessions"]
