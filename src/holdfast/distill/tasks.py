"""Turns and to-do lists as tasks: which were done, which failed and why, by evidence and not by claims."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from holdfast.distill.digest import TITLE_LENGTH, TodoItem, Turn
from holdfast.model.ledger import FailureReason
from holdfast.model.session import TaskResult

_COMPLAINT = re.compile(
    r"^\W*(?:no[,.! ]+(?:that|this|it|not|you|don'?t|i )|nope\b|wrong\b|that(?:'s| is| was)? (?:wrong|incorrect|not (?:right|what)|broken)"
    r"|this (?:is wrong|doesn'?t work|didn'?t work|does not work|is broken|still (?:fails?|doesn'?t))"
    r"|(?:it|that) (?:doesn'?t|does not|didn'?t|did not|still doesn'?t|still does not) (?:work|help|fix|compile|build|pass)"
    r"|(?:it'?s |that'?s |this is |the tests? (?:are |is )?)?still (?:fail|broken|not work|doesn'?t|the same error|getting|seeing)"
    r"|you (?:broke|forgot|missed|removed|deleted|shouldn'?t)|revert\b|undo\b|roll ?back\b|not what i (?:asked|wanted|meant)"
    r"|why did you\b|das (?:geht|funktioniert|stimmt) (?:so )?nicht|ça ne (?:marche|fonctionne) pas|no funciona|不对|不行|还是报错)",
    re.IGNORECASE,
)
_APPROVAL = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|great|cool|nice|perfect|awesome|excellent|amazing|thanks?|thank you|ty|lgtm|looks? (?:good|great|right)"
    r"|well done|good job|works?(?: now| great| fine)?|that works|it works|love it|super|sweet|prima|danke|merci|gracias|perfecto"
    r"|很好|谢谢|可以了|ありがとう)\b|(?:now |and |then |please |can you |let'?s )*(?:commit|push|merge|ship|open a pr|create (?:a |the )?pr|make a pr)\b)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\bI (?:can(?:'|no)?t|cannot|won't|will not|am (?:not able|unable) to|'m (?:not able|unable) to) "
    r"(?:help|assist|comply|do (?:that|this)|provide|write|create|generate|support|participate)\b"
    r"|\b(?:violat\w+|against) (?:[\w']+ ){0,4}(?:usage )?polic|\bI must decline\b|\bI(?:'m| am) going to decline\b",
    re.IGNORECASE,
)
_ADMITS = re.compile(
    r"\b(?:unable to|could(?: not|n'?t)|can(?:not|'t)|failed|fails|failing|not possible|blocked|did(?: not|n'?t) work|error)\b",
    re.IGNORECASE,
)

Status = Literal["done", "failed", "skipped", "unknown"]


class Verdict(Struct, frozen=True):
    status: Status
    reason: str = ""
    evidence: str = ""


def judge(turn: Turn, after: Turn | None) -> Verdict:
    """How a turn ended. What stopped it counts first, then what it proved, then what the person said of it."""
    if turn.api_error:
        return Verdict("failed", FailureReason.API_ERROR, turn.api_error)
    if turn.interrupted:
        return Verdict("failed", FailureReason.INTERRUPTED, "interrupted by the user")
    if turn.rejected:
        return Verdict("failed", FailureReason.USER_REJECTED, "the user declined the next step")
    if turn.answered and not turn.edits and _REFUSAL.search(turn.final[:600]):
        return Verdict("failed", FailureReason.LLM_REFUSAL, _first_line(turn.final))
    for kind, check in turn.checks.items():
        if not check.passed:
            return Verdict("failed", check.reason, f"{kind}: {check.evidence}")
    said = after.text if after is not None else ""
    if _COMPLAINT.search(said):
        reason = turn.failure.reason if turn.failure else FailureReason.UNKNOWN
        return Verdict("failed", reason, f"the user then said: {_first_line(said)}")
    if turn.failure is not None and (not turn.answered or _ADMITS.search(turn.final)):
        return Verdict("failed", turn.failure.reason, turn.failure.evidence)
    return _proof(turn, said)


def _proof(turn: Turn, said: str) -> Verdict:
    """Evidence that something was achieved; without any, nobody knows."""
    if turn.commits:
        return Verdict("done", evidence=f"{turn.commits} commit{'s' if turn.commits > 1 else ''}")
    for kind, check in turn.checks.items():
        return Verdict("done", evidence=f"{kind} passed: {check.evidence}")
    if _APPROVAL.search(said):
        return Verdict("done", evidence=f"the user then said: {_first_line(said)}")
    if turn.answered and not turn.edits:
        return Verdict("done", evidence="answered")
    return Verdict("unknown", evidence="no test, commit or word of the user tells")


def tasks_of(turns: Sequence[Turn], todos: dict[str, TodoItem]) -> list[TaskResult]:
    """The tasks of a session: to-do items where a turn kept a list, else each request that led to work."""
    items: dict[int, list[tuple[str, TodoItem]]] = {}
    for text, item in todos.items():
        items.setdefault(item.turn, []).append((text, item))
    tasks: list[TaskResult] = []
    for number, turn in enumerate(turns):
        verdict = judge(turn, turns[number + 1] if number + 1 < len(turns) else None)
        if number in items:
            tasks += _listed(items[number], verdict)
        elif turn.calls or (verdict.status == "failed" and turn.api_error):
            tasks.append(
                TaskResult(
                    title=title_of(turn),
                    status=verdict.status,
                    reason=verdict.reason,
                    evidence=verdict.evidence,
                    at=turn.at,
                )
            )
    return tasks


def _listed(items: list[tuple[str, TodoItem]], verdict: Verdict) -> list[TaskResult]:
    """Items of one list. A list ticked off while the turn failed is an optimist's: its last item takes the blame."""
    blamed = -1
    if verdict.status == "failed":
        begun = [n for n, (_, item) in enumerate(items) if item.status == "in_progress"]
        ticked = [n for n, (_, item) in enumerate(items) if item.status == "completed"]
        blamed = (begun or ticked or [0])[-1]
    tasks = []
    for number, (text, item) in enumerate(items):
        if number == blamed:
            status, reason, evidence = verdict.status, verdict.reason, verdict.evidence
        elif item.status == "completed":
            status, reason, evidence = "done", "", "ticked off in the agent's list"
        else:
            status, reason, evidence = "skipped", "", f"left {item.status.replace('_', ' ')}"
        tasks.append(TaskResult(title=text, status=status, reason=reason, evidence=evidence, at=item.at))
    return tasks


def title_of(turn: Turn) -> str:
    words = f"{turn.command} {turn.text}".strip()
    return _first_line(words)[:TITLE_LENGTH]


def _first_line(text: str) -> str:
    for line in text.splitlines():
        if line.strip():
            return line.strip()[:TITLE_LENGTH]
    return ""
