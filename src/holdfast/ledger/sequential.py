"""Estimates the effect of a holdout, so that one may look at any time: docs/contributing/roi-figures.md, ADR 22.

The estimate compares sessions of the same kind and share. Its error is that of days, because sessions of a day are
alike. The interval is an asymptotic confidence sequence: it holds at all times together, so looking often and stopping
at will adds no false conclusions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, exp, inf, log, sqrt
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from holdfast.ledger.holdout import Effect, Report, Row, Scale, Trial

ALPHA = (
    0.04  # of the 5% that are promised: the method is exact only for many days, and simulations are near it
)
PLANNED_DAYS = 60  # where the interval is narrowest compared with others; set before any data
FEWEST_DAYS = 20
FEWEST_OF_AN_ARM = 20
TARGET = 0.2  # the effect that `needed` is for
POWER_Z = 0.8416  # four times of five
MOST_NEEDED = 1_000_000
CENT = 0.01  # dollars, minutes: less counts as this, since a logarithm has no zero
METHOD = (
    "asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024), 95% at all times together; "
    "within kind and share, clustered by day"
)

Cells = NDArray[np.float64]


def sums(rows: Sequence[Row]) -> Cells:
    """For each day and stratum: sessions, those told, the sum of values, and of those told."""
    days = {day: place for place, day in enumerate(sorted({row.day for row in rows}))}
    strata = {name: place for place, name in enumerate(sorted({row.stratum for row in rows}))}
    cells = np.zeros((len(days), len(strata), 4))
    for row in rows:
        cells[days[row.day], strata[row.stratum]] += (1.0, row.told, row.value, row.told * row.value)
    return cells


def estimate(cells: Cells) -> tuple[Any, Any, Any]:
    """The effect, its standard error and the number of equal days, from the sums of `sums`; leading axes are trials.

    The regression of the value on the arm with a constant for each stratum. The error is that of days, each with the
    regression made without it (approximately: its residual is divided by one minus its weight), which a few large days
    would make too small otherwise. So days count by their sessions, too: a few huge days among many are few days.
    """
    n, told, value, both = np.moveaxis(cells, -1, 0)
    n_of, told_of, value_of = (part.sum(axis=-2) for part in (n, told, value))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(n_of > 0, told_of / np.maximum(n_of, 1), 0.0)[..., None, :]
        mean = np.where(n_of > 0, value_of / np.maximum(n_of, 1), 0.0)[..., None, :]
        covariance = (both - mean * told - share * value + n * share * mean).sum(axis=-1)
        weight = (told - 2 * share * told + n * share**2).sum(axis=-1)
        total = weight.sum(axis=-1)
        effect = covariance.sum(axis=-1) / total
        residual = (covariance - effect[..., None] * weight) / np.maximum(1 - weight / total[..., None], 1e-9)
        sessions = n.sum(axis=-1)
        days = sessions.sum(axis=-1) ** 2 / (sessions**2).sum(axis=-1)
        error = np.sqrt((residual**2).sum(axis=-1)) / total
    return effect, error, days


def width(days: Any) -> Any:
    """Half the interval in standard errors, for a number of days: 1.96 if one looked only once."""
    ratio = (-2 * log(ALPHA) + log(-2 * log(ALPHA)) + 1) / PLANNED_DAYS
    time = np.maximum(days, 1) * ratio
    return np.sqrt(2 * (time + 1) / time * np.log(np.sqrt(time + 1) / ALPHA))


def effect_of(name: str, rows: Sequence[Row], scale: Scale, formula: str) -> Effect:
    """The effect on one figure. Values are transformed here: `ratio` compares logarithms."""
    told = [row.value for row in rows if row.told]
    held = [row.value for row in rows if not row.told]
    days = effective_days(rows)
    early = _too_early(days, len(told), len(held))
    base = (exp(float(np.mean(np.log(held)))) if scale == "ratio" else float(np.mean(held))) if held else None
    result = Effect(
        name=name, scale=scale, value=None, low=None, high=None, held=base, n_told=len(told), n_held=len(held),
        days=days, needed=None, formula=formula, note=early,
    )  # fmt: skip
    if early:
        return result
    if scale == "ratio":
        rows = [Row(row.day, row.stratum, row.told, log(row.value)) for row in rows]
    effect, error, exact_days = (float(part) for part in estimate(sums(rows)))
    half = float(width(exact_days)) * error
    if not error > 0 or not half < inf:
        return replace(result, note="all sessions have the same value")
    low, value, high = (effect + part for part in (-half, 0.0, half))
    target = TARGET * base if scale == "points" and base else -log(1 - TARGET)
    return replace(
        result,
        low=_shown(low, scale),
        value=_shown(value, scale),
        high=_shown(high, scale),
        needed=needed(error * sqrt(len(rows)), len(rows), exact_days, target),
    )


def effective_days(rows: Sequence[Row]) -> int:
    """How many equal days are as good as these."""
    counts = Counter(row.day for row in rows).values()
    return int(len(rows) ** 2 / sum(count**2 for count in counts)) if rows else 0


def _shown(value: float, scale: Scale) -> float:
    return exp(min(value, 50.0)) - 1 if scale == "ratio" else value


def _too_early(days: int, told: int, held: int) -> str:
    lacking = [
        f"{have} of {want} {what}"
        for have, want, what in (
            (days, FEWEST_DAYS, "days"),
            (held, FEWEST_OF_AN_ARM, "sessions in the holdout"),
            (told, FEWEST_OF_AN_ARM, "other sessions"),
        )
        if have < want
    ]
    return f"too early: {', '.join(lacking)}" if lacking else ""


def needed(spread: float, sessions: int, days: float, target: float) -> int | None:
    """How many further sessions until an effect of `target` is seen four times of five, at the pace so far.

    `spread` is the standard error times the root of the number of sessions.
    """
    if not (0 < spread < inf and target > 0 and sessions and days):
        return None

    def enough(number: int) -> bool:
        multiple = float(width(number * days / sessions)) + POWER_Z
        return multiple * spread / sqrt(number) <= target

    low, high = max(sessions, 1), MOST_NEEDED
    if enough(low):
        return 0
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high - sessions


def planned(values: Mapping[str, Iterable[float]], share: float, per_day: float) -> int | None:
    """How many sessions a holdout would need, from the costs of earlier sessions by kind."""
    squares, n = 0.0, 0
    for group in values.values():
        logs = [log(max(value, CENT)) for value in group]
        if len(logs) > 1:
            squares += float(np.var(logs, ddof=1)) * len(logs)
            n += len(logs)
    if n < FEWEST_OF_AN_ARM or not per_day > 0:
        return None
    spread = sqrt(squares / n / (share * (1 - share)))
    fewest = ceil(max(FEWEST_DAYS * per_day, FEWEST_OF_AN_ARM / share))
    more = needed(spread, fewest, max(round(fewest / per_day), 1), -log(1 - TARGET))
    return None if more is None else fewest + more


_FIGURES: tuple[tuple[str, Scale, str], ...] = (
    (
        "cost",
        "ratio",
        "dollars per session by the price table, geometric mean; less than a cent counts as one",
    ),
    ("active time", "ratio", "active minutes per session, geometric mean; less than 0.01 counts as that"),
    (
        "calls before an edit",
        "ratio",
        "tool calls before a session's first edit, plus one, geometric mean; sessions that edited something",
    ),
    ("failure rate", "points", "failed tasks / tasks of each session, mean; sessions with tasks"),
)


def report(
    trials: Sequence[Trial], *, share: float | None, since: str, uncaptured: int, left_out: int
) -> Report:
    effects = tuple(
        effect_of(
            name,
            [trial.row(value) for trial in trials if (value := _value(trial, name)) is not None],
            scale,
            how,
        )
        for name, scale, how in _FIGURES
    )
    return Report(
        share=share,
        since=since,
        held=sum(not trial.told for trial in trials),
        told=sum(trial.told for trial in trials),
        uncaptured=uncaptured,
        left_out=left_out,
        effects=effects,
        verdict=_verdict(effects[0]),
        method=METHOD,
    )


def _value(trial: Trial, name: str) -> float | None:
    if name == "cost":
        return None if trial.cost_usd is None else max(trial.cost_usd, CENT)
    if name == "active time":
        return None if trial.minutes is None else max(trial.minutes, CENT)
    if name == "failure rate":
        return trial.failures
    return None if trial.calls is None else trial.calls + 1.0


def _verdict(cost: Effect) -> str:
    """The one conclusion that is drawn, about the figure that was chosen before any data."""
    if cost.value is None:
        return f"No verdict yet ({cost.note})."
    if cost.is_decided:
        return f"Memory {'lowers' if cost.value < 0 else 'raises'} the cost of a session."
    more = ""
    if cost.needed:
        more = (
            f": about {cost.needed:,} more sessions would show an effect of {TARGET:.0%} four times of five"
        )
    elif cost.needed == 0:
        more = f": an effect of {TARGET:.0%} would probably have been seen by now"
    return f"Undecided{more}."
