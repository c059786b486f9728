"""Splits a command line into simple commands, each with the directory and variables it runs in."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.core.words import word_set

names = word_set

LONGEST = 1200  # characters of a line; a longer one is a script
_HERE_DOCUMENT = lazy_regex(
    r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^[ \t]*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_TOKEN = lazy_regex(
    r"(?P<join>\|\||&&|[|;\n()]|(?<!>)&(?!>))"
    r"|(?P<to>\d*(?:>>?|<)&?\s*[^\s|;&()]*|&>>?\s*\S+)"
    r"|(?P<word>(?:[^\s\"'|;&()<>\\]|\\.|\"(?:\\.|[^\"\\])*\"|'[^']*'|\$\([^()]*\)|(?<=\S)[()])+)",
    re.DOTALL,
)
_VARIABLE = lazy_regex(r"[A-Za-z_]\w*=")
_KEYWORDS = names("then do else elif if while until ! { } done fi for in case esac")
_WRAPPERS = names("sudo time env command nohup exec nice builtin")
_MASKS = ("|", ";", "||")


class Simple(Struct, frozen=True, gc=False):
    """One command. `shapes` is set when it only formats another's output: the right side of a pipe."""

    words: tuple[str, ...]
    directory: str = ""
    variables: tuple[str, ...] = ()
    shapes: bool = False

    @property
    def program(self) -> str:
        return name_of(self.words[0])

    @property
    def text(self) -> str:
        return " ".join((*self.variables, *self.words))


def name_of(word: str) -> str:
    return unquoted(word).rpartition("/")[2] if not word.startswith("./") else word


def unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def path_of(part: Simple) -> str:
    """The PATH that its line sets for a command."""
    return next((text for text in part.variables if text.startswith("PATH=")), "")


@lru_cache(maxsize=1024)
def simple_commands(line: str) -> tuple[Simple, ...]:
    """The commands of a line in order; changes of directory and PATH apply to those that follow."""
    if len(line) > LONGEST:
        line = line[:LONGEST].rpartition("\n")[0] or line[:LONGEST].rpartition(" ")[0]
    if "<<" in line:
        line = _HERE_DOCUMENT.sub(r" \3", line)
    parsed: list[Simple] = []
    words: list[str] = []
    directory, path, piped = "", "", False

    def end() -> None:
        nonlocal directory, path, words
        variables, rest = _split(words)
        words = []
        exported = rest[1:] if rest[:1] == ["export"] else variables if not rest else []
        path = next((word for word in exported if word.startswith("PATH=")), path)
        if not rest:
            return
        if path and path not in rest:
            variables = [path, *variables]
        if rest[0] == "cd" and len(rest) == 2:
            directory = _joined(directory, unquoted(rest[1]))
        else:
            parsed.append(Simple(tuple(rest), directory, tuple(variables), piped))

    for match in _TOKEN.finditer(line.replace("\\\n", " ")):
        if word := match["word"]:
            words.append(word)
        elif join := match["join"]:
            end()
            piped = join == "|"
    end()
    return tuple(parsed)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Variables that are set for the command, and the command without what only wraps it."""
    variables: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if _VARIABLE.match(word):
            variables.append(word)
        elif word not in _KEYWORDS and word not in _WRAPPERS:
            break
        elif word == "command" and words[at + 1 : at + 2] in (["-v"], ["-V"]):
            break  # looks up a program
        at += 1
    return variables, words[at:]


def _joined(before: str, directory: str) -> str:
    if directory in (".", "./"):
        return before
    if directory.startswith(("/", "~", "$")) or not before:
        return directory.rstrip("/") or directory
    return f"{before}/{directory}".rstrip("/")


def masks(line: str) -> bool:
    """Whether what follows a command in its line may hide its failure."""
    return any(mark in line for mark in _MASKS)


@lru_cache(maxsize=64)
def _written(directory: str) -> tuple[str, ...]:
    """The spellings of a directory in commands: on Windows also with slashes, and as a Unix shell there writes it."""
    plain = directory.replace("\\", "/").rstrip("/")
    if len(plain) < 3:
        return ()
    drive = f"/{plain[0].lower()}{plain[2:]}" if plain[1] == ":" else ""
    return tuple(dict.fromkeys(form for form in (directory, plain, drive) if form))


def from_here(text: str, directory: str) -> str:
    """A command or a path relative to this directory."""
    for form in _written(directory):
        if form in text:
            text = text.replace(f"{form}/", "").replace(f"{form}\\", "")
            text = re.sub(rf"\bcd \"?{re.escape(form)}\"?\s*(?:&&|;)\s*", "", text)
    return text.replace("\\", "/") if directory[1:2] == ":" and " " not in text else text
