"""What of a provider's own words may be shown: one short line, without our key and our prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

MAX_QUOTE: Final = 200
"""The most characters of a quotation."""

_SHORTEST_SECRET: Final = 4
"""What is shorter is no key but a word like `x`, which a server asks for and does not look at."""

_ECHO: Final = 24
"""So many characters in common with the prompt are an echo of it, not chance."""

_MOST_READ: Final = 4000
"""So many characters of a message are looked at for what it is about."""


_KEY_LIKE: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|csk|xai|nvapi|pplx|hf|gh[opsu]|github_pat)[-_][\w.*/+=-]{8,}"
    r"|\bAIza[\w-]{20,}"
    r"|(?<=bearer )[\w.*/+=~-]{8,}",
    re.IGNORECASE,
)
"""What looks like a key. Programs and pi may quote keys of which nothing is known here."""

_SECRET_NAME: Final = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErrorText:
    """What an error object says."""

    message: str = ""
    """Its sentence, as it came, at most some thousand characters; not to be shown as it is."""
    words: frozenset[str] = frozenset()
    """Its types and codes, in lower case."""
    status: int | None = None
    """The HTTP status it names itself, as an error inside a stream does."""


def read_error(body: Any) -> ErrorText:
    """What an error body says, whatever its shape: an object, a text in one, a list with one."""
    if isinstance(body, list):
        body = body[0] if body else None
    if isinstance(body, str):
        return ErrorText(body[:_MOST_READ])
    if not isinstance(body, Mapping):
        return ErrorText()
    # Anthropic and OpenAI put it into `error`, vLLM and Mistral stand it at the top, FastAPI's
    # own is `detail`; Ollama's `error` is a text.
    inner = body.get("error")
    if isinstance(inner, str):
        inner = {"message": inner}
    error = inner if isinstance(inner, Mapping) else body
    message = error.get("message") or error.get("detail") or body.get("detail") or ""
    named = [error.get(name) for name in ("type", "code", "status")]
    words = frozenset(word.lower() for word in named if isinstance(word, str))
    numbers = [_as_number(error.get("code")), _as_number(error.get("status"))]
    status = next((n for n in numbers if n is not None and 400 <= n < 600), None)
    return ErrorText(_flatten(message) + _upstream(error), words, status)


def _flatten(message: Any) -> str:
    if isinstance(message, str):
        return message[:_MOST_READ]
    if isinstance(message, list):
        # FastAPI's list of faults repeats the input beside each; only what is wrong is taken.
        faults = (fault.get("msg") for fault in message if isinstance(fault, Mapping))
        return "; ".join(fault for fault in faults if isinstance(fault, str))[:_MOST_READ]
    return json.dumps(message, default=str)[:_MOST_READ]


def _upstream(error: Mapping[str, Any]) -> str:
    """What the provider behind OpenRouter said, whose own message says only that it failed."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f" {raw[:_MOST_READ]}" if isinstance(raw, str) else ""


def _as_number(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def secrets_of(environment: Mapping[str, str]) -> list[str]:
    """The values of variables that hold keys, by their names."""
    return [text for name, text in environment.items() if _SECRET_NAME.search(name)]


def quote(message: str, *, secrets: Iterable[str], private: Iterable[str]) -> str:
    """The message as it may be shown, in quotation marks; empty when nothing may.

    Args:
        message: the provider's words.
        secrets: keys and what may hold some; cut out wherever they stand, as is what looks like
            a key.
        private: the prompt; a message that repeats a piece of it is not shown at all.
    """
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            message = message.replace(secret, "…")
    message = _KEY_LIKE.sub("…", message)[: 2 * MAX_QUOTE]
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    # An echo may have kept its line ends.
    pieces = _pieces(message) | _pieces(line)
    if not line or any(piece in text for text in private for piece in pieces):
        return ""
    if len(line) > MAX_QUOTE:
        line = line[: MAX_QUOTE - 1].rstrip() + "…"
    return f"“{line}”"


def _pieces(text: str) -> set[str]:
    """Pieces of which one is whole in whatever a text repeats at `_ECHO` characters and a few."""
    return {text[at : at + _ECHO] for at in range(0, len(text) - _ECHO + 1, _ECHO // 4)}
