"""Has the checkout looked at by a process of its own, where a person asked for context and it may have changed."""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

REST_S = 300.0
_KEPT = ("session.json", "scan.cache")
_MARKED = ("HEAD", "index")


def look_again(memory: str, root: str, env: Mapping[str, str], now: float) -> bool:
    """Starts a look unless there was one lately, or git shows no change since; True when it did.

    Only in projects that are enabled on this machine: elsewhere nothing is kept that nobody asked for.
    """
    if not memory or env.get("HOLDFAST") == "off" or env.get("CI", "").lower() in ("1", "true"):
        return False
    last = max((_changed(os.path.join(memory, name)) for name in _KEPT), default=0.0)
    marks = [_changed(os.path.join(root, ".git", name)) for name in _MARKED]
    if now - last < REST_S or (last and max(marks) and max(marks) <= last) or not _is_enabled(memory):
        return False
    import_module("holdfast.hot.child").detach(["-m", "holdfast", "know", "scan"], dict(env))
    return True


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _is_enabled(memory: str) -> bool:
    import json

    try:
        with open(os.path.join(memory, "switches.json"), encoding="utf-8") as file:
            return json.loads(file.read(1_000_000)).get("enabled") is True
    except (OSError, ValueError, AttributeError):
        return False
