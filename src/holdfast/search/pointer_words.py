"""The words by which prompts and paths are compared: split at case and signs, lower case, endings taken off."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from holdfast.text.stopwords import ENGLISH

LONGEST_PROMPT = 3000
_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_][^\W_]*")
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SHORTEST = 3


def words(text: str) -> list[str]:
    """Every telling word of a text, in order, repeats included."""
    return [stem for stem, _ in _forms(text)]


def as_written(texts: Iterable[str]) -> dict[str, str]:
    """For each word, how a text writes it first: what is shown to people."""
    forms: dict[str, str] = {}
    for text in texts:
        for stem, form in _forms(text):
            forms.setdefault(stem, form)
    return forms


def _forms(text: str) -> Iterator[tuple[str, str]]:
    for word in _WORD.findall(_CASE.sub(" ", text)):
        if _HAN.search(word):  # no spaces between words: pairs of signs stand for them
            yield from ((word[at : at + 2], word[at : at + 2]) for at in range(max(len(word) - 1, 1)))
            continue
        plain = word.lower()
        if len(plain) >= _SHORTEST and plain not in ENGLISH:
            yield _stem(plain), plain


@lru_cache(maxsize=50_000)
def path_words(path: str) -> frozenset[str]:
    return frozenset(words(path))


@lru_cache(maxsize=50_000)
def name_words(path: str) -> frozenset[str]:
    """The words of a file's own name, without its ending."""
    return frozenset(words(path.rpartition("/")[2].rpartition(".")[0] or path.rpartition("/")[2]))


def names_file(text: str, path: str) -> bool:
    """Whether a text already says this file, by its path or by a name that is telling enough."""
    if path in text:
        return True
    name = path.rpartition("/")[2]
    if len(name) < 6 or name not in text:
        return False
    return re.search(rf"(?<![\w\-.]){re.escape(name)}(?![\w\-])", text) is not None


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("ches", "shes", "sses", "xes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        return word[:-3]
    return word[:-2] if len(word) > 4 and word.endswith("ed") else word
