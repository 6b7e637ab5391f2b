"""`pisessiond serve`: the daemon itself, at the one address, at a socket of choice, or on stdio."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.output import UNUSABLE, Output
from pisessiond.cli.remote import examples, socket_option

if TYPE_CHECKING:
    from pisessiond.client.address import Place

IDLE_SECONDS = 600.0


@click.command(
    epilog=examples(
        "pisessiond serve",
        "pisessiond serve --foreground --idle 0",
        "pisessiond serve --socket /tmp/pi.sock",
        "pisessiond serve --stdio",
    )
)
@socket_option
@click.option("--stdio", is_flag=True, help="Serve one client on standard input and output.")
@click.option(
    "--foreground", is_flag=True, help="Log to standard error, for systemd and for a look."
)
@click.option(
    "--idle",
    # Not for users: how tests let a daemon that a client started leave soon.
    envvar="PISESSIOND_TEST_IDLE",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="End after so long without clients and work; 0 never.  [default: 600, with --socket 0]",
)
@click.option(
    "--tcp",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Listen at 127.0.0.1 too, for clients that show the token.",
)
@click.option(
    "--persist",
    type=click.Choice(["anchor", "leaf", "memory"]),
    help="How a move is kept for the next opening; memory does as pi does.  [default: anchor]",
)
@click.option(
    "--sync",
    type=click.Choice(["always", "relaxed"]),
    help="always: an answer means on disk; relaxed: a power cut may take the last half minute."
    "  [default: always]",
)
@click.option(
    "--flush",
    type=click.Choice(["first-assistant", "first-message", "immediate"]),
    help="When a new session's file appears.  [default: first-assistant]",
)
@click.option(
    "--agent-dir",
    envvar="PI_CODING_AGENT_DIR",
    metavar="DIR",
    help="pi's agent folder, usually ~/.pi/agent.",
)
@click.option("--log-file", metavar="PATH", help="Where the log goes.")
@click.option("--start-lock", type=int, hidden=True)
def serve(
    socket: str | None,
    stdio: bool,
    foreground: bool,
    idle: float | None,
    tcp: int | None,
    flush: str | None,
    persist: str | None,
    sync: str | None,
    agent_dir: str | None,
    log_file: str | None,
    start_lock: int | None,
) -> None:
    """Run the daemon until it is stopped.

    Other commands and editors start it by themselves; one that runs already is left alone.
    Options beat config.toml, which `pisessiond config` shows.
    """
    if foreground and log_file:
        raise click.UsageError("--foreground logs to standard error: leave --log-file out")
    chosen = click.get_current_context().get_parameter_source("socket")
    # The environment may name a socket for all other commands; --stdio then wins.
    if stdio and socket and chosen is not click.core.ParameterSource.ENVIRONMENT:
        raise click.UsageError("say where to serve: --socket PATH or --stdio")
    options: dict[str, Any] = {"agent_dir": agent_dir, "log_file": log_file, **_settings()}
    # These two are meant for the one daemon at the usual address: a port can be had once.
    usual = {"idle": IDLE_SECONDS, "tcp": None}
    usual |= {name: options.pop(name) for name in tuple(usual) if name in options}
    flags = {"flush": flush, "persist": persist, "sync": sync}
    options |= {name: value for name, value in flags.items() if value is not None}
    if stdio:
        options |= {"stdio": True, "report": _complain}
    elif socket:
        options |= {"socket": socket, "idle": idle or 0.0, "tcp": tcp, "report": _complain}
        options["token_file"] = f"{socket}.token"
    else:
        place = _own_place(agent_dir, start_lock)
        options |= _at_place(place, start_lock)
        options["idle"] = usual["idle"] if idle is None else idle
        options["tcp"] = usual["tcp"] if tcp is None else tcp
        if not log_file and not foreground:
            options["log_file"] = place.log
    options |= _shared_folders(agent_dir)
    options["cache_folder"] = _cache_folder(agent_dir)
    from pisessiond import app

    raise click.exceptions.Exit(app.serve(app.ServeOptions(**options)))


def _settings() -> dict[str, Any]:
    """Our own settings: the file, and what of it counts at the start alone."""
    from pisessiond.client.address import config_file
    from pisessiond.client.errors import NoDaemon
    from pisessiond.wiring.user_setup import start_settings

    try:
        path = config_file()
    except NoDaemon:
        # Without a home there are no settings; that is said where it matters.
        return {}
    return {"config_file": path, **start_settings(path)}


def _shared_folders(agent_dir: str | None) -> dict[str, str]:
    """Where things are kept beside the sessions, whichever way the daemon is reached.

    Claims and places are shared by the daemons of all agent dirs: a session file has one real path
    for them all.
    """
    from pisessiond.client.address import find_place, make_claims_folder, state_root
    from pisessiond.client.errors import NoDaemon

    try:
        claims = make_claims_folder()
    except NoDaemon as error:
        # Only a socket of choice gets here: it is served all the same, as nobody else's business.
        click.echo(f"pisessiond: {error}; other daemons are not kept from its files", err=True)
        return {}
    return {
        "claims_folder": claims,
        "places_folder": f"{state_root()}/places",
        "unsynced_folder": f"{state_root()}/unsynced",
        "recovery_folder": find_place(agent_dir).recovery,
    }


def _cache_folder(agent_dir: str | None) -> str | None:
    from pisessiond.client.address import cache_folder, find_place
    from pisessiond.client.errors import NoDaemon

    try:
        return cache_folder(find_place(agent_dir))
    except NoDaemon:
        return None


def _own_place(agent_dir: str | None, start_lock: int | None) -> Place:
    from pisessiond.client.address import find_place, make_place, socket_path
    from pisessiond.client.errors import NoDaemon

    if start_lock is not None:
        _detach()
    try:
        place = find_place(agent_dir)
        make_place(place)
        socket_path(place)
    except NoDaemon as error:
        if start_lock is not None:
            _tell_starter(str(error))
            raise click.exceptions.Exit(UNUSABLE) from error
        raise Output(as_json=False).fail("NoDaemon", str(error), UNUSABLE) from error
    return place


def _at_place(place: Place, start_lock: int | None) -> dict[str, Any]:
    from pisessiond.client.address import socket_path

    report: Callable[[str], None] = _tell_starter if start_lock is not None else _complain
    return {
        "socket": socket_path(place),
        "state_folder": place.folder,
        "address_file": place.address_file,
        "token_file": place.token,
        "agent_dir": place.agent_dir,
        "start_lock": start_lock,
        "report": report,
    }


def _detach() -> None:
    """Leaves the starter: it waits for its child only, and the daemon is the child's child."""
    if os.fork():
        os._exit(0)
    # The files it makes are everyone's, whoever started it; their owner can always use them.
    os.umask(os.umask(0o077) & 0o077)


def _tell_starter(word: str) -> None:
    """Writes the line a starter waits for on standard error, and lets go of its pipe."""
    from pisessiond.client.starting import REPORT

    try:
        os.write(sys.stderr.fileno(), f"\n{REPORT}{word}\n".encode())
    except OSError:
        pass  # The starter is gone; the daemon it started serves others.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, sys.stderr.fileno())
    os.close(nowhere)


def _complain(word: str) -> None:
    if word == "running":
        click.echo("pisessiond: already running")
    elif word != "ready":
        click.echo(f"pisessiond: {word}", err=True)
