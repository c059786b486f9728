"""The address of a PostgreSQL server: what a person may write, and that nothing goes over a network in the clear."""

from __future__ import annotations

import ipaddress
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from holdfast.core.errors import UsageError

FORM = "postgres://[USER@]HOST[:PORT]/DATABASE"
_SAFE = ("require", "verify-ca", "verify-full")
_OPTIONS = frozenset(
    ["host", "port", "dbname", "user", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "channel_binding"]
)  # fmt: skip


class Address(Struct, frozen=True):
    """`shown` is the address without anything secret; `options` are those of libpq."""

    shown: str
    options: dict[str, str]


def parse_address(text: str) -> Address:
    """The address, with TLS that checks the server's name unless the server is this machine."""
    shown = text.partition("?")[0]
    try:
        parts = urlsplit(text)
        port = str(parts.port or "")
    except ValueError:
        raise UsageError("this is not a PostgreSQL address", where=shown, fix=f"Write {FORM}") from None
    if parts.scheme not in ("postgres", "postgresql") or parts.fragment:
        raise UsageError("this is not a PostgreSQL address", where=shown, fix=f"Write {FORM}")
    asked = parse_qsl(parts.query, keep_blank_values=True)
    if parts.password is not None or any(name == "password" for name, _ in asked):
        raise UsageError(
            "a password does not belong in an address, which is shown and stored",
            where=f"{parts.scheme}://{parts.hostname or ''}{parts.path}",
            fix="Put it into ~/.pgpass, or name that file in PGPASSFILE",
        )
    if strange := sorted({name for name, _ in asked} - _OPTIONS):
        raise UsageError(f"the option {strange[0]!r} is not supported", where=shown, fix=f"Write {FORM}")
    options = {
        "host": unquote(parts.hostname or ""),
        "port": port,
        "user": unquote(parts.username or ""),
        "dbname": unquote(parts.path.removeprefix("/")),
    } | dict(asked)
    options = {name: value for name, value in options.items() if value}
    if "dbname" not in options:
        raise UsageError("the address names no database", where=shown, fix=f"Write {FORM}")
    if any(ord(sign) < 32 or "," in value for value in options.values() for sign in value or " "):
        raise UsageError("one server has one host and one port", where=shown, fix=f"Write {FORM}")
    return Address(shown, {**options, "sslmode": _sslmode(options, shown)})


def _sslmode(options: dict[str, str], shown: str) -> str:
    wanted = options.get("sslmode", "")
    if _is_here(options.get("host", "")):
        return wanted or "prefer"
    if wanted and wanted not in _SAFE:
        raise UsageError(
            f"sslmode={wanted} would send everything unencrypted",
            where=shown,
            fix="Leave it out, or write sslmode=verify-full (or require, which does not check the server's identity)",
        )
    return wanted or "verify-full"


def _is_here(host: str) -> bool:
    """A socket, or the loopback of this machine."""
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
