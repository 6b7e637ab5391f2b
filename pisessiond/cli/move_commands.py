"""Commands that go somewhere else: navigate, fork, clone, compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.act_output import canvas_for, node_at, say_done, say_fork, say_prompt
from pisessiond.cli.long_act import advised, run_long
from pisessiond.cli.output import Output
from pisessiond.cli.remote import (
    bound_act,
    examples,
    given,
    open_session,
    remote_command,
    session_argument,
    width_option,
)

if TYPE_CHECKING:
    from pisessiond.cli.canvas import Canvas
    from pisessiond.client import answers
    from pisessiond.client.blocking import BlockingClient
    from pisessiond.client.blocking_session import BlockingSession


@click.command(
    epilog=examples(
        "pisessiond navigate latest 5f2c91aa --dry-run",
        'pisessiond navigate latest 5f2c91aa --summary "Tried time-machine; it breaks xdist."',
        'pisessiond navigate latest 5f2c91aa --summarize --instructions "Only what failed."',
        "pisessiond navigate latest --start",
    )
)
@session_argument
@click.argument("entry", required=False)
@click.option("--start", is_flag=True, help="Go before the first entry.")
@click.option("--exact", is_flag=True, help="Stand at the very entry, a user message too.")
@click.option("--summary", help="Keep this summary of the branch that is left.")
@click.option("--summarize", is_flag=True, help="Have the branch that is left summarised.")
@click.option("--summarizer", metavar="NAME", help="By whom; see pisessiond summarizers.")
@click.option("--instructions", metavar="TEXT", help="What the summarizer should mind.")
@click.option("--instead", metavar="TEXT", help="What it should do instead of the usual.")
@click.option("--label", help="Label the summary, or else the entry.")
@click.option("--dry-run", is_flag=True, help="Say what the move would do; change nothing.")
@bound_act
@width_option
@remote_command
def navigate(
    client: BlockingClient,
    output: Output,
    session: str,
    entry: str | None,
    start: bool,
    exact: bool,
    summary: str | None,
    summarize: bool,
    summarizer: str | None,
    instructions: str | None,
    instead: str | None,
    label: str | None,
    dry_run: bool,
    bound: dict[str, Any],
    width: int | None,
) -> None:
    """Move the leaf to another entry.

    To a user message means before it; its text is printed, to be changed and sent again.
    """
    if (entry is None) != start:
        raise click.UsageError("say where to go: an ENTRY, or --start")
    _check_wishes(summarize, summary, summarizer, instructions, instead)
    opened = open_session(client, session)
    wishes: dict[str, Any] = {
        "exact": exact,
        "summarize": summarize,
        "summarizer": given(summarizer),
        **bound,
    }
    with advised(output, opened, session):
        if dry_run:
            answer = opened.navigate(entry, dry_run=True, **wishes)
            if output.as_json or (preview := answer.get("preview")) is None:
                output.json(answer)
            else:
                _say_move(output, opened, entry, preview, canvas_for(width), exact, summarize)
            return
        wishes |= {
            "summary": given(summary),
            "custom_instructions": given(instructions if instead is None else instead),
            "replace_instructions": instead is not None,
            "label": given(label),
        }
        if summarize:
            answer = run_long(
                output,
                "summarising the branch left",
                lambda hear: opened.navigate(entry, progress=hear, **wishes),
            )
        else:
            answer = opened.navigate(entry, **wishes)
    if output.as_json:
        output.json(answer)
        return
    done: answers.Done = {"rev": answer["rev"], "leaf": answer["leaf"]}
    written = answer.get("summaryEntry") is not None
    say_done(output, opened, done, "moved, with a summary" if written else "moved")
    say_prompt(output, answer.get("editorText"))


def _check_wishes(
    summarize: bool,
    summary: str | None,
    summarizer: str | None,
    instructions: str | None,
    instead: str | None,
) -> None:
    if summarize and summary is not None:
        raise click.UsageError("give --summary or --summarize, not both")
    if not summarize and (summarizer or instructions or instead):
        raise click.UsageError("--summarizer, --instructions and --instead go with --summarize")
    if instructions is not None and instead is not None:
        raise click.UsageError("give --instructions or --instead, not both")


def _say_move(
    output: Output,
    opened: BlockingSession,
    entry: str | None,
    preview: answers.MovePreview,
    canvas: Canvas,
    exact: bool,
    summarize: bool,
) -> None:
    from pisessiond.cli.move_view import move_lines

    target = node_at(opened, entry)
    output.lines(move_lines(target, preview, canvas, exact=exact, is_summary_wanted=summarize))


@click.command(
    epilog=examples(
        "pisessiond fork latest 5f2c91aa",
        "pisessiond fork latest 5f2c91aa --dry-run",
        "pisessiond fork latest 77d04c1e --at --json | jq -r .path",
    )
)
@session_argument
@click.argument("entry", required=False)
@click.option("--before", "position", flag_value="before", help="Up to the entry, without it.")
@click.option("--at", "position", flag_value="at", help="Up to the entry, with it.")
@click.option("--cwd", metavar="DIR", help="The new session's folder.")
@click.option("--dry-run", is_flag=True, help="Say what the fork would hold; make none.")
@width_option
@remote_command
def fork(
    client: BlockingClient,
    output: Output,
    session: str,
    entry: str | None,
    position: Any,
    cwd: str | None,
    dry_run: bool,
    width: int | None,
) -> None:
    """Begin a new session from an earlier entry.

    Before a user message, or --at any entry. Without an entry it begins at the leaf; with --cwd
    alone all branches come along.
    """
    opened = open_session(client, session)
    with advised(output, opened, session):
        answer = opened.fork(
            given(entry), position=given(position), cwd=given(cwd), dry_run=dry_run
        )
    preview = answer.get("preview")
    if output.as_json or preview is None:
        say_fork(output, answer, "forked")
        return
    from pisessiond.cli.move_view import fork_lines

    node = node_at(opened, preview["leaf"] if entry is None else entry)
    with_all = entry is None and cwd is not None
    output.lines(fork_lines(node, preview, canvas_for(width), with_all=with_all))


@click.command(epilog=examples("pisessiond clone latest"))
@session_argument
@remote_command
def clone(client: BlockingClient, output: Output, session: str) -> None:
    """Begin a new session with the active branch."""
    say_fork(output, open_session(client, session).clone(), "cloned")


@click.command(
    epilog=examples(
        "pisessiond compare latest 5f2c91aa",
        "pisessiond compare latest 5f2c91aa 77d04c1e --json | jq .a.files.modified",
    )
)
@session_argument
@click.argument("a", metavar="A")
@click.argument("b", metavar="[B]", default="leaf")
@width_option
@remote_command
def compare(
    client: BlockingClient, output: Output, session: str, a: str, b: str, width: int | None
) -> None:
    """Set two branches side by side.

    Each is named by the entry at its end, or by leaf; B is the active branch when it is left out.
    Told is what each has added since they parted.
    """
    opened = open_session(client, session)
    answer = opened.compare(a, b)
    if output.as_json:
        output.json(answer)
        return
    from pisessiond.cli.compare_view import compare_lines

    ancestor = node_at(opened, answer["ancestor"])
    names = _name_of(opened, a), _name_of(opened, b)
    output.lines(compare_lines(answer, ancestor, names, canvas_for(width)))


def _name_of(opened: BlockingSession, end: str) -> str:
    """What people call a branch: the label at its end, else what is said there."""
    if end in {"leaf", opened.leaf}:
        return "active branch"
    node = node_at(opened, end)
    if node is None:
        return end
    return node.get("label") or node["preview"] or end
