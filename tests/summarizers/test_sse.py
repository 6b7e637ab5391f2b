"""Event streams, torn at every place."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.summarizers.sse import Event, EventStream, StreamTooLarge


def events(*pieces: bytes) -> list[tuple[str, str]]:
    stream = EventStream()
    return [(one.name, one.data) for piece in pieces for one in stream.feed(piece)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_three_ways(end: bytes) -> None:
    lines = [b"event: a", b"data: 1", b"data: 2", b"", b"data:3", b"", b""]
    assert events(end.join(lines)) == [("a", "1\n2"), ("message", "3")]


def test_a_stream_is_the_same_torn_at_every_byte() -> None:
    first = "\ufeffevent: é\r\n: note\r\ndata: 😀\r\ndata:\r\n\r"
    whole = (first + "\rdata: b\n\nid: 1\nretry: 2\n\n").encode()
    expected = [("é", "😀\n"), ("message", "b")]
    assert events(whole) == expected
    assert events(*(bytes([byte]) for byte in whole)) == expected
    for at in range(len(whole)):
        assert events(whole[:at], whole[at:]) == expected


@given(st.text(alphabet="\r\n: adet\ufeffé😀"), st.lists(st.integers(0, 40)))
def test_tearing_changes_nothing(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    torn = [data[a:b] for a, b in itertools.pairwise(places)]
    assert events(*torn) == events(data)


def test_fields_are_read_as_the_standard_says() -> None:
    # One space is taken off, a name without a colon has no value, unknown names mean nothing.
    assert events(b"data:  two\n\n") == [("message", " two")]
    assert events(b"data\n\n") == [("message", "")]
    assert events(b"event: a\n\ndata: 1\n\n") == [("message", "1")]
    assert events(b" data: 1\ndatum: 2\nDATA: 3\n\n") == []
    assert events(b": only a comment\n\n") == []
    assert events(b"data: \xff\n\n") == [("message", "\ufffd")]


def test_what_has_no_empty_line_is_the_rest() -> None:
    stream = EventStream()
    assert stream.feed(b"event: a\ndata: 1\n\nevent: b\ndata: [DONE]") == [Event("a", "1")]
    assert stream.rest() == Event("b", "[DONE]")
    assert stream.rest() is None


def test_lines_and_events_have_a_largest_size() -> None:
    with pytest.raises(StreamTooLarge):
        EventStream(max_line=10).feed(b"data: 12345")
    stream = EventStream(max_line=10)
    stream.feed(b"data: 12")
    with pytest.raises(StreamTooLarge):
        stream.feed(b"345")
    with pytest.raises(StreamTooLarge):
        EventStream(max_event=4).feed(b"data: 12\ndata: 34\n")
