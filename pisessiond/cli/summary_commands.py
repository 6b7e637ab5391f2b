"""Commands about summaries: compact, cancel, summarizers."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

from pisessiond.cli.act_output import canvas_for, say_done
from pisessiond.cli.long_act import advised, run_long
from pisessiond.cli.output import Output
from pisessiond.cli.remote import (
    bound_act,
    examples,
    given,
    latest_argument,
    open_session,
    remote_command,
    session_argument,
    width_option,
)

if TYPE_CHECKING:
    from pisessiond.client import answers
    from pisessiond.client.blocking import BlockingClient
    from pisessiond.client.blocking_session import BlockingSession

_PAGE = 2000
"""Nodes asked for at once; the protocol's most."""

_BETWEEN = 8
"""So many entries may stand between those of a compaction without another page: the one before it,
system messages."""


@click.command(
    epilog=examples(
        "pisessiond compact latest --dry-run",
        "pisessiond compact latest",
        "pisessiond compact latest --summarizer extract",
        'pisessiond compact latest --review --instructions "Keep the test names."',
        "pisessiond compact latest --summary - < summary.md",
    )
)
@session_argument
@click.option("--summarizer", metavar="NAME", help="Who writes; see pisessiond summarizers.")
@click.option("--instructions", metavar="TEXT", help="What the summarizer should mind.")
@click.option("--summary", metavar="TEXT", help="The summary, already written; - reads it.")
@click.option("--summary-file", type=click.File("r", "utf-8"), help="A file with it, or -.")
@click.option("--dry-run", is_flag=True, help="Say what would be cut and kept; change nothing.")
@click.option("--input", "with_input", is_flag=True, help="With --dry-run: what is read, too.")
@click.option("--review", is_flag=True, help="See and change the summary before it is stored.")
@click.option("--yes", is_flag=True, help="With --review: store it unchanged without asking.")
@bound_act
@width_option
@remote_command
def compact(
    client: BlockingClient,
    output: Output,
    session: str,
    summarizer: str | None,
    instructions: str | None,
    summary: str | None,
    summary_file: TextIO | None,
    dry_run: bool,
    with_input: bool,
    review: bool,
    yes: bool,
    bound: dict[str, Any],
    width: int | None,
) -> None:
    """Let a summary stand for what is older.

    Without --summary a model is asked for it; Ctrl-C ends that, and nothing is written.
    """
    if summary is not None and summary_file is not None:
        raise click.UsageError("give --summary or --summary-file, not both")
    is_given = summary is not None or summary_file is not None
    _check_ways(is_given, summarizer or instructions, dry_run, with_input, review, yes)
    if summary == "-":
        summary = sys.stdin.buffer.read().decode("utf-8", "replace")
    elif summary_file is not None:
        summary = summary_file.read()
    opened = open_session(client, session)
    wishes: dict[str, Any] = {
        "summarizer": given(summarizer),
        "custom_instructions": given(instructions),
        **bound,
    }
    with advised(output, opened, session):
        if dry_run:
            answer = opened.compact(dry_run=True, with_input=with_input, **wishes)
        elif summary is not None:
            answer = opened.compact(summary=summary, **bound)
        elif review:
            answer = _reviewed(output, opened, wishes, bound, is_confirmed=yes)
        else:
            answer = run_long(
                output, "compacting", lambda hear: opened.compact(progress=hear, **wishes)
            )
    if output.as_json:
        output.json(answer)
    elif (preview := answer.get("preview")) is not None:
        _say_dry_run(output, opened, preview, width)
    else:
        _say_compacted(output, opened, answer)


def _check_ways(
    is_given: bool, wish: str | None, dry_run: bool, with_input: bool, review: bool, yes: bool
) -> None:
    if [is_given, dry_run, review].count(True) > 1:
        raise click.UsageError("give one of --summary, --dry-run and --review")
    if is_given and wish:
        raise click.UsageError("--summarizer and --instructions mean nothing beside a summary")
    if with_input and not dry_run:
        raise click.UsageError("--input goes with --dry-run")
    if yes and not review:
        raise click.UsageError("--yes goes with --review")
    if review and not _has_editor():
        # Before a model is paid for: the usual editors wait for ever where nobody types.
        raise click.UsageError("--review needs a terminal, or an editor in $VISUAL or $EDITOR")


def _say_dry_run(
    output: Output,
    opened: BlockingSession,
    preview: answers.CompactionPreview,
    width: int | None,
) -> None:
    from pisessiond.cli.compaction_view import compaction_lines, input_lines
    from pisessiond.cli.report_view import title_of

    canvas = canvas_for(width)
    nodes = _branch_nodes(opened, [*preview["summarised"], *preview["kept"]])
    title = title_of(opened.opened)
    output.lines(compaction_lines(title, preview, opened.size(), nodes, canvas))
    output.lines(input_lines(preview.get("inputs") or [], canvas))


def _branch_nodes(opened: BlockingSession, entries: list[Any]) -> list[answers.Node]:
    """The nodes of a stretch of the active branch, which is the first in a tree's order."""
    wanted = set(entries)
    page = opened.tree(around=entries[0], count=1)
    found = page["nodes"]
    while len(found) < len(wanted) and (after := page.get("after")) is not None:
        page = opened.tree(after=after, count=min(_PAGE, len(wanted) + _BETWEEN))
        found += [node for node in page["nodes"] if node["id"] in wanted]
        if not any("active" in node["flags"] for node in page["nodes"]):
            break
    return found


def _say_compacted(output: Output, opened: BlockingSession, answer: answers.CompactResult) -> None:
    if answer.get("tokensBefore") is None:
        done: answers.Done = {"rev": answer["rev"], "leaf": answer["leaf"]}
        say_done(output, opened, done, "compacted")
        return
    from pisessiond.cli.compaction_view import compacted_line

    size = opened.context_size
    output.lines([compacted_line(answer, size and size["window"], canvas_for())])


# Review


def _reviewed(
    output: Output,
    opened: BlockingSession,
    wishes: dict[str, Any],
    bound: dict[str, Any],
    *,
    is_confirmed: bool,
) -> answers.CompactResult:
    """Have a summary written, show it in the editor, and store what comes out of it."""
    written = run_long(
        output,
        "writing the summary",
        lambda hear: opened.compact(dry_run="summary", progress=hear, **wishes),
    )
    path = _keep(written.get("summary") or "")
    try:
        edited, is_saved = _edit(path)
        if not edited:
            raise _not_stored(output, "the summary is empty; nothing was written")
        if not is_saved and not is_confirmed and not _confirm():
            raise _not_stored(output, "nothing was written")
        answer = opened.compact(summary=edited, draft=given(written.get("draft")), **bound)
    except (click.exceptions.Exit, click.Abort):
        _forget(path)
        raise
    except BaseException:
        # Whatever stopped it, a text that somebody has worked on is not thrown away.
        click.echo(f"pisessiond: the summary is kept in {path}", err=True)
        raise
    _forget(path)
    return answer


def _keep(text: str) -> str:
    """The path of a file of the user's alone with this text."""
    import tempfile

    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="surrogatepass", prefix="summary-", suffix=".md", delete=False
    ) as file:
        file.write(text)
    return file.name


def _edit(path: str) -> tuple[str, bool]:
    """What stands in the file after the editor ($VISUAL, $EDITOR), and whether it was saved."""
    before = os.stat(path)
    click.edit(filename=path)
    after = os.stat(path)
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        text = file.read().strip()
    # Some editors write a new file and rename it.
    return text, (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns)


def _has_editor() -> bool:
    return sys.stdin.isatty() or any(os.environ.get(name) for name in ("VISUAL", "EDITOR"))


def _confirm() -> bool:
    if not sys.stdin.isatty():
        return False
    return click.confirm("store it as it is?", err=True)


def _not_stored(output: Output, sentence: str) -> click.exceptions.Exit:
    return output.fail("Cancelled", sentence, 1)


def _forget(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


# Others


@click.command(epilog=examples("pisessiond cancel latest"))
@session_argument
@remote_command
def cancel(client: BlockingClient, output: Output, session: str) -> None:
    """End the compaction or summary that runs.

    Whoever began it; everyone who has the session open is told who ended it.
    """
    from pisessiond.cli.operation_view import cancelled_line

    answer = open_session(client, session).cancel_operation()
    if output.as_json:
        output.json(answer)
    else:
        output.lines([cancelled_line(answer["cancelled"])])


@click.command(
    epilog=examples(
        "pisessiond summarizers",
        "pisessiond summarizers latest --json | jq -r '.summarizers[] | select(.ready).name'",
    )
)
@latest_argument
@remote_command
def summarizers(client: BlockingClient, output: Output, session: str) -> None:
    """Show who can write summaries for a session.

    What is named here can be given to --summarizer of compact and navigate.
    """
    from pisessiond.cli.operation_view import choice_line

    answer = open_session(client, session).summarizers()
    if output.as_json:
        output.json(answer)
        return
    output.lines(choice_line(choice) for choice in answer["summarizers"])
    if not answer["summarizers"]:
        output.lines(["nobody; give the text with --summary"])
