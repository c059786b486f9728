"""Checks whether memory is enabled in a directory, without loading the application."""

from __future__ import annotations

import os

from holdfast.core import place
from holdfast.hooks.hook import switched_off
from holdfast.hooks.prepared import Prepared, Unreadable


def enabled_at(directory: str, env: dict[str, str]) -> bool:
    """False where an agent must see nothing of us. True for an unreadable file: the application reports it."""
    if switched_off(env):
        return False
    project = place.find(directory, place.home_of(env))
    if project is None or not os.path.exists(os.path.join(project.memory, "hot.db")):
        return False
    try:
        prepared = Prepared(project.memory, older=True)
        return prepared.enabled and not prepared.excluded([directory])
    except Unreadable:
        return True
