"""How a session's id is shown where there is little room."""

from __future__ import annotations

_LONGEST = 18
_AFTER_PREFIX = 9  # OpenCode's ids begin with `ses_` and the time: nine digits of it tell milliseconds apart


def short_session(session: str) -> str:
    """The beginning of an id, as long as it takes to tell sessions apart, and to be typed into a command."""
    if len(session) == 36 and session.count("-") == 4:
        return session[:8]
    start = max(session.find("_"), session.find("-")) + 1
    if 0 < start <= 8 and session[start:].isalnum():
        return session[: start + _AFTER_PREFIX]
    return session[:_LONGEST]
