"""Watches calls go by for what they teach: failures and the variant that worked, commands that do a job here.

An edit ends the wait for a command's remedy: what passes after it was repaired, not called in another way.
"""

from __future__ import annotations

import re

from holdfast.distill import checks
from holdfast.distill.harvest_state import Gathered, Job, Slip, raw
from holdfast.distill.lesson_lint import rules_in
from holdfast.distill.lesson_remedies import remedy, same_file
from holdfast.distill.lesson_signs import Sign, excerpt, line_of, signs_in
from holdfast.distill.lesson_words import (
    elsewhere,
    job,
    purpose_of,
    reason,
    shown,
    specific,
    subject_of,
    with_flags,
)
from holdfast.distill.shell_line import Simple, masks, name_of, simple_commands, unquoted
from holdfast.model.experience import Stumble
from holdfast.model.ledger import FailureReason

PATIENCE = 8  # calls after which nobody is looking for the remedy any more
MOST_SLIPS = 6
MOST_STUMBLES = 40
MOST_JOBS = 60
LISTING, MOST_LINES = 4000, 60  # of an output that lists files
SHORT = 400  # an output that a masked failure may be told by
_SOFT = frozenset(["program", "task", "command", "flag", "glob", "place", "path"])
_NAMED = frozenset(["task", "command", "flag"])
_SHELL = frozenset(
    "echo printf true false test [ [[ cat head tail wc sort grep egrep rg sed awk ls find tr cut xargs tee sleep export set source".split()
)
_CODE = (FailureReason.TEST_FAILURE, FailureReason.SYNTAX_ERROR)
_MISSING = re.compile(r"(?:File|Path|Directory) does not exist|does not exist\.|no such file", re.IGNORECASE)
_MISSING_PATH = re.compile(r"(?:Path|File|Directory) does not exist: (\S+?)(?:</|[\s,]|\.?$)", re.MULTILINE)
_MEANT = re.compile(r"Did you mean (\S+?)\?")
_TOO_LARGE = re.compile(r"exceeds maximum allowed (?:tokens|size)")
_TIMED_OUT = re.compile(r"(?:command )?timed out after (\d+ ?\w+)", re.IGNORECASE)
_FAILED_TEST = re.compile(
    r"^\s*--- FAIL: (\w+)|^FAILED (\S+::\S+)|^\s*[✗✕×] (\S.{3,60}?)(?: \d+ ?ms)?$", re.MULTILINE
)
_TARGETS = (
    "--lib",
    "--bin",
    "--bins",
    "--test",
    "--bench",
    "--example",
    "--filter",
    "-p",
    "--package",
    "--project",
    "-w",
    "--workspace",
)
_OTHER_JOB = re.compile(
    r"(?:^|[\s:/-])(?:fmt|format|gofmt|gofumpt|goimports|prettier|generate|codegen|gen|setup|bootstrap|install|sync|dev|start|serve|--fix|--write)(?=[\s:]|$)"
)
_LISTED = re.compile(r"[\w.@+/-]+/[\w.@+-]+")
_NUMBERS = re.compile(r"\d+|[0-9a-f]{7,40}|/\S+|https?://\S+")


def watch_shell(state: Gathered, command: str, output: str, *, ok: bool | None, at: float | None) -> None:
    """Takes one shell call that came to its end."""
    slip = None
    if ok is False:
        slip = _slip(command, excerpt(output), at)
        if slip is None:
            _jobs(state, command, worked=False, at=at)
            _watch_checks(state, command, output, at)
    elif output and len(output) <= SHORT and masks(command):
        slip = _slip(command, excerpt(output), at, only=_SOFT)
    if slip is not None:
        _wait(state, slip)
        return
    if ok is False:
        _grow_older(state)
        return
    if state.slips or state.shaky:
        _resolve(state, command, output)
    if ok and _OTHER_JOB.search(command):
        _jobs(state, command, worked=True, at=at, other=True)


def verified(state: Gathered, command: str, line: str, at: float | None) -> None:
    """Takes a command that passed its verification; whether it did is somebody else's judgement."""
    _jobs(state, command, worked=True, at=at, line=line)


# --- failures ---


def _slip(command: str, output: str, at: float | None, only: frozenset[str] | None = None) -> Slip | None:
    signs = signs_in(output)
    if not signs:
        return None if only else _unsigned(command, output, at)
    parts = [part for part in simple_commands(command) if part.words]
    for sign in signs:
        if only is not None and sign.cause not in only:
            continue
        slip = _read_sign(sign, parts, output, at)
        if slip is not None:
            return slip
    return None


def _unsigned(command: str, output: str, at: float | None) -> Slip | None:
    """A check that failed for another reason than the code: another way to run it may work."""
    if match := _TIMED_OUT.search(output):
        part = _worker(simple_commands(command))
        if part is not None and checks.check_kind(part.text) and (text := job(part)):
            return Slip("slow", subject_of(part), text, raw(match[0]), at, part, settled=True)
        return None
    kind = checks.check_kind(command)
    if (
        kind is None
        or not output
        or checks.why_failed(output, kind)[0] in _CODE
        or checks.says_failed(output)
    ):
        return None
    part = _worker(simple_commands(command))
    if part is None or elsewhere(part) or checks.check_kind(part.text) != kind:
        return None
    return Slip("switch", subject_of(part), "", raw(checks.why_failed(output, kind)[1]), at, part)


def _read_sign(sign: Sign, parts: list[Simple], output: str, at: float | None) -> Slip | None:
    cause, name, line = sign.cause, sign.name, raw(sign.line)
    if cause == "path":
        return _missed_path(name, parts, output, line, at)
    if cause == "program":
        wanted = name.rpartition("/")[2]
        for part in parts:
            if wanted in [name_of(word) for word in part.words[:4]] and not specific(name):
                return Slip("program", "", wanted, line, at, part)
        inner = _worker(parts)
        if inner is not None and purpose_of(inner) and not specific(name):
            return Slip("tool", subject_of(inner), wanted, line, at, inner)
        return None
    if cause in _NAMED:
        for part in parts:
            if token := _typed(name, part):
                return Slip(cause, subject_of(part, token), token, line, at, part)
        return None
    if cause == "glob":
        for part in parts:
            token = next((word for word in part.words if name in word.replace("\\", "")), "")
            if token and (kind := _pattern(token)):
                return Slip("glob", "", kind, line, at, part)
        return None
    part = _worker(parts)
    if part is None:
        return None
    if cause == "target":
        token = next((word for word in part.words if word.partition("=")[0] in _TARGETS), "")
        return Slip("target", subject_of(part, token), token, line, at, part) if token else None
    if cause == "place" and elsewhere(part):
        return None
    if cause in ("usage", "refused"):
        name = _NUMBERS.sub("", line)[:60].strip()
    if cause == "module" and (specific(name) or name.startswith((".", "/"))):
        return None
    return Slip(cause, subject_of(part), name if cause != "place" else part.directory, line, at, part)


def _worker(parts: tuple[Simple, ...] | list[Simple]) -> Simple | None:
    """The command that a line is about: one that verifies, else the last that does something."""
    doing = [part for part in parts if not part.shapes and part.program not in _SHELL]
    checking = [part for part in doing if purpose_of(part)]
    return checking[-1] if checking else doing[-1] if doing else None


def _typed(name: str, part: Simple) -> str:
    """A flag, task or field as it stands in the command; '' when it is not there."""
    words = [unquoted(word) for word in part.words[1:]]
    for word in words:
        if name == word or word.partition("=")[0] == name or word.lstrip("-").partition("=")[0] == name:
            return word.partition("=")[0] if word.startswith("-") else word
        if "," in word and name in word.split(","):
            return name
    if len(name.lstrip("-")) == 1:
        letter = name.lstrip("-")
        return next((f"-{letter}" for word in words if re.match(r"-[A-Za-z]", word) and letter in word), "")
    return ""


def _pattern(word: str) -> str:
    """What kind of word a shell took for a pattern."""
    if word.startswith("-"):
        return word.partition("=")[0]
    return "?" if "?" in word else "[" if "[" in word else ""  # a star that matched nothing is an answer


def _missed_path(name: str, parts: list[Simple], output: str, line: str, at: float | None) -> Slip | None:
    good = [
        text
        for text in output.splitlines()
        if text.strip() and "o such file" not in text and "Exit code" not in text
    ]
    if len(good) >= 3:
        return None  # what was looked for came all the same
    for part in parts:
        if not elsewhere(part) and any(unquoted(word).rstrip("/") == name.rstrip("/") for word in part.words):
            path = f"{part.directory}/{name}" if part.directory else name
            return path_slip(path, line, at)
    return None


def path_slip(path: str, line: str, at: float | None) -> Slip | None:
    path = path.removeprefix("./").rstrip("/")
    if (
        not path
        or path.startswith(("/", "~", "$", "..", "-"))
        or specific(path)
        or any(sign in path for sign in "*?[{<")
    ):
        return None
    if ("/" not in path and "." not in path) or "node_modules" in path or path.endswith(".lock"):
        return None
    return Slip("path", "", raw(path), line, at, None)


def _wait(state: Gathered, slip: Slip) -> None:
    if slip.settled:
        _note(state, slip, "")
        return
    _grow_older(state)
    state.slips = [known for known in state.slips if known.key != slip.key]
    state.slips = [*state.slips, slip]
    for old in state.slips[:-MOST_SLIPS]:
        _note(state, old, "")
    state.slips = state.slips[-MOST_SLIPS:]


def _grow_older(state: Gathered) -> None:
    waiting = []
    for slip in state.slips:
        slip.age += 1
        if slip.age < PATIENCE:
            waiting.append(slip)
        else:
            _note(state, slip, "")
    state.slips = waiting


# --- remedies ---


def _resolve(state: Gathered, command: str, output: str) -> None:
    parts = [
        part for part in simple_commands(command) if part.words and part.program not in ("echo", "printf")
    ]
    _grow_older(state)
    _settle_tests(state, parts)
    for slip in list(state.slips):
        if slip.part is None:
            named = (path for part in parts for path in _paths(part))
            if found := next((path for path in named if same_file(slip.token, path)), ""):
                state.slips.remove(slip)
                _note(state, slip, found)
            continue
        part = remedy(slip.cause, slip.token, slip.part, parts)
        if part is not None and not elsewhere(part):
            state.slips.remove(slip)
            _note(state, slip, _instead(slip, part))
    watch_listing(state, output)


def _instead(slip: Slip, part: Simple) -> str:
    if slip.cause == "variable":
        return f"{slip.token}=… {shown(part)}"
    if slip.cause in ("place", "glob"):
        return shown(part, paths=True)
    if slip.cause == "flag" and slip.part is not None and part.program == slip.part.program:
        return with_flags(part, slip.part)
    return shown(part, keep=(slip.token,))


def _paths(part: Simple) -> list[str]:
    words = (unquoted(word) for word in part.words[1:])
    paths = [
        word for word in words if ("/" in word or "." in word) and not word.startswith(("-", "/", "~", "$"))
    ]
    return [f"{part.directory}/{path}" if part.directory else path.removeprefix("./") for path in paths]


def stumbles_of(state: Gathered) -> list[Stumble]:
    """What was seen so far; what still waits for a remedy has none."""
    waiting = (_stumble(slip, "") for slip in state.slips)
    return [*state.stumbles.values(), *(item for item in waiting if item.key not in state.stumbles)]


def _note(state: Gathered, slip: Slip, instead: str) -> None:
    """Keeps what a failure taught, once for each cause; one with its remedy replaces one without."""
    _keep(state, _stumble(slip, instead))


def _keep(state: Gathered, made: Stumble) -> None:
    known = state.stumbles.get(made.key)
    if known is not None and (known.instead or not made.instead):
        return
    if known is not None or len(state.stumbles) < MOST_STUMBLES:
        state.stumbles[made.key] = made


def _stumble(slip: Slip, instead: str) -> Stumble:
    if slip.part is None:
        tried = slip.token
    elif slip.cause in ("slow", "flaky"):
        tried = slip.token
    elif slip.cause == "flag":
        tried = (
            f"{slip.subject} {slip.token}"
            if slip.token.startswith("-")
            else shown(slip.part, keep=(slip.token,))
        )
    else:
        tried = shown(slip.part, keep=(slip.token,), paths=slip.cause in ("place", "glob"))
    return Stumble(
        cause=slip.cause, subject=raw(slip.subject), token=raw(slip.token), tried=raw(tried),
        failed=reason(slip.line), instead=raw(instead) if instead != tried else "", at=slip.at,
    )  # fmt: skip


# --- files ---


def watch_file(state: Gathered, path: str, output: str, *, ok: bool | None, at: float | None) -> bool:
    """Takes one file that was read, or was not where it was looked for; whether it was missing."""
    if ok is False:
        head = output[:300]
        if _TOO_LARGE.search(head):
            slip = path_slip(path, "", at)
            if slip is not None:
                slip.cause, slip.line, slip.settled = (
                    "large",
                    line_of(head, _TOO_LARGE.search(head).start()) or "",
                    True,
                )  # type: ignore[union-attr]
                _wait(state, slip)
        elif _MISSING.search(head):
            slip = path_slip(path, "no such file", at)
            if (
                slip is not None
                and (meant := _MEANT.search(head))
                and same_file(slip.token, _beside(slip.token, meant[1]))
            ):
                _note(state, slip, _beside(slip.token, meant[1]))
            elif slip is not None:
                _wait(state, slip)
            return True
        return False
    for slip in state.slips:
        if slip.part is None and same_file(slip.token, path):
            state.slips.remove(slip)
            _note(state, slip, path)
            break
    return False


def watch_listing(state: Gathered, output: str, root: str = "") -> None:
    """Takes an output that may list files: one of them may be what was looked for elsewhere."""
    waiting = [slip for slip in state.slips if slip.part is None]
    if not waiting:
        return
    lines = output[:LISTING].splitlines()[:MOST_LINES]
    paths = [
        line.strip().removeprefix(root).removeprefix("./")
        for line in lines
        if _LISTED.fullmatch(line.strip())
    ]
    for slip in waiting:
        if found := next((path for path in paths if same_file(slip.token, path)), ""):
            state.slips.remove(slip)
            _note(state, slip, found)


def missing_in(output: str) -> str:
    """The path that a search was told does not exist."""
    match = _MISSING_PATH.search(output[:400])
    return match[1] if match else ""


def _beside(path: str, name: str) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/{name}" if folder and "/" not in name else name


def edited(state: Gathered, path: str) -> None:
    """An edit: files may still turn up, commands may not; a file that was written was not there before."""
    state.slips = [slip for slip in state.slips if slip.part is None and slip.token not in path.splitlines()]
    state.shaky = {}


# --- tests that fail and pass ---


def _watch_checks(state: Gathered, command: str, output: str, at: float | None) -> None:
    """A check that failed in earnest: tests may be shaky, a linter says what it wants."""
    part = _worker(simple_commands(command))
    kind = checks.check_kind(part.text) if part is not None else None
    if part is not None and kind == "lint" and (command := job(part)):
        for rule, message in rules_in(excerpt(output)):
            _keep(
                state,
                Stumble(cause="rule", subject="", token=rule, tried=command, failed=raw(message), at=at),
            )
    if part is None or kind != "test":
        return
    names = [next(filter(None, found)) for found in _FAILED_TEST.findall(excerpt(output))][:3]
    if names and len(names) <= 2:
        state.shaky = {name: raw(part.text) for name in names}


def _settle_tests(state: Gathered, parts: list[Simple]) -> None:
    for name, command in list(state.shaky.items()):
        if any(part.text == command for part in parts):
            del state.shaky[name]
            _note(state, Slip("flaky", "", name, "failed, then passed without an edit", None, None), "")


# --- commands that do a job ---


def _jobs(
    state: Gathered, command: str, *, worked: bool, at: float | None, other: bool = False, line: str = ""
) -> None:
    parts = simple_commands(command)
    if len(parts) > 6:
        return
    for part in parts:
        purpose = "" if part.shapes else purpose_of(part)
        if not purpose or (other and checks.check_kind(part.text)):
            continue
        text = job(part)
        if not text:
            continue
        known = state.jobs.get(text)
        if known is None and len(state.jobs) < MOST_JOBS:
            known = state.jobs[text] = Job(purpose, at)
        if known is not None:
            known.worked += worked
            known.failed += not worked
            known.at = at or known.at
            known.line = known.line or raw(line)
