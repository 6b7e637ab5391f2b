"""Random lists of operations that pi accepts, the same for the same seed."""

from typing import Any, Final

from tests.support.operations import Op
from tests.support.pi import NOT_GIVEN, op, ref
from tests.support.random_sessions import Values

_EDITABLE: Final = frozenset({"user", "assistant", "toolResult", "custom_message"})


class _Lister:
    def __init__(self, seed: int) -> None:
        self.values = Values(seed)
        self.chance = self.values.chance
        self.ops: list[Op] = [op("create", {"id": f"made-{seed}"})]
        self.path: tuple[tuple[int, str], ...] = ()
        """The active branch: numbers of operations, and what they appended."""
        self.paths: dict[int, tuple[tuple[int, str], ...]] = {}

    def append(self, kind: str, name: str, *args: Any) -> None:
        self.path = (*self.path, (len(self.ops), kind))
        self.paths[len(self.ops)] = self.path
        self.ops.append(op(name, *args))

    def message(self) -> None:
        make = self.chance.choice(
            (
                self.values.user_message,
                self.values.user_message,
                self.values.assistant_message,
                self.values.assistant_message,
                self.values.tool_result_message,
                self.values.bash_message,
                self.values.custom_role_message,
                self.values.system_message,
            )
        )
        message = make()
        message["timestamp"] = len(self.ops)
        self.append(message["role"], "appendMessage", message)

    def settings(self) -> None:
        if self.values.is_likely(0.5):
            self.append("", "appendThinkingLevelChange", self.chance.choice(("off", "high")))
        else:
            self.append("", "appendModelChange", "demo", self.values.text(2))

    def usage(self) -> None:
        usage = {"input": 1, "output": 2.5, "cost": {"total": 0.000005}}
        note = self.chance.choice(((), ("",), ("a note",)))
        self.append("", "appendUsage", "compaction", "demo", "demo-1", usage, *note)

    def custom(self) -> None:
        data = self.chance.choice(((), (None,), (self.values.argument(),), (self.values.text(),)))
        self.append("", "appendCustomEntry", "mark", *data)

    def custom_message(self) -> None:
        details = ({"n": 1.0},) if self.values.is_likely(0.5) else ()
        content = self.values.text()
        self.append("custom_message", "appendCustomMessageEntry", "hint", content, True, *details)

    def info(self) -> None:
        self.append("", "appendSessionInfo", self.chance.choice(("one", " a\r\n\nb ", "", "ü\n")))

    def label(self) -> None:
        if self.paths:
            target = self.chance.choice(sorted(self.paths))
            label = self.chance.choice(("good", " padded ", "", NOT_GIVEN))
            self.append("label", "appendLabelChange", ref(target), label)

    def edit(self) -> None:
        targets = [number for number, kind in self.path if kind in _EDITABLE]
        if targets:
            new = ({"content": self.values.text()}, {"content": [self.values.text_block()]})
            replacement = self.chance.choice((None, *new))
            self.append("", "appendContextEdit", ref(self.chance.choice(targets)), replacement)

    def compaction(self) -> None:
        if self.path:
            kept, _ = self.chance.choice(self.path)
            details = {"readFiles": ["a.py"], "modifiedFiles": []}
            more = self.chance.choice(((), (details,), (NOT_GIVEN, True), (details, False)))
            self.append("", "appendCompaction", self.values.text(), ref(kept), 1234, *more)

    def move(self) -> None:
        if not self.paths:
            return
        if self.values.is_likely(0.15):
            self.path = ()
            self.ops.append(op("resetLeaf"))
            return
        target = self.chance.choice(sorted(self.paths))
        is_left = bool(self.path) and self.path[-1] not in self.paths[target]
        self.path = self.paths[target]
        if is_left and self.values.is_likely(0.4):
            told = self.values.text() or "told"
            self.append("", "branchWithSummary", ref(target), told, NOT_GIVEN, True)
        else:
            self.ops.append(op("branch", ref(target)))

    def fork(self) -> None:
        if not self.path:
            return
        target = (
            self.path[-1][0] if self.values.is_likely(0.5) else self.chance.choice(self.path)[0]
        )
        self.path = tuple(one for one in self.paths[target] if one[1] != "label")
        if not self.path:
            return
        self.ops.append(op("createBranchedSession", ref(target)))
        self.paths = {number: self.path[: at + 1] for at, (number, _) in enumerate(self.path)}

    def list(self, count: int) -> list[Op]:
        steps = [
            (self.message, 30),
            (self.settings, 4),
            (self.usage, 3),
            (self.custom, 4),
            (self.custom_message, 4),
            (self.info, 3),
            (self.label, 6),
            (self.edit, 8),
            (self.compaction, 4),
            (self.move, 8),
            (self.fork, 2),
        ]
        names, weights = zip(*steps, strict=True)
        for step in self.chance.choices(names, weights, k=count):
            step()
        # At its end it is on disk, and the leaf is its last entry.
        last = {"role": "user", "content": "the end", "timestamp": 1}
        self.append("user", "appendMessage", last)
        return self.ops


def operations(seed: int, count: int = 40) -> list[Op]:
    """A list of operations that begins with `create` and ends with a user's message."""
    return _Lister(seed).list(count)
