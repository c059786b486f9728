"""What came of a rule that a session was told: it was followed, what happened speaks against it, or neither.

Only what calls show is counted. A failing call that was made again and failed again is neither: the rule is true, and
was not heeded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from holdfast.distill.lesson_signs import excerpt
from holdfast.distill.lesson_slips import slip_of
from holdfast.distill.shell_line import simple_commands, unquoted
from holdfast.model.lesson import LessonKind

Came = Literal["used", "contradicted", ""]
_QUOTED = re.compile(r"`([^`]+)`")
_GAP = re.compile(r"<[a-z]+>|…")
_CHANGE = re.compile(r"cd \S+ && ")
_ARROW = "→"


class Call(Struct, frozen=True):
    """A call as it ended: `command` of a shell, or the `paths` that were touched. `ok` is None where nobody says."""

    at: float | None
    command: str
    ok: bool | None
    output: str = ""
    paths: tuple[str, ...] = ()


def came_of(rule: str, kind: LessonKind, calls: Iterable[Call]) -> Came:
    """Of the calls after a rule was told. What speaks against it counts more than what followed it."""
    before, arrow, after = rule.partition(_ARROW)
    wanted = [_words(text) for text in _QUOTED.findall(after if arrow else rule)]
    failing = [_words(text) for text in _QUOTED.findall(before)] if arrow else []
    if kind in ("stumble", "pitfall") and not arrow:
        return ""  # "there is no `x` here": what was not done leaves no trace
    used = False
    for call in calls:
        runs = [_unquoted(part.words) for part in simple_commands(call.command)] if call.command else []
        followed = any(_is_subsequence(words, run) for words in wanted for run in runs) or any(
            _touches(words, call) for words in wanted
        )
        if followed and call.ok is False and slip_of(call.command, excerpt(call.output), call.at):
            return "contradicted"
        if followed:
            used = True
        elif call.ok and arrow and len(runs) == 1 and runs[0] in failing:
            return "contradicted"
    return "used" if used else ""


def _words(text: str) -> tuple[str, ...]:
    """The words by which a quoted command or path is known again, whatever stands in its gaps."""
    return tuple(word for word in _CHANGE.sub("", text).split() if not _GAP.search(word))


def _unquoted(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(unquoted(word) for word in words)


def _is_subsequence(words: Sequence[str], run: Sequence[str]) -> bool:
    """The same program with all these words in their order; others may stand between."""
    if not words or not run or words[0] != run[0]:
        return False
    rest = iter(run)
    return all(word in rest for word in words)


def _touches(words: Sequence[str], call: Call) -> bool:
    """A rule that names one file is followed by whoever reads or edits it."""
    if len(words) != 1 or "/" not in words[0] or call.ok is False:
        return False
    return any(path == words[0] or path.endswith(f"/{words[0]}") for path in call.paths)
