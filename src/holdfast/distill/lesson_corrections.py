"""Rules in a person's words: what is always or never done here, and what they corrected.

Most orders are about the moment, however much they sound like rules. So a sentence counts only when its subject is
the work itself (an imperative, "we", "you"), it names something, and nothing in it points at the moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.model.experience import Correction
from holdfast.text.late import late

LONGEST_MESSAGE = 1200  # a longer one is a document that was pasted, not somebody's word
SHORTEST, LONGEST = 14, 170
MOST_OF_A_MESSAGE = 2

_OPENING = late(
    r"(?:(?:no|nope|ok|okay|yes|yeah|right|actually|well|so|and|but|please|also|hm+|sorry|wait|stop|hey|btw|fyi"
    r"|remember|note|just)\b[\s,.:;!–-]*)+",
    re.IGNORECASE,
)
_SENTENCE = late(r"(?<=[.!?;])\s+|\n+")
_DOES = (
    r"(?:use|run|add|put|write|mock|import|include|create|call|name|prefix|keep|store|return|check|test|commit|push"
    r"|amend|edit|touch|change|modify|delete|remove|mention|skip|format|lint|document|place|start|install|log|wrap"
    r"|assert|hard-?code|disable|ignore|rely|depend|import|export|define|declare|make|do|leave|ask|update|generate)"
)
_LASTING = late(
    rf"(?:(?:you|we|agents?|tests?) (?:should|must|need to|have to) |we |i want you to |make sure (?:to |you |we )?)?"
    rf"(?:always|never) {_DOES}\b"
    rf"|(?:from now on|going forward|in (?:the )?future|as a rule|by default|in this (?:repo"
    rf"|repository|project|codebase))\b,? .*\b{_DOES}\b"
    rf"|every time (?:you|we) .*\b{_DOES}\b",
    re.IGNORECASE,
)
_CORRECTS = late(
    rf"(?:we|this (?:repo|repository|project|codebase)) (?:only |always )?use[sd]? \S.*"
    rf"|(?:we|you) (?:don['’]?t|do not|never|should not|shouldn['’]?t|must not|mustn['’]?t) {_DOES} \S.*"
    rf"|(?:don['’]?t|do not|never|avoid|stop) (?:ever )?(?:use|using|mock|mocking|import"
    rf"|importing|hard-?cod\w+|add|adding|put|write)\b \S.*"
    rf"|use \S.* (?:instead of|rather than|and not|, not|not) \S.*"
    rf"|(?:prefer|stick to|stick with) \S.* (?:over|to|instead of|rather than) \S.*"
    rf"|(?:new )?(?:tests?|files?|docs|fixtures|helpers|types|components|migrations) (?:go|goes"
    rf"|live|lives|belong|belongs) (?:in|into|under|next to|beside) \S.*",
    re.IGNORECASE,
)
_ONE_OFF = late(
    r"\b(?:prs?|pull request|rebase|merge|branch|try again|for now|right now|this time|again|yet|today|tomorrow|review"
    r"|continue|see if|start (?:with|by)|wait|first|just (?:a|the|one)|only (?:a|the|one)|at"
    r" this point|any ?more|anything"
    r"|until|unless i|before we|the (?:above|below|following)|here is|step \d|option \d"
    r"|previous|let me|let['’]s|would|could"
    r"|maybe|wondering|think|seems|looks like|i guess|currently|if you|if we|your (?:last|previous)|changes? yet)\b",
    re.IGNORECASE,
)
_VAGUE = late(
    r"\b(?:this(?! (?:repo|repository|project|code ?base)\b)|that|these|those|it|its|them|they"
    r"|one|ones|above|below|there)\b",
    re.IGNORECASE,
)
_NAMED = late(r"`[^`]+`|\w[./_]\w|\b[a-z]+[A-Z]\w|(?<![\w-])--?\w|\w+\(\)|@\w|[\"“'][^\"”']{2,30}[\"”']")


def corrections_in(text: str, at: float | None, *, replied: bool) -> Iterator[Correction]:
    """Rules in one message; `replied` when it answers work that the agent did or proposed."""
    if len(text) > LONGEST_MESSAGE or text[:1] in "<{[#|/" or "```" in text:
        return
    found = 0
    for sentence in _SENTENCE.split(text):
        core = sentence.strip(" \t-*•>")
        if opening := _OPENING.match(core):
            core = core[opening.end() :]
        core = core.strip().rstrip(".!;")
        if not SHORTEST <= len(core) <= LONGEST or core[-1] in "?:" or core.count(" ") < 3:
            continue
        lasting = bool(_LASTING.match(core))
        if not lasting and not (replied and _CORRECTS.fullmatch(core)):
            continue
        if _ONE_OFF.search(core) or (_VAGUE.search(core) and not _NAMED.search(core)):
            continue
        if not lasting and not _NAMED.search(core):
            continue
        found += 1
        yield Correction(
            text=core[0].upper() + core[1:] if core[0].isalpha() else core, lasting=lasting, at=at
        )
        if found == MOST_OF_A_MESSAGE:
            return
