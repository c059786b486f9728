"""Secrets that somebody simply told: `the password is …`, `use … as the token`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from holdfast.guard.finding import Finding
from holdfast.guard.secret_values import is_secret

_LOOK_BACK = 160


@cache
def _subject() -> re.Pattern[str]:
    return re.compile(
        r"(?<!\w)(?<!etc/)(?:(?:pass(?:word|phrase|code|wd|wort)|(?<=mot de )passe|pwd|kennwort|contraseña|"
        r"senha|wachtwoord)s?|"
        r"(?P<machine>key|token|secret|cred(?:ential)?s?))\b"
    )


@cache
def _predicate() -> re.Pattern[str]:
    """What leads from the subject to the value: `… for the admin account is now: "`."""
    return re.compile(
        r"""[)"'`*]{0,3}
        (?P<whom>[ \t]{1,3}(?:for|of|to|on|in|at|from|we|you|i|that|which|provided|given|used|supplied)\b
           [^\n.:;=|"'`]{0,60}?)?
        (?:[ \t]{1,3}
           (?P<verb>(?:is|was|are|will\ be|should\ be|ist|lautet|est|es|war|é|(?:changed|set)\ to|became)\b
                   |[-–—](?=\ ))
           (?:[ \t]{1,3}(?:now|still|currently|simply|just|(?:set|changed)\ to|as\ follows|actually))?
          |(?(whom)(?=:)|(?=[ \t]{1,3}["'`(]?[^\s])))
        [ \t]{0,3}[:=]?[ \t\n]{0,4}[*]{0,2}["'`“‘«(]?""",
        re.VERBOSE,
    )


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"""[^\s"'`“”‘’«»<>\\]{5,400}+""")


@cache
def _between() -> re.Pattern[str]:
    return re.compile(r"(?:(?:the|your|my|our|an?|its|their)[ \t]+)?(?:[\w-]{1,30}[ \t]+){0,2}")


@cache
def _key_of() -> re.Pattern[str]:
    """Which keys are secrets: many are not."""
    return re.compile(r"(?:api|access|secret|private|encryption|signing|license|auth|admin|master)[ _-]?\Z")


def find_in_sentences(text: str, lowered: str, names: list[re.Match[str]]) -> Iterator[Finding]:
    """Passwords and tokens told in plain words, before or after the word for them."""
    done = 0
    for name in names:
        start = name.start()
        subject = _subject().match(lowered, start) if start >= done else None
        if not subject or (subject[0] == "key" and not _key_of().search(lowered[max(0, start - 12) : start])):
            continue
        is_told: Callable[[str], bool] = _is_told_token if subject["machine"] else _is_told_password
        kind = "secret" if subject["machine"] else "password"
        before = _told_before(text, start, is_told)
        if before:
            yield Finding(kind, *before)
        predicate = _predicate().match(text, subject.end())
        value = _word().match(text, predicate.end()) if predicate else None
        if not predicate or not value:
            continue
        if is_told(value[0]) and (predicate["verb"] or _is_told_token(value[0], 8)):
            yield Finding(kind, value.start(), value.end())
            done = value.end()


def _is_told_password(value: str) -> bool:
    return not _another_name().match(value) and is_secret(value, "password", "prose")


def _is_told_token(value: str, fewest: int = 12) -> bool:
    return len(value) >= fewest and not _another_name().match(value) and is_secret(value, "secret", "option")


@cache
def _another_name() -> re.Pattern[str]:
    """`password user=bob`: the next word is an assignment of its own."""
    return re.compile(r"[\w.-]{1,40}=[^=]")


def _told_before(text: str, position: int, is_told: Callable[[str], bool]) -> tuple[int, int] | None:
    start = max(0, position - _LOOK_BACK)
    ahead = text[start:position]
    joint = max(ahead.rfind(" is "), ahead.rfind(" as "), ahead.rfind(" for "))
    if joint < 6:
        return None
    rest = ahead[joint + 1 :].partition(" ")[2]
    if not _between().fullmatch(rest):
        return None
    words = ahead[:joint].split()
    value = words[-1].strip("\"'`“”‘’«»<>(),") if words else ""
    constant = value.isupper() and "_" in value
    if len(value) < 6 or constant or not any(char.isdigit() for char in value) or not is_told(value):
        return None
    at = start + ahead.rindex(value, 0, joint)
    return at, at + len(value)
