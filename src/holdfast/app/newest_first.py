"""Of two statements that say the same of something with another value, the newer one is found first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.model.search import Hit

_STATEMENTS = ("F-", "D-")
_AS_GOOD = 0.02  # of score: no question means one of them by so little
_SHARED = 0.7  # of the words of the longer one
_WORD = re.compile(r"\w+")


def newest_first(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits: both places keep their scores, and whoever is newer has the better one."""
    ordered = list(hits)
    places = [at for at, hit in enumerate(ordered) if hit.id[:2] in _STATEMENTS]
    for number, at in enumerate(places):
        for later in places[number + 1 :]:
            one, other = ordered[at], ordered[later]
            if one.score - other.score > _AS_GOOD:
                break
            is_older = one.date < other.date and (one.project, one.kind) == (other.project, other.kind)
            if is_older and _differ_in_a_value(one.text, other.text):
                ordered[at] = replace(other, score=one.score)
                ordered[later] = replace(one, score=other.score)
    return ordered


def _differ_in_a_value(one: str, other: str) -> bool:
    """`The port is 5433 (seen)` and `The port is 6432 (seen)`: what stands in brackets shows it, and is not it."""
    words, others = (set(_WORD.findall(text.casefold().partition(" (")[0])) for text in (one, other))
    return words != others and len(words & others) >= _SHARED * max(len(words), len(others))
