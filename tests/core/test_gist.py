"""The model that the gist of a file names, beside the one that the whole session stands at."""

from __future__ import annotations

from typing import Any

import pytest

from pisessiond.core.gist import Gist, facts_text, read_facts
from pisessiond.core.models_named import Named, find_model
from tests.support.corpus import SAMPLES
from tests.support.seen import open_file
from tests.support.service import answer, entry, spell, user

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z"}


def gist_of(*lines: bytes, cut: int | None = None) -> tuple[Named | None, int | None]:
    """Model and tokens; `cut` is where the facts are stored and read again in between."""
    gist = Gist()
    if cut is not None:
        gist.feed(lines[:cut])
        gist = Gist(read_facts(facts_text(gist.finish())))
        lines = lines[cut:]
    gist.feed(lines)
    facts = gist.finish()
    assert (facts.provider is None) == (facts.model is None)
    named = None if facts.provider is None or facts.model is None else (facts.provider, facts.model)
    return named, facts.tokens


def test_the_corpus_names_the_same_models_as_whole_sessions() -> None:
    compared = 0
    for sample in SAMPLES:
        lines = sample.path.read_bytes().split(b"\n")[:-1]
        gist = Gist()
        gist.feed(lines)
        if not gist.finish().is_session:
            continue
        named, tokens = gist_of(*lines)
        if tokens is None:
            continue
        session = open_file(sample.path)
        assert named == find_model(session, session.leaf, {}), sample
        compared += named is not None
    assert compared > 50


def said(name: str, parent: str | None, model: Any, usage: int = 0) -> dict[str, Any]:
    made: dict[str, Any] = answer("y", name, parent, usage=usage)
    made["message"] |= {"provider": "demo", "model": model}
    return made


@pytest.mark.parametrize("cut", [None, 3])
def test_it_is_the_model_of_the_branch_that_the_file_ends_on(cut: int | None) -> None:
    first = [HEADER, user("x", "u1"), said("a1", "u1", "one", 500), said("a2", "a1", "two", 900)]
    lines = [spell(one) for one in first]
    assert gist_of(*lines, cut=cut) == (("demo", "two"), 900)
    # Half a name is none.
    assert gist_of(*lines, spell(said("a3", "a2", None)), cut=cut)[0] == ("demo", "two")
    chosen = entry("model_change", "m1", "a2", provider="other", modelId="three")
    assert gist_of(*lines, spell(chosen), cut=cut)[0] == ("other", "three")
    # At the very beginning there is none.
    assert gist_of(*lines, spell(user("z", "u2", None)), cut=cut)[0] is None


def test_back_at_an_answer_it_is_the_model_there_and_elsewhere_unknown() -> None:
    first = [HEADER, user("x", "u1"), said("a1", "u1", "one", 500), said("a2", "a1", "two", 900)]
    lines = [spell(one) for one in first]
    assert gist_of(*lines, spell(user("z", "u2", "a1"))) == (("demo", "one"), 501)
    assert gist_of(*lines, spell(user("z", "u2", "u1"))) == (None, None)


def test_a_line_that_the_fast_road_refuses_names_its_model_too() -> None:
    odd = said("a1", "u1", "one", 500) | {"timestamp": 5, "targetId": [], "parentId": "u1"}
    odd["message"]["usage"] = {"totalTokens": 500, "cost": "\udc00"}
    lines = [spell(one) for one in (HEADER, user("x", "u1"), odd | {"id": 7})]
    assert gist_of(*lines)[0] == ("demo", "one")
