"""Unit prices of the models that agents use most, worked out beforehand from genai-prices.

Importing that package takes as long as parsing 60 MB of transcripts, so it is left for names that are not in here.
`prices.json` is written by `scripts/generate_prices.py` and counts only beside the very version it was made from;
a test compares every figure in it with what the package itself says.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct

UnitPrices = tuple[Decimal, Decimal, Decimal, Decimal, Decimal]
"""Dollars per token: input, output, cache read, cache write, one-hour cache write."""

Step = tuple[int, UnitPrices]
"""From which price step on which prices hold."""

DATA = Path(__file__).with_name("prices.json")


class PriceTable(Struct, frozen=True):
    """`names` has, by provider and model, the place in `prices`; there, by the day they begin, the prices by step."""

    version: str
    names: dict[str, dict[str, int]]
    prices: list[list[tuple[str, list[Step]]]]


def listed_prices(model: str, provider: str, band: int, day: str) -> UnitPrices | None:
    """The prices of a step on a day; None where the table has no word on it, which does not mean that nobody has.

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
