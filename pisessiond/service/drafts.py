"""Summaries of compactions that were written and are not stored, while a person looks at them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, Final

from pisessiond.service.cutting import Cut
from pisessiond.service.errors import InvalidRequest

KEPT_AT_MOST: Final = 4
"""Drafts a session keeps; the oldest goes when another is written."""

_UNKNOWN = 'is none that is kept here; ask for a new one with dryRun "summary".'
_OUTDATED = 'the branch has changed since it was written; ask for a new one with dryRun "summary".'


@dataclass(frozen=True, slots=True)
class KeptDraft:
    """One of them."""

    made: Cut
    """What is cut; without the messages, which are needed for writing only."""
    details: dict[str, Any]
    usage: dict[str, Any] | None


class Drafts:
    """The newest few of one session."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, KeptDraft] = OrderedDict()
        self._count = 0

    def keep(self, draft: KeptDraft, epoch: str) -> str:
        """Keep it; the name to ask for it by."""
        self._count += 1
        name = f"{epoch}.{self._count}"
        self._kept[name] = draft
        if len(self._kept) > KEPT_AT_MOST:
            self._kept.popitem(last=False)
        return name

    def find(self, name: str) -> KeptDraft:
        """The draft of that name.

        Raises:
            InvalidRequest: there is none.
        """
        found = self._kept.get(name)
        if found is None:
            raise InvalidRequest("draft", _UNKNOWN)
        return found

    def drop(self, name: str) -> None:
        """It is stored, and not needed any more."""
        self._kept.pop(name, None)


def without_messages(made: Cut) -> Cut:
    """The same cut, as it is kept."""
    preparation = replace(made.plan.preparation, messages_to_summarize=(), turn_prefix_messages=())
    return replace(made, plan=replace(made.plan, preparation=preparation))


def outdated() -> InvalidRequest:
    """The refusal of a draft whose cut no longer holds."""
    return InvalidRequest("draft", _OUTDATED)
