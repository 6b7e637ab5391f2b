import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.client.errors import ConnectionLost
from pisessiond.client.framing import MAX_HEADER, FrameReader, encode_message

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(messages=st.lists(st.dictionaries(st.text(), JSON, max_size=3)), size=st.integers(1, 40))
def test_messages_come_out_as_they_went_in_however_the_bytes_are_cut(
    messages: list[dict[str, object]], size: int
) -> None:
    sent = b"".join(map(encode_message, messages))
    reader = FrameReader()
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    assert [message for piece in pieces for message in reader.feed(piece)] == messages


def test_a_lone_surrogate_survives() -> None:
    assert list(FrameReader().feed(encode_message({"text": "\ud83d"}))) == [{"text": "\ud83d"}]


def test_other_headers_and_their_case_do_not_matter() -> None:
    frame = b"content-type: application/vscode-jsonrpc\r\nCONTENT-LENGTH:2\r\n\r\n{}"
    assert list(FrameReader().feed(frame)) == [{}]


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"x" * (MAX_HEADER + 1),
        b"Content-Length: 3\r\n\r\n[1]",
        b"Content-Length: 3\r\n\r\n{]}",
        b"Content-Length: 2\r\n\r\n\xff\xff",
    ],
)
def test_what_is_no_frame_ends_the_connection(data: bytes) -> None:
    with pytest.raises(ConnectionLost):
        list(FrameReader().feed(data))


def test_the_body_is_counted_in_bytes() -> None:
    body = json.dumps({"text": "é"}, ensure_ascii=False).encode()
    frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    assert list(FrameReader().feed(frame + frame)) == [{"text": "é"}] * 2
