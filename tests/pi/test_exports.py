"""Exports as pi makes them and as pi reads them, and Markdown as its own library renders it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pisessiond.core.export_jsonl import export_jsonl
from tests.support.corpus import SAMPLES, Sample
from tests.support.differences import DIFFERENCES
from tests.support.exports import HOSTILE, Page, chain, markdown_of, saying, session_of
from tests.support.pi import Pi
from tests.support.seen import inspected, open_file, told_by_pi

READABLE = tuple(
    sample
    for sample in SAMPLES
    if "error" not in sample.pi_open
    and not sample.oracle["idsRenamedToIndex"]
    and sample.oracle["bytes"]
    # Where the two read a file differently they export different branches, or pi none at all.
    and sample.name not in DIFFERENCES
    and sample.pi_open["leafId"] is not None
)
BY_PI = tuple(sample for sample in READABLE if sample.name.startswith("synth+pi160/"))

RENDERED = frozenset(
    "h1 h2 h3 h4 h5 h6 p em strong del code pre a ul ol li blockquote hr br details summary table "
    "thead tbody tr th td input".split()
)
RENDERED_ATTRIBUTES = frozenset("href title class checked disabled type align start".split())


def exported(sample: Sample, entry: object, timestamp: str) -> list[bytes]:
    session = open_file(sample.path)
    row = session.row_of(entry)  # type: ignore[arg-type]
    cwd = session.cwd if isinstance(session.cwd, str) else "/"
    return list(export_jsonl(session, row, timestamp, cwd))


def pis_export(pi: Pi, sample: Sample) -> tuple[object, list[str], str]:
    """The entry at pi's leaf, the lines pi exports there, and its header's time."""
    leaf = sample.pi_open["leafId"]
    lines = pi.export_branch(sample.path, leaf).split("\n")
    assert lines.pop() == ""
    return leaf, lines, json.loads(lines[0])["timestamp"]


@pytest.mark.parametrize("sample", BY_PI, ids=str)
def test_what_pi_wrote_is_exported_byte_for_byte_as_pi_exports_it(pi: Pi, sample: Sample) -> None:
    leaf, theirs, timestamp = pis_export(pi, sample)
    ours = exported(sample, leaf, timestamp)
    assert [line.decode() for line in ours] == [line + "\n" for line in theirs]


@pytest.mark.parametrize("sample", READABLE, ids=str)
def test_any_session_is_exported_with_what_pi_exports(pi: Pi, sample: Sample) -> None:
    leaf, theirs, timestamp = pis_export(pi, sample)
    ours = exported(sample, leaf, timestamp)
    # The spelling of old lines stays with us; pi spells them anew.
    spelled = pi.stringify([line.decode("utf-8", "replace") for line in ours[1:]])
    assert spelled == theirs[1:]


@pytest.mark.parametrize("sample", READABLE, ids=str)
def test_pi_opens_an_export_and_sees_what_we_see(pi: Pi, sample: Sample, tmp_path: Path) -> None:
    leaf = sample.pi_open["leafId"]
    path = tmp_path / "export.jsonl"
    path.write_bytes(b"".join(exported(sample, leaf, "2026-11-30T00:00:00.000Z")))
    ours = inspected(open_file(path))
    ours.pop("problems")
    assert ours == told_by_pi(pi.open(path))


def check_rendered(pi: Pi, text: str) -> None:
    page = Page(pi.render_markdown(text))
    for tag, attributes in page.elements:
        assert tag in RENDERED, tag
        assert set(attributes) <= RENDERED_ATTRIBUTES
        scheme = re.match(r"\s*([a-z][a-z0-9+.-]*):", attributes.get("href") or "", re.IGNORECASE)
        assert scheme is None or scheme[1].lower() in ("http", "https", "mailto")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_nothing_in_rendered_markdown(pi: Pi, text: str) -> None:
    check_rendered(pi, markdown_of(session_of(saying(text))))


_PIECES = st.sampled_from(
    (
        *("<b>", "<script>x</script>", "</details>", "<!--", "&lt;", "\\"),
        *("`", "``", "```", "~~~", "\n", "\n\n", " ", "    ", "\t", "> ", "- ", "#", "x"),
        *("[a", "](javascript:x)", "]: javascript:x", "!["),
    )
)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(st.lists(_PIECES, max_size=14).map("".join))
def test_no_mixture_of_signs_becomes_markup(pi: Pi, text: str) -> None:
    said = [{"role": "user", "content": text}, {"role": "user", "content": "next"}]
    result = {"role": "toolResult", "toolName": text, "content": [{"type": "text", "text": text}]}
    check_rendered(pi, markdown_of(session_of(chain([*said, result, said[1]]))))
