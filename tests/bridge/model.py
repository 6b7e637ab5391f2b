"""A model on loopback that does what a prompt says, for a pi that runs.

A prompt may begin with `[slow:ms]`, `[tool:command]`, `[big:kB]` or `[fail:status]`. Only the
beginning of the last user message counts, since requests for summaries quote the conversation.
`[slowsum:ms]` and `[failsum]` may stand anywhere in one of those: they come with the instructions.
"""

import json
import re
from dataclasses import replace
from typing import Any, Final

from tests.support.model_replies import (
    OPENAI_USAGE,
    OpenAICompletion,
    Pause,
    Reply,
    fails,
    says,
    stream_reply,
)
from tests.support.model_server import Request

MARK: Final = re.compile(r"^\[(slow|tool|big|fail):([^\]]*)\]")
SLOW_SUMMARY: Final = re.compile(r"\[slowsum:(\d+)\]")
SUMMARY: Final = "## Goal\nA summary by the model.\n"

Json = dict[str, Any]


class MarkedModel:
    """What the model was sent, and what it answers: the script of a `ModelServer`."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        """The last user message of each request of a run, in order; the oracle for what the model
        got."""
        self.summaries = 0
        """Requests for summaries."""
        self.bodies: list[Json] = []

    def __call__(self, request: Request) -> Reply:
        body = request.json
        self.bodies.append(body)
        messages = body["messages"]
        said = texts_of(messages)
        if is_summary(messages):
            return self._summary(said)
        last = said[-1] if said else ""
        self.prompts.append(last)
        kind, value = found.groups() if (found := MARK.match(last)) else ("", "")
        if messages[-1]["role"] == "tool" or kind == "":
            return says(f"An answer to: {last[:60]}", usage=usage_of(body))
        if kind == "tool":
            return call_bash(value)
        if kind == "fail":
            return fails(int(value), "invalid_request_error", "a failure on purpose")
        if kind == "big":
            return says("word " * (int(value) * 205), pieces=50, usage=usage_of(body))
        return slowly(says("A slow answer, in time.", pieces=4), int(value) / 1000)

    def _summary(self, said: list[str]) -> Reply:
        self.summaries += 1
        text = "\n".join(said)
        if "[failsum]" in text:
            return fails(400, "invalid_request_error", "a failure on purpose")
        reply = says(SUMMARY)
        slow = SLOW_SUMMARY.search(text)
        return reply.after(Pause(int(slow[1]) / 1000)) if slow else reply


def slowly(reply: Reply, seconds: float) -> Reply:
    """The same answer, half of it after a pause."""

    def torn(whole: Reply) -> Reply:
        first, *rest = whole.steps
        return replace(whole, steps=[first, Pause(seconds), *rest])

    return reply.changed(torn)


def call_bash(command: str) -> Reply:
    """The model calls pi's shell."""
    call = {"index": 0, "id": "call_1", "type": "function"}
    called = {"function": {"name": "bash", "arguments": json.dumps({"command": command})}}
    maker = OpenAICompletion([])
    events = [
        maker.chunk({"role": "assistant", "content": ""}),
        maker.chunk({"tool_calls": [call | called]}),
        maker.chunk({}, "tool_calls"),
        {**maker.chunk({}), "choices": [], "usage": OPENAI_USAGE},
    ]
    return stream_reply(
        [*(f"data: {json.dumps(event)}\n\n" for event in events), "data: [DONE]\n\n"]
    )


def usage_of(body: Json) -> Json:
    """Honest enough for pi to count with: four bytes a token."""
    size = len(json.dumps(body["messages"])) // 4
    return OPENAI_USAGE | {"prompt_tokens": size, "total_tokens": size + 15}


def texts_of(messages: list[Json]) -> list[str]:
    """What users said, in order."""
    return [text_of(one["content"]) for one in messages if one["role"] == "user"]


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content if part.get("type") == "text")


def is_summary(messages: list[Json]) -> bool:
    """Whether pi asks for a summary rather than for an answer."""
    first = text_of(messages[0]["content"]) if messages else ""
    return "context summarization assistant" in first
