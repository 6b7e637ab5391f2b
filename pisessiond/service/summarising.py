"""Having the texts of a summary written: with which settings, by whom, and all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio

from pisessiond.core.errors import BadSetting
from pisessiond.core.models_named import find_model
from pisessiond.core.session import Session
from pisessiond.core.summary_task import SummaryTask
from pisessiond.core.summary_text import sum_usage
from pisessiond.models.base import ModelName
from pisessiond.service.asking import lender
from pisessiond.service.held_session import HeldSession
from pisessiond.service.operations import Operation
from pisessiond.service.settings import FolderSettings, folder_of
from pisessiond.service.storing import in_worker
from pisessiond.service.types import REPAIR
from pisessiond.summarizers.base import Summarizer, Written

UNKNOWN_WINDOW: Final = 128_000
"""The window counted with where nobody knows it, as pi does."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a summary is wanted."""

    instructions: str | None = None
    """The user's own words for the writer."""
    replaces_instructions: bool = False
    """They stand instead of the usual sections."""
    summarizer: str | None = None
    """Who is to write, by name; None: whoever the settings say."""


async def read_settings(held: HeldSession) -> FolderSettings:
    """What the settings say for the session's folder, whether or not they mean something."""
    folder = folder_of(held.session.cwd, held.path)
    return await in_worker(partial(held.surroundings.settings.for_folder, folder), abandon=True)


async def sound_settings(held: HeldSession) -> FolderSettings:
    """The same, where they mean something whatever the model.

    Raises:
        BadSetting: they do not.
    """
    settings = await read_settings(held)
    refuse(settings.problem)
    return settings


def refuse(problem: BadSetting | None) -> None:
    """Raises: BadSetting: there is one."""
    if problem is not None:
        # The same error may be raised many times; what it has gone through is not kept.
        raise problem.with_traceback(None)


def model_at(session: Session, row: int) -> ModelName | None:
    """The model a session stands at; None before any was named. Reads bodies."""
    named = find_model(session, row, {})
    return None if named is None else ModelName(*named)


async def window_of(held: HeldSession, model: ModelName | None) -> int | None:
    """The context window of a model in tokens; None when it is unknown."""
    if model is None:
        return None
    models = held.surroundings.models
    facts = models.known(model)
    return (facts if facts is not None else await models.look_up(model)).window


async def window_to_fill(held: HeldSession, writer: Summarizer, model: ModelName | None) -> int:
    """The window a branch is cut to in tokens: the writer's, else that of the session's model."""
    return writer.facts.window or await window_of(held, model) or UNKNOWN_WINDOW


async def choose_writer(
    held: HeldSession, name: str | None, model: ModelName | None, operation: Operation | None
) -> Summarizer:
    """Whoever writes for a session that stands at this model.

    Args:
        held: the session.
        name: who is wanted; None: whoever the settings say.
        model: the session's.
        operation: what the summary is for; None where nothing is to be written, so that no
            command of the user's runs for a key.

    Raises:
        NoSummarizer: nobody does.
    """
    origin = REPAIR if operation is None else operation.origin
    operation_id = "" if operation is None else operation.id
    lend = lender(held.subscribers, origin, held.handle, operation_id)
    return await held.surroundings.summarizers.choose(
        name, model, lend, to_write=operation is not None
    )


async def write_all(
    writer: Summarizer, tasks: Sequence[SummaryTask], received: Callable[[int], None]
) -> list[Written]:
    """The texts for these tasks, written side by side; when one fails the others are ended.

    Args:
        writer: who writes.
        tasks: what is asked for.
        received: told how many UTF-16 code units of all of them have come.

    Raises:
        SummaryFailed: one of them could not be had.
    """
    written: list[Written | None] = [None] * len(tasks)
    counts = [0] * len(tasks)
    failures: list[Exception] = []

    async with anyio.create_task_group() as group:

        async def write(at: int, task: SummaryTask) -> None:
            def came(count: int) -> None:
                counts[at] = count
                received(sum(counts))

            try:
                written[at] = await writer.write(task, came)
            except Exception as error:  # noqa: BLE001 - raised below, alone and not in a group
                failures.append(error)
                group.cancel_scope.cancel()

        for at, task in enumerate(tasks):
            group.start_soon(write, at, task)
    if failures:
        raise failures[0]
    return [text for text in written if text is not None]


def usage_of(written: Sequence[Written]) -> dict[str, object] | None:
    """What writing these texts used together; None where nobody tells."""
    return sum_usage(text.usage for text in written)
