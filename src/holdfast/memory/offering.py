"""Which decisions are put before people unasked: what `init` ends with, and what `share` proposes to a team.

A sentence of a chat often leans on the one before it ("no, then it's good"), or settles a matter of that hour. In the
chat that is fine, and search and the hook know it in its place; on a list without its place it says nothing.
"""

from __future__ import annotations

import re

from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import words
from holdfast.language.settling import settles
from holdfast.memory.merge import is_passing
from holdfast.model.statement import Statement

_FEWEST_WORDS = 3
_LEANS_ON_ANOTHER = lazy_regex(
    r"""\A\W*(?:no|yes|yeah|yep|nah|nope|sure|but|ok|okay|and|so|then|because|h?mm*|well|just|q|actually)\b
|\b(?:it|its|it's|them|they|they're|this|that's|those|these|he|she|you|your|you're|above|below|now|everything
|option\ \w|the\ (?:first|second|last|former|latter|other|previous))\b
|\b\d\ (?:is|are|and\ \d)\b""",
    re.VERBOSE | re.IGNORECASE,
)


def stands_alone(said: Statement) -> bool:
    """Whether a decision can be understood and holds without the chat around it. What a person noted by hand does."""
    if not said.session:
        return True
    if is_passing(said) or len({*words(said.text, ENGLISH)}) < _FEWEST_WORDS:
        return False
    asked = "? " in said.text
    return settles(said.text, said.basis, answers=bool(asked or said.subject)) and (
        asked or not _LEANS_ON_ANOTHER.search(said.text)
    )


def best_first(said: Statement) -> tuple[bool, bool, float, float, str]:
    """A sort key: what was noted by hand, what has a reason, what is worth most, what is newest."""
    return bool(said.session), not said.reason, -said.worth, -(said.at or 0.0), said.id
