"""How we see a session file, in the words in which pi is asked: see tests/support/pi.py."""

from pathlib import Path
from typing import Any, Final

from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.errors import NothingToCompact
from pisessiond.core.inspection import describe_context, inspect_session
from pisessiond.core.javascript import utf16_order
from pisessiond.core.session import Session
from pisessiond.service.loading import load_or_begin
from pisessiond.storage.jsonl import JsonlStore

NOT_COMPARED: Final = frozenset(
    {"entriesLength", "cycleOnLeafPath", "note", "fileAfterOpen", "labelsOnMissing"}
)
"""What the oracle tells of pi's own insides."""

Answer = dict[str, Any]


def open_file(path: Path) -> Session:
    """The session in a file, every entry sized."""
    header = {"type": "session", "version": 3, "id": "begun", "timestamp": "", "cwd": "/"}
    session = load_or_begin(JsonlStore().open(str(path)), header).session
    session.measure_rest()
    return session


def inspected(session: Session) -> Answer:
    """The members of `pi160.open`, and problems."""
    return inspect_session(session, "<cwd>")


def told_by_pi(answer: Answer) -> Answer:
    """What is comparable of pi's answer about a file."""
    return {name: value for name, value in answer.items() if name not in NOT_COMPARED}


def size_at(session: Session, entry_id: Any) -> Answer:
    """One member of `Pi.sizes`."""
    size = session.size_at(session.row_of(entry_id))
    return {
        "id": entry_id,
        "tokens": size.tokens,
        "measured": size.measured is not None,
        "estimated": size.estimated,
    }


def size_told_by_pi(size: Answer) -> Answer:
    return {name: value for name, value in size.items() if name != "usageTokens"}


def at(session: Session, entry_id: Any) -> Answer:
    """The members of `Pi.at` that do not repeat the size."""
    row = session.row_of(entry_id)
    projection = session.projection(row)
    return {
        "branchLength": len(session.index.branch(row)),
        "contextEntryIds": [item.entry["id"] for item in projection.entries],
        "context": describe_context(projection.messages),
        "thinkingLevel": projection.settings.thinking_level,
        "model": projection.settings.model,
    }


def prepared(session: Session, entry_id: Any, keep_recent_tokens: int) -> Answer | None:
    """The members of `Pi.prepare` that are not made from the others."""
    settings = CompactionSettings(keep_recent_tokens=keep_recent_tokens)
    try:
        preparation = session.prepare_compaction(session.row_of(entry_id), settings)
    except NothingToCompact:
        return None
    return {
        "firstKeptEntryId": preparation.first_kept_entry_id,
        "isSplitTurn": preparation.is_split_turn,
        "tokensBefore": preparation.tokens_before,
        "previousSummary": preparation.previous_summary,
        "messagesToSummarize": describe_context(preparation.messages_to_summarize),
        "turnPrefixMessages": describe_context(preparation.turn_prefix_messages),
        "files": [
            sorted(files, key=utf16_order)
            for files in (
                preparation.file_operations.read,
                preparation.file_operations.written,
                preparation.file_operations.edited,
            )
        ],
    }


def prepared_by_pi(answer: Answer | None) -> Answer | None:
    """The same members of pi's answer."""
    if answer is None:
        return None
    same = ("firstKeptEntryId", "isSplitTurn", "tokensBefore", "previousSummary")
    messages = ("messagesToSummarize", "turnPrefixMessages")
    return {
        **{name: answer[name] for name in same},
        **{name: describe_context(answer[name]) for name in messages},
        "files": [answer["fileOps"][name] for name in ("read", "written", "edited")],
    }


def named_by_position(session: Session, value: Any) -> Any:
    """A value with the ids of a version 1 file as `#n`, as pi's helper shows them."""
    if session.version >= 2:
        return value
    names = {entry_id: f"#{row}" for row, entry_id in enumerate(session.index.ids)}
    return _renamed(value, names)


def _renamed(value: Any, names: dict[Any, str]) -> Any:
    # Without recursion into chains that are deep: a version 1 file is one chain.
    if isinstance(value, dict):
        return {names.get(name, name): _renamed(item, names) for name, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value
