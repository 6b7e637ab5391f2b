"""What a conversation says, sorted by the sections of a summary, without a model.

It takes words from the messages and understands none of them: files from tool calls, what failed
from tool results, wishes and reasons from sentences with a telling word in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from pisessiond.core.extract_text import lead, list_items, one_line, sentences, shorten
from pisessiond.core.javascript import is_truthy
from pisessiond.core.projection import Message
from pisessiond.core.tokens import content_text

Section: TypeAlias = Literal[
    "goal", "constraints", "done", "inProgress", "blocked", "decisions", "next", "context"
]

SECTIONS: Final[tuple[Section, ...]] = (
    "goal",
    "constraints",
    "done",
    "inProgress",
    "blocked",
    "decisions",
    "next",
    "context",
)

# Words that mark a demand or a ban, in a few languages. What is missed is still in the goals.
_DEMAND: Final = re.compile(
    r"\b(?:must|never|always|only|should|shall|don'?t|do not|avoid|prefer|without|require[sd]?|"
    r"muss|müssen|darf|nie|niemals|immer|nur|sollen?|kein\w*|bitte nicht|"
    r"doit|jamais|toujours|seulement|sans|debe|nunca|siempre|sólo|solo|sin|deve|mai|sempre|"
    r"должен|должны|никогда|всегда|только|нельзя)\b|"
    r"必须|必需|务必|不要|不得|不能|只能|总是|请勿|禁止|"
    r"必ず|しないで|べき|だけ|반드시|항상|하지 ?마|금지",
    re.IGNORECASE,
)
_REASON: Final = re.compile(
    r"\b(?:decid\w+|because|instead|therefore|chose|choose|so that|rather than|went with|"
    r"weil|stattdessen|deshalb|daher|entschied\w*|parce que|plutôt|donc|porque|"
    r"perché|invece|потому|вместо|поэтому)\b|因为|所以|因此|决定|改用|代わりに|ため|때문|대신",
    re.IGNORECASE,
)
_ERROR: Final = re.compile(
    r"error|exception|fail|fatal|cannot|denied|not found|panic|fehler", re.IGNORECASE
)
_URL: Final = re.compile(r"https?://[^\s<>()\[\]\"'`]+[^\s<>()\[\]\"'`.,;:!?]")

_LINE: Final = 400
"""UTF-16 code units that are taken of one thing said."""
_SHORT: Final = 160
_CHANGING: Final = {"edit": "Changed", "write": "Wrote"}
_RUNNING: Final = frozenset({"bash", "powershell", "shell"})
_TELLING: Final = ("path", "file_path", "command", "pattern", "query", "url")


@dataclass(frozen=True, slots=True)
class _Call:
    label: str
    """What is shown of it."""
    told: str
    """What stands under Done when it went well; "" when that says too little."""


@dataclass(slots=True)
class Material:
    """What was found for each section, oldest first."""

    found: dict[Section, dict[str, None]] = field(
        default_factory=lambda: {section: {} for section in SECTIONS}
    )
    """The lines as keys, so that one that comes again is found at once."""
    succeeded: set[str] = field(default_factory=set)
    """The labels of calls that went well in the end: what failed before does not block now."""

    def add(self, section: Section, line: str) -> None:
        """Take a line in; one that is there already moves to the end."""
        if line:
            self.found[section].pop(line, None)
            self.found[section][line] = None


@dataclass(slots=True)
class _Gatherer:
    material: Material = field(default_factory=Material)
    calls: dict[Any, _Call] = field(default_factory=dict)
    """Calls without a result so far, by id."""
    failed: dict[str, str] = field(default_factory=dict)
    """What failed and was not done since: label to complaint."""
    looked: list[str] = field(default_factory=list)
    last_user: str = ""
    last_assistant: str = ""
    has_results: bool = False

    def take(self, message: Message) -> None:
        role = message.get("role")
        if role in ("user", "custom"):
            self._take_user(content_text(message.get("content"), "\n"))
        elif role == "assistant":
            self._take_assistant(message.get("content"))
        elif role == "toolResult":
            self._take_result(message)
        elif role == "bashExecution" and not is_truthy(message.get("excludeFromContext")):
            self._take_shell(message)

    def _take_user(self, text: str) -> None:
        said = shorten(lead(text), _LINE)
        if not said:
            return
        self.last_user = said
        self.material.add("goal", said)
        for sentence in sentences(text):
            if _DEMAND.search(sentence):
                self.material.add("constraints", shorten(sentence, _LINE))
        for url in _URL.findall(text[:20_000]):
            self.material.add("context", shorten(one_line(url), _SHORT))

    def _take_assistant(self, content: Any) -> None:
        text = content_text(content if isinstance(content, list) else [], "\n")
        if said := shorten(lead(text), _LINE):
            self.last_assistant = text
            reasons = [one for one in sentences(text) if _REASON.search(one)]
            for reason in reasons or [said]:
                self.material.add("decisions", shorten(reason, _LINE))
        for block in _calls(content):
            self.calls[_id(block.get("id"))] = _call(block)

    def _take_result(self, message: Message) -> None:
        self.has_results = True
        call = self.calls.pop(_id(message.get("toolCallId")), None)
        if call is None:
            return
        if is_truthy(message.get("isError")):
            self._fails(call.label, content_text(message.get("content"), "\n"))
        else:
            self._succeeds(call)

    def _take_shell(self, message: Message) -> None:
        command, output = message.get("command"), message.get("output")
        label = f"`{shorten(one_line(command if isinstance(command, str) else ''), _SHORT)}`"
        if is_truthy(message.get("exitCode")) or is_truthy(message.get("cancelled")):
            self._fails(label, output if isinstance(output, str) else "")
        else:
            self._succeeds(_Call(label, f"Ran {label}"))

    def _fails(self, label: str, output: str) -> None:
        self.material.succeeded.discard(label)
        self.failed.pop(label, None)
        self.failed[label] = complaint(output)

    def _succeeds(self, call: _Call) -> None:
        self.failed.pop(call.label, None)
        self.material.succeeded.add(call.label)
        if call.told:
            self.material.add("done", call.told)
        else:
            self.looked.append(f"Looked at {call.label}")

    def finish(self) -> Material:
        add = self.material.add
        for call in self.calls.values():
            if self.has_results:
                add("inProgress", f"{call.label} has not come back")
            else:
                # A branch is told without its results.
                self._succeeds(call)
        for label, said in self.failed.items():
            add("blocked", f"{label} failed: {said}" if said else f"{label} failed")
            add("context", said)
        if not self.material.found["done"]:
            answered = [f"Answered: {shorten(lead(self.last_assistant), _LINE)}"]
            for line in self.looked[-3:] or (answered if self.last_assistant else []):
                add("done", line)
        add("inProgress", self.last_user)
        for line in _next_steps(self.last_assistant):
            add("next", line)
        add("next", f"The user asked last: {self.last_user}" if self.last_user else "")
        for line in self.looked[-5:]:
            add("context", line)
        if not self.material.found["context"]:
            add("context", shorten(lead(self.last_assistant) or self.last_user, _LINE))
        return self.material


def gather(messages: Iterable[Message]) -> Material:
    """What the messages say, oldest first; summaries among them are not looked at."""
    gatherer = _Gatherer()
    for message in messages:
        gatherer.take(message)
    return gatherer.finish()


def complaint(output: str) -> str:
    """The line of an output that says most about what went wrong."""
    lines = [line for line in output[-20_000:].splitlines() if line.strip()]
    telling = [line for line in lines if _ERROR.search(line)]
    line = telling[-1] if telling else lines[-1] if lines else ""
    return shorten(one_line(line), _SHORT)


def _next_steps(text: str) -> list[str]:
    items = list_items(text)[-5:]
    return [shorten(item, _LINE) for item in items or list(sentences(text))[-1:]]


def _calls(content: Any) -> Iterator[Mapping[str, Any]]:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "toolCall":
            yield block


def _call(block: Mapping[str, Any]) -> _Call:
    given, arguments = block.get("name"), block.get("arguments")
    name = one_line(given) if isinstance(given, str) else "tool"
    members = arguments if isinstance(arguments, dict) else {}
    texts = [members[key] for key in _TELLING if isinstance(members.get(key), str)]
    about = shorten(one_line(texts[0] if texts else ""), _SHORT)
    if name in _RUNNING:
        return _Call(f"`{about}`", f"Ran `{about}`")
    if name in _CHANGING and about:
        return _Call(f"`{name} {about}`", f"{_CHANGING[name]} `{about}`")
    return _Call(f"`{name} {about}`" if about else f"`{name}`", "")


def _id(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) else None
