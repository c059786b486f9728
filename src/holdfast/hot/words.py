"""The words by which prompts and paths are compared: split at case and signs, lower case, endings taken off.

Standard library only: both the hooks and the application, which prepares what hooks read, must split alike. The words
that say nothing are handed in; hooks have them from the prepared file.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

LONGEST_PROMPT = 3000
ON = "on "  # marks a branch among words, which hold no space
_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_][^\W_]*")
_HAN = "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # compiled where it is needed: that takes time
_SHORTEST = 3
_LONGEST_COMMAND = 100


def words(text: str, empty: Collection[str]) -> list[str]:
    """Every telling word of a text, in order, repeats included; `empty` are words that say nothing."""
    return [stem for stem, _ in _forms(text, empty)]


def as_written(texts: Iterable[str], empty: Collection[str]) -> dict[str, str]:
    """For each word, how a text writes it first: what is shown to people."""
    forms: dict[str, str] = {}
    for text in texts:
        for stem, form in _forms(text, empty):
            forms.setdefault(stem, form)
    return forms


def _forms(text: str, empty: Collection[str]) -> Iterator[tuple[str, str]]:
    ascii_only = text.isascii()
    for word in _WORD.findall(_CASE.sub(" ", text)):
        if not ascii_only and re.search(_HAN, word):  # no spaces between words: pairs of signs stand for them
            yield from ((word[at : at + 2], word[at : at + 2]) for at in range(max(len(word) - 1, 1)))
            continue
        plain = word.lower()
        if len(plain) >= _SHORTEST and plain not in empty:
            yield stem_of(plain), plain


def name_words(path: str, empty: Collection[str]) -> set[str]:
    """The words of a file's own name, without its ending."""
    name = path.rpartition("/")[2]
    return set(words(name.rpartition(".")[0] or name, empty))


def branch_words(branch: str, empty: Collection[str]) -> list[str]:
    """The words of a branch's name, and the name itself as one that no text can say: work goes on on its branch."""
    return [*dict.fromkeys(words(branch, empty)), f"{ON}{branch}"] if branch else []


def command_in(prompt: str) -> str:
    """The client's command that a prompt begins with, with its stroke; '' for a path and for plain words."""
    if not prompt.startswith("/"):
        return ""
    name = prompt[:_LONGEST_COMMAND].split(maxsplit=1)[0]
    return name if len(name) > 1 and "/" not in name[1:] and "." not in name else ""


def names_file(text: str, path: str) -> bool:
    """Whether a text already says this file, by its path or by a name that is telling enough."""
    if path in text:
        return True
    name = path.rpartition("/")[2]
    if len(name) < 6 or name not in text:
        return False
    return re.search(rf"(?<![\w\-.]){re.escape(name)}(?![\w\-])", text) is not None


def stem_of(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("ches", "shes", "sses", "xes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        return word[:-3]
    return word[:-2] if len(word) > 4 and word.endswith("ed") else word
