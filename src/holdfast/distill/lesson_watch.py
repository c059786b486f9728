"""Watches calls go by for what they teach: failures and the variant that worked, commands that do a job here.

An edit ends the wait for a command's remedy: what passes after it was repaired, not called in another way.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from holdfast.distill import checks
from holdfast.distill.harvest_state import Gathered, Job, Slip, raw
from holdfast.distill.lesson_instead import instead
from holdfast.distill.lesson_linting import may_lint, shows_findings, watch_rules
from holdfast.distill.lesson_notes import LONGER, PATIENCE, grow_older, note, wait
from holdfast.distill.lesson_paths import paths_in, watch_listing
from holdfast.distill.lesson_remedies import remedy, same_file
from holdfast.distill.lesson_seeking import was_sought
from holdfast.distill.lesson_signs import excerpt, said_by_shell, signs_in
from holdfast.distill.lesson_slips import SOFT, slip_of, worker
from holdfast.distill.lesson_words import elsewhere, job, purpose_of
from holdfast.distill.shell_line import Simple, masks, name_of, simple_commands
from holdfast.guard.redact import Redactor
from holdfast.text.late import late
from holdfast.text.sought import Sought

MOST_JOBS = 60
MOST_PARTS = 6  # of a line whose commands are told apart
MOST_IN_VAIN = 4
# What no edit of the code mends: the call itself was wrong.
OF_THE_CALL = frozenset(["flag", "command", "glob"])
SHORT = 400  # an output that a masked failure may be told by
UNMATCHED = frozenset(["unmatched"])
SAID_BY_SHELL = frozenset(["program"]) | UNMATCHED
_FAILED_TEST = late(
    r"^\s*--- FAIL: (\w+)|^FAILED (\S+::\S+)|^\s*[✗✕×] (\S.{3,60}?)(?: \d+ ?ms)?$", re.MULTILINE
)
_SAYS_IT_FAILED = late(  # where a pipe, or what follows, hides it
    r"^(?:error|fatal|npm err!|npm error)\b|: command not found\b|\bcommand not found: |\bno matching distribution\b",
    re.MULTILINE | re.IGNORECASE,
)
_TEST_COUNTS = late(
    r"\b\d+ (?:passed|failed|passing|failing)\b|\bTests?:? +\d"
)  # a linter marks its finds with a cross too
_OTHER_JOB = Sought(
    r"(?:^|[\s:/-])(?:fmt|format|gofmt|gofumpt|goimports|prettier|generate|codegen|gen|setup"
    r"|bootstrap|install|sync|dev|start|serve|--fix|--write)(?=[\s:]|$)",
    words="fmt|format|gofumpt|goimports|prettier|gen|setup|bootstrap|install|sync|dev|start|serve|--fix|--write",
)


def watch_shell(state: Gathered, command: str, output: str, *, ok: bool | None, at: float | None) -> None:
    """Takes one shell call that came to its end."""
    slip = None
    if ok is False:
        command = _without_secrets(command)
        if may_lint(command) and (state.ruled or shows_findings(output)):
            watch_rules(state, command, output, at, ok=False)
        slip = slip_of(command, excerpt(output), at)
        if slip is None:
            _jobs(state, command, worked=False, at=at)
            _watch_checks(state, command, output, at)
    else:
        if may_lint(command) and (state.ruled or (masks(command) and shows_findings(output))):
            watch_rules(state, _without_secrets(command), output, at, ok=ok)
        if causes := _hidden_causes(command, output, unknown=ok is None):
            clean = _without_secrets(command)
            if ok is None or masks(clean) or causes <= SAID_BY_SHELL:
                slip = slip_of(clean, excerpt(output), at, only=causes)
    if ok is False and state.slips:
        _in_vain(state, command)
    if slip is not None:
        wait(state, slip)
        return
    if ok is False:
        grow_older(state)
        return
    awaited = bool(state.slips or state.shaky)
    if awaited and not (masks(command) and _SAYS_IT_FAILED.search(output[:2000])):
        _resolve(state, _without_secrets(command), output)
    if ok and _OTHER_JOB.search(command):
        if awaited or masks(command):
            command = _without_secrets(command)
        if _OTHER_JOB.search(command):
            _jobs(state, command, worked=True, at=at, other=True)


def _hidden_causes(command: str, output: str, *, unknown: bool) -> frozenset[str]:
    """By which signs a call may be known to have failed whose exit code does not say so, or is not known.

    In a long output only by what a shell says itself, which programs seldom print.
    """
    if not output:
        return frozenset()
    if not (unknown or masks(command)):
        return UNMATCHED if said_by_shell(output) else frozenset()
    if len(output) > SHORT and not (unknown and "command not found" in output):
        return UNMATCHED if said_by_shell(output) else frozenset()
    causes = SOFT if len(output) <= SHORT else SAID_BY_SHELL
    return causes if signs_in(excerpt(output)) else frozenset()


def misused(command: str, output: str) -> bool:
    """Whether an output says that a check was called in a wrong way, whatever the line's exit code says."""
    if _hidden_causes(command, output, unknown=False) != SOFT:
        return False
    slip = slip_of(command, excerpt(output), None, only=SOFT - {"path", "glob"})
    return slip is not None and slip.part is not None and bool(purpose_of(slip.part))


def lacks_proof(state: Gathered, command: str) -> bool:
    """Whether a command does a job of which no line is known yet that says that all is well."""
    return any((known := state.jobs.get(text)) is None or not known.line for text, _, _ in _jobs_in(command))


def verified(state: Gathered, command: str, line: str, at: float | None) -> None:
    """Takes a command that passed its verification; whether it did is somebody else's judgement."""
    _jobs(state, command, worked=True, at=at, line=line)


def edited(state: Gathered, path: str) -> None:
    """An edit: files may still turn up, commands may not; a file that was written was not there before."""
    waiting = []
    for slip in state.slips:
        if slip.cause in LONGER:
            slip.age = max(slip.age, PATIENCE)
            waiting.append(slip)
        elif slip.part is not None and slip.cause in OF_THE_CALL:
            note(state, slip, "")  # nobody found what helps, and it will fail again
        elif slip.part is None and slip.token not in path.splitlines():
            waiting.append(slip)
    state.slips = waiting
    state.shaky = {}


# --- remedies ---


def _resolve(state: Gathered, command: str, output: str) -> None:
    parts = [
        part for part in simple_commands(command) if part.words and part.program not in ("echo", "printf")
    ]
    grow_older(state)
    _settle_tests(state, parts)
    for slip in list(state.slips):
        if slip.part is None:
            named = (path for part in parts for path in paths_in(part))
            if found := next((path for path in named if same_file(slip.token, path)), ""):
                state.slips.remove(slip)
                note(state, slip, found)
            continue
        part = remedy(slip.cause, slip.token, slip.part, parts)
        if part is None or (slip.age >= PATIENCE and not _names(part, slip)):
            continue
        if not elsewhere(part) and (text := instead(slip, part, parts)):
            state.slips.remove(slip)
            note(state, slip, text)
    watch_listing(state, output)


def _names(part: Simple, slip: Slip) -> bool:
    """Whether a call that comes late is of the program itself: what only does the same job is other work by then."""
    return slip.cause == "engine" or slip.token in [name_of(word) for word in part.words[:6]]


def _in_vain(state: Gathered, command: str) -> None:
    """A call that would have been the remedy, and failed too."""
    parts = [part for part in simple_commands(command) if part.words and not part.shapes]
    for slip in state.slips:
        part = remedy(slip.cause, slip.token, slip.part, parts[-1:]) if slip.part is not None else None
        if part is not None and (text := instead(slip, part, parts)) and text not in slip.vain:
            slip.vain = [*slip.vain, text][-MOST_IN_VAIN:]


# --- checks that fail ---


def _watch_checks(state: Gathered, command: str, output: str, at: float | None) -> None:
    """A check that failed in earnest: tests may be shaky."""
    part = worker(simple_commands(command))
    kind = checks.check_kind(part.text) if part is not None else None
    if part is None or kind != "test":
        return
    if purpose_of(part) not in ("test", "one test"):
        return
    counted = bool(_TEST_COUNTS.search(output))
    found = (
        go or python or (marked if counted else "")
        for go, python, marked in _FAILED_TEST.findall(excerpt(output))
    )
    names = [name for name in found if name][:3]
    if names and len(names) <= 2:
        state.shaky = {name: raw(part.text) for name in names}


def _settle_tests(state: Gathered, parts: list[Simple]) -> None:
    for name, command in list(state.shaky.items()):
        if any(part.text == command for part in parts):
            del state.shaky[name]
            note(state, Slip("flaky", "", name, "failed, then passed without an edit", None, None), "")


# --- commands that do a job ---


def _jobs(
    state: Gathered, command: str, *, worked: bool, at: float | None, other: bool = False, line: str = ""
) -> None:
    for text, purpose, checking in _jobs_in(command):
        if other and checking:
            continue
        known = state.jobs.get(text)
        if known is None and len(state.jobs) < MOST_JOBS:
            known = state.jobs[text] = Job(purpose, at)
        if known is not None:
            if worked and not known.worked:
                known.sought = was_sought(state, text, purpose)
            known.worked += worked
            known.failed += not worked
            known.at = at or known.at
            known.line = known.line or raw(line)


@lru_cache(maxsize=512)  # the same few commands come again and again
def _jobs_in(command: str) -> tuple[tuple[str, str, bool], ...]:
    """The commands of a line that do a job, as a rule names them; and whether each of them verifies."""
    parts = simple_commands(_without_secrets(command))
    if len(parts) > MOST_PARTS:
        return ()
    doing = ((part, purpose_of(part)) for part in parts if not part.shapes)
    named = ((job(part), purpose, bool(checks.check_kind(part.text))) for part, purpose in doing if purpose)
    return tuple(one for one in named if one[0])


@lru_cache(maxsize=512)
def _without_secrets(command: str) -> str:
    """A command that may be taken apart: what tells that a word is a password may be the word before it."""
    return _redactor().redact(command)


@cache
def _redactor() -> Redactor:
    return Redactor()
