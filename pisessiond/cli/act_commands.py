"""Commands that add to a session: append, label, rename, edit-context."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.act_output import say_done, say_edited
from pisessiond.cli.output import Output
from pisessiond.cli.remote import (
    bound_act,
    examples,
    open_session,
    remote_command,
    session_argument,
)

if TYPE_CHECKING:
    from pisessiond.client.blocking import BlockingClient
    from pisessiond.client.blocking_session import BlockingSession


@click.command(
    epilog=examples(
        'pisessiond append latest --text "Why does the fork lose labels?"',
        'pisessiond append latest --entry \'{"type":"custom","customType":"note","data":1}\'',
        "pisessiond append session.jsonl - < entries.jsonl",
    )
)
@session_argument
@click.argument("stdin", required=False, type=click.Choice(["-"]), metavar="[-]")
@click.option("--role", type=click.Choice(["user", "assistant"]), default="user", show_default=True)
@click.option("--text", help="Append a message with this text.")
@click.option("--entry", metavar="JSON", help="Append this entry; id, parent and time may lack.")
@click.option("--detached", is_flag=True, help="Allow a parent other than the leaf.")
@bound_act
@remote_command
def append(
    client: BlockingClient,
    output: Output,
    session: str,
    stdin: str | None,
    role: str,
    text: str | None,
    entry: str | None,
    detached: bool,
    bound: dict[str, Any],
) -> None:
    """Append under the leaf.

    A message, an entry, or with - the entries on standard input: one a line, appended as one
    change, all or none.
    """
    ways = [way for way in (stdin, text, entry) if way is not None]
    if len(ways) != 1:
        raise click.UsageError("say what to append: one of --text, --entry and -")
    entries: list[dict[str, Any]]
    if stdin is not None:
        entries = _read_entries()
    elif entry is not None:
        entries = [_parse_entry(entry, "--entry")]
    else:
        entries = []
    opened = open_session(client, session)
    if text is not None:
        entries = [_message(opened, role, text)]
    answer = opened.append(entries=entries, detached=detached, **bound)
    if output.as_json:
        output.json(answer)
        return
    ids = ", ".join(str(one) for one in answer["ids"][-5:])
    more = "" if len(answer["ids"]) <= 5 else f"{len(answer['ids'])} entries, last "
    say_done(output, opened, answer, f"appended {more}{ids}")


def _message(opened: BlockingSession, role: str, text: str) -> dict[str, Any]:
    from pisessiond.client.entries import assistant_message, user_message

    if role == "user":
        return user_message(text)
    # An answer names its model, and so chooses it: the one that is chosen already.
    model = opened.context(limit=1)["model"] or {}
    provider, name = model.get("provider"), model.get("modelId") or model.get("id")
    return assistant_message(text, str(provider or "unknown"), str(name or "unknown"))


def _read_entries() -> list[dict[str, Any]]:
    # Lines end at 0x0A alone: a session's text may hold what Python takes for a line's end too.
    lines = sys.stdin.buffer.read().decode("utf-8", "replace").split("\n")
    entries = [
        _parse_entry(line, f"line {number} of standard input")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not entries:
        raise click.UsageError("standard input holds no entry")
    return entries


def _parse_entry(text: str, name: str) -> dict[str, Any]:
    from pisessiond.cli.daemon_commands import parse_object

    return parse_object(text, name)


@click.command(
    epilog=examples(
        "pisessiond label latest 5f2c91aa green",
        "pisessiond label latest 5f2c91aa --clear",
    )
)
@session_argument
@click.argument("entry")
@click.argument("text", required=False, metavar="[LABEL]")
@click.option("--clear", is_flag=True, help="Take the label away.")
@bound_act
@remote_command
def label(
    client: BlockingClient,
    output: Output,
    session: str,
    entry: str,
    text: str | None,
    clear: bool,
    bound: dict[str, Any],
) -> None:
    """Label an entry, or --clear its label."""
    if (text is None) != clear:
        raise click.UsageError("give a LABEL, or --clear")
    opened = open_session(client, session)
    answer = opened.label(entry, text, **bound)
    if output.as_json:
        output.json(answer)
    else:
        say_done(output, opened, answer, f"labelled [{text}]" if text else "label cleared")


@click.command(
    epilog=examples(
        "pisessiond rename latest login-fix",
    )
)
@session_argument
@click.argument("name", required=False)
@click.option("--clear", is_flag=True, help="Take the name away.")
@bound_act
@remote_command
def rename(
    client: BlockingClient,
    output: Output,
    session: str,
    name: str | None,
    clear: bool,
    bound: dict[str, Any],
) -> None:
    """Name a session, or --clear its name."""
    if (name is None) != clear:
        raise click.UsageError("give a NAME, or --clear")
    opened = open_session(client, session)
    answer = opened.rename(name, **bound)
    if output.as_json:
        output.json(answer)
    else:
        say_done(output, opened, answer, f"named {name}" if name else "name cleared")


@click.command(
    "edit-context",
    epilog=examples(
        "pisessiond edit-context latest 5f2c91aa --omit",
        'pisessiond edit-context latest 5f2c91aa --text "[output left out]"',
        "pisessiond edit-context latest 5f2c91aa --restore",
    ),
)
@session_argument
@click.argument("entry")
@click.option("--omit", is_flag=True, help="Take the entry out of the context.")
@click.option("--restore", is_flag=True, help="Put it back as it was.")
@click.option("--text", help="Send this text instead of its content.")
@click.option("--content", metavar="JSON", help="Send this content instead.")
@bound_act
@remote_command
def edit_context(
    client: BlockingClient,
    output: Output,
    session: str,
    entry: str,
    omit: bool,
    restore: bool,
    text: str | None,
    content: str | None,
    bound: dict[str, Any],
) -> None:
    """Change what the model is sent of an entry.

    This holds on its branch only, and the entry itself stays as it is.
    """
    if [omit, restore, text is not None, content is not None].count(True) != 1:
        raise click.UsageError("give one of --omit, --restore, --text and --content")
    replacement: Any = None
    if restore:
        replacement = "restore"
    elif not omit:
        replacement = {"content": text if content is None else _parse_content(content)}
    opened = open_session(client, session)
    before = None if output.as_json else opened.size()
    answer = opened.edit_context(entry, replacement, **bound)
    if before is None:
        output.json(answer)
    else:
        what = "restored" if restore else "omitted" if omit else "replaced"
        say_edited(output, opened, answer, what, before)


def _parse_content(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"this is no JSON: {error}", param_hint="--content") from error
