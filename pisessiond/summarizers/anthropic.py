"""Anthropic's Messages, streamed: the request, and how its events become an answer.

Nothing is written to the prompt cache, no tool is offered and no thinking asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pisessiond.core.summary_task import Prompt
from pisessiond.models.endpoints import Endpoint
from pisessiond.summarizers.answers import (
    Answer,
    NotUnderstood,
    ProviderError,
    Stop,
    as_mapping,
    count,
    read_object,
)
from pisessiond.summarizers.sse import Event

PATH: Final = "/v1/messages"
HEADERS: Final = {"anthropic-version": "2023-06-01"}
"""Those of this format beside those of every request."""

_STOPS: Final[dict[str, Stop]] = {
    "end_turn": "whole",
    "stop_sequence": "whole",
    "max_tokens": "length",
    "model_context_window_exceeded": "overflow",
    "tool_use": "toolCall",
    "refusal": "refusal",
    # Not in Anthropic's types; seen from servers that speak its format (pi 1.6.0, mapStopReason).
    "sensitive": "refusal",
    # Only where the server runs tools of its own, and none is asked for.
    "pause_turn": "paused",
}

_COUNTS: Final = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cacheRead",
    "cache_creation_input_tokens": "cacheWrite",
}


def body(endpoint: Endpoint, prompt: Prompt, max_tokens: int) -> dict[str, Any]:
    """The request."""
    return {
        "model": endpoint.model,
        "max_tokens": max_tokens,
        "system": prompt.system,
        "messages": [{"role": "user", "content": prompt.user}],
        "stream": True,
    }


class MessagesAnswer(Answer):
    """An answer of Messages."""

    def take(self, event: Event) -> None:
        if event.name == "ping":
            self.said_something = True
            return
        data = read_object(event)
        kind = data.get("type", event.name)
        if kind == "error":
            raise ProviderError(data)
        self.said_something = True
        if kind == "message_start":
            self._count(as_mapping(data.get("message")).get("usage"))
        elif kind == "content_block_start":
            self._take_block(data.get("content_block"))
        elif kind == "content_block_delta":
            delta = as_mapping(data.get("delta"))
            if delta.get("type") == "text_delta":
                self.say(delta.get("text"))
        elif kind == "message_delta":
            self.end(as_mapping(data.get("delta")).get("stop_reason"), _STOPS)
            self._count(data.get("usage"))
        elif kind == "message_stop":
            self.is_over = True

    def take_whole(self, body: Mapping[str, Any]) -> None:
        if body.get("type") == "error" or body.get("error"):
            raise ProviderError(body)
        content = body.get("content")
        if not isinstance(content, list):
            raise NotUnderstood("the answer is no message")
        self.said_something = True
        for block in content:
            self._take_block(block)
        self.end(body.get("stop_reason"), _STOPS)
        self._count(body.get("usage"))

    def _take_block(self, block: Any) -> None:
        block = as_mapping(block)
        if block.get("type") == "text":
            self.say(block.get("text"))
        elif block.get("type") in ("tool_use", "server_tool_use", "mcp_tool_use"):
            self.calls_tool = True

    def _count(self, usage: Any) -> None:
        """Note the counts that are told; later ones are for all of it and replace earlier ones."""
        usage = as_mapping(usage)
        if not usage:
            return
        counts = self.usage or dict.fromkeys(_COUNTS.values(), 0)
        counts |= {
            ours: count(usage[theirs])
            for theirs, ours in _COUNTS.items()
            if usage.get(theirs) is not None
        }
        thinking = as_mapping(usage.get("output_tokens_details")).get("thinking_tokens")
        if thinking is not None:
            counts["reasoning"] = count(thinking)
        counts["totalTokens"] = sum(counts[name] for name in _COUNTS.values())
        self.usage = counts
