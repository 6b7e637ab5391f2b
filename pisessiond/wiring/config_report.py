"""What `config` and `doctor` tell of the user's settings. No daemon is asked, no command run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pisessiond.core.errors import BadSetting
from pisessiond.core.setting_layers import Layer
from pisessiond.models.base import ModelName
from pisessiond.models.described import describe_model, key_lines
from pisessiond.models.pi_models import PiModels
from pisessiond.settings.described import Row, own_rows, pi_rows
from pisessiond.settings.files import Unreadable, unreadable, with_tilde
from pisessiond.wiring.model_access import ModelAccess, model_access
from pisessiond.wiring.user_setup import Setup, read_setup


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose settings are asked for."""

    agent_dir: str
    home: str
    environment: Mapping[str, str]
    config_file: str
    cache_folder: str | None = None


def describe(whose: Whose, cwd: str, model: str | None) -> dict[str, Any]:
    """Each effective setting and where it comes from, keys by their places alone.

    Args:
        whose: files and environment.
        cwd: the folder whose project settings count.
        model: `provider/model`, whose overrides, window and price are told too.
    """
    name = None if model is None else ModelName(*model.split("/", 1))
    setup = _read(whose)
    access = model_access(setup, whose.agent_dir, whose.environment)
    own = setup.config.look()
    layers = setup.settings.layers(cwd)
    rows = [
        *own_rows(own.config, setup.config.shown),
        *pi_rows(layers, model),
    ]
    told: dict[str, Any] = {
        "files": list(_files(whose, setup, access, cwd)),
        "problems": [_problem(one) for one in _problems(setup, access, cwd, model)],
        "settings": [_row(one) for one in rows],
        "keys": [{"provider": name, "state": state} for name, state in _keys(setup, access)],
        "environment": _proxies(whose.environment),
    }
    if name is not None:
        told["model"] = _model(setup, access, name)
    return told


def problems(whose: Whose, cwd: str) -> list[str]:
    """What in the settings means nothing, a sentence for each."""
    setup = _read(whose)
    access = model_access(setup, whose.agent_dir, whose.environment)
    return [str(one) for one in _problems(setup, access, cwd, None)]


def _read(whose: Whose) -> Setup:
    return read_setup(
        whose.agent_dir,
        whose.home,
        whose.environment,
        config_file=whose.config_file,
        cache_folder=whose.cache_folder,
    )


def _files(whose: Whose, setup: Setup, access: ModelAccess, cwd: str) -> Iterator[dict[str, Any]]:
    yield {"path": setup.config.shown, "found": setup.config.look().is_there}
    for path in (
        f"{cwd}/.pi/settings.json",
        f"{whose.agent_dir}/settings.json",
        setup.pi_models.path,
        access.auth.path,
    ):
        yield {"path": with_tilde(path, whose.home), "found": os.path.exists(path)}


def _problems(
    setup: Setup, access: ModelAccess, cwd: str, model: str | None
) -> Iterator[BadSetting]:
    own = setup.config.look()
    if own.problem is not None:
        yield own.problem
    layers = setup.settings.layers(cwd)
    broken = [one for one in layers if isinstance(one, BadSetting)]
    yield from broken
    folder = setup.settings.for_folder(cwd)
    if not broken and folder.problem is not None:
        yield folder.problem
    if not broken:
        for name, override in folder.compaction.overrides.items():
            if override.problem is not None and (model is None or name == model):
                yield override.problem
        # A broken file was told of above.
        if (of_http := setup.settings.http().problem) is not None and isinstance(layers[-1], Layer):
            yield of_http
    if (of_models := _pi_models(setup).problem) is not None:
        yield of_models
    if (of_keys := _auth_problem(access)) is not None:
        yield of_keys


def _auth_problem(access: ModelAccess) -> BadSetting | None:
    try:
        if access.auth.look() is not None:
            return None
    except Unreadable as error:
        return unreadable("auth.json", error)
    return BadSetting("auth.json", "the text", "is no JSON object; correct it.")


def _pi_models(setup: Setup) -> PiModels:
    try:
        return setup.pi_models.look()
    except Unreadable as error:
        return PiModels(problem=unreadable("models.json", error))


def _keys(setup: Setup, access: ModelAccess) -> Iterator[tuple[str, str]]:
    try:
        stored = access.auth.look()
    except Unreadable:
        stored = None
    return key_lines(access.dry_endpoints, stored or {}, _pi_models(setup))


def _problem(problem: BadSetting) -> dict[str, Any]:
    return {"file": problem.file, "key": problem.key, "message": str(problem)}


def _row(row: Row) -> dict[str, Any]:
    told = {"key": row.key, "value": row.value, "source": row.source}
    return {**told, "needsRestart": True} if row.needs_restart else told


def _proxies(environment: Mapping[str, str]) -> list[str]:
    wanted = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
    return sorted(name for name, value in environment.items() if name.lower() in wanted and value)


def _model(setup: Setup, access: ModelAccess, name: ModelName) -> dict[str, Any]:
    import anyio

    facts = anyio.run(setup.models.look_up, name)
    if str(name) in setup.config.last.config.context.windows:
        source = setup.config.shown
    elif setup.pi_models.last and setup.pi_models.last.says_window(name.provider, name.model):
        source = "models.json"
    else:
        source = "unknown" if facts.window is None else "genai-prices"
    return describe_model(name, facts, source, access.dry_endpoints.resolve_now(name))
