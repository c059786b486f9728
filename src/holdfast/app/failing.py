"""Which part of a command made it fail, read off what the program said: an option, a target, a file, or itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from holdfast.hot.shell import Call


def _words(block: str) -> frozenset[str]:
    return frozenset(block.split())


_NOT_FOUND = re.compile(
    r"(?P<before>[^\s:'\"`]+)['\"`]?: (?:command )?not found\b"
    r"|['\"`](?P<quoted>[^'\"`]+)['\"`] is not recognized as an? (?:internal|name)|spawn (?P<spawned>\S+) ENOENT",
    re.IGNORECASE,
)
_NOT_FOUND_NAMED = re.compile(r"command not found: (?P<after>\S+)")
_FLAG = re.compile(
    r"unknown|unrecogni[sz]ed|invalid|illegal|unsupported|unexpected|no such|not defined|not (?:a )?valid"
    r"|not supported|not recognized|does not (?:exist|support)|bad (?:option|flag)|ambiguous",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"unknown|unrecogni[sz]ed|undefined|no such|no rule|no (?:task|module|target|script|package)|missing script"
    r"|not found|not a (?:\S+ )?(?:valid )?(?:\S+ )?command|is not a|could not find|cannot find|not recognized"
    r"|not installed|invalid (?:sub-?command|command|choice|value|task|target|argument)|unexpected|does not contain",
    re.IGNORECASE,
)
_NO_FILE = re.compile(
    r"no such file|does not exist|cannot (?:open|stat|access|find)|can't (?:open|find)|ENOENT|not found",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"mutually exclusive|cannot be used|can't be used|not allowed with|conflicts with|needs|requires"
)
_SHORT = re.compile(r"(?:option|flag|switch)s?:? (?:-- )?['\"`]?-?(?P<letter>\w)\b", re.IGNORECASE)
_MANAGED = "externally-managed"
_SUBCOMMAND = re.compile(r"[a-z][a-z_:-]+")
_FILE = re.compile(r"[/\\]|\.\w{1,5}\Z")
_INSTANCE = re.compile(r"\d+|[0-9a-f]{7,40}|#\d+|https?://.*")

# How many words after the program say what it is to do. The others have two: `gh pr diff`, `npm run lint`.
_NO_SUBCOMMAND = _words(
    """ls cat grep egrep fgrep rg find fd sed awk head tail wc sort uniq cut tr diff cp mv rm mkdir touch chmod curl
    wget make gmake ninja pytest jest vitest mocha tsc eslint prettier node python python3 bash sh zsh tar jq yq
    sqlite3 psql ssh scp rsync date xxd stat tree mypy black flake8 gcc g++ clang javac java du df ps xargs tee
    gofmt gofumpt goimports golangci rustfmt shellcheck which"""
)
_ONE_SUBCOMMAND = _words(
    "git go cargo ruff brew apt apt-get dnf pip pip3 terraform helm golangci-lint hg svn rustup gem bazel"
)
_TWO_OF_GIT = _words("stash remote worktree submodule bisect notes lfs")


class Failing(Struct, frozen=True):
    """`rule` is how the call is known again (`hot/moment.py`), by `token` after the words `needs`."""

    rule: str
    token: str = ""
    needs: tuple[str, ...] = ()


def failing(call: Call, said: str) -> Failing:
    """What failed. Where that is not clear, only the same words again are the same call."""
    program, rest = call.words[0], call.words[1:]
    whole = Failing("whole", "", tuple(rest))
    match = _NOT_FOUND_NAMED.search(said) or _NOT_FOUND.search(said)
    if match and program in match.groups():
        return Failing("path", program) if "/" in program else Failing("program")
    if "/" in program and _NO_FILE.search(said) and _position(program, said) >= 0:
        return Failing("path", program)
    if _MANAGED in said:
        return Failing("word", "install", ()) if "install" in rest else whole
    if _TOGETHER.search(said):
        return whole
    token = _named(rest, said)
    if not token or _INSTANCE.fullmatch(token):
        return whole
    if token.startswith("-"):
        return Failing("flag", token, _doing(program, rest)) if _FLAG.search(said) else whole
    at = rest.index(token) if token in rest else len(rest)
    before = tuple(word for word in _doing(program, rest) if word in rest[:at])
    if _FILE.search(token):
        return Failing("path", token, before) if _NO_FILE.search(said) else whole
    return Failing("word", token, before) if _MISSING.search(said) else whole


def _doing(program: str, rest: list[str]) -> tuple[str, ...]:
    """The words that say what a program is to do: `pr diff` of `gh pr diff 104 --stat`."""
    if rest[:1] == ["-m"]:
        return tuple(rest[:2])
    if program in _NO_SUBCOMMAND:
        return ()
    most = (
        1
        if program in _ONE_SUBCOMMAND and not (program == "git" and rest[:1] and rest[0] in _TWO_OF_GIT)
        else 2
    )
    found = []
    for word in rest[:most]:
        if not _SUBCOMMAND.fullmatch(word):
            break
        found.append(word)
    return tuple(found)


def _named(words: list[str], said: str) -> str:
    """The word of a call that its complaint names: of several the first after the complaint, else the last before."""
    places = [(at, word) for word in _pieces(words) if (at := _position(word, said)) >= 0]
    if not places:
        letter = match["letter"] if (match := _SHORT.search(said)) else ""
        short = [
            word for word in words if letter and word.startswith("-") and word[1:2] != "-" and letter in word
        ]
        return short[0] if len(short) == 1 else ""
    flags = [place for place in places if place[1].startswith("-")]
    if flags:  # a complaint that names an option is about the option
        places = flags
    complaint = _FLAG.search(said) or _MISSING.search(said) or _NO_FILE.search(said)
    start = complaint.start() if complaint else 0
    after = [place for place in places if place[0] >= start]
    return min(after)[1] if after else max(places)[1]


def _pieces(words: Iterable[str]) -> set[str]:
    """Words, and the parts of lists: `--json title,labels` names two fields."""
    every = set(words)
    lists = [word for word in every if "," in word]
    return {word for word in every.union(*(word.split(",") for word in lists)) if len(word) > 1}


def _position(word: str, said: str) -> int:
    """Where a text names a word, standing by itself; -1 when it does not."""
    match = re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-]|\.\w)", said)
    if match is None and word.startswith("--"):  # git names options without their dashes
        match = re.search(rf"['\"`‘]{re.escape(word[2:])}['\"`’]", said)
    return match.start() if match else -1
