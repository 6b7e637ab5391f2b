"""The context size at the leaf, kept up to date so that it can be sent with every change.

An append goes on from what was counted before, in constant time. What an append cannot tell, a
place moved to, a title, a window, is read in a worker: before the change is told where it is our
own (`prepare`), else afterwards (`run`), and then told in a change of its own.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio

from pisessiond.core import kinds
from pisessiond.core.changes import Draft
from pisessiond.core.composition import LARGEST, Composition, is_walked, span
from pisessiond.core.lines import EntryId
from pisessiond.core.models_named import Named, model_of, recall_model
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session
from pisessiond.core.thinking_levels import level_of, recall_level
from pisessiond.models.base import ModelName
from pisessiond.service.context_sizes import (
    EarlySize,
    Yardstick,
    held_against,
    is_at_hand,
    make_size,
    name_largest,
    name_of,
)
from pisessiond.service.model_windows import ModelWindows
from pisessiond.service.settings import FolderSettings, folder_of
from pisessiond.service.size_needs import Found, Needs, Remembered, needs_of, read_needs
from pisessiond.service.storing import in_worker
from pisessiond.service.titles import Titles
from pisessiond.service.types import ContextSize

if TYPE_CHECKING:
    from pisessiond.service.held_session import HeldSession

logger = logging.getLogger(__name__)

_AT_ONCE = 4_096
"""Rows that are counted on the event loop at most, which takes some 2 ms; mostly it is one."""

_MODELS_KEPT = 1_024
"""Rows of which it is remembered what model they name."""


class Bell:
    """Wakes whoever waits for it; rung many times meanwhile, it wakes once."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        """Return once it was rung since the last time."""
        await self._rung.wait()
        self._rung = anyio.Event()


async def keep_telling(bell: Bell, weak: weakref.ref[LeafSizing]) -> None:
    """Have what is missing read and told each time the bell rings, until cancelled.

    It holds nothing while it waits, so that a session which left memory is freed at once.
    """
    while True:
        await bell.wait()
        sizing = weak()
        if sizing is None:
            return
        await sizing.catch_up()
        del sizing


class LeafSizing:
    """What is known of the size at one session's leaf."""

    def __init__(self, held: HeldSession) -> None:
        # Weakly, so that a session which left memory is freed at once.
        self._weak = weakref.ref(held)
        self.settings = FolderSettings()
        """Of the session's folder, as they were read last."""
        self.told: ContextSize | None = None
        """What subscribers were told last; None when they were told nothing since they opened."""
        self.windows = ModelWindows(held)
        self._refreshed_for: ModelName | None = None
        """The model with which the settings and its window were looked at last."""
        self._filling = anyio.Lock()
        self.bell = Bell()
        """Rung when something is missing."""

    def adopt(self, session: Session, early: EarlySize | None, settings: FolderSettings) -> None:
        """Begin with a session that was just read."""
        self._early = early
        self.settings = settings
        self.told = None
        model = self._early_model()
        # Its settings were read with it. A window that is not known is looked up once it is sized.
        is_known = model is None or self.windows.now(model) is not None
        self._refreshed_for = model if is_known else None
        self._composition: Composition | None = None
        self._prepared: list[Composition] = []
        self._titles = Titles(session.index)
        self._models: dict[int, Named | None] = {}
        self._levels: dict[int, str | None] = {}
        self._whole: tuple[int, ContextSize] | None = None
        """The figures at a row with nothing missing, held against nothing."""
        self._last: tuple[ContextSize, Yardstick, ContextSize] | None = None
        self._is_missing = False
        self._tried: int | None = None
        """The row at which everything that can be read was read."""

    @property
    def _held(self) -> HeldSession:
        held = self._weak()
        assert held is not None, "it is asked through its session"
        return held

    @property
    def _session(self) -> Session:
        return self._held.session

    # Telling -----------------------------------------------------------------------------------

    def now(self) -> ContextSize | None:
        """The size at the leaf as far as it is known without reading; None when it is not.

        What is missing is read soon, and then told.
        """
        session = self._session
        figures = self._figures(session.leaf) if session.sizes.is_complete else None
        if figures is None:
            # Right after the file is sized this still holds, until the rest is read.
            early = self._early
            if early is None:
                return None
            return held_against(early.size, self._yardstick(early.model))
        yardstick = self._yardstick(self._model(session.leaf))
        last = self._last
        if last is None or last[0] is not figures or last[1] != yardstick:
            self._last = last = (figures, yardstick, held_against(figures, yardstick))
        return last[2]

    def forget_early(self) -> None:
        """What was told before the file is sized holds no longer: the leaf is another."""
        self._early = None

    def _figures(self, leaf: int) -> ContextSize | None:
        if self._whole is not None and self._whole[0] == leaf:
            return self._whole[1]
        session = self._session
        if not is_at_hand(session, leaf):
            self._miss()
            return None
        # The edits that count here are sized by this, and need nothing read below.
        session.size_at(leaf)
        composition = self._composition_at(leaf)
        if composition is None:
            self._miss()
            return make_size(session, leaf)
        ranked = composition.largest()
        try:
            level = recall_level(session.index, leaf, self._levels)
            largest = name_largest(session, ranked, self._titles.known)
        except KeyError:
            self._miss()
            return make_size(session, leaf, composition.parts())
        made = make_size(session, leaf, composition.parts(), largest, level)
        self._whole, self._tried = (leaf, made), None
        return made

    def _composition_at(self, leaf: int) -> Composition | None:
        sizes = self._session.sizes
        for known in (self._composition, *self._prepared):
            if known is not None and known.reach(leaf, _AT_ONCE) and known.can_spare(0):
                self._composition = known
                return known
        if is_walked(sizes, leaf) or span(sizes, leaf) > _AT_ONCE:
            return None
        self._composition = Composition(sizes, leaf)
        return self._composition

    def _model(self, leaf: int) -> ModelName | None:
        try:
            return name_of(recall_model(self._session.index, leaf, self._models))
        except KeyError:
            self._miss()
            return self._early_model()

    def _yardstick(self, model: ModelName | None) -> Yardstick:
        if model != self._refreshed_for:
            self.bell.ring()
        return Yardstick(model, self.windows.now(model), self.settings)

    def _miss(self) -> None:
        """Have what is missing read, unless that was tried in vain."""
        if self._tried != self._session.leaf:
            self._is_missing = True
            self.bell.ring()

    async def whole(self, window: int | None) -> ContextSize | None:
        """The size at the leaf with all that belongs to it; None where the leaf keeps moving.

        Args:
            window: what it is held against instead of the model's own.
        """
        size = self.now()
        if self._is_missing:
            await self.fill()
            size = self.now()
        if size is None or size.largest is None:
            return None
        model = self._model(self._session.leaf)
        if window is None and (size.window is not None or model is None):
            return size
        if window is None and model is not None:
            window = await self.windows.soon(model)
        return held_against(size, Yardstick(model, window, self.settings))

    # Reading afterwards ------------------------------------------------------------------------

    async def catch_up(self) -> None:
        """Read what is missing, and tell it."""
        if not self._session.sizes.is_complete:
            # Sizing the file is what everyone waits for; what is missing then is asked for again.
            return
        if self._is_missing:
            await self.fill()
        await self.refresh()
        self.tell_if_other()

    def tell_if_other(self) -> None:
        """Tell subscribers what the size is, where they were told otherwise."""
        if self._session.index.count and self.now() != self.told:
            self._held.tell([], steps=0)

    async def fill(self) -> None:
        """Read everything that the size at the leaf needs, as far as it can be read."""
        async with self._filling:
            leaf, session = self._session.leaf, self._session
            if session.sizes.is_complete and self._tried != leaf:
                await self._fill(session, leaf)
            self._is_missing = False

    async def _fill(self, session: Session, leaf: int) -> None:
        try:
            found = await self._held.ask(partial(self._read_place, session, leaf))
        except Exception as error:  # noqa: BLE001 - no reason to end the session
            # Whoever asks for the size is told.
            logger.warning("a size could not be read: %s", type(error).__name__)
            found = None
        if self._session is session:
            self._tried = leaf
            self._keep(found)

    def _read_place(self, session: Session, leaf: int, current: Session) -> Found | None:
        if current is not session:
            # It was read anew meanwhile: the row is of another session, which is not sized yet.
            return None
        known = Remembered(self._titles.known, self._models, self._levels)
        return read_needs(session, Needs([leaf]), known)

    def _keep(self, found: Found | None) -> None:
        if found is None:
            return
        self._prepared = found.compositions
        self._titles.known |= found.titles
        for call_id, (row, words) in found.calls.items():
            self._titles.keep_call(row, call_id, words)
        self._models |= found.models
        self._levels |= found.levels

    async def refresh(self) -> None:
        """Read the settings anew, and what is known of the model at the leaf."""
        held = self._held
        settings = held.surroundings.settings
        folder = folder_of(self._session.cwd, held.path)
        self.settings = await in_worker(partial(settings.for_folder, folder), abandon=True)
        # It may have been read anew meanwhile, and its leaf be a row that the old one has not.
        session = self._session
        model = self._model(session.leaf) if session.sizes.is_complete else self._early_model()
        self._refreshed_for = model
        self.windows.look_again(model)

    def _early_model(self) -> ModelName | None:
        return None if self._early is None else self._early.model

    # Our own acts ------------------------------------------------------------------------------

    async def prepare(self, draft: Draft, leaves: Sequence[EntryId | None]) -> None:
        """Read, in a worker, what the sizes will need when the acts on a draft are told.

        Args:
            draft: what they add.
            leaves: where each of them leaves the session.
        """
        session = self._session
        if not session.sizes.is_complete:
            return
        known = Remembered(self._titles.known, self._models, self._levels)
        needs = needs_of(draft, leaves, self._composition, self._titles, known)
        if needs:
            found = await in_worker(lambda: read_needs(session, needs, known))
            if self._session is session:
                self._keep(found)

    def note(self, appended: Iterable[tuple[int, Entry]]) -> None:
        """Remember what matters of entries that were just appended, bodies at hand."""
        self.forget_early()
        session, composition = self._session, self._composition
        sizes = session.sizes
        if len(self._models) > _MODELS_KEPT:
            self._models = {}
        if len(self._levels) > _MODELS_KEPT:
            self._levels = {}
        known = [composition, *self._prepared]
        least = min((one.least for one in known if one is not None), default=1)
        for row, entry in appended:
            kind = session.index.kind[row]
            if kind in (kinds.ASSISTANT, kinds.MODEL_CHANGE):
                self._models[row] = model_of(entry)
            elif kind == kinds.THINKING_LEVEL:
                self._levels[row] = level_of(entry)
            if kind == kinds.COMPACTION:
                # It cuts off what was larger.
                least = 1
            is_large = sizes.is_complete and sizes.own[row] >= least
            self._titles.note(row, entry, is_large=is_large)
        if composition is not None:
            self._titles.keep_only([row for row, _ in composition.largest(2 * LARGEST)])
