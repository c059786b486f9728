"""Where something in memory comes from. Only own sessions and what a person trusted by its hash may instruct agents."""

from __future__ import annotations

from typing import Literal

Origin = Literal["session", "git", "archive", "other_archive", "person", "team"]
"""Own session, git of this checkout, an archive of this machine or of another, a named person, somebody in the team."""

ORIGINS: dict[Origin, str] = {
    "session": "own session",
    "git": "git of this checkout",
    "archive": "archive of this machine",
    "other_archive": "archive of another machine",
    "person": "written by a person",
    "team": "shared by your team",
}
UNTRUSTED = "not trusted"


def origin_text(origin: Origin, *, trusted: bool = True, by: str = "") -> str:
    """An origin for people; '' for an own session and a person's own words, which need no mark."""
    text = "" if origin in ("session", "person") else ORIGINS[origin]
    if by:
        return f"shared by {by}" if trusted else f"shared by {by}, agents do not see it yet"
    return text if trusted or not text else f"{text}, {UNTRUSTED}"
