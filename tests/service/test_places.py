"""Where the sessions of a working directory are: wish, environment, settings, or pi's own place."""

import json
from typing import Any

import pytest

from pisessiond.service.places import Places

DEFAULT = "/opt/me/.pi/agent/sessions/--srv-project--"


def places(variable: str | None = None, project: Any = None, user: Any = None) -> Places:
    texts = {
        "/srv/project/.pi/settings.json": project,
        "/opt/me/.pi/agent/settings.json": user,
    }
    spelled = {
        path: text if isinstance(text, str) else json.dumps(text)
        for path, text in texts.items()
        if text is not None
    }
    environment = {} if variable is None else {"PI_CODING_AGENT_SESSION_DIR": variable}
    return Places("/opt/me/.pi/agent", "/opt/me", environment, spelled.get)


def check(found: Places, path: str, *, wished: str | None = None, shared: bool = True) -> None:
    folder = found.folder_for("/srv/project", wished)
    assert (folder.path, folder.is_shared) == (path, shared)


PROJECT, USER = {"sessionDir": "/by/project"}, {"sessionDir": "/by/user"}


def test_each_working_directory_has_a_folder_of_its_own() -> None:
    check(places(), DEFAULT, shared=False)


def test_the_nearer_wish_wins() -> None:
    check(places("/by/variable", PROJECT, USER), "/by/client", wished="/by/client")
    check(places("/by/variable", PROJECT, USER), "/by/variable")
    check(places(None, PROJECT, USER), "/by/project")
    check(places(None, None, USER), "/by/user")


def test_an_empty_wish_is_none() -> None:
    check(places("", {"sessionDir": ""}, USER), "/by/user", wished="")


@pytest.mark.parametrize(
    ("chosen", "path"),
    [
        ("here", "/srv/project/here"),
        ("../here/", "/srv/here"),
        ("~", "/opt/me"),
        ("~/s", "/opt/me/s"),
        ("~other", "/srv/project/~other"),
    ],
)
def test_a_path_is_seen_from_the_working_directory_or_from_home(chosen: str, path: str) -> None:
    check(places(chosen), path)
    check(places(None, {"sessionDir": chosen}), path)
    check(places(), path, wished=chosen)


def test_the_own_folder_wished_for_is_not_shared() -> None:
    check(places(DEFAULT), DEFAULT, shared=False)


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", "null", '{"sessionDir": 5}', '{"sessionDir": null}']
)
def test_settings_that_say_nothing_are_passed_over(broken: str) -> None:
    check(places(None, broken, USER), "/by/user")
    check(places(None, None, broken), DEFAULT, shared=False)


def test_the_folder_of_all_working_directories_is_known_without_one() -> None:
    assert places().shared_folder is None
    assert places("/by/variable", PROJECT, USER).shared_folder == "/by/variable"
    assert places("~/s").shared_folder == "/opt/me/s"
    assert places(None, PROJECT, USER).shared_folder == "/by/user"
    assert places("relative", None, USER).shared_folder is None
