"""What `follow` prints of each update: changes, long operations, and what running pi do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pisessiond.cli.plain_text import cut

if TYPE_CHECKING:
    from pisessiond.cli.output import Output
    from pisessiond.cli.row_view import RowView
    from pisessiond.client import answers
    from pisessiond.client.update import Update


class Telling:
    """Prints updates of one session in their order; it remembers what each pi did last."""

    def __init__(self, output: Output, view: RowView) -> None:
        self._output = output
        self._view = view
        self._did: dict[int, str] = {}
        """By process of a pi, in words."""

    def say(self, update: Update) -> None:
        """Print one update; nothing where nobody did anything."""
        if self._output.as_json:
            self._output.json(_as_json(update))
        else:
            self._output.lines(self._lines(update))

    def _lines(self, update: Update) -> Iterator[str]:
        from pisessiond.cli.change_view import update_lines
        from pisessiond.cli.operation_view import operation_line

        if update.progress is not None:
            told = operation_line(update.progress)
            if told is not None:
                yield cut(told, self._view.width)
        elif update.presence is not None:
            yield from self._pis(update.presence.get("pis", []))
        else:
            yield from update_lines(update, self._view)
            if update.snapshot is not None:
                yield from self._pis(update.snapshot.get("pis", []))

    def _pis(self, pis: list[answers.LivePi]) -> Iterator[str]:
        from pisessiond.cli.pi_view import doing

        before, self._did = self._did, {pi["pid"]: doing(pi) for pi in pis}
        for pid, does in self._did.items():
            if before.get(pid) != does:
                yield f"pi {pid}: {does}"
        for pid in before.keys() - self._did.keys():
            yield f"pi {pid}: gone"


def _as_json(update: Update) -> dict[str, Any]:
    if update.progress is not None:
        return {"rev": update.rev, "progress": update.progress}
    if update.presence is not None:
        who = {"clients": update.presence["clients"], "pis": update.presence.get("pis", [])}
        return {"rev": update.rev, **who}
    line: dict[str, Any] = {
        "rev": update.rev,
        "changes": update.changes,
        "leaf": update.leaf,
        "contextSize": update.context_size,
    }
    return line if update.snapshot is None else {**line, "snapshot": update.snapshot}
