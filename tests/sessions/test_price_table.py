"""The prepared price table says what genai-prices says, and steps back when another version is installed."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import msgspec
import pytest
from genai_prices import Usage as Probe
from genai_prices import calc_price

from holdfast.model.events import Usage, UsageTotal
from holdfast.sessions import cost
from holdfast.sessions import cost as price_table
from holdfast.sessions.cost import DATA, PRICE_STEPS, PriceTable, listed_prices

TABLE = msgspec.json.decode(DATA.read_bytes(), type=PriceTable)
ENTRIES = [(provider, model) for provider, models in TABLE.names.items() for model in models]
BANDS = range(len(PRICE_STEPS) + 1)


def days_around(begins: str) -> list[str]:
    """A day of a period that begins so, and the last one before it."""
    if not begins:
        return ["2024-06-01"]
    day = date.fromisoformat(begins)
    return [begins, (day - timedelta(days=1)).isoformat()]


@pytest.mark.promise("L17")
def test_every_price_in_it_is_what_the_package_itself_says() -> None:
    assert len(ENTRIES) > 300
    seen: set[int] = set()
    for provider, model in ENTRIES:
        place = TABLE.names[provider][model]
        # Names that share their prices are asked for the first and the last step; one of them for all.
        bands = (BANDS[0], BANDS[-1]) if place in seen else BANDS
        seen.add(place)
        for day in [day for begins, _ in TABLE.prices[place] for day in days_around(begins)]:
            for band in bands:
                listed = listed_prices(model, provider, band, day)
                assert listed == cost.asked_prices(model, provider, band, day), (provider, model, band, day)


@pytest.mark.promise("L17")
@pytest.mark.parametrize("size", [1000, 200_000, 200_001, 272_001])
@pytest.mark.parametrize("day", ["2025-06-01", "2026-03-12", "2026-03-13", "2027-02-01"])
def test_a_whole_response_costs_what_the_package_asks_for_it(size: int, day: str) -> None:
    """Priced at once, and not in probes of one sort of token each."""
    moment = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)
    compared = 0
    for provider, model in ENTRIES:
        used = Usage(input=size - 900, output=517, cache_read=300, cache_write=600, cache_write_1h=200)
        probe = Probe(
            input_tokens=size,
            output_tokens=517,
            cache_read_tokens=300,
            cache_write_tokens=600,
            cache_write_1h_tokens=200,
        )
        try:
            asked = calc_price(
                probe, model, provider_id=provider or None, genai_request_timestamp=moment
            ).total_price
        except ValueError:
            continue
        band = sum(step < size for step in PRICE_STEPS)
        found = cost.cost_of(UsageTotal(model, band, used), provider, moment.timestamp())
        assert found == asked.quantize(Decimal("0.000001")), (provider, model)
        compared += 1
    assert compared > 300


def test_a_price_that_changes_is_left_to_the_package_when_no_day_is_known() -> None:
    dated = [name for name in ENTRIES if len(TABLE.prices[TABLE.names[name[0]][name[1]]]) > 1]
    assert dated
    for provider, model in dated:
        assert listed_prices(model, provider, 0, "") is None
        assert cost.cost_of(UsageTotal(model, 0, Usage(input=1000)), provider, None) is not None


def test_a_name_that_is_not_in_it_is_left_to_the_package() -> None:
    assert listed_prices("nobodys-model-9", "anthropic", 0, "2026-01-01") is None
    assert listed_prices("claude-opus-4-5", "nobody-knows", 0, "2026-01-01") is None


def test_beside_another_version_of_the_package_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    other = msgspec.structs.replace(TABLE, version="0.0.1")
    monkeypatch.setattr(msgspec.json, "decode", lambda *_, **__: other)
    price_table._table.cache_clear()
    try:
        assert listed_prices("claude-opus-4-5", "anthropic", 0, "2026-01-01") is None
        total = UsageTotal("claude-opus-4-5", 0, Usage(input=1000))
        assert cost.cost_of(total, "anthropic", 1_772_442_000.0) == Decimal("0.005000")
    finally:
        price_table._table.cache_clear()


def test_usual_models_are_priced_without_importing_the_package() -> None:
    script = (
        "import sys\n"
        "from holdfast.sessions.cost import cost_of\n"
        "from holdfast.model.events import UsageTotal\n"
        "from holdfast.model.events import Usage\n"
        "for model, provider in (('claude-opus-4-5-20251101', 'anthropic'), ('gpt-5.5', 'openai')):\n"
        "    assert cost_of(UsageTotal(model, 0, Usage(input=1000)), provider, 1772442000.0)\n"
        "print('genai_prices' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
