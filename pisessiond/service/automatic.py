"""Compacting by ourselves when the context has become too large, where the user wants that.

Looked at when a client's append ends a turn: while a model is at work the session belongs to its
agent. Nothing is done for a session to which another program writes, since a pi there decides
for itself. What cannot help is not tried, and what fails again and again is given up.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping
from typing import Any, Final

from pisessiond.core import kinds
from pisessiond.core.compaction import should_compact
from pisessiond.core.errors import CannotShrink, NothingToCompact, SessionError
from pisessiond.models.base import ModelName
from pisessiond.service.compacting import Asker, compact
from pisessiond.service.cutting import cut
from pisessiond.service.drafts import Drafts
from pisessiond.service.errors import Busy, ServiceError
from pisessiond.service.session_acts import SessionActs
from pisessiond.service.session_queue import Act
from pisessiond.service.settings import FolderSettings
from pisessiond.service.summarising import Wishes, choose_writer, model_at, read_settings, window_of
from pisessiond.service.types import REPAIR, ContextSize, Origin
from pisessiond.summarizers.base import NoSummarizer, SummaryFailed

logger = logging.getLogger(__name__)

FAILURES_AT_MOST: Final = 3
"""After so many in a row it is given up."""


def ends_turn(act: Act) -> bool:
    """Whether an act is a client's append after which it is the user's turn."""
    if act.plan is None or act.plan.kind != "append" or not isinstance(act.origin, Origin):
        return False
    said = [new for new in act.entries if new.head.kind not in kinds.METADATA]
    if not said or said[-1].head.kind != kinds.ASSISTANT or act.leaf != act.entries[-1].head.id:
        return False
    return _is_last_answer(said[-1].entry["message"])


def _is_last_answer(message: Mapping[str, Any]) -> bool:
    if message.get("stopReason") in ("error", "aborted"):
        return False
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return not any(isinstance(one, dict) and one.get("type") == "toolCall" for one in blocks)


def _may_be_due(size: ContextSize | None) -> bool:
    """Whether it is worth a look at the settings, by the size that was told at the leaf."""
    if size is None:
        return True
    return size.due or (size.model is not None and size.window is None)


class AutomaticCompaction:
    """Sees to the size of one session."""

    def __init__(self, session: SessionActs, drafts: Drafts) -> None:
        # Weakly, as it is the session's own: what leaves memory is freed at once.
        self._weak = weakref.ref(session)
        self._drafts = drafts
        self.is_at_work = False
        """Whether it looks or compacts."""
        self._look_again = False
        """A turn has ended while it was looked."""
        self._failures = 0
        self._tried_with: FolderSettings | None = None
        """The settings at the last failure, which are the same object until they change."""
        self._has_told_nobody_writes = False

    def stored(self, act: Act) -> None:
        """An act was stored: look whether the context has become too large, if a turn ended."""
        session = self._weak()
        if session is None or not ends_turn(act) or not _may_be_due(session.sizing.told):
            return
        if self.is_at_work:
            self._look_again = True
        else:
            self.is_at_work = True
            session.start_soon(self._work)

    def worked(self) -> None:
        """A summary was written that somebody asked for: what was wrong may be over."""
        self._failures = 0
        self._has_told_nobody_writes = False

    async def _work(self) -> None:
        try:
            has_tried, self._look_again = False, True
            while self._look_again and not has_tried:
                self._look_again = False
                session = self._weak()
                has_tried = session is not None and await self._look(session)
        except Exception as error:  # noqa: BLE001 - the session's other tasks must go on
            logger.error("an automatic compaction failed: %s", type(error).__name__)
        finally:
            self.is_at_work = False

    async def _look(self, session: SessionActs) -> bool:
        """Compact if that is called for; whether it was tried."""
        settings = await read_settings(session)
        if settings.problem is not None or not settings.compacts_automatically:
            return False
        if settings is not self._tried_with:
            # Another object is another state of the files: of our own, too, which say who writes.
            self.worked()
        if self._failures >= FAILURES_AT_MOST:
            return False
        try:
            is_called_for = await self._is_called_for(session, settings)
        except (NothingToCompact, CannotShrink):
            # Nobody was asked yet, and another turn may change it.
            return False
        if not is_called_for:
            return False
        try:
            await self._compact(session)
        except Busy:
            return False
        except (SessionError, ServiceError, SummaryFailed, NoSummarizer):
            self._tried_with = settings
            self._failures += 1
        return True

    async def _is_called_for(self, session: SessionActs, settings: FolderSettings) -> bool:
        await session.look()
        if not self._may_act(session):
            return False
        await session.sized()
        tokens, model = await session.ask(
            lambda current: (current.size_at(current.leaf).tokens, model_at(current, current.leaf))
        )
        window = await window_of(session, model)
        if settings.problem_for(model) is not None:
            return False
        if window is None or not should_compact(tokens, window, settings.compaction_for(model)):
            return False
        await cut(session)
        return self._may_act(session) and not await self._nobody_writes_still(session, model)

    def _may_act(self, session: SessionActs) -> bool:
        return (
            session.last_external is None
            and not session.live.pis
            and session.read_only is None
            and session.operations.current is None
        )

    async def _nobody_writes_still(self, session: SessionActs, model: ModelName | None) -> bool:
        """Whether there is no summarizer, and everyone has been told."""
        if not self._has_told_nobody_writes:
            return False
        try:
            await choose_writer(session, None, model, None)
        except NoSummarizer:
            return True
        return False

    async def _compact(self, session: SessionActs) -> None:
        asker = Asker(REPAIR, reason="threshold")
        try:
            await compact(session, self._drafts, None, Wishes(), asker)
        except NoSummarizer:
            self._has_told_nobody_writes = True
            raise
        self._failures = 0
