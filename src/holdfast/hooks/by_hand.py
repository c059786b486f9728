"""Finds the decisions that a person noted by hand, or that a teammate shared, and that a prompt touches.

Such a decision is a sentence or two without a chat around it, and a memory has few of them. So the words of the prompt
that stand together are compared with each decision, and a fitted model says which one is meant, if any
(scripts/train_by_hand.py).
"""

from __future__ import annotations

import math

from holdfast.core.words import without_addresses, words
from holdfast.hooks.start_lines import count_tokens
from holdfast.hooks.telling import RARE, TellingLine, bare, date_of

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    Row = tuple[Any, ...]

# The model: log-odds that a decision is what the prompt is about, against none being it.
WEIGHTS = {
    "shared": 3.79, "rule": 2.044, "best": -8.106, "window": 1.23, "prompt": -1.16, "count": -1.358, "unique": 2.786,
}  # fmt: skip
NONE = 5.559
FLOOR, LATER_FLOOR = 0.3, 0.5
SECOND = 0.4  # share of the best decision's probability that another one needs
MOST_LINES = 2
_NUMBER = 7.0  # the weight of a number, such as a port: it says much, and version numbers are full of them
_LONGEST_PROMPT = 3_000
_MOST_WINDOWS = 40
_REASON = " (because "
_ENDS = (". ", "! ", "? ", "; ")


def lines_by_hand(
    db: sqlite3.Connection,
    noted: Sequence[Row],
    prompt: str,
    budget: int,
    heard: Collection[str],
    project: str,
    now: float,
    floor: float,
) -> list[TellingLine]:
    """The lines for a prompt. `noted` is what `telling.noted_by_hand` finds, `heard` are ids that the session knows."""
    rows = [row for row in noted if row[0] not in heard and (not row[5] or not project or row[5] == project)]
    if not rows:
        return []
    ((empty,),) = db.execute("SELECT value FROM meta WHERE key = 'empty'").fetchall()
    asked = windows(prompt, frozenset(empty.split()))
    every = set().union(*asked)
    decisions = [frozenset(row[2].split(" ")) for row in rows]
    known = _known(db, every.union(*decisions))
    rules = [
        decisions[at].intersection(_words(bare(row[1]).partition(_REASON)[0], ()))
        for at, row in enumerate(rows)
    ]
    chances = chances_of(evidence(asked, decisions, rules, known))
    if sum(chances) < floor:
        return []
    lines: list[TellingLine] = []
    best = max(chances)
    for chance, row, said in sorted(zip(chances, rows, decisions), key=lambda one: -one[0])[:MOST_LINES]:  # noqa: B905 (a hook)
        if chance < SECOND * best:
            break
        text = f"{bare(row[1])} ({row[4]}, {date_of(row[3], now)}, {row[0]})"
        budget -= count_tokens(text)
        if budget < 0:
            break
        shared = sorted(said & every, key=lambda word: -_weight(word, known))
        lines.append(
            TellingLine(
                text, f"decided by hand; {', '.join(shared[:4])}; {chance:.0%} likely", [row[0]], row[0]
            )
        )
    return lines


def _known(db: sqlite3.Connection, wanted: Collection[str]) -> dict[str, float]:
    """The weights of those words that the background or this memory has."""
    known: dict[str, float] = {}
    names = sorted(wanted)
    for start in range(0, len(names), 500):
        part = names[start : start + 500]
        marks = ", ".join("?" * len(part))
        known.update(db.execute(f"SELECT word, weight FROM word WHERE word IN ({marks})", part).fetchall())
    return known


def windows(prompt: str, empty: Collection[str]) -> list[set[str]]:
    """The words of each sentence or line of a prompt, with those of the next one."""
    text = without_addresses(prompt[:_LONGEST_PROMPT])
    for end in _ENDS:
        text = text.replace(end, f"{end}\n")
    parts = [said for line in text.split("\n")[: 2 * _MOST_WINDOWS] if (said := _words(line, empty))]
    return [part.union(*parts[at + 1 : at + 2]) for at, part in enumerate(parts[:_MOST_WINDOWS])] or [set()]


def _words(text: str, empty: Collection[str]) -> set[str]:
    numbers = "".join(sign if sign.isdecimal() else " " for sign in text).split()
    return {*words(text, empty), *(number for number in numbers if len(number) > 1)}


def evidence(
    asked: Sequence[set[str]],
    decisions: Sequence[Collection[str]],
    rules: Sequence[Collection[str]],
    known: Mapping[str, float],
) -> list[dict[str, float]]:
    """What speaks for each decision, in the window of the prompt that has most of its words.

    `rules` are the words of each decision without those of its reason.
    """
    weights = {word: _weight(word, known) for word in set().union(*asked, *decisions)}
    often: dict[str, int] = {}
    for decision in decisions:
        for word in decision:
            often[word] = often.get(word, 0) + 1
    sizes = [sum(weights[word] for word in window) for window in asked]
    total = math.log(1 + sum(weights[word] for word in set().union(*asked)))
    found = []
    for decision, rule in zip(decisions, rules):  # noqa: B905 (a hook)
        shares = [sum(weights[word] for word in window & set(decision)) for window in asked]
        at = shares.index(max(shares))
        shared = asked[at] & set(decision)
        found.append(
            {
                "shared": math.sqrt(shares[at]),
                "rule": sum(weights[word] for word in shared.intersection(rule))
                / (sum(weights[word] for word in rule) + 1e-9),
                "best": max([weights[word] for word in shared], default=0.0) / RARE,
                "window": math.log(1 + sizes[at]),
                "prompt": total,
                "count": float(len(shared)),
                "unique": sum(weights[word] / often[word] for word in shared) / RARE,
            }
        )
    return found


def chances_of(found: Sequence[dict[str, float]]) -> list[float]:
    odds = [sum(WEIGHTS[name] * value for name, value in one.items()) for one in found]
    top = max(*odds, NONE)
    shares = [math.exp(value - top) for value in odds]
    everything = sum(shares) + math.exp(NONE - top)
    return [share / everything for share in shares]


def _weight(word: str, known: Mapping[str, float]) -> float:
    return _NUMBER if word[0].isdecimal() else known.get(word, RARE)
