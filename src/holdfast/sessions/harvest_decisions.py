"""What was settled, why, and by whom: answered questions, approved plans, a person's rules, agents' reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from holdfast.core.patterns import Sought, late
from holdfast.model.events import Asked, Planned
from holdfast.model.memory import Decision
from holdfast.sessions.harvest_prose import (
    LONGEST,
    SHORTEST,
    Statement,
    content_words,
    has_anchor,
    is_whole,
    mentions,
    names_something,
    sentences,
    stands_alone,
    statements,
)

LONGEST_MESSAGE = 2000  # a longer one is a document that was pasted, not somebody's word
MOST_OF_A_MESSAGE = 3
PLAN_APPROVED = "Plan approved: "
SHORTEST_HEAD = 12  # characters before a reason: "I chose Redis" is a choice, "We did it" is none

_OPENING = late(
    r"(?:(?:no|nope|ok|okay|yes|yeah|yep|right|actually|well|so|and|but|please|also|hm+|great|cool|nice"
    r"|sorry|wait"
    r"|i think|maybe|just|then)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_SPOKEN_END = late(r"(?<=[.!?])\s+")  # people do not always write capitals
_RULE = Sought(
    r"(?:(?:you|we) (?:should|must)|we|please|tests?|make sure (?:to|that|you|we)?)?\s*\b(?:always|never)\b"
    r"|from now on\b|going forward\b|in (?:the )?future\b|remember (?:that|to)\b|as a rule\b",
    re.IGNORECASE,
    words="always|never|from now on|going forward|future|remember |as a rule",
)
_SETTLES = late(
    r"(?:let['’]?s|we(?:['’]ll| will| should| can)?(?: just)?) (?:use|go with|keep|stick (?:with|to)"
    r"|switch to|drop"
    r"|avoid|prefer|rename|call|default to|only|target|support|store)\b"
    r"|we(?:['’]ve| have)? (?:decided|agreed|chose|chosen|opted|settled on|went with)\b"
    r"|we (?:don['’]?t|do not|no longer|only|never|always|prefer) (?!need to|have to|know|see|want to)\w+"
    r"|(?:prefer|use|i(?:['’]d| would)? (?:prefer|rather|like|want)|let['’]?s|we) .*\b(?:instead of"
    r"|rather than|over)\b",
    re.IGNORECASE,
)
_ONE_OFF = late(
    r"\b(?:commit|push|pr|prs|pull request|rebase|merge|branch|try again|look at|check|for now|right now"
    r"|this time|"
    r"again|review|comment|continue|see if|start (?:with|by)|wait)\b",
    re.IGNORECASE,
)
_VAGUE = late(
    r"\b(?:this(?! (?:repo|repository|project|code ?base)\b)|that|these|those|it|them|here(?!\W*\Z)|one|above|below)\b",
    re.IGNORECASE,
)
_NAMED = late(r"`[^`]+`|\w[./_]\w|\b[a-z]+[A-Z]\w|\b[A-Z]{2,}\b|--\w")
_WHY = late(
    r"(?:[,;]|\s[—–-])?\s+(?:because|since(?! (?:the last|last|then|v?\d|commit))|so that|in order to"
    r"|as otherwise|to avoid|to prevent|to ensure|to keep)\s+"
    r"|\s+[—–]\s+|[.;]?\s+(?:Rationale|Reason|Why):\s+",
)
_CHOSE = late(
    r"\b(?:I|we|We) (?:chose|decided|opted|went with|settled on|picked|deliberately|intentionally"
    r"|stuck with)\b"
    r"|\b(?:is|was|are|were) (?:deliberately|intentionally|purposely)\b|\A(?:Decision|Decided|Chose"
    r"|Chosen)\b"
    r"|\b(?:instead of|rather than)\b.*\b(?:because|since|so that|to avoid)\b"
    r"|\A(?:I|We) (?:kept|used|left|avoided|preferred|put|made|stayed with)\b.*\b(?:because|since|so that|to avoid)\b"
)
_CHOSE_WORDS = (
    "hose",
    "ecid",
    "opted",
    "went ",
    "settled",
    "picked",
    "purpose",
    "ally ",
    "stuck",
    "ately ",
    "ead of",
    "than",
    "I kept",
    "I used",
    "I left",
    "I put",
    "I made",
    "avoided",
    "prefer",
    "We ",
    "stayed",
)
_DECISIONS = late(
    r"(?:(?:key|main|important|design|technical|architectur\w+|implementation)\s+(?:and\s+)?){0,2}"
    r"(?:decisions?|design choices?|choices made)(?:\s+(?:made|taken))?"
)
_SUGGESTS = late(r"\b(?:consider|could|might|recommend|suggest|would)\b", re.IGNORECASE)
_WORKFLOW = late(
    r"\b(?:next|proceed|continue|go ahead|ready|commit|push|pull request|pr|merge|review|looks? (?:good"
    r"|right)|approve"
    r"|plan (?:ready|updated|mode)|start (?:working|implementing|coding)|shall i"
    r"|should i (?:also )?(?:do|start|implement))\b",
    re.IGNORECASE,
)
_PLAN_TITLE = late(
    r"(?:implementation |refactoring |migration )?plan\s*[:—–-]\s*|\s+(?:implementation )?plan\Z",
    re.IGNORECASE,
)
_PLAN_REASON = late(
    r"summary|goal|context|problem|why|motivation|background|overview|rationale|objective|issue"
)
PLAN_TO_DO = late(r"\s*(?:please )?implement (?:the following|this) plan:?\s+", re.IGNORECASE)
_BODY_REASON = late(r"\b(?:because|so that|since|in order to|to avoid|otherwise)\b")
_TRAILER = late(r"[A-Z][\w-]+: |🤖|Generated with")


def of_answer(event: Asked) -> Iterator[Decision]:
    """A question that a person answered settles something, unless it only asked how to go on."""
    answer = " ".join(event.answer.split())
    if not answer or len(event.question) > LONGEST or asks_about_workflow(event.question):
        return
    chosen = [label for label, _ in event.options]
    why = next((said for label, said in event.options if label == answer), "") if chosen else ""
    text = f"{' '.join(event.question.split())} {without_advice(answer)}"
    if len(text) <= LONGEST:
        yield Decision(text=text, rationale=why if len(why) <= LONGEST else "", by="user", at=event.at)


def without_advice(answer: str) -> str:
    """An answer as the person gave it: that the agent recommended it is no part of it."""
    return answer.replace(" (Recommended)", "").replace(" (recommended)", "")


def asks_about_workflow(question: str) -> bool:
    return bool(_WORKFLOW.search(question))


def of_plan(event: Planned) -> Iterator[Decision]:
    if event.approved:
        yield from _planned(event.text, event.at)


def _planned(plan: str, at: float | None) -> Iterator[Decision]:
    """The title of a plan, and the sentence that says why."""
    title, _, rest = plan.strip().partition("\n")
    if len(title) > 2 * LONGEST:
        return
    title = plan_title(title)
    if not 8 <= len(title) <= LONGEST or title.endswith(":"):
        return
    why = ""
    for said in statements(rest[:6000]):
        if not said.item and 20 <= len(said.text) <= LONGEST and said.text[-1] not in ":?":
            if not said.heading or _PLAN_REASON.search(said.heading):
                why = said.text
            break
    yield Decision(text=f"{PLAN_APPROVED}{title}", rationale=why, by="user", at=at)


def plan_title(line: str) -> str:
    """What a plan is called, without saying that it is one."""
    return _PLAN_TITLE.sub("", line.lstrip("# ").strip()).strip(" *:")


def of_person(text: str, at: float | None) -> Iterator[Decision]:
    """A person's words that settle something for longer than the moment."""
    if match := PLAN_TO_DO.match(text):
        yield from _planned(text[match.end() :], at)
        return
    if len(text) > LONGEST_MESSAGE or text.startswith(("#", "<", "{", "[")) or "```" in text:
        return
    found = 0
    for line in text.splitlines():
        for sentence in _SPOKEN_END.split(line.strip()):
            core = _OPENING.sub("", sentence, count=1) if _OPENING.match(sentence) else sentence
            if found < MOST_OF_A_MESSAGE and _settles(core):
                found += 1
                head, why = split_reason(core.rstrip("."))
                yield Decision(text=head, rationale=why, by="user", at=at)


def _settles(text: str) -> bool:
    rule = _RULE.match(text)
    fewest = 3 if rule else 4  # blanks: "never commit generated files" is a whole rule
    if not SHORTEST <= len(text) <= LONGEST or text.count(" ") < fewest or text[-1] in "?:":
        return False
    if not rule and (not _SETTLES.match(text) or _ONE_OFF.search(text)):
        return False
    return bool(_NAMED.search(text)) or not _VAGUE.search(split_reason(text)[0])


@lru_cache(maxsize=256)  # of all that stands below it, it is asked again and again
def _heads_decisions(heading: str) -> bool:
    return bool(_DECISIONS.fullmatch(heading))


def of_report(said: Iterable[Statement], at: float | None) -> Iterator[Decision]:
    """An agent's choices: what stands under a heading that says so, and sentences that give a reason."""
    for statement in said:
        text = statement.text
        if not is_whole(text):
            continue
        listed = statement.depth < 2 and bool(statement.heading) and _heads_decisions(statement.heading)
        if not listed and not (mentions(text, _CHOSE_WORDS) and _CHOSE.search(text)):
            continue
        if not stands_alone(text, named=False):
            continue
        head, why = split_reason(text)
        if not (has_anchor(text) or _chooses_plainly(head, why)):
            continue
        if (listed or why) and not _SUGGESTS.search(head):
            yield Decision(text=head, rationale=why, by="agent", at=at)


def _chooses_plainly(head: str, why: str) -> bool:
    """Whether a choice without any name of code still says what was chosen, and why that."""
    what, reason = content_words(head), content_words(why)
    return names_something(head, 1) and reason > 0 and what + reason >= 4 and mentions(head, _CHOSE_WORDS)


def split_reason(text: str) -> tuple[str, str]:
    """A statement and the reason in it; whole where the first part alone would say too little."""
    match = _WHY.search(text, SHORTEST_HEAD)
    if match is None or text[: match.start()].count("`") % 2 or len(text) - match.end() < 10:
        return text, ""
    mark = match[0].strip(" ,;—–-.").casefold()
    why = text[match.end() :]
    if mark == "because":
        why = why.removeprefix("of ")
    return text[: match.start()], why if mark in (
        "",
        "because",
        "since",
        "rationale:",
        "reason:",
        "why:",
    ) else f"{mark} {why}"


def of_commit(subject: str, body: str, at: float | None) -> Iterator[Decision]:
    """A commit whose message says why."""
    if not _BODY_REASON.search(body):
        return
    paragraph = " ".join(line.strip() for line in body.splitlines() if not _TRAILER.match(line.strip()))
    for sentence in sentences(paragraph):
        if sentence != subject and _BODY_REASON.search(sentence) and SHORTEST <= len(sentence) <= LONGEST:
            yield Decision(text=subject, rationale=sentence.lstrip("- "), by="agent", at=at)
            return
