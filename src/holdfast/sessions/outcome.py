"""Judges a session: its tasks (turns and to-do items), its outcome, its duration and its complexity.

Evidence decides, not claims: the state in which the session ended, not its best moment."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from holdfast.core.patterns import PrefilteredRegex
from holdfast.language.harvest_sentences import PLAN_TO_DO
from holdfast.model.events import TaskResult
from holdfast.model.ledger import Complexity, FailureReason, Outcome
from holdfast.sessions.digest import TITLE_LENGTH, TodoItem, Turn

_COMPLAINT = PrefilteredRegex(
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
_APPROVAL = PrefilteredRegex(
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|great|cool|nice|perfect|awesome|excellent|amazing|thanks?|thank you|ty"
    r"|lgtm|looks? (?:good|great|right)"
    r"|well done|good job|works?(?: now| great| fine)?|that works|it works|love it|super|sweet|prima|danke"
    r"|merci|gracias|perfecto"
    r"|很好|谢谢|可以了|ありがとう)\b|(?:now |and |then |please |can you |let'?s )*(?:commit|push|merge|ship|open a pr"
    r"|create (?:a |the )?pr|make a pr)\b)",
    re.IGNORECASE,
)
_REFUSAL = PrefilteredRegex(
    r"\bI(?: can(?:['’]|no)?t| cannot| won['’]t| will not|(?: am|['’]m) (?:not able|unable) to) "
    r"(?:help|assist|comply|do (?:that|this)|support|participate)\b"
    r"|\b(?:violat\w+|against) (?:[\w'’]+ ){0,4}(?:usage )?polic|\bI must decline\b|\bI(?:['’]m"
    r"| am) going to decline\b",
    re.IGNORECASE,
    words="i can|i won|i will not|not able to|unable to|polic|decline",
)
_ADMITS = PrefilteredRegex(
    r"\b(?:unable to|could(?: not|n'?t)|can(?:not|'t)|failed|fails|failing|not possible|blocked|did(?: not"
    r"|n'?t) work|error)\b",
    re.IGNORECASE,
)

# Reasons that make a request a task even if nothing was run.
_WITHOUT_WORK = (FailureReason.API_ERROR, FailureReason.LLM_REFUSAL)

ANSWERED = "answered"
ON_THE_LIST = "left on the agent's list"
TICKED = "ticked off"  # prefix of the evidence of an item that the agent marked as done

# Checks that prove work, the strongest first. Well-formed code need not work, so lint is the weakest.
_PROOFS = ("test", "types", "build", "lint")
_ABOUT_LINT = PrefilteredRegex(
    r"\blint|\bformat|\bfmt\b|\bstyle|\bwarnings?\b|\bruff\b|\beslint\b|\bclippy\b", re.IGNORECASE
)
_ONLY_PRAISE = PrefilteredRegex(
    r"\W*(?:(?:ok(?:ay)?|yes|great|cool|nice|perfect|awesome|excellent|thanks?(?: you| a lot)?|thank you"
    r"|ty|lgtm|works?(?: now)?|looks? (?:good|great)|that works|it works|love it|super|well done|good job|danke|merci"
    r"|gracias)\W*){1,4}",
    re.IGNORECASE,
)

Status = Literal["done", "failed", "skipped", "unknown"]

MOST_SPANS = 10_000  # years of work; more means a broken clock
IDLE_SECONDS = 300.0  # a longer pause is a break, and counts as this much

_QUESTION = PrefilteredRegex(
    r"\?|^\W*(?:what|who|when|where|which|why|how|is|are|do|does|did|can|could|would|should|explain|tell me|show me"
    r"|was|wie|warum|qu[eé]|cómo|pourquoi|comment)\b",
    re.IGNORECASE,
)
_GIVEN_UP = (FailureReason.INTERRUPTED, FailureReason.USER_REJECTED)


class TurnVerdict(Struct, frozen=True):
    status: Status
    reason: str = ""
    evidence: str = ""

    @property
    def proves(self) -> bool:
        """Whether the evidence proves work; an answer proves only that something was said."""
        return self.status == "done" and self.evidence != ANSWERED


def judge(turn: Turn, after: Turn | None) -> TurnVerdict:
    """Return how a turn ended. What stopped it counts first, then the checks, then the person's next message."""
    if turn.api_error:
        return TurnVerdict("failed", FailureReason.API_ERROR, turn.api_error)
    if turn.rejected:
        return TurnVerdict("failed", FailureReason.USER_REJECTED, "the user declined the next step")
    if turn.interrupted:
        return TurnVerdict("failed", FailureReason.INTERRUPTED, "interrupted by the user")
    if turn.answered and not turn.edits and _REFUSAL.search(turn.final[:600]):
        return TurnVerdict("failed", FailureReason.LLM_REFUSAL, _first_line(turn.final))
    for kind, check in turn.checks.items():
        if not check.passed:
            return TurnVerdict("failed", check.reason, f"{kind}: {check.evidence}")
    reply = after.text if after is not None else ""
    if _COMPLAINT.search(reply):
        reason = turn.failure.reason if turn.failure else FailureReason.UNKNOWN
        return TurnVerdict("failed", reason, f"the user then said: {_first_line(reply)}")
    if turn.failure is not None and (not turn.answered or _ADMITS.search(turn.final)):
        return TurnVerdict("failed", turn.failure.reason, turn.failure.evidence)
    return _proof(turn, reply)


def _proof(turn: Turn, said: str) -> TurnVerdict:
    """Return the evidence that something was achieved; `unknown` without any."""
    if turn.commits:
        return TurnVerdict("done", evidence=f"{turn.commits} commit{'s' if turn.commits > 1 else ''}")
    if turn.published:
        return TurnVerdict("done", evidence="pushed")
    for kind in _PROOFS:
        if kind in turn.checks and (kind != "lint" or _ABOUT_LINT.search(turn.text)):
            return TurnVerdict("done", evidence=f"{kind} passed: {turn.checks[kind].evidence}")
    if _APPROVAL.search(said):
        return TurnVerdict("done", evidence=f"the user then said: {_first_line(said)}")
    if turn.answered and not turn.edits:
        if _COMPLAINT.search(turn.text):
            return TurnVerdict(
                "unknown", evidence="a complaint was answered, and nothing shows that it is settled"
            )
        return TurnVerdict("done", evidence=ANSWERED)
    if "lint" in turn.checks:
        return TurnVerdict("unknown", evidence="only a linter passed")
    return TurnVerdict("unknown", evidence="no test, commit or word of the user tells")


def tasks_of(
    turns: Sequence[Turn], todos: dict[str, TodoItem], verdicts: Sequence[TurnVerdict]
) -> list[TaskResult]:
    """Return the tasks of a session: to-do items if a turn kept a list, or else each request that led to work."""
    items: dict[int, list[tuple[str, TodoItem]]] = {}
    for text, item in todos.items():
        items.setdefault(item.turn, []).append((text, item))
    tasks: list[TaskResult] = []
    for number, (turn, verdict) in enumerate(zip(turns, verdicts, strict=True)):
        if number in items:
            proof = next((later for later in verdicts[number:] if later.proves), None)
            tasks += _listed(items[number], verdict, proof)
        elif _ONLY_PRAISE.fullmatch(turn.text) and not (turn.edits or turn.commits or turn.published):
            continue  # praise requests nothing
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


def judge_all(turns: Sequence[Turn]) -> list[TurnVerdict]:
    return [judge(turn, after) for turn, after in zip_longest(turns, turns[1:]) if turn is not None]


def _listed(
    items: list[tuple[str, TodoItem]], verdict: TurnVerdict, proof: TurnVerdict | None
) -> list[TaskResult]:
    """Return the items of one list as tasks. An item that the agent ticked off counts only if this turn or a later one
    has proof.

    If the turn failed although all items are ticked off, the last item is marked as failed.
    """
    blamed = -1
    if verdict.status == "failed":
        in_progress = [n for n, (_, item) in enumerate(items) if item.status == "in_progress"]
        ticked = [n for n, (_, item) in enumerate(items) if item.status == "completed"]
        blamed = (in_progress or ticked or [0])[-1]
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
        tasks.append(
            TaskResult(title=text, status=status, reason=reason, evidence=evidence, at=item.at, listed=True)
        )
    return tasks


def title_of(turn: Turn) -> str:
    words = f"{turn.command} {turn.text}".strip()
    if PLAN_TO_DO.match(words):  # the title is on the next line
        words = " ".join(words[: 2 * TITLE_LENGTH].splitlines()[:3])
    return _first_line(words)[:TITLE_LENGTH]


def _first_line(text: str) -> str:
    for line in text.splitlines():
        if line.strip():
            return line.strip()[:TITLE_LENGTH]
    return ""


# Duration and complexity: active time without idle gaps, and complexity from the work done.


def add_to_spans(spans: list[tuple[float, float]], at: float) -> None:
    """Add a moment to the activity spans of one transcript, which stay sorted and merged."""
    if spans and spans[-1][0] <= at <= spans[-1][1] + IDLE_SECONDS:  # time runs forward, mostly
        if at > spans[-1][1]:
            spans[-1] = (spans[-1][0], at)
        return
    place = bisect_left(spans, (at, at))
    start = end = at
    if place and at <= spans[place - 1][1] + IDLE_SECONDS:
        place -= 1
        start, end = spans[place][0], max(spans[place][1], at)
        del spans[place]
    if place < len(spans) and spans[place][0] <= end + IDLE_SECONDS:
        end = max(end, spans[place][1])
        del spans[place]
    if len(spans) < MOST_SPANS:
        spans.insert(place, (start, end))


def merge_spans(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Merge the spans of several transcripts: parallel work is not counted twice."""
    result: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1] + IDLE_SECONDS:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def active_seconds(spans: Iterable[tuple[float, float]]) -> int:
    """Return the time within spans, plus the capped length of each gap between them."""
    joined = merge_spans(spans)
    return round(sum(end - start for start, end in joined) + IDLE_SECONDS * max(len(joined) - 1, 0))


def complexity_of(*, tool_calls: int, edited_files: int, tasks: int) -> Complexity:
    """Return the highest class that any of the three measures reaches: each alone makes work complex."""
    if tool_calls > 120 or edited_files > 12 or tasks > 12:
        return Complexity.COMPLEX
    if tool_calls > 35 or edited_files > 4 or tasks > 5:
        return Complexity.MODERATE
    if tool_calls > 8 or edited_files > 1 or tasks > 1:
        return Complexity.SIMPLE
    return Complexity.TRIVIAL


def outcome_of(
    turns: Sequence[Turn], tasks: Sequence[TaskResult], verdicts: Sequence[TurnVerdict]
) -> tuple[Outcome, str]:
    worked = [turn for turn in turns if turn.calls or turn.api_error]
    if not worked:
        if tasks:
            return Outcome.FAILED, f"{tasks[-1].reason}: {tasks[-1].evidence}"
        asked = [turn for turn in turns if turn.answered and turn.text]
        if any(_QUESTION.search(turn.text) for turn in asked):
            return Outcome.DONE, "answered without tools"
        if asked:
            return Outcome.UNKNOWN, "talked about, and nothing was done"
        return Outcome.UNKNOWN, "nothing was asked or done"
    last = worked[-1]
    verdict = next(candidate for turn, candidate in zip(turns, verdicts, strict=True) if turn is last)
    if verdict.evidence == ANSWERED:
        # A question at the end says nothing about the changes before it.
        verdict = next(
            (
                candidate
                for turn, candidate in zip(reversed(turns), reversed(verdicts), strict=True)
                if turn.edits
            ),
            verdict,
        )
    achieved = any(task.status == "done" for task in tasks)
    skipped = [task for task in tasks if task.status == "skipped"]
    if verdict.status == "failed":
        if achieved:
            return Outcome.PARTIAL, f"ended in {verdict.reason}: {verdict.evidence}"
        if verdict.reason in _GIVEN_UP:
            return Outcome.ABANDONED, verdict.evidence
        return Outcome.FAILED, f"{verdict.reason}: {verdict.evidence}"
    if not last.answered and not last.commits and not last.published:
        return (Outcome.PARTIAL if achieved else Outcome.ABANDONED), "stops in the middle of work"
    if skipped:
        return Outcome.PARTIAL, f"{len(skipped)} of {len(tasks)} tasks left open"
    if verdict.status == "done":
        return Outcome.DONE, verdict.evidence
    return Outcome.UNKNOWN, verdict.evidence
