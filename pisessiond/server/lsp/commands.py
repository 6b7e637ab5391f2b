"""`workspace/executeCommand`: the acts of an editor that only speaks LSP. Not pygls's business.

What a person can do something about (a session that is busy, a disk that is full) is told to the
person, as a message, and answered with `refused`: of editors that send commands, some only log an
error answer. What a program did wrong, and a request that was cancelled, are error answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from pisessiond.core import kinds
from pisessiond.core.export_text import plain
from pisessiond.core.index import NONE
from pisessiond.core.javascript import well_formed
from pisessiond.core.titles import title
from pisessiond.protocol.errors import RpcError, invalid_params
from pisessiond.server.lsp.capabilities import (
    COMMANDS,
    EXECUTE_COMMAND,
    FORK,
    LABEL,
    NAVIGATE,
    OMIT,
    file_uri,
    session_path,
)
from pisessiond.server.refusals import to_rpc_error
from pisessiond.service.pointing import row_at

if TYPE_CHECKING:
    from pisessiond.core.session import Session
    from pisessiond.server.connection import Connection
    from pisessiond.service.open_session import OpenSession
    from pisessiond.service.types import EntryId

MESSAGE_TYPES: Final = {"warning": 2, "info": 3}
"""LSP's numbers of the kinds of messages."""

_FAULTS: Final = frozenset({"InternalError", "InvalidParams", "InvalidRequest", "Cancelled"})
"""What is an error answer."""


@dataclass(frozen=True, slots=True)
class Target:
    """The entry of a file that a command is about: the first of its arguments."""

    uri: str
    entry: EntryId | None = None
    line: int | None = None
    """Counted from 0, as LSP does; instead of an entry, for key maps and ids that are no text."""
    label: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """As JSON, for the commands we offer."""
        given = {"entry": self.entry, "line": self.line, "label": self.label}
        return {"uri": self.uri, **{k: v for k, v in given.items() if v is not None}}


def target_of(uri: str, entry: EntryId, line: int, label: str | None = None) -> dict[str, Any]:
    """The argument of a command about an entry, which stands on a line counted from 1.

    An id with half a surrogate pair would make some editors, Neovim among them, refuse the whole
    answer as no JSON; such an entry is named by its line.
    """
    if isinstance(entry, str) and well_formed(entry) != entry:
        return Target(uri, line=line - 1, label=label).to_wire()
    return Target(uri, entry, label=label).to_wire()


@dataclass(frozen=True, slots=True)
class Done:
    """What a command did."""

    sentence: str
    """For people."""
    facts: dict[str, Any]
    """For programs: members of the answer."""
    shown: str | None = None
    """A file to be shown."""


async def execute(connection: Connection, params: object) -> Done:
    """Carry out a command.

    Raises:
        RpcError: it was refused, or is no command of ours.
    """
    command, target = _read(params)
    path = session_path(target.uri)
    try:
        if path is None:
            raise RpcError("NotASession", "This is no session file; nothing was done.")
        session = await connection.state.sessions.open(path=path)
        return await _Act(connection, session, target).run(command)
    except Exception as error:  # noqa: BLE001
        raise to_rpc_error(error, EXECUTE_COMMAND) from None


def is_fault(error: RpcError) -> bool:
    """Whether it is the program that has to be told, and not the person."""
    return error.kind in _FAULTS


def _read(params: object) -> tuple[str, Target]:
    given = params if isinstance(params, dict) else {}
    command, arguments = given.get("command"), given.get("arguments")
    if not isinstance(command, str) or command not in COMMANDS:
        raise invalid_params("command", f"it is none of {', '.join(COMMANDS)}")
    first = arguments[0] if isinstance(arguments, list) and arguments else None
    if not isinstance(first, dict) or not isinstance(first.get("uri"), str):
        raise invalid_params("arguments", "the first is an object with a uri, and entry or line")
    entry, line, label = first.get("entry"), first.get("line"), first.get("label")
    if type(line) is not int and (entry is None or type(entry) not in (str, int, float)):
        raise invalid_params("arguments.0.entry", "give the id of an entry, or a line")
    if command == LABEL and not isinstance(label, str):
        raise invalid_params("arguments.0.label", "give a text; an empty one removes the label")
    is_line = type(line) is int and entry is None
    return command, Target(first["uri"], entry, line if is_line else None, label)


def _fork_position(session: Session, entry: EntryId) -> Literal["before", "at"]:
    """Where people mean it: a question is asked anew, anything else is gone on from."""
    row = session.index.find(entry)
    is_question = row is not None and session.index.kind[row] == kinds.USER
    return "before" if is_question else "at"


@dataclass(frozen=True, slots=True)
class _Act:
    connection: Connection
    session: OpenSession
    target: Target

    async def run(self, command: str) -> Done:
        entry = await self._entry()
        if command == NAVIGATE:
            return await self._navigate(entry)
        if command == FORK:
            return await self._fork(entry)
        if command == LABEL:
            return await self._label(entry)
        return await self._edit(entry, None if command == OMIT else "restore")

    async def _label(self, entry: EntryId) -> Done:
        given = self.target.label or ""
        # One of blanks alone would be there and not be seen.
        label = given if plain(given) else None
        origin = self.connection.client.origin(None)
        done = await self.session.label(entry, label, origin=origin)
        words = f"Labelled “{plain(label)}”." if label else "The label is removed."
        return Done(words, {"rev": done.rev, "leaf": done.leaf})

    async def _edit(self, entry: EntryId, replacement: Literal["restore"] | None) -> Done:
        origin = self.connection.client.origin(None)
        done = await self.session.edit_context(entry, replacement, origin=origin)
        words = "Out of the context" if replacement is None else "Back in the context"
        return Done(f"{words} from here on.", {"rev": done.rev, "leaf": done.leaf})

    async def _entry(self) -> EntryId:
        line = self.target.line
        if line is None:
            assert self.target.entry is not None
            return self.target.entry

        def find(session: Session) -> EntryId | None:
            row = row_at(session, line + 1)
            return None if row is None else session.id_of(row)

        found = await self.session.ask(find)
        if found is None:
            raise RpcError("EntryNotFound", f"No entry stands on line {line + 1}.", entry=None)
        return found

    async def _navigate(self, entry: EntryId) -> Done:
        origin = self.connection.client.origin(None)
        done = await self.session.navigate(entry, origin=origin)
        facts: dict[str, Any] = {"rev": done.rev, "leaf": done.leaf}
        where = "at"
        if done.editor_text is not None:
            facts["editorText"] = well_formed(done.editor_text)
            where = "before"
        return Done(f"The session stands {where} {await self._title(entry)}.", facts)

    async def _fork(self, entry: EntryId) -> Done:
        origin = self.connection.client.origin(None)
        position = await self.session.ask(lambda session: _fork_position(session, entry))
        made = await self.session.fork(entry, position=position, cwd=None, origin=origin)
        facts: dict[str, Any] = {"session": made.session, "path": made.path}
        facts["unsaved"] = made.unsaved
        if made.path is not None:
            facts["uri"] = file_uri(made.path)
        if made.editor_text is not None:
            facts["editorText"] = well_formed(made.editor_text)
        where = "at" if made.editor_text is None else "before"
        words = f"Forked {where} {await self._title(entry)}."
        if made.unsaved:
            words += " It has no file before its first answer."
        return Done(words, facts, None if made.unsaved else made.path)

    async def _title(self, entry: EntryId) -> str:
        def find(session: Session) -> str:
            row = session.index.find(entry)
            return "" if row in (None, NONE) else title(session.entry(row))

        told = await self.session.ask(find)
        return f"“{told}”" if told else "that entry"
