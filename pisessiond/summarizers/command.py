"""A program of the user's own that writes summaries: prompt in, summary out.

Which program stands in the user's settings alone, never in a project folder or a request. It is
given the prompt on its standard input, the system part, a blank line and the user part, and
answers on its standard output. It sees the daemon's environment and an empty folder.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Mapping, Sequence
from typing import Final

from anyio import to_thread

from pisessiond.core.javascript import trim, utf16_length
from pisessiond.core.summary_prompts import make_prompt
from pisessiond.core.summary_task import SummaryTask
from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName
from pisessiond.summarizers.base import Received, SummaryFailed, Written
from pisessiond.summarizers.process import Ended, Program, run_program
from pisessiond.summarizers.quoting import quote, secrets_of

OUTPUT_LIMIT: Final = 1 << 20
"""Bytes that a program may write; no summary is that long."""


class CommandSummarizer:
    """Runs a program for each text."""

    model: ModelName | None = None
    is_extract = False

    def __init__(
        self,
        name: str,
        program: Sequence[str],
        *,
        seconds: float,
        facts: ModelFacts = UNKNOWN,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`environment` is what the program sees instead of the daemon's own."""
        self.name = name
        self.facts = facts
        self._program = Program(
            name,
            tuple(program),
            dict(os.environ if environment is None else environment),
            seconds,
            OUTPUT_LIMIT,
        )

    async def write(self, task: SummaryTask, received: Received) -> Written:
        """What the program wrote.

        Raises:
            SummaryFailed: it could not be run, failed, took too long, wrote nothing or too much.
        """
        prompt = await to_thread.run_sync(make_prompt, task)
        text = f"{prompt.system}\n\n{prompt.user}\n".encode()
        output = _Output(received)
        ended = await run_program(self._program, text, output.take)
        if ended.code != 0:
            raise self._program.failed(_failure(self._program, ended, text.decode()))
        summary = trim(output.text())
        if not summary:
            raise SummaryFailed(
                self.name,
                "empty",
                f"{self._program.title} ended without writing a summary to its standard output. "
                "Try it by hand, or name another summarizer.",
            )
        return Written(summary)


class _Output:
    """Text that comes as UTF-8, cut anywhere."""

    def __init__(self, received: Received) -> None:
        self._received = received
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pieces: list[str] = []
        self._units = 0

    def take(self, piece: bytes) -> bool:
        text = self._decoder.decode(piece)
        self._pieces.append(text)
        self._units += utf16_length(text)
        self._received(self._units)
        return False

    def text(self) -> str:
        return "".join(self._pieces) + self._decoder.decode(b"", final=True)


def _failure(program: Program, ended: Ended, prompt: str) -> str:
    code = ended.code or 0
    how = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
    last = ended.complaints[-1] if ended.complaints else ""
    said = quote(last, secrets=secrets_of(program.environment), private=(prompt,))
    told = f": {said}" if said else ""
    return f"{program.title} {how}{told}. Try it by hand, or name another summarizer."
