"""Rejects tool calls that no prepared row can match, before anything is imported.

Agents call shells all day. Importing JSON and SQLite takes as long as starting Python, so both wait for a reason.
"""

from __future__ import annotations

import os

from holdfast.core import place
from holdfast.hooks import host_protocol

NAME = "hot.words"


def may_be_known(raw: bytes, host: str, env: dict[str, str]) -> bool:
    """False if the payload lacks every word that a prepared row requires."""
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
        return True  # prepared by an older version, or not at all: check fully
    return any(word[:1] == b"=" and word[1:] in raw for word in words.split(b"\n"))
