"""Whether a sentence of a session settles something for later, or only belongs to its moment.

What is asked ("wait, why are there two?"), done ("Updated the settings"), seen ("the field is never cleared"), quoted
code, and orders for one answer ("reply with one word") settle nothing. A rule, a choice or a wish for how things are to
be does: "we should keep both", "use X instead of Y", "no longer needed". Lists for people go by it; it is made to err
towards showing less, because what it leaves out stays one click away. Other languages than English pass.
"""

from __future__ import annotations

import re

from holdfast.core.patterns import fold_case, lazy_regex
from holdfast.core.stopwords import ENGLISH
from holdfast.language.harvest_sentences import is_next_move

_LEAD = r"""\A(?:(?:ok(?:ay)?|yes|yep|no|sure|great|good|right|well|so|and|but|also|then|now|oh|ah|hmm+|wait|hey|hi
|sorry|actually|maybe|perhaps|please|thanks?)\b[\s,.!:–-]*)*"""
_ASKS = lazy_regex(
    _LEAD
    + r"""(?:(?:why|how|what|where|who|when|which|whether)\b(?!ever)
|(?:is|are|was|were|does|did|has|have|do|can|could|would|will|shall|should|isn't|aren't|doesn't|don't|didn't|can't
|couldn't|shouldn't|wouldn't)\ (?:we|you|i|it|they|there|this|that|these|those|the|any|anything|anyone|someone)\b
|.{0,80}\b(?:shouldn't|should|couldn't|isn't|aren't)\ (?:we|it|they|there|that|this)\b)""",
    re.VERBOSE,
)
_MOMENT = lazy_regex(
    _LEAD
    + r"""(?:(?:i'm|i\ am|i\ was|i\ were|i\ thought|i\ saw|i\ see|i\ tried|i\ found|i\ fixed|i\ added|i\ updated|i\ just
|i\ (?:then\ )?want\ to\ (?:see|start|test|try|run|know|check|look)|i'd\ recommend|i'll|i\ will|i\ need\ to|i've|i\ have
|i\ had|i\ don't\ (?:see|know|understand|get)|let\ me|looking\ at|here\ (?:is|are)|there\ (?:is|are|was|were)
|for\ example|for\ instance|you\ (?:said|are|were|did|have|marked|can)|you're
|it's\ (?:a|an|the)\ (?:test|bug|typo|mistake)
|spawn|reply|respond|answer|output|summari[sz]e|repeat|write\ (?:a|an|me)|tell|show|give|explain|rerun|re-run
|go\ ahead|carry\ on|proceed
|(?:do\ not|don't)\ (?:inspect|edit|touch|explain|run|answer|reply|respond|commit|push|modify|create|write|print)
|no\ (?:punctuation|explanations?|markdown|prose|preamble))\b
|.{0,24}\blet's\ (?:summari[sz]e|see|look|check|try|discuss|talk|respond|address|do\ (?:the|it|this)|go|start
|continue)\b)""",
    re.VERBOSE,
)
_REPORT = lazy_regex(
    _LEAD
    + r"""(?:updated|configured|added|removed|fixed|created|changed|implemented|refactored|moved|renamed|verified
|verification|tested|installed|committed|pushed|merged|all\ (?:tests|checks)|tests?\ (?:pass|fail)|now\ when|if\ someone
|the\ (?:refactoring|fix|change|optimi[sz]ation|commit|test|error|issue|problem|bug))\b""",
    re.VERBOSE,
)
_CODE = lazy_regex(r":=|\w ?= ?[\w.]+\(|[;{}]\Z|\A(?:def|func|class|import|return|const|let|var)\s")
_SETTLES = lazy_regex(
    r"""\b(?:should(?!\ (?:be\ (?:fixed|good|fine|done|gone|working|ok)|now|already|work|pass)\b)|must|ought\ to
|(?:has|have|needs?)\ to\ be|always
|never(?=\ (?:use|put|write|call|store|commit|log|add|return|show|ask|send|run)\b)
|no\ longer|not\ needed|instead\ of|rather\ than|prefer(?:s|red)?|decided?|agreed?|chose|opted
|go(?:ing)?\ with|stick\ (?:with|to)|settled?\ (?:on|for)
|we\ (?:want|need|use|keep|drop|only|don't|do\ not|won't|can\ (?:remove|drop|use|keep))
|we(?:\ wi|')ll\ (?:use|keep|not|only|store|support)
|let's\ \w+
|not\ \S+\ but|(?:do\ not|don't)\ (?:want|need|use|add|store|log|put|call|support|allow|rely)
|(?:best|better)\ (?:option|workaround|way|approach|setup|to)|by\ default|is\ to\ use
|only\ (?:for|when|if|in|on|relevant)|stays?)\b|,\ not\ \S""",
    re.VERBOSE,
)
_RECORDED = lazy_regex(r"(?:noted|decided|agreed|settled|decision|recorded)\b ?[:,–-]")  # both have said it
_ORDER = lazy_regex(
    _LEAD
    + r"""(?:use|keep|call|name|rename|remove|drop|store|put|avoid|return|treat|allow|require|split|move|replace
|support|default|limit|retry|log|prefer|make\ (?:it|the|sure|every|all)|only|never|always)\b""",
    re.VERBOSE,
)
_LONGEST = 600  # characters of a sentence that people say; what is longer is pasted


def settles(text: str, by: str = "", *, answers: bool = False) -> bool:
    """Whether this says what is to hold. An agent's words need a mark of choice: it also gives orders to itself.

    What `answers` a question needs none.
    """
    if len(text) > _LONGEST:
        return False
    words = fold_case(text).replace("’", "'").split()
    flat = " ".join(words)
    if by != "agent" and len(words) > 1 and ENGLISH.isdisjoint(words) and not flat.isascii():
        return not is_next_move(flat)
    chosen = (
        answers or _RECORDED.match(flat) or _SETTLES.search(flat) or (by != "agent" and _ORDER.match(flat))
    )
    if not flat or not chosen or is_next_move(flat):
        return False
    if _CODE.search(flat) or _ASKS.match(flat) or _MOMENT.match(flat):
        return False
    return not (by == "agent" and _REPORT.match(flat))
