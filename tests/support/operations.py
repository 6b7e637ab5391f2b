"""The same list of operations for real pi (`Pi.build`) and for our service, and what both wrote.

Operations have pi's names and arguments; see `op` and `ref` in tests/support/pi.py.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pisessiond import app
from pisessiond.core.errors import SessionError
from pisessiond.core.session import Session
from pisessiond.service.errors import ServiceError
from pisessiond.service.open_session import OpenSession
from pisessiond.service.sessions import Sessions
from pisessiond.service.types import Origin
from tests.support.pi import NOT_GIVEN, Answer

Op = dict[str, Any]

ORIGIN: Final = Origin("tests", "tests-1")
_ID: Final = re.compile(r'"([0-9a-f]{8}(?:-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?)"')
_TIME: Final = re.compile(r'"timestamp":(?:"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"|\d{13}\b)')
_PARENT: Final = re.compile(r'"parentSession":"[^"]*"')


class Builder:
    """Runs operations on our service as pi's helper runs them on pi."""

    def __init__(self, sessions: Sessions, folder: Path, cwd: str) -> None:
        self.sessions = sessions
        self.folder = folder
        self.cwd = cwd
        self.results: list[Any] = []
        self.paths: list[str] = []
        """The files written or planned, in order."""
        self._current: OpenSession | None = None

    @property
    def current(self) -> OpenSession:
        """The session that the operations have come to."""
        assert self._current is not None
        return self._current

    async def run(self, ops: Sequence[Op]) -> None:
        for one in ops:
            arguments = [self._argument(value) for value in one["args"]]
            try:
                self.results.append(await getattr(self, f"_{one['op']}")(*arguments))
            except (SessionError, ServiceError) as error:
                self.results.append({"error": str(error)})

    def _argument(self, value: Any) -> Any:
        if isinstance(value, dict) and list(value) == ["ref"]:
            return self.results[value["ref"]]
        return value

    def texts(self) -> list[str | None]:
        """What is in the files; None for one that is not there."""
        found = [Path(path) for path in self.paths]
        return [path.read_text("utf-8") if path.exists() else None for path in found]

    def _turn_to(self, session: OpenSession) -> str:
        self._current = session
        assert session.path is not None
        self.paths.append(session.path)
        return session.path

    async def _append(self, kind: str, **members: Any) -> Any:
        given = {name: value for name, value in members.items() if value != NOT_GIVEN}
        done = await self.current.append([{"type": kind, **given}], origin=ORIGIN)
        return done.ids[0]

    # Under pi's names ---------------------------------------------------------------------------

    async def _create(self, options: dict[str, Any] | None = None) -> str:
        made = await self.sessions.create(
            cwd=self.cwd,
            id=(options or {}).get("id"),
            session_dir=str(self.folder),
            origin=ORIGIN,
        )
        return self._turn_to(made)

    async def _open(self, path: str) -> str:
        self._current = await self.sessions.open(path=path)
        return path

    async def _forkFrom(self, path: str, cwd: str) -> str:  # noqa: N802
        source = await self.sessions.open(path=path)
        forked = await source.fork(None, position=None, cwd=cwd, origin=ORIGIN)
        return self._turn_to(self.sessions.get(forked.session))

    async def _createBranchedSession(self, entry: str) -> str:  # noqa: N802
        if entry == self.current.leaf:
            forked = await self.current.clone(origin=ORIGIN)
        else:
            forked = await self.current.fork(entry, position="at", cwd=None, origin=ORIGIN)
        return self._turn_to(self.sessions.get(forked.session))

    async def _appendMessage(self, message: Any) -> Any:  # noqa: N802
        return await self._append("message", message=message)

    async def _appendThinkingLevelChange(self, level: str) -> Any:  # noqa: N802
        return await self._append("thinking_level_change", thinkingLevel=level)

    async def _appendModelChange(self, provider: str, model: str) -> Any:  # noqa: N802
        return await self._append("model_change", provider=provider, modelId=model)

    async def _appendUsage(  # noqa: N802
        self, kind: str, provider: str, model: str, usage: Any, note: Any = NOT_GIVEN
    ) -> Any:
        members = {"provider": provider, "model": model, "usage": usage, "note": note}
        given = {name: value for name, value in members.items() if value != NOT_GIVEN}
        entry = {"type": "usage", "kind": kind, **given}
        return (await self.current.append([entry], origin=ORIGIN)).ids[0]

    async def _appendCompaction(  # noqa: N802
        self,
        summary: str,
        kept: str,
        tokens: int,
        details: Any = NOT_GIVEN,
        from_hook: Any = NOT_GIVEN,
    ) -> Any:
        return await self._append(
            "compaction",
            summary=summary,
            firstKeptEntryId=kept,
            tokensBefore=tokens,
            details=details,
            fromHook=from_hook,
            systemMessage=system_message(await self.current.sized()),
        )

    async def _appendCustomEntry(self, custom_type: str, data: Any = NOT_GIVEN) -> Any:  # noqa: N802
        return await self._append("custom", customType=custom_type, data=data)

    async def _appendSessionInfo(self, name: str) -> Any:  # noqa: N802
        await self.current.rename(name, origin=ORIGIN)
        return self.current.leaf

    async def _appendCustomMessageEntry(  # noqa: N802
        self, custom_type: str, content: Any, display: bool, details: Any = NOT_GIVEN
    ) -> Any:
        return await self._append(
            "custom_message",
            customType=custom_type,
            content=content,
            display=display,
            details=details,
        )

    async def _appendContextEdit(self, target: str, replacement: Any) -> Any:  # noqa: N802
        await self.current.edit_context(target, replacement, origin=ORIGIN)
        return self.current.leaf

    async def _appendLabelChange(self, target: str, label: Any = NOT_GIVEN) -> Any:  # noqa: N802
        given = None if label == NOT_GIVEN else label
        await self.current.label(target, given, origin=ORIGIN)
        return self.current.leaf

    async def _branch(self, target: str) -> None:
        await self.current.navigate(target, exact=True, origin=ORIGIN)

    async def _resetLeaf(self) -> None:  # noqa: N802
        await self.current.navigate(None, exact=True, origin=ORIGIN)

    async def _branchWithSummary(self, target: str | None, summary: str, *_: Any) -> Any:  # noqa: N802
        done = await self.current.navigate(target, exact=True, summary=summary, origin=ORIGIN)
        return done.summary_entry


def system_message(session: Session) -> Any:
    """The `systemMessage` of a compaction at the leaf; its time is replaced in comparing."""
    message = session.sizes.system_at(session.leaf).message()
    return NOT_GIVEN if message is None else {**message, "timestamp": 1_700_000_000_000}


def service(folder: Path) -> Any:
    """Our service with an agent folder of its own, writing at the moment at which pi writes."""
    return app.sessions(
        app.session_places(str(folder / "agent")),
        app.ServeOptions(flush="first-message", persist="memory"),
    )


def texts_by_pi(built: Answer) -> list[str | None]:
    """What pi wrote, file by file in the order of their making."""
    made = [result for result in built["results"] if isinstance(result, str)]
    paths = [result for result in made if result.endswith(".jsonl")]
    return [built["files"].get(path) for path in dict.fromkeys(paths)]


def alike(texts: Sequence[str | None]) -> list[str | None]:
    """Texts with ids as `@n` in the order in which they appear, and times and paths as words."""
    names: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return names.setdefault(found[1], f'"@{len(names)}"')

    def shown(text: str) -> str:
        text = _TIME.sub('"timestamp":"<time>"', text)
        return _ID.sub(name, _PARENT.sub('"parentSession":"<path>"', text))

    return [None if text is None else shown(text) for text in texts]
