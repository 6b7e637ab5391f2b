"""The files of the corpus of which we say something else than pi 1.6.0, each with its reason.

What we say instead is not noted down but asked: of pi too, about a copy that was mended in the one
place that the reason speaks of, or with its leaf at the entry that the reason names.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.corpus import CORPUS
from tests.support.pi import Answer, Pi
from tests.support.seen import told_by_pi

Mend = Callable[[list[bytes]], list[bytes]]

_CONTEXT: Final = frozenset(
    {
        "context",
        "thinkingLevel",
        "model",
        "estimateContextTokens",
        "estimateProjectedContextTokens",
    }
)
_PLACE: Final = frozenset({"leafId", "branchLength", "contextEntryIds", "context"})
_ESTIMATES: Final = frozenset({"estimateContextTokens", "estimateProjectedContextTokens"})


@dataclass(frozen=True)
class Difference:
    """One file, what differs about it, and where the other answer comes from."""

    reason: str
    members: frozenset[str]
    """Members of `pi160.open` in which we differ from pi, those that pi does not tell included."""
    mend: Mend | None = None
    """Makes the lines of the file into those of which pi says what we say of the file."""
    leaf: Any = ...
    """The entry (None: before the first one) at which pi says what we say; `...`: its own leaf."""

    def file(self, path: Path, folder: Path) -> Path:
        """The file to ask pi about; in `folder` if it is a mended copy."""
        if self.mend is None:
            return path
        mended = folder / path.name
        mended.write_bytes(b"\n".join(self.mend(path.read_bytes().split(b"\n"))))
        return mended

    def instead(self, pi: Pi, path: Path, folder: Path) -> Answer:
        """The members that differ, as we should tell them."""
        file = self.file(path, folder)
        told = told_by_pi(pi.open(file))
        if self.leaf is not ...:
            told |= pi.at(file, self.leaf)
            told["leafId"] = self.leaf
        return {name: told[name] for name in self.members}


def _without(*numbers: int) -> Mend:
    """Leaves out lines, counted from 1."""
    return lambda lines: [line for at, line in enumerate(lines, 1) if at not in numbers]


def _with(number: int, old: bytes, new: bytes) -> Mend:
    def mend(lines: list[bytes]) -> list[bytes]:
        assert old in lines[number - 1], (number, lines[number - 1])
        return [
            line.replace(old, new) if at == number else line for at, line in enumerate(lines, 1)
        ]

    return mend


def _both(first: Mend, second: Mend) -> Mend:
    return lambda lines: second(first(lines))


def _as_root(number: int) -> Mend:
    def mend(lines: list[bytes]) -> list[bytes]:
        entry = json.loads(lines[number - 1])
        entry["parentId"] = None
        return [*lines[: number - 1], json.dumps(entry).encode(), *lines[number:]]

    return mend


_NO_OBJECT: Final = "a message that is no object gives nothing, where pi throws"
_NO_ID: Final = "lines without an id are problems, where pi makes them one nameless entry"
_LEAF: Final = "a leaf entry as the last word moves the leaf, which pi does not know"

_NO_MESSAGE: Final = Difference(
    _NO_OBJECT,
    _CONTEXT | {"prepareCompaction"},
    _with(5, b'"type":"message"', b'"type":"custom"'),
)

DIFFERENCES: Final[dict[str, Difference]] = {
    "derived+mutated/duplicate-id.jsonl": Difference(
        "the earlier of two entries with one id is in no tree, and the cycle that closes through "
        "the later one is cut; pi's tree would not return",
        frozenset({"tree"}),
        _both(_as_root(6), _without(5)),
    ),
    "derived+mutated/empty.jsonl": Difference(
        "a file without a byte becomes a new session, with another id at each opening",
        frozenset({"sessionId", "header"}),
    ),
    "derived+mutated/id-missing.jsonl": Difference(
        _NO_ID, frozenset({"entryCount", "tree"}), _without(7)
    ),
    "derived+mutated/leaf-last.jsonl": Difference(_LEAF, _PLACE | _ESTIMATES, leaf="d41acc13"),
    "derived+mutated/message-missing.jsonl": _NO_MESSAGE,
    "derived+mutated/message-null.jsonl": _NO_MESSAGE,
    "derived+mutated/non-object-lines.jsonl": Difference(
        _NO_ID, frozenset({"entryCount", "tree"}), _without(2, 3, 4, 5, 6)
    ),
    "derived+mutated/self-parent.jsonl": Difference(
        "a cycle is cut at its first entry in the file; pi would not return",
        frozenset(
            {"tree", "branchLength", "contextEntryIds", "labels", "name", "prepareCompaction"}
        )
        | _CONTEXT,
        _as_root(7),
    ),
    "synth+core0802/core-ends-with-leaf.jsonl": Difference(
        _LEAF, _PLACE | _ESTIMATES, leaf="01a22a6c-70b9-7d2e-836f-446a433621bd"
    ),
    "synth+core0802/core-ends-with-leaf-null.jsonl": Difference(
        _LEAF, _PLACE | _CONTEXT, leaf=None
    ),
}
"""By the name of the file in the corpus."""

assert all((CORPUS / name).is_file() for name in DIFFERENCES)
