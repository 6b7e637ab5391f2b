"""Numbers as people read them: sizes, percents, times."""

from __future__ import annotations

from datetime import datetime, tzinfo


def format_tokens(tokens: int) -> str:
    """`812`, `9.4k`, `84k`, `1.2M`: three digits at most, in the steps of pi's footer."""
    if tokens < 1000:
        return str(tokens)
    # A figure that rounds up to the next step is written in that step: 10k, not 10.0k.
    if tokens < 9_950:
        return f"{_tenths(tokens, 100)}k"
    if tokens < 999_500:
        return f"{(tokens + 500) // 1000}k"
    if tokens < 9_950_000:
        return f"{_tenths(tokens, 100_000)}M"
    return f"{(tokens + 500_000) // 1_000_000}M"


def format_detail(tokens: int) -> str:
    """`812`, `9.4k`, `84.1k`, `1.2M`: one decimal, for figures that are looked at closely."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 999_950:
        return f"{_tenths(tokens, 100)}k"
    return f"{_tenths(tokens, 100_000)}M"


def _tenths(tokens: int, unit: int) -> str:
    whole, tenth = divmod((tokens + unit // 2) // unit, 10)
    return f"{whole}.{tenth}"


def format_size(tokens: int, source: str, window: int | None) -> tuple[str, str]:
    """Tokens, and percent if the window is known, with `~` before what is estimated."""
    tilde = "" if source == "measured" else "~"
    percent = f"{tilde}{int(tokens * 100 / window + 0.5)}%" if window else ""
    return tilde + format_tokens(tokens), percent


def format_cost(cost: float) -> str:
    """US dollars, with more digits where they are all there is."""
    return f"${cost:.2f}" if cost >= 0.1 or cost == 0 else f"${cost:.4f}"


def parse_time(text: str | None, zone: tzinfo | None = None) -> datetime | None:
    """The time in the reader's zone (the machine's when None); None when it cannot be read."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(zone)
    except (ValueError, OverflowError):
        return None


def format_day(time: datetime) -> str:
    """`12Nov`, in English whatever the locale, since columns are made for it."""
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    return f"{time.day}{months[time.month - 1]}"


def count(number: int, one: str, many: str = "") -> str:
    """`1 entry`, `12 entries`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
