"""Conventions as a scan reports them, with their confidence and what shows them."""

from __future__ import annotations

from holdfast.knowledge.checkout import printable
from holdfast.model.knowledge import SCAN, Convention, Evidence

_MOST_EVIDENCE = 4


def convention(
    category: str,
    pattern: str,
    confidence: float,
    *evidence: Evidence,
    example: str = "",
    scope: str = "",
    count: int = 0,
    counter: int = 0,
) -> Convention:
    """A convention that the scan found."""
    places = tuple(dict.fromkeys(place for place in evidence if printable(place.path)))[:_MOST_EVIDENCE]
    return Convention(
        category=category,
        pattern=pattern,
        example=example,
        confidence=round(min(max(confidence, 0.0), 0.99), 2),
        count=count or len(places),
        counter=counter,
        evidence=places,
        scope=scope,
        by=SCAN,
    )


def of_counts(
    category: str,
    pattern: str,
    count: int,
    counter: int,
    *evidence: Evidence,
    example: str = "",
    scope: str = "",
) -> Convention:
    """A convention that `count` places keep and `counter` places break; few places give little confidence."""
    sure = (count + 1) / (count + counter + 2)
    return convention(
        category, pattern, sure, *evidence, example=example, scope=scope, count=count, counter=counter
    )
