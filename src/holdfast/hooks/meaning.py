"""The meaning of a prompt as a vector, by the table of `search/embed`, without loading the application.

Only whole words of the table count here: a prompt has enough of them. `vocab.sorted` lists them for a binary search.
"""

from __future__ import annotations

import os
from _operator import add, mul  # `operator` itself takes longer to load than it saves
from itertools import repeat

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterable

WIDTH = 384
UNIT = 300.0
MOST_WORDS = 48
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "search", "embed")
_SPACED = "".join(sign if sign.isalnum() else " " for sign in map(chr, range(128)))


def vector_of(text: str) -> list[float] | None:
    """The vector of a text, of length 1, by its words; None if it has none that is known."""
    words = dict.fromkeys(text.lower().translate(_SPACED).split())
    wanted = [word for word in words if word.isascii() and len(word) > 2][: 4 * MOST_WORDS]
    import mmap

    with open(os.path.join(_FOLDER, "vocab.sorted"), "rb") as file:
        listed = file.read()
    numbers = [number for word in wanted if (number := _number(listed, word.encode())) is not None]
    if not numbers:
        return None
    with open(os.path.join(_FOLDER, "static.i8"), "rb") as file:
        table = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        sums = _sum(table, numbers[:MOST_WORDS])
    finally:
        table.close()
    length = sum(map(mul, sums, sums)) ** 0.5
    return [value / length for value in sums] if length else None


def _sum(table: mmap.mmap, numbers: Iterable[int]) -> list[int]:
    count = len(table) // (WIDTH + 2)
    sums = [0] * WIDTH
    for number in numbers:
        at = count * WIDTH + 2 * number
        weight = table[at] | table[at + 1] << 8
        row = memoryview(table[number * WIDTH : (number + 1) * WIDTH]).cast("b")
        sums = list(map(add, sums, map(mul, repeat(weight), row)))
    return sums


def _number(listed: bytes, word: bytes) -> int | None:
    """The number of a word in lines `word number`, sorted by word."""
    low, high = 0, len(listed)
    while low < high:
        middle = listed.rfind(b"\n", 0, (low + high) // 2) + 1
        end = listed.find(b"\n", middle)
        found, _, number = listed[middle:end].partition(b" ")
        if found == word:
            return int(number)
        if found < word:
            low = end + 1
        else:
            high = middle
    return None


def cosine(unit: list[float], stored: bytes) -> float:
    """The cosine of a prompt's vector, of length 1, and a stored one of length UNIT."""
    return sum(map(mul, unit, memoryview(stored).cast("b"))) / UNIT if len(stored) == WIDTH else 0.0
