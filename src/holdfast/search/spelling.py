"""What a word that no text holds may stand for: one a slip of the pen away, unless it is a word of its own."""

from __future__ import annotations

from array import array

from holdfast.search.embed.contract import UNIT, Embedder
from holdfast.search.lexical import differ_by_a_slip, is_one_slip_apart

_SHORT = 6  # letters; one of them replaced makes another word of a shorter one as often as not: login, logic
_LEAST_KNOWN = 4
_LEAST_BEFORE_ENDING = 5
_SAME_WORD = 0.6  # cosine: `colour` and `color` have 0.96, `cache` and `catch` 0.03
_ENDINGS = frozenset(
    ("able", "ance", "ant", "ate", "ated", "ates", "ating", "ation", "ations", "ator", "ence", "ent", "ents", "ible",
     "ical", "icate", "ication", "ing", "ings", "ion", "ions", "isation", "ise", "ised", "ising", "ism", "ist", "ity",
     "ive", "ization", "ize", "ized", "izing", "ment", "ments", "ness", "ous")
)  # fmt: skip


def is_slip(written: str, stem: str, known: str) -> bool:
    """Whether by `written`, whose stem is `stem`, a word may be meant of which texts hold the stem `known`."""
    if len(known) < _LEAST_KNOWN:
        return False
    if is_one_slip_apart(stem, known):
        is_replaced = len(stem) == len(known) and sorted(stem) != sorted(known)
        return len(stem) >= _SHORT or not is_replaced
    # A slip in the ending keeps it from being taken off: `migratoin` has no stem but itself.
    if len(known) < _LEAST_BEFORE_ENDING or not written.startswith(known):
        return False
    ending = written[len(known) :]
    return any(differ_by_a_slip(ending, one) for one in _ENDINGS)


def is_other_word(embedder: Embedder | None, written: str, known: str) -> bool:
    """Whether a word was meant as it is written: the embedder has it, for something else than `known`."""
    knows = getattr(embedder, "knows", None)
    if embedder is None or knows is None or not knows(written):
        return False
    one, other = (array("b", vector) for vector in embedder.embed([written, known]))
    return sum(a * b for a, b in zip(one, other, strict=True)) < _SAME_WORD * UNIT**2
