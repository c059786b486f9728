"""Stumbles: a call that failed for reasons of tool or environment, and the variant of it that worked.

What fails because the code is wrong is work and not a stumble: an edit in between ends the wait for a remedy.
"""

from __future__ import annotations

import re

from holdfast.core.patterns import late
from holdfast.model.memory import DeadEnd
from holdfast.sessions import checks
from holdfast.sessions.harvest_prose import mentions
from holdfast.sessions.harvest_state import MOST_FAILURES, Failure, Gathered, add, raw

PATIENCE = 6  # calls after which nobody is looking for the remedy any more
LONGEST_COMMAND = 200  # a longer one is a script: no remedy is read off it at a glance
LONGEST_TAIL = 200
HEAD, TAIL = 600, 300  # of an output: a tool that is misused says so at once, a wrapper at the end
FEW_IN_COMMON, HALF = 0.4, 0.5

_MISUSED = late(
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
_NO_FILE = late(
    r"no such file or directory|does not exist|cannot (?:open|stat|access|find)|can't open|ENOENT",
    re.IGNORECASE,
)
_UNFORMATTED = late(
    r"not formatted|would reformat|formatting|gofmt|gofumpt|goimports|prettier"
    r"|needs? (?:to be )?(?:generated|updated)|out of date|--fix|\bfixable\b|is not tidy|go mod tidy",
    re.IGNORECASE,
)
_NOT_LEARNABLE = late(
    r"index\.lock|CONFLICT|conflict|has not been read|sandbox|operation not permitted|timed? ?out"
    r"|rate limit|nothing to commit"
    r"|unexpected EOF while|syntax error|Traceback|SyntaxError|http (?:4|5)\d\d|connection refused"
    r"|could not resolve host|already exists"
    r"|\[build failed\]|undefined: |no matches found|no new variables",
    re.IGNORECASE,
)
_INSPECTS = frozenset(
    [
        "ls",
        "cat",
        "head",
        "tail",
        "grep",
        "egrep",
        "rg",
        "find",
        "fd",
        "wc",
        "echo",
        "printf",
        "test",
        "jq",
        "awk",
        "sed",
        "sort",
        "uniq",
        "diff",
        "which",
        "type",
        "file",
        "stat",
        "tree",
        "pwd",
        "cd",
        "env",
        "true",
        "sleep",
        "ps",
        "kill",
        "pgrep",
        "date",
        "xxd",
        "od",
        "cut",
        "tr",
        "less",
        "more",
        "git",
        "for",
        "while",
        "if",
        "rm",
        "cp",
        "mv",
        "mkdir",
        "touch",
    ]
)
_REMEDY = late(
    r"\b(?:fix|fmt|format|generate|gen|install|tidy|build|sync|migrate|up|trust|login|init|setup|restore"
    r"|bootstrap|prepare|download|ci)\b"
)
_CHANGE_DIRECTORY = late(r"\A\s*cd\s+(\S+)\s*(?:&&|;)\s*")
_TAIL = late(r"(?:\s*(?:2>&1|&?\d?>\s*/dev/null|\|\s*(?:head|tail|cat|less)\b[^|&;]*))+\s*\Z")
_JOINED = late(r"&&|\|\||;")  # several commands: which of them failed or helped is anybody's guess
_PREFIX = late(r"\A(?:(?:\w+=\S*|sudo|time|env|command|timeout\s+\S+)\s+)+")
_ECHO = late(r"Exit code \d|[$>+] |#|-{3}|={3}")


def watch_shell(state: Gathered, command: str, output: str, *, ok: bool | None, at: float | None) -> None:
    """Takes one shell call that came to its end."""
    if state.failures:
        for failure in state.failures:
            failure.age += 1
        if ok:
            _worked(state, command)
        state.failures = [failure for failure in state.failures if failure.age < PATIENCE]
    if ok is False and output:
        _failed(state, command, output, at)


def watch_read(state: Gathered, path: str, output: str, *, ok: bool | None, at: float | None) -> None:
    """Takes one file that was read, or was not where it was looked for."""
    if ok is False:
        if "does not exist" in output[:200]:
            _remember(state, Failure(path, "no such file", at, read=True))
        return
    for failure in state.failures:
        if failure.read and failure.command != path and _same_file(failure.command, path):
            state.failures.remove(failure)
            _add(state, DeadEnd(tried=failure.command, failed=failure.line, instead=path, at=failure.at))
            return


def _failed(state: Gathered, command: str, output: str, at: float | None) -> None:
    text = shown(command)
    if not text or _JOINED.search(bare(text)):
        return
    if len(output) > HEAD + TAIL:
        output = f"{output[:HEAD]}\n{output[-TAIL:]}"
    inspects = _program(bare(text)) in _INSPECTS
    match = _complaint(output, inspects)
    if match is None or _NOT_LEARNABLE.search(output) or not (line := line_at(output, match.start())):
        return
    if inspects and "option" not in line and "not found" not in line:
        return  # a search that missed, a path that was guessed: the answer came with it
    _remember(state, Failure(raw(text), raw(line), at))


def _complaint(output: str, inspects: bool) -> re.Match[str] | None:
    """Where a tool says that it was called in a wrong way; words first, because patterns cost more."""
    match = _MISUSED.search(output) if mentions(output.lower(), _MISUSED_WORDS) else None
    if (
        match is None
        and not inspects
        and mentions(output, ("uch file", "not exist", "annot ", "can't open", "ENOENT"))
    ):
        match = _NO_FILE.search(output)
    if match is None and mentions(
        output, ("ormat", "fmt", "import", "rettier", "enerated", "fix", "tidy", "of date")
    ):
        match = _UNFORMATTED.search(output)
    return match


def _remember(state: Gathered, failure: Failure) -> None:
    state.failures = [known for known in state.failures if known.command != failure.command]
    state.failures = [*state.failures, failure][-MOST_FAILURES:]


def _worked(state: Gathered, command: str) -> None:
    text = shown(command)
    if not text or _JOINED.search(bare(text)):
        return
    for failure in list(state.failures):
        if failure.read:
            continue
        instead = _instead(failure, text)
        if instead:
            state.failures.remove(failure)
            _add(
                state,
                DeadEnd(tried=failure.command, failed=failure.line, instead=raw(instead), at=failure.at),
            )
        elif _REMEDY.search(text) and _program(bare(text)) not in _INSPECTS:
            failure.remedies.append(raw(text))


def _instead(failure: Failure, worked: str) -> str:
    """What worked where the other failed; '' when it was something else, or the same by luck."""
    before, after = bare(failure.command), bare(worked)
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
        return worked if not _only_narrowed(old, new) else ""
    kind = checks.check_kind(before)
    return worked if kind and kind == checks.check_kind(after) else ""


def _only_narrowed(old: list[str], new: list[str]) -> bool:
    """Whether the same call was repeated with another subject: no flag, no subcommand, no path changed."""
    return len(old) == len(new) and all(
        one == two or (one.isdigit() and two.isdigit()) for one, two in zip(old, new, strict=True)
    )


def _add(state: Gathered, item: DeadEnd) -> None:
    add(state.dead_ends, item, lambda known: f"{known.tried} {known.failed}")


def shown(command: str) -> str:
    """A command as it is shown: without what only shapes its output. '' for scripts."""
    text = command.strip()
    if len(text) > LONGEST_COMMAND + LONGEST_TAIL:
        return ""
    if "|" in text or ">" in text:
        text = _TAIL.sub("", text)
    return text if len(text) <= LONGEST_COMMAND and "\n" not in text and "<<" not in text else ""


def bare(command: str) -> str:
    """The command itself, without the change of directory and the variables before it."""
    return _PREFIX.sub("", _CHANGE_DIRECTORY.sub("", command))


def _directory(command: str) -> str:
    match = _CHANGE_DIRECTORY.match(command)
    return match[1].rstrip("/") if match else ""


def _program(command: str) -> str:
    return command.split(None, 1)[0].rpartition("/")[2] if command.strip() else ""


def _same_file(missed: str, found: str) -> bool:
    """Whether a path is the guessed one at another place or with another ending."""
    name, other = missed.rpartition("/")[2], found.rpartition("/")[2]
    if name == other:
        return True
    stem, same_place = name.rpartition(".")[0], missed.rpartition("/")[0] == found.rpartition("/")[0]
    return bool(stem) and same_place and stem == other.rpartition(".")[0]


def line_at(text: str, position: int) -> str:
    """The line of a text that a match stands in, unless it only echoes the call."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = " ".join(text[start : end if end >= 0 else len(text)].split()).lstrip("^~ ")
    return "" if _ECHO.match(line) else line
