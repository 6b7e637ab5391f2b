"""What is known of models, and who had to be asked."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName, Price, PriceTier
from pisessiond.models.costs import cost_of
from pisessiond.models.known import KnownModels
from pisessiond.models.pi_models import read_pi_models
from pisessiond.settings.files import CachedFile

pytestmark = pytest.mark.anyio

CLAUDE = ModelName("anthropic", "claude-sonnet-4-5")
NOBODY = ModelName("nobody", "nothing")


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.windows: dict[str, int] = {}
        self.cache = folder / "cache" / "models.json"
        self.now = 1_800_000_000.0

    def known(self) -> KnownModels:
        models = CachedFile(f"{self.folder}/models.json", lambda t: read_pi_models(t, "it"))
        return KnownModels(lambda: self.windows, models, str(self.cache), lambda: self.now)

    def models(self, **providers: Any) -> None:
        (self.folder / "models.json").write_text(json.dumps({"providers": providers}))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def no_lookups(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes every lookup fail, and counts nothing: one that is tried is told by its answer."""

    def forbid() -> None:
        monkeypatch.setattr("sys.executable", "/nowhere/python")

    return forbid


@pytest.mark.slow
async def test_a_lookup_is_made_once_and_kept_on_disk(
    place: Place, no_lookups: Callable[[], None]
) -> None:
    models = place.known()
    assert models.known(CLAUDE) is None
    facts = await models.look_up(CLAUDE)
    assert facts.window == 200_000
    assert facts.price is not None
    assert (facts.price.input, facts.price.output, facts.price.cache_read) == (3, 15, 0.3)
    assert facts.price.tiers == (PriceTier(200_000, 6, 22.5, 0.6, 7.5),)
    assert models.known(CLAUDE) == facts
    no_lookups()
    assert await models.look_up(CLAUDE) == facts
    assert await place.known().look_up(CLAUDE) == facts
    assert place.known().window_at_hand(CLAUDE) == 200_000
    place.now += 8 * 86_400
    assert await place.known().look_up(CLAUDE) == UNKNOWN
    assert place.known().window_at_hand(CLAUDE) == 200_000


def test_a_window_at_hand_is_asked_of_nobody(place: Place, no_lookups: Callable[[], None]) -> None:
    no_lookups()
    models = place.known()
    assert models.window_at_hand(CLAUDE) is None
    assert models.known(CLAUDE) is None
    assert not place.cache.exists()
    place.windows[str(CLAUDE)] = 123_000
    assert models.window_at_hand(CLAUDE) == 123_000
    place.models(nobody={"models": [{"id": "nothing", "contextWindow": 7_000}]})
    assert place.known().window_at_hand(NOBODY) == 7_000


@pytest.mark.slow
async def test_what_nobody_knows_stays_unknown_and_is_asked_once(
    place: Place, no_lookups: Callable[[], None]
) -> None:
    models = place.known()
    assert await models.look_up(NOBODY) == UNKNOWN
    assert models.known(NOBODY) == UNKNOWN
    assert json.loads(place.cache.read_text())["models"]["nobody/nothing"]["facts"] == {
        "window": None,
        "price": None,
    }


async def test_a_failed_lookup_is_not_kept(place: Place, no_lookups: Callable[[], None]) -> None:
    no_lookups()
    models = place.known()
    assert await models.look_up(CLAUDE) == UNKNOWN
    assert models.known(CLAUDE) == UNKNOWN
    assert not place.cache.exists()
    place.now += 601
    assert models.known(CLAUDE) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "0", "models": {}}', '{"models": 5}'])
async def test_a_cache_of_any_kind_does_no_harm(
    place: Place, no_lookups: Callable[[], None], text: str
) -> None:
    no_lookups()
    place.cache.parent.mkdir()
    place.cache.write_text(text)
    assert await place.known().look_up(CLAUDE) == UNKNOWN


async def test_models_json_needs_no_lookup(place: Place, no_lookups: Callable[[], None]) -> None:
    no_lookups()
    cost = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}
    place.models(local={"models": [{"id": "m", "cost": cost}, {"id": "n", "contextWindow": 9}]})
    models = place.known()
    assert await models.look_up(ModelName("local", "m")) == ModelFacts(128_000, 16_384, Price(1, 2))
    assert (await models.look_up(ModelName("local", "n"))).window == 9


async def test_a_changed_models_json_counts_after_the_next_look(place: Place) -> None:
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 1)
    place.models(local={"models": [{"id": "m", "contextWindow": 5, "cost": cost}]})
    models = place.known()
    name = ModelName("local", "m")
    assert (await models.look_up(name)).window == 5
    place.models(local={"models": [{"id": "m", "contextWindow": 60, "cost": cost}]})
    models.refresh()
    facts = models.known(name)
    assert facts is not None
    assert facts.window == 60


async def test_the_user_s_own_word_beats_everything(place: Place) -> None:
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 1)
    place.models(local={"models": [{"id": "m", "contextWindow": 5, "cost": cost}]})
    place.windows = {"local/m": 7}
    models = place.known()
    assert (await models.look_up(ModelName("local", "m"))).window == 7
    place.windows = {}
    facts = models.known(ModelName("local", "m"))
    assert facts is not None
    assert facts.window == 5


async def test_an_override_changes_what_genai_prices_says(place: Place) -> None:
    below = ModelFacts(200_000, None, Price(3, 15, 0.3, 3.75, (PriceTier(5, 6, 7),)))
    override = {"contextWindow": 1_000_000, "maxTokens": 9, "cost": {"output": 1}}
    place.models(anthropic={"modelOverrides": {"c": override}})
    read = read_pi_models((place.folder / "models.json").read_text(), "it")
    assert read.facts("anthropic", "c", below) == ModelFacts(
        1_000_000, 9, Price(3, 1, 0.3, 3.75, (PriceTier(5, 6, 7),))
    )
    assert read.facts("anthropic", "C", below) == below


async def test_a_folder_that_cannot_be_written_only_costs_time(
    place: Place, no_lookups: Callable[[], None]
) -> None:
    place.cache = Path("/proc/nowhere/models.json")
    no_lookups()
    assert await place.known().look_up(CLAUDE) == UNKNOWN
    assert os.listdir(place.folder) == []


# What it costs


def test_a_usage_costs_what_its_rates_say() -> None:
    usage = {"input": 1_000, "output": 200, "cacheRead": 5_000, "cacheWrite": 100}
    assert cost_of(Price(3, 15, 0.3, 3.75), usage) == {
        "input": 3 / 1_000_000 * 1_000,
        "output": 15 / 1_000_000 * 200,
        "cacheRead": 0.3 / 1_000_000 * 5_000,
        "cacheWrite": 3.75 * 100 / 1_000_000,
        "total": pytest.approx(0.003 + 0.003 + 0.0015 + 0.000375),
    }


def test_the_highest_tier_below_the_whole_input_counts_for_all_of_it() -> None:
    price = Price(1, 1, 1, 1, (PriceTier(1_000, 3, 3, 3, 3), PriceTier(200, 2, 2, 2, 2)))

    def rate(**parts: int) -> float:
        usage = {"input": 0, "output": 1_000_000, "cacheRead": 0, "cacheWrite": 0, **parts}
        return cost_of(price, usage)["output"]

    assert rate(input=200) == 1
    assert rate(input=201) == 2
    assert rate(input=1, cacheRead=900, cacheWrite=99) == 2
    assert rate(input=2, cacheRead=900, cacheWrite=99) == 3


def test_what_is_cached_for_an_hour_costs_twice_the_input() -> None:
    usage = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 100, "cacheWrite1h": 40}
    cost = cost_of(Price(3, 15, 0.3, 3.75), usage)
    assert cost["cacheWrite"] == (3.75 * 60 + 3 * 2 * 40) / 1_000_000


def test_without_a_price_all_of_it_is_nothing() -> None:
    assert set(cost_of(None, {"input": 5, "output": 5}).values()) == {0}
