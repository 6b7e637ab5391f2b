"""What open sessions need from the world, handed in so that tests can wind it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pisessiond.core.anchors import Persist
from pisessiond.models.base import Models, NoModels
from pisessiond.service.announcing import RingBudget
from pisessiond.service.settings import DefaultSettings, Settings
from pisessiond.storage.base import (
    Claims,
    NoClaims,
    NoOtherFiles,
    NoPlaceNotes,
    OtherFiles,
    PlaceNotes,
    Watches,
)
from pisessiond.summarizers.base import NoSummarizers, Summarizers


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an open session needs from the world, handed in so that tests can wind it."""

    now_iso: Callable[[], str]
    new_id: Callable[[], str]
    next_epoch: Callable[[], str]
    monotonic: Callable[[], float] = time.monotonic
    """Seconds that only grow."""
    claims: Claims = field(default_factory=NoClaims)
    """Where this process says which files it writes to."""
    persist: Persist = "memory"
    """How a move is kept."""
    place_notes: PlaceNotes = field(default_factory=NoPlaceNotes)
    """Where the places of old files are kept, which a move must not migrate."""
    rings: RingBudget = field(default_factory=RingBudget)
    """What the deltas kept for all sessions may take together."""
    other_files: OtherFiles = field(default_factory=NoOtherFiles)
    """Where exports are written and deleted sessions go."""
    summarizers: Summarizers = field(default_factory=NoSummarizers)
    """Who can write summaries."""
    models: Models = field(default_factory=NoModels)
    """Who knows how large the windows of models are, and what they cost."""
    settings: Settings = field(default_factory=DefaultSettings)
    """What the user wants of compactions and sizes."""
    memory_budget: int = 256 << 20
    """Bytes that sessions may take together before idle ones leave, least used first."""
    is_running: Callable[[int, float], bool] = lambda _pid, _started: False
    """Whether a process that began at that time (`PiProcess.started`) still lives; may block."""
    watches: Watches | None = None
    """What tells of changes that other programs make; None: files are looked at when asked for."""
    pis_come_within: float = 0.0
    """Seconds from the start in which pi that run already may be on their way here."""
