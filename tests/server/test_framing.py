"""The codec of frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.server.framing import FrameDecoder, FramingError, frame


def decode(data: bytes, *, step: int | None = None, **limits: int) -> list[bytes]:
    """All bodies in `data`, fed at once or in steps, to its end."""
    decoder = FrameDecoder(**limits)
    bodies: list[bytes] = []
    size = step or max(1, len(data))
    for begin in range(0, len(data), size):
        decoder.feed(data[begin : begin + size])
        while (body := decoder.next_body()) is not None:
            bodies.append(body)
    decoder.finish()
    return bodies


@given(st.lists(st.binary(max_size=50)), st.integers(1, 30))
def test_what_was_framed_is_decoded_however_it_is_cut(bodies: list[bytes], step: int) -> None:
    assert decode(b"".join(frame(body) for body in bodies), step=step) == bodies


@pytest.mark.parametrize("step", [None, 1])
@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"CONTENT-LENGTH \t:\t2 \r\n\r\n",
        b"Content-Length: 2\n\n",
        b"Content-Length: 2\r\n\n",
        b"Content-Length: 02\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\nContent-Type: x\n\n",
    ],
)
def test_headers_that_are_taken(header: bytes, step: int | None) -> None:
    assert decode((header + b"{}") * 2, step=step) == [b"{}", b"{}"]


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n{}",
        b"\n\n",
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: +1\r\n\r\n{",
        b"Content-Length: 0x2\r\n\r\n{}",
        b"Content-Length: 2 2\r\n\r\n{}",
        b"Content-Length:\r\n\r\n",
        b"Content-Length: 1e3\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: \xb2\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
        b"X-Other: 1\r\nContent-Length: 2\r\n\r\n{}",
        b" Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 2\r\n folded\r\n\r\n{}",
        b"Content-Length: 2\rContent-Type: x\r\n\r\n{}",
        b'{"jsonrpc":"2.0","id":1,"method":"x"}\n\n',
        b"Content-Length: 11\r\n\r\n",
        b"Content-Length: 999999999999999\r\n\r\n",
        b"Content-Length: 9999999999999999999999\r\n\r\n",
        b"x" * 65,
        b"Content-Type: " + b"x" * 65 + b"\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(FramingError):
        decode(data, max_header=64, max_body=10)


@pytest.mark.parametrize("end", range(1, len(frame(b"{}"))))
def test_a_stream_that_ends_inside_a_frame_is_refused(end: int) -> None:
    with pytest.raises(FramingError, match="ended inside"):
        decode(frame(b"{}")[:end])


def test_a_length_over_the_limit_is_refused_before_any_of_the_body_came() -> None:
    decoder = FrameDecoder(max_body=10)
    decoder.feed(b"Content-Length: 11\r\n\r\n")
    with pytest.raises(FramingError, match="over the limit"):
        decoder.next_body()


def test_the_largest_header_and_body_are_taken() -> None:
    header = b"Content-Length: 10\r\nContent-Type: "
    header += b"x" * (64 - len(header))
    assert decode(header + b"\r\n\r\n" + b"0123456789", max_header=64, max_body=10)
