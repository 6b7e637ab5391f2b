"""From the bytes of a session file to its index: header, entries, problems.

`Loader` is fed the file in chunks of whole lines and holds none of them. Reading never fails as
a whole once a header was seen: what cannot be understood becomes a problem with its line number
and byte offset, and the rest is used.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import msgspec

from pisessiond.core import kinds
from pisessiond.core.errors import NotASession
from pisessiond.core.index import Flaw, Index, Run
from pisessiond.core.json_faults import BYTE_ORDER_MARK
from pisessiond.core.lines import FastHead, Head, HeaderLine, Line, OddLine, decode_head, read_line
from pisessiond.core.migration import Migration, format_version, kind_in_version
from pisessiond.core.problems import Problem

_SINGLY = 0
"""Stands in a run of kinds where a line has to be read by itself."""

_RUN_KINDS = {
    **{name: _SINGLY if kind in kinds.NOTED else kind for name, kind in kinds.OF_TYPE.items()},
    "message": _SINGLY,
    "session": _SINGLY,
}
"""By `type`, of lines that hold no message."""


class Loader:
    """Builds an index out of lines that come in file order."""

    def __init__(self) -> None:
        self.index = Index()
        self.header: dict[str, Any] | None = None
        self.header_line = b""
        self.version = 0
        self.problems: list[Problem] = []
        self.migration: Migration | None = None
        """For a version 1 file: the ids it will get, and what its lines become."""
        self.line_count = 0
        """Lines seen so far, blank ones included."""
        self._id_less_objects = 0
        self._has_mark = False
        """Whether the file begins with a byte order mark."""

    def feed(self, lines: list[bytes], offset: int) -> None:
        """Take in consecutive lines (without line feeds); the first begins at byte `offset`.

        Raises:
            NotASession: before any header there is JSON that is no header.
        """
        if not lines:
            return
        at = list(accumulate([offset, *[len(line) + 1 for line in lines[:-1]]]))
        position = 0
        while position < len(lines):
            if self.header is None or self.version < 2:
                self._feed_one(lines[position], at[position])
                position += 1
            else:
                position = self._feed_ordinary(lines, at, position)

    def _feed_ordinary(self, lines: list[bytes], at: list[int], start: int) -> int:
        """Take in lines from `start` to the first that `FastHead` refuses, and that one too."""
        heads: list[FastHead] = []
        try:
            # What came before an error stays in the list.
            heads.extend(map(decode_head, lines[start:] if start else lines))
        except (msgspec.MsgspecError, RecursionError):
            pass
        stop = start + len(heads)
        codes = self._codes_of(heads)
        begin = 0
        while begin < len(heads):
            end = codes.find(_SINGLY, begin)
            if end < 0:
                end = len(heads)
            if end > begin:
                self._feed_run(lines, at, start + begin, heads[begin:end], codes[begin:end])
            if end < len(heads):
                self._feed_one(lines[start + end], at[start + end])
            begin = end + 1
        if stop < len(lines):
            self._feed_one(lines[stop], at[stop])
            stop += 1
        return stop

    def _codes_of(self, heads: list[FastHead]) -> bytes:
        """The kind of each line, or `_SINGLY`."""
        roles, types, other, unknown = kinds.OF_ROLE, _RUN_KINDS, kinds.OTHER_ROLE, kinds.UNKNOWN
        codes = bytes(
            [
                roles.get(head.message.role, other)
                if head.message is not None and head.type == "message"
                else types.get(head.type, unknown)
                for head in heads
            ]
        )
        if "" in [head.id for head in heads]:
            codes = bytes(
                [code if head.id else _SINGLY for code, head in zip(codes, heads, strict=True)]
            )
        settled = kind_in_version(kinds.HOOK, self.version)
        return codes.replace(bytes([kinds.HOOK]), bytes([settled]))

    def _feed_run(
        self, lines: list[bytes], at: list[int], start: int, heads: list[FastHead], codes: bytes
    ) -> None:
        stop = start + len(heads)
        self.index.load_run(
            Run(
                ids=[head.id for head in heads],
                parent_ids=[head.parentId for head in heads],
                kinds=codes,
                times=[head.timestamp for head in heads],
                at=at[start:stop],
                lengths=[len(line) for line in lines[start:stop]],
                first_line=self.line_count + 1,
            )
        )
        self.line_count += len(heads)

    def _feed_one(self, line: bytes, at: int) -> None:
        self.line_count += 1
        understood = read_line(line)
        if self.line_count == 1:
            self._has_mark = line.startswith(BYTE_ORDER_MARK)
        if self.header is None:
            self._expect_header(line, understood, at)
        elif self.migration is not None:
            self._take_old(line, understood, at)
        else:
            self._take(understood, at, len(line))

    def _expect_header(self, line: bytes, understood: Line | None, at: int) -> None:
        if isinstance(understood, HeaderLine) and isinstance(understood.header.get("id"), str):
            self.header = understood.header
            self.header_line = line
            self.version = format_version(understood.header)
            if self.version < 2:
                self.migration = Migration(understood.header["id"])
            elif self.version > 3:
                reason = "The file was written by a newer pi; it can be read, but not written."
                self.problems.append(Problem("newerVersion", reason, self.line_count, at))
        elif isinstance(understood, OddLine) and (understood.kind == "badLine" or understood.falsy):
            self._note_odd(understood, at)
        elif understood is not None:
            raise NotASession(f"Line {self.line_count} is no session header.{self._mark_words()}")

    def _mark_words(self) -> str:
        if not self._has_mark:
            return ""
        return " The file begins with a byte order mark (EF BB BF), behind which no header is seen."

    def _take(self, understood: Line | None, at: int, length: int) -> None:
        if isinstance(understood, OddLine):
            self._note_odd(understood, at)
        elif isinstance(understood, Head):
            understood.kind = kind_in_version(understood.kind, self.version)
            self.index.load(understood, at, length, self.line_count)
            if understood.kind == kinds.NO_MESSAGE:
                reason = "The message of this entry is no object; it gives the model nothing."
                self._note(Problem("noMessage", reason, self.line_count, at, understood.id))

    def _take_old(self, line: bytes, understood: Line | None, at: int) -> None:
        """A line of a version 1 file, where entries have neither id nor parent."""
        assert self.migration is not None
        if isinstance(understood, OddLine) and understood.kind != "noId":
            if understood.kind == "notAnObject" and not understood.falsy:
                self.migration.pass_over()
            self._note_odd(understood, at)
        elif isinstance(understood, HeaderLine):
            self.migration.pass_over()
        elif understood is not None:
            self._take(self.migration.take(line), at, len(line))

    def _note_odd(self, odd: OddLine, at: int) -> None:
        if odd.kind == "noId":
            self._id_less_objects += 1
        self._note(Problem(odd.kind, odd.reason, self.line_count, at))

    def _note(self, problem: Problem) -> None:
        self.problems.append(problem)

    def finish(self) -> None:
        """Settle the index and the problems; nothing may be fed afterwards.

        Raises:
            NotASession: no header was found, or nothing but objects without an id came after it.
        """
        if self.header is None:
            raise NotASession(f"It has no session header.{self._mark_words()}")
        if self.migration is None and self._id_less_objects and not len(self.index):
            raise NotASession("Its objects carry no ids, as in pi's JSON output mode.")
        self.index.finish()
        for flaw in self.index.flaws:
            self.problems.append(self.problem_of(self.index, flaw))

    @staticmethod
    def problem_of(index: Index, flaw: Flaw) -> Problem:
        """The problem that a flaw of the tree is."""
        entry = index.ids[flaw.row]
        at = index.at[flaw.row]
        messages = {
            "duplicateId": "A later line has the same id and stands in its place.",
            "orphan": "Its parent is not in the file; until it comes, this is a root.",
            "cycle": "Its parents lead back to itself; it is shown as a root.",
        }
        return Problem(flaw.kind, messages[flaw.kind], index.line[flaw.row], at, entry)
