"""How much a word says in the talk of people and coding agents at large, without loading the application.

`briefing/background.txt` lists the common words, sorted, for a binary search; a word that is not listed is rare.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Iterable

RARE = 9.0
_TENTHS = 10.0
_LIST = os.path.join(os.path.dirname(os.path.dirname(__file__)), "briefing", "background.txt")


def weights_of(words: Iterable[str]) -> dict[str, float]:
    """For each word, minus the logarithm of the share of messages that contain it."""
    with open(_LIST, "rb") as file:
        listed = file.read()
    return {word: _weight(listed, word.encode("utf-8", "replace")) for word in words}


def _weight(listed: bytes, word: bytes) -> float:
    """The weight of a word in lines `word weight`."""
    low, high = listed.find(b"\n") + 1, len(listed)  # without the heading
    while low < high:
        start = max(low, listed.rfind(b"\n", 0, (low + high) // 2) + 1)
        end = listed.find(b"\n", start)
        end = len(listed) if end < 0 else end
        found, _, weight = listed[start:end].partition(b" ")
        if found == word:
            return int(weight) / _TENTHS
        if found < word:
            low = end + 1
        else:
            high = start
    return RARE
