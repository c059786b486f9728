"""Counts what a sentence says about its own work: words and names that the report of any other work would not have.

"Committed and pushed, all tests pass" could end any session and has none; "the limiter counts per key now" has three.
"""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.core.likeness import stem
from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import ENGLISH, FILLER, OTHER_LANGUAGES
from holdfast.core.words import word_set
from holdfast.language.checks import check_kind

# Words of the steps that end any work, and of reporting them.
ROUTINE = word_set(
    """
    a again all also and any are back branch branches build builds bump change changes changed check checks ci clean
    cleanly clear close closed code commit commits committed complete completed confirm confirmed conflict conflicts
    correct correctly coverage create created current currently directly done draft edit edited edits end error errors
    every everything exit expected fail failed failing fails failure failures file files final finally find findings
    finish finished fix fixed fixes focused for format formatted formatter formatting found full fully functionality
    gate gates git github gitlab go good great green head hook hooks implement implementation implemented improve
    improved install installed is issue issues it item items land landed latest line lines lint linter linting list live
    local locally look main make mark master merge merged message missing modified new next no now number ok okay old on
    open opened origin output overall package page part pass passed passes passing path pending perfect point
    pr present problem proceed prs publish published pull push pushed quality ready rebase rebased receive received
    release relevant remain remaining remote remove removed report reported repo repository request requested requests
    rerun resolve resolved result results review reviewed rewrite root run running runs save saved set ship shipped
    show shown squash stage staged started state status step steps still stop submit submitted success
    successful successfully suite summary support sync task tasks target targeted test tested testing tests the then to
    tracked tree trees try two three four type typecheck typechecks types unit untouched untracked unstaged up update
    updated upstream url use used validate validated validation verification verified verify version wait warning
    warnings with work worked workflow working works workspace worktree zero
    """
)
_STEMS = frozenset(map(stem, ROUTINE))
_CODE = lazy_regex(r"`([^`\n]{1,120})`")
_LINK = lazy_regex(r"\w+://\S+|\B#\d+\b")
_HASH = lazy_regex(r"[0-9a-f]{7,40}")
_WORD = lazy_regex(r"[^\W\d_][\w.'’-]*[\w]|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_BRANCH = lazy_regex(r"\b(?:branch|branches|onto)\s*:?\s+\Z", re.IGNORECASE)
_WIDE = lazy_regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STOP = ENGLISH | FILLER | frozenset().union(*OTHER_LANGUAGES.values())


@lru_cache(maxsize=2048)
def own_words(text: str) -> frozenset[str]:
    """The words and names of a text that belong to its own work."""
    names: set[str] = set()

    def name(match: re.Match[str]) -> str:
        span = match[1].strip()
        before = text[max(match.start() - 20, 0) : match.start()]
        if not _HASH.fullmatch(span) and not _is_routine_command(span) and not _BRANCH.search(before):
            names.add(stem(span.casefold()) if " " not in span else span)
        return " "

    plain = _LINK.sub(" ", _CODE.sub(name, text) if "`" in text else text)
    for word in _WORD.findall(plain):
        folded = word.casefold()
        if _WIDE.match(folded):
            names.update(folded[place : place + 2] for place in range(0, len(folded), 2))
        elif (
            len(folded) > 2
            and folded not in _STOP
            and not _is_routine(folded)
            and not _HASH.fullmatch(folded)
        ):
            names.add(stem(folded))
    return frozenset(names)


def _is_routine(word: str) -> bool:
    return all(stem(part) in _STEMS or part in _STOP for part in word.split("-"))


def _is_routine_command(span: str) -> bool:
    """Whether a code span is a branch of git, a call of git or a check: steps, not what was worked on."""
    return span.startswith(("git ", "gh ")) or stem(span.casefold()) in _STEMS or check_kind(span) is not None
