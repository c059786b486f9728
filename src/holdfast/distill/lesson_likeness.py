"""Whether two rules are one lesson: the same cause, whatever the remedy and the wording."""

from __future__ import annotations

import re

from holdfast.distill.likeness import Likeness, compare

_SPAN = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"[\w ]{2,12}: `([^`\n]+)`")
_REFUSED = re.compile(r"\b(?:is|are) refused here\b.* by (?:a hook|configuration|the client)\b")
_FAILS = re.compile(
    r"\bfails?\b|\bdoes not exist\b|\bthere is no\b|\bis not (?:found|installed)\b"
    r"|\bneeds\b|\benforces\b|\bflaky\b|\btakes long\b"
)


def same_rule(one: str, other: str) -> bool:
    """Rules about a failing call or a command are told apart by it; others by what they say."""
    some, others = _cause(one), _cause(other)
    if some or others:
        return some == others
    return compare(one, other).likeness is Likeness.SAME


def _cause(rule: str) -> tuple[str, ...]:
    if match := _COMMAND.fullmatch(rule.strip()):
        return ("works", match[1])  # that a command works is not what says that it fails
    failing = rule.partition("→")[0].rstrip()
    if _REFUSED.search(failing):
        return ("refused", failing)  # by the hook's words: one hook refuses a call for several reasons
    return ("fails", *_SPAN.findall(failing)) if _FAILS.search(failing) else ()
