"""Finds instructions planted in a file that agents read: hidden text, forged marks, orders against the reader's own.

A guide may order its reader about: that is what it is for. So only those orders count that no honest guide gives:
to drop the instructions before it, to hide from the person what it does, to send secrets away. `quoted_text` is
stricter: it judges text that must not order at all.
"""

from __future__ import annotations

import re

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.guard.hidden_text import why_line_refused

_NEGATED = r"(?<!not )(?<!never )(?<!n't )(?<!n’t )(?<!cannot )(?<!to not )"
_OVERRIDES = PrefilteredRegex(
    rf"{_NEGATED}\b(?:ignore|disregard|forget|override)\b (?:all |any |the |of |your |these |everything |other ){{0,4}}"
    r"(?:previous|prior|above|earlier|preceding|foregoing|system|developer)(?:ly)? (?:\w+ ){0,2}?"
    r"(?:instructions?|prompts?|directives?|guidelines?|rules|messages?|orders)\b",
    re.IGNORECASE,
    words="ignor|disregard|forget|overrid",
)
_SECRECY = PrefilteredRegex(
    r"\b(?:do not|don't|don’t|never) (?:tell|mention|reveal|disclose|inform|show|report|alert|notify|warn)\b"
    r"(?: (?:any|the|a|your))* (?:(?:users?|humans?|person|developers?|anyone|anybody|owner)\b[^.]{0,12}"
    r"\b(?:about |of )?(?:this|these|it)\b|(?:this|these|it|that you)\b[^.]{0,40}\b(?:users?|humans?|person|developers?"
    r"|anyone|anybody|owner)\b)"
    r"|\bwithout (?:the |your )?(?:users?|humans?|person|developers?|anyone|owner)(?:'s|’s)? "
    r"(?:knowing|noticing|knowledge)\b",
    re.IGNORECASE,
    words="do not|don't|don’t|never|without",
)
_SENDING = PrefilteredRegex(
    r"\b(?:send|post|upload|exfiltrate|leak|curl|forward|e?mail)\b[^.;]{0,60}(?:\.env\b|\bid_rsa\b|~/\.ssh|\.aws/credentials"
    r"|\bcredentials\b|\bsecrets\b|\bprivate keys?\b|\b(?:api|access) (?:keys?|tokens?)\b|\bpasswords?\b)"
    r"[^;]{0,60}?(?:https?://|\bto [\w.+-]+@[\w-]+\.\w+)",
    re.IGNORECASE,
    words="send|post|upload|exfiltrat|leak|curl|forward|mail",
)
_WHY = (
    (_OVERRIDES, "it tells the reader to drop its other instructions"),
    (_SECRECY, "it tells the reader to hide something from the person"),
    (_SENDING, "it tells the reader to send secrets away"),
)
_CODE = lazy_regex(r"``.+?``|`[^`\n]*`")
_QUOTED = lazy_regex(r"[\"“][^\"”\n]{4,120}[\"”]")
_HIDDEN = "hidden text"


def why_planted(line: str, *, in_code: bool = False) -> str:
    """Why a line looks planted, or ''. Text in code or quotation marks is an example, but nothing may be hidden."""
    refused = why_line_refused(line)
    if refused.startswith(_HIDDEN):
        return refused
    if in_code:
        return ""
    plain = _CODE.sub(" ", line)
    if refused and (refused := why_line_refused(plain)):
        return refused
    plain = _QUOTED.sub(" ", plain)
    return next((why for pattern, why in _WHY if pattern.search(plain)), "")
