"""JSON, texts and times as JavaScript has them; the bulk is compared with Node itself."""

import json
import math
import random
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core.javascript import (
    NESTING_LIMIT,
    NotJson,
    canonical_json,
    cut_utf16,
    date_ms,
    is_blank,
    is_truthy,
    iso_from_ms,
    number_text,
    object_entries,
    parse_json,
    stringify,
    stringify_length,
    trim,
    utf16_length,
)
from tests.support.pi import Pi

any_text = st.text(st.characters(exclude_categories=()))
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(any_text | st.integers(0, 2**33).map(str), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ('{"a": 1, "b": 2, "a": 3}', '{"a":3,"b":2}'),
        ('{"b":1,"10":2,"2":3,"01":4}', '{"2":3,"10":2,"b":1,"01":4}'),
        ('{"4294967295":1,"4294967294":2}', '{"4294967294":2,"4294967295":1}'),
        ('{"__proto__":{"x":1}}', '{"__proto__":{"x":1}}'),
        ("[1.0,-0,0.000005,5e-7,1e21,1e400,-1e400]", "[1,0,0.000005,5e-7,1e+21,null,null]"),
        ("12345678901234567890", "12345678901234567000"),
        ("9007199254740993", "9007199254740992"),
        ('"\\ud800\\uDC00 \\uD83D"', '"\U00010000 \\ud83d"'),
        ('"\\u007f\\u2028\\u0001\\/"', '"\x7f\u2028\\u0001/"'),
        (b'"\xff\xe2\x82"', '"\ufffd\ufffd"'),
        (b'"\xed\xa0\x80"', '"\ufffd\ufffd\ufffd"'),
        ("[]", "[]"),
        ("{}", "{}"),
    ],
)
def test_json_is_read_and_spelled_as_in_javascript(text: str | bytes, spelled: str) -> None:
    value = parse_json(text)
    assert stringify(value) == spelled
    assert stringify_length(value) == utf16_length(spelled)


@pytest.mark.parametrize(
    "text",
    [
        *("", "nul", "NaN", "Infinity", "-Infinity", "01", "1.", "+1", "[1,]", "{'a':1}", "1 2"),
        *('"\t"', '"\\x"', '"\x00"', "\ufeff1", "\u00a01", '{"a":1,}', b"\xef\xbb\xbf1", b"1\xff"),
    ],
)
def test_what_json_parse_refuses_is_refused(text: str | bytes) -> None:
    with pytest.raises(NotJson):
        parse_json(text)


def test_nesting_has_a_limit_of_our_own() -> None:
    deepest = "[" * NESTING_LIMIT + "]" * NESTING_LIMIT
    assert stringify(parse_json(deepest)) == deepest
    assert parse_json(json.dumps("[" * 3000)) == "[" * 3000
    for depth in (NESTING_LIMIT + 1, 5_000, 100_000):
        with pytest.raises(NotJson, match="deeply"):
            parse_json("[" * depth + "]" * depth)


@given(any_json)
def test_what_was_spelled_reads_back_the_same(value: Any) -> None:
    spelled = stringify(value)
    assert stringify(parse_json(spelled)) == spelled
    assert stringify_length(value) == utf16_length(spelled)


@given(any_json)
def test_the_canonical_spelling_knows_no_order(value: Any) -> None:
    turned = json.loads(json.dumps(value), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert canonical_json(turned) == canonical_json(value)


def test_canonical_keys_are_sorted_by_code_unit() -> None:
    assert canonical_json({"\uff5a": 1, "\U0001f600": [1.0], "b": {}, "10": 2}) == (
        '{"10":2,"b":{},"\U0001f600":[1],"\uff5a":1}'
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (-1.25e22, "-1.25e+22"),
        (10**400, "Infinity"),
        (math.nan, "NaN"),
        (5e-324, "5e-324"),
        (2**53 + 1, "9007199254740992"),
    ],
)
def test_numbers_are_spelled_as_doubles(number: float, text: str) -> None:
    assert number_text(number) == text


def test_trimming_takes_javascripts_white_space_alone() -> None:
    assert trim("\ufeff\u00a0\u3000\v x\u0085 \u2029") == "x\u0085"
    assert trim("\x1c") == "\x1c"


@given(st.binary() | st.text("\ufeff\u00a0\u2028 \t\r\x1c\u0085{").map(str.encode))
def test_a_blank_line_is_one_that_trims_to_nothing(line: bytes) -> None:
    assert is_blank(line) == (trim(line.decode(errors="replace")) == "")


@given(any_text, st.integers(-1, 12))
def test_cutting_tears_no_pair(text: str, units: int) -> None:
    head = cut_utf16(text, units)
    rest = text.encode("utf-16-le", "surrogatepass")[2 * utf16_length(head) :]
    length = utf16_length(head)
    assert text.encode("utf-16-le", "surrogatepass").startswith(
        head.encode("utf-16-le", "surrogatepass")
    )
    whole = min(max(units, 0), utf16_length(text))
    torn = length == whole - 1 and 0xD8 <= rest[1] <= 0xDB and 0xDC <= rest[3] <= 0xDF
    assert length == whole or torn


def test_lone_surrogates_are_cut_as_they_are() -> None:
    assert cut_utf16("a\ud83d\ud83d", 2) == "a\ud83d"
    assert cut_utf16("a\U0001f600b", 2) == "a"
    assert cut_utf16("a\U0001f600b", 3) == "a\U0001f600"


def test_objects_arrays_and_texts_have_entries() -> None:
    assert object_entries({"b": 1, "1": 2}) == [("1", 2), ("b", 1)]
    assert object_entries(["x"]) == [("0", "x")]
    assert object_entries("a\U0001f600") == [("0", "a"), ("1", "\ud83d"), ("2", "\ude00")]
    assert object_entries(None) == []


def test_empty_lists_and_objects_are_true() -> None:
    assert all(map(is_truthy, ([], {}, "0", 1, -0.5, True)))
    assert not any(map(is_truthy, ("", 0, -0.0, math.nan, None, False)))


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("2026-11-30T06:10:00.123Z", 1796019000123),
        ("2026-11-30T06:10:00.1239999Z", 1796019000123),
        ("2026-11-30T06:10:00+01:00", 1796015400000),
        ("2026-11-30", 1795996800000),
        ("2026-11-30T06:10", 1796019000000),
        ("2026-11-30T24:00Z", 1796083200000),
        ("2026-11-30T24:00:01Z", None),
        ("2026-02-31", 1772496000000),
        ("2026-02-32", None),
        ("-000001-01-01", -62198755200000),
        ("-000000-01-01", None),
        ("+275760-09-13", 8640000000000000),
        ("+275760-09-13T00:00:00.001Z", None),
        ("Mon, 30 Nov 2026 06:10:00 GMT", 1796019000000),
        ("Mon Nov 30 2026 06:10:00 GMT+0100 (CET)", 1796015400000),
        ("Nov 30, 2026 6:10 PM GMT", 1796062200000),
        ("2026/11/30 06:10Z", 1796019000000),
        ("yesterday", None),
        ("", None),
        (None, 0),
        (True, 1),
        (1.9, 1),
        (-1.9, -1),
        (8.64e15, 8640000000000000),
        (8.65e15, None),
        ({}, None),
        ([], None),
        (["2026-11-30"], 1795996800000),
        ([2026], 1767225600000),
    ],
)
def test_times_are_read_as_in_javascript(value: Any, ms: int | None) -> None:
    assert date_ms(value) == ms


@given(st.integers(-8_640_000_000_000_000, 8_640_000_000_000_000))
def test_every_time_reads_back(ms: int) -> None:
    assert date_ms(iso_from_ms(ms)) == ms


def test_years_beyond_four_digits_carry_a_sign() -> None:
    assert iso_from_ms(0) == "1970-01-01T00:00:00.000Z"
    assert iso_from_ms(-62198755200000) == "-000001-01-01T00:00:00.000Z"
    assert iso_from_ms(8640000000000000) == "+275760-09-13T00:00:00.000Z"
    for beyond in (8640000000000001, math.inf, math.nan):
        with pytest.raises(ValueError, match="no time"):
            iso_from_ms(beyond)


@pytest.mark.slow
def test_node_reads_and_spells_json_the_same(pi: Pi) -> None:
    texts = [_random_json(random.Random(seed), 4) for seed in range(20_000)]
    mine = [_spelled(text) for text in texts]
    assert dict(zip(texts, mine, strict=True)) == dict(zip(texts, pi.stringify(texts), strict=True))


@pytest.mark.slow
def test_node_reads_times_the_same(pi: Pi) -> None:
    values = [_random_time(random.Random(seed)) for seed in range(20_000)]
    answers = zip(values, pi.date_ms(values), strict=True)
    assert [(value, ms) for value, ms in answers if ms != date_ms(value)] == []


def _spelled(text: str) -> str | None:
    try:
        return stringify(parse_json(text))
    except NotJson:
        return None


_NUMBERS = "-0 1.0 1E5 1e400 1e-400 01 1. - .5 NaN 9007199254740993 1e21 1e-7 0.000001".split()
_KEYS = '"0" "10" "2" "01" "4294967294" "4294967295" "-1" "__proto__" "" "a" "\\u0031"'.split()
_PIECES = (
    *("a", "\u00e9", "\U0001f600", "\\n", "\\u0000", "\\u001F", "\x7f", "\u2028", "\\/"),
    *("\\ud83d\\ude00", "\\ud83d", "\\uDE00", "\\ud800", "\\\\", '\\"', "\\x", "\t", "\ufeff"),
)


def _random_json(chance: random.Random, depth: int) -> str:
    def inner() -> str:
        return _random_json(chance, depth - 1)

    kind = chance.randrange(7 if depth else 5)
    if kind == 0:
        return chance.choice([*_NUMBERS, "true", "false", "null"])
    if kind == 1:
        return repr(struct.unpack("d", chance.randbytes(8))[0])
    if kind == 2:
        return str(chance.randrange(10 ** chance.randrange(1, 30)))
    if kind in (3, 4):
        return f'"{"".join(chance.choices(_PIECES, k=chance.randrange(5)))}"'
    if kind == 5:
        return f"[{','.join(inner() for _ in range(chance.randrange(4)))}]"
    return f"{{{','.join(f'{chance.choice(_KEYS)}:{inner()}' for _ in range(5))}}}"


def _random_time(chance: random.Random) -> Any:
    """A time with a zone, now and then one that is none: Node's own zone is not ours to know."""

    def two(end: int) -> str:
        return f"{chance.randrange(end):02d}"

    if chance.random() < 0.1:
        return chance.choice([None, True, {}, [], chance.uniform(-9e15, 9e15), "", "x"])
    year = chance.choice(["2026", f"{chance.randrange(10**4):04d}", f"-00{chance.randrange(1, 9)}"])
    year = year if len(year) == 4 and year[0] != "-" else f"{year[:1]}{year[1:]:0>6}"
    date = chance.choice([f"{year}-{two(14)}-{two(33)}", f"{year}-{two(14)}", year])
    if not year.isdecimal() or chance.random() < 0.2:
        return date if year.isdecimal() or year[0] == "-" else f"+0{year[1:]}"
    part = chance.choice(["", ".5", ".123", ".1239", ".000000001"])
    zone = chance.choice(["Z", "z", f"+{two(25)}:{two(61)}", f"-{two(24)}{two(60)}"])
    time = f"{two(25)}:{two(61)}" + chance.choice(["", f":{two(61)}{part}"])
    return f"{date}T{time}{zone}"
