"""The settings described for people: `python -m pisessiond.settings.documented` prints the page.

`docs/configuration.md` is its output; a test keeps it so.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pisessiond.docstrings import member_docs
from pisessiond.settings.config import (
    NEEDS_RESTART,
    CommandSummarizer,
    Config,
    HttpSummarizer,
    PiSummarizer,
)

_PREAMBLE = """\
# Settings

`pisessiond config` shows each setting that counts here, and where it comes from.

## Our own: `config.toml`

One TOML file, `.config/pisessiond/config.toml` in your home as the password database has it, or
`config.toml` in the folder that `PISESSIOND_HOME` names. It need not be there. It must be yours or
root's, and not writable by everybody, since it may name programs.

A key that is not listed here, or a value that means nothing, is an error: `pisessiond config` and
`pisessiond doctor` name file and key. A daemon that meets such a file goes on with what counted
before (at its start: with the defaults) and says so in its log.

Options of `pisessiond serve` beat the file. The tables `[daemon]` and `[sessions]` are read when
the daemon starts; all others are looked at whenever they are needed, so that a change counts
at once.

```toml
[context]
warn = 60.0
windows = { "ollama/qwen3" = 32_768 }

[summarizer]
use = "quick"

[summarizers.quick]
kind = "anthropic"
model = "claude-haiku-4-5"

[summarizers.house]
kind = "openai"
model = "qwen3"
base_url = "http://localhost:8080/v1"

[summarizers.mine]
kind = "command"
program = ["summarise", "--short"]
```
"""

_PI = """\
## pi's: `settings.json`

Read as pi 1.6.0 reads them: `settings.json` in the agent dir, and over it `.pi/settings.json` in
the folder a session belongs to. Objects are merged member by member, anything else replaces what
stands below it. It is JSON without comments. A number that is none is an error that names file and
key; until it is corrected nothing is compacted with settings of which part is unknown.

Numbers apart, what pi takes silently is taken silently here, so that a file means the same to
both. Where an object belongs, anything else counts as one without members (`"compaction": 5` sets
nothing); only what `modelOverrides` holds for a model has to be one. A switch is on for whatever
JavaScript takes for true, `"enabled": "no"` included. An `httpProxy` that is no text, with which
pi does not start, is an error here as well, and no proxy of pi's is used.

| key | default | from a project too | what it does here |
|---|---|---|---|
| `compaction.enabled` | `true` | yes | Whether compactions may start by themselves; here only \
with our own `compaction.automatic` as well. |
| `compaction.reserveTokens` | `16384` | yes | Room left in the window; a compaction is due \
when less is left. |
| `compaction.keepRecentTokens` | `20000` | yes | How much of the newest part a compaction keeps. |
| `compaction.modelOverrides` | `{}` | yes | The two numbers by exact `"provider/model"`, upper \
and lower case told apart; each falls back on the ordinary one. |
| `branchSummary.reserveTokens` | `16384` | yes | Room left in the window when a branch is \
summarised. |
| `branchSummary.skipPrompt` | `false` | yes | Clients are told not to ask whether to summarise. |
| `sessionDir` | | yes | Where sessions are. |
| `retry.enabled` | `true` | no | Whether a failed request is tried again. |
| `retry.maxRetries` | `3` | no | How often. |
| `retry.baseDelayMs` | `2000` | no | The first wait; it doubles. |
| `retry.maxAgentDelayMs` | `60000` | no | The longest wait. |
| `retry.provider.maxRetryDelayMs` | `60000` | no | The longest wait a server may ask for; \
`0`: any. |
| `httpProxy` | | no | A proxy, where the environment names none. |
| `httpIdleTimeoutMs` | `300000` | no | How long a server may say nothing; `0` or `"disabled"`: \
for ever. |

**Projects and trust.** pi leaves a project's settings unread until you trust the project. Here the
settings marked *yes* are read whether you did or not: they are numbers, switches and the session
folder, which pi reads beforehand too. No program, address, key or proxy is ever taken from a
project folder, nor from a request.

## pi's: `models.json` and `auth.json`

Both are read from the agent dir alone, and never written.

`models.json` says where models are reached (`baseUrl`, `api`, `apiKey`, `headers`, `authHeader`,
`compat`), how large their windows are and what they cost; comments and trailing commas are allowed
there, as with pi. The APIs that are spoken here are `anthropic-messages` and `openai-completions`;
models that need another are reached by the summarizer `pi`.

The key of a provider comes from `auth.json`, else from `apiKey` in `models.json`, else from the
environment of the daemon. `$NAME`, `${NAME}` and `!command` are understood as by pi; a command has
ten seconds, and what it prints is kept for five minutes. Where you are signed in with an account,
that stays pi's: name the summarizer `pi`.

The window of a model is the one in `[context]`, else that of `models.json`, else that of
genai-prices, else unknown; then no percentage is shown.
"""

_KINDS: tuple[tuple[str, type[BaseModel]], ...] = (
    ('kind = "anthropic"` or `"openai"', HttpSummarizer),
    ('kind = "command"', CommandSummarizer),
    ('kind = "pi"', PiSummarizer),
)


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield _PREAMBLE
    docs = member_docs(Config)
    for name, field in Config.model_fields.items():
        if name == "summarizers":
            yield "### `[summarizers.NAME]`\n"
            yield f"{_one_line(docs.get(name))} `session`, `extract` and `client` are taken.\n"
            for kind, model in _KINDS:
                yield f"#### `{kind}`\n"
                yield from _table(model)
            continue
        table = field.annotation
        assert isinstance(table, type)
        assert issubclass(table, BaseModel)
        yield f"### `[{name}]`{' (read when the daemon starts)' if name in NEEDS_RESTART else ''}\n"
        yield from _table(table)
    yield _PI


def _table(model: type[BaseModel]) -> Iterator[str]:
    yield f"{_one_line(model.__doc__)}\n"
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    docs = member_docs(model)
    for key, field in model.model_fields.items():
        default = _default(field)
        yield f"| `{key}` | {_kind(field)} | {default} | {_one_line(docs.get(key))} |"
    yield ""


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    value = field.get_default(call_default_factory=True)
    return "" if value is None else f"`{json.dumps(value)}`"


def _kind(field: FieldInfo) -> str:
    return _spell(field.annotation)


def _spell(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _spell(arguments[0])
    if origin in (Union, types.UnionType):
        return " or ".join(_spell(one) for one in arguments if one is not type(None))
    if origin is Literal:
        return ", ".join(f"`{json.dumps(one)}`" for one in arguments)
    if origin is list:
        return f"list of {_spell(arguments[0])}s"
    if origin is dict:
        return f"table of {_spell(arguments[1])}s"
    names = {str: "text", int: "whole number", float: "number", bool: "`true`, `false`"}
    return names[annotation]


if __name__ == "__main__":
    print(page(), end="")
