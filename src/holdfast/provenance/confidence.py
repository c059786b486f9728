"""How sure a match is: a calibrated probability, and None where it is too low to name a session.

The weights come from scripts/blame_calibrate.py; docs/research/blame.md has the data and how well the figures hold.
"""

from __future__ import annotations

from math import exp, log

from holdfast.provenance.match import Evidence

LEAST = 0.75  # below it the answer is "unknown"
HIGHEST = 0.97  # what the surest matches reach on labelled lines
WEIGHTS = {
    "always": 1.09,
    "other file": -0.52,
    "block": 0.10,
    "share": 1.46,
    "little of the commit": 0.00,
    "most of the commit": 1.07,
    "hours": -0.39,
    "over two days": -2.33,
    "after the commit was made": -2.84,
    "rivals": -0.62,
    "around": 0.07,
    "part": -0.12,
    "length": 0.05,
    "whole file": -0.18,
}


def features(evidence: Evidence) -> dict[str, float]:
    """The figures that the weights belong to."""
    share = evidence.share
    return {
        "always": 1.0,
        "other file": float(evidence.same_file < 2),
        "block": log(1 + min(evidence.block, 50)),
        "share": share,
        "little of the commit": float(share < 0.3),
        "most of the commit": float(share >= 0.6),
        "hours": log(1 + min(evidence.hours, 1000.0)),
        "over two days": float(evidence.hours > 48),
        "after the commit was made": float(evidence.late),
        "rivals": float(min(evidence.rivals, 3)),
        "around": float(evidence.how == "around"),
        "part": float(evidence.how == "part"),
        "length": log(1 + min(evidence.length, 80)),
        "whole file": float(evidence.whole),
    }


def probability(evidence: Evidence) -> float:
    score = sum(WEIGHTS[name] * value for name, value in features(evidence).items())
    return min(1.0 / (1.0 + exp(-max(min(score, 30.0), -30.0))), HIGHEST)


def confidence_of(evidence: Evidence) -> float | None:
    """The probability that the session wrote the line; None if it is too low to name the session."""
    chance = probability(evidence)
    return chance if chance >= LEAST else None
