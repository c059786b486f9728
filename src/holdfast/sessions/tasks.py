"""Turns and to-do lists as tasks: which were done, which failed and why, by evidence and not by claims."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from holdfast.core.patterns import Sought, late
from holdfast.model.events import TaskResult
from holdfast.model.ledger import FailureReason
from holdfast.sessions.digest import TITLE_LENGTH, TodoItem, Turn
from holdfast.sessions.harvest_decisions import PLAN_TO_DO

_COMPLAINT = late(
    r"^\W*(?:(?:ok(?:ay)?|h+m+|well|but|and|so|yeah|yes|no|sorry|wait|thanks|great|cool|nice|actually)\b\W+){0,3}"
    r"(?:no[,.! ]+(?:that|this|it|not|you|don'?t|i )|nope\b|wrong\b|that(?:'s| is| was)? (?:wrong|incorrect"
    r"|not (?:right|what)|broken)"
    r"|this (?:is wrong|doesn'?t work|didn'?t work|does not work|is broken|still (?:fails?|doesn'?t))"
    r"|(?:it|that) (?:doesn'?t|does not|didn'?t|did not|still doesn'?t|still does not) (?:work|help|fix"
    r"|compile|build|pass)"
    r"|(?:it'?s |that'?s |this is |the tests? (?:are |is )?)?still (?:fail|broken|not work|doesn'?t"
    r"|the same error|getting|seeing)"
    r"|you (?:broke|forgot|missed|removed|deleted|shouldn'?t)|revert\b|undo\b|roll ?back\b"
    r"|not what i (?:asked|wanted|meant)"
    r"|why did you\b|das (?:geht|funktioniert|stimmt) (?:so )?nicht|ça ne (?:marche|fonctionne) pas"
    r"|no funciona|不对|不行|还是报错)",
    re.IGNORECASE,
)
_APPROVAL = late(
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|great|cool|nice|perfect|awesome|excellent|amazing|thanks?|thank you|ty"
    r"|lgtm|looks? (?:good|great|right)"
    r"|well done|good job|works?(?: now| great| fine)?|that works|it works|love it|super|sweet|prima|danke"
    r"|merci|gracias|perfecto"
    r"|很好|谢谢|可以了|ありがとう)\b|(?:now |and |then |please |can you |let'?s )*(?:commit|push|merge|ship|open a pr"
    r"|create (?:a |the )?pr|make a pr)\b)",
    re.IGNORECASE,
)
_REFUSAL = Sought(
    r"\bI(?: can(?:['’]|no)?t| cannot| won['’]t| will not|(?: am|['’]m) (?:not able|unable) to) "
    r"(?:help|assist|comply|do (?:that|this)|support|participate)\b"
    r"|\b(?:violat\w+|against) (?:[\w'’]+ ){0,4}(?:usage )?polic|\bI must decline\b|\bI(?:['’]m"
    r"| am) going to decline\b",
    re.IGNORECASE,
    words="i can|i won|i will not|not able to|unable to|polic|decline",
)
_ADMITS = late(
    r"\b(?:unable to|could(?: not|n'?t)|can(?:not|'t)|failed|fails|failing|not possible|blocked|did(?: not"
    r"|n'?t) work|error)\b",
    re.IGNORECASE,
)

# What can make a task of a request for which nothing was run.
_WITHOUT_WORK = (FailureReason.API_ERROR, FailureReason.LLM_REFUSAL)

ANSWERED = "answered"
ON_THE_LIST = "left on the agent's list"
TICKED = "ticked off"  # how the evidence of an item begins that the agent says it has done

# What a passed check proves, the strongest first. That code is well-formed does not show that it works.
_PROOFS = ("test", "types", "build", "lint")
_ABOUT_LINT = late(
    r"\blint|\bformat|\bfmt\b|\bstyle|\bwarnings?\b|\bruff\b|\beslint\b|\bclippy\b", re.IGNORECASE
)
_ONLY_PRAISE = late(
    r"\W*(?:(?:ok(?:ay)?|yes|great|cool|nice|perfect|awesome|excellent|thanks?(?: you| a lot)?|thank you"
    r"|ty|lgtm|works?(?: now)?|looks? (?:good|great)|that works|it works|love it|super|well done|good job|danke|merci"
    r"|gracias)\W*){1,4}",
    re.IGNORECASE,
)

Status = Literal["done", "failed", "skipped", "unknown"]


class Verdict(Struct, frozen=True):
    status: Status
    reason: str = ""
    evidence: str = ""

    @property
    def proves(self) -> bool:
        """Whether work was shown to be done; an answer shows only that something was said."""
        return self.status == "done" and self.evidence != ANSWERED


def judge(turn: Turn, after: Turn | None) -> Verdict:
    """How a turn ended. What stopped it counts first, then what it proved, then what the person said of it."""
    if turn.api_error:
        return Verdict("failed", FailureReason.API_ERROR, turn.api_error)
    if turn.rejected:
        return Verdict("failed", FailureReason.USER_REJECTED, "the user declined the next step")
    if turn.interrupted:
        return Verdict("failed", FailureReason.INTERRUPTED, "interrupted by the user")
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
    if turn.published:
        return Verdict("done", evidence="pushed")
    for kind in _PROOFS:
        if kind in turn.checks and (kind != "lint" or _ABOUT_LINT.search(turn.text)):
            return Verdict("done", evidence=f"{kind} passed: {turn.checks[kind].evidence}")
    if _APPROVAL.search(said):
        return Verdict("done", evidence=f"the user then said: {_first_line(said)}")
    if turn.answered and not turn.edits:
        if _COMPLAINT.search(turn.text):
            return Verdict(
                "unknown", evidence="a complaint was answered, and nothing shows that it is settled"
            )
        return Verdict("done", evidence=ANSWERED)
    if "lint" in turn.checks:
        return Verdict("unknown", evidence="only a linter passed")
    return Verdict("unknown", evidence="no test, commit or word of the user tells")


def tasks_of(
    turns: Sequence[Turn], todos: dict[str, TodoItem], verdicts: Sequence[Verdict] | None = None
) -> list[TaskResult]:
    """The tasks of a session: to-do items where a turn kept a list, else each request that led to work."""
    verdicts = judge_all(turns) if verdicts is None else verdicts
    items: dict[int, list[tuple[str, TodoItem]]] = {}
    for text, item in todos.items():
        items.setdefault(item.turn, []).append((text, item))
    tasks: list[TaskResult] = []
    for number, (turn, verdict) in enumerate(zip(turns, verdicts, strict=True)):
        if number in items:
            proof = next((later for later in verdicts[number:] if later.proves), None)
            tasks += _listed(items[number], verdict, proof)
        elif _ONLY_PRAISE.fullmatch(turn.text) and not (turn.edits or turn.commits or turn.published):
            continue  # words of approval ask for nothing
        elif turn.calls or verdict.reason in _WITHOUT_WORK:
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


def judge_all(turns: Sequence[Turn]) -> list[Verdict]:
    return [judge(turn, after) for turn, after in zip_longest(turns, turns[1:]) if turn is not None]


def _listed(items: list[tuple[str, TodoItem]], verdict: Verdict, proof: Verdict | None) -> list[TaskResult]:
    """Items of one list. A tick is the agent's own word: it counts where this turn or a later one proves something.

    A list ticked off while the turn failed is an optimist's: its last item takes the blame.
    """
    blamed = -1
    if verdict.status == "failed":
        begun = [n for n, (_, item) in enumerate(items) if item.status == "in_progress"]
        ticked = [n for n, (_, item) in enumerate(items) if item.status == "completed"]
        blamed = (begun or ticked or [0])[-1]
    tasks = []
    for number, (text, item) in enumerate(items):
        if number == blamed:
            status, reason, evidence = verdict.status, verdict.reason, verdict.evidence
            if item.status == "completed":
                evidence = f"{TICKED}; {evidence}"
        elif item.status == "completed" and proof is not None:
            status, reason, evidence = "done", "", f"{TICKED}; {proof.evidence}"
        elif item.status == "completed":
            status, reason, evidence = "unknown", "", f"{TICKED} in the agent's list, and nothing proves it"
        else:
            status, reason, evidence = "skipped", "", f"left {item.status.replace('_', ' ')}"
        tasks.append(TaskResult(title=text, status=status, reason=reason, evidence=evidence, at=item.at))
    return tasks


def title_of(turn: Turn) -> str:
    words = f"{turn.command} {turn.text}".strip()
    if PLAN_TO_DO.match(words):  # its title stands on the next line
        words = " ".join(words[: 2 * TITLE_LENGTH].splitlines()[:3])
    return _first_line(words)[:TITLE_LENGTH]


def _first_line(text: str) -> str:
    for line in text.splitlines():
        if line.strip():
            return line.strip()[:TITLE_LENGTH]
    return ""
