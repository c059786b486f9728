"""Tells words and identifiers from random strings, by the letter pairs that words are made of."""

from __future__ import annotations

import re
from functools import cache

# The 230 commonest letter pairs of English prose and source code: first letter, then its followers.
_COMMON_PAIRS = (
    "abcdgiklmnprstuvy baeilosu cacehiklorstu dadeilorsu eacdefglmnpqrstvwx faefiloru gehinrs haeio "
    "iabcdefglmnoprstvxz keis ladeilostuy mabeimopsu nacdefgiklnostuv obcdfgiklmnoprstuvw paeiloprstuy "
    "qu racdegikmnorstuy sacehilopstuy tacehilmoprstuy uabceilmnprst vaei waeior xpt yps ze"
)
_WORDS_HAVE_AT_LEAST = 0.62


def words(text: str) -> frozenset[str]:
    """A vocabulary written as running text."""
    return frozenset(text.split())


# Short letter groups that are words of the trade although no common pair makes them up.
_ABBREVIATIONS = words(
    """
    api aws btn cfg cmd ctx css csv db dns ec gcp gh html http https id io ip js json jwt k8s kms mfa mq msg
    mysql npm ns otp pgp pk pwd px py rds rsa s3 sdk sha sk sms sql src ssh ssl sso tls tmp ts ttl txt ui
    url uuid vm vpc www xml yml zsh
    """
)


@cache
def _pairs() -> frozenset[str]:
    return frozenset(group[0] + follower for group in _COMMON_PAIRS.split() for follower in group[1:])


@cache
def _segment_pattern() -> re.Pattern[str]:
    return re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def segments(value: str) -> list[str]:
    """The words of an identifier, or of a long value's beginning: `getUser_id2` gives get, User, id, 2."""
    return _segment_pattern().findall(value[:96])


def likeness(value: str) -> float:
    """From 0 (random) to 1 (made of words); a value without letters or digits counts as words."""
    common = _pairs()
    hits = 0.0
    total = 0.0
    for segment in segments(value):
        lowered = segment.lower()
        if lowered[0].isdigit():
            total += 1
        elif lowered in _ABBREVIATIONS:
            hits += 1
            total += 1
        elif len(lowered) == 1:
            total += 1
        else:
            total += len(lowered) - 1
            hits += sum(lowered[i : i + 2] in common for i in range(len(lowered) - 1))
    return hits / total if total else 1.0


def is_wordlike(value: str) -> bool:
    """Whether a person would read this as words, an identifier or a label."""
    return likeness(value) >= _WORDS_HAVE_AT_LEAST
