"""Watches calls for failures with the variant that worked, and for commands that do a job in this repository.

An edit ends the wait for a command's remedy: what passes after it was repaired, not called differently.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.core.shell import Simple, masks, name_of, names, path_of, simple_commands, unquoted
from holdfast.guard.redact import Redactor
from holdfast.language import checks
from holdfast.language.command_words import (
    LONGEST,
    REST,
    home_relative,
    is_outside_checkout,
    is_session_specific,
    job_text,
    purpose_of,
    rule_text,
    subject_of,
    with_flags,
)
from holdfast.language.failure_wording import excerpt, said_by_shell, signs_in
from holdfast.language.remedies import remedy, same_file
from holdfast.sessions.corrections import had_to_search
from holdfast.sessions.digest import Gathered, Job, Slip, cut_raw_line
from holdfast.sessions.enforced_rules import may_lint, shows_findings, watch_rules
from holdfast.sessions.failing_calls import (
    LONGER,
    PATIENCE,
    SOFT,
    age_slips,
    await_remedy,
    paths_in,
    record_slip,
    slip_of,
    watch_listing,
    worker,
)

_SWITCHES = names("use shell exec x run env")
_MANAGERS = names(
    "nvm fnm n volta mise asdf rtx nodenv rbenv pyenv chruby sdk jenv goenv direnv nix proto vfox"
)
_PATH = lazy_regex(r"""(?:export )?PATH=["']?(?P<first>[^:"'$\s]+):""")
_AT_HOME = lazy_regex(r"\A/(?:home|Users)/[^/]+/")
TARGETS = names(
    "--lib --bin --bins --test --tests --bench --example --filter -p --package --project -w --workspace"
)
_NAMED_TARGETS = TARGETS - {"--lib", "--bins", "--tests", "--workspace"}
WITHOUT = "without it"  # the command runs without the missing wrapper
# Leaving out a `timeout` only works for commands that end by themselves: a server does not.
_ENDS_BY_ITSELF = frozenset(
    ["test", "one test", "build", "lint", "types", "check", "format", "generate", "setup"]
)
_TASKS = names("mise make just task npm pnpm yarn bun rake npx bunx uvx nx turbo")

MOST_JOBS = 60
MOST_PARTS = 6  # of a line: a longer one is a script
MOST_IN_VAIN = 4
# Causes that no edit of the code repairs: the call itself was wrong.
OF_THE_CALL = frozenset(["flag", "command", "glob"])
SHORT = 400  # longest output in which a masked failure is recognised
UNMATCHED = frozenset(["unmatched"])
SAID_BY_SHELL = frozenset(["program"]) | UNMATCHED
_FAILED_TEST = lazy_regex(
    r"^\s*--- FAIL: (\w+)|^FAILED (\S+::\S+)|^\s*[✗✕×] (\S.{3,60}?)(?: \d+ ?ms)?$", re.MULTILINE
)
_SAYS_IT_FAILED = PrefilteredRegex(  # where a pipe, or what follows, hides it
    r"^(?:error|fatal|npm err!|npm error)\b|: command not found\b|\bcommand not found: |\bno matching distribution\b",
    re.MULTILINE | re.IGNORECASE,
)
_TEST_COUNTS = lazy_regex(
    r"\b\d+ (?:passed|failed|passing|failing)\b|\bTests?:? +\d"
)  # a linter marks its findings with a cross too
_OTHER_JOB = PrefilteredRegex(
    r"(?:^|[\s:/-])(?:fmt|format|gofmt|gofumpt|goimports|prettier|generate|codegen|gen|setup"
    r"|bootstrap|install|sync|dev|start|serve|--fix|--write)(?=[\s:]|$)",
    words="fmt|format|gofumpt|goimports|prettier|gen|setup|bootstrap|install|sync|dev|start|serve|--fix|--write",
)


def remedy_text(slip: Slip, part: Simple, line: Sequence[Simple]) -> str:
    """Return the remedy of a slip from the line that worked; '' if its essential part cannot be shown."""
    if slip.cause == "engine":
        return version_switch(line, part)
    text = _written(slip, part, line)
    first, _, rest = text.rpartition("&& ")[2].partition(" ")
    hides = first in _TASKS and rest.removeprefix("run ").startswith((REST, "<"))  # a task without its name
    return "" if hides or text == REST else text


def _written(slip: Slip, part: Simple, line: Sequence[Simple]) -> str:
    match slip.cause:
        case "variable":
            return f"{slip.token}=… {rule_text(part)}"
        case "place":
            return job_text(part) or rule_text(part)
        case "glob":
            return rule_text(part, paths=True)
        case "program":
            return _program(slip.token, part, slip.part)
        case "target" if slip.part is not None and part.program == slip.part.program:
            return _other_target(slip, part)
        case "usage" if slip.part is not None:
            return _fewer_words(slip.part, part)
        case "flag" if slip.part is not None and part.program == slip.part.program:
            return _other_fields(slip.token, slip.part, part) or with_flags(part, slip.part, slip.token)
    return rule_text(part, keep=(slip.token,))


def _program(token: str, part: Simple, tried: Simple | None) -> str:
    """Return the other name of a program, or the program that runs it, without the arguments."""
    words = [unquoted(word) for word in part.words]
    called = [name_of(word) for word in part.words]
    if called[0] == token and (path := path_of(part)):
        folders = [_AT_HOME.sub("~/", folder) for folder in unquoted(path[5:]).split(":")]
        text = f"export PATH={':'.join(folder for folder in folders if not is_session_specific(folder))}"
        return text if "/" in text and len(text) <= LONGEST else ""
    alike = called[0].startswith(token) or token.startswith(called[0])
    if called[0] == token or (alike and min(len(called[0]), len(token)) >= 3):
        return _placed(home_relative(words[0]), part) if "/" in words[0] else words[0]
    if token in called[1:6]:
        last = max(index for index, name in enumerate(called[:7]) if name == token)  # `mise x hk -- hk`
        through = " ".join(words[: last + 1])
        return _placed(through, part) if len(through) <= LONGEST else ""
    if "-" in token and token == "-".join(called[:2]):
        return " ".join(called[:2])
    if tried is not None and name_of(tried.words[0]) == token and _is_rest(tried, part):
        return WITHOUT if purpose_of(part) in _ENDS_BY_ITSELF else ""
    return job_text(part) or rule_text(part, keep=(token,))


def _is_rest(tried: Simple, part: Simple) -> bool:
    """Whether a call is the command behind a wrapper: `timeout 60 npm test`, and then `npm test`."""
    behind = [unquoted(word) for word in tried.words[1:]]
    return any(name_of(word) == part.program for word in behind) and name_of(tried.words[0]) not in _TASKS


def _placed(text: str, part: Simple) -> str:
    """Prefix the folder of the call, unless the command works everywhere."""
    is_inside = part.directory and not part.directory.startswith(("/", "~", "$", ".."))
    return (
        f"cd {part.directory} && {text}" if text and is_inside and not text.startswith(("/", "~")) else text
    )


def _other_fields(token: str, tried: Simple, part: Simple) -> str:
    """Return the fields that replaced a list with an unknown field."""
    for index, word in enumerate(tried.words[:-1]):
        fields = unquoted(tried.words[index + 1]).split(",")
        if word.startswith("-") and token in fields and word in part.words[:-1]:
            requested = unquoted(part.words[part.words.index(word) + 1]).split(",")
            is_new = any(field not in fields for field in requested) and all(
                field.isidentifier() for field in requested
            )
            text = f"{subject_of(part)} {word} {','.join(requested)}"
            return (text if len(text) <= LONGEST else text[:LONGEST].rpartition(",")[0]) if is_new else ""
    return ""


def _other_target(slip: Slip, part: Simple) -> str:
    """Return the target that was used instead, with its name if it has one, or else only the subcommand."""
    words = [unquoted(word) for word in part.words]
    for index, word in enumerate(words):
        if word.partition("=")[0] in TARGETS:
            has_name = word in _NAMED_TARGETS and len(words) > index + 1
            return f"{slip.subject} {word}{f' {words[index + 1]}' if has_name else ''}"
    return slip.subject


def _fewer_words(tried: Simple, part: Simple) -> str:
    """Return a call with fewer arguments, without the options that were new in it."""
    old = {unquoted(word).partition("=")[0] for word in tried.words}
    plain = [
        word for word in part.words if not word.startswith("-") or unquoted(word).partition("=")[0] in old
    ]
    fewer = len([word for word in plain if not word.startswith("-")]) < len(
        [word for word in tried.words if not word.startswith("-")]
    )
    return rule_text(Simple(tuple(plain), part.directory)) if fewer else rule_text(part)


# --- versions of runtimes ---


def version_switch(line: Sequence[Simple], part: Simple) -> str:
    """Return the command that switched the version earlier in the line, with the program after it; '' if none did."""
    program = name_of(part.words[0])
    if program in _MANAGERS and _SWITCHES & set(part.words[1:3]):
        return rule_text(part)
    before = line[: line.index(part)] if part in line else ()
    for earlier in before:
        if earlier.program in _MANAGERS and _SWITCHES & set(earlier.words[1:3]):
            return f"{_sourced(before)}{' '.join(unquoted(word) for word in earlier.words[:3])} && {program} {REST}"
    for text in (
        *part.variables,
        *(earlier.text for earlier in before),
        *(variable for earlier in before for variable in earlier.variables),
    ):
        if (match := _PATH.match(text)) and (folder := home_relative(match["first"])):
            return f"PATH={folder}:$PATH {program} {REST}"
    return ""


def _sourced(before: Sequence[Simple]) -> str:
    """Return the `source` command that loads a version manager, or ''."""
    for part in before:
        if part.words[0] in (".", "source") and len(part.words) > 1 and "nvm.sh" in part.words[1]:
            return ". ~/.nvm/nvm.sh && "
    return ""


def watch_shell(state: Gathered, command: str, output: str, *, ok: bool | None, at: float | None) -> None:
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
        await_remedy(state, slip)
        return
    if ok is False:
        age_slips(state)
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
    """Return the causes to look for in a call whose exit code is hidden or unknown.

    In a long output these are only messages of the shell itself, which programs seldom print.
    """
    if not output:
        return frozenset()
    if not (unknown or masks(command)):
        return UNMATCHED if said_by_shell(output) else frozenset()
    if len(output) > SHORT and not (unknown and "command not found" in output):
        return UNMATCHED if said_by_shell(output) else frozenset()
    causes = SOFT if len(output) <= SHORT else SAID_BY_SHELL
    return causes if signs_in(excerpt(output)) else frozenset()


def is_misused_check(command: str, output: str) -> bool:
    """Whether an output says that a check was called incorrectly, whatever the exit code."""
    if _hidden_causes(command, output, unknown=False) != SOFT:
        return False
    slip = slip_of(command, excerpt(output), None, only=SOFT - {"path", "glob"})
    return slip is not None and slip.part is not None and bool(purpose_of(slip.part))


def lacks_proof(state: Gathered, command: str) -> bool:
    """Whether a command does a job, and no output line that proves success is recorded yet."""
    return any((job := state.jobs.get(text)) is None or not job.line for text, _, _ in jobs_in(command))


def note_verified(state: Gathered, command: str, line: str, at: float | None) -> None:
    """Count a command that the caller judged to have passed its verification."""
    _jobs(state, command, worked=True, at=at, line=line)


def note_edit(state: Gathered, path: str) -> None:
    """Process an edit: missing files may still turn up, remedies may not. A file that was just written is no answer."""
    waiting = []
    for slip in state.slips:
        if slip.cause in LONGER:
            slip.age = max(slip.age, PATIENCE)
            waiting.append(slip)
        elif slip.part is not None and slip.cause in OF_THE_CALL:
            record_slip(state, slip, "")  # no remedy was found, and it will fail again
        elif slip.part is None and slip.token not in path.splitlines():
            waiting.append(slip)
    state.slips = waiting
    state.shaky = {}


# --- remedies ---


def _resolve(state: Gathered, command: str, output: str) -> None:
    parts = [
        part for part in simple_commands(command) if part.words and part.program not in ("echo", "printf")
    ]
    age_slips(state)
    _settle_tests(state, parts)
    for slip in list(state.slips):
        if slip.part is None:
            paths = (path for part in parts for path in paths_in(part))
            if path_found := next((path for path in paths if same_file(slip.token, path)), ""):
                state.slips.remove(slip)
                record_slip(state, slip, path_found)
            continue
        part = remedy(slip.cause, slip.token, slip.part, parts)
        if part is None:
            continue
        # A late call must be of the same program: another command for the same job is other work.
        names_it = slip.cause == "engine" or slip.token in [name_of(word) for word in part.words[:6]]
        if slip.age >= PATIENCE and not names_it:
            continue
        if not is_outside_checkout(part) and (text := remedy_text(slip, part, parts)):
            state.slips.remove(slip)
            record_slip(state, slip, text)
    watch_listing(state, output)


def _in_vain(state: Gathered, command: str) -> None:
    """Record a failed call that would have been the remedy."""
    parts = [part for part in simple_commands(command) if part.words and not part.shapes]
    for slip in state.slips:
        part = remedy(slip.cause, slip.token, slip.part, parts[-1:]) if slip.part is not None else None
        if part is not None and (text := remedy_text(slip, part, parts)) and text not in slip.vain:
            slip.vain = [*slip.vain, text][-MOST_IN_VAIN:]


# --- checks that fail ---


def _watch_checks(state: Gathered, command: str, output: str, at: float | None) -> None:
    """Record the tests that failed: they may be flaky."""
    part = worker(simple_commands(command))
    kind = checks.check_kind(part.text) if part is not None else None
    if part is None or kind != "test" or purpose_of(part) not in ("test", "one test"):
        return
    counted = bool(_TEST_COUNTS.search(output))
    matches = (
        go or python or (marked if counted else "")
        for go, python, marked in _FAILED_TEST.findall(excerpt(output))
    )
    names = [name for name in matches if name][:3]
    if names and len(names) <= 2:
        state.shaky = {name: cut_raw_line(part.text) for name in names}


def _settle_tests(state: Gathered, parts: list[Simple]) -> None:
    for name, command in list(state.shaky.items()):
        if any(part.text == command for part in parts):
            del state.shaky[name]
            record_slip(state, Slip("flaky", "", name, "failed, then passed without an edit", None, None), "")


# --- commands that do a job ---


def _jobs(
    state: Gathered, command: str, *, worked: bool, at: float | None, other: bool = False, line: str = ""
) -> None:
    for text, purpose, checking in jobs_in(command):
        if other and checking:
            continue
        job = state.jobs.get(text)
        if job is None and len(state.jobs) < MOST_JOBS:
            job = state.jobs[text] = Job(purpose, at)
        if job is not None:
            if worked and not job.worked:
                job.sought = had_to_search(state, text, purpose)
            job.worked += worked
            job.failed += not worked
            job.at = at or job.at
            job.line = job.line or cut_raw_line(line)


@lru_cache(maxsize=512)  # the same few commands repeat
def jobs_in(command: str) -> tuple[tuple[str, str, bool], ...]:
    """Return the commands of a line that do a job, as a rule names them, and whether each of them verifies."""
    parts = simple_commands(_without_secrets(command))
    if len(parts) > MOST_PARTS:
        return ()
    candidates = ((part, purpose_of(part)) for part in parts if not part.shapes)
    jobs = (
        (job_text(part), purpose, bool(checks.check_kind(part.text)))
        for part, purpose in candidates
        if purpose
    )
    return tuple(job for job in jobs if job[0])


@lru_cache(maxsize=512)
def _without_secrets(command: str) -> str:
    """Redact a command before it is split: the word before a password may be what identifies it."""
    return _redactor().redact(command)


@cache
def _redactor() -> Redactor:
    return Redactor()
