"""What we and real pi would have summarised, in one form, so that both can be compared whole.

The words around shell output and earlier summaries are our own and the only difference: pi's side
has the number of such a message in their place (tests/pi/oracle/summaries.mjs), for which our
words are put in. Whether a message is told, where and as whose word, stays pi's say.
"""

import random
import re
from collections.abc import Sequence
from typing import Any, Final

from pisessiond.core import kinds
from pisessiond.core.branch_summary import prepare_branch_summary, rows_left
from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.conversation import serialize_conversation
from pisessiond.core.errors import NothingToCompact
from pisessiond.core.file_operations import FileOperations, compute_file_lists, format_file_lists
from pisessiond.core.inspection import describe_context
from pisessiond.core.javascript import utf16_order
from pisessiond.core.session import Session
from pisessiond.core.tokens import estimate_tokens
from tests.support.pi import Answer

_MARK: Final = re.compile("\x01([0-9]+)\x01")
_USER: Final = "[User]: "


def compaction_by_us(session: Session, entry_id: Any, keep: int) -> Answer | None:
    """One member of pi's answer to `prepareAll`, as we see it; None for nothing to compact."""
    settings = CompactionSettings(keep_recent_tokens=keep)
    try:
        ours = session.prepare_compaction(session.row_of(entry_id), settings)
    except NothingToCompact:
        return None
    return {
        "firstKeptEntryId": ours.first_kept_entry_id,
        "isSplitTurn": ours.is_split_turn,
        "tokensBefore": ours.tokens_before,
        "previousSummary": ours.previous_summary,
        "messagesToSummarize": describe_context(ours.messages_to_summarize),
        "turnPrefixMessages": describe_context(ours.turn_prefix_messages),
        "conversation": serialize_conversation(ours.messages_to_summarize),
        "turnPrefixConversation": serialize_conversation(ours.turn_prefix_messages),
        "files": _files(ours.file_operations),
    }


def compaction_by_pi(answer: Answer | None) -> Answer | None:
    """The same of pi's answer."""
    if answer is None:
        return None
    history, prefix = answer["messagesToSummarize"], answer["turnPrefixMessages"]
    return {
        **answer,
        "messagesToSummarize": describe_context(history),
        "turnPrefixMessages": describe_context(prefix),
        "conversation": in_our_words(answer["conversation"], history),
        "turnPrefixConversation": in_our_words(answer["turnPrefixConversation"], prefix),
    }


def branch_by_us(session: Session, start: Any, target: Any, budget: int) -> Answer:
    """One member of pi's answer to `collectAll`, but for the common ancestor."""
    rows = rows_left(session.index, session.row_of(start), session.row_of(target))
    ours = prepare_branch_summary(session, rows, budget)
    return {
        "entryIds": [session.id_of(row) for row in rows],
        "totalTokens": ours.total_tokens,
        "messages": describe_context(ours.messages),
        "conversation": serialize_conversation(ours.messages),
        "files": _files(ours.file_operations),
    }


def branch_by_pi(answer: Answer) -> Answer:
    """The same of pi's answer."""
    messages = answer["messages"]
    told = {name: value for name, value in answer.items() if name != "commonAncestorId"}
    return {
        **told,
        "messages": describe_context(messages),
        "conversation": in_our_words(answer["conversation"], messages),
    }


def in_our_words(conversation: str, messages: Sequence[Any]) -> str:
    """pi's conversation with our words where pi has words of its own."""

    def words(mark: re.Match[str]) -> str:
        paragraph = serialize_conversation([messages[int(mark[1])]])
        assert paragraph.startswith(_USER)
        return paragraph.removeprefix(_USER)

    return _MARK.sub(words, conversation)


def _files(operations: FileOperations) -> Answer:
    lists = compute_file_lists(operations)
    return {
        "read": sorted(operations.read, key=utf16_order),
        "written": sorted(operations.written, key=utf16_order),
        "edited": sorted(operations.edited, key=utf16_order),
        "details": lists.details(),
        "lists": format_file_lists(lists),
    }


KEPT: Final = (0, 1, 50, 200, 2_000, 20_000, 10**9)
"""Values of `keepRecentTokens`: none, little, the ordinary one, more than there is."""


def places_to_ask(session: Session, chance: random.Random, count: int) -> list[Answer]:
    """`{id, keep}` of some compactions, also where the budget just holds and just does not."""
    index = session.index
    rows = list(index.in_order())
    # Behind edits it is told apart whether they took an attempt out.
    edits = [row for row in rows if index.kind[row] == kinds.CONTEXT_EDIT]
    some = [*_some(rows, chance, count), *_some(edits, chance, count)]
    chosen = [*(index.ids[row] for row in some), session.leaf_id, None]
    places = []
    for entry_id in chosen:
        sums = _sums(session, entry_id)
        exact = chance.choice(sums) if sums else 0
        kept = {chance.choice(KEPT), exact, exact + 1, max(exact - 1, 0)}
        places += [{"id": entry_id, "keep": keep} for keep in sorted(kept)]
    return places


def _some(rows: list[int], chance: random.Random, count: int) -> list[int]:
    return chance.sample(rows, min(count, len(rows)))


def _sums(session: Session, entry_id: Any) -> list[int]:
    """What the newest 1, 2, 3… entries that one sees at an entry come to."""
    sums, total = [], 0
    for item in reversed(session.projection(session.row_of(entry_id)).entries):
        total += sum(map(estimate_tokens, item.messages))
        sums.append(total)
    return sums


def moves_to_ask(session: Session, chance: random.Random, count: int) -> list[Answer]:
    """`{from, target, budget}` of some moves: no limit, too small ones, and those that just hold.

    A summary that does not fit is still taken below nine tenths, so that edge is asked too.
    """
    ids = [session.index.ids[row] for row in session.index.in_order()]
    moves: list[Answer] = []
    for _ in range(count if ids else 0):
        start, target = chance.choice([*ids, None]), chance.choice(ids)
        whole = branch_by_us(session, start, target, 0)["totalTokens"]
        part = chance.randint(0, whole)
        budgets = {0, -5, 1, whole, whole + 1, max(whole - 1, 0), part, part * 10 // 9, 111_616}
        moves += [{"from": start, "target": target, "budget": one} for one in sorted(budgets)]
    return moves
