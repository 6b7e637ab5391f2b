"""Hovers as a renderer of Markdown shows them: nothing that anyone wrote becomes markup."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pisessiond.core.session import Session
from pisessiond.server.lsp.hover import entry_text, header_text
from pisessiond.service.entry_facts import tell_entry
from tests.support.exports import HOSTILE, Page, saying, session_of
from tests.support.pi import Pi

RENDERED = frozenset("p strong pre code".split())

LINKS = (
    "https://evil.example/x www.evil.example me@evil.example",
    "[a](https://evil.example) <https://evil.example>",
    "ends in a sign ` https://evil.example",
    "``` https://evil.example",
)


def hovers(session: Session) -> list[str]:
    """What is shown of every line."""
    told = [
        entry_text(tell_entry(session, row), 5.0, markdown=True)
        for row in range(len(session.index))
    ]
    return [header_text(session.header, session.name, 1, markdown=True), *told]


def state_entries(text: str) -> list[dict[str, Any]]:
    """Entries that keep a text where no message is."""
    base = {"parentId": None, "timestamp": text}
    return [
        {"type": "label", "id": "l", "targetId": "n", "label": text, **base},
        {"type": "session_info", "id": "n", "name": text, **base},
        {"type": "custom", "id": "c", "customType": text, "data": {text: text}, **base},
        {"type": text, "id": text or "t", **base},
        {"type": "model_change", "id": "m", "provider": text, "modelId": text, **base},
    ]


def check(pi: Pi, text: str) -> None:
    for entries in (saying(text), state_entries(text)):
        session = session_of(entries, cwd=text, parentSession=text)
        for shown in hovers(session):
            for tag, attributes in Page(pi.render_markdown(shown)).elements:
                assert tag in RENDERED, (tag, shown)
                assert set(attributes) <= {"class"}, shown


@pytest.mark.parametrize("text", [*HOSTILE, *LINKS])
def test_hostile_text_is_words(pi: Pi, text: str) -> None:
    check(pi, text)


_PIECES = st.sampled_from(
    (
        *("<b>", "<script>x</script>", "</details>", "<!--", "&lt;", "\\"),
        *("`", "``", "```", "~~~", "\n", "\n\n", " ", "    ", "\t", "> ", "- ", "#", "x"),
        *("[a", "](javascript:x)", "https://x.example", "www.x.example", "![", "**", "_"),
    )
)


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(_PIECES, max_size=12).map("".join))
def test_no_mixture_of_signs_becomes_markup(pi: Pi, text: str) -> None:
    check(pi, text)
