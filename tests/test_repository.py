"""Sentences about the repository that would go stale if nothing kept them true."""

import ast
import importlib.metadata
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

import pisessiond

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = ROOT / "pisessiond"

# What each part may import of ours. "app" is the composition root and may import all but the
# commands, which stand above it; "offline" is its half that runs without a daemon.
LAYERS: Final[dict[str, tuple[str, ...]]] = {
    "core": ("core",),
    "storage": ("storage", "core"),
    # The errors of the stores belong to their contract.
    "service": (
        "service",
        "storage.base",
        "storage.errors",
        "summarizers.base",
        "models.base",
        "core",
    ),
    "models": ("models", "settings.files", "core"),
    "summarizers": ("summarizers", "models", "core"),
    # Reads files for a contract of the service, as a store does for its own.
    "settings": ("settings", "service.settings", "models", "docstrings", "core"),
    "protocol": ("protocol", "docstrings"),
    # The errors of summarizers belong to their contract.
    "server": ("server", "protocol", "service", "summarizers.base", "core"),
    "client": ("client", "protocol"),
    "cli": (
        "cli",
        "client",
        "protocol",
        "app",
        "offline",
        "wiring.user_setup",
        "wiring.config_report",
    ),
    # The parts of the composition root that commands share with the daemon, or that come late.
    "wiring": ("wiring", "summarizers", "models", "settings", "core"),
    "app": (
        "app",
        "wiring",
        "server",
        "protocol",
        "service",
        "summarizers",
        "models",
        "settings",
        "storage",
        "core",
    ),
    "offline": (
        "offline",
        "app",
        "protocol",
        "service",
        "models",
        "settings",
        "storage",
        "core",
    ),
    # Reads the sources of models for the documents that are made from them.
    "docstrings": (),
    "__main__": ("cli",),
    "": (),
}
ALSO: Final[dict[str, tuple[str, ...]]] = {
    # The one module of the protocol that knows the core.
    "protocol.conversion": ("core",),
}
CONCRETE_STORES: Final = re.compile(r"^storage\.(?!(?:base|errors)$)")

# Whatever touches files, sockets, clocks, chance, threads, logs or the event loop.
OUTSIDE_WORLD: Final = frozenset(
    "aiofiles anyio asyncio concurrent fcntl glob http httpx io logging mmap multiprocessing os "
    "pathlib platformdirs queue random requests sched secrets select selectors shutil signal "
    "socket socketserver ssl subprocess tempfile threading time trio urllib uuid uuid_utils "
    "watchfiles pygls lsprotocol click rich pydantic".split()
)
OUTSIDE_CALLS: Final = frozenset({"open", "print", "input"})
CLOCK_CALLS: Final = frozenset({"now", "utcnow", "today"})

LINES_TO_LOOK_AT: Final = 500
LINES_TOO_MANY: Final = 600


@dataclass(frozen=True)
class Import:
    """One import of one of our modules."""

    importer: str
    """Dotted name below `pisessiond`, such as `core.tree`; "" is the package itself."""
    imported: str
    line: int
    at_start: bool
    """Whether it runs when the importer is loaded: not in a function, not for types alone."""

    def __str__(self) -> str:
        return f"{self.importer or 'pisessiond'} line {self.line} imports {self.imported}"


def modules() -> dict[str, ast.Module]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        found[".".join(parts)] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


MODULES: Final = modules()


def walk_imports(
    node: ast.AST, *, at_start: bool = True
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, at_start
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from walk_imports(child, at_start=False)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for part in child.body:
                yield from walk_imports(ast.Module([part], []), at_start=False)
            for part in child.orelse:
                yield from walk_imports(ast.Module([part], []), at_start=at_start)
        else:
            yield from walk_imports(child, at_start=at_start)


def names_of(statement: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    assert statement.module is not None, "relative imports are banned"
    # `from pisessiond.core import tree` imports a module, `from pisessiond.core.tree import Tree`
    # a name in one.
    full = [f"{statement.module}.{alias.name}" for alias in statement.names]
    return [name if is_module(name) else statement.module for name in full]


def is_module(name: str) -> bool:
    return name.removeprefix("pisessiond").lstrip(".") in MODULES and name.startswith("pisessiond")


def our_imports() -> Iterator[Import]:
    for importer, tree in MODULES.items():
        for statement, at_start in walk_imports(tree):
            for name in names_of(statement):
                if name == "pisessiond" or name.startswith("pisessiond."):
                    imported = name.removeprefix("pisessiond").lstrip(".")
                    yield Import(importer, imported, statement.lineno, at_start)


IMPORTS: Final = tuple(our_imports())


def is_within(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


def test_every_part_has_a_place_in_the_shape() -> None:
    parts = {name.split(".")[0] for name in MODULES}
    assert parts <= set(LAYERS), f"no rule for {sorted(parts - set(LAYERS))}: add it to LAYERS"


def test_imports_go_down_only() -> None:
    wrong = []
    for one in IMPORTS:
        allowed = LAYERS.get(one.importer.split(".")[0], ()) + ALSO.get(one.importer, ())
        # The package itself holds the version and nothing else.
        if one.imported and not any(is_within(one.imported, part) for part in allowed):
            wrong.append(str(one))
    assert wrong == []


def test_handlers_call_the_service_and_never_a_store() -> None:
    assert [
        str(one)
        for one in IMPORTS
        if is_within(one.importer, "server.handlers") and is_within(one.imported, "storage")
    ] == []


def test_the_composition_roots_alone_name_concrete_stores() -> None:
    assert [
        str(one)
        for one in IMPORTS
        if CONCRETE_STORES.match(one.imported)
        and one.importer not in ("app", "offline")
        and not is_within(one.importer, "storage")
    ] == []


def test_a_daemon_starts_without_whoever_writes_summaries() -> None:
    assert [
        str(one)
        for one in IMPORTS
        if one.at_start
        and not is_within(one.importer, "summarizers")
        and one.importer != "wiring.summarizers"
        and (is_within(one.imported, "summarizers") or one.imported == "wiring.summarizers")
        and one.imported != "summarizers.base"
    ] == []


def test_nothing_imports_in_a_circle() -> None:
    below: dict[str, set[str]] = {name: set() for name in MODULES}
    for one in IMPORTS:
        # Loading a module loads the packages above it, but those are short and import nothing
        # below them but what their own __init__ says.
        if one.at_start and one.imported in below:
            below[one.importer].add(one.imported)
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for imported in sorted(below[name]):
                visit(imported, (*path, name))
            done.add(name)

    for name in below:
        visit(name, ())


def test_the_core_knows_nothing_of_the_outside_world() -> None:
    wrong = []
    for name, tree in MODULES.items():
        if not is_within(name, "core"):
            continue
        for statement, _ in walk_imports(tree):
            wrong += [
                f"{name} line {statement.lineno} imports {imported}"
                for imported in names_of(statement)
                if imported.split(".")[0] in OUTSIDE_WORLD
            ]
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Name) and called.id in OUTSIDE_CALLS:
                wrong.append(f"{name} line {node.lineno} calls {called.id}()")
            if (
                isinstance(called, ast.Attribute)
                and called.attr in CLOCK_CALLS
                and ast.unparse(called.value) in ("datetime", "datetime.datetime", "date")
            ):
                wrong.append(f"{name} line {node.lineno} reads the clock")
    assert wrong == []


def test_modules_hold_one_idea(capsys: pytest.CaptureFixture[str]) -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
        # Made from the protocol's models by rule; nobody reads it from top to bottom.
        if path.name != "answers.py"
    }
    long = {name: lines for name, lines in lengths.items() if lines > LINES_TO_LOOK_AT}
    if long:
        with capsys.disabled():
            print(f"\npast {LINES_TO_LOOK_AT} lines, perhaps two ideas in one: {long}")
    too_long = {name: lines for name, lines in long.items() if lines > LINES_TOO_MANY}
    assert too_long == {}, f"past {LINES_TOO_MANY} lines: {too_long}"


def repository_files() -> list[Path]:
    """Files in the repository or about to be; none where the tests run without one."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    names = [name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in (ROOT / name for name in names) if path.is_file()]


# In pieces, or this file would be the first to break its own rule.
UNWANTED: Final = {
    "a package registry's host": [
        "pypi" + ".org",
        "python" + "hosted.org",
        "npm" + "js.org",
        "npm" + "js.com",
        "debian" + ".org",
    ],
    "a path of one machine": [
        "/" + "work/",
        "/" + "root/",
        "/" + "home/",
        "/tmp/" + "venv",
        "/" + "Users/",
    ],
}


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    wrong = []
    for path in repository_files():
        content = path.read_bytes()
        for what, words in UNWANTED.items():
            wrong += [
                f"{path.relative_to(ROOT)} names {what}: {word}"
                for word in words
                if word.encode() in content
            ]
    assert wrong == []


def test_locks_name_no_address() -> None:
    python_lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in python_lock
    assert "--index" not in python_lock
    for path in repository_files():
        if path.name == "package-lock.json":
            assert '"resolved"' not in path.read_text(encoding="utf-8"), path


def test_the_version_has_one_source() -> None:
    assert importlib.metadata.version("pisessiond") == pisessiond.__version__
    assert (PACKAGE / "py.typed").exists()
