"""Members exchanged in place: the object says what it should, and all other bytes stay."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core.javascript import parse_json
from pisessiond.core.members import member_value, members, replace_members

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6) | st.floats(0, 1),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(["a", "b", "c", "id", "parentId", 'q"', "back\\", "ü", "🙂", ""])
OBJECTS = st.lists(st.tuples(NAMES, VALUES), max_size=6)
WHITE = st.sampled_from([b"", b" ", b"\t", b"\r", b"  "])


@st.composite
def spelled(draw: st.DrawFn) -> tuple[list[tuple[str, Any]], bytes]:
    """An object with repeated names perhaps, and one of the many ways to write it."""
    items = draw(OBJECTS)
    parts = []
    for name, value in items:
        key = json.dumps(name, ensure_ascii=draw(st.booleans())).encode()
        separators = draw(st.sampled_from([(",", ":"), (", ", " : ")]))
        body = json.dumps(value, ensure_ascii=draw(st.booleans()), separators=separators).encode()
        w = [draw(WHITE) for _ in range(4)]
        parts.append(w[0] + key + w[1] + b":" + w[2] + body + w[3])
    text = draw(WHITE) + b"{" + b",".join(parts) + b"}" + draw(WHITE)
    return items, text


@given(spelled())
def test_members_are_found_where_they_stand(made: tuple[list[tuple[str, Any]], bytes]) -> None:
    items, text = made
    found = members(text)
    assert [m.name for m in found] == [name for name, _ in items]
    assert [json.loads(text[m.value : m.end]) for m in found] == [value for _, value in items]
    for name in {name for name, _ in items}:
        last = [value for other, value in items if other == name][-1]
        assert json.loads(member_value(text, name) or b"") == last
    assert member_value(text, "nowhere") is None


@given(spelled(), st.dictionaries(NAMES, VALUES, max_size=4), st.sets(NAMES, max_size=3))
def test_replacing_says_what_a_dictionary_says(
    made: tuple[list[tuple[str, Any]], bytes], values: dict[str, Any], removed: set[str]
) -> None:
    items, text = made
    removed -= set(values)
    names = {name: json.dumps(value).encode() for name, value in values.items()}
    names = {name: value for name, value in names.items() if name not in ('q"', "back\\")}
    result = replace_members(text, names, frozenset(removed))
    expected: dict[str, Any] = dict(items)
    expected.update({name: values[name] for name in names})
    for name in removed:
        expected.pop(name, None)
    said = parse_json(result)
    assert isinstance(said, dict)
    assert list(said.items()) == list(expected.items())


@given(spelled(), st.data())
def test_only_the_exchanged_value_is_touched(
    made: tuple[list[tuple[str, Any]], bytes], data: st.DataObject
) -> None:
    items, text = made
    if not items:
        return
    name = data.draw(st.sampled_from([name for name, _ in items]))
    last = [member for member in members(text) if member.name == name][-1]
    expected = text[: last.value] + b"[1]" + text[last.end :]
    assert replace_members(text, {name: b"[1]"}) == expected.strip(b" \t\r\n")


@pytest.mark.parametrize(
    "odd",
    [
        b'"\\ud800"',
        b'"\xff\xfe"',
        b"1.0",
        b"1E5",
        b"-0",
        b"12345678901234567890",
        b'"\\u0061"',
        b'"{]}["',
    ],
)
def test_bytes_that_are_not_ours_survive(odd: bytes) -> None:
    line = b'{"id":"x", "odd" : ' + odd + b' ,"parentId":null}'
    assert replace_members(line, {"parentId": b'"p"'}) == line.replace(b"null", b'"p"')
    assert replace_members(line, {"new": b"1"}) == line[:-1] + b',"new":1}'


@pytest.mark.parametrize(
    ("removed", "expected"),
    [
        ("a", b'{ "b" : 2 ,\t"c":3 }'),
        ("b", b'{ "a":1 ,\t"c":3 }'),
        ("c", b'{ "a":1, "b" : 2 }'),
    ],
)
def test_white_space_between_the_others_stays(removed: str, expected: bytes) -> None:
    line = b'{ "a":1, "b" : 2 ,\t"c":3 }'
    assert replace_members(line, {}, frozenset({removed})) == expected
    added = replace_members(line, {"d": b"4"}, frozenset({removed}))
    assert added == expected[:-2] + b',"d":4 }'


def test_an_object_may_lose_all_its_members_and_get_others() -> None:
    assert replace_members(b'{"a":1}', {}, frozenset({"a"})) == b"{}"
    assert replace_members(b'{"a":1}', {"b": b"2"}, frozenset({"a"})) == b'{"b":2}'
    assert replace_members(b"{ }", {"b": b"2"}) == b'{"b":2}'


def test_a_name_may_be_spelled_with_escapes() -> None:
    line = b'{"\\u0069d":"x","id\\n":1}'
    assert [member.name for member in members(line)] == ["id", "id\n"]
    assert replace_members(line, {"id": b'"y"'}) == line.replace(b'"x"', b'"y"')


def test_a_large_line_takes_no_longer_than_it_is_long() -> None:
    line = b'{"a":' + b"[" * 400 + b'"' + b"\\\\" * 500_000 + b'"' + b"]" * 400 + b',"id":1}'
    assert re.fullmatch(rb".*,\"id\":2}", replace_members(line, {"id": b"2"}), re.DOTALL)
