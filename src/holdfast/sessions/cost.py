"""What the tokens cost: a maintained price table, exact to micro-dollars, or unknown.

The table (genai-prices) is only asked for what `price_table` does not have: importing it takes a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.model.events import DistilledSession, Usage
from holdfast.sessions.digest import UsageTotal
from holdfast.sessions.reducer import PRICE_STEPS

# Unit prices of the models that agents use most, worked out beforehand from genai-prices.

UnitPrices = tuple[Decimal, Decimal, Decimal, Decimal, Decimal]
"""Dollars per token: input, output, cache read, cache write, one-hour cache write."""

Step = tuple[int, UnitPrices]
"""From which price step on which prices hold."""

DATA = Path(__file__).with_name("prices.json")

MICRO = Decimal("0.000001")
_REGION = lazy_regex(r"^(?:us|eu|apac|au|jp|global|us-gov)\.")
_FREE = lazy_regex(r"[:_-]free$")
_REVISION = lazy_regex(r"(?:-v\d+(?::\d+)?|\[\w+\])$")


class PriceTable(Struct, frozen=True):
    """`names` has, by provider and model, the place in `prices`; there, by the day they begin, the prices by step."""

    version: str
    names: dict[str, dict[str, int]]
    prices: list[list[tuple[str, list[Step]]]]


def listed_prices(model: str, provider: str, band: int, day: str) -> UnitPrices | None:
    """The prices of a step on a day; None where the table does not list it; the package may.

    `day` is an ISO date, or '' when it is not known.
    """
    table = _table()
    place = table.names.get(provider, {}).get(model) if table is not None else None
    if table is None or place is None:
        return None
    periods = table.prices[place]
    if len(periods) > 1 and not day:
        return None  # what it costs now is for the package to say
    steps = next(steps for begins, steps in reversed(periods) if begins <= day)
    return next(prices for begins, prices in reversed(steps) if begins <= band)


@cache
def _table() -> PriceTable | None:
    """The table, if it was made from the package that is installed; that is told without importing it."""
    try:
        table = msgspec.json.decode(DATA.read_bytes(), type=PriceTable)
    except (OSError, msgspec.MsgspecError):
        return None
    package = find_spec("genai_prices")
    if package is None or package.origin is None:
        return None
    beside = Path(package.origin).parent.parent
    return table if (beside / f"genai_prices-{table.version}.dist-info").is_dir() else None


def cost_of(total: UsageTotal, provider: str, at: float | None) -> Decimal | None:
    """The price of a model's responses of one price step; None when the model's price is unknown."""
    if not total.model:
        return _stated(total)
    if _FREE.search(total.model):
        return Decimal(0)  # a router's free variant: the table would match the paid model of the same name
    day = "" if at is None else datetime.fromtimestamp(at, UTC).date().isoformat()
    prices = listed_prices(total.model, provider, total.band, day)
    if prices is None:
        dated = day if day and _changes_with_time(total.model, provider) else ""
        prices = asked_prices(total.model, provider, total.band, dated)
    return _stated(total) if prices is None else _priced(total.usage, prices)


def _stated(total: UsageTotal) -> Decimal | None:
    """An agent's own figure stands in where the table has none."""
    return None if total.stated_usd is None else Decimal(str(round(total.stated_usd, 6)))


def _priced(usage: Usage, prices: UnitPrices) -> Decimal:
    counts = (
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write - usage.cache_write_1h,
        usage.cache_write_1h,
    )
    return sum((count * price for count, price in zip(counts, prices, strict=True)), Decimal(0)).quantize(
        MICRO
    )


@lru_cache(maxsize=256)
def _changes_with_time(model: str, provider: str) -> bool:
    """Whether the table has several prices for a model, by date or hour; most have one."""
    from genai_prices import Usage as Probe
    from genai_prices import calc_price

    for reference, vendor in _spellings(model, provider):
        try:
            found = calc_price(Probe(input_tokens=1), model_ref=reference, provider_id=vendor)
        except (LookupError, ValueError):
            continue
        return isinstance(found.model.prices, list)
    return False


@lru_cache(maxsize=1024)
def asked_prices(model: str, provider: str, band: int, day: str) -> UnitPrices | None:
    """Dollars per token for prompts of one price step, found by pricing probes of that length."""
    from genai_prices import Usage as Probe
    from genai_prices import calc_price

    moment = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC) if day else None
    size = PRICE_STEPS[band - 1] + 1 if band else 1000
    for reference, vendor in _spellings(model, provider):

        def price(**counts: int) -> Decimal:
            probe = Probe(input_tokens=size, **counts)
            return calc_price(
                probe,
                model_ref=reference,  # noqa: B023 - called before the loop goes on
                provider_id=vendor,  # noqa: B023
                genai_request_timestamp=moment,
            ).total_price

        try:
            prompt = price()
            return (
                prompt / size,
                (price(output_tokens=size) - prompt) / size,
                price(cache_read_tokens=size) / size,
                price(cache_write_tokens=size) / size,
                price(cache_write_tokens=size, cache_write_1h_tokens=size) / size,
            )
        except (LookupError, ValueError):
            continue
    return None


def _spellings(model: str, provider: str) -> Iterator[tuple[str, str | None]]:
    """The names under which one model is sold: by its maker, by a cloud, through a router."""
    if provider:
        yield model, provider
    yield model, None
    bare = _REVISION.sub("", _REGION.sub("", model))
    if "/" in model:
        yield model, "openrouter"
        maker, _, name = model.rpartition("/")
        yield name, maker.rpartition("/")[2]
        yield name, None
    if "." in bare and not bare[0].isdigit():
        maker, _, name = bare.partition(".")
        yield model, "aws"
        yield name, maker
    if bare != model:
        yield bare, None


def cost_of_record(record: DistilledSession) -> float | None:
    """Known only when every model's part is."""
    parts = [model.cost_usd for model in record.models]
    try:
        return (
            float(sum(Decimal(part) for part in parts if part is not None))
            if parts and None not in parts
            else None
        )
    except InvalidOperation:
        return None
