"""The values of a holdout: sessions that were drawn, the effect on each figure, and the report.

`ledger/sequential.py` computes them. It loads numpy, which nothing else here needs.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Scale = Literal["ratio", "points"]


class Row(Struct, frozen=True):
    """One drawn session: `stratum` is its kind and the share that it was drawn with."""

    day: int
    stratum: str
    told: bool
    value: float


class Effect(Struct, frozen=True, kw_only=True):
    """Told minus held out, as a part of the held-out value (`ratio`) or in points; None while it is too early."""

    name: str
    scale: Scale
    value: float | None
    low: float | None
    high: float | None
    held: float | None  # the value of held-out sessions
    n_told: int
    n_held: int
    days: int
    needed: int | None  # further sessions until an effect of 20% is seen four times of five
    formula: str
    note: str = ""

    @property
    def is_decided(self) -> bool:
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Trial(Struct, frozen=True, kw_only=True):
    """A drawn session with what it took; None is unknown."""

    day: int
    kind: str
    share: float
    told: bool
    cost_usd: float | None = None
    minutes: float | None = None
    calls: int | None = None  # before the first edit
    failures: float | None = None  # failed tasks / tasks

    def row(self, value: float) -> Row:
        return Row(self.day, f"{self.kind} {self.share}", self.told, value)


class Report(Struct, frozen=True, kw_only=True):
    """`share` is None once the holdout has ended. `left_out` are sessions that have an arm and were not drawn."""

    share: float | None
    since: str
    held: int
    told: int
    uncaptured: int
    left_out: int
    effects: tuple[Effect, ...]
    verdict: str
    method: str
