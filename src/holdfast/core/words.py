"""Splits prompts and paths into words for comparison: at case changes and punctuation, lower case, stemmed.

Standard library only: the hooks and the application, which prepares what hooks read, must split in the same way. Stop
words are a parameter; hooks read them from the prepared file.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

LONGEST_PROMPT = 3000
ON = "on "  # marks a branch among words, which hold no space
# Regular expressions would be shorter, but loading `re` takes longer than all other work of a hook.
_DIGITS = "0123456789"
_SPACED = "".join(sign if sign.isalnum() else " " for sign in map(chr, range(128)))  # for `translate`
_SHORTEST = 3
_LONGEST_COMMAND = 100


def word_set(block: str) -> frozenset[str]:
    """A set of words from a block of text."""
    return frozenset(block.split())


def words(text: str, empty: Collection[str]) -> list[str]:
    """Every content word of a text, in order, with repeats; `empty` are stop words."""
    return [stem for stem, _ in _forms(text, empty)]


def as_written(texts: Iterable[str], empty: Collection[str]) -> dict[str, str]:
    """For each stem, its first spelling in the texts, to show to people."""
    forms: dict[str, str] = {}
    for text in texts:
        for stem, form in _forms(text, empty):
            forms.setdefault(stem, form)
    return forms


def _forms(text: str, empty: Collection[str]) -> Iterator[tuple[str, str]]:
    for run in _runs(text):
        forms = _known_forms.get(run)
        if forms is None:
            forms = tuple(_forms_of(run))
            if len(_known_forms) < _MOST_KNOWN:
                _known_forms[run] = forms
        for stem, plain in forms:
            if plain not in empty or _is_han(plain[0]):
                yield stem, plain


# Texts repeat their words, and a preparation splits every prompt of a thousand sessions, so results are cached.
_known_forms: dict[str, tuple[tuple[str, str], ...]] = {}
_MOST_KNOWN = 20_000


def _forms_of(run: str) -> Iterator[tuple[str, str]]:
    for word in _pieces(run):
        if not word.isascii() and any(map(_is_han, word)):
            # no spaces between words: pairs of characters stand in for them
            yield from ((word[at : at + 2], word[at : at + 2]) for at in range(max(len(word) - 1, 1)))
        elif len(plain := word.lower()) >= _SHORTEST:
            yield stem_of(plain), plain


def _pieces(run: str) -> Iterator[str]:
    """The words of a run, each beginning with a letter, split at camelCase."""
    for part in (run,) if run.islower() or run[1:].islower() else _parted(run):
        word = part.lstrip(_DIGITS) if part.isascii() else _without_digits(part)
        if word:
            yield word


def _runs(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_SPACED).split()
    spaced = [
        chunk.translate(_SPACED)
        if chunk.isascii()
        else "".join([sign if sign.isalnum() else " " for sign in chunk])
        for chunk in text.split()
    ]
    return " ".join(spaced).split()


def _without_digits(part: str) -> str:
    start = 0
    while start < len(part) and part[start].isdecimal():
        start += 1
    return part[start:]


def _parted(run: str) -> list[str]:
    """Splits "camelCase" and "HTTPServer" in two; looks at ASCII letters only."""
    parts, start = [], 0
    for at in range(1, len(run)):
        if "A" <= run[at] <= "Z":
            before = run[at - 1]
            small = "a" <= before <= "z" or "0" <= before <= "9"
            if small or ("A" <= before <= "Z" and "a" <= run[at + 1 : at + 2] <= "z"):
                parts.append(run[start:at])
                start = at
    parts.append(run[start:])
    return parts


def _is_han(sign: str) -> bool:
    return "\u3040" <= sign <= "\u30ff" or "\u3400" <= sign <= "\u9fff" or "\uac00" <= sign <= "\ud7af"


def name_words(path: str, empty: Collection[str]) -> set[str]:
    """The words of a file's name, without its extension."""
    name = path.rpartition("/")[2]
    return set(words(name.rpartition(".")[0] or name, empty))


def branch_words(branch: str, empty: Collection[str]) -> list[str]:
    """The words of a branch name, and the whole name as a word that no text contains: work continues on its branch."""
    return [*dict.fromkeys(words(branch, empty)), f"{ON}{branch}"] if branch else []


def command_in(prompt: str) -> str:
    """The slash command that a prompt begins with; '' for a path and for plain words."""
    if not prompt.startswith("/"):
        return ""
    name = prompt[:_LONGEST_COMMAND].split(maxsplit=1)[0]
    return name if len(name) > 1 and "/" not in name[1:] and "." not in name else ""


def without_addresses(text: str) -> str:
    """A text without the addresses of web pages: their words say where something is, not what it is about."""
    if "://" not in text:
        return text
    return " ".join([word for word in text.split() if "://" not in word])


def names_file(text: str, path: str) -> bool:
    """Whether a text already names this file, by its path or by a distinctive name."""
    if path in text:
        return True
    name = path.rpartition("/")[2]
    if len(name) < 6 or name not in text:
        return False
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (before in ("-", ".") or _in_word(before) or after == "-" or _in_word(after)):
            return True
        at = text.find(name, at + 1)
    return False


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def stem_of(word: str) -> str:
    """The stem of a word, for prompts and paths. `likeness.stem` removes more, because it compares sentences in
    different words; `singular` in language/keywords.py removes less, because people read its result."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("ches", "shes", "sses", "xes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        return word[:-3]
    return word[:-2] if len(word) > 4 and word.endswith("ed") else word
