"""What a model server answers: Anthropic's Messages and OpenAI's Chat Completions.

A reply is a list of steps: bytes to be sent, pauses, breaks. Its body goes out in chunks, one for
each step of bytes, so that a test decides where an answer is torn.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

Json = dict[str, Any]


@dataclass(frozen=True)
class Pause:
    """Nothing comes for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Stall:
    """Nothing comes any more, and the connection stays open."""


@dataclass(frozen=True)
class Cut:
    """The connection ends here, before the body does."""

    resets: bool = False
    """With a reset rather than a plain end."""


Step: TypeAlias = bytes | Pause | Stall | Cut

_REASONS: Final = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many Requests"}


@dataclass(frozen=True)
class Reply:
    """One answer over HTTP."""

    steps: Sequence[Step] = ()
    """The body."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_chunked: bool = True
    """Else the body has its length in the headers, and no breaks."""
    closes: bool = False
    """Whether the connection ends after it."""
    before: Sequence[Step] = ()
    """What happens before the first byte of the headers."""
    by_path: Callable[[str], "Reply"] | None = None
    """Makes the reply once it is known in which format it was asked for."""
    changes: tuple[Callable[["Reply"], "Reply"], ...] = ()
    """What is done to that reply then."""

    def for_path(self, target: str) -> "Reply":
        """The reply in the format of the path that was asked."""
        if self.by_path is None:
            return self
        reply = self.by_path(target)
        for change in self.changes:
            reply = change(reply)
        return replace(reply, before=(*self.before, *reply.before))

    def body(self) -> bytes:
        """All bytes of the body."""
        return b"".join(step for step in self.steps if isinstance(step, bytes))

    def changed(self, change: Callable[["Reply"], "Reply"]) -> "Reply":
        """The reply with something done to it, now or as soon as its format is known."""
        if self.by_path is None:
            return change(self)
        return replace(self, changes=(*self.changes, change))

    def in_pieces(self, size: int, pause: float = 0.0) -> "Reply":
        """The same bytes in pieces of that size, with a pause after each."""

        def torn(reply: "Reply") -> "Reply":
            steps: list[Step] = []
            for piece in _pieces(reply.body(), size):
                steps += [piece, Pause(pause)] if pause else [piece]
            return replace(reply, steps=steps)

        return self.changed(torn)

    def ended_after(self, text: str, end: Step) -> "Reply":
        """The same up to and with the event that holds a text, then a break."""

        def ended(reply: "Reply") -> "Reply":
            body, mark = reply.body(), text.encode()
            at = body.index(mark) + len(mark)
            whole = body.find(b"\n\n", at)
            return replace(reply, steps=[body[: whole + 2], end])

        return self.changed(ended)

    def with_crlf(self) -> "Reply":
        """The same with CR LF at the ends of lines, as some servers send it."""
        return self.changed(lambda r: replace(r, steps=[r.body().replace(b"\n", b"\r\n")]))

    def after(self, *steps: Step) -> "Reply":
        """The same, with something before the headers."""
        return replace(self, before=(*steps, *self.before))

    def raw_steps(self) -> Iterator[Step]:
        """All of it as it goes over the wire."""
        yield from self.before
        headers = {"connection": "close" if self.closes else "keep-alive", **self.headers}
        if self.is_chunked:
            headers["transfer-encoding"] = "chunked"
        else:
            headers["content-length"] = str(len(self.body()))
        lines = [f"HTTP/1.1 {self.status} {_REASONS.get(self.status, 'Some Reason')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        yield "\r\n".join((*lines, "", "")).encode("latin-1")
        for step in self.steps:
            if isinstance(step, bytes) and self.is_chunked:
                if step:
                    yield f"{len(step):x}\r\n".encode() + step + b"\r\n"
            else:
                yield step
        if self.is_chunked:
            yield b"0\r\n\r\n"


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def json_reply(value: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON body; underscores in the names of headers stand for hyphens."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    body = json.dumps(value).encode()
    return Reply([body], status, {"content-type": "application/json", **named}, is_chunked=False)


def stream_reply(events: Iterable[str]) -> Reply:
    """A stream of these events, each a piece of its own."""
    headers = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
    return Reply([event.encode() for event in events], 200, headers)


# Anthropic's Messages


def anthropic_event(data: Json) -> str:
    """One event, named by its type."""
    return f"event: {data['type']}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


ANTHROPIC_USAGE: Final[Json] = {
    "input_tokens": 25,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 1,
    "service_tier": "standard",
}


@dataclass(frozen=True)
class AnthropicMessage:
    """The parts of one answer of Anthropic's."""

    pieces: Sequence[str]
    """The text, as it comes."""
    stop_reason: str | None = "end_turn"
    thinking: str = ""
    tool: str | None = None
    """The name of a tool that is called after the text."""
    usage: Json = field(default_factory=lambda: dict(ANTHROPIC_USAGE))
    """At the beginning."""
    last_usage: Json = field(default_factory=lambda: {"output_tokens": 15})
    """At the end."""
    stop_details: Json | None = None

    def blocks(self) -> Iterator[tuple[Json, list[Json]]]:
        """Each block as it starts, and its deltas."""
        if self.thinking:
            delta = {"type": "thinking_delta", "thinking": self.thinking}
            signed = {"type": "signature_delta", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"}
            yield {"type": "thinking", "thinking": "", "signature": ""}, [delta, signed]
        yield {"type": "text", "text": ""}, [_text_delta(piece) for piece in self.pieces]
        if self.tool is not None:
            start = {"type": "tool_use", "id": "toolu_01", "name": self.tool, "input": {}}
            yield start, [{"type": "input_json_delta", "partial_json": '{"path": "a"}'}]

    def events(self) -> Iterator[str]:
        message: Json = {"id": "msg_01", "type": "message", "role": "assistant", "content": []}
        message |= {"model": "claude-test", "stop_reason": None, "stop_sequence": None}
        yield anthropic_event({"type": "message_start", "message": message | {"usage": self.usage}})
        yield anthropic_event({"type": "ping"})
        for index, (start, deltas) in enumerate(self.blocks()):
            at = {"index": index}
            yield anthropic_event({"type": "content_block_start", **at, "content_block": start})
            for delta in deltas:
                yield anthropic_event({"type": "content_block_delta", **at, "delta": delta})
            yield anthropic_event({"type": "content_block_stop", **at})
        ending: Json = {"stop_reason": self.stop_reason, "stop_sequence": None}
        if self.stop_details is not None:
            ending["stop_details"] = self.stop_details
        end = {"type": "message_delta", "delta": ending, "usage": self.last_usage}
        yield anthropic_event(end)
        yield anthropic_event({"type": "message_stop"})

    def reply(self) -> Reply:
        return stream_reply(self.events())

    def whole(self) -> Reply:
        """The same from a server that does not stream."""
        content = [{"type": "text", "text": "".join(self.pieces)}]
        body = {"id": "msg_01", "type": "message", "role": "assistant", "content": content}
        ends = {"stop_reason": self.stop_reason, "usage": self.usage | self.last_usage}
        return json_reply(body | ends)


def _text_delta(text: str) -> Json:
    return {"type": "text_delta", "text": text}


def anthropic_error(kind: str, message: str) -> Json:
    """An error object, as a body or an event."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_01"}


# OpenAI's Chat Completions


def openai_event(data: Json | str) -> str:
    """One event; a text stands as it is."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"data: {text}\n\n"


OPENAI_USAGE: Final[Json] = {
    "prompt_tokens": 25,
    "completion_tokens": 15,
    "total_tokens": 40,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0},
}


@dataclass(frozen=True)
class OpenAICompletion:
    """The parts of one answer in OpenAI's format."""

    pieces: Sequence[str]
    finish_reason: str | None = "stop"
    reasoning: str = ""
    """Comes as `reasoning_content` before the text."""
    refusal: str = ""
    tool: str | None = None
    usage: Json | None = field(default_factory=lambda: dict(OPENAI_USAGE))
    usage_in_choice: bool = False
    """It comes in the last choice rather than in a chunk of its own."""
    done: bool = True
    """Whether `[DONE]` ends it."""
    comments: bool = False
    """Whether comments come between the events, as OpenRouter sends them."""

    def chunk(self, delta: Json, finish: str | None = None, **more: Any) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **more}
        return {**self._envelope(), "choices": [choice]}

    def _envelope(self) -> Json:
        about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}
        return {**about, "model": "gpt-test"}

    def chunks(self) -> Iterator[Json]:
        yield self.chunk({"role": "assistant", "content": "", "refusal": None})
        if self.reasoning:
            yield self.chunk({"reasoning_content": self.reasoning})
        for piece in self.pieces:
            yield self.chunk({"content": piece})
        if self.refusal:
            yield self.chunk({"refusal": self.refusal})
        if self.tool is not None:
            call = {"index": 0, "id": "call_1", "type": "function"}
            called = {"function": {"name": self.tool, "arguments": "{}"}}
            yield self.chunk({"tool_calls": [call | called]})
        more = {"usage": self.usage} if self.usage_in_choice else {}
        if self.finish_reason is not None or more:
            yield self.chunk({}, self.finish_reason, **more)
        if self.usage is not None and not self.usage_in_choice:
            yield {**self._envelope(), "choices": [], "usage": self.usage}

    def events(self) -> Iterator[str]:
        for chunk in self.chunks():
            if self.comments:
                yield ": OPENROUTER PROCESSING\n\n"
            yield openai_event(chunk)
        if self.done:
            yield openai_event("[DONE]")

    def reply(self) -> Reply:
        return stream_reply(self.events())

    def whole(self) -> Reply:
        """The same from a server that does not stream."""
        message = {"role": "assistant", "content": "".join(self.pieces), "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        about = {"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-test"}
        return json_reply({**about, "choices": [choice], "usage": self.usage})


def openai_error(kind: str, message: str, code: str | int | None = None) -> Json:
    """An error object, as a body or in the stream."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# Both


def says(text: str, *, pieces: int = 4, **both: Any) -> Reply:
    """A whole answer in whichever format it is asked for.

    Args:
        text: what the model says.
        pieces: in how many deltas.
        both: members of `AnthropicMessage` or `OpenAICompletion`, where the test knows which.
    """
    size = max(1, -(-len(text) // pieces))
    parts = [text[at : at + size] for at in range(0, len(text), size)]

    def made(target: str) -> Reply:
        maker = AnthropicMessage if is_anthropic(target) else OpenAICompletion
        return maker(parts, **both).reply()

    return Reply(by_path=made)


def fails(status: int, kind: str, message: str, **headers: str) -> Reply:
    """An error in whichever format it is asked for."""

    def made(target: str) -> Reply:
        error = anthropic_error if is_anthropic(target) else openai_error
        return json_reply(error(kind, message), status, **headers)

    return Reply(by_path=made)


def is_anthropic(target: str) -> bool:
    return target.partition("?")[0].endswith("/messages")
