"""Whether the newest is meant: by a question about now, and by an order, which is about the work in hand.

Any other question asks for what fits best, however old it is.
"""

from __future__ import annotations

import re

from holdfast.core.patterns import lazy_regex

_NOW = lazy_regex(
    r"\b(?:now|nowadays|current(?:ly)?|latest|newest|(?:most )?recent(?:ly)?|today|tonight|still|any ?more|so far"
    r"|at the moment|these days|up to date|as of (?:now|today)"
    r"|jetzt|aktuell\w*|derzeit\w*|zuletzt|neueste\w*|maintenant|actuel\w*|ahora|actual(?:mente)?|últim[oa]s?)\b",
    re.I,
)
_ASKS = lazy_regex(
    r"\W*(?:what|when|where|who|whom|whose|which|why|how|did|does|do|is|are|was|were|am|has|had"
    r"|have (?:i|we|you|they)|will|would|should|wer|wann|wo|wie|warum|welche\w*|qui|que|quand|où|comment|pourquoi"
    r"|qué|quién|cuándo|dónde|cómo)\b",
    re.I,
)
_ASKS_A_FAVOUR = lazy_regex(r"\b(?:can|could|would|will) you\b|\bplease\b|\blet'?s\b", re.I)
_LONG = 12  # words; in a prompt of more the word `now` is said in passing
_ORDER = 3  # words; fewer are looked up, not ordered
_LOOKED_AT = 2000  # characters


def means_the_newest(query: str) -> bool:
    text = query[:_LOOKED_AT].strip()
    words = len(text.split())
    if words <= _LONG and _NOW.search(text):
        return True
    return words >= _ORDER and not _is_question(text)


def _is_question(text: str) -> bool:
    if _ASKS.match(text):
        return True
    return text.endswith("?") and not _ASKS_A_FAVOUR.search(text)
