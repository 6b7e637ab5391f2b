"""Settings for people: what counts, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pisessiond.cli.plain_text import cell_width, clean_line

Paint = Callable[[str, str], str]

_OURS = ("daemon", "sessions", "context", "summarizer", "summarizers", "http")


def config_lines(told: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    """All that `pisessiond config` says, problems first."""
    for problem in told["problems"]:
        yield paint(f"wrong: {clean_line(problem['message'])}", "error")
    if told["problems"]:
        yield ""
    yield from _section("files", paint)
    yield from _columns(
        (one["path"], "" if one["found"] else paint("not there", "dim")) for one in told["files"]
    )
    settings = told["settings"]
    own = [one for one in settings if is_own(one["key"])]
    yield from _section("pisessiond's settings", paint)
    yield from _columns(_row(one, paint) for one in own)
    yield from _section("pi's settings", paint)
    yield from _columns(_row(one, paint) for one in settings if not is_own(one["key"]))
    yield from _section("keys", paint)
    yield from _columns((one["provider"], one["state"]) for one in told["keys"])
    if not told["keys"]:
        yield "  none"
    if told["environment"]:
        yield f"  of the environment count: {', '.join(told['environment'])}"
    yield paint("  as seen from here; a daemon has the environment of who started it", "dim")
    if "model" in told:
        yield from _section("model", paint)
        yield from _columns(_model_rows(told["model"]))


def is_own(key: str) -> bool:
    """Whether a setting is one of ours rather than one of pi's."""
    return key == "compaction.automatic" or key.partition(".")[0] in _OURS


def _section(title: str, paint: Paint) -> Iterator[str]:
    yield paint(title, "head")


def _row(one: Mapping[str, Any], paint: Paint) -> tuple[str, str, str]:
    source = one["source"]
    restart = "  (from the next start on)" if one.get("needsRestart") else ""
    shown = paint(source, "dim") if source == "default" else clean_line(source)
    return one["key"], _spell(one["value"]), shown + (restart if source != "default" else "")


def _spell(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return json.dumps(value, ensure_ascii=False)


def _columns(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    cleaned = [[clean_line(row[0]), *row[1:]] for row in rows]
    if not cleaned:
        return
    # The last column holds colours and is not filled up.
    widths = [max(cell_width(row[at]) for row in cleaned) for at in range(len(cleaned[0]) - 1)]
    for row in cleaned:
        filled = [
            clean_line(cell) + " " * (width - cell_width(cell))
            for cell, width in zip(row[:-1], widths, strict=True)
        ]
        yield f"  {'  '.join([*filled, row[-1]])}".rstrip()


def _model_rows(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "name", clean_line(model["model"])
    window = model["window"]
    source = clean_line(model["windowSource"])
    yield "window", "unknown" if window is None else f"{window:,} tokens, from {source}"
    if model["maxOutput"] is not None:
        yield "longest answer", f"{model['maxOutput']:,} tokens"
    yield "price", _price(model["price"])
    if model["usable"]:
        yield "reached at", clean_line(f"{model['baseUrl']} ({model['api']})")
        yield "key", clean_line(model["key"])
    else:
        yield "reached", clean_line(f"not from here: {model['reason']}")


def _price(price: Mapping[str, Any] | None) -> str:
    if price is None:
        return "unknown"
    parts = f"${price['input']:g} in, ${price['output']:g} out for a million tokens"
    tiers = [
        f"; above {one['input_tokens_above']:,} in: ${one['input']:g}, ${one['output']:g}"
        for one in price["tiers"]
    ]
    return parts + "".join(tiers)
