"""Who may talk to the page: this user's browser, in the tab that the one-time link opened, and nothing else.

Any page that a browser shows can send requests to this port, and any user of the machine can connect to it. So every
request must name this very address (a rebound name does not), come from our own page as browsers report it, and carry
the cookie that the one-time link was exchanged for. A write must also say that our own script sent it.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from threading import Lock
from typing import Literal

from msgspec import Struct

HEADER = "x-holdfast"  # a page of another origin cannot send it without asking first, and nothing here answers that
OPEN = "/open"
STATIC = "/static/"
LARGEST_BODY = 256 * 1024
LONGEST_ADDRESS = 8 * 1024
TOKEN_BYTES = 32

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), clipboard-read=()",
}


class Refused(Struct, frozen=True):
    status: int
    title: str
    text: str


Verdict = Literal["pass", "open"] | Refused

_WRONG_HOST = Refused(
    421,
    "This is another address",
    "The page answers only at the address that holdfast ui printed. If you forward the port, use the same number at "
    "both ends.",
)
_FOREIGN = Refused(
    403, "Request from another page", "The request came from a different page, so nothing was done."
)
_NOT_SIGNED_IN = Refused(
    401,
    "Open the link from your terminal",
    "This page is only for the person who started holdfast ui. Open the link it printed, or press Enter in its "
    "terminal for a new one.",
)
_USED = Refused(
    401,
    "This link has been used",
    "A link works once. Press Enter in the terminal where holdfast ui runs and open the new link, or go back to the "
    "tab that is open.",
)
_METHOD = Refused(405, "This method is not used here", "Pages are read with GET and changed with POST.")
_TOO_LARGE = Refused(413, "This request is too large", "The page never sends anything this large.")


class Gate:
    """The rules for one running page."""

    def __init__(self, port: int) -> None:
        self.cookie = f"holdfast-{port}"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._session = secrets.token_urlsafe(TOKEN_BYTES)
        self._tokens: set[str] = set()
        self._lock = Lock()

    def new_token(self) -> str:
        """A token for one more link."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        with self._lock:
            self._tokens.add(token)
        return token

    def set_cookie(self) -> str:
        return f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"

    def check(
        self, method: str, path: str, headers: Mapping[str, str], token: str, cookie: str, *, length: int
    ) -> Verdict:
        """Whether a request passes. `open` is the exchange of a link's token for the cookie."""
        if headers.get("host", "") not in self._hosts:
            return _WRONG_HOST
        if method not in ("GET", "HEAD", "POST"):
            return _METHOD
        if length > LARGEST_BODY:
            return _TOO_LARGE
        signed_in = hmac.compare_digest(cookie.encode(), self._session.encode())
        if path == OPEN:
            return self._opened(method, token, signed_in=signed_in)
        # Absent in old browsers, which then rely on the cookie, and in programs, which have none.
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return _FOREIGN
        if path.startswith(STATIC):
            return "pass" if method != "POST" else _METHOD
        if not signed_in:
            return _NOT_SIGNED_IN
        if method == "POST" and not self._is_our_write(headers):
            return _FOREIGN
        return "pass"

    def _opened(self, method: str, token: str, *, signed_in: bool) -> Verdict:
        """The link may come from anywhere: a terminal, a file. What counts is its token."""
        if method != "GET":
            return _METHOD
        with self._lock:
            known = next(
                (one for one in self._tokens if hmac.compare_digest(one.encode(), token.encode())), None
            )
            if known is not None:
                self._tokens.remove(known)
                return "open"
        return "open" if signed_in else _USED if token else _NOT_SIGNED_IN

    def _is_our_write(self, headers: Mapping[str, str]) -> bool:
        return headers.get("origin") == f"http://{headers['host']}" and HEADER in headers
