"""Finds facts with their evidence in commands, and dead ends: a failed call with the variant that worked.

Facts are commands that verify work, versions of tools, endpoints and ids in use, and commits. A failure caused by the
code is not a dead end: an edit in between ends the wait for a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.core.shell import names
from holdfast.language import checks
from holdfast.language.prose import contains_any, line_around
from holdfast.model.memory import Fact, FactCategory
from holdfast.sessions.digest import (
    LINE_LENGTH,
    MOST_COMMITS,
    MOST_FAILURES,
    MOST_WATCHED,
    Failure,
    Gathered,
    Mention,
    Working,
    add_new,
    cut_raw_line,
)
from holdfast.sessions.returned_values import KEPT, watch_values
from holdfast.sessions.summary import body_of

PATIENCE = 6  # calls after which a failure no longer waits
LONGEST_COMMAND = 200  # a longer one is a script, and not readable as a remedy
LONGEST_TAIL = 200
HEAD, TAIL = 600, 300  # of an output: a misused tool says so first, a wrapper last
FEW_IN_COMMON, HALF = 0.4, 0.5

_MISUSED = PrefilteredRegex(
    r"command not found|: not found\s*$|not recognized|unrecogni[sz]ed|did you mean|externally-managed"
    r"|(?:unknown|invalid|illegal|unsupported|no such|undefined|bad|unexpected) (?:sub-?)?(?:command"
    r"|option|flag|argument|switch"
    r"|shorthand|task|target|script|recipe|parameter|service|json field|predicate|subcommand)"
    r"|flag provided but not defined|no module named|missing script|no rule to make target"
    r"|no tasks? (?:found|named|matching)"
    r"|command ['\"`]?\S+['\"`]? not found|task ['\"`]?\S+['\"`]? not found|is not a (?:\S+ )?command"
    r"|not a valid|is not installed"
    r"|only supported|too many arguments|not enough arguments|(?:accepts|requires) (?:at (?:least|most) "
    r"|exactly )?\d+ arg"
    r"|missing required|required (?:flag|option|argument)|takes no|no package\.json"
    r"|go\.mod file not found|not in gopath"
    r"|does not contain package|no go files|directory not found|outside (?:main module|of the)"
    r"|no tests (?:found|ran|to run)"
    r"|could not find (?:a )?(?:package|project|cargo\.toml|gemfile|pyproject|go\.mod|manifest)"
    r"|unknown revision|cannot find (?:module|package)"
    r"|not (?:trusted|configured|initiali[sz]ed)|mutually exclusive|cannot be used with|workspace",
    re.IGNORECASE | re.MULTILINE,
)
_MISUSED_WORDS = (
    "not found", "recogni", "unknown", "invalid", "illegal", "unsupported", "no such", "undefined", "unexpected",
    "did you mean", "externally", "provided but", "no module", "missing", "no rule", "no task", "not a", "is not ",
    "only supp", " argument", "arg(s)", "required", "takes no", "no package", "does not contain", "no go files",
    "outside", "no tests", "could not find", "cannot ", "not trusted", "not configured", "not initial", "mutually",
    "workspace",
)  # fmt: skip
_NO_FILE = PrefilteredRegex(
    r"no such file or directory|does not exist|cannot (?:open|stat|access|find)|can't open|ENOENT",
    re.IGNORECASE,
)
_UNFORMATTED = PrefilteredRegex(
    r"not formatted|would reformat|formatting|gofmt|gofumpt|goimports|prettier"
    r"|needs? (?:to be )?(?:generated|updated)|out of date|--fix|\bfixable\b|is not tidy|go mod tidy",
    re.IGNORECASE,
)
_NOT_LEARNABLE = PrefilteredRegex(
    r"index\.lock|CONFLICT|conflict|has not been read|sandbox|operation not permitted|timed? ?out"
    r"|rate limit|nothing to commit"
    r"|unexpected EOF while|syntax error|Traceback|SyntaxError|http (?:4|5)\d\d|connection refused"
    r"|could not resolve host|already exists"
    r"|\[build failed\]|undefined: |no matches found|no new variables",
    re.IGNORECASE,
)
_INSPECTS = names(
    "ls cat head tail grep egrep rg find fd wc echo printf test jq awk sed sort uniq diff which type file stat tree pwd"
    " cd env true sleep ps kill pgrep date xxd od cut tr less more git for while if rm cp mv mkdir touch"
)
_REMEDY = lazy_regex(
    r"\b(?:fix|fmt|format|generate|gen|install|tidy|build|sync|migrate|up|trust|login|init|setup|restore"
    r"|bootstrap|prepare|download|ci)\b"
)
_CHANGE_DIRECTORY = lazy_regex(r"\A\s*cd\s+(\S+)\s*(?:&&|;)\s*")
_TAIL = lazy_regex(r"(?:\s*(?:2>&1|&?\d?>\s*/dev/null|\|\s*(?:head|tail|cat|less)\b[^|&;]*))+\s*\Z")
_JOINED = lazy_regex(r"&&|\|\||;")  # several commands: it is unclear which of them failed or helped
_PREFIX = lazy_regex(r"\A(?:(?:\w+=\S*|sudo|time|env|command|timeout\s+\S+)\s+)+")
_ECHO = lazy_regex(r"Exit code \d|[$>+] |#|-{3}|={3}")

_RUN_BY = {
    "node": ("npm", "npx", "pnpm", "yarn"),
    "python": ("pytest", "mypy", "ruff", "tox", "python3"),
    "python3": ("pytest", "mypy", "ruff", "tox", "python"),
    "java": ("mvn", "gradle", "gradlew", "mvnw"),
    "rustc": ("cargo",),
}
LONGEST_SHOWN = 80
_CATEGORY = {"test": FactCategory.TESTING, "build": FactCategory.BUILD}
_DOES = {"test": "runs the tests", "build": "builds", "lint": "lints", "types": "checks types"}
_PROOF = lazy_regex(
    r"(?:ok\s+\S+.*|PASS(?:ED)?|.*\b\d+ pass(?:ed|ing)\b.*|test result: ok.*|OK(?: \(.*\))?"
    r"|.*\b0 (?:failures|failed|errors|issues"
    r"|problems|warnings)\b.*|BUILD SUCCESS\w*.*|Success: no issues.*|All checks passed!?"
    r"|.*\bFinished\b.*|[Ll]int passed.*"
    r"|.*\b[Bb]uil[dt] (?:succeeded|completed?|in)\b.*|✓ .*|Done in .*)",
)
_ONE_TEST = lazy_regex(
    r"\s(?:-run|-k|-t|--grep|--filter|--testNamePattern|--testPathPatterns?|-Dtest|--tests|-testify\.m)[\s=]|::|\bcargo\s+(?:test"
    r"|nextest\s+run)\s+[a-z]\w*|\.bats\b|[\w/]+_test\.\w+|\.(?:test|spec)\.\w+"
)
_TESTED = lazy_regex(
    r"\b\d+ pass(?:ed|ing)\b|\btest result|^ok\s+\S+\s+(?:[\d.]+s|\(cached)|\b[1-9]\d* tests?\b"
)
_VETS = lazy_regex(r"\bgo\s+vet\b")
_PLACED = lazy_regex(
    r"\s*(?:env\s+)?\w+=[^\s]*/"
)  # a variable that holds a path of one machine or of one experiment
_VERSION_ASKED = lazy_regex(
    r"\A(\S+)(?:\s+\S+)?\s+(?:--version|version|-V)\Z|\A(node|npm|pnpm|bun|deno)\s+-v\Z"
)
_VERSION = lazy_regex(r"(?<![\d.])v?\d+\.\d+(?:\.\d+)*\b")
_ELSEWHERE = ("/tmp/", "/var/folders/", "mktemp", "TMPDIR")
_SCRATCH = (
    *_ELSEWHERE,
    "/Temp/",
    "\\Temp\\",
    "scratchpad",
)  # agents' temporary files, named by a session's id
_COMMITTED = lazy_regex(r"^\[[^\]\n]* ([0-9a-f]{7,12})[0-9a-f]*\] (\S.*)$", re.MULTILINE)
_HERE_DOCUMENT = lazy_regex(r"<<-?\s*(['\"]?)(\w+)\1\n(.*?)\n\s*\2\b", re.DOTALL)
_MESSAGE = lazy_regex(r"-\w*m\s+(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')", re.DOTALL)
_NO_OUTPUT = "exit code 0, no output"


def watch_shell(state: Gathered, command: str, output: str, *, ok: bool | None, at: float | None) -> None:
    if state.failures:
        for failure in state.failures:
            failure.age += 1
        if ok:
            _worked(state, command)
        state.failures = [failure for failure in state.failures if failure.age < PATIENCE]
    if ok is False and output:
        _failed(state, command, output, at)


def watch_read(state: Gathered, path: str, output: str, *, ok: bool | None, at: float | None) -> None:
    """Process a file that was read, or was missing."""
    if ok is False:
        if "does not exist" in output[:200]:
            _remember(state, Failure(path, "no such file", at, read=True))
        return
    for failure in state.failures:
        if failure.read and failure.command != path and _same_file(failure.command, path):
            state.failures.remove(failure)
            add_new(state.dead_ends, [failure.resolved(path)])
            return


def _failed(state: Gathered, command: str, output: str, at: float | None) -> None:
    text = display_text(command)
    if not text or _JOINED.search(bare_command(text)):
        return
    if len(output) > HEAD + TAIL:
        output = f"{output[:HEAD]}\n{output[-TAIL:]}"
    inspects = _program(bare_command(text)) in _INSPECTS
    match = _complaint(output, inspects)
    if match is None or _NOT_LEARNABLE.search(output) or not (line := line_at(output, match.start())):
        return
    if inspects and "option" not in line and "not found" not in line:
        return  # an empty search or a guessed path: the output is the answer
    _remember(state, Failure(cut_raw_line(text), cut_raw_line(line), at))


def _complaint(output: str, inspects: bool) -> re.Match[str] | None:
    """Find where a tool reports a wrong call. Plain words are searched first, because patterns cost more."""
    match = _MISUSED.search(output) if contains_any(output.lower(), _MISUSED_WORDS) else None
    if (
        match is None
        and not inspects
        and contains_any(output, ("uch file", "not exist", "annot ", "can't open", "ENOENT"))
    ):
        match = _NO_FILE.search(output)
    if match is None and contains_any(
        output, ("ormat", "fmt", "import", "rettier", "enerated", "fix", "tidy", "of date")
    ):
        match = _UNFORMATTED.search(output)
    return match


def _remember(state: Gathered, failure: Failure) -> None:
    state.failures = [earlier for earlier in state.failures if earlier.command != failure.command]
    state.failures = [*state.failures, failure][-MOST_FAILURES:]


def _worked(state: Gathered, command: str) -> None:
    text = display_text(command)
    if not text or _JOINED.search(bare_command(text)):
        return
    for failure in list(state.failures):
        if failure.read:
            continue
        instead = _instead(failure, text)
        if instead:
            state.failures.remove(failure)
            add_new(state.dead_ends, [failure.resolved(cut_raw_line(instead))])
        elif _REMEDY.search(text) and _program(bare_command(text)) not in _INSPECTS:
            failure.remedies.append(cut_raw_line(text))


def _instead(failure: Failure, worked: str) -> str:
    """Return the command that worked where the other failed; '' if it is unrelated, or the same command."""
    before, after = bare_command(failure.command), bare_command(worked)
    if before == after:
        if _directory(failure.command) != _directory(worked):
            return worked
        return f"{failure.remedies[0]}, then {worked}" if len(failure.remedies) == 1 else ""
    if _UNFORMATTED.search(failure.line) and not _MISUSED.search(failure.line):
        return ""
    old, new = before.split(), after.split()
    common = len(set(old) & set(new)) / len(set(old) | set(new))
    same_program = _program(before) == _program(after)
    if common >= HALF or (same_program and common >= FEW_IN_COMMON):
        # The same call with another number: no flag, subcommand or path changed.
        only_narrowed = len(old) == len(new) and all(
            left == right or (left.isdigit() and right.isdigit())
            for left, right in zip(old, new, strict=True)
        )
        return "" if only_narrowed else worked
    kind = checks.check_kind(before)
    return worked if kind and kind == checks.check_kind(after) else ""


def display_text(command: str) -> str:
    """Return a command without what only shapes its output; '' for scripts."""
    text = command.strip()
    if len(text) > LONGEST_COMMAND + LONGEST_TAIL:
        return ""
    if "|" in text or ">" in text:
        text = _TAIL.sub("", text)
    return text if len(text) <= LONGEST_COMMAND and "\n" not in text and "<<" not in text else ""


def bare_command(command: str) -> str:
    """Return the command without the `cd` and the variables before it."""
    return _PREFIX.sub("", _CHANGE_DIRECTORY.sub("", command))


def _directory(command: str) -> str:
    match = _CHANGE_DIRECTORY.match(command)
    return match[1].rstrip("/") if match else ""


def _program(command: str) -> str:
    return command.split(None, 1)[0].rpartition("/")[2] if command.strip() else ""


def _same_file(missed: str, found: str) -> bool:
    """Whether a path is the missed file in another folder or with another extension."""
    name, found_name = missed.rpartition("/")[2], found.rpartition("/")[2]
    if name == found_name:
        return True
    stem, same_place = name.rpartition(".")[0], missed.rpartition("/")[0] == found.rpartition("/")[0]
    return bool(stem) and same_place and stem == found_name.rpartition(".")[0]


def line_at(text: str, position: int) -> str:
    """Return the line at a position; '' if it only echoes the call."""
    line = " ".join(line_around(text, position).split()).lstrip("^~ ")
    return "" if _ECHO.match(line) else line


def watch_checks(state: Gathered, command: str, output: str, at: float | None) -> None:
    """Record a verification that passed. Of several in a line, the output proves the last one."""
    text = _last_part(display_text(command))
    kind = checks.check_kind(text) if text else None
    if kind is None or _ONE_TEST.search(text) or contains_any(text, _ELSEWHERE) or _PLACED.match(text):
        return
    if _VETS.search(text):
        kind = "lint"
    working = state.working.get(text)
    if working is not None:
        working.times += 1
    elif len(state.working) < MOST_WATCHED and (line := _proof(output, kind)):
        state.working[text] = Working(kind, cut_raw_line(line), at)


def _last_part(command: str) -> str:
    """Return the last command of a line, with the `cd` that the line began with."""
    rest = bare_command(command)
    if "&&" in rest and rest in command:
        directory = command[: command.index(rest)] if command.startswith("cd ") else ""
        command = directory + rest.rpartition("&&")[2].strip()
        rest = bare_command(command)
    return "" if any(mark in rest for mark in (";", "||", "|", "&")) else command


def _proof(output: str, kind: str) -> str:
    if not output.strip():
        return _NO_OUTPUT
    for line in reversed(output.splitlines()):
        bare = line.strip()
        if len(bare) > LINE_LENGTH or not _PROOF.fullmatch(bare):
            continue
        # Tests are built first: a finished build does not prove them, nor do they prove what ran after them.
        if ("Finished" in bare) if kind == "test" else _TESTED.search(bare):
            continue
        return " ".join(bare.split())
    return ""


def proof(output: str) -> str:
    """Return the output line that reports success; '' if there is none."""
    return _proof(output, "test")


def watch_command(state: Gathered, command: str, output: str, at: float | None) -> None:
    """Record versions, endpoints and ids of a shell command that worked."""
    if "ersion" in command or command.endswith((" -V", " -v")):
        _version(state, command, output, at)
    if not contains_any(command, _SCRATCH):
        watch_values(state, command, output, at)


def _version(state: Gathered, command: str, output: str, at: float | None) -> None:
    text = bare_command(display_text(command))
    request = _VERSION_ASKED.match(text)
    line = next((line.strip() for line in output.splitlines() if line.strip()), "")
    if request and (match := _VERSION.search(line)) and len(line) <= 120:
        statement = f"{_asked_program(text)} is {match[0]} here"
        fact = Fact(
            text=statement,
            category=FactCategory.ENVIRONMENT,
            command=cut_raw_line(text),
            evidence=cut_raw_line(line),
            at=at,
        )
        add_new(state.facts, [fact])


def _asked_program(command: str) -> str:
    """The program whose version was asked: `pnpm` of `corepack pnpm --version`."""
    words = [word for word in command.split() if word != "version" and not word.startswith("-")]
    return words[-1].rpartition("/")[2]


def watch_commit(state: Gathered, command: str, output: str) -> None:
    """Record a commit: its name and what its body says first."""
    subject, body = _message(command)
    commits = _COMMITTED.findall(output)
    lines = [cut_raw_line(f"{name} {title}") for name, title in commits] or [cut_raw_line(subject)]
    state.commits = list(dict.fromkeys([*state.commits, *filter(None, lines)]))[-MOST_COMMITS:]
    if lines[-1] and (said := body_of(body)):
        state.bodies[lines[-1]] = cut_raw_line(said)


def _message(command: str) -> tuple[str, str]:
    """Return the subject and the body of the commit message in a command."""
    if match := _HERE_DOCUMENT.search(command):
        subject, _, body = match[3].strip().partition("\n")
        return subject, body
    messages = [double_quoted or single_quoted for double_quoted, single_quoted in _MESSAGE.findall(command)]
    subject, _, rest = messages[0].strip().partition("\n") if messages else ("", "", "")
    return subject, "\n".join([rest, *messages[1:]])


def check_in(fact: Fact) -> str:
    """Return the kind of check that a fact describes; '' if it describes something else."""
    return next((kind for kind, does in _DOES.items() if fact.text.endswith(f"` {does} here")), "")


def facts_of(state: Gathered) -> Iterator[Fact]:
    """Yield the facts so far, the most used command of each kind first."""
    counts: dict[str, int] = {}
    for command, working in sorted(state.working.items(), key=lambda pair: (-pair[1].times, len(pair[0]))):
        counts[working.kind] = counts.get(working.kind, 0) + 1
        if counts[working.kind] > 2 or (counts[working.kind] == 2 and working.times == 1):
            continue
        yield Fact(
            text=f"`{command}` {_DOES[working.kind]} here",
            category=_CATEGORY.get(working.kind, FactCategory.COMMAND),
            command=command,
            evidence=working.line,
            at=working.at,
            verified_at=working.at,
        )
    for name, mention in state.mentions.items():
        if mention.times >= KEPT:
            yield Fact(
                text=_said_of(name, mention),
                category=mention.category,
                command=mention.command,
                evidence=mention.line,
                at=mention.at,
                verified_at=mention.at,
            )
    yield from (fact for fact in reversed(state.facts) if _is_in_use(fact, state))


def _said_of(name: str, mention: Mention) -> str:
    if " " in name:  # a value and what the command calls it
        words = mention.command.split()
        shown = mention.command if len(mention.command) <= LONGEST_SHOWN else " ".join(words[:3])
        return f"`{shown}` gives {name}"
    return f"{name} {'answers' if mention.category == FactCategory.ENDPOINT else 'is in use'} here"


def _is_in_use(version: Fact, state: Gathered) -> bool:
    """Whether a version is of a program that checks this repository; that of any other tool helps nobody."""
    program = version.text.partition(" ")[0]
    wanted = {program, *_RUN_BY.get(program, ())}
    used = {word.rpartition("/")[2] for command in (*state.working, *state.jobs) for word in command.split()}
    return not wanted.isdisjoint(used)
