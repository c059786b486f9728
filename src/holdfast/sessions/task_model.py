"""A small model that says which requests of a session begin a task, as a careful reader would count them.

It is a logistic regression over what each request says and what was done before and after it. The sum of the
probabilities is the number of tasks, and the likeliest requests begin them. `scripts/train_tasks.py` trains it from
labelled sessions and writes `task_model.json`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.language.kind_words import QUESTION, REQUEST
from holdfast.language.replies import is_chore_request, is_complaint, is_pasted, repeats_complaint, steers
from holdfast.sessions.digest import Turn

_FILE = "task_model.json"
_WORD = lazy_regex(r"\w{4,}")
_POINTS_BACK = PrefilteredRegex(
    r"\b(?:it|that|this|these|those|they|them|the same|instead|still|again|you)\b", re.IGNORECASE
)
_OPENING, _TAIL = 200, 300  # characters of a request, and of an answer, that show what it is
_SAME = 300  # characters by which a repeated request is recognised
_LENGTHS = (3, 6, 12, 25, 60)  # words
_LATER = 10.0  # requests after which a session counts as long
_HALF_AN_HOUR, _HALF_A_DAY = 1_800.0, 14_400.0
Features = dict[str, float]


def first_requests(turns: Sequence[Turn]) -> list[bool]:
    """Return for each request whether it begins a task. The first one always does."""
    begin = counted(list(request_features(turns)), shipped())
    return [not number or number - 1 in begin for number in range(len(turns))]


def counted(requests: Sequence[Features], weights: Mapping[str, float]) -> list[int]:
    """Return the places of the requests that begin a task: as many of the likeliest as there are probably tasks."""
    chances = {
        place: _chance(features, weights)
        for place, features in enumerate(requests)
        if not never_begins(features)
    }
    likeliest = sorted(chances, key=lambda place: (-chances[place], place))
    return sorted(likeliest[: math.floor(sum(chances.values()) + 0.5)])


def never_begins(features: Features) -> bool:
    """A short answer, a complaint, pasted output or what was asked before belongs to the request before it."""
    return "repeated" in features or ("steers" in features and "chore" not in features)


def request_features(turns: Sequence[Turn]) -> Iterator[Features]:
    """The features of each request but the first."""
    recorded = any(turn.calls for turn in turns)
    seen: set[str] = set()
    said: set[str] = set()
    words_before: set[str] = set()
    for number, turn in enumerate(turns):
        words = set(_WORD.findall(turn.text.lower()))
        begins = _words(turn)[:_SAME]
        if number:
            found = {
                "bias": 1.0,
                "many": math.log(len(turns)) / 3,
                "more than 8": len(turns) > 8,
                "more than 16": len(turns) > 16,
                "place": min(number, _LATER) / _LATER,
                "repeated": begins in seen,
                "known words": len(words & said) / len(words) if words else 1.0,
                "words as before": len(words & words_before) / max(len(words | words_before), 1),
                "tools not recorded": not recorded,
                "without tools": recorded and not turn.calls,
                **_said(turn),
                **_done(turn, turns[number - 1]),
            }
            found["mostly known words"] = found["known words"] > 0.5
            yield {name: round(float(value), 3) for name, value in found.items() if value}
        seen.add(begins)
        said |= words
        words_before = words


def _words(turn: Turn) -> str:
    return f"{turn.command} {turn.text}".strip()


def _said(turn: Turn) -> Mapping[str, float | bool]:
    text = turn.text
    length = len(text.split())
    return {
        "steers": steers(text, turn.command),
        "command": bool(turn.command),
        "undo": turn.command == "/undo",
        "chore": is_chore_request(text),
        "pasted": is_pasted(text),
        "complaint": is_complaint(text),
        "still there": repeats_complaint(text),
        **{f"more than {limit} words": length > limit for limit in _LENGTHS},
        "lines": text.count("\n") > 3,
        "asks": text.rstrip().endswith("?"),
        "has a question": "?" in text,
        "question": bool(QUESTION.search(text[:_OPENING])),
        "request": bool(REQUEST.search(text[:_OPENING])),
        "points back": bool(_POINTS_BACK.search(text[:_OPENING])),
    }


def _done(turn: Turn, before: Turn) -> Mapping[str, float | bool]:
    pause = turn.at - before.at if turn.at is not None and before.at is not None else 0.0
    return {
        "tools before": before.calls > 0,
        "edits before": before.edits > 0,
        "delivered before": before.commits > 0 or before.published,
        "stopped before": before.interrupted or before.rejected or bool(before.api_error),
        "asked before": "?" in before.final[-_TAIL:],
        "unanswered before": not before.answered,
        "tools": turn.calls > 0,
        "many tools": turn.calls > 8,
        "edits": turn.edits > 0,
        "delivered": turn.commits > 0 or turn.published,
        "half an hour later": pause > _HALF_AN_HOUR,
        "half a day later": pause > _HALF_A_DAY,
    }


def _chance(features: Features, weights: Mapping[str, float]) -> float:
    total = sum(weights.get(name, 0.0) * value for name, value in features.items())
    return 1 / (1 + math.exp(-total))


@cache
def shipped() -> dict[str, float]:
    weights: dict[str, float] = json.loads(Path(__file__).with_name(_FILE).read_text(encoding="utf-8"))
    return weights
