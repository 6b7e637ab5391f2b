"""Telling a file that was only touched from one that was rewritten.

A backup, a sync tool or a `touch` gives a file a new time of change and leaves every byte. Without
a sum of the bytes that would count as a rewrite, and every client would be told to begin anew.
"""

from __future__ import annotations

import hashlib

from pisessiond.storage.jsonl_reading import Reader

_CHUNK = 1 << 20


class Sum:
    """A sum over the first bytes of a file, carried on as they become more."""

    def __init__(self) -> None:
        self.size = 0
        """How many bytes it is over."""
        self._hash = hashlib.blake2b(digest_size=16)

    def extend(self, reader: Reader, stop: int) -> None:
        """Carry it on up to `stop`, or to where the file ends.

        Raises:
            Unreadable: the file cannot be read.
        """
        while self.size < stop:
            data = reader.read_some(min(_CHUNK, stop - self.size), self.size)
            if not data:
                return
            self._hash.update(data)
            self.size += len(data)

    def fits(self, reader: Reader) -> bool:
        """Whether the file begins with the very bytes that this is the sum of.

        Raises:
            Unreadable: the file cannot be read.
        """
        other = Sum()
        other.extend(reader, self.size)
        return other.size == self.size and other._hash.digest() == self._hash.digest()
