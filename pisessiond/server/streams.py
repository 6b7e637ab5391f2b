"""Message bodies over an asyncio transport: sockets, and the pipes of stdio.

Bodies go straight to the transport while its buffer is small. asyncio's own streams serve better
here than anyio's: a task and an event for each message cost more than the message.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import sys
from collections.abc import Sequence
from typing import Final

from pisessiond.server.framing import FrameDecoder, frame

_READ_SIZE: Final = 64 << 10
STREAM_LIMIT: Final = 64 << 10
"""asyncio reads on until twice this much waits to be taken."""

DIRECT_LIMIT: Final = 256 << 10
"""Bytes in the transport's own buffer up to which a body is written at once."""


class MessageStream:
    """One client's bytes as message bodies."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        transport: str,
        source: asyncio.BaseTransport | None = None,
    ) -> None:
        """Takes over an open connection.

        Args:
            reader: What comes in.
            writer: What goes out.
            transport: unix, tcp or stdio.
            source: The transport of `reader`, where it is not that of `writer`.
        """
        writer.transport.set_write_buffer_limits(high=STREAM_LIMIT)
        self.transport = transport
        self.peer_pid = _peer_pid(writer.get_extra_info("socket"), transport)
        """The process at the other end when it connected; None where the system does not say."""
        self._reader = reader
        self._source = source
        self._writer = writer
        self._decoder = FrameDecoder()

    def limit_body(self, size: int) -> None:
        """Sets how large a body may be from now on."""
        self._decoder.max_body = size

    async def receive(self) -> bytes | None:
        """The next body; None at the end of the stream or when the peer is gone.

        Raises:
            FramingError: What came is no frame; the stream is of no more use.
        """
        while (body := self._decoder.next_body()) is None:
            try:
                data = await self._reader.read(_READ_SIZE)
            except OSError:
                return None
            if not data:
                self._decoder.finish()
                return None
            self._decoder.feed(data)
        return body

    def try_send(self, body: bytes) -> bool:
        """Writes at once if little is waiting; False when the caller has to queue."""
        transport = self._writer.transport
        if transport.get_write_buffer_size() > DIRECT_LIMIT:
            return False
        if not transport.is_closing():
            transport.write(frame(body))
        return True

    def write(self, bodies: Sequence[bytes]) -> None:
        """Hands bodies to the transport, whatever waits there."""
        if not self._writer.transport.is_closing():
            self._writer.transport.writelines([frame(body) for body in bodies])

    async def drain(self) -> None:
        """Waits until the transport has room again.

        Raises:
            OSError: The peer is gone.
        """
        await self._writer.drain()

    @property
    def unsent(self) -> int:
        """Bytes that the transport holds."""
        return self._writer.transport.get_write_buffer_size()

    def is_peer_gone(self) -> bool:
        """After the end of the stream: whether no one is left to read an answer.

        A program that piped in its requests and closed its sending side still waits for them.
        Linux tells the two apart; elsewhere this is False.
        """
        connection = self._writer.get_extra_info("socket")
        if sys.platform != "linux" or connection is None or self._writer.transport.is_closing():
            return self._writer.transport.is_closing()
        poll = select.poll()
        poll.register(connection.fileno(), 0)
        return any(events & select.POLLHUP for _, events in poll.poll(0))

    def abort(self) -> None:
        """Closes without sending what waits."""
        if self._source is not None:
            self._source.close()
        self._writer.transport.abort()

    async def aclose(self) -> None:
        """Sends what waits, then closes."""
        if self._source is not None:
            self._source.close()
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass


async def open_socket(connection: socket.socket, transport: str) -> MessageStream:
    """A connection that was taken, as a stream; `transport` is unix or tcp."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=STREAM_LIMIT, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    made, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
    return MessageStream(reader, asyncio.StreamWriter(made, protocol, reader, loop), transport)


async def open_stdio() -> MessageStream:
    """Standard input and output as one stream.

    Standard output is kept for messages alone: anything printed by accident goes to standard
    error from here on.
    """
    loop = asyncio.get_running_loop()
    source = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    reader = asyncio.StreamReader(limit=STREAM_LIMIT)
    incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    # Nothing is read from the sink; the protocol is there for its flow control and its closing.
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), sink
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    return MessageStream(reader, writer, "stdio", incoming)


def _peer_pid(connection: socket.socket | None, transport: str) -> int | None:
    """The process at the other end of a Unix socket; None where the system does not say."""
    if connection is None or transport != "unix" or not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[0:4], sys.byteorder) or None


def peer_uid(connection: socket.socket) -> int | None:
    """The user at the other end of a Unix socket; None where the system does not say."""
    if hasattr(socket, "SO_PEERCRED"):
        # struct ucred: pid, uid, gid, each an int.
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[4:8], sys.byteorder)
    if sys.platform == "darwin":
        # getpeereid is LOCAL_PEERCRED: struct xucred, a version and then the uid.
        credentials = connection.getsockopt(0, 1, 76)
        return int.from_bytes(credentials[4:8], sys.byteorder)
    return None
