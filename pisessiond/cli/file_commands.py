"""Commands that move sessions in and out: export, import, delete."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.long_act import Doing
from pisessiond.cli.output import REFUSED, Output
from pisessiond.cli.remote import (
    examples,
    given,
    is_file,
    latest_argument,
    open_session,
    remote_command,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pisessiond.client.blocking import BlockingClient

FORMATS = {".jsonl": "jsonl", ".md": "markdown", ".markdown": "markdown", ".html": "html"}


@click.command(
    epilog=examples(
        "pisessiond export latest -o talk.md",
        "pisessiond export session.jsonl --whole -o tree.html",
        "pisessiond export latest --entry 5f2c91aa --format jsonl > branch.jsonl",
    )
)
@latest_argument
@click.option("-o", "--out", metavar="FILE", help="A new file; its ending says the format.")
@click.option("--format", "kind", type=click.Choice(["jsonl", "markdown", "html"]))
@click.option("--entry", metavar="ENTRY", help="The branch down to this entry, not to the leaf.")
@click.option("--whole", is_flag=True, help="The tree with all its branches, as HTML.")
@remote_command
def export(
    client: BlockingClient,
    output: Output,
    session: str,
    out: str | None,
    kind: Any,
    entry: str | None,
    whole: bool,
) -> None:
    """Export a branch, or the whole tree.

    As JSONL, a session of its own; as Markdown; or as an HTML page that needs nothing else. A file
    is never written over. Without FILE it goes to standard output, up to 8 MiB.
    """
    kind = (
        kind or FORMATS.get(os.path.splitext(out or "")[1].lower()) or ("html" if whole else None)
    )
    if kind is None:
        raise click.UsageError("say the format: --format jsonl, markdown or html")
    opened = open_session(client, session)
    with Doing("exporting", is_quiet=True):
        answer = opened.export(
            kind,
            entry=given(entry),
            whole=whole,
            path=given(out and os.path.abspath(out)),
        )
    if output.as_json:
        output.json(answer)
    elif out is None:
        click.echo((answer.get("text") or "").encode("utf-8", "replace"), nl=False)
    else:
        output.lines([f"written: {out} ({answer['bytes']:,} bytes)"])


@contextmanager
def _source_of(file: str) -> Iterator[dict[str, str]]:
    """How the daemon is told what to import; bytes that are no UTF-8 pass in files alone."""
    if file != "-":
        yield {"path": os.path.abspath(file)}
        return
    data = sys.stdin.buffer.read()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as copy:
            copy.write(data)
            copy.flush()
            yield {"path": copy.name}
    else:
        yield {"text": text}


@click.command(
    "import",
    epilog=examples(
        "pisessiond import shared.jsonl --cwd .",
        "ssh host cat session.jsonl | pisessiond import - --new-id",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--cwd", metavar="DIR", help="The folder it is to belong to, not the one it says.")
@click.option("--id", "session_id", metavar="ID", help="The copy's id, not its own.")
@click.option("--new-id", is_flag=True, help="Give the copy a new id.")
@remote_command
def import_file(
    client: BlockingClient,
    output: Output,
    file: str,
    cwd: str | None,
    session_id: str | None,
    new_id: bool,
) -> None:
    """Copy a session file among pi's own.

    With - from standard input. The source is only read; of the copy no more than id and folder
    change. Refused when a session has the id already.
    """
    if session_id is not None and new_id:
        raise click.UsageError("--id and --new-id cannot be given together")
    from pisessiond.client.errors import RpcFailure

    try:
        with _source_of(file) as source, Doing("importing", is_quiet=True):
            answer = client.import_session(
                **source,
                id=given(session_id),
                new_id=new_id,
                cwd=given(cwd and os.path.abspath(cwd)),
            )
    except RpcFailure as failure:
        if failure.kind == "SessionNotFound":
            none = f"there is no file {file}"
            raise output.fail(failure.kind, none, REFUSED, failure.data) from failure
        steps = (
            ["  to import a copy beside it: --new-id"] if failure.kind == "SessionExists" else []
        )
        raise output.refuse(failure, steps) from failure
    if output.as_json:
        output.json(answer)
    else:
        output.lines([f"imported · session {answer['session']}", answer["path"]])


@click.command(
    epilog=examples(
        "pisessiond delete 0192f3c1-...",
        "pisessiond delete old.jsonl older.jsonl --yes",
    )
)
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--discard", is_flag=True, help="Also sessions on no disk: nothing brings them back.")
@remote_command
def delete(
    client: BlockingClient,
    output: Output,
    sessions: tuple[str, ...],
    yes: bool,
    discard: bool,
) -> None:
    """Move sessions to the trash.

    From there the desktop brings them back. Asks before each one. Whoever has one open is told.
    """
    from pisessiond.cli.figures import count
    from pisessiond.cli.plain_text import clean_line
    from pisessiond.cli.report_view import title_of

    if not yes and not sys.stdin.isatty():
        raise click.UsageError("nobody can be asked here; say --yes")
    for name in sessions:
        opened = open_session(client, name)
        title = title_of(opened.opened)
        if not yes:
            entries = count(opened.opened["entryCount"], "entry", "entries")
            if not click.confirm(f"Move “{title}” ({entries}) to the trash?", err=True):
                raise output.fail("Cancelled", "nothing more was deleted", REFUSED)
        if is_file(name):
            answer = client.delete(path=os.path.abspath(name), discard=discard)
        else:
            answer = client.delete(opened.handle, discard=discard)
        if output.as_json:
            output.json(answer)
        else:
            what = "moved to the trash" if answer["trashed"] else "discarded"
            output.lines(
                [f"{what}: {title}", *([clean_line(answer["path"] or "")] * bool(answer["path"]))]
            )
