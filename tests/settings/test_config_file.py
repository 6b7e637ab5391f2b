"""`config.toml`: what it may hold, and how a fault in it is told."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pisessiond.core.errors import BadSetting
from pisessiond.settings.config import Config, HttpSummarizer
from pisessiond.settings.config_file import _RULES, _WHOLE, ConfigFile, parse_config
from pisessiond.settings.documented import page

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_page_is_what_the_models_say() -> None:
    written = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    remake = "remake with: python -m pisessiond.settings.documented > docs/configuration.md"
    assert written == page(), remake


def test_the_example_of_the_page_is_valid() -> None:
    _, _, rest = page().partition("```toml\n")
    read = parse_config(rest.partition("```")[0], "config.toml")
    assert read.summarizer.use == "quick"
    assert {one.kind for one in read.summarizers.values()} == {"anthropic", "openai", "command"}


def test_an_empty_file_leaves_the_defaults() -> None:
    assert parse_config("", "config.toml") == Config()
    assert parse_config("\ufeff# nothing\r\n", "config.toml") == Config()


def test_whole_numbers_will_do_for_numbers() -> None:
    read = parse_config("[daemon]\nidle = 5\n[context]\nwarn = 60\nhigh = 60", "config.toml")
    assert (read.daemon.idle, read.context.warn) == (5, 60)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("[daemon", "the text", "is no TOML"),
        ("[demon]\n", "demon", "is no setting"),
        ("[daemon]\nidel = 5", "daemon.idel", "is no setting"),
        ("[daemon]\nidle = '5'", "daemon.idle", 'is "5"'),
        ("[daemon]\nidle = true", "daemon.idle", "is true"),
        ("[daemon]\nidle = -1", "daemon.idle", "is -1"),
        ("[daemon]\nidle = nan", "daemon.idle", "is NaN"),
        ("[daemon]\nsync = 'never'", "daemon.sync", "'always' or 'relaxed'"),
        ("[daemon]\ntcp = 70000", "daemon.tcp", "is 70000"),
        ("daemon = 5", "daemon", "must be a table"),
        ("[sessions]\nflush = 2026-01-01", "sessions.flush", "2026-01-01"),
        ("[context]\nwarn = 95", "context", "must not be below warn"),
        ("[context]\nwarn = 101", "context.warn", "is 101"),
        ("[context.windows]\nqwen = 5", "context.windows.qwen", '"provider/model"'),
        ('[context.windows]\n"a/b" = 0', 'context.windows."a/b"', "is 0"),
        ('[context.windows]\n"a/b" = 1.5', 'context.windows."a/b"', "is 1.5"),
        ("[compaction]\nautomatic = 1", "compaction.automatic", "is 1"),
        ("[summarizers.x]\n", "summarizers.x", "needs a kind"),
        ("[summarizers.x]\nkind = 'magic'", "summarizers.x", "needs a kind"),
        ("[summarizers.x]\nkind = 'openai'", "summarizers.x.model", "is missing"),
        ("[summarizers.x]\nkind = 'command'\nprogram = 'x'", "summarizers.x.program", "list"),
        (
            "[summarizers.x]\nkind = 'command'\nprogram = []",
            "summarizers.x.program",
            "not be empty",
        ),
        ("[summarizers.x]\nkind = 'pi'\nprogram = ['']", "summarizers.x.program.0", "not be empty"),
        (
            "[summarizers.x]\nkind = 'command'\nprogram = ['a', 5]",
            "summarizers.x.program.1",
            "is 5",
        ),
        (
            "[summarizers.x]\nkind = 'pi'\nmodel = 'sonnet'",
            "summarizers.x.model",
            '"provider/model"',
        ),
        (
            "[summarizers.x]\nkind = 'openai'\nmodel = 'm'\nkey_env = 'sk-1'",
            "summarizers.x.key_env",
            "environment variable",
        ),
        ("[summarizers.extract]\nkind = 'pi'", "summarizers", "means another summarizer"),
        ("[summarizers.pi]\nkind = 'command'\nprogram = ['a']", "summarizers", "another summ"),
        ("[summarizers.'a/b']\nkind = 'pi'", "summarizers", "will not do as a name"),
        ("[summarizer]\nuse = 'quick'", "the text", "summarizer.use names 'quick'"),
        ("[http]\nconnect_seconds = 0", "http.connect_seconds", "is 0"),
    ],
)
def test_a_fault_is_named_by_file_and_key(text: str, key: str, words: str) -> None:
    with pytest.raises(BadSetting) as refusal:
        parse_config(text, "~/config.toml")
    assert (refusal.value.file, refusal.value.key) == ("~/config.toml", key)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
    for raw in ("should", "Input", "valid ", " item", "String", "dictionary"):
        assert raw not in str(refusal.value)


def _kinds_of_errors(schema: object) -> Iterator[str]:
    """What pydantic may complain of, by what stands in a schema of its core."""
    if isinstance(schema, list | tuple):
        for one in schema:
            yield from _kinds_of_errors(one)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        yield from {
            "str": ["string_type"],
            "list": ["list_type"],
            "bool": ["bool_type"],
            "int": ["int_type"],
            "float": ["float_type", "finite_number"],
            "literal": ["literal_error"],
            "dict": ["dict_type"],
            "model-fields": ["model_type", "missing", "extra_forbidden"],
            "tagged-union": ["union_tag_not_found", "union_tag_invalid"],
        }.get(kind if isinstance(kind, str) else "", [])
        limits = {
            "gt": "greater_than",
            "ge": "greater_than_equal",
            "lt": "less_than",
            "le": "less_than_equal",
            "multiple_of": "multiple_of",
            "max_length": "too_long",
        }
        yield from (limits[one] for one in limits.keys() & schema.keys())
        for one in schema.values():
            yield from _kinds_of_errors(one)


def test_every_fault_there_may_be_is_told_in_words_of_ours() -> None:
    found = set(_kinds_of_errors(Config.__pydantic_core_schema__))
    assert {"greater_than", "literal_error", "union_tag_invalid"} <= found
    assert found <= _RULES.keys() | _WHOLE.keys()


@pytest.mark.parametrize(
    "line",
    [
        "base_url = ['https://me:hunter2@host']",
        "key_env = ['hunter2']",
        "kind = 'command'\nprogram = 'summarise --key hunter2'",
    ],
)
def test_what_may_hold_a_key_is_not_repeated(line: str) -> None:
    kind = "" if "kind" in line else "kind = 'openai'\nmodel = 'm'\n"
    with pytest.raises(BadSetting) as refusal:
        parse_config(f"[summarizers.x]\n{kind}{line}\n", "config.toml")
    assert refusal.value.key.startswith("summarizers.x.")
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("key", ["proxy", "base_url"])
def test_a_password_in_an_address_is_not_repeated(key: str) -> None:
    table = "http" if key == "proxy" else "summarizers.x"
    text = f"[{table}]\n{key} = 'ftp://me:hunter2@host'\n"
    if key == "base_url":
        text += "kind = 'openai'\nmodel = 'm'\n"
    with pytest.raises(BadSetting) as refusal:
        parse_config(text, "config.toml")
    assert refusal.value.key == f"{table}.{key}"
    assert "hunter2" not in str(refusal.value)


def test_pi_may_be_set_up_under_its_own_name() -> None:
    text = "[summarizers.pi]\nkind = 'pi'\nprogram = ['node', 'pi.js']"
    assert parse_config(text, "x").summarizers["pi"].program == ["node", "pi.js"]  # type: ignore[union-attr]


# The file


def test_a_change_is_seen_at_the_next_look(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    file = ConfigFile(str(path), "config.toml")
    assert file.look().is_there is False
    path.write_text("[context]\nwarn = 50\n")
    assert file.look().config.context.warn == 50
    path.write_text("[context]\nwarn = 60.5\n")
    assert file.look().config.context.warn == 60.5
    path.unlink()
    assert file.look().config == Config()


def test_a_fault_leaves_what_counted_before_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[summarizers.a]\nkind = 'openai'\nmodel = 'm'\n")
    file = ConfigFile(str(path), "~/config.toml")
    file.look()
    path.write_text("[summarizers.a]\nkind = 'openai'\nmodle = 'm'\n")
    state = file.look()
    assert state.problem is not None
    assert state.problem.key == "summarizers.a.model"
    assert isinstance(state.config.summarizers["a"], HttpSummarizer)
    file.look()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "~/config.toml: summarizers.a.model" in caplog.text


def test_a_file_that_everybody_may_write_to_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[summarizers.a]\nkind = 'command'\nprogram = ['a']\n")
    path.chmod(0o666)
    state = ConfigFile(str(path), "config.toml").look()
    assert state.config == Config()
    assert "may be written to by everybody" in str(state.problem)


def test_whatever_stands_there_is_told_of(tmp_path: Path) -> None:
    pipe, folder, link = tmp_path / "pipe", tmp_path / "folder", tmp_path / "link"
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to("/dev/zero")
    for path in (pipe, folder, link):
        state = ConfigFile(str(path), "config.toml").look()
        assert state.config == Config()
        assert "is no file" in str(state.problem), path


def test_without_a_path_nothing_is_set() -> None:
    assert ConfigFile(None, "").look().config == Config()
