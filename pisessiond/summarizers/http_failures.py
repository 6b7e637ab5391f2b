"""What a provider's error means: the reason, the sentence with the next step, and whether to retry.

Providers share status codes but not words. The words that are known stand here in tables, from
their documentation and from pi 1.6.0's `utils/overflow` and `utils/retry`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from pisessiond.core.summary_task import Prompt
from pisessiond.models.endpoints import Endpoint
from pisessiond.summarizers.base import FailureReason
from pisessiond.summarizers.quoting import ErrorText, quote, read_error
from pisessiond.summarizers.retrying import Failure

TRANSIENT_STATUSES: Final = frozenset({408, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""520, 522 and 524 are Cloudflare's for a server behind it that does not answer; 529 Anthropic's
for too much to do."""

_OVERLOADED: Final = frozenset({429, 503, 529})
_TIMED_OUT: Final = frozenset({408, 504, 522, 524})

_TRANSIENT_WORDS: Final = frozenset(
    "overloaded_error rate_limit_error api_error timeout_error rate_limit_exceeded server_error "
    "internal_server_error server_busy service_unavailable unavailable resource_exhausted".split()
)
_OVERLOADED_WORDS: Final = frozenset(
    "overloaded_error rate_limit_error rate_limit_exceeded server_busy service_unavailable "
    "unavailable resource_exhausted".split()
)
_AUTH_WORDS: Final = frozenset(
    "authentication_error permission_error invalid_api_key unauthenticated permission_denied "
    "invalid_authentication_error".split()
)
_QUOTA_WORDS: Final = frozenset(
    "billing_error insufficient_quota billing_not_active billing_hard_limit_reached "
    "insufficient_balance payment_required gousagelimiterror freeusagelimiterror "
    "subscription_sharing_usage_limit_exceeded 1308".split()
)
_OVERFLOW_WORDS: Final = frozenset(
    "context_length_exceeded request_too_large exceed_context_size_error context_window_exceeded "
    "model_context_window_exceeded string_above_max_length".split()
)
_REFUSAL_WORDS: Final = frozenset(
    "content_filter content_policy_violation content_filtered moderation_blocked".split()
)
_NOT_FOUND_WORDS: Final = frozenset({"not_found_error", "model_not_found"})


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_OVERFLOW: Final = _pattern(
    r"prompt (?:is )?too long",  # Anthropic, z.ai, Ollama
    r"prompt exceeds max length",
    r"input is too long",  # Bedrock
    r"context[ _](?:length|window|size)[ _](?:limit )?(?:is )?exceed",  # OpenAI, LiteLLM
    r"exceeds? (?:the |this |its )?(?:available |model'?s? )*(?:maximum )?context",
    r"exceeds? (?:the )?maximum allowed input length",  # OpenRouter, Poolside
    r"maximum context length is",  # OpenAI, OpenRouter, vLLM
    r"maximum prompt length is",  # xAI
    r"token count.{0,40}exceeds the (?:maximum|limit)",  # Google, Copilot
    r"reduce the length of the messages",  # Groq
    r"longer than the model'?s context length",  # Together
    r"greater than the context length",  # LM Studio
    r"context window exceeds limit",  # MiniMax
    r"exceeded model token limit",  # Kimi
    r"too large for model with \d+ maximum context length",  # Mistral
    r"but the configured context size is",
    r"range of input length should be",  # DashScope
    r"request too large for",  # OpenAI and Groq: no wait makes it fit the limit of a minute
    r"too many tokens",
    r"token limit exceeded",
)
# "Too many tokens, please wait" is Bedrock's for a rate.
_IS_RATE: Final = _pattern(r"rate limit", r"too many requests", r"throttl", r"please wait")
_QUOTA: Final = _pattern(
    r"credit balance is too low",  # Anthropic, with status 400
    r"exceeded your current quota",  # OpenAI, Google
    r"insufficient[ _](?:quota|balance|credits?|funds)",
    r"(?:requires|need) more credits",
    r"usage limit reached",
    r"out of (?:budget|credits?)",
    r"quota exceeded",
    r"available balance",
)
_BAD_KEY: Final = _pattern(
    # Google answers 400 to a wrong key.
    r"(?:invalid|incorrect|missing|wrong|no) (?:x-)?api[ _-]?key",
    r"api[ _-]?key (?:is )?(?:not valid|invalid|missing|not provided|required|expired)",
)
_MODERATED: Final = _pattern(r"moderation", r"flagged", r"content[ _](?:filter|policy)")
_TRANSIENT: Final = _pattern(
    r"overloaded",
    r"currently (?:busy|experiencing high demand)",
    r"temporarily unavailable",
    r"(?:provider|upstream).{0,20}returned (?:an )?error",
    r"connection (?:closed|lost|reset|refused|error)",
    r"(?:you can|please) retry your request",
    r"timed? ?out",
)


@dataclass(frozen=True)
class Asked:
    """Who was asked for what: all that a sentence may need."""

    name: str
    """The summarizer, as it was chosen."""
    host: str
    """Of the base URL, without user, path and query."""
    endpoint: Endpoint
    prompt: Prompt
    max_tokens: int

    @property
    def who(self) -> str:
        """The summarizer and its server, as sentences name them."""
        return f"{self.name} ({self.host})"

    def quote(self, message: str) -> str:
        """The provider's words in quotation marks behind a colon, or nothing."""
        key = self.endpoint.key
        secrets = [value for value in self.endpoint.headers.values() if len(value) >= 8]
        secrets += [key.reveal()] if key is not None else []
        quoted = quote(message, secrets=secrets, private=(self.prompt.user, self.prompt.system))
        return f": {quoted}" if quoted else ""


def failure_of(
    asked: Asked, body: Any, *, status: int | None = None, wait: float | None = None
) -> Failure:
    """What an error is: one that came instead of an answer, or in the middle of a stream.

    Args:
        asked: who was asked.
        body: the error as read from JSON, its text, or None.
        status: of the response; None within a stream, where the error may name one.
        wait: seconds that the response asks to wait.
    """
    error = read_error(body)
    status = error.status if status is None or status < 400 else status
    reason = _reason(error, status)
    is_transient = _is_transient(error, status, reason)
    if reason == "error" and is_transient:
        reason = _transient_reason(error, status)
    sentence = _sentence(asked, reason, error, status)
    return Failure(reason, sentence, is_transient=is_transient, wait=wait)


def reason_of(body: Any, status: int | None) -> FailureReason:
    """Why it failed, for whoever has sentences of their own."""
    error = read_error(body)
    reason = _reason(error, status)
    if _is_transient(error, status, reason):
        return _transient_reason(error, status)
    return reason


def _reason(error: ErrorText, status: int | None) -> FailureReason:
    words, message = error.words, error.message
    if words & _OVERFLOW_WORDS or status == 413:
        return "overflow"
    if _OVERFLOW.search(message) and not _IS_RATE.search(message):
        return "overflow"
    if status == 402 or words & _QUOTA_WORDS or _QUOTA.search(message):
        return "quota"
    if words & _REFUSAL_WORDS or (status == 403 and _MODERATED.search(message)):
        # OpenRouter answers 403 to what a provider's moderation flags.
        return "refusal"
    if status in (401, 403) or words & _AUTH_WORDS or _BAD_KEY.search(message):
        return "auth"
    return "error"


def _is_transient(error: ErrorText, status: int | None, reason: FailureReason) -> bool:
    if reason != "error":
        return False
    if status is not None:
        return status in TRANSIENT_STATUSES
    return bool(error.words & _TRANSIENT_WORDS or _TRANSIENT.search(error.message))


def _transient_reason(error: ErrorText, status: int | None) -> FailureReason:
    if status in _OVERLOADED or error.words & _OVERLOADED_WORDS:
        return "overloaded"
    return "timeout" if status in _TIMED_OUT or "timeout_error" in error.words else "error"


def _sentence(asked: Asked, reason: FailureReason, error: ErrorText, status: int | None) -> str:
    who, quoted = asked.who, asked.quote(error.message)
    code = f" with status {status}" if status is not None else ""
    if reason == "overflow":
        return (
            f"The text to summarise is more than {who} takes{quoted}. "
            "Name a summarizer with a larger window."
        )
    if reason == "quota":
        return (
            f"{who} answered that no credit or quota is left{quoted}. Look at your account there."
        )
    if reason == "auth":
        return _auth_sentence(asked, status)
    if reason == "refusal":
        return f"{who} declined the request{quoted}. Name another summarizer, or give the summary."
    if reason == "overloaded":
        return f"{who} has too much to do{quoted}. Try again later, or name another summarizer."
    if reason == "timeout":
        return f"{who} ran out of time{code}{quoted}. Try again later, or name another summarizer."
    if status == 404 or error.words & _NOT_FOUND_WORDS:
        return (
            f"{who} knows no such model or address{quoted}. "
            "Look at the model's name and at the base URL."
        )
    if _is_transient(error, status, "error"):
        return f"{who} failed{code}{quoted}. Try again later, or name another summarizer."
    return f"{who} refused the request{code}{quoted}. Look at the model's settings."


def _auth_sentence(asked: Asked, status: int | None) -> str:
    # The provider's words are left out: some repeat a part of the key.
    code = f" (status {status})" if status is not None else ""
    key = asked.endpoint.key
    if key is not None:
        return f"{asked.who} refused the key from {key.source}{code}. Look at the key there."
    if asked.endpoint.headers:
        return f"{asked.who} refused the request{code}. Look at the headers in its settings."
    return f"{asked.who} wants a key{code}, and none is set. Set one, or name another summarizer."
