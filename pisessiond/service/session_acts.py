"""The short acts on a session: appending, labelling, naming, editing the context, deleting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import anyio
from msgspec import UNSET, UnsetType

from pisessiond.core.changes import Draft, draft_all, is_same_entry
from pisessiond.core.errors import DuplicateEntry
from pisessiond.core.lines import EntryId
from pisessiond.service.errors import InvalidRequest, LeafMoved
from pisessiond.service.session_queue import Plan, SessionQueue
from pisessiond.service.storing import in_worker
from pisessiond.service.types import Appended, Done, Origin

BaseLeaf: TypeAlias = EntryId | UnsetType | None
"""Where the caller takes the leaf to be; UNSET: it does not matter."""


class SessionActs(SessionQueue):
    """A session that can be changed."""

    def draft(self) -> Draft:
        """The session as it is now, for asking what an act would be decided on."""
        return Draft(self.session, self.surroundings.new_id, self.surroundings.now_iso())

    def check_leaf(self, base_leaf: BaseLeaf) -> None:
        """Raises: LeafMoved: the leaf is not `base_leaf`, nor followed by metadata only."""
        if base_leaf is not UNSET and not self.draft().is_leaf_since(base_leaf):
            raise LeafMoved(self.leaf, self.rev)

    async def append(
        self,
        entries: Sequence[dict[str, Any]],
        *,
        origin: Origin,
        base_leaf: BaseLeaf = UNSET,
        detached: bool = False,
    ) -> Appended:
        """Append entries one under the other; a retry with known ids and bodies changes nothing.

        Raises:
            InvalidEntry: one of them is not what pi could read back.
            DuplicateEntry: an id is taken by another body.
        """
        tries = 2
        while True:
            new = [entry for entry in entries if not await self._is_stored(entry)]
            if not new:
                return Appended(self.rev, self.leaf, tuple(entry["id"] for entry in entries))
            try:
                return await self._append(entries, new, origin, base_leaf, detached)
            except DuplicateEntry:
                # Stored since it was looked for, or by an act that this one waited with.
                tries -= 1
                if not tries:
                    raise

    async def _append(
        self,
        entries: Sequence[dict[str, Any]],
        new: Sequence[dict[str, Any]],
        origin: Origin,
        base_leaf: BaseLeaf,
        detached: bool,
    ) -> Appended:
        def decide(draft: Draft) -> Plan:
            return Plan("append", draft_all(draft, new, detached=detached))

        act = await self.act(decide, origin, base_leaf)
        given = iter(act.plan.value if act.plan else ())
        known = {id(entry) for entry in new}
        result = tuple(next(given) if id(entry) in known else entry["id"] for entry in entries)
        return Appended(act.rev, act.leaf, result)

    async def _is_stored(self, given: dict[str, Any]) -> bool:
        entry_id = given.get("id")
        if not isinstance(entry_id, str) or self.session.index.find(entry_id) is None:
            return False
        stored = await self.ask(lambda session: session.entry(session.row_of(entry_id)))
        if not is_same_entry(given, stored):
            raise DuplicateEntry(entry_id)
        return True

    async def label(
        self, target: EntryId, label: str | None, *, origin: Origin, base_leaf: BaseLeaf = UNSET
    ) -> Done:
        """Set or clear (None or empty) the label of an entry."""

        def decide(draft: Draft) -> Plan:
            draft.label(target, label)
            return Plan("label", details={"target": target, "label": label or None})

        act = await self.act(decide, origin, base_leaf)
        return Done(act.rev, act.leaf)

    async def rename(
        self, name: str | None, *, origin: Origin, base_leaf: BaseLeaf = UNSET
    ) -> Done:
        """Set or clear (None or empty) the session's name."""

        def decide(draft: Draft) -> Plan:
            new = draft.rename(name)
            return Plan("rename", details={"name": new.entry["name"] or None})

        act = await self.act(decide, origin, base_leaf)
        return Done(act.rev, act.leaf)

    async def edit_context(
        self,
        target: EntryId,
        replacement: dict[str, Any] | Literal["restore"] | None,
        *,
        origin: Origin,
        base_leaf: BaseLeaf = UNSET,
    ) -> Done:
        """Take an entry out of the context (None), replace its content, or put the original back.

        Raises:
            EntryNotFound, NotOnBranch: the target is not on the active branch.
            InvalidEntry: the target gives the model nothing that could be edited.
        """
        if replacement == "restore":
            body = await self._original_content(target)
            replacement = {"content": body}
        given = {"type": "context_edit", "targetId": target, "replacement": replacement}

        def decide(draft: Draft) -> Plan:
            new = draft.add(given)
            details = {"target": target, "replacement": new.entry["replacement"]}
            return Plan("edit", details=details)

        act = await self.act(decide, origin, base_leaf)
        return Done(act.rev, act.leaf)

    async def _original_content(self, target: EntryId) -> Any:
        self.session.row_of(target)
        entry = await self.ask(lambda session: session.entry(session.row_of(target)))
        holder = entry.get("message") if entry.get("type") == "message" else entry
        content = holder.get("content") if isinstance(holder, dict) else None
        return [] if content is None else content

    async def delete(self, *, discard: bool, origin: Origin) -> bool:
        """Move the file to the trash; whether there was one. Subscribers are told it is gone.

        Raises:
            InvalidRequest: it is on no disk, and it was not said that it may be lost.
            NotThrownAway: there is no trash for it; nothing has changed.
            ReadOnly: another process of ours writes to it, or a running pi has it open.
            Busy: a long operation runs.
        """
        self.live.refuse_if_open()
        has_file = self.path is not None and not self.is_unsaved
        if not has_file and not discard:
            raise InvalidRequest("discard", "it is on no disk and would be lost; say true.")
        with anyio.CancelScope(shield=True), self.operations.hold("delete", origin, is_told=False):
            async with self.changing:
                has_file = self.path is not None and not self.is_unsaved
                if has_file:
                    await self.claim_file()
                    # One may have come while it waited for its turn.
                    self.live.refuse_if_open()
                    await in_worker(
                        partial(self.surroundings.other_files.throw_away, self.path or "")
                    )
                else:
                    await in_worker(self.log.discard)
                self.is_gone = True
                self.has_unkept_place = False
                self.news.reset("gone")
        return has_file
