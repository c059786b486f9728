"""Checks that fail at the end of a session, as to-dos: only failures of this repository's code.

A check that ran in another repository, a tool that is missing or was called wrongly, a time limit, a sandbox and a CI
that is still running say nothing about the code. Nor does a failure that the agent reports as older than its work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.language.checks import only_warns
from holdfast.language.own_words import own_words
from holdfast.language.prose import without_escapes
from holdfast.model.ledger import FailureReason
from holdfast.model.memory import OpenItem
from holdfast.sessions.digest import CheckResult, Turn
from holdfast.sessions.summary import cut

LONGEST_COMMAND = 80
_ELSEWHERE = lazy_regex(
    r"\bgit\s+(?:stash|checkout|switch|worktree)\b|(?:\A|&&|;|\|\||\()\s*cd\s+[\"']?(?:/|~|\.\./|[A-Za-z]:[/\\]|\$(?!\())"
    r"|\s(?:-C|--directory|--cwd|--prefix|--manifest-path|--project|--rootdir|--root|-f)[ =][\"']?(?:/|~|\.\./)"
)
_NOT_THE_CODE = PrefilteredRegex(
    r"python\S*: no module named"
    r"|command not found|not recogni[sz]ed|no such file or directory|externally-managed|permission denied"
    r"|operation not permitted|sandbox|read-only file system|no space left|connection (?:refused|reset)|econnrefused"
    r"|could not resolve host|getaddrinfo|rate limit|timed? ?out|index\.lock|lock file"
    r"|(?:unknown|invalid|illegal|unsupported|unrecogni[sz]ed|unexpected) (?:sub-?)?(?:command|option|flag|argument)"
    r"|flag provided but not defined|no tests? (?:found|ran|to run|files)|no rule to make target|missing script"
    r"|does not contain (?:main module|package)|no go files|context loading failed|something went wrong"
    r"|could ?n[o']t find (?:a |an )?(?:config|package\.json|cargo|pyproject|go\.mod)|not in gopath|no package\.json"
    r"|\b(?:awk|sed|jq|grep|rg|xargs|find|zsh|bash|sh): |unexpected eof|bad substitution|no matches found",
    re.IGNORECASE,
)
OLDER = PrefilteredRegex(
    r"\bpre-?existing\b|\bunrelated\b[^.]{0,60}\b(?:fail|error|test|lint|warning)|\b(?:fail\w*|errors?)\b[^.]{0,60}"
    r"\bunrelated\b|\b(?:already|also) (?:fail\w*|broken|red) (?:on|before|at|in|without)\b|\bflaky\b"
    r"|\bnot (?:caused|introduced) by\b",
    re.IGNORECASE,
    words="existing|unrelated|already|also|flaky|not caused|not introduced",
)
_FAILURE = PrefilteredRegex(
    r"fail|error|panic|exception|assert|expected|undefined|cannot|can't|not |issue|problem|warning|[✖✗×❌]|\d:\d",
    re.IGNORECASE,
)
_NOT_IN_THE_CODE = (FailureReason.TIMEOUT, FailureReason.INTERRUPTED, FailureReason.API_ERROR)


def failing_checks(turn: Turn) -> Iterator[OpenItem]:
    """The checks of the last turn that still fail."""
    if OLDER.search(turn.final):
        return
    for kind, check in turn.checks.items():
        if check.passed or not blames_the_code(check):
            continue
        evidence = " ".join(without_escapes(check.evidence).split())
        command = cut(" ".join(check.command.split()), LONGEST_COMMAND)
        if command and not _FAILURE.search(evidence):
            evidence = f"`{command}`"
        elif command and not own_words(evidence):
            evidence = f"{evidence.rstrip(' :.')} (`{command}`)"
        why = f"{check.reason} at the end of the session"
        text = f"{kind} fails: {evidence}"
        yield OpenItem(text=text, why=why, owner="agent", priority="high", at=turn.at)


def blames_the_code(check: CheckResult) -> bool:
    if check.reason in _NOT_IN_THE_CODE or only_warns(check.evidence) or not check.evidence.strip():
        return False
    return not _NOT_THE_CODE.search(check.evidence) and not _ELSEWHERE.search(check.command)
