"""What a new session is told of current.md: the lines that matter on its branch, within a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

from holdfast.model.memory import OpenItem, Question
from holdfast.text.current_md import Current, Done, NextStep
from holdfast.text.memory_md import render_minute
from holdfast.text.tokens import count_tokens

STALE_DAYS = 14
_DAY = 86_400
_LONGEST = 60  # tokens of one line: a single essay must not eat the budget
_LONGEST_TEXT = 2_000
_PRIORITIES = {"high": 0, "normal": 1, "low": 2}
_MOST_DONE = 2


def digest(current: Current, branch: str, budget: int, now: float) -> list[str]:
    """Lines of at most `budget` tokens in all, the most useful first.

    Other branches' steps are left out: they are not this session's. State older than 14 days is one line.
    """
    steps = _first_handed_over(step for step in current.next if step.branch in (branch, ""))
    done = [item for item in current.done if item.branch in (branch, "")]
    lines: Iterable[str]
    dated: list[NextStep | Done | OpenItem] = [*steps, *done, *current.todo]
    newest = _newest(dated)
    if newest is not None and newest < now - STALE_DAYS * _DAY:
        lines = [_stale_line(dated, newest, now)]
    else:
        lines = _lines(current, steps, done)
    return _within(lines, budget)


def _lines(current: Current, steps: list[NextStep], done: list[Done]) -> Iterator[str]:
    for step in steps:
        yield f"Next{_by(step)}: {_one_line(step.text)}"
    newest = sorted(done, key=lambda item: item.at or 0, reverse=True)[:_MOST_DONE]
    for item in newest:
        yield f"Done last ({_signed(item)}): {_one_line(item.text)}"
    for todo in sorted(current.todo, key=lambda item: _PRIORITIES[item.priority]):
        yield f"To do{_marked(todo)}: {_one_line(todo.text)}"
    for question in current.questions:
        yield _question_line(question)
    for project in current.projects:
        see = f" (see {', '.join(map(_one_line, project.pointers))})" if project.pointers else ""
        yield f"Project {_one_line(project.name)}: {_one_line(project.status)}{see}"
    for hint in current.files:
        yield f"Load {_one_line(hint.path)} when {_one_line(hint.when)}"


def _first_handed_over(steps: Iterable[NextStep]) -> list[NextStep]:
    """What somebody handed over in their own words takes the place of what was derived."""
    found = sorted(steps, key=lambda step: step.at or 0, reverse=True)
    return [step for step in found if step.by] or found


def _by(step: NextStep) -> str:
    return f" (by the {step.by})" if step.by else ""


def _signed(item: Done) -> str:
    when = render_minute(item.at)
    return ", ".join(part for part in (when, _one_line(item.agent)) if part)


def _marked(item: OpenItem) -> str:
    marks = [item.priority if item.priority != "normal" else "", item.owner and f"for the {item.owner}"]
    shown = ", ".join(filter(None, marks))
    return f" ({shown})" if shown else ""


def _question_line(question: Question) -> str:
    answer = f" Answer: {_one_line(question.answer)}" if question.answer else ""
    return f"{'Asked' if answer else 'Open question'}: {_one_line(question.text)}{answer}"


def _newest(items: Iterable[NextStep | Done | OpenItem]) -> float | None:
    return max((item.at for item in items if item.at is not None and isfinite(item.at)), default=None)


def _stale_line(items: Sequence[NextStep | Done | OpenItem], newest: float, now: float) -> str:
    days = int((now - newest) // _DAY)
    return f"Last state here is {days} days old ({render_minute(newest)[:10]}): {_one_line(items[0].text)}"


def _one_line(text: str) -> str:
    words = text[:_LONGEST_TEXT].split()
    line = " ".join(words)
    if count_tokens(line) <= _LONGEST and len(text) <= _LONGEST_TEXT:
        return line
    # Words alone do not bound it: one of them may be a blob.
    while words and count_tokens(" ".join(words)) >= _LONGEST:
        words.pop()
    return f"{' '.join(words)}…" if words else f"{line[:_LONGEST]}…"


def _within(lines: Iterable[str], budget: int) -> list[str]:
    kept: list[str] = []
    left = budget
    for line in lines:
        cost = count_tokens(line)
        if cost <= left:
            kept.append(line)
            left -= cost
    return kept
