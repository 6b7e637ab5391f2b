"""OpenAI's Chat Completions, streamed, as OpenAI and many compatible servers speak it.

No tool is offered and no reasoning asked for. What servers do differently is known from pi's
`compat` settings (in `Endpoint`) or taken as it comes: usage in the last choice, text in parts, a
whole answer instead of a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

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

PATH: Final = "/chat/completions"
HEADERS: Final[dict[str, str]] = {}
"""Those of this format beside those of every request."""

_STOPS: Final[dict[str, Stop]] = {
    "stop": "whole",
    "end": "whole",
    "eos": "whole",
    "length": "length",
    "max_tokens": "length",
    # Mistral's word for a full window; z.ai's is the next.
    "model_length": "overflow",
    "model_context_window_exceeded": "overflow",
    "tool_calls": "toolCall",
    "function_call": "toolCall",
    "content_filter": "refusal",
    "sensitive": "refusal",
    # OpenRouter, z.ai, vLLM and DeepSeek when their own server gave up.
    "error": "broken",
    "network_error": "broken",
    "abort": "broken",
    "insufficient_system_resource": "broken",
}


def body(endpoint: Endpoint, prompt: Prompt, max_tokens: int) -> dict[str, Any]:
    """The request; what the user wants merged into it does not replace what makes it ours."""
    asked: dict[str, Any] = {
        **endpoint.sampling,
        "model": endpoint.model,
        "messages": [
            {"role": endpoint.system_role, "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ],
        endpoint.max_tokens_field: max_tokens,
        "stream": True,
    }
    if endpoint.supports_usage_in_streaming:
        asked["stream_options"] = {"include_usage": True}
    return asked


class CompletionAnswer(Answer):
    """An answer of Chat Completions."""

    def take(self, event: Event) -> None:
        if event.data.strip() == "[DONE]":
            self.is_over = True
            return
        chunk = read_object(event)
        if event.name == "error" or chunk.get("error") or chunk.get("object") == "error":
            raise ProviderError(chunk)
        self._take(chunk)

    def take_whole(self, body: Mapping[str, Any]) -> None:
        if body.get("error") or body.get("object") == "error":
            raise ProviderError(body)
        if not isinstance(body.get("choices"), list):
            raise NotUnderstood("the answer is no completion")
        self._take(body)

    def _take(self, chunk: Mapping[str, Any]) -> None:
        self._count(chunk.get("usage"))
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            return
        self.said_something = True
        choice = as_mapping(choices[0] if choices else None)
        if not chunk.get("usage"):
            # Moonshot tells it here.
            self._count(choice.get("usage"))
        self._take_message(as_mapping(choice.get("delta") or choice.get("message")))
        self.end(choice.get("finish_reason"), _STOPS)

    def _take_message(self, message: Mapping[str, Any]) -> None:
        content = message.get("content")
        if isinstance(content, list):
            # Mistral's reasoning models send parts, some of them thinking.
            for part in map(as_mapping, content):
                if part.get("type") == "text":
                    self.say(part.get("text"))
        else:
            self.say(content)
        self.refuses = self.refuses or bool(message.get("refusal"))
        called = message.get("tool_calls") or message.get("function_call")
        self.calls_tool = self.calls_tool or bool(called)

    def _count(self, usage: Any) -> None:
        """Note the counts, as pi 1.6.0's `parseChunkUsage` maps them."""
        usage = as_mapping(usage)
        if not usage:
            return
        details = as_mapping(usage.get("prompt_tokens_details"))
        told = (
            details.get("cached_tokens"),
            # DeepSeek's place for it, and Kimi's.
            usage.get("prompt_cache_hit_tokens"),
            usage.get("cached_tokens"),
        )
        read = count(next((value for value in told if value is not None), 0))
        write = count(details.get("cache_write_tokens"))
        fresh = max(0, count(usage.get("prompt_tokens")) - read - write)
        output = count(usage.get("completion_tokens"))
        thinking = as_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")
        self.usage = {
            "input": fresh,
            "output": output,
            "cacheRead": read,
            "cacheWrite": write,
            "reasoning": count(thinking) or count(usage.get("reasoning_tokens")),
            "totalTokens": fresh + output + read + write,
        }
        self.reported_cost = _reported_cost(usage)


_UPSTREAM_PARTS: Final = ("prompt", "completions")


def _reported_cost(usage: Mapping[str, Any]) -> float | None:
    """What OpenRouter says the call costs in dollars, the user's own key at a provider included."""
    cost, details = usage.get("cost"), as_mapping(usage.get("cost_details"))
    if not _is_cost(cost):
        return None
    if usage.get("is_byok") is False:
        return float(cost)
    if usage.get("is_byok") is not True or "upstream_inference_cost" not in details:
        return None
    upstream = details["upstream_inference_cost"]
    if upstream is None:
        parts = [details.get(f"upstream_inference_{part}_cost") for part in _UPSTREAM_PARTS]
        upstream = sum(parts) if all(map(_is_cost, parts)) else None
    return float(cost) + float(upstream) if _is_cost(upstream) else None


def _is_cost(value: Any) -> TypeGuard[int | float]:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and 0 <= value < 1e9
