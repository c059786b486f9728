"""What an agent's report says was found, was tried in vain, is left to do, and is asked of the person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from holdfast.core.patterns import late
from holdfast.model.memory import DeadEnd, Finding, OpenItem, Question
from holdfast.sessions.harvest_decisions import asks_about_workflow
from holdfast.sessions.harvest_prose import (
    LONGEST,
    SHORTEST,
    SHORTEST_ITEM,
    Statement,
    capitalised,
    has_anchor,
    is_whole,
    mentions,
    names_something,
    stands_alone,
)

_FINDINGS = late(
    r"(?:(?:key|main|important|notable|other)\s+)?(?:findings?|root causes?|discover(?:y|ies)|insights?"
    r"|gotchas?"
    r"|caveats?|lessons?(?: learned)?|learnings?|surprises?|limitations?|what (?:i|we) (?:found"
    r"|learned))(?:\s+\w+)?"
    r"|(?:the )?(?:real |core )?(?:cause|bug|problem|issue)"
)
_FOUND = late(
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
_BLAMES = late(
    r"\b(?:not|never|fails?|failed|cannot|\w+n['’]t|actually)\b[^.;]{0,120}\bbecause\b", re.IGNORECASE
)
# Looked for first, because most sentences have none of them and a pattern costs more than a word.
_FOUND_WORDS = (
    "root cause", "Root cause", "Cause", "culprit", "underlying",
    "ssue", "roblem", "bug", "Bug", "reason", "ailure", "rror", "turn", "Turn",
    "Note", "ilently", "urprising", "nexpected", "ounterint", "Gotcha", "Caveat", "Important", "Warning",
    " support", " accept", " allow", " handle", " respect", " work with", " preserve", " propagate", "only works",
    "only runs", "only fires", "only applies",
)  # fmt: skip
_TRIED_WORDS = ("tried", "ttempt", "nitial", "pproach")
_ERRORS = late(
    r"errors?(?: encountered)?(?: and (?:fixes|solutions|resolutions?))?|problems? (?:encountered|solved)"
)
_BECAUSE = late(r"\b(?:because|due to|since|caused by)\b", re.IGNORECASE)
_LEAD_IN = late(
    r"\A(?:Note(?: that|:)|Important:|It turns out(?: that)?|Turns out(?: that)?,?)\s+", re.IGNORECASE
)
# A title or a place alone says nothing; what an agent did, or has just repaired, is history.
_SAYS = late(
    r"\b(?:is|are|was|were|has|have|had|can|cannot|will|must|should|[a-z]+n['’]t|[a-z]{2,}(?:s|ed))\b"
)
_NO_NEWS = late(
    r"\bI\b|\b[Ww]e (?:just|were|had|did|fixed|added|updated)\b|\b(?:now|is|are|been) (?:now )?(?:fixed"
    r"|resolved|works|passes)\b"
    r"|\bis (?:at|in|on) \S+:\d[\d-]*\W*\Z|\A(?:Before|After|Fix|Fixed|Added|Removed|Updated):?\s"
    r"|\A\(?#?\d+\)?(?:\s*[:–—.✅❌⚠]|\s+-\s)"
    r"|\A`?[0-9a-f]{7,40}`?\s|\A(?:The )?(?:comment|recent)\b"
    r"|\A(?:Error|Impact|Status|Solution|Result|Severity|File|Files|Location|Example)s?:"
    r"|\A(?:Returns|Did|Does|Was|Is|Are|Has|Had|Not|Actually|(?!Discovered|Required|Unused|Shared"
    r"|Nested)[A-Z][a-z]+ed)\b"
)
_GUESSES = late(
    r"\A(?:(?:The|A|One) )?(?:[\w-]+ ){0,3}(?:issue|problem|bug|cause|reason|error|failure|culprit)s?\b[^.;]{0,40}"
    r"\b(?:might|may|could|seems?|appears?|probably|likely|possibly|perhaps)\b"
    r"|\b(?:might|may|could) be (?:related|caused|due)\b",
    re.IGNORECASE,
)
_OWN_TOOLS = late(
    r"has not been read|must be read|old_string|string to replace|file has been modified|sandbox"
    r"|permission prompt"
    r"|\b(?:Edit|Write|Read|Grep|Glob|Bash) tool\b",
    re.IGNORECASE,
)

_IN_VAIN = late(
    r"\A(?P<tried>.{12,140}?)[,;.]?\s+(?:but\s+)?(?P<failed>(?:(?:it|that|this|which)\s+)?(?:did(?: not"
    r"|n['’]t)|does(?: not|n['’]t)"
    r"|failed|fails|broke|breaks|was rejected|caused|could(?: not|n['’]t))\b.{0,120}?)"
    r"[,;.]?\s+(?:so|instead)\b,?\s*(?P<instead>.{12,140})\Z"
)
_TRIED = late(
    r"\b(?:tried|attempted|first attempt|initial(?:ly)? (?:attempt|approach|tried|used)|approach)\b",
    re.IGNORECASE,
)

_OPEN = late(
    r"(?:(?:suggested|recommended|possible|potential|optional|immediate|the|any|your"
    r"|still)\s+){0,2}(?:next steps?|remaining(?:\s+\w+){0,2}"
    r"|to-?dos?|follow[- ]?ups?(?:\s+\w+)?|pending(?:\s+\w+)?|still (?:to do|open|missing|needed)"
    r"|not (?:yet )?(?:done|implemented|covered)"
    r"|open (?:items?|issues?|tasks?)|left to do|outstanding(?:\s+\w+)?|what['’]?s (?:left|next|missing)"
    r"|deferred"
    r"|known (?:issues?|limitations|gaps)|future work|remaining)"
)
_NOTHING_LEFT = late(
    r"\W*(?:none|n/a|nothing|no (?:pending|remaining|open|further|explicit|outstanding|specific)"
    r"|all (?:tasks|done|items|complete))\b",
    re.IGNORECASE,
)
_NOT_AN_ITEM = late(
    r"let me know|would you like|do you want|feel free|if you(?:['’]d| would)? (?:like|want)|want me to"
    r"|i can|happy to"
    r"|\A(?:commit|push|merge|review|restart|re-?run|run|test|verify|try|open|create)\b.{0,32}\Z"
    r"|\A(?:ready (?:to|for)\b|(?:tip|hint|note|optional(?:ly)?)\b\W)"
    r"|\b(?:these|this|the) (?:change|fix|pr|branch|diff)\w*\b.{0,10}\Z",
    re.IGNORECASE,
)
_REPORTS = late(  # that something was seen to, in the midst of what is left
    r"[^,;:`]{0,60}\b(?:confirmed|passed|succeeded|completed|found no|is clean|are clean)\b", re.IGNORECASE
)
_CHORE = late(
    r"\A(?:run|re-?run|validate|verify|commit|push|review|check|test|open|create|format|lint)\b.*"
    r"\b(?:tests?|lint\w*|commit|push|pr|pull request|changes|build|checks|review|suite|work)\W*\Z",
    re.IGNORECASE,
)
_CLOSES = late(r"\W*(?:then |finally )?(?:summari[sz]e|wrap up)\b", re.IGNORECASE)
_NUMBERED = late(r"\A\W*(?:(?:task|step|phase)\s+)?\d+\W+", re.IGNORECASE)
_PLAIN_WORD = late(r"[^\W_]+")
# What every piece of work ends with, whatever it is about. A to-do that names anything else is no ceremony.
_OF_ANY_WORK = frozenset(
    re.findall(
        r"\w+",
        """a all and any branch build changes check checks ci commit coverage create draft end final finally focused
        for format full gate gates github green install it lint linter linting live local main mark merge on open
        origin package pass pr prs pull push quality ready rebase relevant remote request rerun review run squash
        suite summary targeted test testing tests the then to type typecheck typechecks validate validation
        verification verify wait with work""",
    )
)
_POLITE = late(
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
_ASKS = late(
    r"\b(?:which|what|want to|should|do we|do you|does|is|are|where|when|how|who|why|can|will|would)\b",
    re.IGNORECASE,
)


def findings(said: Iterable[Statement], at: float | None) -> Iterator[Finding]:
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
    return mentions(text, _FOUND_WORDS) and bool(_FOUND.search(text))


def _is_under_findings(statement: Statement) -> bool:
    heading = statement.heading
    if not heading or statement.depth > 1:
        return False
    heads = _heads(heading)
    return "findings" in heads or ("errors" in heads and bool(_BECAUSE.search(statement.text)))


@lru_cache(maxsize=256)  # of all that stands below it, it is asked again and again
def _heads(heading: str) -> frozenset[str]:
    """What a heading announces of that which we look for."""
    known = (("findings", _FINDINGS), ("errors", _ERRORS), ("left", _OPEN))
    return frozenset(name for name, pattern in known if pattern.fullmatch(heading))


def abandoned(said: Iterable[Statement], at: float | None) -> Iterator[DeadEnd]:
    """Approaches that were given up, where one sentence says what, how it failed and what came instead."""
    for statement in said:
        text = statement.text
        if (
            mentions(text, _TRIED_WORDS)
            and _TRIED.search(text)
            and (match := _IN_VAIN.match(text))
            and text.count("`") % 2 == 0
        ):
            yield DeadEnd(tried=match["tried"], failed=match["failed"], instead=match["instead"], at=at)


def is_chore(text: str) -> bool:
    """Whether a to-do is part of any work (run the tests, commit) and nothing to hand over."""
    if _NOT_AN_ITEM.search(text) or _CHORE.search(text) or _CLOSES.match(text):
        return True
    words = _PLAIN_WORD.findall(_NUMBERED.sub("", text).casefold())
    return bool(words) and all(word in _OF_ANY_WORK for word in words)


def tells_what_is_left(statement: Statement) -> bool:
    return bool(statement.heading) and "left" in _heads(statement.heading)


def open_items(said: Iterable[Statement], at: float | None) -> list[OpenItem]:
    items = []
    for statement in said:
        text = statement.text.rstrip(" .")
        if not tells_what_is_left(statement) or statement.done or statement.depth > 1:
            continue
        if not len(text) >= SHORTEST_ITEM or text[-1] in ":?" or text.count(" ") < 2:
            continue
        if not statement.item and not stands_alone(text):
            continue
        if _NOTHING_LEFT.match(text) or _NOT_AN_ITEM.search(text) or text.count("`") % 2:
            continue
        if _REPORTS.match(text):
            continue
        items.append(OpenItem(text=text, owner="agent", at=at))
    return items


def closing_question(last: Statement, at: float | None) -> Question | None:
    """The question a message ends with, unless it only asks for leave to go on."""
    text = last.text
    if not text.endswith("?") or not SHORTEST <= len(text) <= LONGEST:
        return None
    if _POLITE.search(text) or asks_about_workflow(text) or not _ASKS.search(text):
        return None
    if not stands_alone(text[:-1] + ".", named=False) or not (has_anchor(text) or names_something(text, 3)):
        return None
    return Question(text=text, at=at)
