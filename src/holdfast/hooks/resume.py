"""Answers `holdfast resume` from the prepared file, if that is still up to date with the memory."""

from __future__ import annotations

import os

from holdfast.core import place
from holdfast.core.reading import json_of
from holdfast.hooks import trace

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
MOST = 4 << 20  # bytes of the prepared file


def told(directory: str, env: dict[str, str], branch: str | None = None) -> dict[str, Any] | None:
    """Lines with their reasons for a branch, by default the one checked out, and their tokens.

    None: the prepared answer is out of date, and the application must compute it.
    """
    import time

    project = place.find(directory, place.home_of(env))
    if project is None or trace.ended(project.memory):
        return None
    try:
        prepared = json_of(os.path.join(project.memory, "resume.json"), MOST)
        if prepared["format"] != FORMAT or prepared["day"] != time.strftime("%Y-%m-%d", time.gmtime()):
            return None
        if prepared["current"] != place.stamp(os.path.join(project.memory, "current.md")):
            return None
        answers = prepared["told"]
        answer = answers.get(
            (project.branch() if project.private else "\n") if branch is None else branch, answers[""]
        )
        lines, tokens = list(answer["lines"]), int(answer["tokens"])
        reachable = project.reachable([(line["text"], line["reason"]) for line in lines])
        if any(text != line["text"] for line, (text, _) in zip(lines, reachable, strict=True)):
            return None  # no link here yet: the application gives the path of the memory, within the budget
        return {"tokens": tokens, "lines": lines}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
