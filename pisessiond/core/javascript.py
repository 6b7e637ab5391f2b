"""JavaScript's reading and spelling of JSON and text, as pi's runtime (V8) does them.

Session files are read and written by pi with `JSON.parse` and `JSON.stringify`, and sizes are
counted in the UTF-16 code units of its strings. What Python does differently is ironed out here,
so that a line written by us equals one written by pi. Dates stand in `pisessiond.core.dates`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn, TypeAlias, cast

import msgspec

from pisessiond.core.dates import date_ms, iso_from_ms

__all__ = [
    "NESTING_LIMIT",
    "JsonValue",
    "NotJson",
    "canonical_json",
    "cut_utf16",
    "date_ms",
    "is_blank",
    "is_deeper_than",
    "is_truthy",
    "iso_from_ms",
    "number_text",
    "object_entries",
    "own_items",
    "parse_json",
    "stringify",
    "stringify_length",
    "trim",
    "utf16_length",
    "utf16_order",
    "well_formed",
]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

NESTING_LIMIT: Final = 500
"""How many arrays and objects may stand inside each other.

V8 reads any depth, but Python's readers and writers recurse. A fixed limit far below Python's own
makes the answer the same wherever on the stack a line is read, and what was read can be written.
"""

_SAFE_INTEGER: Final = 2**53
_LAST_ARRAY_INDEX: Final = 2**32 - 2

# ECMAScript's WhiteSpace and LineTerminator. Python's own `strip` also takes U+001C to U+001F and
# U+0085, and leaves U+FEFF.
_WHITE_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_ASCII_WHITE_SPACE: Final = b"\t\n\v\f\r "

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """A text that `JSON.parse` refuses, or one nested deeper than `NESTING_LIMIT`."""


# Reading


def parse_json(text: bytes | str) -> JsonValue:
    """The value of a JSON text, as `JSON.parse` reads it.

    Bytes are UTF-8; those that are not read as U+FFFD, as WHATWG's decoder does. Of a repeated
    key the last value counts, in the place of the first. Integers stay Python integers up to 17
    digits or so, beyond that they may be floats; `stringify` spells both as JavaScript does.

    Raises:
        NotJson: `JSON.parse` would throw, or the text is nested deeper than `NESTING_LIMIT`.
    """
    try:
        try:
            value = cast(JsonValue, msgspec.json.decode(text))
        except (ValueError, RecursionError):
            # msgspec also refuses lone surrogate escapes, numbers beyond a double's range and
            # bytes that are no UTF-8, all of which JSON.parse takes.
            if isinstance(text, bytes):
                text = text.decode("utf-8", "replace")
            value = cast(JsonValue, _LENIENT_DECODER.decode(text))
    except RecursionError as error:
        raise NotJson("the text is nested too deeply") from error
    except ValueError as error:
        raise NotJson(str(error)) from error
    if _opening_brackets(text) > NESTING_LIMIT and is_deeper_than(value, NESTING_LIMIT):
        raise NotJson("the text is nested too deeply")
    return value


def _opening_brackets(text: bytes | str) -> int:
    if isinstance(text, str):
        return text.count("[") + text.count("{")
    return text.count(b"[") + text.count(b"{")


def is_deeper_than(value: JsonValue, limit: int) -> bool:
    """Whether more than `limit` arrays and objects stand inside each other."""
    level = [value]
    for _ in range(limit):
        level = [item for holder in level for item in _held(holder) if isinstance(item, _HOLDERS)]
        if not level:
            return False
    return True


_HOLDERS: Final = (dict, list)


def _held(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _read_integer(text: str) -> int | float:
    # float() reads "1e400" as infinity, like JavaScript, and has no limit on digits, unlike int().
    return int(text) if len(text) < 18 else float(text)


_LENIENT_DECODER: Final = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=_read_integer, strict=True
)


# Spelling


def number_text(number: float) -> str:
    """A number as JavaScript's `String(number)` spells it; an integer is a double there."""
    if isinstance(number, int):
        if -_SAFE_INTEGER <= number <= _SAFE_INTEGER:
            return int.__repr__(int(number))
        try:
            number = float(number)
        except OverflowError:
            return "Infinity" if number > 0 else "-Infinity"
    text = repr(number)
    if text.endswith(".0"):
        return "0" if text == "-0.0" else text[:-2]
    if "e" not in text:
        return _NUMBER_NAMES.get(text, text)
    # Python turns to exponents below 1e-4 and from 1e16 on, JavaScript below 1e-6 and from 1e21.
    sign = "-" if text[0] == "-" else ""
    mantissa, exponent = text.lstrip("-").split("e")
    digits = mantissa.replace(".", "")
    point = int(exponent) + 1
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


_NUMBER_NAMES: Final = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


def stringify(value: Any) -> str:
    """A JSON value as `JSON.stringify` spells it: no spaces, non-ASCII raw, numbers as doubles.

    Keys that look like array indexes come first and ascend, as in every JavaScript object. Lone
    surrogates are escaped, infinities and NaN are null.
    """
    parts: list[str] = []
    _spell(value, parts.append)
    return "".join(parts)


def _spell(value: Any, write: Any) -> None:
    if isinstance(value, str):
        write(_string_text(value))
    elif isinstance(value, dict):
        separator = "{"
        for key, item in own_items(value):
            write(f"{separator}{_string_text(key)}:")
            separator = ","
            _spell(item, write)
        write("}" if separator == "," else "{}")
    elif isinstance(value, (list, tuple)):
        separator = "["
        for item in value:
            write(separator)
            separator = ","
            _spell(item, write)
        write("]" if separator == "," else "[]")
    else:
        write(_scalar_text(value))


def _scalar_text(value: Any) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if not isinstance(value, (int, float)):
        raise TypeError(f"{type(value).__name__} is no JSON value")
    text = number_text(value)
    return text if text[-1].isdecimal() else "null"


def _string_text(text: str) -> str:
    # Python escapes exactly what JavaScript does (U+007F and U+2028 stay raw in both), but for
    # surrogates without a partner.
    spelled = encode_basestring(text)
    if spelled.isascii() or not _SURROGATE.search(spelled):
        return spelled
    return _SURROGATE.sub(lambda unit: f"\\u{ord(unit[0]):04x}", join_pairs(spelled))


def join_pairs(text: str) -> str:
    """The text with surrogates that stand as a pair turned into the character they mean."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def stringify_length(value: Any) -> int:
    """How many UTF-16 code units `stringify(value)` has, counted without building it."""
    if isinstance(value, str):
        # Most strings are ASCII, where the escapes are the only thing to count.
        spelled = encode_basestring(value)
        return len(spelled) if spelled.isascii() else utf16_length(_string_text(value))
    if isinstance(value, dict):
        inner = sum(stringify_length(key) + stringify_length(item) for key, item in value.items())
        return inner + 2 * len(value) + 1 if value else 2
    if isinstance(value, (list, tuple)):
        return sum(map(stringify_length, value)) + len(value) + 1 if value else 2
    return len(_scalar_text(value))


def canonical_json(value: Any) -> str:
    """A spelling equal for equal values: keys sorted by UTF-16 code unit, no spaces."""
    if isinstance(value, dict):
        keys = sorted(value, key=utf16_order)
        return f"{{{','.join(f'{_string_text(k)}:{canonical_json(value[k])}' for k in keys)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(canonical_json, value))}]"
    return stringify(value)


# Objects


def own_items(value: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """The members of an object in JavaScript's order: array indexes ascending, then the others."""
    # min() runs in C and settles nearly every object: letters sort behind digits.
    if not value or min(value) > "9999999999":
        return value.items()
    indexes = sorted((key for key in value if _is_array_index(key)), key=int)
    if not indexes:
        return value.items()
    first = set(indexes)
    others = [(key, item) for key, item in value.items() if key not in first]
    return [*((key, value[key]) for key in indexes), *others]


def _is_array_index(key: str) -> bool:
    if not (0 < len(key) <= 10 and key.isascii() and key.isdecimal()):
        return False
    return (key[0] != "0" or key == "0") and int(key) <= _LAST_ARRAY_INDEX


def object_entries(value: Any) -> list[tuple[str, Any]]:
    """`Object.entries(value)` of a JSON value; empty for what has none (null, where pi throws)."""
    if isinstance(value, dict):
        return list(own_items(value))
    if isinstance(value, list):
        return [(str(index), item) for index, item in enumerate(value)]
    if isinstance(value, str):
        data = value.encode("utf-16-le", "surrogatepass")
        units = [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in _evens(data)]
        return [(str(index), unit) for index, unit in enumerate(units)]
    return []


def _evens(data: bytes) -> range:
    return range(0, len(data), 2)


def is_truthy(value: Any) -> bool:
    """Whether `if (value)` holds; an empty array or object does in JavaScript."""
    if isinstance(value, (list, dict)):
        return True
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


# Text


def trim(text: str) -> str:
    """`text.trim()`: without JavaScript's white space and line ends on either side."""
    return text.strip(_WHITE_SPACE)


def is_blank(line: bytes) -> bool:
    """Whether a line of a file trims to nothing, so that pi passes over it without a word."""
    if line[:1] == b"{":
        return False
    rest = line.lstrip(_ASCII_WHITE_SPACE)
    if not rest:
        return True
    return rest[0] >= 0x80 and not trim(rest.decode("utf-8", "replace"))


def utf16_length(text: str) -> int:
    """`text.length`: UTF-16 code units, so two for each character beyond U+FFFF."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut_utf16(text: str, units: int) -> str:
    """The first UTF-16 code units of a text, one fewer where the cut would tear a pair."""
    if units <= 0:
        return ""
    head = text[: units + 1]
    if head.isascii():
        return head[:units]
    data = head.encode("utf-16-le", "surrogatepass")
    end = 2 * units
    # The high byte of a unit stands second; D8 to DB begin a pair, DC to DF end one.
    if len(data) > end and 0xD8 <= data[end - 1] <= 0xDB and 0xDC <= data[end + 1] <= 0xDF:
        end -= 2
    return data[:end].decode("utf-16-le", "surrogatepass")


def well_formed(text: str) -> str:
    """`text.toWellFormed()`: a surrogate without a partner becomes U+FFFD, a pair its character."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def utf16_order(text: str) -> bytes:
    """A key that sorts texts as JavaScript's `sort()` does, by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")
