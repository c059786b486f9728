"""Finds the sentences that state a decision, a finding, an abandoned approach or a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.language.prose import (
    LONGEST,
    SHORTEST,
    ReportLine,
    capitalised,
    contains_any,
    content_words,
    has_anchor,
    is_whole,
    names_something,
    stands_alone,
)
from holdfast.model.events import Asked
from holdfast.model.memory import DeadEnd, Decision, Finding, Question

LONGEST_MESSAGE = 2000  # a longer message is a pasted document
MOST_OF_A_MESSAGE = 3
PLAN_APPROVED = "Plan approved: "
SHORTEST_HEAD = 12  # characters before a reason: "I chose Redis" is a choice, "We did it" is not

_OPENING = lazy_regex(
    r"(?:(?:no|nope|ok|okay|yes|yeah|yep|right|actually|well|so|and|but|please|also|hm+|great|cool|nice"
    r"|sorry|wait"
    r"|i think|maybe|just|then)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_SPOKEN_END = lazy_regex(r"\s(?<=[.!?].)\s*", re.DOTALL)  # people do not always write capitals
_RULE = PrefilteredRegex(
    r"(?:(?:you|we) (?:should|must)|we|please|tests?|make sure (?:to|that|you|we)?)?\s*\b(?:always|never)\b"
    r"|from now on\b|going forward\b|in (?:the )?future\b|remember (?:that|to)\b|as a rule\b",
    re.IGNORECASE,
    words="always|never|from now on|going forward|future|remember |as a rule",
)
_SETTLES = PrefilteredRegex(
    r"(?:let['’]?s|we(?:['’]ll| will| should| can)?(?: just)?) (?:use|go with|keep|stick (?:with|to)"
    r"|switch to|drop"
    r"|avoid|prefer|rename|call|default to|only|target|support|store)\b"
    r"|we(?:['’]ve| have)? (?:decided|agreed|chose|chosen|opted|settled on|went with)\b"
    r"|we (?:don['’]?t|do not|no longer|only|never|always|prefer) (?!need to|have to|know|see|want to)\w+"
    r"|(?:prefer|use|i(?:['’]d| would)? (?:prefer|rather|like|want)|let['’]?s|we) .*\b(?:instead of"
    r"|rather than|over)\b",
    re.IGNORECASE,
)
_ONE_OFF = PrefilteredRegex(
    r"\b(?:commit|push|pr|prs|pull request|rebase|merge|branch|try again|look at|check|for now|right now"
    r"|this time|"
    r"again|review|comment|continue|see if|start (?:with|by)|wait)\b",
    re.IGNORECASE,
)
_NEXT_MOVE = lazy_regex(
    r"(?:(?:ok|okay|yes|sure|great|now|then|so|and|please)[,.!]?\s+)*"
    r"(?:let['’]?s|let us|(?:can|could|would) you|please|i['’]ll|i will|we(?:['’]ll| will| should| can| could)"
    r"|go ahead and|first,?|next,?)\s+"
    r"(?:now |also |first |just |then |please )*"
    r"(?:investigate|look (?:at|into)|check|see|try|explore|examine|analy[sz]e|review|start|begin|continue|proceed"
    r"|run|test|verify|read|find out|figure out|think about|talk about|discuss|go (?:on|ahead|through)"
    r"|do (?:that|this|it|all)|fix|work on|wait|commit|push|merge)\b",
    re.IGNORECASE,
)
_VAGUE = PrefilteredRegex(
    r"\b(?:this(?! (?:repo|repository|project|code ?base)\b)|that|these|those|it|them|here(?!\W*\Z)|one|above|below)\b",
    re.IGNORECASE,
)
_NAMED = lazy_regex(r"`[^`]+`|\w[./_]\w|\b[a-z]+[A-Z]\w|\b[A-Z]{2,}\b|--\w")
_WHY = lazy_regex(
    r"(?:[,;]|\s[—–-])?\s+(?:because|since(?! (?:the last|last|then|v?\d|commit))|so that|in order to"
    r"|as otherwise|to avoid|to prevent|to ensure|to keep)\s+"
    r"|\s+[—–]\s+|[.;]?\s+(?:Rationale|Reason|Why):\s+",
)
_CHOSE = lazy_regex(
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
_DECISIONS = lazy_regex(
    r"(?:(?:key|main|important|design|technical|architectur\w+|implementation)\s+(?:and\s+)?){0,2}"
    r"(?:decisions?|design choices?|choices made)(?:\s+(?:made|taken))?"
)
_SUGGESTS = PrefilteredRegex(r"\b(?:consider|could|might|recommend|suggest|would)\b", re.IGNORECASE)
_WORKFLOW = PrefilteredRegex(
    r"\b(?:next|proceed|continue|go ahead|ready|commit|push|pull request|pr|merge|review|looks? (?:good"
    r"|right)|approve"
    r"|plan (?:ready|updated|mode)|start (?:working|implementing|coding)|shall i"
    r"|should i (?:also )?(?:do|start|implement))\b",
    re.IGNORECASE,
)
_PLAN_TITLE = lazy_regex(
    r"(?:implementation |refactoring |migration )?plan\s*[:—–-]\s*|\s+(?:implementation )?plan\Z",
    re.IGNORECASE,
)
PLAN_TO_DO = lazy_regex(r"\s*(?:please )?implement (?:the following|this) plan:?\s+", re.IGNORECASE)

_FINDINGS = lazy_regex(
    r"(?:(?:key|main|important|notable|other)\s+)?(?:findings?|root causes?|discover(?:y|ies)|insights?"
    r"|gotchas?"
    r"|caveats?|lessons?(?: learned)?|learnings?|surprises?|limitations?|what (?:i|we) (?:found"
    r"|learned))(?:\s+\w+)?"
    r"|(?:the )?(?:real |core )?(?:cause|bug|problem|issue)"
)
_FOUND = PrefilteredRegex(
    r"\b(?:root cause|culprit|underlying (?:issue|problem|cause))\b.*\b(?:is|was|were|are)\b"
    r"|\A(?:The )?(?:\w+ )?(?:issue|problem|bug|reason|failure|failures|error|cause)\b[^.]{0,60}\b(?:is"
    r"|was|were|are|comes? from)\b"
    r"|\b(?:turns|turned) out\b|\ANote(?: that\b|:)|\b(?:surprisingly|unexpectedly|counterintuitively"
    r"|silently)\b"
    r"|\A(?:Gotcha|Caveat|Important|Warning):"
    r"|\b(?:does not|doesn['’]t|did not|cannot|can['’]t) (?:support|accept|allow|handle|respect"
    r"|work with|preserve|propagate)\b"
    r"|\bonly (?:works|runs|fires|applies) (?:when|if|on|in|for|with)\b",
    re.IGNORECASE,
)
_BLAMES = lazy_regex(
    r"\b(?:not|never|fails?|failed|cannot|\w+n['’]t|actually)\b[^.;]{0,120}\bbecause\b", re.IGNORECASE
)
# Searched first, because most sentences have none of them and a pattern costs more than a word.
_FOUND_WORDS = (
    "root cause", "Root cause", "Cause", "culprit", "underlying",
    "ssue", "roblem", "bug", "Bug", "reason", "ailure", "rror", "turn", "Turn",
    "Note", "ilently", "urprising", "nexpected", "ounterint", "Gotcha", "Caveat", "Important", "Warning",
    " support", " accept", " allow", " handle", " respect", " work with", " preserve", " propagate", "only works",
    "only runs", "only fires", "only applies",
)  # fmt: skip
_TRIED_WORDS = ("tried", "ttempt", "nitial", "pproach")
_ERRORS = lazy_regex(
    r"errors?(?: encountered)?(?: and (?:fixes|solutions|resolutions?))?|problems? (?:encountered|solved)"
)
_BECAUSE = PrefilteredRegex(r"\b(?:because|due to|since|caused by)\b", re.IGNORECASE)
_LEAD_IN = lazy_regex(
    r"\A(?:Note(?: that|:)|Important:|It turns out(?: that)?|Turns out(?: that)?,?)\s+", re.IGNORECASE
)
# A title or a path alone says nothing; what an agent did or has just fixed is history.
_SAYS = lazy_regex(
    r"\b(?:is|are|was|were|has|have|had|can|cannot|will|must|should|[a-z]+n['’]t|[a-z]{2,}(?:s|ed))\b"
)
_NO_NEWS = lazy_regex(
    r"\bI\b|\b[Ww]e (?:just|were|had|did|fixed|added|updated)\b|\b(?:now|is|are|been) (?:now )?(?:fixed"
    r"|resolved|works|passes)\b"
    r"|\bis (?:at|in|on) \S+:\d[\d-]*\W*\Z|\A(?:Before|After|Fix|Fixed|Added|Removed|Updated):?\s"
    r"|\A\(?#?\d+\)?(?:\s*[:–—.✅❌⚠]|\s+-\s)"
    r"|\A`?[0-9a-f]{7,40}`?\s|\A(?:The )?(?:comment|recent)\b"
    r"|\A(?:Error|Impact|Status|Solution|Result|Severity|File|Files|Location|Example)s?:"
    r"|\A(?:Returns|Did|Does|Was|Is|Are|Has|Had|Not|Actually|(?!Discovered|Required|Unused|Shared"
    r"|Nested)[A-Z][a-z]+ed)\b"
)
_GUESSES = PrefilteredRegex(
    r"\A(?:(?:The|A|One) )?(?:[\w-]+ ){0,3}(?:issue|problem|bug|cause|reason|error|failure|culprit)s?\b[^.;]{0,40}"
    r"\b(?:might|may|could|seems?|appears?|probably|likely|possibly|perhaps)\b"
    r"|\b(?:might|may|could) be (?:related|caused|due)\b",
    re.IGNORECASE,
)
_OWN_TOOLS = PrefilteredRegex(
    r"has not been read|must be read|old_string|string to replace|file has been modified|sandbox"
    r"|permission prompt"
    r"|\b(?:Edit|Write|Read|Grep|Glob|Bash) tool\b",
    re.IGNORECASE,
)
_IN_VAIN = lazy_regex(
    r"\A(?P<tried>.{12,140}?)[,;.]?\s+(?:but\s+)?(?P<failed>(?:(?:it|that|this|which)\s+)?(?:did(?: not"
    r"|n['’]t)|does(?: not|n['’]t)"
    r"|failed|fails|broke|breaks|was rejected|caused|could(?: not|n['’]t))\b.{0,120}?)"
    r"[,;.]?\s+(?:so|instead)\b,?\s*(?P<instead>.{12,140})\Z"
)
_TRIED = PrefilteredRegex(
    r"\b(?:tried|attempted|first attempt|initial(?:ly)? (?:attempt|approach|tried|used)|approach)\b",
    re.IGNORECASE,
)
_POLITE = PrefilteredRegex(
    r"would you (?:like|prefer i)|want me to|shall i"
    r"|should i\b(?! (?:treat|assume|use|keep|apply|support|store|limit|include|allow)\b)"
    r"|do you want me|let me know|anything else|does (?:this"
    r"|that|it)\b"
    r"|is (?:this|that|it)\b|are you (?:ready|ok)|what would you|how would you like|which would you like"
    r"|sound good|make sense"
    r"|something|anything|you['’]re (?:working|trying|looking)|are you (?:trying|looking|asking)|your (?:preference"
    r"|thoughts|actual)"
    r"|can you|could you|what do you think|any (?:other|preference)|okay\?|ok\?|right\?",
    re.IGNORECASE,
)
_ASKS = PrefilteredRegex(
    r"\b(?:which|what|want to|should|do we|do you|does|is|are|where|when|how|who|why|can|will|would)\b",
    re.IGNORECASE,
)


def is_next_move(text: str) -> bool:
    """Whether a sentence says what to do at this moment, and settles nothing: "let's look into 3 and 7"."""
    return bool(_NEXT_MOVE.match(text)) or text.rstrip().endswith(("?", "？"))


def decisions_in_answer(event: Asked) -> Iterator[Decision]:
    """Yield the decision in a person's answer, unless the question only asked how to proceed."""
    answer = " ".join(event.answer.split())
    if not answer or len(event.question) > LONGEST or asks_about_workflow(event.question):
        return
    labels = [label for label, _ in event.options]
    why = next((description for label, description in event.options if label == answer), "") if labels else ""
    text = f"{' '.join(event.question.split())} {without_advice(answer)}"
    if len(text) <= LONGEST:
        yield Decision(text=text, rationale=why if len(why) <= LONGEST else "", by="user", at=event.at)


def without_advice(answer: str) -> str:
    """Remove the agent's "(Recommended)" from an answer."""
    return answer.replace(" (Recommended)", "").replace(" (recommended)", "")


def asks_about_workflow(question: str) -> bool:
    return bool(_WORKFLOW.search(question))


def plan_title(line: str) -> str:
    """Return the title of a plan without the word "plan"."""
    return _PLAN_TITLE.sub("", line.lstrip("# ").strip()).strip(" *:")


def decisions_of_person(text: str, at: float | None) -> Iterator[Decision]:
    """Yield the lasting decisions in a person's message."""
    if PLAN_TO_DO.match(text):
        return  # what a plan says is taken apart by the model
    if len(text) > LONGEST_MESSAGE or text.startswith(("#", "<", "{", "[")) or "```" in text:
        return
    count = 0
    for line in text.splitlines():
        for sentence in _SPOKEN_END.split(line.strip()):
            core = _OPENING.sub("", sentence, count=1) if _OPENING.match(sentence) else sentence
            if count < MOST_OF_A_MESSAGE and _settles(core):
                count += 1
                head, why = split_reason(core.rstrip("."))
                yield Decision(text=head, rationale=why, by="user", at=at)


def _settles(text: str) -> bool:
    rule = _RULE.match(text)
    fewest = 3 if rule else 4  # blanks: "never commit generated files" is a complete rule
    if not SHORTEST <= len(text) <= LONGEST or text.count(" ") < fewest or text[-1] in "?:":
        return False
    if not rule and (not _SETTLES.match(text) or _ONE_OFF.search(text)):
        return False
    return bool(_NAMED.search(text)) or not _VAGUE.search(split_reason(text)[0])


@lru_cache(maxsize=256)  # called for every line below the heading
def _heads_decisions(heading: str) -> bool:
    return bool(_DECISIONS.fullmatch(heading))


def decisions_in_report(said: Iterable[ReportLine], at: float | None) -> Iterator[Decision]:
    """Yield an agent's choices: lines under a heading about decisions, and sentences that give a reason."""
    for statement in said:
        text = statement.text
        if not is_whole(text):
            continue
        listed = statement.depth < 2 and bool(statement.heading) and _heads_decisions(statement.heading)
        if not listed and not (contains_any(text, _CHOSE_WORDS) and _CHOSE.search(text)):
            continue
        if not stands_alone(text, named=False):
            continue
        head, why = split_reason(text)
        if not (has_anchor(text) or _chooses_plainly(head, why)):
            continue
        if (listed or why) and not _SUGGESTS.search(head):
            yield Decision(text=head, rationale=why, by="agent", at=at)


def _chooses_plainly(head: str, why: str) -> bool:
    """Whether a choice that names no code still says what was chosen, and why."""
    what, reason = content_words(head), content_words(why)
    return names_something(head, 1) and reason > 0 and what + reason >= 4 and contains_any(head, _CHOSE_WORDS)


def split_reason(text: str) -> tuple[str, str]:
    """Split a statement from its reason; keep it whole if the first part alone would say too little."""
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


def findings(said: Iterable[ReportLine], at: float | None) -> Iterator[Finding]:
    for statement in said:
        text = statement.text
        if not is_whole(text) or not (_is_under_findings(statement) or _says_so(text)):
            continue
        bare = _LEAD_IN.sub("", text)
        if bare != text:
            bare = capitalised(bare)
        if (
            stands_alone(bare)
            and _SAYS.search(bare)
            and not _OWN_TOOLS.search(bare)
            and not _NO_NEWS.search(bare)
            and not _GUESSES.search(bare)
        ):
            yield Finding(text=bare, at=at)


def _says_so(text: str) -> bool:
    if " because " in text and _BLAMES.search(text):
        return True
    return contains_any(text, _FOUND_WORDS) and bool(_FOUND.search(text))


def _is_under_findings(statement: ReportLine) -> bool:
    heading = statement.heading
    if not heading or statement.depth > 1:
        return False
    heads = _heads(heading)
    return "findings" in heads or ("errors" in heads and bool(_BECAUSE.search(statement.text)))


@lru_cache(maxsize=256)  # called for every line below the heading
def _heads(heading: str) -> frozenset[str]:
    """Return which of the sections that we look for a heading begins."""
    sections = (("findings", _FINDINGS), ("errors", _ERRORS))
    return frozenset(name for name, pattern in sections if pattern.fullmatch(heading))


def abandoned_approaches(said: Iterable[ReportLine], at: float | None) -> Iterator[DeadEnd]:
    """Yield abandoned approaches, where one sentence says what was tried, how it failed and what replaced it."""
    for statement in said:
        text = statement.text
        if (
            contains_any(text, _TRIED_WORDS)
            and _TRIED.search(text)
            and (match := _IN_VAIN.match(text))
            and text.count("`") % 2 == 0
        ):
            yield DeadEnd(tried=match["tried"], failed=match["failed"], instead=match["instead"], at=at)


def closing_question(last: ReportLine, at: float | None) -> Question | None:
    """Return the question that a message ends with, unless it only asks for permission to continue."""
    text = last.text
    if not text.endswith("?") or not SHORTEST <= len(text) <= LONGEST:
        return None
    if _POLITE.search(text) or asks_about_workflow(text) or not _ASKS.search(text):
        return None
    if not stands_alone(text[:-1] + ".", named=False) or not (has_anchor(text) or names_something(text, 3)):
        return None
    return Question(text=text, at=at)
