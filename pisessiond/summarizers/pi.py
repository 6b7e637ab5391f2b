"""Summaries by pi itself, so that subscriptions and every provider that pi knows work.

pi 1.6.0 is run for one prompt, in an empty folder and with nothing of its own switched on: no
session, no tools, no extensions, no files of a project. It keeps its logins and settings, so its
retries hold too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from anyio import to_thread

from pisessiond.core.javascript import trim
from pisessiond.core.summary_prompts import make_prompt
from pisessiond.core.summary_task import Prompt, SummaryTask
from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName
from pisessiond.summarizers.base import FailureReason, Received, SummaryFailed, Written
from pisessiond.summarizers.http_failures import reason_of
from pisessiond.summarizers.pi_events import Message, PiEvents
from pisessiond.summarizers.process import Ended, Program, run_program
from pisessiond.summarizers.quoting import quote, secrets_of

# `--append-system-prompt ""` keeps out what the user adds to pi's own prompt (APPEND_SYSTEM.md).
_SWITCHES: Final = (
    "--print --mode json --no-session --no-tools --no-extensions --no-skills "
    "--no-prompt-templates --no-themes --no-context-files --no-approve --thinking off"
).split()

_OUTPUT_LIMIT: Final = 64 << 20
"""Bytes of events beside the prompt, which pi repeats a few times."""
_REPEATS: Final = 16

_STATUS: Final = re.compile(r"\b([45]\d\d)\b")
_REFUSED: Final = frozenset({"content_filter", "refusal", "sensitive"})
_FAULT: Final = re.compile(r"\w*Error\b")
_NO_LOGIN: Final = re.compile(r"api key|/login|credential", re.IGNORECASE)


class PiSummarizer:
    """Runs pi for each text."""

    is_extract = False

    def __init__(
        self,
        name: str,
        model: ModelName | None,
        *,
        agent_dir: Path,
        program: Sequence[str] = ("pi",),
        seconds: float,
        facts: ModelFacts = UNKNOWN,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`model` is None for the one pi starts with; `program` may carry arguments of its own.

        `environment` is what pi sees instead of the daemon's own.
        """
        self.name = name
        self.model = model
        self.facts = facts
        self._program = tuple(program)
        self._seconds = seconds
        seen = os.environ if environment is None else environment
        self._environment = {
            **seen,
            "PI_CODING_AGENT_DIR": str(agent_dir),
            "PI_SKIP_VERSION_CHECK": "1",
        }

    async def write(self, task: SummaryTask, received: Received) -> Written:
        """What the model wrote, by pi's account.

        Raises:
            SummaryFailed: pi could not be run, or what it has is no whole text.
        """
        prompt = await to_thread.run_sync(make_prompt, task)
        text = prompt.user.encode()
        program = Program(
            self.name,
            self._arguments(prompt),
            self._environment,
            self._seconds,
            _OUTPUT_LIMIT + _REPEATS * len(text),
        )
        events = PiEvents(received)
        ended = await run_program(program, text, events.take)
        answer = events.answer
        if events.calls_tool:
            raise self._failed(
                "toolCall", "The model called a tool instead of writing. Name another summarizer."
            )
        if answer is None:
            raise self._no_answer(program, ended, prompt)
        failure = self._unusable(answer, prompt)
        if failure is not None:
            raise failure
        return Written(trim(answer.text), events.usage, _model_of(answer) or self.model)

    def _arguments(self, prompt: Prompt) -> list[str]:
        chosen = self.model
        # Apart, so that a slash or a colon in the id is nothing but a character.
        model = [] if chosen is None else ["--provider", chosen.provider, "--model", chosen.model]
        asked = ["--system-prompt", prompt.system, "--append-system-prompt", ""]
        return [*self._program, *_SWITCHES, *model, *asked]

    def _no_answer(self, program: Program, ended: Ended, prompt: Prompt) -> SummaryFailed:
        """From what stands on standard error: first what is wrong, then where to read more."""
        told = [line for line in ended.complaints if not line.startswith("Warning")]
        # Node shows the place of a fault before it names it.
        first = next((line for line in told if _FAULT.match(line)), told[0] if told else "")
        said = self._quoted(first, prompt)
        if _NO_LOGIN.search(first):
            return self._failed("auth", f"pi has no key or login for it{said}. Log in with pi.")
        how = "ended" if not ended.code else f"failed with exit code {ended.code}"
        return program.failed(
            f"{program.title} {how} before there was an answer{said}. Try `pi -p hello` by hand."
        )

    def _unusable(self, answer: Message, prompt: Prompt) -> SummaryFailed | None:
        if answer.stop_reason in ("error", "aborted"):
            return self._error(answer, prompt)
        if answer.stop_reason == "length":
            return self._failed(
                "length",
                "The summary was cut off because the model reached its limit. Name a summarizer "
                "that writes longer answers, or compact less at once.",
            )
        if answer.stop_reason != "stop":
            return self._failed("protocol", "pi's answer did not come to an end. Try again.")
        if not trim(answer.text):
            return self._failed("empty", "The model wrote nothing. Name another summarizer.")
        return None

    def _error(self, answer: Message, prompt: Prompt) -> SummaryFailed:
        message = answer.error_message or ""
        status = _STATUS.search(message[:200])
        reason = reason_of(message, int(status[1]) if status else None)
        if answer.raw_stop_reason in _REFUSED or any(word in message for word in _REFUSED):
            reason = "refusal"
        # Which key was refused is not known here, so that it could not be cut out of the quotation.
        said = "" if reason == "auth" else self._quoted(message, prompt)
        step = _NEXT.get(reason, _TRY_AGAIN)
        return self._failed(reason, f"pi got no summary from the model{said}. {step}")

    def _quoted(self, message: str, prompt: Prompt) -> str:
        secrets = secrets_of(self._environment)
        quoted = quote(message, secrets=secrets, private=(prompt.user, prompt.system))
        return f": {quoted}" if quoted else ""

    def _failed(self, reason: FailureReason, sentence: str) -> SummaryFailed:
        return SummaryFailed(self.name, reason, sentence)


_NEXT: Final[dict[FailureReason, str]] = {
    "overflow": "Name a summarizer with a larger window.",
    "auth": "Its key or login was refused: log in with pi again.",
    "quota": "Look at your account there.",
    "refusal": "Name another summarizer, or give the summary.",
}
_TRY_AGAIN: Final = "Try again later, or name another summarizer."


def _model_of(answer: Message) -> ModelName | None:
    if answer.provider is None or answer.model is None:
        return None
    return ModelName(answer.provider, answer.model)
