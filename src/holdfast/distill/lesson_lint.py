"""Rules that a linter enforces here, as it says them when it fails: a convention that sessions discover one by one.

What a compiler refuses, and what is merely unused, is the work of the moment and no convention.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from holdfast.guard.lesson_text import instructs
from holdfast.text.late import late
from holdfast.text.prose import without_escapes

_FOUND = tuple(
    late(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:\[[\w:.-]+\] )?\S+?:\d+(?::\d+)?: (?P<message>[^\n]{4,200}?) \((?P<rule>[a-z][\w-]+)\)$",
        r"^\s*\d+:\d+\s+(?:error|warning)\s+(?P<message>\S[^\n]{4,160}?)\s{2,}(?P<rule>[@\w/-]+)$",
        r"^\S+?:\d+:\d+: (?P<rule>[A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(?P<message>[^\n]{4,160})$",
        r"^(?P<rule>[A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(?P<message>[A-Z`][^\n]{4,160})$",
        r"\b(?P<rule>SC\d{4})\b[^:\n]{0,12}: (?P<message>[^\n]{4,160})$",
        r"\blint/(?P<rule>\w+/\w+)\b(?P<message>)",
        r"^\S+?:\d+(?::\d+)? (?:error )?(?P<rule>MD\d{3})/[\w/-]+ (?P<message>[^\n\[]{4,160}?)(?: \[[^\n]*)?$",
        r"^\s*[x×✖⚠!] (?P<rule>[a-z][\w-]+\([\w/@-]+\)): (?P<message>[^\n]{4,160})$",
        r"#\[(?:warn|deny)\((?P<rule>clippy::\w+)\)\](?P<message>)",
    )
)
_NO_CONVENTION = late(
    r"typecheck|unused|noUndeclared|gofmt|gofumpt|goimports|\bgci\b|prettier|deadcode|unparam|dupl|no-undef|import/no-unresolved|^F\d+|^E9\d\d|^E1\d\d\d|^TS\d+|syntax|parse",
    re.IGNORECASE,
)
_QUOTED = late(r"[`'\"][^`'\"\n]{1,80}[`'\"]")
_DETAIL = late(r"\(line \d+\) |: sig: .*|, such as .*|; consider .*|\s+in \S+\(\)$")
_CODE = late(r"([A-Z]+\d+): ")
_NUMBER = late(r"\b\d+(?:\.\d+)?\b")
_DANGLING = frozenset(
    ["of", "in", "from", "by", "to", "with", "for", "is", "a", "the", "and", "or", "as", "be"]
)
MOST = 12
MOST_READ = 4000  # of a linter's output
LONGEST = 110
GAP = "…"


def rules_in(output: str) -> Iterator[tuple[str, str]]:
    """Names of rules in a linter's output, each once with what it says, told of no particular place."""
    seen: set[str] = set()
    output = without_escapes(output) if "\x1b" in output else output
    if len(output) > MOST_READ:
        output = output[:MOST_READ].rpartition("\n")[0]
    for pattern in _FOUND:
        for match in pattern.finditer(output):
            rule, message = match["rule"], match["message"]
            if code := _CODE.match(message):  # one linter with many rules, each with its own code
                rule, message = f"{rule} {code[1]}", message[code.end() :]
            if rule not in seen and not _NO_CONVENTION.search(f"{rule} {message[:40]}") and len(seen) < MOST:
                seen.add(rule)
                yield rule, _general(message)


def _general(message: str) -> str:
    if instructs(message):
        return ""
    text = _NUMBER.sub("n", _QUOTED.sub("…", _DETAIL.sub("", message)))
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0] + "…"


def in_common(messages: Sequence[str]) -> str:
    """What a rule says: the words that all its messages share, with gaps, else the message of most; '' for none."""
    distinct = list(dict.fromkeys(messages))
    usual, times = Counter(messages).most_common(1)[0]
    words = distinct[0].split()
    for message in distinct[1:]:
        words = _shared(words, message.split())
    return _trimmed(words) or (_trimmed(usual.split()) if 2 * times > len(messages) else "")


def _trimmed(words: list[str]) -> str:
    """Without what leads nowhere at either end; '' when too little is left to say something."""
    least = 2
    while words and (words[-1] in _DANGLING or words[-1].endswith((":", "…", "("))):
        words.pop()
        least = 4  # what is left of a sentence says something only when it is long
    while words and words[0] == GAP:
        words.pop(0)
    text = " ".join(words).strip(" ,;(")
    return text if sum(word != GAP for word in words) >= least else ""


def _shared(some: list[str], other: list[str]) -> list[str]:
    """The runs of two words or more that two messages have in the same order."""
    result: list[str] = []
    for run in SequenceMatcher(None, some, other, autojunk=False).get_matching_blocks():
        if run.size > 1:
            result += [*([GAP] if result or run.a else []), *some[run.a : run.a + run.size]]
    return result
