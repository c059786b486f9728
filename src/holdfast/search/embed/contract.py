"""What turns text into vectors: anything that gives each text the same 384 small whole numbers every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

UNIT = 300
"""The length of every vector: a unit vector times this, rounded, fits into signed bytes but for rare outliers.

The cosine of two texts is the dot product of their vectors over UNIT squared. Whole numbers are summed exactly in
whatever order, so the same texts have the same cosine with numpy, without it, and on every machine.
"""


class Embedder(Protocol):
    """A way to embed text. `name` is stored with the vectors: another name means they are made again.

    One that orders its values, those that tell texts apart first, may have a whole number `leading`: so many of them
    are enough to choose among more than 100,000 texts which ones are compared by all. One that makes strange words up
    from pieces may have `knows(text)`: whether any word of a text means something to it. The pieces of what is no word
    are near to anything, nearer than words on another subject. One that was made for
    some scripts may have `reads(text)`: the part of a question in letters that it understands. To an English model all
    Cyrillic is near to all Cyrillic, by its letters. One on another scale than the shipped table may have
    a number `unrelated`: what the cosine of the nearest of some hundred texts stays below in 85 of 100 questions that
    none of them answers (`fuse.UNRELATED` unless told). Evidence is measured from there; ranking is not.
    """

    name: str
    width: int

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """For each text `width` signed bytes of length UNIT; all zero for a text that says nothing."""
        ...
