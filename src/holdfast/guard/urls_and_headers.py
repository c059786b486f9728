"""Secrets in addresses (`scheme://user:password@host`) and in headers (Authorization, Cookie)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from holdfast.guard import not_secret
from holdfast.guard.finding import Finding
from holdfast.guard.secret_values import is_secret
from holdfast.guard.wordlike import is_wordlike


@cache
def _userinfo() -> re.Pattern[str]:
    """User and password of an authority; a password may hold `@`, so the last one counts."""
    return re.compile(
        r"""(?P<user>[^\s/?\#@:"'`<>\\]{0,200}+)
        (?: : (?P<password>(?:[^\s/?\#"'`<>\\@]{0,200}+@){1,4}+) (?=[\w\[$<{*.-])
          | : (?P<odd>(?!\d{1,5}(?:[/?\#]|\Z))[^\s"'`<>\\]{3,120})@ (?=[\w.-]{1,100}(?:[:/]|\Z|\s))
          | @ (?=[\w\[]))""",
        re.VERBOSE,
    )


def find_in_urls(text: str) -> Iterator[Finding]:
    """Passwords and tokens written into addresses."""
    position = text.find("://")
    while position >= 0:
        match = _userinfo().match(text, position + 3)
        if match:
            yield from _of_userinfo(text, match)
        position = text.find("://", position + 3)


def _of_userinfo(text: str, match: re.Match[str]) -> Iterator[Finding]:
    user = match["user"]
    group = "password" if match["password"] else "odd"
    if match[group]:
        end = match.end(group) - (group == "password")
        if _is_url_password(text[match.start(group) : end], user):
            yield Finding("url-password", match.start(group), end)
    if len(user) >= 16 and not not_secret.stands_for_nothing(user) and not is_wordlike(user):
        yield Finding("url-token", match.start("user"), match.end("user"))


def _is_url_password(password: str, user: str) -> bool:
    if len(password) < 3 or password.lower() == user.lower() or password.startswith("$"):
        return False
    templated = password[0] in "{<[%*(" and password[-1] in "}>]%*s)"
    return not (
        templated
        or not_secret.is_placeholder(password)
        or not_secret.is_reference(password)
        or not_secret.is_regex_source(password)
    )


@cache
def _scheme() -> re.Pattern[str]:
    """What stands between the word that gives the header away and the credential."""
    return re.compile(
        r"[\"'\\]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}[\"'`\\]{0,4}"
        r"(?:basic|bearer|token|digest|apikey|api-key|key|ssws|splunk|bot|pat|negotiate)[ \t:]{1,4}"
        r"(?:[\"'][ \t]{0,4}[+.][ \t]{0,4})?[\"'`\\]{0,2}"
    )


@cache
def _blanks() -> re.Pattern[str]:
    return re.compile(r"[ \t:]{1,4}[\"'`\\]{0,2}")


@cache
def _credential() -> re.Pattern[str]:
    return re.compile(r"""[^\s"'`<>\\,;)\]}]{6,8000}+""")


def find_schemes(text: str, lowered: str) -> Iterator[Finding]:
    """Credentials of the Authorization header, with or without its name."""
    for word, joint in (("authorization", _scheme), ("bearer", _blanks), ("basic", _blanks)):
        position = lowered.find(word)
        while position >= 0:
            link = joint().match(lowered, position + len(word))
            value = _credential().match(text, link.end()) if link else None
            if value and _is_credential(value[0], word):
                yield Finding("authorization", value.start(), value.end())
            position = lowered.find(word, value.end() if value else position + len(word))


def _is_credential(value: str, word: str) -> bool:
    if word == "basic":
        return _is_basic(value)
    return is_secret(value, "secret", "prose" if word == "bearer" else "option")


def _is_basic(value: str) -> bool:
    """Base64 of `user:password`: long enough, mixed, and not a word that follows `basic`."""
    return (
        len(value) >= 8
        and re.fullmatch(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9=])[A-Za-z0-9+/_-]+={0,2}", value) is not None
        and not not_secret.stands_for_nothing(value)
        and not is_wordlike(value)
    )


@cache
def _cookie_joint() -> re.Pattern[str]:
    return re.compile(
        r"""["'\\]{0,4}[ \t]{0,4}(?:[:=]|,(?=[ \t]{0,4}["'])|(?=[ \t]["']))[ \t]{0,4}["'\\`]{0,4}"""
    )


@cache
def _cookie_pairs() -> re.Pattern[str]:
    name = r"""[^\s"'`<>\\;=,]{1,80}+"""
    return re.compile(
        rf"""{name}=[^\s"'`<>\\;,]{{0,4096}}+(?:;[ \t]?{name}(?:=[^"'`<>\\;\r\n]{{0,4096}}+)?){{0,60}}+"""
    )


@cache
def _cookie_pair() -> re.Pattern[str]:
    return re.compile(r"([^\s;=]{1,80})=([^;]+)")


_COOKIE_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite", "version", "priority"})


def find_cookies(text: str, lowered: str) -> Iterator[Finding]:
    """Values of cookies: whoever holds them is logged in."""
    position = lowered.find("cookie")
    while position >= 0:
        joint = _cookie_joint().match(text, position + 6)
        pairs = _cookie_pairs().match(text, joint.end()) if joint else None
        if pairs:
            yield from cookie_values(pairs[0], pairs.start())
        position = lowered.find("cookie", pairs.end() if pairs else position + 6)


def cookie_values(pairs: str, offset: int) -> Iterator[Finding]:
    """The telling values of `name=value; name=value`."""
    for pair in _cookie_pair().finditer(pairs):
        value = pair[2].strip()
        if pair[1].lower() in _COOKIE_ATTRIBUTES or len(value) < 8 or not_secret.stands_for_nothing(value):
            continue
        if not is_wordlike(value):
            yield Finding("cookie", offset + pair.start(2), offset + pair.end(2))
