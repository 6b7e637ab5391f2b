"""Random sessions that go as real ones do: turns, tools, failed attempts, compactions, branches.

The soups of `random_sessions` reach every rule; these reach how rules meet: a cut in a long turn,
attempts taken out behind the last input, a compaction over what an earlier one kept.
"""

import json
from datetime import UTC, datetime
from typing import Any, Final

from tests.support.random_sessions import Json, Made, Values

_LENGTHS: Final = (1, 40, 1_997, 2_000, 2_001, 2_003, 9_000)
"""Around the limit to which a summarizer is given a tool result, which no pair may straddle."""


class Conversation(Values):
    """A session that grows turn by turn; `path` is the active branch."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.lines: list[dict[str, Json]] = []
        self.path: list[dict[str, Json]] = []
        self.paths: list[list[dict[str, Json]]] = []

    def add(self, kind: str, **members: Json) -> str:
        self.now += self.chance.choice((1, 1_000, 60_000))
        entry_id = f"{self.chance.randrange(1 << 32):08x}"
        parent = self.path[-1]["id"] if self.path else None
        base = {"type": kind, "id": entry_id, "parentId": parent, "timestamp": self.iso()}
        self.lines.append({**base, **members})
        self.path = [*self.path, self.lines[-1]]
        self.paths.append(self.path)
        return entry_id

    def iso(self) -> str:
        moment = datetime.fromtimestamp(self.now / 1000, UTC)
        return moment.isoformat(timespec="milliseconds")[:23] + "Z"

    def say(self, message: dict[str, Json]) -> str:
        return self.add("message", message=message)

    def filled(self) -> str:
        """A text of a telling length, of characters of one unit or, perhaps one unit on, of two."""
        length = self.chance.choice(_LENGTHS)
        if self.is_likely(0.4):
            return "x" * self.chance.randrange(2) + "\U0001f642" * (length // 2)
        return self.chance.choice("xü漢") * length

    # What a turn is made of ----------------------------------------------------------------------

    def ask(self) -> None:
        pick = self.chance.randrange(8)
        if pick == 0:
            blocks = [self.image(), self.text_block(), self.image()]
            self.say({**self.user_message(), "content": blocks})
        elif pick == 1:
            self.run_shell()
        elif pick == 2:
            content = self.content()
            self.add("custom_message", customType="hint", content=content, display=True)
        else:
            self.say({**self.user_message(), "content": self.text(200)})

    def run_shell(self) -> None:
        message = self.bash_message()
        message["output"] = self.chance.choice(("", self.text(), self.filled()))
        if self.is_likely(0.3):
            message["truncated"] = True
        if self.is_likely(0.5):
            message["fullOutputPath"] = "/tmp/whole.log"
        self.say(message)

    def call(self) -> None:
        calls = [self.tool_call() for _ in range(self.chance.choice((1, 1, 1, 2, 4)))]
        said = [self.thinking(), self.text_block()][: self.chance.randrange(3)]
        self.answer([*said, *calls], "toolUse")
        for call in calls:
            result = {**self.tool_result_message(), "toolCallId": call["id"]}
            if self.is_likely(0.5):
                result["content"] = [{"type": "text", "text": self.filled()}]
            self.say(result)

    def answer(self, content: list[Json], reason: str) -> str:
        message = {**self.assistant_message(), "content": content, "stopReason": reason}
        return self.say(message)

    def fail(self) -> None:
        """An attempt that failed and is taken out again, as pi does before it tries anew."""
        failed = self.answer([self.text_block()], self.chance.choice(("error", "aborted")))
        if self.is_likely(0.2):
            self.add("custom", customType="mark")
        self.add("context_edit", targetId=failed, replacement=None)
        if self.is_likely(0.4):
            self.edit()

    def edit(self) -> None:
        """Something on the branch is taken out, or shortened."""
        targets = [one for one in self.path if is_editable(one)]
        if targets:
            new: Json = self.chance.choice((None, {"content": self.text()}, {"content": []}))
            target = self.chance.choice(targets[-self.chance.choice((2, 12)) :])["id"]
            self.add("context_edit", targetId=target, replacement=new)

    def note(self) -> None:
        pick = self.chance.randrange(5)
        if pick == 0:
            self.add("model_change", provider="demo", modelId="demo-2")
        elif pick == 1:
            self.add("custom", customType="state", data=self.argument())
        elif pick == 2:
            self.add("label", targetId=self.chance.choice(self.lines)["id"], label="good")
        elif pick == 3:
            self.say(self.system_message())
        else:
            self.edit()

    def turn(self) -> None:
        self.ask()
        for _ in range(self.chance.choice((0, 1, 2, 3, 12))):
            self.call()
            if self.is_likely(0.15):
                self.note()
        while self.is_likely(0.2):
            self.fail()
        if self.is_likely(0.85):
            self.answer([self.text_block()], "stop")

    # What a session is made of -------------------------------------------------------------------

    def compact(self) -> None:
        """A compaction as pi, an extension or another program may have written it."""
        since = 0
        for at, entry in enumerate(self.path):
            if entry["type"] == "compaction" and self.is_likely(0.8):
                since = at
        kept = self.chance.choice(self.path[since:])["id"]
        more: dict[str, Json] = {}
        if self.is_likely(0.8):
            more["details"] = {
                "readFiles": self.chance.sample(("a.py", "ü.md", "old.txt"), 2),
                "modifiedFiles": self.chance.sample(("a.py", "src/b.py"), 1),
            }
        if self.is_likely(0.8):
            more["fromHook"] = self.is_likely(0.3)
        if self.is_likely(0.5):
            more["systemMessage"] = self.system_message()
        summary = self.text(100)
        self.add("compaction", summary=summary, firstKeptEntryId=kept, tokensBefore=9, **more)

    def move(self) -> None:
        """To another entry, perhaps with a summary of what is left."""
        left = self.path[-1]["id"]
        self.path = self.chance.choice(self.paths)
        if self.is_likely(0.5):
            more: dict[str, Json] = {}
            if self.is_likely(0.7):
                more["details"] = {"readFiles": ["far.py"], "modifiedFiles": ["a.py"]}
            if self.is_likely(0.7):
                more["fromHook"] = self.is_likely(0.3)
            self.add("branch_summary", fromId=left, summary=self.text(60), **more)

    def grow(self, turns: int) -> None:
        for _ in range(turns):
            self.turn()
            pick = self.chance.random()
            if pick < 0.12:
                self.compact()
            elif pick < 0.25:
                self.move()
            elif pick < 0.4:
                self.note()

    def go_on_from(self, line: bytes) -> None:
        """Take in an entry that was written at the end of the active branch by somebody else."""
        self.lines.append(json.loads(line))
        self.path = [*self.path, self.lines[-1]]
        self.paths.append(self.path)

    def data(self, start: int = -1) -> bytes:
        """The file, or its lines from the entry of this number on."""
        header = {
            "type": "session",
            "version": 3,
            "id": f"grown-{self.seed}",
            "timestamp": "2026-11-28T00:00:00.000Z",
            "cwd": "/srv/made",
        }
        lines = [header, *self.lines][start + 1 :]
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


def is_editable(entry: dict[str, Any]) -> bool:
    """Whether pi takes an edit of this entry."""
    if entry["type"] != "message":
        return bool(entry["type"] == "custom_message")
    return entry["message"]["role"] in ("user", "assistant", "toolResult")


def grown(seed: int) -> Made:
    """A session of some turns, the same bytes for the same seed."""
    conversation = Conversation(seed)
    if conversation.is_likely(0.7):
        conversation.say(conversation.system_message())
    conversation.grow(conversation.chance.choice((1, 3, 6, 12, 20)))
    ids = [line["id"] for line in conversation.lines]
    return Made(seed, conversation.data(), ids)
