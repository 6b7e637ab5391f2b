"""Who writes a session now, as a table: no sockets, no files."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from pisessiond.service.errors import (
    AmbiguousOwner,
    PiBusy,
    ReadOnly,
    ServiceError,
    SessionChanged,
)
from pisessiond.service.live.deciding import decide
from pisessiond.service.live.pi import PiProcess, PiState, RunningPi, Standing

PROCESS = PiProcess(1, 0.0, "tui", True, False, "1.6.0", drives=True)


class NoBridge:
    is_gone = False

    def offers(self, method: str) -> bool:
        raise AssertionError(method)

    async def drive(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        raise AssertionError("to decide asks nobody")


def pi(pid: int, state: Standing = "idle", *, drives: bool = True) -> RunningPi:
    process = replace(PROCESS, pid=pid, drives=drives, why=None if drives else "it is printed.")
    made = RunningPi(process, f"client-{pid}", NoBridge())
    made.is_stalled = state == "stalled"
    if state != "idle" and state != "stalled":
        made.state = PiState(idle=False, operation=state)
    return made


@dataclass(frozen=True)
class Case:
    """Who has it open; what is wanted; the pid through which it goes, None for ours, or why not."""

    pis: tuple[RunningPi, ...]
    expected: int | type[ServiceError] | None
    wanted: int | None = None
    needs_idle: bool = True


ONE, TWO = pi(1), pi(2)
CASES = {
    "nobody": Case((), None),
    "nobody, and one is named": Case((), SessionChanged, wanted=1),
    "an idle one": Case((ONE,), 1),
    "an idle one that is named": Case((ONE,), 1, wanted=1),
    "another one is named": Case((ONE,), SessionChanged, wanted=2),
    "a busy one": Case((pi(1, "turn"),), PiBusy),
    "a compacting one": Case((pi(1, "compaction"),), PiBusy),
    "a busy one, for what harms no run": Case((pi(1, "turn"),), 1, needs_idle=False),
    "a stalled one": Case((pi(1, "stalled"),), PiBusy),
    "a stalled one, for what harms no run": Case((pi(1, "stalled"),), PiBusy, needs_idle=False),
    "a watched one": Case((pi(1, drives=False),), ReadOnly),
    "a watched one, for what harms no run": Case(
        (pi(1, drives=False),), ReadOnly, needs_idle=False
    ),
    "two": Case((ONE, TWO), AmbiguousOwner),
    "two, for what harms no run": Case((ONE, TWO), AmbiguousOwner, needs_idle=False),
    "two, one of them named": Case((ONE, TWO), 2, wanted=2),
    "two, a third named": Case((ONE, TWO), SessionChanged, wanted=3),
    "two, a busy one named": Case((ONE, pi(2, "turn")), PiBusy, wanted=2),
    "two, the idle one named": Case((ONE, pi(2, "turn")), 1, wanted=1),
    "two, a watched one named": Case((ONE, pi(2, drives=False)), ReadOnly, wanted=2),
}


@pytest.mark.parametrize("name", CASES)
def test_who_writes(name: str) -> None:
    case = CASES[name]
    if isinstance(case.expected, type):
        with pytest.raises(case.expected):
            decide(case.pis, case.wanted, needs_idle=case.needs_idle)
        return
    chosen = decide(case.pis, case.wanted, needs_idle=case.needs_idle)
    assert (None if chosen is None else chosen.pid) == case.expected


def test_a_refusal_names_whom_to_ask() -> None:
    with pytest.raises(ReadOnly) as watched:
        decide([pi(7, drives=False)], None, needs_idle=False)
    with pytest.raises(AmbiguousOwner) as several:
        decide([ONE, pi(2, "turn")], None, needs_idle=False)

    assert watched.value.owner == "pi 7"
    assert "it is printed." in str(watched.value)
    assert several.value.choices == (
        {"pid": 1, "mode": "tui", "state": "idle", "leaf": None},
        {"pid": 2, "mode": "tui", "state": "turn", "leaf": None},
    )
