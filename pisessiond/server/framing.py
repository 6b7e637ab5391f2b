"""The frames of LSP's base protocol: a header block with Content-Length, then a body.

`FrameDecoder` is fed bytes as they come and gives whole bodies; it does no I/O. Limits are
checked as soon as a number is known, before anything is kept, so that a client cannot make the
daemon hold more than one body of the allowed size.
"""

from __future__ import annotations

import re
from typing import Final

from pisessiond.protocol.wire import MAX_HEADER_BYTES, MAX_MESSAGE_BYTES

# A header line ends with CRLF; some hand-written clients send LF alone, which is accepted, since
# nothing else could be meant by it.
_BLANK_LINE: Final = re.compile(rb"\r?\n\r?\n")

# Only these two headers exist. An HTTP request also carries a Content-Length, and any web page
# can make a browser send one to a local port: it must never pass for a message.
_HEADER: Final = re.compile(rb"(?i)(content-length|content-type)[ \t]*:[ \t]*([^\r\n]*?)[ \t]*")
_LENGTH: Final = re.compile(rb"[0-9]{1,15}")


class FramingError(Exception):
    """What came is no frame. Where the next one begins is unknown, so the stream is lost."""


class FrameDecoder:
    """Turns a stream of bytes into message bodies."""

    def __init__(
        self, *, max_header: int = MAX_HEADER_BYTES, max_body: int = MAX_MESSAGE_BYTES
    ) -> None:
        self._max_header = max_header
        self.max_body = max_body
        """Bytes of a body that may be announced from now on."""
        self._buffer = bytearray()
        self._length: int | None = None
        """Of the body that is awaited; None while a header block is."""
        self._searched = 0
        """So far the buffer is known to hold no blank line."""

    def feed(self, data: bytes) -> None:
        """Takes in what was read."""
        self._buffer += data

    def next_body(self) -> bytes | None:
        """The next whole body, or None when more bytes are needed.

        Raises:
            FramingError: The header block is too long, is not LSP's, or announces too much.
        """
        if self._length is None and not self._take_header():
            return None
        length = self._length
        assert length is not None
        if len(self._buffer) < length:
            return None
        with memoryview(self._buffer) as view:
            body = bytes(view[:length])
        del self._buffer[:length]
        self._length = None
        return body

    def finish(self) -> None:
        """Says that the stream has ended.

        Raises:
            FramingError: It ended inside a frame.
        """
        if self._length is not None:
            raise FramingError("the stream ended inside a body")
        if self._buffer.strip():
            raise FramingError("the stream ended inside a header block")

    def _take_header(self) -> bool:
        end = _BLANK_LINE.search(self._buffer, self._searched)
        if (end.start() if end else len(self._buffer)) > self._max_header:
            raise FramingError(f"the header block is over {self._max_header} bytes")
        if end is None:
            # The blank line may already have begun: it is at most four bytes.
            self._searched = max(0, len(self._buffer) - 3)
            return False
        length = _parse_header(bytes(self._buffer[: end.start()]))
        if length > self.max_body:
            raise FramingError(f"a body of {length} bytes is over the limit of {self.max_body}")
        del self._buffer[: end.end()]
        self._searched = 0
        self._length = length
        return True


def _parse_header(block: bytes) -> int:
    """The Content-Length of a header block without its blank line."""
    length: int | None = None
    for line in block.split(b"\n"):
        header = _HEADER.fullmatch(line.removesuffix(b"\r"))
        if header is None:
            raise FramingError("a header line other than Content-Length and Content-Type")
        if header[1].lower() != b"content-length":
            continue
        if not _LENGTH.fullmatch(header[2]) or length is not None:
            raise FramingError("Content-Length must be one decimal number, given once")
        length = int(header[2])
    if length is None:
        raise FramingError("no Content-Length header")
    return length


def frame(body: bytes) -> bytes:
    """One body with its header, ready to be written."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
