"""What a person's message is to the work under way: praise, a complaint, a short answer, a pasted error, a chore."""

from __future__ import annotations

import re

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.language.prose import prose_of

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
    r"|no funciona|不对|不行|还是报错|还是不|没用|.{0,40}(?:改坏|弄坏|搞坏))",
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
_ONLY_PRAISE = PrefilteredRegex(
    r"\W*(?:(?:ok(?:ay)?|yes|great|cool|nice|perfect|awesome|excellent|thanks?(?: you| a lot)?|thank you"
    r"|ty|lgtm|works?(?: now)?|looks? (?:good|great)|that works|it works|love it|super|well done|good job|danke|merci"
    r"|gracias)\W*){1,4}",
    re.IGNORECASE,
)
SHORT = 60  # characters of a message that only steers
_REPLY = lazy_regex(
    r"\W*(?:(?:yes|yeah|yep|no|ok(?:ay)?|sure|please|great|perfect|cool|sounds good|looks good|alright|and|then"
    r"|now|let'?s)\W+)*"
    r"(?:[a-z]|\d{1,2}|option \w+|both|all(?: of them)?|none|yes|no|nope|do (?:it|that|so|this)|please do"
    r"|go(?: ahead| on| for it)?"
    r"|make (?:the|these|those|that) changes?|apply (?:it|them|the changes?|the fix)|try (?:again|it)(?: now)?"
    r"|@?agent .{0,40}"
    r"|continue.{0,30}|proceed.{0,30}|next|fix (?:it|this|that|them)|implement (?:it|this|that|the plan)|start"
    r"|recommended"
    r"|keep going|resume|retry|redo|done|correct|exactly|agreed?|approved?|confirmed?|test|stop|wait"
    r"|never ?mind|undo)?\W*",
    re.IGNORECASE,
)
_CHORE = lazy_regex(
    r"\W*(?:(?:ok(?:ay)?|yes|great|perfect|cool|nice|good|now|and|then|please|can you|could you|let'?s"
    r"|go ahead and)\W+)*"
    r"(?:comm?it|push|merge|rebase|ship|open (?:a |the )?pr|(?:create|make|open) (?:a |the )?(?:pr|pull request)"
    r"|run (?:the )?(?:tests?|lint\w*|checks?|build))\b.{0,40}",
    re.IGNORECASE | re.DOTALL,
)
_STILL = PrefilteredRegex(
    r"^\W*(?:(?:ok(?:ay)?|h+m+|well|but|and|so|yeah|yes|no|sorry|wait|thanks|great|cool|nice|actually|i(?:'?m"
    r"| am)|it'?s"
    r"|that'?s|we(?:'?re| are)|is|sorry to say)\b\W+){0,3}"
    r"(?:still\b|same (?:issue|error|problem|thing|result)|the same\b|(?:it|that|this|they) (?:has|have|had|is"
    r"|are|was|were|does"
    r"|do|did|still|wo|ca)(?:n['’]?t| not)\b|are you sure|again\b|not (?:yet|quite|fixed|working)"
    r"|nothing (?:changed|happens)"
    r"|didn['’]?t (?:work|help)|doesn['’]?t (?:work|help)|sigue\b|todavía|immer noch|toujours)",
    re.IGNORECASE,
)
_PASTED = lazy_regex(
    r"\s*(?:[⨯✗✖❌✓>$❯]|\[?(?:error|warn(?:ing)?|info|debug|eslint|vite|plugin)[\]:]|traceback \(|unhandled |uncaught "
    r"|\w*(?:Error|Exception): |at \S+ \(|npm (?:err|warn)|\d{4}-\d\d-\d\d[T ]\d\d:|[-*] [A-Z]\w* \d+: "
    r"|failed to compile"
    r"|\w+@\w+:\S*[$#] |PS [A-Z]:\\)",
    re.IGNORECASE,
)


def is_complaint(text: str) -> bool:
    """Whether a message says that the work before it is wrong."""
    return bool(_COMPLAINT.search(text))


def approves(text: str) -> bool:
    """Whether a message accepts the work before it."""
    return bool(_APPROVAL.search(text))


def only_praises(text: str) -> bool:
    return bool(_ONLY_PRAISE.fullmatch(text))


def repeats_complaint(text: str) -> bool:
    """Whether a message says that a fault is still there."""
    return is_complaint(text) or bool(_STILL.search(text))


def is_chore_request(text: str) -> bool:
    """Whether a message only asks to commit, push or run the checks."""
    return len(text) <= SHORT and bool(_CHORE.fullmatch(text.strip()))


def is_pasted(text: str) -> bool:
    """Whether a message is a piece of output, without a word of the person."""
    return bool(_PASTED.match(text)) or not prose_of(text).lines


def steers(text: str, command: str = "") -> bool:
    """Whether a message steers the work under way, and asks for nothing new."""
    text = text.strip()
    if command and command != "/undo":
        return False
    if len(text) <= SHORT and (_REPLY.fullmatch(text) or _CHORE.fullmatch(text)):
        return True
    return repeats_complaint(text) or is_pasted(text)
