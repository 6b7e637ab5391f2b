"""Trying again what failed for the moment, with longer and longer waits between.

Only what is `is_transient` is tried again. Clock, sleep and chance are handed in.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import anyio

from pisessiond.core.pi_settings import RetrySettings
from pisessiond.summarizers.base import FailureReason

T = TypeVar("T")

_logger: Final = logging.getLogger(__name__)


class Failure(Exception):
    """One try failed."""

    def __init__(
        self,
        reason: FailureReason,
        sentence: str,
        *,
        is_transient: bool = False,
        wait: float | None = None,
    ) -> None:
        """`sentence` says what happened and what to do, and holds neither keys nor content."""
        super().__init__(sentence)
        self.reason: FailureReason = reason
        self.sentence = sentence
        self.is_transient = is_transient
        """Whether the same may work in a moment."""
        self.wait = wait
        """Seconds that the server asks to wait; None where it does not say."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after which waits; the defaults are those of pi's `retry` settings."""

    retries: int = 3
    """How many tries follow the first (pi: `retry.maxRetries`; 0 with `retry.enabled: false`)."""
    base_delay: float = 2.0
    """Seconds before the second try, doubled before each further one (`retry.baseDelayMs`)."""
    max_delay: float = 60.0
    """The longest of these waits in seconds (`retry.maxAgentDelayMs`)."""
    max_requested_delay: float = 60.0
    """The longest wait that a server may ask for (`retry.provider.maxRetryDelayMs`), in seconds;
    infinity for no limit. Beyond it the failure is told at once."""

    @classmethod
    def of(cls, settings: RetrySettings) -> RetryPolicy:
        """What pi's settings say."""
        return cls(
            retries=settings.max_retries if settings.enabled else 0,
            base_delay=settings.base_delay_ms / 1000,
            max_delay=settings.max_agent_delay_ms / 1000,
            max_requested_delay=settings.max_retry_delay_ms / 1000 or math.inf,
        )


@dataclass(frozen=True, slots=True)
class Pacing:
    """Time and chance."""

    now: Callable[[], float] = time.time
    """Seconds since 1970, for servers that name a date."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    chance: Callable[[], float] = random.random
    """From 0 to below 1; takes up to a quarter off a wait, so that many do not come at once."""


async def with_retries(
    attempt: Callable[[], Awaitable[T]], policy: RetryPolicy, pacing: Pacing, name: str
) -> T:
    """What the first try that works gives.

    Args:
        attempt: one try, from the beginning.
        policy: how often and how soon.
        pacing: time and chance.
        name: who is tried, for the log.

    Raises:
        Failure: the last try failed, or one in a way that no other try would mend, or there is no
            time left for the wait before the next.
    """
    tries = 0
    while True:
        try:
            return await attempt()
        except Failure as failure:
            tries += 1
            if not failure.is_transient:
                raise
            if tries > policy.retries:
                raise _told_in_full(failure, tries) from failure
            wait = _wait_before_next(failure, tries, policy, pacing)
            now, deadline = anyio.current_time(), anyio.current_effective_deadline()
            # What failed is told rather than that the time ran out over waiting. A deadline that
            # is past is that of a scope which was cancelled.
            if now < deadline <= now + wait:
                raise _told_in_full(failure, tries) from failure
            _logger.info("%s failed (%s); again in %.1f s", name, failure.reason, wait)
        await pacing.sleep(wait)


def _wait_before_next(failure: Failure, tries: int, policy: RetryPolicy, pacing: Pacing) -> float:
    if failure.wait is not None:
        if failure.wait > policy.max_requested_delay:
            raise Failure(
                failure.reason,
                f"{failure.sentence} The server asks to wait {spell_seconds(failure.wait)}, which "
                "is longer than is waited here.",
            ) from failure
        return failure.wait
    # The exponent is bounded so that a large number of tries is no overflow.
    delay = min(policy.base_delay * 2.0 ** min(tries - 1, 60), policy.max_delay)
    return delay * (1 - pacing.chance() / 4)


def _told_in_full(failure: Failure, tries: int) -> Failure:
    times = "once" if tries == 1 else f"{tries} times"
    return Failure(failure.reason, f"{failure.sentence} It was tried {times}.")


def requested_wait(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that a server asks to wait, by `retry-after-ms` or `retry-after`.

    The latter is a number of seconds or a date. None when neither is there or makes sense.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    import email.utils

    try:
        date = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, date.timestamp() - now)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


def spell_seconds(seconds: float) -> str:
    """A wait in words, rounded up: `45 seconds`, `7 minutes`, `3 hours`."""
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size or size == 1:
            number = math.ceil(seconds / size)
            return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
    raise AssertionError
