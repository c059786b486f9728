"""The secrets a process was started with: exact values, and the forms they take inside other text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from holdfast.guard import not_secret

_SHORTEST = 6


@cache
def _telling_name() -> re.Pattern[str]:
    return re.compile(
        r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSWORT|PWD$|_PASS$|^PASS$|_PW$|CREDENTIAL|CREDS?$|AUTH|DSN|"
        r"_PAT$|JWT|BEARER|COOKIE|CONNECTION_?STRING|WEBHOOK|DATABASE_URL|REDIS_URL|MONGO\w*_UR[IL]|_SAS$|PRIVATE",
    )


@cache
def _harmless_name() -> re.Pattern[str]:
    return re.compile(
        r"AUTHOR|KEYBOARD|KEYMAP|MONKEY|KEYRING|_SOCK$|_FILE$|_PATH$|_DIR$|_HOST$|_PORT$|_NAME$|_USER$|_TYPE$|"
        r"_METHOD$|_ENABLED$|_ID$|_TTL$|_LIMIT$|_TOKENS$|PUBLIC_KEY|^OLDPWD$|^PWD$|KEYSERVER|KEY_BINDINGS|COUNT$",
    )


def secrets_of(environ: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say secret, unless the value plainly is none; longest first."""
    found = {
        value.strip()
        for name, value in environ.items()
        if _telling_name().search(name.upper())
        and not _harmless_name().search(name.upper())
        and _is_worth_hiding(value.strip())
    }
    return sorted(found, key=lambda value: (-len(value), value))


def _is_worth_hiding(value: str) -> bool:
    if len(value) < _SHORTEST or value.isdigit() or not_secret.is_path(value):
        return False
    if not_secret.is_placeholder(value) and not any(char.isdigit() for char in value):
        return False  # `changeme` is none; `my-secret-93ab` may be somebody's, and this is its exact value
    if "://" in value:
        # Only an address that carries something private, such as a password or a hook's id.
        return "@" in value or len(value) > 60
    return not (
        value.isalpha() and len(value) < 12 and (value.islower() or value.istitle() or value.isupper())
    )


def forms_of(secret: str) -> Iterable[str]:
    """The secret as it is, and as URLs, JSON, HTML and base64 write it."""
    from base64 import b64encode
    from html import escape
    from json import dumps
    from urllib.parse import quote, quote_plus

    raw = secret.encode("utf-8", "surrogatepass")
    forms = {secret, escape(secret), dumps(secret)[1:-1], dumps(secret, ensure_ascii=False)[1:-1]}
    forms |= {quote(raw, safe=""), quote(raw), quote_plus(raw), b64encode(raw).decode().rstrip("=")}
    forms |= {dumps(form)[1:-1] for form in list(forms)}
    return sorted((form for form in forms if len(form) >= _SHORTEST), key=lambda form: (-len(form), form))
