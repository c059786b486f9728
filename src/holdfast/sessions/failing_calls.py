"""Finds which word of a failed call was wrong, for which program, and waits for the remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.core.shell import Simple, name_of, names, simple_commands, unquoted
from holdfast.language import checks
from holdfast.language.command_words import (
    home_relative,
    is_outside_checkout,
    is_session_specific,
    job_text,
    purpose_of,
    rule_text,
    short_reason,
    subject_of,
)
from holdfast.language.failure_wording import Sign, line_of, signs_in
from holdfast.language.remedies import same_file
from holdfast.model.ledger import FailureReason
from holdfast.model.lesson import EXPERIENCE_FORMAT, Correction, Experience, Ran, Stumble
from holdfast.sessions.digest import Gathered, Slip, cut_raw_line

PATIENCE = 8  # calls after which a slip no longer waits
# Causes that no edit repairs wait longer: for the program by its name, or for the version that runs it.
LONGER = {"program": 40, "engine": 400}
MOST_SLIPS = 6
MOST_STUMBLES = 40

MOST_EXPERIENCED_STUMBLES = 40
MOST_EXPERIENCED_COMMANDS = 40
MOST_CORRECTIONS = 12
MOST_STATED = 40

SOFT = frozenset(
    ["program", "task", "command", "flag", "glob", "unmatched", "place", "path"]
)  # recognised even where a pipe hides the exit code
_NAMED = frozenset(["task", "command", "flag"])
_SHELL = names(
    "echo printf true false test [ [[ cat head tail wc sort grep egrep rg sed awk ls find tr cut xargs tee sleep"
    " export set source"
)
_ASKS_WHAT_IS_THERE = names("ls rm cat head tail wc test [ [[ for stat du file")
_CODE = (FailureReason.TEST_FAILURE, FailureReason.SYNTAX_ERROR)
# Runners print this for a single test as well: that is not a slow call.
_TIMED_OUT = lazy_regex(r"(?<!test )(?<!hook )timed out after (\d+ ?\w+)", re.IGNORECASE)
_TARGETS = names("--lib --bin --bins --test --bench --example --filter -p --package --project -w --workspace")
_MANIFESTS = (
    ("module", ("go",)),
    ("go.mod", ("go",)),
    ("Cargo.toml", ("cargo",)),
    ("package.json", ("npm", "pnpm", "yarn", "bun")),
)
# A program that this repository builds: its options are the work in progress.
_BUILT_HERE = lazy_regex(r"^[\"']?\$|\.exe[\"']?$|(?:^|/)(?:target|dist|build|out)/|/te?mp/")
_RUN_IT = names("go cargo dotnet swift zig stack cabal gleam")  # `run`: what is in this repository
_INTERPRETERS = names("python python3 node ruby php perl tsx ts-node bun deno bash sh uv npx pnpm")
_KNOWN_TOOLS = names(
    "pytest ruff mypy pyright black isort flake8 pylint pre-commit coverage tox nox mkdocs alembic"
)
_RUN_THROUGH = names("mise npx bunx pnpm uv poetry")
# Build output exists after the next build.
_BUILT = lazy_regex(r"(?:^|/)(?:target|dist|build|out|coverage|\.next|node_modules)/")
_SCRIPT = lazy_regex(r"\.(?:py|[cm]?[jt]sx?|rb|php|pl|sh)\Z")
_NUMBERS = lazy_regex(r"\d+|[0-9a-f]{7,40}|/\S+|https?://\S+")

LISTING, MOST_LINES = 4000, 60  # of an output that lists files
_MISSING = PrefilteredRegex(
    r"(?:File|Path|Directory) does not exist|does not exist\.|no such file", re.IGNORECASE
)
_MISSING_PATH = lazy_regex(r"(?:Path|File|Directory) does not exist: (\S+?)\.?(?:</|[\s,]|$)", re.MULTILINE)
_MEANT = lazy_regex(r"Did you mean (\S+?)\?")
_TOO_LARGE = lazy_regex(r"exceeds maximum allowed (?:tokens|size)")
_LISTED = lazy_regex(r"[\w.@+/-]+/[\w.@+-]+")


def await_remedy(state: Gathered, slip: Slip) -> None:
    if slip.settled:
        record_slip(state, slip, "")
        return
    age_slips(state)
    slip.vain = [
        *(text for earlier in state.slips if earlier.key == slip.key for text in earlier.vain),
        *slip.vain,
    ]
    waiting = [*(earlier for earlier in state.slips if earlier.key != slip.key), slip]
    for old in waiting[:-MOST_SLIPS]:
        record_slip(state, old, "")
    state.slips = waiting[-MOST_SLIPS:]


def age_slips(state: Gathered) -> None:
    waiting = []
    for slip in state.slips:
        slip.age += 1
        if slip.age < LONGER.get(slip.cause, PATIENCE):
            waiting.append(slip)
        else:
            record_slip(state, slip, "")
    state.slips = waiting


def stumbles_of(state: Gathered) -> list[Stumble]:
    """Return the stumbles so far; slips that still wait for a remedy have none."""
    waiting = (_stumble(slip, "") for slip in state.slips)
    return [*state.stumbles.values(), *(item for item in waiting if item.key not in state.stumbles)]


def record_slip(state: Gathered, slip: Slip, instead: str) -> None:
    """Record a failure, once for each cause; one with a remedy replaces one without."""
    keep_stumble(state, _stumble(slip, instead))


def keep_stumble(state: Gathered, made: Stumble) -> None:
    existing = state.stumbles.get(made.key)
    if existing is not None and (existing.instead or not made.instead):
        return
    if existing is not None or len(state.stumbles) < MOST_STUMBLES:
        state.stumbles[made.key] = made


def _before(part: Simple, token: str) -> str:
    """Return the flag that a value belongs to; for a flag, the `--` before it, or ''."""
    if token.startswith("-"):
        flags = [unquoted(word).partition("=")[0] for word in part.words]
        return "-- " if "--" in flags and token in flags[flags.index("--") :] else ""
    words = part.words
    for index, word in enumerate(words[1:], 1):
        if token in unquoted(word).split(",") and words[index - 1].startswith("-"):
            return f"{words[index - 1]} "
    return ""


def _stumble(slip: Slip, instead: str) -> Stumble:
    if slip.part is None or slip.cause in ("slow", "flaky"):
        tried = slip.token
        instead = home_relative(instead)  # a path outside the checkout must work on any machine
    elif slip.cause == "flag":
        tried = f"{slip.subject} {_before(slip.part, slip.token)}{slip.token}"
    elif slip.cause == "place":
        tried = job_text(slip.part) or rule_text(slip.part)
    elif slip.cause == "target":
        tried = f"{slip.subject} {slip.token}"
    elif slip.cause == "engine":
        tried = f"{slip.part.program} …"
    else:
        tried = rule_text(slip.part, keep=(slip.token,), paths=slip.cause == "glob")
    return Stumble(
        cause=slip.cause, subject=cut_raw_line(slip.subject), token=cut_raw_line(slip.token), tried=cut_raw_line(tried),
        failed=short_reason(slip.line), instead=cut_raw_line(instead) if instead != tried else "", at=slip.at,
        vain=tuple(cut_raw_line(text) for text in slip.vain if text != instead),
    )  # fmt: skip


def experience_of(main: Sequence[Gathered], all_of_them: Sequence[Gathered]) -> Experience:
    """Merge the experience of a session: corrections from the main transcripts, calls from all of them."""
    stumbles: dict[str, Stumble] = {}
    ran: dict[str, Ran] = {}
    for state in all_of_them:
        for item in stumbles_of(state):
            existing = stumbles.get(item.key)
            if existing is None or (item.instead and not existing.instead):
                stumbles[item.key] = item
        for command, job in state.jobs.items():
            total = ran.get(command, Ran(command=command, purpose=job.purpose))
            ran[command] = Ran(
                command=command,
                purpose=job.purpose,
                worked=total.worked + job.worked,
                failed=total.failed + job.failed,
                line=total.line or job.line,
                at=max(total.at or 0.0, job.at or 0.0) or None,
                sought=bool(total.sought) or job.sought,
            )
    corrections: dict[str, Correction] = {}
    for state in main:
        for correction in state.corrections:
            corrections.setdefault(correction.text.casefold(), correction)
    stated = dict.fromkeys(command for state in all_of_them for command in state.stated)
    worked = sorted((item for item in ran.values() if item.worked), key=lambda item: -item.worked)
    return Experience(
        format=EXPERIENCE_FORMAT,
        stumbles=tuple(stumbles.values())[:MOST_EXPERIENCED_STUMBLES],
        commands=tuple(worked[:MOST_EXPERIENCED_COMMANDS]),
        corrections=tuple(corrections.values())[:MOST_CORRECTIONS],
        stated=tuple(stated)[:MOST_STATED],
    )


def slip_of(command: str, output: str, at: float | None, only: frozenset[str] | None = None) -> Slip | None:
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
    """Return a slip for a check that did not fail because of the code: another way to run it may work."""
    if match := _TIMED_OUT.search(output):
        part = worker(simple_commands(command))
        if part is not None and checks.check_kind(part.text) and (text := job_text(part)):
            return Slip("slow", subject_of(part), text, cut_raw_line(match[0]), at, part, settled=True)
        return None
    kind = checks.check_kind(command)
    if kind is None or not output or checks.says_failed(output):
        return None
    part = worker(simple_commands(command))
    if part is None or is_outside_checkout(part) or checks.check_kind(part.text) != kind:
        return None
    why, line = checks.why_failed(output, kind)
    return Slip("switch", subject_of(part), "", cut_raw_line(line), at, part) if why not in _CODE else None


def _read_sign(sign: Sign, parts: list[Simple], output: str, at: float | None) -> Slip | None:
    cause, name, line = sign.cause, sign.name, cut_raw_line(sign.line)
    if cause == "path":
        return _missed_path(name, parts, output, line, at)
    if cause == "program":
        wanted = name.rpartition("/")[2]
        for part in sorted(parts, key=lambda part: part.program != wanted):
            if wanted in [name_of(word) for word in part.words[:4]] and not is_session_specific(name):
                return Slip("program", "", wanted, line, at, part)
        inner = worker(parts)
        if inner is not None and purpose_of(inner) and not is_session_specific(name):
            return Slip("tool", subject_of(inner), wanted, line, at, inner)
        return None
    if cause in _NAMED:
        for part in parts:
            token = _typed(name, part)
            if token and not _is_built_here(part, token) and (cause != "flag" or _is_option(part, token)):
                return Slip(cause, subject_of(part, token), token, line, at, part)
        return None
    if cause in ("glob", "unmatched"):
        return _unmatched(name, parts, line, at, by_shell=cause == "unmatched")
    asked = _asked_for(line, parts) if cause == "place" else None
    return _of_worker(cause, name, line, asked or _blamed(parts, output) or worker(parts), at)


def _unmatched(name: str, parts: list[Simple], line: str, at: float | None, *, by_shell: bool) -> Slip | None:
    """Return a slip for a word that the shell took for a glob pattern."""
    matches = ((part, word) for part in parts for word in part.words if name in word.replace("\\", ""))
    part, word = next(matches, (None, name if by_shell else ""))
    part = part or next(
        (candidate for candidate in parts if any(name[-12:] in word for word in candidate.words)), None
    )
    kind = _pattern(word)
    if not kind or (part is None and not by_shell):
        return None
    part = part or (parts[0] if parts else Simple(("sh",)))
    is_answer = kind == "*" and part.program in _ASKS_WHAT_IS_THERE  # and no match is the answer
    return None if is_answer else Slip("glob", "", kind, "no matches found", at, part)


def _blamed(parts: Sequence[Simple], output: str) -> Simple | None:
    """Return the command of a line that the output names; None if it names none or several."""
    candidates = [part for part in parts if not part.shapes and part.program not in _SHELL]
    if len({part.program for part in candidates}) == 1:
        return None
    named = [part for part in candidates if re.search(rf"(?m)^{re.escape(part.program)}\b[: ]", output)]
    return named[0] if len({part.program for part in named}) == 1 else None


def _asked_for(line: str, parts: Sequence[Simple]) -> Simple | None:
    """Return the command whose manifest is missing in its directory."""
    for sign, programs in _MANIFESTS:
        if sign in line:
            return next((part for part in parts if part.program in programs), None)
    return None


def _of_worker(cause: str, name: str, line: str, part: Simple | None, at: float | None) -> Slip | None:
    """Return a slip for a sign that names no word of the command: it concerns the command that does the work."""
    if part is None:
        return None
    if cause == "target":
        token = next((word for word in part.words if word.partition("=")[0] in _TARGETS), "")
        asked = " ".join(subject_of(_inner(part), token).split()[:2])
        return Slip("target", asked, token.partition("=")[0], line, at, part) if token else None
    if is_outside_checkout(part) or (
        cause in ("place", "module") and any(map(is_session_specific, part.words))
    ):
        return None  # a failure elsewhere, or with a temporary file, teaches nothing about this repository
    if cause == "refused" and subject_of(part) == "gh api":
        return None  # the rule could not say what was requested
    if cause in ("usage", "refused"):
        name = _NUMBERS.sub("", line)[:60].strip()
    if cause == "module" and (is_session_specific(name) or name.startswith((".", "/"))):
        return None
    if cause == "engine":
        return Slip(cause, part.program, "", line, at, part)
    return Slip(cause, subject_of(part), name if cause != "place" else part.directory, line, at, part)


def worker(parts: Sequence[Simple]) -> Simple | None:
    """Return the main command of a line: one that verifies, or else the last that does something."""
    candidates = [part for part in parts if not part.shapes and part.program not in _SHELL]
    verifying = [part for part in candidates if purpose_of(part)]
    return verifying[-1] if verifying else candidates[-1] if candidates else None


def _inner(part: Simple) -> Simple:
    """Return the command behind a wrapper: `mise x -- cargo test`."""
    rest = part.words[part.words.index("--") + 1 :] if "--" in part.words else ()
    return Simple(rest, part.directory) if rest and part.program in _RUN_THROUGH else part


def _is_built_here(part: Simple, token: str) -> bool:
    """Whether a word belongs to a program that this repository builds, called by its path or through a runner."""
    if _BUILT_HERE.search(part.words[0]):
        return True
    words = [unquoted(word) for word in part.words]
    before = words[1 : words.index(token)] if token in words else words[1:]
    if part.program in _RUN_IT:
        return before[:1] == ["run"]
    if part.program == "uv" and before[:1] == ["run"]:
        return not _KNOWN_TOOLS & {name_of(word) for word in before[1:4]}  # a script of this project
    return part.program in _INTERPRETERS and any(_SCRIPT.search(word) for word in before)


def _is_option(part: Simple, token: str) -> bool:
    """Whether a word is an option or the value of one: other unexpected arguments are specific to the session."""
    if token.startswith("-"):
        # Quoted, it is a search term.
        return not any(word[0] in "\"'" and unquoted(word) == token for word in part.words if word)
    pairs = zip(part.words, part.words[1:], strict=False)
    return any(token in unquoted(word).split(",") and before.startswith("-") for before, word in pairs)


def _typed(name: str, part: Simple) -> str:
    """Return a flag, task or field as typed in the command; '' if it is not there."""
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
    """Return the kind of word that the shell took for a pattern."""
    if word.startswith("-"):
        return word.partition("=")[0] if "=" in word else ""
    return "=" if word.startswith("=") else next((sign for sign in "?[(*" if sign in word), "")


def _missed_path(name: str, parts: list[Simple], output: str, line: str, at: float | None) -> Slip | None:
    good = [
        text
        for text in output.splitlines()
        if text.strip() and "o such file" not in text and "Exit code" not in text
    ]
    if len(good) >= 3:
        return None  # the output has what was looked for
    for part in parts:
        if not is_outside_checkout(part) and any(
            unquoted(word).rstrip("/") == name.rstrip("/") for word in part.words
        ):
            if name.startswith(f"{part.directory.rpartition('/')[2]}/"):
                return None  # relative to the parent of the working directory
            path = f"{part.directory}/{name}" if part.directory else name
            return path_slip(path, line, at)
    return None


def path_slip(path: str, line: str, at: float | None) -> Slip | None:
    path = path.removeprefix("./").rstrip("/")
    if (
        not path
        or path.startswith(("/", "~", "$", "..", "-"))
        or is_session_specific(path)
        or any(sign in path for sign in "*?[{<")
    ):
        return None
    if ("/" not in path and "." not in path) or _BUILT.search(path) or path.endswith(".lock"):
        return None
    return Slip("path", "", cut_raw_line(path), line, at, None)


# Files that were not where the session looked: wait for them to turn up elsewhere.


def watch_file(state: Gathered, path: str, output: str, *, ok: bool | None, at: float | None) -> None:
    """Process a file that was read, or was missing."""
    if ok is False:
        _not_read(state, path, output[:300], at)
        return
    for slip in state.slips:
        if slip.part is None and same_file(slip.token, path):
            state.slips.remove(slip)
            record_slip(state, slip, path)
            break


def _not_read(state: Gathered, path: str, output: str, at: float | None) -> None:
    if match := _TOO_LARGE.search(output):
        slip = path_slip(path, line_of(output, match.start()), at)
        if slip is not None:
            slip.cause, slip.settled = "large", True
    elif _MISSING.search(output):
        slip = path_slip(path, "no such file", at)
    else:
        return
    if slip is None:
        return
    suggestion = _MEANT.search(output)
    if suggestion and same_file(slip.token, path_found := _beside(slip.token, suggestion[1])):
        record_slip(state, slip, path_found)
    else:
        await_remedy(state, slip)


def watch_listing(state: Gathered, output: str, root: str = "") -> None:
    """Process an output that may list files: one of them may be the file that was missing."""
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
        if path_found := next((path for path in paths if same_file(slip.token, path)), ""):
            state.slips.remove(slip)
            record_slip(state, slip, path_found)


def missing_in(output: str) -> str:
    """Return the path that a search reported as missing."""
    match = _MISSING_PATH.search(output[:400])
    return match[1] if match else ""


def _beside(path: str, name: str) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/{name}" if folder and "/" not in name else name


def paths_in(part: Simple) -> list[str]:
    words = (unquoted(word) for word in part.words[1:])
    paths = [
        word for word in words if ("/" in word or "." in word) and not word.startswith(("-", "/", "~", "$"))
    ]
    return [f"{part.directory}/{path}" if part.directory else path.removeprefix("./") for path in paths]
