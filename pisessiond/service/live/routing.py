"""Having a running pi make a change that was decided here, and taking in what it wrote."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from pisessiond.core.errors import NothingToCompact
from pisessiond.core.lines import EntryId
from pisessiond.service.errors import (
    LeafMoved,
    OperationCancelled,
    PiBusy,
    PiRefused,
    PiUnknown,
    ReadOnly,
    SessionChanged,
    Unsupported,
)
from pisessiond.service.live.calls import PiCall, call_for
from pisessiond.service.live.pi import RunningPi, Silent
from pisessiond.service.live.session_live import Written
from pisessiond.service.live.telling import follow_leaf
from pisessiond.service.storing import in_worker
from pisessiond.service.types import Origin

if TYPE_CHECKING:
    from pisessiond.service.session_queue import Act, SessionQueue


@dataclass(frozen=True, slots=True)
class Asked:
    """An act that a pi was asked for, and that may have to be asked for once more."""

    pi: RunningPi
    call: PiCall
    params: dict[str, Any]
    rows: int
    """How many entries there were."""


async def write_through(held: SessionQueue, act: Act) -> None:
    """Have the pi that owns the session make an act; the caller holds `changing`.

    Raises:
        LostPi: its connection ended meanwhile; to be tried once more when that is settled.
        ServiceError, SessionError: it was refused; nothing has changed.
    """
    if act.asked is not None:
        await _ask_again(held, act, act.asked)
        return
    chosen = held.live.decide(act.origin, needs_idle=False)
    if chosen is not None and held.live.owner is None:
        held.live.address(chosen)
        follow_leaf(held, chosen.origin)
    for _ in range(3):
        if not held.decide_alone(act):
            return
        assert act.plan is not None
        left = held.leaf
        call = call_for(held.session, act.plan, act.entries, left)
        pi = held.live.decide(act.origin, needs_idle=call is not None and call.needs_idle)
        if call is None or pi is None:
            held.finish_elsewhere(act, ())
            return
        asked = act.asked = Asked(pi, call, _params(act, call, left), len(held.session.index))
        answer = await _ask(asked, asked.pi)
        if answer.get("refused") != "LeafMoved" or act.base_leaf is not UNSET:
            break
        # Decided where pi no longer stands; what it stands on now decides anew.
        pi.leaf = answer.get("leaf", pi.leaf)
        await held.take_in_news()
        follow_leaf(held, pi.origin)
    await _settle(held, act, asked.pi, answer)


_GIVEN_BY_WRITER: Final = frozenset(
    {"id", "parentId", "timestamp", "fromHook", "usage", "systemMessage", "tokensBefore"}
)


class LostPi(Exception):
    """The connection to a pi ended while it was asked."""


def _params(act: Act, call: PiCall, left: EntryId | None) -> dict[str, Any]:
    origin = act.origin
    assert isinstance(origin, Origin)
    given_ids = "+".join(str(new.head.id) for new in act.entries)
    name = given_ids if call.method == "pi/append" else None
    params: dict[str, Any] = {**call.params, **asker(origin, name=name)}
    if act.base_leaf is not UNSET:
        params["base_leaf"] = act.base_leaf
    elif call.is_bound:
        params["base_leaf"] = left
    return params


def asker(origin: Origin, *, name: str | None = None, act: str = "") -> dict[str, str]:
    """Who asks a bridge, and under which id; asking again under it repeats the answer.

    Args:
        origin: the client.
        name: names the request where the client does not; None: nothing does, it is made once.
        act: begins the id, where one request of a client asks pi for more than one thing.
    """
    named = origin.request_id or name or uuid.uuid4().hex
    return {
        "request_id": f"{act}{origin.client_id}:{named}",
        "client": origin.client,
        "client_id": origin.client_id,
    }


async def ask_once(
    held: SessionQueue, pi: RunningPi, method: str, params: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What a pi answers that has done it.

    Raises:
        PiUnknown: no answer came; it may have done it.
        ServiceError, SessionError: it would not; see `refusal`.
    """
    try:
        answer = await pi.ask(method, params, seconds)
    except Silent:
        raise PiUnknown(pi.pid) from None
    if (refused := answer.get("refused")) is not None:
        raise refusal(held, pi, refused, answer)
    return answer


async def _ask(asked: Asked, pi: RunningPi) -> dict[str, Any]:
    if not pi.bridge.offers(asked.call.method):
        raise Unsupported(
            f"pi {pi.pid} does not let this be done from outside.", "a newer pi or bridge"
        )
    try:
        return await pi.ask(asked.call.method, asked.params, asked.call.seconds)
    except Silent as error:
        if error.is_gone:
            raise LostPi from None
        raise PiUnknown(pi.pid) from None


async def _ask_again(held: SessionQueue, act: Act, asked: Asked) -> None:
    """The same once more, under the same request id, which repeats the answer and not the act."""
    pi = next((one for one in held.live.pis if one.is_same_process(asked.pi.process)), None)
    if pi is None:
        await held.take_in_news()
        ids = await _find_written(held, act, asked.rows)
        if ids is None:
            raise PiUnknown(asked.pi.pid)
        held.finish_elsewhere(act, ids)
        return
    try:
        answer = await pi.ask(asked.call.method, asked.params, asked.call.seconds)
    except Silent:
        raise PiUnknown(pi.pid) from None
    await _settle(held, act, pi, answer)


async def _find_written(held: SessionQueue, act: Act, since: int) -> list[EntryId] | None:
    """What a pi that is gone wrote for an act before it went; None when nothing tells of it."""
    rows = range(since, len(held.session.index))
    bodies = await in_worker(lambda: held.session.entries(list(rows)))
    wanted = [_content(new.entry) for new in act.entries]
    found = [body["id"] for body in bodies if _content(body) in wanted]
    return found if wanted and len(found) == len(wanted) else None


def _content(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry says, without what whoever writes it gives it."""
    return {name: value for name, value in entry.items() if name not in _GIVEN_BY_WRITER}


async def _settle(held: SessionQueue, act: Act, pi: RunningPi, answer: Mapping[str, Any]) -> None:
    """Take in what pi wrote for an act, or raise why it did not."""
    if (refused := answer.get("refused")) is not None:
        if "leaf" in answer:
            pi.leaf = answer["leaf"]
        raise refusal(held, pi, refused, answer)
    assert act.plan is not None
    ids: list[EntryId] = answer.get("ids", [])
    new = [entry_id for entry_id in ids if held.session.index.find(entry_id) is None]
    held.live.announce(new, Written(act.origin, act.plan.kind, act.plan.details))
    if "leaf" in answer:
        pi.leaf = answer["leaf"]
    await held.live.arrived(new)
    await held.take_in_news()
    held.live.disown(new)
    held.finish_elsewhere(act, ids)


def refusal(held: SessionQueue, pi: RunningPi, kind: str, answer: Mapping[str, Any]) -> Exception:
    """What a bridge refused, in our words; its own sentence where we have none."""
    message = answer.get("message") or ""
    match kind:
        case "LeafMoved":
            return LeafMoved(answer.get("leaf"), held.rev)
        case "Busy":
            return PiBusy(answer.get("operation") or "turn", pi.pid)
        case "Unsupported":
            return Unsupported(message, answer.get("needs") or "another pi")
        case "SessionChanged":
            return SessionChanged(pi.pid)
        case "PiUnknown":
            return PiUnknown(pi.pid)
        case "Cancelled":
            return OperationCancelled("change", "pi")
        case "NothingToCompact":
            return NothingToCompact(message or "pi finds nothing to compact.")
        case "EntryNotFound":
            # Here it is, or it would have been refused here.
            return Unsupported(f"pi {pi.pid} has not read that entry yet.", "session/reread")
        case "ReadOnly":
            return ReadOnly(message or "pi does not let itself be moved.", f"pi {pi.pid}")
        case _:
            return PiRefused(message or f"pi {pi.pid} refused ({kind}).")
