"""The `pisessiond` command: serves sessions, and asks a daemon that does."""

from __future__ import annotations

import os
import sys

import click

from pisessiond import __version__
from pisessiond.cli import (
    act_commands,
    check_commands,
    config_commands,
    daemon_commands,
    file_commands,
    graph_commands,
    local_commands,
    move_commands,
    pi_commands,
    search_commands,
    stats_commands,
    summary_commands,
    view_commands,
)
from pisessiond.cli.output import INTERRUPTED, PIPE_BROKEN, UNUSABLE
from pisessiond.cli.serving import serve

EPILOG = """\b
  pisessiond tree
  pisessiond append latest --text "Why does the fork lose labels?"

\b
Commands that need the daemon find yours, or start it; --socket PATH and PISESSIOND_SOCKET name
another one.
SESSION is a .jsonl file, a session's id, or "latest": the newest of this folder.
--json prints what the daemon answered; NO_COLOR is respected.

\b
Exit codes: 0 done, 1 refused by the daemon, 2 wrong usage or no daemon, 130 Ctrl-C,
141 nobody reads the output any more."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order they were added: serving, looking, acting."""
        return list(self.commands)


@click.group(cls=_Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pisessiond")
def cli() -> None:
    """Serve pi's sessions to several editors and scripts at once, and steer them from here."""


for _command in (
    serve,
    local_commands.attach,
    daemon_commands.status,
    daemon_commands.stop,
    daemon_commands.doctor,
    config_commands.config,
    local_commands.socket_path,
    view_commands.list_sessions,
    search_commands.search,
    view_commands.tree,
    graph_commands.graph,
    view_commands.show,
    act_commands.append,
    move_commands.navigate,
    summary_commands.compact,
    summary_commands.cancel,
    summary_commands.summarizers,
    move_commands.fork,
    move_commands.clone,
    move_commands.compare,
    act_commands.label,
    act_commands.rename,
    act_commands.edit_context,
    pi_commands.prompt,
    pi_commands.abort,
    pi_commands.pi,
    view_commands.context,
    stats_commands.stats,
    view_commands.follow,
    file_commands.export,
    file_commands.import_file,
    file_commands.delete,
    daemon_commands.call,
    check_commands.check,
    check_commands.recover,
    local_commands.inspect,
    local_commands.schema,
    local_commands.completion,
):
    cli.add_command(_command)


def run(arguments: list[str]) -> int:
    """Runs a command and gives its exit code. Ctrl-C and a broken pipe end it without a word."""
    if "_PISESSIOND_COMPLETE" in os.environ:
        cli.main(arguments, prog_name="pisessiond")
    try:
        # Not `cli.main`: it says "Aborted!" and takes a broken pipe for a failure.
        with cli.make_context("pisessiond", list(arguments)) as ctx:
            cli.invoke(ctx)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code if error.exit_code != 1 else 2
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # What is still in the buffer goes nowhere, also when Python flushes it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_BROKEN
    except FileNotFoundError:
        if _has_folder():
            raise
        # A shell stays in a folder that was removed; a path or `latest` means nothing there.
        click.echo("pisessiond: the folder you are in is gone; go to another one", err=True)
        return UNUSABLE
    return 0


def _has_folder() -> bool:
    """Whether the working directory is there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def main() -> None:
    """The entry point of the `pisessiond` program."""
    if os.name == "nt":
        sys.exit("pisessiond runs on Linux, macOS and WSL; on Windows, install it inside WSL")
    for stream in (sys.stdout, sys.stderr):
        # A glyph the terminal cannot show is a question mark there, not a failure.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))
