"""The rows of the table that a running pi and the daemon use: what its bridge says and is asked.

Methods of kind `pi` are answered on connections that said `pi` in `initialize`, and are no methods
on any other. A refusal of what a bridge is asked is a result (`PiAnswer`), so that only a fault is
an error.
"""

from __future__ import annotations

from typing import Any, Final

from pisessiond.protocol import lifecycle_models as life
from pisessiond.protocol import pi_models as pi
from pisessiond.protocol.errors import ErrorKind
from pisessiond.protocol.table import Asked, Method
from pisessiond.protocol.wire import WireModel

_LOADS: Final[tuple[ErrorKind, ...]] = (
    "SessionNotFound",
    "NotASession",
    "Unreadable",
    "FileChanged",
)
_QUICK_SECONDS: Final = 10.0
"""A terminal that draws a huge session takes up to one."""
_LONG_SECONDS: Final = 600.0
"""As long as a model may take."""

ATTACH: Final = Method(
    "pi/attach",
    "pi",
    pi.PiAttachParams,
    pi.PiAttachResult,
    "This pi has a session open. From now on all that is written to it is written by that pi.",
    _LOADS,
)
DETACHED: Final[Method[pi.PiDetachedParams, life.Nothing]] = Method(
    "pi/detached", "pi", pi.PiDetachedParams, None, "This pi has left its session."
)
DID_CHANGE: Final[Method[pi.PiDidChangeParams, life.Nothing]] = Method(
    "pi/didChange", "pi", pi.PiDidChangeParams, None, "Entries came in this pi, or its leaf moved."
)
DID_STATE: Final[Method[pi.PiDidStateParams, life.Nothing]] = Method(
    "pi/didState", "pi", pi.PiDidStateParams, None, "What this pi is doing is something else."
)
WILL_NAVIGATE: Final = Method(
    "pi/willNavigate",
    "pi",
    pi.PiWillNavigateParams,
    pi.PiWord,
    "A person moves the leaf in this pi: clients that answer session/willNavigate are asked.",
)
WILL_COMPACT: Final = Method(
    "pi/willCompact",
    "pi",
    pi.PiWillCompactParams,
    pi.PiWord,
    "This pi compacts by itself: clients that answer session/willCompact are asked.",
)

PI_METHODS: Final[tuple[Method[Any, Any], ...]] = (
    ATTACH,
    DETACHED,
    DID_CHANGE,
    DID_STATE,
    WILL_NAVIGATE,
    WILL_COMPACT,
)
"""What bridges say, in the order it is documented."""


def _drive(name: str, params: type[WireModel], seconds: float, summary: str) -> Asked[Any, Any]:
    return Asked(name, params, pi.PiAnswer, seconds, summary)


NAVIGATE: Final = _drive(
    "pi/navigate", pi.PiNavigateParams, _LONG_SECONDS, "Move the leaf, as pi's /tree does."
)
COMPACT: Final = _drive(
    "pi/compact", pi.PiCompactParams, _LONG_SECONDS, "Store a compaction, or have pi make one."
)
LABEL: Final = _drive("pi/label", pi.PiLabelParams, _QUICK_SECONDS, "Label an entry.")
NAME: Final = _drive("pi/name", pi.PiNameParams, _QUICK_SECONDS, "Name the session.")
APPEND: Final = _drive(
    "pi/append", pi.PiAppendParams, _QUICK_SECONDS, "Append entries that start no run."
)
CONTEXT_EDIT: Final = _drive(
    "pi/contextEdit",
    pi.PiContextEditParams,
    _QUICK_SECONDS,
    "Change what the model would be sent of an entry.",
)
FORK: Final = _drive(
    "pi/fork", pi.PiForkParams, _QUICK_SECONDS, "Fork a session that is in memory only."
)
SWITCH: Final = _drive(
    "pi/switch", pi.PiSwitchParams, _QUICK_SECONDS, "Open another session file in this pi."
)
REREAD: Final = _drive(
    "pi/reread", pi.PiRereadParams, _QUICK_SECONDS, "Read the session file anew, and stay there."
)
PROMPT: Final = _drive(
    "pi/prompt", pi.PiPromptParams, _LONG_SECONDS, "Take a prompt, as if it had been typed."
)
ABORT: Final = _drive("pi/abort", pi.PiAbortParams, _QUICK_SECONDS, "Stop what runs.")
SNAPSHOT: Final = _drive(
    "pi/snapshot", pi.PiSnapshotParams, _QUICK_SECONDS, "Say all entries and the state."
)

PI_ASKED: Final[tuple[Asked[Any, Any], ...]] = (
    NAVIGATE,
    COMPACT,
    LABEL,
    NAME,
    APPEND,
    CONTEXT_EDIT,
    FORK,
    SWITCH,
    REREAD,
    PROMPT,
    ABORT,
    SNAPSHOT,
)
"""What bridges are asked, in the order it is documented."""
