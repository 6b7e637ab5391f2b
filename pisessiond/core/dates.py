"""Times as JavaScript reads and spells them: `new Date(value).getTime()` and `toISOString()`.

The core reads no environment: a time without a zone, which JavaScript takes as local, is UTC here.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

_DAY_MS: Final = 86_400_000
_LONGEST_MS: Final = 8_640_000_000_000_000
"""ECMAScript's time clip: 100 million days to either side of 1970."""

_ISO: Final = re.compile(
    r"(\d{4}|\+\d{6}|-(?!000000)\d{6})(?:-(\d\d)(?:-(\d\d))?)?"
    r"(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:(Z)|([+-])(\d\d):?(\d\d))?)?",
    re.ASCII | re.IGNORECASE,
)

# V8 tries these when a text is not ISO: "2026/11/30 6:10 PM", "Mon, 30 Nov 2026 06:10:00 GMT",
# "Nov 30, 2026" and what JavaScript's own Date.toString() gives.
_LEGACY: Final = re.compile(
    r"\s*(?:(?:mon|tues?|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?[,\s]\s*)?"
    r"(?:(?P<n1>\A(?:\+|-(?!0{6}))\d{6}(?=-)|\d{1,4})([-/])(?P<n2>\d+)\2(?P<n3>\d+)"
    r"|(?P<d1>\d{1,2})[\s-]+(?P<m1>[a-z]{3})[a-z]*[\s,-]\s*(?P<y1>\d+)"
    r"|(?P<m2>[a-z]{3})[a-z]*[\s-]\s*(?P<d2>\d{1,2})[\s,]\s*(?P<y2>\d+))"
    r"(?:,?\s+(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<part>\d+))?)?"
    r"(?:\s+(?P<half>[ap])m(?=[\s+-]|$))?"
    r"(?:\s*(?:z|gmt|utc?))?(?:\s*(?P<sign>[+-])(?P<zh>\d\d)(?::?(?P<zm>[0-5]\d))?)?)?"
    r"(?:\s+\([^()]*\))?\s*",
    re.ASCII | re.IGNORECASE,
)
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)


def date_ms(value: Any) -> int | None:
    """The milliseconds since 1970 of `new Date(value)`; None where that is no time.

    Understood are all forms of ECMAScript's date-time strings and V8's looser ones for them (no
    colon in the offset, small letters, days up to the 31st of any month), further numbers, null,
    true and false. Of the free forms V8 also reads, the common ones are understood: numeric dates,
    dates with an English month name, times with AM or PM, offsets and `GMT`. Left out are bare
    and single numbers as texts ("12" is a month to V8), dates with two parts, other words around a
    date and the American zone names; they are None.
    """
    if isinstance(value, str):
        return _text_ms(value)
    if value is None:
        return 0
    if isinstance(value, (int, float)):
        return _clip(value)
    if isinstance(value, list) and len(value) == 1:
        # An array turns into the text of its only element first; a number is a year then.
        (item,) = value
        return date_ms(str(item)) if isinstance(item, (int, str, list)) else None
    return None


def _clip(ms: float) -> int | None:
    return int(ms) if abs(ms) <= _LONGEST_MS else None


def _text_ms(text: str) -> int | None:
    match = _ISO.fullmatch(text)
    if match is None:
        return _legacy_ms(text)
    year, month, day, hour, minute, second, part, _, sign, zone_hour, zone_minute = match.groups()
    clock = _clock_ms(int(hour or 0), int(minute or 0), int(second or 0), part)
    days = _days(int(year), int(month or 1), int(day or 1))
    if days is None:
        # "0004-13-01" has no 13th month, but is the 13th of April 2001 to V8.
        return _legacy_ms(text)
    if clock is None or int(zone_hour or 0) > 23 or int(zone_minute or 0) > 59:
        return None
    return _clip(days * _DAY_MS + clock - _offset_ms(sign, zone_hour, zone_minute))


def _legacy_ms(text: str) -> int | None:
    match = _LEGACY.fullmatch(text)
    if match is None:
        return None
    days = _legacy_days(match)
    hour = int(match["hour"] or 0)
    if match["half"]:
        if hour > 12:
            return None
        hour = hour % 12 + (12 if match["half"] in "pP" else 0)
    clock = _clock_ms(hour, int(match["minute"] or 0), int(match["second"] or 0), match["part"])
    if days is None or clock is None:
        return None
    return _clip(days * _DAY_MS + clock - _offset_ms(match["sign"], match["zh"], match["zm"]))


def _legacy_days(match: re.Match[str]) -> int | None:
    name = match["m1"] or match["m2"]
    if name:
        if name.lower() not in _MONTHS:
            return None
        day, year = int(match["d1"] or match["d2"]), int(match["y1"] or match["y2"])
        return _days(_full_year(year), _MONTHS.index(name.lower()) + 1, day)
    first, second, third = int(match["n1"]), int(match["n2"]), int(match["n3"])
    if 1 <= first <= 31:
        return _days(_full_year(third), first, second)
    is_signed = match["n1"][0] in "+-"
    return _days(first if is_signed else _full_year(first), second, third)


def _full_year(year: int) -> int:
    if year < 50:
        return year + 2000
    return year + 1900 if year < 100 else year


def _clock_ms(hour: int, minute: int, second: int, part: str | None) -> int | None:
    total = ((hour * 60 + minute) * 60 + second) * 1000 + _part_ms(part)
    return total if minute < 60 and second < 60 and total <= _DAY_MS else None


def _part_ms(part: str | None) -> int:
    if not part:
        return 0
    if len(part) <= 9:
        return int(part[:3].ljust(3, "0"))
    # V8 keeps nine digits and passes over leading zeros first: ".0104373544" is 104 ms to it.
    return int(part.lstrip("0")[:9] or "0") // 1_000_000


def _offset_ms(sign: str | None, hour: str | None, minute: str | None) -> int:
    offset = (int(hour or 0) * 60 + int(minute or 0)) * 60_000
    return -offset if sign == "-" else offset


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01; a day the month lacks is one of the next month, as V8 has it."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    # Years are counted from March, so that the leap day is the last of its year.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    return (
        365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719469
    )


def iso_from_ms(ms: float) -> str:
    """The time in ISO 8601 with milliseconds and Z, as `toISOString()` spells it.

    Raises:
        ValueError: The time is not finite or beyond JavaScript's range.
    """
    whole = _clip(ms) if math.isfinite(ms) else None
    if whole is None:
        raise ValueError(f"{ms!r} is no time in milliseconds")
    days, rest = divmod(whole, _DAY_MS)
    year, month, day = _civil(days)
    if 0 <= year <= 9999:
        year_text = f"{year:04d}"
    else:
        year_text = f"{'-' if year < 0 else '+'}{abs(year):06d}"
    seconds, milliseconds = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    date = f"{year_text}-{month:02d}-{day:02d}"
    return f"{date}T{hour:02d}:{minute:02d}:{second:02d}.{milliseconds:03d}Z"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day since 1970-01-01: `_days` backwards."""
    era, in_era = divmod(days + 719468, 146097)
    year = (in_era - in_era // 1460 + in_era // 36524 - in_era // 146096) // 365
    in_year = in_era - (365 * year + year // 4 - year // 100)
    month = (5 * in_year + 2) // 153
    day = in_year - (153 * month + 2) // 5 + 1
    year += era * 400
    return (year, month + 3, day) if month < 10 else (year + 1, month - 9, day)
