"""What a session was told by a linter, and whether it gave in: findings that stay are somebody else's."""

from __future__ import annotations

import re

from msgspec.structs import replace

from holdfast.distill.harvest_state import Gathered, raw
from holdfast.distill.lesson_lint import MOST_READ, findings_in
from holdfast.distill.lesson_notes import keep
from holdfast.distill.lesson_words import job, purpose_of, subject_of
from holdfast.distill.shell_line import Simple, masks, simple_commands
from holdfast.model.experience import Stumble
from holdfast.text.late import late

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
