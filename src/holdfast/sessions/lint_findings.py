"""Rules that a linter enforces here, as it says them when it fails: a convention that sessions discover one by one.

What a compiler refuses, and what is merely unused, is the work of the moment and no convention.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from msgspec.structs import replace

from holdfast.core.patterns import late
from holdfast.core.shell import Simple, masks, simple_commands
from holdfast.guard.hidden_text import instructs
from holdfast.model.lesson import Stumble
from holdfast.sessions.command_words import job, purpose_of, subject_of
from holdfast.sessions.experience import keep
from holdfast.sessions.harvest_state import Gathered, raw
from holdfast.sessions.prose import without_escapes

_FOUND = tuple(
    late(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:\[[\w:.-]+\] )?\S+?:\d+(?::\d+)?: (?P<message>[^\n]{4,200}?) \((?P<rule>[a-z][\w-]+)\)$"
        r"(?:\n(?:\[[\w:.-]+\] )?[ \t]+(?P<code>\S[^\n]*)\n(?:\[[\w:.-]+\] )?\s*\^)?",
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
_SOME = "\0"  # a number, while messages are compared
_DANGLING = frozenset(
    ["of", "in", "from", "by", "to", "with", "for", "is", "a", "the", "and", "or", "as", "be"]
)
_COUNTED = late(r"^(?:\[[\w:.-]+\] )?\* (?P<rule>[a-z][\w-]+): \d+$", re.MULTILINE)  # the closing count
MOST = 12
MOST_READ = 4000  # of a linter's output
LONGEST = 140
GAP = "…"
_CODE_LENGTH = range(12, 71)  # shorter says nothing (`return err`), longer costs more than it tells


class Finding(NamedTuple):
    """A rule, what it says, and the line that it was found in where the linter shows one."""

    rule: str
    message: str
    code: str


class Findings(NamedTuple):
    """Each rule once, told of no particular place; `alone` when the linter had nothing else to say."""

    found: list[Finding]
    alone: bool


def findings_in(output: str) -> Findings:
    """What a linter's output names, without what is no convention: that only keeps the others from being alone."""
    found: dict[str, Finding] = {}
    output = without_escapes(output) if "\x1b" in output else output
    named = {match["rule"] for match in _COUNTED.finditer(output[-MOST_READ:])}
    whole = len(output) <= MOST_READ or bool(named)  # the count names what was not read
    if len(output) > MOST_READ:
        output = output[:MOST_READ].rpartition("\n")[0]
    for pattern in _FOUND:
        for match in pattern.finditer(output):
            rule, message = match["rule"], match["message"]
            named.add(rule)
            if code := _CODE.match(message):  # one linter with many rules, each with its own code
                rule, message = f"{rule} {code[1]}", message[code.end() :]
            if rule in found or _NO_CONVENTION.search(f"{rule} {message[:40]}") or len(found) >= MOST:
                continue
            found[rule] = Finding(rule, _general(message), _shown(match.groupdict().get("code") or ""))
    return Findings(list(found.values()), whole and len(named) == 1)


def _general(message: str) -> str:
    if instructs(message):
        return ""
    text = _QUOTED.sub(GAP, _DETAIL.sub("", message))
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0] + GAP


def _shown(code: str) -> str:
    code = code.strip()
    return code if len(code) in _CODE_LENGTH and "`" not in code and not instructs(code) else ""


def in_common(messages: Sequence[str]) -> str:
    """What a rule says: the words that all its messages share, with gaps, else the message of most; '' for none.

    Numbers are said as far as they reach: they show where the limit is.
    """
    shapes = [_NUMBER.sub(_SOME, message) for message in messages]
    distinct = list(dict.fromkeys(shapes))
    usual, times = Counter(shapes).most_common(1)[0]
    words = distinct[0].split()
    for shape in distinct[1:]:
        words = _shared(words, shape.split())
    text = _trimmed(words) or (_trimmed(usual.split()) if 2 * times > len(messages) else "")
    return _with_numbers(text, messages)


def _with_numbers(text: str, messages: Sequence[str]) -> str:
    """The text with from where to where each number went, in the messages that have as many of them."""
    gaps = text.count(_SOME)
    known = [numbers for numbers in map(_NUMBER.findall, messages) if len(numbers) == gaps]
    for place in range(gaps):
        some = sorted({numbers[place] for numbers in known}, key=float)
        reach = "n" if not some else some[0] if len(some) == 1 else f"{some[0]} to {some[-1]}"
        text = text.replace(_SOME, reach, 1)
    return text


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


# What a session was told by a linter, and whether it gave in: findings that stay are somebody else's.

HEEDED = "heeded"  # the finding was gone when the linter ran again
_COMMITS = "git commit"
_LINTING = frozenset(["lint", "format", "check"])
_LINTS = late(r"(?:^|[\s:/-])(?:lint|check|fix|clippy|eslint|oxlint|biome|ruff|markdownlint)\b")
_FINDINGS = late(
    r"\d:\d+[: ]|:\d+ (?:error )?MD\d|\blint/\w|\b[A-Z]{1,4}\d{3,4}\b|clippy::|^\s*[x×✖⚠!] [a-z][\w-]+\(",
    re.MULTILINE,
)
_CLEAN = late(
    r"(?i)\b(?:0|no) (?:\w+ )?(?:issues?|errors?|problems?|warnings?)\b|all checks passed|\bclean\b"
)


def may_lint(command: str) -> bool:
    return (
        "lint" in command
        or "check" in command
        or "fix" in command
        or "clippy" in command
        or "commit" in command
    )


def shows_findings(output: str) -> bool:
    """Whether an output may be a linter's that found something: it names places, or rules by their codes."""
    return bool(_FINDINGS.search(output[:MOST_READ]))


def watch_rules(state: Gathered, command: str, output: str, at: float | None, *, ok: bool | None) -> None:
    """Takes a call that may lint: by itself, or because a commit does. A pipe may hide that it did not pass."""
    hidden = ok is not False and masks(command)
    parts = simple_commands(command)
    found: set[str] = set()
    if (ok is False or hidden) and (named := _linter(parts)):
        findings, alone = findings_in(output)
        for rule, message, code in findings:
            found.add(rule)
            state.ruled = True
            made = Stumble(
                cause="rule",
                subject="",
                token=rule,
                tried=named,
                failed=raw(message),
                at=at,
                alone=alone,
                example=code,
            )
            keep(state, made)
            if alone and not (known := state.stumbles.get(made.key, made)).alone:
                state.stumbles[made.key] = replace(known, alone=True)
    seen_whole = not masks(command)
    if (found and seen_whole) or (ok and (seen_whole or _CLEAN.search(output))):
        _heed(state, parts, found)


def _linter(parts: tuple[Simple, ...]) -> str:
    """The command of a line that lints, as a rule names it: a linter before what formats or commits beside it."""
    doing = [part for part in parts if part.words and not part.shapes]
    named = sorted(doing, key=lambda part: purpose_of(part) != "lint")
    return next((text for part in named if (text := _named(part))), "")


def _named(part: Simple) -> str:
    if part.words[:2] == ("git", "commit"):
        return _COMMITS
    return job(part) if purpose_of(part) in _LINTING or _LINTS.search(part.text) else ""


def _heed(state: Gathered, parts: tuple[Simple, ...], found: set[str]) -> None:
    """Findings that a linter had and has no more."""
    known = [item for item in state.stumbles.values() if item.cause == "rule" and not item.instead]
    if not known:
        return
    ran = {subject_of(part) for part in parts if part.words}
    for item in known:
        linter = simple_commands(item.tried)
        if item.token not in found and linter and subject_of(linter[-1]) in ran:
            state.stumbles[item.key] = replace(item, instead=HEEDED)
