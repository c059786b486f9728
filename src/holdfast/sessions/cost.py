"""Computes what tokens cost, exact to micro-dollars, or reports the price as unknown.

genai-prices is imported only for models that our own price table does not list: importing it is slow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.patterns import lazy_regex
from holdfast.model.events import DistilledSession, Usage, UsageTotal

# Unit prices of the models that agents use most, precomputed from genai-prices.

UnitPrices = tuple[Decimal, Decimal, Decimal, Decimal, Decimal]
"""Dollars per token: input, output, cache read, cache write, one-hour cache write."""

Step = tuple[int, UnitPrices]
"""From which price step on which prices hold."""

DATA = Path(__file__).with_name("prices.json")

MICRO = Decimal("0.000001")
# Prompt lengths at which prices change; a test compares them with the steps of the price table.
PRICE_STEPS = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
_REGION = lazy_regex(r"^(?:us|eu|apac|au|jp|global|us-gov)\.")
_FREE = lazy_regex(r"[:_-]free$")
_REVISION = lazy_regex(r"(?:-v\d+(?::\d+)?|\[\w+\])$")


class PriceTable(Struct, frozen=True):
    """`names` maps provider and model to an index into `prices`, which lists the prices by start day and price step."""

    version: str
    names: dict[str, dict[str, int]]
    prices: list[list[tuple[str, list[Step]]]]


def listed_prices(model: str, provider: str, band: int, day: str) -> UnitPrices | None:
    """Return the prices of a step on a day; None if the table does not list it (the package may).

    `day` is an ISO date, or '' if unknown.
    """
    table = _table()
    index = table.names.get(provider, {}).get(model) if table is not None else None
    if table is None or index is None:
        return None
    periods = table.prices[index]
    if len(periods) > 1 and not day:
        return None  # the package knows the current price
    steps = next(steps for start, steps in reversed(periods) if start <= day)
    return next(prices for start, prices in reversed(steps) if start <= band)


def is_listed(model: str) -> bool:
    """Whether a name is that of a model which anybody sells."""
    table = _table()
    return table is not None and any(model in names for names in table.names.values())


@cache
def _table() -> PriceTable | None:
    """Load the table if it was made from the installed version of the package, without importing the package."""
    try:
        table = msgspec.json.decode(DATA.read_bytes(), type=PriceTable)
    except (OSError, msgspec.MsgspecError):
        return None
    package = find_spec("genai_prices")
    if package is None or package.origin is None:
        return None
    site_packages = Path(package.origin).parent.parent
    return table if (site_packages / f"genai_prices-{table.version}.dist-info").is_dir() else None


def cost_of(total: UsageTotal, provider: str, at: float | None) -> Decimal | None:
    """Return the price of a model's responses in one price step; None if the model's price is unknown."""
    if not total.model:
        return _stated(total)
    if _FREE.search(total.model):
        return Decimal(0)  # a router's free variant: the table would match the paid model of the same name
    day = "" if at is None else datetime.fromtimestamp(at, UTC).date().isoformat()
    prices = listed_prices(total.model, provider, total.band, day)
    if prices is None:
        prices = _answered(total.model, provider, total.band, day)
    return _stated(total) if prices is None else _priced(total.usage, prices)


def price_of(
    model: str, usage: Usage, provider: str, at: float | None, stated_usd: float | None = None
) -> Decimal | None:
    """Return the price of one response; None if the model's price is unknown."""
    band = bisect_left(PRICE_STEPS, usage.prompt_tokens)
    return cost_of(UsageTotal(model, band, usage, 1, stated_usd), provider, at)


def _stated(total: UsageTotal) -> Decimal | None:
    """Use the agent's own figure where the table has none."""
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


class Answers(Struct):
    """What the package said of models that our table does not list, by version of the package."""

    version: str = ""
    prices: dict[str, UnitPrices | None] = {}
    dated: dict[str, bool] = {}  # whether a model's price depends on the day


_answers = Answers()


@contextmanager
def answers_kept(path: Path) -> Iterator[None]:
    """Within this, answers of the package are read from a file and kept there, so that it need not be imported."""
    global _answers
    outer, version = _answers, _package_version()
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Answers)
    except (OSError, msgspec.MsgspecError):
        kept = Answers()
    _answers = kept if version and kept.version == version else Answers(version)
    before = len(_answers.prices), len(_answers.dated)
    try:
        yield
        if version and before != (len(_answers.prices), len(_answers.dated)):
            with suppress(OSError):
                files.replace(path, msgspec.json.encode(_answers), path.with_suffix(".lock"), files.ANYTHING)
    finally:
        _answers = outer


def _package_version() -> str:
    package = find_spec("genai_prices")
    if package is None or package.origin is None:
        return ""
    found = sorted(Path(package.origin).parent.parent.glob("genai_prices-*.dist-info"))
    return found[-1].name if found else ""


def _answered(model: str, provider: str, band: int, day: str) -> UnitPrices | None:
    about = f"{provider}\0{model}"
    if day and about not in _answers.dated:
        _answers.dated[about] = _changes_with_time(model, provider)
    dated = day if day and _answers.dated[about] else ""
    key = f"{about}\0{band}\0{dated}"
    if key not in _answers.prices:
        _answers.prices[key] = asked_prices(model, provider, band, dated)
    return _answers.prices[key]


@lru_cache(maxsize=256)
def _changes_with_time(model: str, provider: str) -> bool:
    """Whether genai-prices has several prices for a model, by date or hour; most have one."""
    from genai_prices import Usage as Probe
    from genai_prices import calc_price

    for reference, vendor in _spellings(model, provider):
        try:
            calculation = calc_price(Probe(input_tokens=1), model_ref=reference, provider_id=vendor)
        except (LookupError, ValueError):
            continue
        return isinstance(calculation.model.prices, list)
    return False


@lru_cache(maxsize=1024)
def asked_prices(model: str, provider: str, band: int, day: str) -> UnitPrices | None:
    """Return dollars per token for prompts of one price step, measured by pricing probes of that length."""
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
    """Yield the names under which a model is sold: by its maker, by a cloud, through a router."""
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
    """Return the cost of a session; None unless the cost of every model is known."""
    parts = [model.cost_usd for model in record.models]
    try:
        return (
            float(sum(Decimal(part) for part in parts if part is not None))
            if parts and None not in parts
            else None
        )
    except InvalidOperation:
        return None
