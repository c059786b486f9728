"""Simulates holdouts whose true effect is known: how often one concludes wrongly, and how soon rightly.

.venv/bin/python scripts/simulate_holdout.py            # writes docs/research/holdout.{json,svg} and prints the tables

Looks after every day, or after every session (`--each-session`, slower). Everything is seeded. The estimator is the
product's own (`holdfast.ledger.sequential`); beside it stands what one would do by hand: a t-test at every look.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.ledger import sequential

FOLDER = Path(__file__).parents[1] / "docs" / "research"
KINDS = 5
KIND_SHARES = np.array([0.35, 0.25, 0.15, 0.15, 0.10])
KIND_LOGS = np.array([0.0, 0.4, -0.3, -0.8, -1.0])  # what a kind adds to the logarithm of a session's cost
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """How costs come about. Logarithms of dollars; `noise` is drawn once for each session."""

    name: str
    about: str
    noise: Callable[[np.random.Generator, tuple[int, ...]], Floats]
    day_spread: float = 0.5  # of a day, shared by its sessions
    effect_spread: float = 0.0  # of the effect from day to day, around the true one
    per_day: float = 4.0
    bursts: float = 0.0  # share of days with eight times the sessions
    drift: float = 0.0  # of the logarithm over a year


def _normal(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return rng.normal(0.0, 1.2, size)


def _pareto(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Costs with a Pareto tail of exponent 1.2: they have a mean and no variance."""
    return rng.exponential(1 / 1.2, size) + rng.normal(0.0, 0.6, size)


def _student(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Logarithms with a Student's t of three degrees: costs that have no mean."""
    return rng.standard_t(3, size) * 0.8


WORLDS = (
    World("log-normal", "spread 1.2, days 0.5", _normal),
    World("Pareto tail", "costs without a variance", _pareto),
    World("beyond Pareto", "costs without a mean (log-t, 3 degrees)", _student),
    World("strong days", "half of the variance is the day's", _normal, day_spread=1.2),
    World("bursts", "one day in ten has eight times the sessions", _pareto, bursts=0.1),
    World(
        "effect by day", "helps on some days, harms on others, nothing on average", _normal, effect_spread=0.7
    ),
    World("drift", "costs halve within a year", _pareto, drift=-0.7),
    World("slow", "1.5 sessions a day", _pareto, per_day=1.5),
)


def histories(
    world: World, effect: float, days: int, runs: int, share: float, rng: np.random.Generator
) -> Iterator[tuple[int, Floats, Floats]]:
    """Day by day: each session's kind, arm and logarithm of cost, for all runs; -1 is no session."""
    for day in range(days):
        rate = np.where(rng.random(runs) < world.bursts, 8 * world.per_day, world.per_day)
        counts = rng.poisson(rate)
        most = max(int(counts.max()), 1)
        is_there = np.arange(most) < counts[:, None]
        kind = rng.choice(KINDS, size=(runs, most), p=KIND_SHARES)
        told = (rng.random((runs, most)) >= share).astype(float)
        helped = effect + rng.normal(0.0, world.effect_spread or 1e-12, (runs, 1))
        value = (
            KIND_LOGS[kind]
            + rng.normal(0.0, world.day_spread, (runs, 1))
            + world.drift * day / 365
            + world.noise(rng, (runs, most))
            + told * helped
        )
        yield day, np.where(is_there, kind, -1).astype(float), np.stack([told, value])


@dataclass
class Outcome:
    """When each run first concluded (in sessions), the last interval, and whether it held the truth at all looks."""

    concluded: Floats
    naive: Floats
    sessions: Floats
    covered: NDArray[np.bool_]
    wrong_side: NDArray[np.bool_]


def simulate(
    world: World,
    effect: float,
    *,
    days: int = 365,
    runs: int = 1000,
    share: float = 0.2,
    seed: int = 22,
    each_session: bool = False,
) -> Outcome:
    rng = np.random.default_rng(seed)
    cells = np.zeros((runs, days, KINDS, 4))
    squares = np.zeros((runs, 2))  # of both arms, for the t-test
    everyone = np.arange(runs)
    state = Outcome(
        np.full(runs, np.nan),
        np.full(runs, np.nan),
        np.zeros(runs),
        np.ones(runs, bool),
        np.zeros(runs, bool),
    )
    for day, kinds, (told, value) in histories(world, effect, days, runs, share, rng):
        for place in range(kinds.shape[1]):
            there = kinds[:, place] >= 0
            who, kind = everyone[there], kinds[there, place].astype(int)
            arm, cost = told[there, place], value[there, place]
            cells[who, day, kind] += np.stack([np.ones_like(arm), arm, cost, arm * cost], axis=-1)
            squares[who, arm.astype(int)] += cost**2
            if each_session:
                _look(state, cells[:, : day + 1], squares, effect)
        if not each_session:
            _look(state, cells[:, : day + 1], squares, effect)
    return state


def _look(state: Outcome, cells: Floats, squares: Floats, truth: float) -> None:
    value, error, days = sequential.estimate(cells)
    totals = cells.sum(axis=(-3, -2))
    n, told = totals[:, 0], totals[:, 1]
    state.sessions = n
    ready = (
        (days >= sequential.FEWEST_DAYS)
        & (told >= sequential.FEWEST_OF_AN_ARM)
        & (n - told >= sequential.FEWEST_OF_AN_ARM)
        & (error > 0)
    )
    half = sequential.width(days) * error
    with np.errstate(invalid="ignore"):
        is_clear = ready & (np.abs(value) > half)
        first = is_clear & np.isnan(state.concluded)
        state.concluded = np.where(first, n, state.concluded)
        state.wrong_side |= first & (np.sign(value) != np.sign(truth))
        state.covered &= ~ready | (np.abs(value - truth) <= half)
        t = _t(totals, squares)
        state.naive = np.where(ready & (np.abs(t) > 1.96) & np.isnan(state.naive), n, state.naive)


def _t(totals: Floats, squares: Floats) -> Floats:
    """Welch's t of the logarithms, that ignores kinds and days."""
    n, told, value, both = totals.T
    counts = np.stack([n - told, told])
    means = np.stack([value - both, both]) / np.maximum(counts, 1)
    variances = squares.T / np.maximum(counts, 1) - means**2
    error = np.sqrt((np.maximum(variances, 0) / np.maximum(counts - 1, 1)).sum(axis=0))
    return (means[1] - means[0]) / np.maximum(error, 1e-9)


def false_positives(runs: int, each_session: bool, days: int) -> list[dict[str, Any]]:
    rows = []
    for world in WORLDS:
        ended = simulate(world, 0.0, runs=runs, days=days, each_session=each_session)
        rows.append(
            {
                "world": world.name,
                "about": world.about,
                "runs": runs,
                "sessions": float(np.median(ended.sessions)),
                "false": float(np.mean(~np.isnan(ended.concluded))),
                "naive": float(np.mean(~np.isnan(ended.naive))),
            }
        )
        print(rows[-1], flush=True)
    return rows


def power(runs: int, days: int) -> list[dict[str, Any]]:
    rows = []
    world = WORLDS[0]
    for share in (0.2, 0.5):
        for effect in (0.1, 0.2, 0.3, 0.4):
            ended = simulate(world, np.log(1 - effect), runs=runs, days=days, share=share)
            sessions = np.linspace(0, np.median(ended.sessions), 41)
            rows.append(
                {
                    "share": share,
                    "effect": effect,
                    "runs": runs,
                    "curve": [
                        [round(float(n)), float(np.mean(np.nan_to_num(ended.concluded, nan=np.inf) <= n))]
                        for n in sessions
                    ],
                    "median": float(np.median(np.nan_to_num(ended.concluded, nan=1e9))),
                    "covered": float(np.mean(ended.covered)),
                    "wrong_side": float(np.mean(ended.wrong_side)),
                }
            )
            print({key: value for key, value in rows[-1].items() if key != "curve"}, flush=True)
    return rows


LEFT, TOP, WIDTH, HEIGHT = 60, 20, 460, 260
COLOURS = ("#868e96", "#0b7285", "#5f3dc4", "#c92a2a")


def drawn(rows: list[dict[str, Any]]) -> str:
    """Power curves: solid for a holdout of 50%, dashed for 20%."""
    most = max(point[0] for row in rows for point in row["curve"])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 130} {TOP + HEIGHT + 50}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for tenth in range(0, 11, 2):
        y = TOP + HEIGHT * (1 - tenth / 10)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dee2e6"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth * 10}%</text>')
    for sessions in range(0, int(most) + 1, 300):
        x = LEFT + WIDTH * sessions / most
        parts.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{sessions:,}</text>')
    parts.append(
        f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle">'
        "sessions since the holdout began; share of runs that have concluded</text>"
    )
    effects = sorted({row["effect"] for row in rows})
    for row in rows:
        points = " ".join(
            f"{LEFT + WIDTH * n / most:.1f},{TOP + HEIGHT * (1 - part):.1f}" for n, part in row["curve"]
        )
        colour = COLOURS[effects.index(row["effect"])]
        dashes = "" if row["share"] == 0.5 else ' stroke-dasharray="5 4"'
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
    for place, effect in enumerate(effects):
        y = TOP + 14 + 18 * place
        parts.append(
            f'<text x="{LEFT + WIDTH + 12}" y="{y}" fill="{COLOURS[place]}">−{effect:.0%} cost</text>'
        )
    for place, (share, dashes) in enumerate(
        (("50% held out", ""), ("20% held out", ' stroke-dasharray="5 4"'))
    ):
        y = TOP + 110 + 18 * place
        x = LEFT + WIDTH + 12
        parts.append(f'<line x1="{x}" x2="{x + 22}" y1="{y - 4}" y2="{y - 4}" stroke="#343a40"{dashes}/>')
        parts.append(f'<text x="{x + 28}" y="{y}">{share}</text>')
    return "\n".join([*parts, "</svg>\n"])


def tables(figures: dict[str, Any]) -> str:
    lines = ["| costs | sessions | this method | t-test at every look |", "|---|---|---|---|"]
    for name in ("false_positives", "each_session"):
        for row in figures.get(name, ()):
            each = ", a look after each session" if name == "each_session" else ""
            lines.append(
                f"| {row['world']}: {row['about']}{each} | {row['sessions']:,.0f} | {row['false']:.1%} "
                f"| {row['naive']:.0%} |"
            )
    lines += ["", "| held out | true effect | 500 | 1,000 | 1,460 | median | wrong sign | interval held |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for row in figures.get("power", ()):
        at = [max((part for n, part in row["curve"] if n <= most), default=0.0) for most in (500, 1000, 1470)]
        median = f"{row['median']:,.0f}" if row["median"] < 1e6 else "later"
        lines.append(
            f"| {row['share']:.0%} | −{row['effect']:.0%} | {at[0]:.0%} | {at[1]:.0%} | {at[2]:.0%} | {median} "
            f"| {row['wrong_side']:.1%} | {row['covered']:.1%} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--only", choices=("false_positives", "power"), help="one of the two parts")
    parser.add_argument("--each-session", action="store_true", help="look after every session, at 120 days")
    given = parser.parse_args()
    path = FOLDER / "holdout.json"
    figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if given.each_session:
        figures["each_session"] = false_positives(given.runs, True, min(given.days, 120))
    else:
        if given.only != "power":
            figures["false_positives"] = false_positives(given.runs, False, given.days)
        if given.only != "false_positives":
            figures["power"] = power(given.runs, given.days)
    path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if "power" in figures:
        (FOLDER / "holdout.svg").write_text(drawn(figures["power"]), encoding="utf-8")
    print(tables(figures))


if __name__ == "__main__":
    main()
