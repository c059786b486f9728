"""Finds what a report leaves to do: lists and labels such as "Next steps", open boxes, and closing sentences.

Structure and place decide where they can: an open box counts wherever it is, a list by its heading, and a sentence
only where a message ends. A later report of the same session replaces what it did, not what it does not mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import word_set
from holdfast.language.own_words import own_words
from holdfast.language.prose import (
    LONGEST,
    ReportLine,
    capitalised,
    sentences,
    stands_alone,
)
from holdfast.model.memory import OpenItem, Owner

SHORTEST = 8
MOST_WORDS = 14  # of a heading or of the line before a list; a longer one says something itself
MOST_OTHERS = 2  # words of a heading that do not say "open"
CLOSING = 4  # sentences at the end of a message in which a need may be stated
FEWEST_OWN = 2
_MET = 0.6  # share of an item's own words that a report about it has

_HEAD_WORD = lazy_regex(r"[^\W_][\w'’-]*")
# What a heading says about work that is not done, in the languages in which agents write.
_OPEN = lazy_regex(
    r"\bnext(?: up)?\b(?!\.?js)|\bremaining\b|\b(?:what|still|work) (?:still )?remains\b|\bto-?\s?dos?\b"
    r"|\bfollow[- ]?ups?\b|\b(?:pending|outstanding|deferred|unfinished|unresolved|undone|incomplete|backlog|upcoming"
    r"|postponed|parked|leftovers?)\b|\bskipped for now\b|\bto (?:be done|finish|continue)\b"
    r"|\bcontinu(?:e|ing) (?:with|from)\b|\bfurther (?:work|steps?)\b"
    r"|\bnot touched\b|\bout of scope (?:for now|here|of this)\b|\bcoming up\b|\byet to come\b|\bon the list\b"
    r"|\A(?:open |remaining )?gaps\b"
    r"|\bnot (?:yet |been )*(?:done|started|implemented|covered|finished|tested|verified|included|addressed|wired)\b"
    r"|\b(?:still|yet) (?:open|missing|needed|needs?|to|left|required)\b|\bloose ends?\b"
    r"|\bopen (?:items?|issues?|tasks?|points?|work|threads?|ends?)\b|\bknown (?:issues?|gaps)\b"
    r"|\bwhere (?:i|we) (?:stopped|left off)\b"
    r"|\b(?:what|things?|items?|tasks?|work)(?:['’]?s| is| are)? (?:still )?(?:left|missing)\b"
    r"|\bleft (?:to|for|open|over|undone)\b|\bfor (?:later|tomorrow|another)\b|\bfuture (?:work|steps?|tasks?)\b"
    r"|\bhand(?:ing)?[- ]?(?:over|off)\b|\bpick(?:ing)? (?:this |it )?up\b|\bfrom here\b"
    r"|\bbefore (?:you |we |this |it |can |be )*(?:merg|releas|ship|deploy|land|go)\w*"
    r"|\byou(?:['’]ll| will)? (?:still )?(?:need|must)\b|\baction (?:items?|required|needed)\b"
    r"|\b(?:manual|required) (?:steps?|setup|actions?)\b"
    r"|\bnächste|\boffen(?:e|es)?\b|\bnoch (?:zu|offen)|\bverbleib|\bausstehend|\bprochain|\breste\b|\bà faire|\bpróxim"
    r"|\bpendiente|\bpor hacer|\bda fare|\bпредсто|\bосталось|\bследующ"
    r"|下一步|待办|剩余|未完成|次の|残り|未対応|다음|남은",
    re.IGNORECASE,
)
_OF_A_HEADING = word_set(
    """a about action actions agent all an and any are concrete few following for four from here i immediate in into is
    issue issues it item items list logical me merge merging my natural of on one open optional or our please points
    possible potential priority recommended remaining required s session sessions setup some step steps still
    suggested task tasks team that the them then there these thing things this those three to tomorrow two up us we
    what whats who with work yet you your"""
)
_CLAUSE = lazy_regex(
    r"(?<=\w) (?:before|until|so that|because|in order to)\b"
)  # "things left before it can be merged"
_STATES = word_set("are was were has had works happens comes uses runs gets shows does all")
_ENDED = lazy_regex(
    r"(?<!not )(?<!not yet )(?<!to be )\b(?:completed?|done|finished|fixed|addressed|resolved|closed)\b"
)
_BEGINS_A_TALE = word_set("on when after if during while how why")
_LABELLED = lazy_regex(r"\A([^:.`]{3,48}?):\s+(\S.+)\Z", re.DOTALL)
_SEVERAL = lazy_regex(r";\s+(?:and\s+)?|,?\s*\(\d\)\s+|\s+\d\)\s+")
_NOTHING_LEFT = PrefilteredRegex(
    r"\W*(?:none|n/a|(?:there(?:['’]s| is| are) )?(?:nothing|no (?:pending|remaining|open|further|explicit|outstanding"
    r"|specific|more))|[^.:;]{0,40}: (?:none|no (?:issues|findings|changes|problems))"
    r"|all (?:tasks|done|items|complete))\b",
    re.IGNORECASE,
)
_NOT_AN_ITEM = PrefilteredRegex(
    r"let me know|would you like|do you want|feel free|if you(?:['’]d| would)? (?:like|want|prefer)|want me to"
    r"|\bi can\b|happy to|\b(?:may|might) want to\b|\bshould (?:now|just) (?:work|pass|be)\b"
    r"|\A(?:commit|push|merge|review|restart|re-?run|run|test|verify|try|open|create)\b.{0,32}\Z"
    r"|\A(?:ready (?:to|for)\b|(?:tip|hint|note|optional(?:ly)?)\b\W|(?:if|or|and|but)\b|\(not recommended)"
    r"|\b(?:the )?user (?:has|hasn['’]t|asked|wants?|is)\b"
    r"|\b(?:these|this|the) (?:change|fix|pr|branch|diff)\w*\b.{0,10}\Z",
    re.IGNORECASE,
)
_REPORTS = lazy_regex(  # reports of finished work among the open items
    r"[^,;:`]{0,60}\b(?:confirmed|passed|succeeded|completed|found no|(?:is|are) (?:clean|complete))\b|[✅☑✔]",
    re.IGNORECASE,
)
_NEXT_IS = lazy_regex(
    r"\A(?:so |then |and )?(?:the |my |our |a )?(?:only |single )?(?:logical |natural |obvious |sensible )?"
    r"(?:next (?:step|task|thing|move|piece)|remaining (?:work|step|task|piece|item)"
    r"|what(?:['’]s| is)? (?:left|remains|next))"
    r"s?\b[^.:]{0,30}?\b(?:is|are|would be|will be)\b:?\s+(?:to )?(\S.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_STILL_NEEDED = lazy_regex(
    r"\bstill (?:needs?|has to|have to|requires?|awaits?|waits?|to be)\b|\b(?:remains?|yet) to be \w"
    r"|\bstill\b[^.]{1,80}\buntil\b|\b(?:is|are|has|have)(?: not|n['’]t) (?:\w+ ){0,3}yet\b|\bnot yet \w+(?:ed|n|t)\b"
    r"|\bleft (?:for (?:later|a |the next|another|you)|to do)|\bin a follow-?up\b|\bfor a follow-?up\b"
    r"|\byou(?:['’]ll| will)? still (?:need to|must|have to)\b",
    re.IGNORECASE,
)
_UNPROVEN = PrefilteredRegex(
    r"\b(?:could(?: not|n['’]t)|can(?:not|['’]t)|(?:was|were)(?: not|n['’]t) able to|unable to"
    r"|ha(?:ve|s)(?: not|n['’]t)) (?:be )?(?:been )?(?:run|verif\w+|test(?:ed)?|reproduced?|confirm(?:ed)?|tried)\b",
    re.IGNORECASE,
    words="not|n't|n’t|unable",
)
_DEPENDS = PrefilteredRegex(r"\b(?:if|unless|when|whenever|was failing|were failing)\b", re.IGNORECASE)
_PROOF_ONLY = lazy_regex(r"(?:verify|test|check|run|confirm|ensure)\b", re.IGNORECASE)
_REPORTED = lazy_regex(
    r"\b(?:verified|ran|changed|added|updated|fixed|tested|completed|created|removed|commands?|files?|commits?)\b",
    re.IGNORECASE,
)
_OBLIGES = PrefilteredRegex(
    r"\b(?:needs?|should|must|ha(?:s|ve) to|to be|still|yet|missing|remains?|left|next|later|todo)\b",
    re.IGNORECASE,
)
_IS = word_set("is are was were has have had will can does say says")
_PICK_UP = lazy_regex(r"(?:pick (?:it |this )?up|continue|resume) (?:at|with|from|by|in)\b", re.IGNORECASE)
_OF_WORK = lazy_regex(r"\b(?:tasks?|steps?|progress|status|plan|phases?|milestones?)\b(?<!test plan)")
_TO_THE_PERSON = lazy_regex(
    r"\byou(?:['’]ll| will)? (?:still )?(?:need|must|have to|should)\b|\A[^:]*\b(?:manual|your)\b",
    re.IGNORECASE,
)
_CHORE = lazy_regex(
    r"\A(?:run|re-?run|validate|verify|commit|push|review|check|test|open|create|format|lint)\b.*"
    r"\b(?:tests?|lint\w*|commit|push|pr|pull request|changes|build|checks|review|suite|work)\W*\Z",
    re.IGNORECASE,
)
_CLOSES = lazy_regex(r"\W*(?:then |finally )?(?:summari[sz]e|wrap up)\b", re.IGNORECASE)
_NUMBERED = lazy_regex(r"\A\W*(?:(?:task|step|phase)\s+)?\d+\W+", re.IGNORECASE)
_PLAIN_WORD = lazy_regex(r"[^\W_]+")
FEWEST_TO_CHOOSE = 3  # own words; an answer with fewer accepts the whole list of steps
_ACCEPTS = lazy_regex(
    r"\W*(?:(?:yes|yep|yeah|y|ok(?:ay)?|sure|go|do|continue|proceed|please|all|both|next|let['’]?s|weiter|mach|ja|oui|sí|si"
    r"|vale|да)\b|继续|好|是|続け|はい)",
    re.IGNORECASE,
)
# Words of the routine steps that end any work. A to-do that names anything else is not routine.
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


def is_chore(text: str) -> bool:
    """Whether a to-do is a routine step of any work (run the tests, commit) and not worth handing over."""
    if _NOT_AN_ITEM.search(text) or _CHORE.search(text) or _CLOSES.match(text):
        return True
    words = _PLAIN_WORD.findall(_NUMBERED.sub("", text).casefold())
    return bool(words) and all(word in _OF_ANY_WORK for word in words)


@lru_cache(maxsize=256)  # called for every line below the heading
def heads_open_items(heading: str) -> bool:
    """Whether a heading or label says that what follows is not done: "Remaining", "What's left", "Next for the API"."""
    folded = _CLAUSE.split(heading.casefold(), maxsplit=1)[0]
    words = _HEAD_WORD.findall(folded)
    if not 0 < len(words) <= MOST_WORDS or words[0] in _BEGINS_A_TALE:
        return False
    if (match := _OPEN.search(folded)) is None or _ENDED.search(folded):
        return False
    before, after = _HEAD_WORD.findall(folded[: match.start()]), _HEAD_WORD.findall(folded[match.end() :])
    verbs = [*before[1:], *after]
    if before[-1:] == ["are"] or before[:2] == ["there", "are"]:
        verbs.remove("are")  # "These are still open"
    if not _STATES.isdisjoint(verbs):
        return False
    return sum(word not in _OF_A_HEADING for word in (*before, *after)) <= MOST_OTHERS


def lists_open_items(statement: ReportLine) -> bool:
    if _label_of(statement.text)[0]:
        return True
    return bool(statement.heading) and (
        heads_open_items(statement.heading)
        or (bool(statement.section) and heads_open_items(statement.section))
    )


def open_items(said: Sequence[ReportLine], at: float | None) -> list[OpenItem]:
    """What a report leaves open, each thing once, in its order."""
    texts: dict[str, Owner] = {}
    last_prose = [statement for statement in said if not statement.item][-CLOSING:]
    listed_under: set[str] = set()
    labels: set[str] = set()  # of a paragraph the first sentence is enough
    led: bool | None = None  # whether the line before the list says that it is open; None if there is none
    for statement in said:
        if not statement.item:
            led = _leads(statement.text) if statement.text.endswith(":") else None
        if statement.done or statement.depth > 1:
            continue
        under = lists_open_items(statement) if led is None or not statement.item else led
        if statement.item and under:
            listed_under.add(statement.heading)
        under = under and (statement.item or statement.heading not in listed_under)
        candidates: Iterable[str] = ()
        if under or (statement.box and _is_work(statement)):
            candidates = _listed(statement) if not statement.label or statement.label not in labels else ()
            labels.add(statement.label)
        elif any(statement is other for other in last_prose):
            candidates = _needed(statement.text)
        for text in candidates:
            if _is_item(text):
                texts.setdefault(text, _owner(f"{statement.heading}: {text}"))
    return [OpenItem(text=text, owner=owner, at=at) for text, owner in texts.items()]


def _leads(line: str) -> bool | None:
    """Whether a line before a list says that it is open (True) or done (False); None if it says neither."""
    return True if heads_open_items(line) else False if _REPORTED.search(line) else None


def _is_work(boxed: ReportLine) -> bool:
    """Whether an open box is a step of the work, and not a line of a checklist that any change is held against."""
    return not _PROOF_ONLY.match(boxed.text) and (not boxed.heading or bool(_OF_WORK.search(boxed.heading)))


def _listed(statement: ReportLine) -> Iterator[str]:
    """The items of a line below an open heading, or after an open label."""
    if statement.label and heads_open_items(statement.section) and not heads_open_items(statement.heading):
        # "### What's left", then "**Manual check.** It needs a person": the label is the item.
        if own_words(statement.label):
            yield f"{statement.label.rstrip('.')}: {statement.text}".rstrip(" .")
        return
    label, text = _label_of(statement.text)
    label = label or statement.label
    if not statement.item and not label and not _asks_for_work(statement.text):
        return
    for part in _SEVERAL.split(text) if label else (text,):
        yield (capitalised(part) if label else part).strip(" .,")


def _label_of(text: str) -> tuple[str, str]:
    """The label "Next: …" of a sentence and what follows it; ('', text) where there is none."""
    if ":" in text[:50] and (match := _LABELLED.match(text)) and heads_open_items(match[1]):
        return match[1], capitalised(match[2])
    return "", text


def _asks_for_work(text: str) -> bool:
    """Whether a sentence below an open heading is an order or a need, and does not only describe how things are."""
    words = text.split()
    first = words[0].casefold()
    order = first.isalpha() and first not in ENGLISH and not first.endswith(("ed", "ing", "ly"))
    if order and (not first.endswith("s") or first.endswith("ss")) and _IS.isdisjoint(words[1:7]):
        return True
    return bool(_OBLIGES.search(text)) and _may_stand(text)


def _may_stand(text: str) -> bool:
    return stands_alone(text) or (stands_alone(text, named=False) and len(own_words(text)) >= FEWEST_OWN)


def _needed(text: str) -> Iterator[str]:
    """What a closing sentence says is still to be done, or was not proved."""
    if match := _NEXT_IS.match(text):
        yield capitalised(match[1]).rstrip(" .")
    elif _PICK_UP.match(text):
        yield text.rstrip(" .")
    elif "?" in text or _DEPENDS.search(text):
        return
    elif (
        (_STILL_NEEDED.search(text) or _UNPROVEN.search(text))
        and _may_stand(text)
        and len(own_words(text)) >= FEWEST_OWN
    ):
        yield text.rstrip(" .")


def states_a_need(text: str) -> bool:
    """Whether a sentence says that something is still to be done."""
    return _STILL_NEEDED.search(text) is not None and not _DEPENDS.search(text)


def _is_item(text: str) -> bool:
    if not SHORTEST <= len(text) <= LONGEST or text[-1] in ":?!" or " " not in text:
        return False
    if _NOTHING_LEFT.match(text) or _NOT_AN_ITEM.search(text) or text.count("`") % 2:
        return False
    return not _REPORTS.match(text) and bool(own_words(text))


def _owner(text: str) -> Owner:
    return "user" if _TO_THE_PERSON.search(text) else "agent"


def remaining(items: Iterable[OpenItem], *said: str, asked: str | None = None) -> list[OpenItem]:
    """The items that a later turn did not settle: it was not told to go ahead with all, and does not speak of them.

    `said` is the report of the turn and its commits, `asked` what the person answered to the list, None if nothing
    was changed since.
    """
    if asked is not None and _ACCEPTS.match(asked) and len(own_words(asked)) < FEWEST_TO_CHOOSE:
        return []
    lines = [line for text in (*said, asked or "") for line in text.splitlines()]
    texts = [sentence for line in lines for sentence in sentences(line)]
    return [item for item in items if not any(speaks_of(text, item.text) for text in texts)]


def speaks_of(text: str, item: str) -> bool:
    """Whether a sentence is about an item: it has most of the item's own words."""
    wanted = own_words(item)
    return bool(wanted) and len(wanted & own_words(text)) >= max(_MET * len(wanted), min(2, len(wanted)))
