"""Facts, decisions and questions are known by their words, so one that a person rewords looks like another one.

An item that is gone and a new one much like it are the same item, reworded: it keeps its key, so that two people who
reword it unaware of each other are asked which words hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import words
from holdfast.store.sync_journal import Shown
from holdfast.sync.items import Items
from holdfast.sync.merge import essence

KNOWN_BY_WORDS = ("fact/", "register/", "question/")
_LIKE = 0.5  # of the words of both


def aliased(items: Mapping[str, Any], shown: Mapping[str, Shown]) -> Items:
    """The items by the keys that they had before they were reworded."""
    by_digest = {
        (_group(key), seen.digest): key for key, seen in shown.items() if key.startswith(KNOWN_BY_WORDS)
    }
    found: Items = {}
    for key, body in items.items():
        known = key
        if key.startswith(KNOWN_BY_WORDS) and key not in shown:
            known = by_digest.get((_group(key), essence(body)), key)
        found[key if known in found or known in items else known] = body
    return found


def reworded(
    items: Items, shown: Mapping[str, Shown], whole: Iterable[str], bodies: Callable[[str], list[Any]]
) -> Items:
    """The items, with a new one in the place of the one that it rewords. `bodies` gives what is known of a key."""
    whole = tuple(whole)
    if not whole:
        return items
    gone = [
        key for key in shown if key.startswith(whole) and key.startswith(KNOWN_BY_WORDS) and key not in items
    ]
    fresh = [key for key in items if key.startswith(KNOWN_BY_WORDS) and key not in shown] if gone else []
    if not fresh:
        return items
    changed = dict(items)
    for old in gone:
        before = [_words(body) for body in bodies(old) if body is not None]
        close = [
            (likeness, new)
            for new in fresh
            if new in changed and _group(new) == _group(old)
            for likeness in [max((_likeness(_words(items[new]), said) for said in before), default=0.0)]
            if likeness >= _LIKE
        ]
        if close:
            changed[old] = changed.pop(max(close)[1])
    return changed


def _group(key: str) -> str:
    return key.rpartition("/")[0]


def _words(body: Any) -> frozenset[str]:
    if isinstance(body, dict):
        inner = body.get("fact")
        body = inner if isinstance(inner, dict) else body
        return frozenset(words(str(body.get("text", "")), ENGLISH))
    return frozenset()


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
