"""Recommendations on simulated ledgers whose truth is known: regret, coverage of the intervals, abstention.

Models differ, tasks differ in difficulty, and the better model gets the harder tasks, as people do it. The same
sessions are then asked for a model for goals of every sort, beside two simple rules.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import exp

from msgspec import Struct

from holdfast.ledger.recommend import recommend
from holdfast.ledger.similar import Goal, failed
from holdfast.model.ledger import LedgerEntry

SIZES = (10, 30, 100, 300, 1000)
WORLDS = 60  # for each size
GOALS = 12  # for each world
LEVELS = {"trivial": -1.6, "simple": -0.6, "moderate": 0.4, "complex": 1.4}
KINDS = ("feature", "bugfix", "refactor", "migration")
TOPICS = ("auth", "payments", "search", "parser", "ui", "billing", "cache", "queue")


class World(Struct):
    models: list[str]
    skill: dict[str, float]
    price: dict[str, float]
    kinds: dict[str, float]
    topics: dict[str, tuple[str, str]]  # topic -> (kind it mostly is, its usual level)
    base: float

    def chance(self, model: str, kind: str, level: str) -> float:
        odds = self.base + LEVELS[level] + self.kinds[kind] - self.skill[model]
        return 1 / (1 + exp(-odds))


def world(rng: random.Random, *, equal: bool = False) -> World:
    models = [f"model-{letter}" for letter in "abcde"[: rng.randint(2, 5)]]
    skill = {model: 0.0 if equal else rng.gauss(0, 0.9) for model in models}
    return World(
        models=models,
        skill=skill,
        price={model: exp(rng.gauss(0, 0.5) + (0 if equal else 0.4 * skill[model])) for model in models},
        kinds={kind: rng.gauss(0, 0.4) for kind in KINDS},
        topics={topic: (rng.choice(KINDS), rng.choice(list(LEVELS))) for topic in TOPICS},
        base=rng.uniform(-2.5, -0.8),
    )


def ledger(rng: random.Random, of: World, n: int) -> list[LedgerEntry]:
    """Sessions of that world. Who is good is mostly given the hard tasks: raw failure rates mislead."""
    ranked = sorted(of.models, key=lambda model: of.skill[model])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [_session(rng, of, ranked, start + timedelta(hours=number), number) for number in range(n)]


def _session(rng: random.Random, of: World, ranked: list[str], at: datetime, number: int) -> LedgerEntry:
    topic = rng.choice(TOPICS)
    kind, level = _work(rng, of, topic)
    hardness = (LEVELS[level] + 1.6) / 3.0
    place = min(max(round(rng.gauss(hardness, 0.45) * (len(ranked) - 1)), 0), len(ranked) - 1)
    model = ranked[place]
    lost = rng.random() < of.chance(model, kind, level)
    cost = of.price[model] * exp(0.6 * LEVELS[level] + rng.gauss(0, 0.5)) * 0.5
    return LedgerEntry(
        session=f"s{number:05d}",
        model=model,
        tasks=rng.randint(1, 6),
        failed=int(lost),
        cost_usd=Decimal(str(round(cost, 4))),
        duration_s=int(60 * exp(1.5 + 0.5 * LEVELS[level] + rng.gauss(0, 0.4))),
        goal=(topic, kind, rng.choice(("service", "module", "endpoint"))),
        timestamp=at,
        kind=kind,
        complexity=level,
    )


def _work(rng: random.Random, of: World, topic: str) -> tuple[str, str]:
    kind, level = of.topics[topic]
    return (
        kind if rng.random() < 0.7 else rng.choice(KINDS),
        level if rng.random() < 0.7 else rng.choice(list(LEVELS)),
    )


class Tally(Struct):
    asked: int = 0
    answered: int = 0
    ours: float = 0.0
    ours_when_sure: float = 0.0
    used_when_sure: float = 0.0
    most_used: float = 0.0
    lowest_raw: float = 0.0
    covered: int = 0
    intervals: int = 0


def simulate(n: int, *, worlds: int = WORLDS, equal: bool = False, seed: int = 1) -> Tally:
    rng = random.Random(f"{seed}-{n}-{equal}")
    tally = Tally()
    for _ in range(worlds):
        of = world(rng, equal=equal)
        entries = ledger(rng, of, n)
        used = Counter(entry.model or "" for entry in entries)
        for _ in range(GOALS):
            _ask(rng, of, entries, used, tally)
    return tally


def _ask(rng: random.Random, of: World, entries: list[LedgerEntry], used: Counter[str], tally: Tally) -> None:
    topic = rng.choice(TOPICS)
    kind, _level = _work(rng, of, topic)
    told = recommend(Goal(words=(topic, kind), kind=kind), entries, "risk")
    truth = {model: _expected(of, model, kind, topic) for model in of.models}
    best = min(truth.values())
    most = min(used, key=lambda model: (-used[model], model))
    raw = _lowest_raw(entries)
    chosen = told.leaning or most
    tally.asked += 1
    tally.ours += truth[chosen] - best
    tally.most_used += truth[most] - best
    tally.lowest_raw += truth[raw] - best
    if told.model:
        tally.answered += 1
        tally.ours_when_sure += truth[told.model] - best
        tally.used_when_sure += truth[most] - best
    for candidate in told.candidates:
        low, high = candidate.failure_interval
        tally.intervals += 1
        tally.covered += low <= truth[candidate.model] <= high


def _expected(of: World, model: str, kind: str, topic: str) -> float:
    """The true chance for a goal of this topic and kind, its difficulty being as uncertain as it is to everybody."""
    usual = of.topics[topic][1]
    share = {level: 0.3 / len(LEVELS) + (0.7 if level == usual else 0.0) for level in LEVELS}
    return sum(part * of.chance(model, kind, level) for level, part in share.items())


def _lowest_raw(entries: list[LedgerEntry]) -> str:
    lost: defaultdict[str, list[int]] = defaultdict(list)
    for entry in entries:
        lost[entry.model or ""].append(int(bool(failed(entry))))
    return min(lost, key=lambda model: (sum(lost[model]) / len(lost[model]), model))


def table(worlds: int = WORLDS) -> Iterator[dict[str, object]]:
    for n in SIZES:
        for equal in (False, True):
            found = simulate(n, worlds=worlds, equal=equal)
            yield {
                "sessions": n,
                "models": "alike" if equal else "different",
                "goals": found.asked,
                "answered": round(found.answered / found.asked, 3),
                "regret": round(found.ours / found.asked, 4),
                "regret_most_used": round(found.most_used / found.asked, 4),
                "regret_lowest_raw": round(found.lowest_raw / found.asked, 4),
                "regret_answered": round(found.ours_when_sure / max(found.answered, 1), 4),
                "regret_answered_most_used": round(found.used_when_sure / max(found.answered, 1), 4),
                "coverage": round(found.covered / found.intervals, 3) if found.intervals else None,
            }


if __name__ == "__main__":
    for line in table():
        print(json.dumps(line))
