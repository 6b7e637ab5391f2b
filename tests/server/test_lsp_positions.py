"""Characters of an editor and bytes of a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.server.lsp.capabilities import Encoding
from pisessiond.server.lsp.positions import byte_at, count_units

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
_TEXTS = st.text(st.sampled_from('aé日🎉\u2028\x00"{'), max_size=20)


def units(text: str, encoding: Encoding) -> int:
    if encoding == "utf-32":
        return len(text)
    return len(text.encode(encoding if encoding == "utf-8" else "utf-16-le")) // (
        2 if encoding == "utf-16" else 1
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(before=_TEXTS, behind=_TEXTS)
def test_there_and_back(encoding: Encoding, before: str, behind: str) -> None:
    line = (before + behind).encode()
    assert count_units(before.encode(), encoding) == units(before, encoding)
    assert byte_at(line, units(before, encoding), encoding) == len(before.encode())


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(line=st.binary(max_size=12), character=st.integers(0, 2**31))
def test_any_bytes_and_any_character(encoding: Encoding, line: bytes, character: int) -> None:
    at = byte_at(line, character, encoding)
    assert 0 <= at <= len(line)
    assert count_units(line[:at], encoding) <= max(character, 0)
    assert 0 <= count_units(line, encoding) <= len(line)


def test_the_middle_of_a_pair_is_in_front_of_it() -> None:
    line = "a🎉b".encode()
    assert [byte_at(line, at, "utf-16") for at in range(5)] == [0, 1, 1, 5, 6]


def test_a_byte_that_is_no_text_is_one_character() -> None:
    line = b"a\xff\xc3b"
    assert [byte_at(line, at, "utf-16") for at in range(5)] == [0, 1, 2, 3, 4]
    assert count_units(line, "utf-16") == 4
