"""Deciding what an act adds to a session, before any of it is stored.

A `Draft` is a session as it would be: acts add entries to it one after another, each seeing what
those before it added. The service writes the drafted lines in one go and only then has the
session take them in; if an act is refused or the write fails, the draft is simply dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pisessiond.core import kinds
from pisessiond.core.compaction import CompactionPreparation
from pisessiond.core.dates import date_ms
from pisessiond.core.entries import check_entry, complete_entry, encode_entry
from pisessiond.core.errors import (
    DuplicateEntry,
    EntryNotFound,
    InvalidEntry,
    NotOnBranch,
)
from pisessiond.core.index import NONE, is_key
from pisessiond.core.lines import EntryId, Head, head_of
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session
from pisessiond.core.summary_entries import ABSENT, branch_summary_entry, compaction_entry
from pisessiond.core.system_state import SystemState
from pisessiond.core.tokens import content_text

EDITABLE = frozenset({kinds.USER, kinds.ASSISTANT, kinds.TOOL_RESULT, kinds.CUSTOM_MESSAGE})
"""Kinds whose content can be changed for the model."""
_BLOCK_KINDS = frozenset({kinds.ASSISTANT, kinds.TOOL_RESULT})


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry that is decided and spelled, but not stored."""

    entry: Entry
    head: Head
    line: bytes


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that is to be stored."""

    text: str
    """With its file lists."""
    details: dict[str, Any] | None = None
    """What files it tells of; None: not stored."""
    usage: dict[str, Any] | None = None
    """What writing it used, as pi writes it; None: not stored."""
    from_hook: bool = True
    """Whether somebody other than our own summarizers wrote it, as an extension does for pi."""

    def members(self) -> dict[str, Any]:
        """What the entry says of it beside the text."""
        return {
            "details": ABSENT if self.details is None else self.details,
            "usage": ABSENT if self.usage is None else self.usage,
            "from_hook": self.from_hook,
        }


class Draft:
    """A session and what is about to be added to it."""

    def __init__(self, session: Session, new_id: Callable[[], str], timestamp: str) -> None:
        """Begin with nothing added.

        Args:
            new_id: gives a random entry id; called again while it gives one that is taken.
            timestamp: the time of new entries that bring none, as ISO 8601.
        """
        self.session = session
        self.leaf: EntryId | None = session.leaf_id
        self.entries: list[NewEntry] = []
        self._new_id = new_id
        self._timestamp = timestamp
        self._drafted: dict[EntryId, NewEntry] = {}

    def mark(self) -> tuple[int, EntryId | None]:
        """A point to go back to with `undo`."""
        return len(self.entries), self.leaf

    def undo(self, mark: tuple[int, EntryId | None]) -> None:
        """Forget what was added since the mark."""
        count, self.leaf = mark
        for new in self.entries[count:]:
            del self._drafted[new.head.id]
        del self.entries[count:]

    def has(self, entry_id: Any) -> bool:
        """Whether an entry of this id is stored or drafted."""
        if not is_key(entry_id):
            return False
        return self.session.index.find(entry_id) is not None or entry_id in self._drafted

    def drafted(self, entry_id: Any) -> NewEntry | None:
        """The drafted entry of this id; None when there is none, or when it is stored."""
        return self._drafted.get(entry_id) if is_key(entry_id) else None

    def require(self, entry_id: Any) -> None:
        """Raises: EntryNotFound."""
        if not self.has(entry_id):
            raise EntryNotFound(entry_id)

    def kind_of(self, entry_id: EntryId) -> int:
        """The kind of an entry that is stored or drafted."""
        drafted = self._drafted.get(entry_id)
        return drafted.head.kind if drafted else self.session.index.kind[self._row(entry_id)]

    def _row(self, entry_id: EntryId) -> int:
        return self.session.row_of(entry_id)

    def is_on_branch(self, entry_id: EntryId, end: EntryId | None) -> bool:
        """Whether an entry is on the branch that ends at `end`."""
        while end is not None and end in self._drafted:
            if end == entry_id:
                return True
            end = self._drafted[end].head.parent_id
        if end is None or entry_id in self._drafted:
            return False
        index = self.session.index
        return index.is_ancestor(self._row(entry_id), self._row(end))

    def is_leaf_since(self, base: EntryId | None) -> bool:
        """Whether the leaf is `base`, or was only followed by metadata since (`baseLeaf`)."""
        leaf = self.leaf
        while leaf != base:
            if leaf is None or self.kind_of(leaf) not in kinds.METADATA:
                return False
            leaf = self._above(leaf)
        return True

    def added_since(self, base: EntryId) -> list[EntryId] | None:
        """The entries below `base`, down to the leaf; None when the leaf is not at or below it."""
        if not self.has(base) or not self.is_on_branch(base, self.leaf):
            return None
        added: list[EntryId] = []
        leaf = self.leaf
        while leaf is not None and leaf != base:
            added.append(leaf)
            leaf = self._above(leaf)
        return added[::-1]

    def _above(self, entry_id: EntryId) -> EntryId | None:
        drafted = self._drafted.get(entry_id)
        if drafted is not None:
            parent: EntryId | None = drafted.head.parent_id
            return parent
        return self.session.id_of(self.session.index.parent[self._row(entry_id)])

    # Acts --------------------------------------------------------------------------------------

    def add(self, given: Mapping[str, Any], *, detached: bool = False) -> NewEntry:
        """Add one entry under the leaf, or under its own parent when it is detached.

        It becomes the leaf; a `leaf` entry makes its target the leaf, as it will on loading.

        Raises:
            InvalidEntry: pi could not read it back, or its parent is another than the leaf.
            DuplicateEntry: its id is taken.
            EntryNotFound: an entry it refers to is not there.
            NotOnBranch: an entry it refers to is not where it has to be.
        """
        check_entry(given)
        parent = given.get("parentId", self.leaf)
        if parent != self.leaf and not detached:
            raise InvalidEntry("its parent is not the leaf; say detached, or navigate", "parentId")
        if parent is not None:
            self.require(parent)
        entry_id = given.get("id")
        if entry_id is None:
            entry_id = self._free_id()
        elif self.has(entry_id):
            raise DuplicateEntry(entry_id)
        given = self._check_references(given, parent, entry_id)
        time = given.get("timestamp", self._timestamp)
        entry = complete_entry(given, entry_id, parent, time)
        new = NewEntry(entry, head_of(entry), encode_entry(entry))
        self.entries.append(new)
        self._drafted[entry_id] = new
        if not detached or parent == self.leaf:
            self.leaf = entry["targetId"] if new.head.kind == kinds.LEAF else entry_id
        return new

    def _free_id(self) -> str:
        while True:
            entry_id = self._new_id()
            if not self.has(entry_id):
                return entry_id

    def _check_references(
        self, given: Mapping[str, Any], parent: EntryId | None, entry_id: str
    ) -> Mapping[str, Any]:
        kind = given["type"]
        if kind == "label" or (kind == "leaf" and given["targetId"] is not None):
            self.require(given["targetId"])
        elif kind == "compaction":
            kept = given["firstKeptEntryId"]
            if kept != entry_id:
                self.require(kept)
                if not self.is_on_branch(kept, parent):
                    raise NotOnBranch(kept)
        elif kind == "context_edit":
            return self._normal_edit(given, parent)
        return given

    def _normal_edit(self, given: Mapping[str, Any], parent: EntryId | None) -> Mapping[str, Any]:
        """As pi's `appendContextEdit` checks and spells it."""
        target = given["targetId"]
        self.require(target)
        if not self.is_on_branch(target, parent):
            raise NotOnBranch(target)
        kind = self.kind_of(target)
        if kind not in EDITABLE:
            raise InvalidEntry(
                "its target gives the model no content that could be edited", "targetId"
            )
        replacement = given["replacement"]
        if replacement is not None and kind in _BLOCK_KINDS:
            text = replacement["content"]
            if isinstance(text, str):
                replacement = {"content": [{"type": "text", "text": text}]}
        return {**given, "replacement": replacement}

    def move(self, target: EntryId | None) -> None:
        """Move the leaf.

        Raises:
            EntryNotFound: the target is not there.
        """
        if target is not None:
            self.require(target)
        self.leaf = target

    def label(self, target: EntryId, label: str | None) -> NewEntry:
        """Set or clear (None or empty) a label; pi leaves `label` out when it clears."""
        given: dict[str, Any] = {"type": "label", "targetId": target}
        if label is not None:
            given["label"] = label
        return self.add(given)

    def rename(self, name: str | None) -> NewEntry:
        """Set or clear (None or empty) the session's name."""
        return self.add({"type": "session_info", "name": name or ""})

    def compact(
        self,
        preparation: CompactionPreparation,
        summary: Summary | str,
        system: SystemState | None = None,
    ) -> NewEntry:
        """Add the compaction that was prepared, with a summary that was written elsewhere.

        Args:
            summary: a text alone is taken as an extension's.
            system: the system messages as they stand at the leaf; None: as when it was prepared.
        """
        if isinstance(summary, str):
            summary = Summary(summary)
        message = (preparation.system if system is None else system).message()
        if message is not None:
            message = {**message, "timestamp": date_ms(self._timestamp)}
        members = compaction_entry(
            summary.text,
            preparation.first_kept_entry_id,
            preparation.tokens_before,
            **summary.members(),
            system_message=message,
        )
        return self.add({"type": "compaction", **members})

    def summarise_branch(self, summary: Summary | str, left: EntryId | None) -> NewEntry:
        """Add the summary of the branch navigated away from, whose end was `left`."""
        if isinstance(summary, str):
            summary = Summary(summary)
        members = branch_summary_entry(left, summary.text, **summary.members())
        return self.add({"type": "branch_summary", **members})


@dataclass(frozen=True, slots=True)
class Destination:
    """Where navigating to an entry leads."""

    leaf: EntryId | None
    editor_text: str | None
    """The text of the message navigated to, for the prompt; None when it is no prompt."""


def destination(session: Session, target: int, entry: Entry | None) -> Destination:
    """Where pi's `/tree` goes from `target`: in front of a user's words, else to the entry.

    Args:
        entry: the target's body; needed for a user message or custom message only.
    """
    index = session.index
    if target == NONE:
        return Destination(None, None)
    if index.kind[target] not in (kinds.USER, kinds.CUSTOM_MESSAGE) or entry is None:
        return Destination(index.ids[target], None)
    holder = entry["message"] if index.kind[target] == kinds.USER else entry
    text = content_text(holder.get("content"), "")
    return Destination(session.id_of(index.parent[target]), text)


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """The branch a fork copies."""

    row: int
    """Its end; NONE for an empty session."""
    editor_text: str | None


def fork_point(
    session: Session, target: int, entry: Entry | None, position: Literal["before", "at"]
) -> ForkPoint:
    """Where a fork at `target` ends.

    Raises:
        InvalidEntry: `before` was asked of something that is no user message.
    """
    if position == "at" or target == NONE:
        return ForkPoint(target, None)
    if session.index.kind[target] != kinds.USER or entry is None:
        raise InvalidEntry(
            "only user messages can be forked before; fork at this one instead", "position"
        )
    text = content_text(entry["message"].get("content"), "")
    return ForkPoint(session.index.parent[target], text)


def is_same_entry(given: Mapping[str, Any], stored: Entry) -> bool:
    """Whether an append that names a stored id asks for what is stored (a retry)."""
    try:
        check_entry(given)
    except InvalidEntry:
        return False
    wanted = complete_entry(
        given,
        given["id"],
        given.get("parentId", stored.get("parentId")),
        given.get("timestamp", stored.get("timestamp")),
    )
    return encode_entry(wanted) == encode_entry(stored)


def draft_all(draft: Draft, given: Sequence[Mapping[str, Any]], *, detached: bool) -> list[EntryId]:
    """Add entries one after the other; their ids.

    One that is drafted already, with the same id and body, is not added again (a retry that waits
    together with the first try).
    """
    ids = []
    for entry in given:
        drafted = draft.drafted(entry.get("id"))
        if drafted is None or not is_same_entry(entry, drafted.entry):
            drafted = draft.add(entry, detached=detached)
        ids.append(drafted.head.id)
    return ids
