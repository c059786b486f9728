"""Paths as people write them: from `~`. JSON, diffs and what is quoted from a memory keep them whole."""

from __future__ import annotations

_home = ""  # whose `~` it is: said once by whoever runs the command, as its streams are


def begin_at(home: object) -> None:
    global _home
    _home = str(home).rstrip("/\\")


def place(path: object) -> str:
    """One path."""
    return places(str(path))


def places(text: str) -> str:
    """Every path in words of our own."""
    if not _home or _home not in text:
        return text
    import re  # only where there is something to shorten

    return re.sub(rf"(?<![\w./\\~-]){re.escape(_home)}(?![\w.-])", "~", text)
