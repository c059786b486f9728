"""Recognises the messages of tools that were called incorrectly: what is missing, unknown or elsewhere, by name.

Failures caused by the code are not signs: compiler errors, failing tests, conflicts and refusals.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from msgspec import Struct

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.language.prose import contains_any, line_around, without_escapes

HEAD, TAIL = 700, 400  # of an output: a misused tool says so first, a wrapper last
LONGEST_LINE = 240
_Q = "['\"`‘’“”]?"
_NAME = r"(?P<name>[\w@][\w@:./+-]*)"

_SIGNS: tuple[tuple[str, int, str], ...] = (
    ("managed", re.I, r"(?P<why>externally[- ]managed[- ]environment)"),
    (
        "untrusted",
        re.I,
        r"\b(?:config(?:uration)? files?|directory|workspace)\b.{0,120}\b(?P<why>not trusted)",
    ),
    (
        "program",
        0,
        rf"^(?:.{{0,60}}?[:)] ?)?(?:line )?(?:\d+: )?{_Q}(?P<name>[\w.+/-]+){_Q}: (?:command )?not"
        rf" found\s*$",
    ),
    ("program", 0, r"^.{0,40}?command not found: (?P<name>[\w.+/-]+)"),
    ("program", 0, r"'(?P<name>[\w.+-]+)' is not recognized as an internal"),
    ("program", re.I, r"^the command '(?P<name>[\w.+-]+)' could not be found"),
    (
        "engine",
        re.I,
        r"(?P<why>your \w+ version is incompatible|the engine [\"']?\w+[\"']? is incompatible"
        r"|unsupported engine|you are (?:using|running) node(?:\.js)? v?[\d.]+"
        r"|requires (?:a )?(?:node|python|ruby|java|php)(?:\.js)? (?:version )?(?:>=|\^|~|v?\d)[\w.]*"
        r"|your ruby version is [\d.]+)",
    ),
    ("program", 0, r"exec(?:utable)?:? \"?(?P<name>[\w.+-]+)\"?: executable file not found"),
    ("program", 0, r"^.{0,60}?spawn (?P<name>[\w.+/-]+) ENOENT"),
    ("task", re.I, rf"\bno tasks? (?:named |matching )?{_Q}(?P<name>[\w:*./-]+){_Q} (?:found|match)"),
    ("task", re.I, rf"\bmissing script:? {_Q}{_NAME}"),
    ("task", re.I, rf"\bno rule to make target {_Q}{_NAME}"),
    ("task", re.I, rf"\bscript not found {_Q}{_NAME}"),
    ("task", re.I, rf"does not contain recipes? {_Q}{_NAME}"),
    ("task", re.I, rf"\btask:? {_Q}{_NAME}{_Q} (?:does not exist|not found|is not defined)"),
    (
        "task",
        re.I,
        rf"could(?:n't| not) find (?:a )?(?:script|task|recipe|target)(?: named)? {_Q}{_NAME}",
    ),
    ("task", re.I, rf"don't know how to build task {_Q}{_NAME}"),
    ("task", re.I, rf"none of the (?:selected )?packages has an? {_Q}{_NAME}"),
    (
        "target",
        re.I,
        r"\b(?P<why>no (?:bin|binary|test|example|bench|lib|library) targets? "
        r"(?:named [`'\"]?[\w-]{1,40}[`'\"]?|found))",
    ),
    ("target", re.I, r"\b(?P<why>no projects? (?:matched|found))"),
    ("target", re.I, rf"package ID specification {_Q}{_NAME}(?={_Q}[^\n]{{0,200}}did not match)"),
    ("command", re.I, rf"\bunknown (?:sub)?command:? {_Q}{_NAME}"),
    ("command", re.I, rf"\bunrecogni[sz]ed (?:sub)?command:? {_Q}{_NAME}"),
    ("command", re.I, rf"\bno such (?:sub)?command:? {_Q}{_NAME}"),
    (
        "command",
        re.I,
        rf"{_Q}{_NAME}{_Q} is not an? (?:known |valid |recognized )?(?:[\w-]+ )?(?:sub)?command",
    ),
    ("command", re.I, rf"\bcommand {_Q}{_NAME}{_Q} (?:not found|does not exist|is not defined)"),
    ("command", re.I, rf"\binvalid choice:? {_Q}{_NAME}"),
    ("flag", re.I, rf"\bunknown json field:? {_Q}{_NAME}"),
    ("flag", 0, r"unknown shorthand flag: '.' in (?P<name>-\w+)"),
    ("flag", 0, r"flag provided but not defined: (?P<name>-[\w-]+)"),
    (
        "flag",
        re.I,
        rf"(?:unknown|unrecogni[sz]ed|invalid|illegal|unsupported|unexpected|undefined|no such)"
        rf" (?:long )?"
        rf"(?:flag|option|argument|switch|parameter|predicate|primary)s?\b[: ]*(?:--"
        rf" )?{_Q}(?P<name>-{{0,2}}\w[\w-]*)",
    ),
    (
        "flag",
        re.I,
        r"^\S*?(?P<name>--?\w[\w-]*): (?:unknown|invalid|illegal|unrecogni[sz]ed) (?:option|flag"
        r"|primary)",
    ),
    (
        "flag",
        re.I,
        rf"\b(?:unknown|invalid) (?:primary|predicate)[^\n]{{0,20}} {_Q}(?P<name>-{{1,2}}\w[\w-]*)",
    ),
    (
        "place",
        re.I,
        r"\b(?P<why>go\.mod file not found|cannot find main module|does not contain main module"
        r"|does not contain package|outside (?:main module|of the workspace)|not one of the"
        r" workspace modules"
        r"|could not find [`'\"]?(?:Cargo\.toml|pyproject\.toml|Gemfile|package\.json)"
        r"|no package\.json|could not read package\.json|no makefile found|no justfile found|no"
        r" rakefile found"
        r"|no configuration file provided|no pyproject\.toml|no project found|did not find any"
        r" tests?)",
    ),
    ("excluded", re.I, r"(?P<why>build constraints exclude all Go files)"),
    (
        "module",
        0,
        rf"(?:No module named|Cannot find (?:module|package)|no required module provides package)"
        rf" {_Q}(?P<name>[\w@./-]+)",
    ),
    ("unmatched", 0, r"^(?:\(eval\)|zsh)(?::\d+)?: ?no matches found: (?P<name>[^\n]{1,200})$"),
    ("unmatched", 0, r"^(?:\(eval\)|zsh)(?::\d+)?: ?(?P<name>=\S*) not found$"),
    ("glob", 0, r"no matches found: (?P<name>\S+)"),
    (
        "variable",
        0,
        r"\b(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b(?: environment variable)? (?:is |must be |was"
        r" )?(?:not set|unset|required|set\b(?= (?:to|in|before))|missing)",
    ),
    (
        "variable",
        re.I,
        r"(?:missing|required|set the|set) (?:required )?env(?:ironment)? var(?:iable)?s?:?"
        r" [`'\"]?(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]+)",
    ),
    ("path", 0, r"no such file or directory: (?P<name>[^\s'\"]+)"),
    (
        "path",
        0,
        rf"(?:cannot access|can't open|cannot open|cannot stat|can't cd to|can't read) (?:file"
        rf" )?{_Q}(?P<name>[^\s'\"’`:]+)",
    ),
    (
        "path",
        0,
        r"^.{0,60}?[\s'\"(](?P<name>[\w.@~+/-]+)['\"]?: (?:IO error|No such file|no such file|Not"
        r" a directory)",
    ),
    ("path", 0, r"pathspec '(?P<name>[^']+)' did not match any file"),
    ("path", 0, r"ENOENT: no such file or directory, \w+ '(?P<name>[^']+)'"),
    (
        "usage",
        re.I,
        r"\b(?P<why>none of the others can be|mutually exclusive|cannot be used with|(?:accepts"
        r"|requires) "
        r"(?:at (?:least|most) |exactly |between )?\d+ arg|required flag|missing required|too many"
        r" arguments"
        r"|could not determine executable to run|not enough arguments\b(?! in call)|requires an?"
        r" (?:value|argument))",
    ),
    ("refused", 0, r"^GraphQL: (?P<why>[A-Z][A-Za-z' ,-]{8,80})\.? \(\w+\)$"),
    (
        "format",
        re.I,
        r"\b(?P<why>not (?:properly )?formatted|would (?:reformat|be reformatted)|formatter would have|"
        r"code style issues|is not tidy|file is not .{0,12}-?(?:gofmt|goimports|gofumpt)|run"
        r" (?:`?\S+ ){0,3}?`?(?:fmt|format|--fix))\b",
    ),
)
_WORDS = (  # noqa: SIM905
    "not found|not be found|ncompatible|engine|requires |ou are |constraints|uby version|ecogni|nknown|nvalid"
    "|llegal|nsupported|o such|nexpected|ndefined|xternally|not trusted|not defined|issing|o rule|o task|No task"
    "|not contain|does not exist|not find|n't find|how to build|none of|None of|o projects| targets |is not a"
    "|go.mod|annot |outside |o package|akefile|ustfile|No module|o required|o matches|environment variable"
    "|not set|required|an't |did not match|ENOENT|exclusive|rguments|GraphQL|gh: |formatted|eformat"
    "|ormatter would|style issues|not tidy|gofmt|goimports|gofumpt| fmt|--fix|must be set| arg|o configuration"
    "|primary|set the "
).split("|")
_NEEDED = {  # for each cause, words of which every sign has one. Searched first, because patterns cost more
    "managed": ("externally",),
    "untrusted": ("not trusted",),
    "program": ("not found", "not recognized", "enoent", "not be found"),
    "engine": ("incompatible", "engine", "you are", "requires", "ruby version"),
    "task": ("task", "script", "target", "recipe", "packages has"),
    "target": ("target", "no project", "specification"),
    "command": ("command", "choice"),
    "flag": ("flag", "option", "argument", "switch", "parameter", "predicate", "primary", "json field"),
    "module": ("no module", "cannot find", "no required"),
    "glob": ("no matches",),
    "unmatched": ("no matches", " =", ":="),
    "path": ("no such file", "cannot ", "can't ", "io error", "pathspec", "not a directory"),
    "refused": ("graphql",),
    "format": ("format", "style issues", "tidy", "gofmt", "goimports", "gofumpt", "fmt", "--fix"),
    "place": (
        *("go.mod file not", "main module", "contain package", "of the workspace", "workspace modules"),
        *("could not find", "package.json", "makefile found", "justfile found", "rakefile found"),
        *("configuration file", "no pyproject", "no project", "did not find any"),
    ),
    "variable": (
        *("not set", "unset", "required", "missing", " set to", " set in", " set before"),
        *("env var", "environment var"),
    ),
    "usage": (
        *(
            "none of the others",
            "mutually exclusive",
            "cannot be used",
            "accepts ",
            "requires ",
            "required flag",
        ),
        *("missing required", "too many arg", "could not determine", "not enough arg"),
    ),
}
_NOT_LEARNABLE = PrefilteredRegex(
    r"index\.lock|\bCONFLICT\b|merge conflict|has not been read|\bsandbox|operation not permitted|rate limit"
    r"|nothing to commit|unexpected EOF while|Traceback \(most|\bSyntaxError\b|HTTP 5\d\d|connection refused"
    r"|could not resolve host|no checks reported|still running|bad credentials|unmatched ['\"]|parse error near",
    re.IGNORECASE,
    words="index.lock|conflict|has not been read|sandbox|not permitted|rate limit|nothing to commit|unexpected eof"
    "|traceback (|syntaxerror|http 5|connection refused|resolve host|checks reported|still running|bad credentials"
    "|unmatched |parse error",
)
_BY_SHELL = lazy_regex(r"^(?:\(eval\)|zsh)(?::\d+)?: ?(?:no matches found: |=\S* not found$)", re.MULTILINE)
_ECHO = lazy_regex(r"\s*(?:Exit code \d+|[$>+] |(?:\[[\w:.-]+\] )?\$ )")


class Sign(Struct, frozen=True):
    """The cause of a failure, the name in question, and the tool's message: only the sign itself, up to the name,
    because the rest of an output may be any text."""

    cause: str
    name: str
    line: str


@cache  # compiled on first use: most sessions need few of them, and compiling all costs more than reading a session
def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    return re.compile(pattern, flags)


def excerpt(output: str) -> str:
    """Return the part of an output in which a tool says what was wrong with the call."""
    if len(output) > HEAD + TAIL:
        output = f"{output[:HEAD]}\n{output[-TAIL:]}"
    return without_escapes(output) if "\x1b" in output else output


def said_by_shell(output: str) -> bool:
    """Whether the shell itself reports that a word was a glob pattern without matches, in words no program uses."""
    ends = output if len(output) <= HEAD + TAIL else f"{output[:HEAD]}\n{output[-TAIL:]}"
    return ("(eval):" in ends or "zsh:" in ends) and _BY_SHELL.search(ends) is not None


@lru_cache(maxsize=8)  # called several times in a row with the same output
def signs_in(output: str) -> list[Sign]:
    """Return the signs in an output, the most specific causes first; none if it shows another kind of failure."""
    if not output or not contains_any(output, _WORDS) or _NOT_LEARNABLE.search(output):
        return []
    signs: list[Sign] = []
    folded = output.lower()
    possible = {cause: contains_any(folded, needed) for cause, needed in _NEEDED.items()}
    for cause, flags, text in _SIGNS:
        if not possible.get(cause, True):
            continue
        pattern = _compiled(text, re.MULTILINE | flags)
        for match in pattern.finditer(output):
            key = "name" if "name" in pattern.groupindex else "why"
            if line_of(output, match.start(key)):
                name = match["name"].rstrip(".:,") if key == "name" else ""
                signs.append(Sign(cause, name, _words(cause, match, key, name)))
            if len(signs) > 8:
                return signs
    return signs


def _words(cause: str, match: re.Match[str], key: str, name: str) -> str:
    """Return the sign in the tool's words and nothing around it; in ours if any text could precede the name."""
    if cause == "program":
        return f"command not found: {name}"
    if cause == "path":
        return "no such file or directory"
    message = " ".join((match[key] if key == "why" else match[0]).split()).lstrip(".:,;- ")
    if key == "why" and sum(message.count(sign) for sign in "`'\"") == 1:
        message = message.translate({ord(sign): None for sign in "`'\""})
    quote = message[-len(name) - 1 : -len(name)] if name and message.endswith(name) else ""
    return message + quote if quote in "'\"`" else message


def line_of(text: str, position: int) -> str:
    line = line_around(text, position)
    return "" if _ECHO.match(line) or len(line) > LONGEST_LINE else " ".join(line.split())
