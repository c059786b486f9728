"""Secrets that their place in code gives away: `auth=("user", "…")`, `IDENTIFIED BY '…'`, AWS pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from holdfast.guard import not_secret
from holdfast.guard.finding import Finding
from holdfast.guard.secret_values import is_secret
from holdfast.guard.wordlike import is_wordlike

# Sought in lower-cased text. Pairs: the second literal after it is the secret. SQL: the first one is.
_PAIR_OPENERS = (
    "auth=(",
    "auth = (",
    "auth(",
    ".login(",
    "credential(",
    "credentials(",
    "creds = (",
    "add_user(",
)
_SQL_OPENERS = ("identified by ", "identified as ", "password ", "convertto-securestring ")


@cache
def _second_literal() -> re.Pattern[str]:
    return re.compile(
        r"""\s{0,10}[^()"'\n]{0,40}(?:\\{0,4}["'][^"'\n\\]{0,100}\\{0,4}["']|(?<=[(\s,])[\w.]{1,60})\s{0,4},\s{0,40}"""
        r"""(?:\w{1,20}\s?[=:]\s?)?\\{0,4}["'](?P<secret>[^"'\n\\]{4,200})\\{0,4}["']"""
    )


@cache
def _first_literal() -> re.Pattern[str]:
    return re.compile(r"""\\{0,4}["'](?P<secret>[^"'\n\\]{4,200})\\{0,4}["']""")


def find_arguments(text: str, lowered: str) -> Iterator[Finding]:
    """The second half of a pair of credentials in code, and passwords in SQL."""
    for openers, literal in ((_PAIR_OPENERS, _second_literal), (_SQL_OPENERS, _first_literal)):
        for opener in openers:
            position = lowered.find(opener)
            while position >= 0:
                match = literal().match(text, position + len(opener))
                if match and is_secret(match["secret"], "password", "call"):
                    yield Finding("password", match.start("secret"), match.end("secret"))
                position = lowered.find(opener, position + len(opener))


@cache
def _aws_id() -> re.Pattern[str]:
    return re.compile(r"(?<![A-Za-z0-9])A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])|\[redacted:aws-key\]")


@cache
def _aws_secret() -> re.Pattern[str]:
    return re.compile(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")


def find_aws_pairs(text: str) -> Iterator[Finding]:
    """The secret half of an AWS pair has no shape of its own; it stands next to the half that has."""
    if "AKIA" not in text and "ASIA" not in text and "[redacted:aws-key]" not in text:
        return
    done = 0
    for key in _aws_id().finditer(text):
        start = max(done, key.start() - 300)
        done = min(len(text), key.end() + 400)
        for secret in _aws_secret().finditer(text, start, done):
            value = secret[0]
            mixed = re.match(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])", value)
            if mixed and not is_wordlike(value) and not not_secret.is_placeholder(value):
                yield Finding("aws-secret", secret.start(), secret.end())
