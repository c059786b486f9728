"""Cost: exact to the micro-dollar from the maintained table, by price step, or unknown."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import types
from genai_prices.data_snapshot import get_snapshot

from holdfast.model.events import Began, Usage, UsageReport, UsageTotal
from holdfast.sessions.cost import PRICE_STEPS, cost_of
from holdfast.sessions.digest import Digest
from holdfast.sessions.reducer import OPEN_RESPONSES, Reducer, settle_responses
from holdfast.sessions.session import SessionPart, conclude, ledger_entry

pytestmark = pytest.mark.promise("L17")

AT = 1_772_442_000.0  # 2 March 2026
MILLION = 1_000_000


def reduced(*reports: UsageReport) -> Digest:
    digest = Digest(agent="claude-code")
    Reducer(digest).take_all([Began(AT, session="s", provider="anthropic"), *reports])
    settle_responses(digest, 0)
    return digest


def cost(usage: Usage, model: str, provider: str = "anthropic", *, requests: int = 1) -> Decimal | None:
    """What a session of so many equal responses costs."""
    digest = reduced(*[UsageReport(AT, f"k{n}", model, usage) for n in range(requests)])
    costs = [cost_of(total, provider, AT) for total in digest.usage]
    return None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))


def test_each_sort_of_token_has_its_price() -> None:
    model = "claude-opus-4-5-20251101"
    assert cost(Usage(input=1000), model) == Decimal("0.005000")
    assert cost(Usage(output=1000), model) == Decimal("0.025000")
    assert cost(Usage(cache_read=1000), model) == Decimal("0.000500")
    assert cost(Usage(cache_write=1000), model) == Decimal("0.006250")
    assert cost(Usage(cache_write=1000, cache_write_1h=1000), model) == Decimal("0.010000")


def test_a_response_of_all_sorts_is_exact_to_the_micro_dollar() -> None:
    usage = Usage(input=3, output=517, cache_read=18_231, cache_write=2_047, cache_write_1h=1_000)
    # 3 × 5 + 517 × 25 + 18,231 × 0.5 + 1,047 × 6.25 + 1,000 × 10 = 38,599.25 millionths
    assert cost(usage, "claude-opus-4-5") == Decimal("0.038599")


def test_many_small_responses_are_added_before_they_are_rounded() -> None:
    assert cost(Usage(cache_read=1), "claude-opus-4-5", requests=1000) == Decimal("0.000500")


def test_a_long_prompt_has_the_price_of_long_prompts() -> None:
    model = "claude-sonnet-4-5-20250929"
    assert cost(Usage(input=200_000, output=1000), model) == Decimal("0.615000")  # $3 and $15
    assert cost(Usage(input=200_001, output=1000), model) == Decimal("1.222506")  # $6 and $22.50
    split = Usage(input=1, cache_read=150_000, cache_write=50_000, output=1000)
    # the cache counts towards the length: 6 + 150,000 × 0.6 + 50,000 × 7.5 + 1,000 × 22.5 millionths
    assert cost(split, model) == Decimal("0.487506")


def test_short_and_long_prompts_of_one_session_are_priced_apart() -> None:
    digest = reduced(
        UsageReport(AT, "a", "claude-sonnet-4-5", Usage(input=100_000)),
        UsageReport(AT, "b", "claude-sonnet-4-5", Usage(input=300_000)),
    )
    session = conclude("s", [SessionPart("x", digest)], None, None)
    (model,) = session.models
    assert model.cost_usd == "2.100000"  # 0.1 × $3 + 0.3 × $6
    assert model.responses == 2


def test_openai_s_long_prompts_cost_more_too() -> None:
    short, long = (cost(Usage(input=size), "gpt-5.5", "openai") for size in (272_000, 272_001))
    assert short == Decimal("1.360000")
    assert long is not None
    assert long > Decimal("2")


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-opus-4-5", "anthropic"),
        ("claude-opus-4-5", ""),
        ("claude-opus-4-5-20251101", "nobody-knows"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "anthropic"),
        ("global.anthropic.claude-opus-4-5-20251101-v1:0", ""),
        ("anthropic.claude-opus-4-5-20251101-v1:0", ""),
        ("anthropic/claude-opus-4.5", "openrouter"),
        ("anthropic/claude-opus-4.5", ""),
        ("openrouter/anthropic/claude-opus-4.5", ""),
        ("claude-opus-4-5@20251101", ""),
        ("claude-opus-4-5[1m]", "anthropic"),
    ],
)
def test_a_model_is_known_under_the_names_it_is_sold_by(model: str, provider: str) -> None:
    found = cost(Usage(input=1000, output=1000), model, provider)
    assert found is not None
    assert Decimal("0.029") <= found <= Decimal("0.034")  # regional endpoints take up to 10% more


@pytest.mark.parametrize("model", ["nobodys-model-9", "", "<synthetic>", "unknown", "x" * 500])
def test_an_unknown_model_costs_an_unknown_amount(model: str) -> None:
    assert cost(Usage(input=1000), model) is None


def test_an_agent_s_own_figure_stands_in_where_the_table_has_none() -> None:
    total = UsageTotal("nobodys-model-9", 0, Usage(input=10), 1, stated_usd=0.1234567)
    assert cost_of(total, "", AT) == Decimal("0.123457")


def test_one_unknown_model_makes_the_session_s_cost_unknown() -> None:
    digest = reduced(
        UsageReport(AT, "a", "claude-opus-4-5", Usage(input=1000)),
        UsageReport(AT, "b", "nobodys-model-9", Usage(input=1000)),
    )
    session = conclude("s", [SessionPart("x", digest)], None, None)
    assert {model.model: model.cost_usd for model in session.models} == {
        "claude-opus-4-5": "0.005000",
        "nobodys-model-9": None,
    }
    assert ledger_entry(session).cost_usd is None


def test_a_session_without_usage_has_an_unknown_cost_and_no_tokens() -> None:
    entry = ledger_entry(conclude("s", [SessionPart("x", reduced())], None, None))
    assert (entry.cost_usd, entry.tokens, entry.model) == (None, None, None)


def test_repeats_of_a_response_count_once_also_when_many_others_come_between() -> None:
    reports = [UsageReport(AT, "same", "claude-opus-4-5", Usage(output=n)) for n in (10, 90, 40)]
    others = [
        UsageReport(AT, f"k{n}", "claude-opus-4-5", Usage(output=1)) for n in range(OPEN_RESPONSES // 4)
    ]
    digest = reduced(reports[0], *others, *reports[1:])
    assert sum(total.usage.output for total in digest.usage) == 90 + len(others)
    assert sum(total.responses for total in digest.usage) == 1 + len(others)


def test_many_responses_are_settled_without_loss() -> None:
    count = OPEN_RESPONSES * 3 + 7
    digest = Digest(agent="x")
    Reducer(digest).take_all(
        UsageReport(AT, f"k{n}", "claude-opus-4-5", Usage(output=1)) for n in range(count)
    )
    assert len(digest.open_responses) <= OPEN_RESPONSES
    settle_responses(digest, 0)
    assert sum(total.usage.output for total in digest.usage) == count


def starts(value: Any) -> Iterator[int]:
    """Every length of prompt at which some price of the installed table changes."""
    if isinstance(value, types.TieredPrices):
        yield from (tier.start for tier in value.tiers)
    elif isinstance(value, dict):
        for part in value.values():
            yield from starts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from starts(part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from starts(getattr(value, field.name))
    elif hasattr(value, "__dict__"):
        for part in vars(value).values():
            yield from starts(part)


def test_every_step_of_the_price_table_is_a_step_here() -> None:
    found = {
        start
        for provider in get_snapshot().providers
        for model in provider.models
        for start in starts(model.prices)
    }
    assert found
    assert found <= set(PRICE_STEPS)
    assert list(PRICE_STEPS) == sorted(set(PRICE_STEPS))
