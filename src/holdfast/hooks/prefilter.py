"""Whether a tool call may be one that something is known of, seen before anything is loaded: nearly none is.

Agents call shells all day. Loading JSON and SQLite takes as long as starting Python, so both wait for a reason.
"""

from __future__ import annotations

import os

from holdfast.core import place
from holdfast.hooks import host_protocol

NAME = "hot.words"


def may_be_known(raw: bytes, host: str, env: dict[str, str]) -> bool:
    """False where the payload holds no word without which nothing prepared here can fit."""
    directory = host_protocol.place_of(host, env)
    if not os.path.isabs(directory) or any(name in raw for name in host_protocol.ASKS):
        return True
    project = place.find(directory, place.home_of(env))
    if project is None:
        return False
    try:
        with open(os.path.join(project.memory, NAME), "rb") as file:
            words = file.read()
    except OSError:
        return True  # prepared by an older holdfast, or not at all: what there is tells
    return any(word[:1] == b"=" and word[1:] in raw for word in words.split(b"\n"))
