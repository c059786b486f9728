"""Splits texts and queries into terms for the full-text index, with identifiers both whole and in parts.

FTS5 (unicode61 and porter) handles prose. What it cannot do goes into a separate column, `names`: for
`store.read_lines`, `--dry-run`, `src/app/main.py`, `parseQuery`, `E1234` the whole as one word, and the parts that
unicode61 does not separate. In a whole, punctuation becomes private-use characters, which FTS5 treats as letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from holdfast.core.patterns import lazy_regex

# --- scripts without spaces ----------------------------------------------------------------------------

_KANA_AND_HANGUL = "\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af"
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PAIRED = _KANA_AND_HANGUL + _HAN
# Compiled on first use: the sets are large, and most queries and texts are ASCII and need none of them.
_RUN = lazy_regex(f"[{_PAIRED}]+")
_OTHER = f"(?:(?![{_PAIRED}])[^\\W_])+"
_BESIDE = lazy_regex(f"(?<=[{_PAIRED}]){_OTHER}|{_OTHER}(?=[{_PAIRED}])")
# Thai, Lao, Myanmar, Khmer; and arrows, symbols and emoji, which are never part of a word.
_AS_IT_STANDS = lazy_regex(
    f"[{_PAIRED}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2190-\u2bff\U0001f000-\U0001faff]"
)
_WORDS = lazy_regex(r"[^\W_]")
_VARIANT = "\ufe0f"  # asks for the coloured form of a symbol; a text may have it or not
_PAIR = 2
_MOST_SOUGHT = 8


def has_run(text: str) -> bool:
    return not text.isascii() and _RUN.search(text) is not None


def pairs(token: str) -> Iterator[str]:
    """The neighbouring characters, two by two."""
    for match in _RUN.finditer(token):
        run = match[0]
        yield from (run[at : at + _PAIR] for at in range(len(run) - 1))


def beside(token: str) -> Iterator[str]:
    """Words in other scripts that touch a run."""
    return (match[0].lower() for match in _BESIDE.finditer(token))


def apart(token: str) -> list[str]:
    """The rest of a token without its runs."""
    return [token] if token.isascii() else [part for part in _RUN.split(token) if part]


def is_in_parts(word: str) -> bool:
    """Whether pairs and adjacent words cover a word, so that it is not looked up as a whole."""
    if not has_run(word):
        return False
    return len(word) > _PAIR or _RUN.fullmatch(word) is None


def joined(pieces: Iterable[str], text: str) -> list[str]:
    """Joins pairs to the longest runs in a text, in order: `缓存, 存失, 失效` becomes `缓存失效`."""
    pair_set = set(pieces)
    runs: list[str] = []
    for match in _RUN.finditer(text):
        run, start = match[0], -1
        for at in range(len(run)):
            if run[at : at + _PAIR] in pair_set:
                start = at if start < 0 else start
            elif start >= 0:
                runs.append(run[start : at + 1])
                start = -1
    return sorted(dict.fromkeys(runs), key=len, reverse=True)


def is_pair(term: str) -> bool:
    return len(term) == _PAIR and not term.isascii() and _RUN.fullmatch(term) is not None


def sought_as_it_stands(query: str) -> list[str]:
    """The parts of a query to search as substrings; none if it contains words."""
    if _WORDS.search(_AS_IT_STANDS.sub("", query)):
        return []
    pieces = [piece.replace(_VARIANT, "") for piece in query.split()[:_MOST_SOUGHT]]
    return list(dict.fromkeys(piece for piece in pieces if _AS_IT_STANDS.search(piece)))


LONGEST_QUERY = 20_000  # characters; a question is not longer, a pasted file is
MOST_TERMS = 48
_SHORT_QUESTION = 12  # words

_SIGN = "\ue000"
_LONGEST_NAME = 200
_MOST_NAMES = 5000  # of one passage: minified code has no end of them

# A word with a sign inside or dashes in front: a path, a flag, a dotted, snake or kebab name, an address.
# Possessive, so that a megabyte without a space is read once.
_JOINED = lazy_regex(r"(?<!\w)(?:-{1,2}(?=[^\W_]))?+\w++(?:[._/\\:@#+-]{1,3}+\w++)*+(?:\+\+|#)?+")
_CAMEL = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CHANGES_INSIDE = lazy_regex(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d|\d[A-Za-z]")
_LINE_NUMBERS = lazy_regex(r"(?::\d+)+$")
_WORD = lazy_regex(r"[^\W_]+")
_NOT_ALNUM = lazy_regex(r"[\W_]")


def names(text: str) -> str:
    """The content of the `names` column for a text."""
    wanted = []
    for number, name in enumerate(_names(composed(text))):
        if number >= _MOST_NAMES:
            break
        wanted.append(name)
    return " ".join(wanted)


def _names(text: str) -> Iterator[str]:
    for token in text.split():
        # Nearly every word of prose ends here, which makes this a tenth of what it costs otherwise.
        if token.isalpha() and (token.islower() or token.istitle()) and token.isascii():
            continue
        if has_run(token):
            yield from beside(token)
            for part in apart(token):
                yield from _names_of_token(part)
            yield from pairs(token)
        else:
            yield from _names_of_token(token)


def _names_of_token(token: str) -> Iterator[str]:
    for match in _JOINED.finditer(token):
        joined = match[0]
        if len(joined) <= _LONGEST_NAME and not joined.isalpha():
            yield from _wholes(joined)
    for word in _WORD.findall(token):
        if len(word) <= _LONGEST_NAME and _CHANGES_INSIDE.search(word):
            yield from (part.lower() for part in _CAMEL.findall(word) if len(part) > 1)


def composed(text: str) -> str:
    """The text in NFC: letters with their accents as one character each."""
    if text.isascii():
        return text
    from unicodedata import is_normalized, normalize

    return text if is_normalized("NFC", text) else normalize("NFC", text)


def _wholes(joined: str) -> Iterator[str]:
    """The name as one word, and a path's last part: people remember the file, not the folder.

    `main.go:41` is said by every compiler; what is known is of `main.go`.
    """
    bare = _LINE_NUMBERS.sub("", joined)
    for name in (joined, bare) if bare != joined else (joined,):
        yield from _whole_and_file(name)


def _whole_and_file(joined: str) -> Iterator[str]:
    whole = _NOT_ALNUM.sub(_SIGN, joined.lower())
    if _SIGN in whole:
        yield whole
    base = re.split(r"[/\\]", joined)[-1]
    if base != joined and "." in base[1:-1]:
        yield _NOT_ALNUM.sub(_SIGN, base.lower())


def query_terms(query: str) -> list[str]:
    """The distinct words and names of a query, in order, without stop words if others remain."""
    query = query[:LONGEST_QUERY]
    words = [word.lower() for word in _WORD.findall(query) if not is_in_parts(word)]
    small = _small_words_of(words)
    # `phase 2` is not `phase 3`; in a long text digits number its points, and a letter alone is a part of something.
    is_short = len(words) <= _SHORT_QUESTION
    content_words = [
        word
        for word in words
        if word not in small and (len(word) > 1 or not word.isascii() or (is_short and word.isdigit()))
    ]
    terms = [*(content_words or words), *_names(query)]
    return list(dict.fromkeys(terms))


def says_something(query: str) -> bool:
    """Whether a query has a content word: `ok, thanks` and `what do you think?` have none."""
    return any(word.lower() not in _small_words() for word in _WORD.findall(query[:LONGEST_QUERY]))


def without_small_words(query: str) -> str:
    """A query for embedding: `how`, `the` and `we` shift every vector in the same direction."""
    words = re.findall(r"\w+", query[:LONGEST_QUERY])
    small = _small_words_of(word.lower() for word in words)
    return " ".join(word for word in words if word.lower() not in small) or query[:LONGEST_QUERY]


def _small_words_of(words: Iterable[str]) -> frozenset[str]:
    """English stop words, and another language's if a query has two of them: a single one (os, die) may be a name."""
    from holdfast.core.stopwords import OTHER_LANGUAGES

    question_words = frozenset(words)
    english = _small_words()
    foreign = question_words - english
    for language_words in OTHER_LANGUAGES.values():
        hits = len(foreign & language_words)
        if hits > 1 and 2 * hits >= len(question_words & english):
            english |= language_words
    return english


@cache
def _small_words() -> frozenset[str]:
    from holdfast.core.stopwords import ENGLISH

    return ENGLISH


def match_any(terms: Iterable[str]) -> str:
    """An FTS5 expression: any of the terms. Quoted, so that no word of a question is an operator."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def shown(term: str) -> str:
    """A term as a person reads it."""
    return term.replace(_SIGN, "·")


def is_one_slip_apart(written: str, known: str) -> bool:
    """One letter more, less, wrong, or two swapped, after the same first two letters."""
    return written[:2] == known[:2] and differ_by_a_slip(written, known)


def differ_by_a_slip(written: str, known: str) -> bool:
    if abs(len(written) - len(known)) > 1:
        return False
    start = 0
    while start < min(len(written), len(known)) and written[start] == known[start]:
        start += 1
    written_rest, known_rest = written[start:], known[start:]
    return (
        written_rest[1:] == known_rest[1:]
        or written_rest[1:] == known_rest
        or written_rest == known_rest[1:]
        or (written_rest[:2] == known_rest[:2][::-1] and written_rest[2:] == known_rest[2:])
    )


def holds(text: str, wanted: str) -> bool:
    """Whether a text contains `wanted` as whole words: `port 543` is not in `port 5433`."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not _runs_on(text[max(at - 1, 0) : at], wanted[0]) and not _runs_on(
            wanted[-1], text[end : end + 1]
        ):
            return True
        at = text.find(wanted, at + 1)
    return False


def _runs_on(before: str, after: str) -> bool:
    """Whether two characters belong to one word; unknown in scripts without spaces."""
    return before.isalnum() and after.isalnum() and before.isascii() and after.isascii()


def held(terms: Iterable[tuple[str, str]], text: str, most: int) -> list[str]:
    """The terms (word, stem) that a text contains, in order; a name as the text has it, without its parts.

    A misspelt word is '', and shown as the text has it.
    """
    plain, with_parts = _folded(text), ""
    matches = []
    for word, indexed in terms:
        stem = indexed if indexed.isascii() else _folded(indexed)
        if _root(stem).partition(_SIGN)[0] not in plain:  # most are not: the pattern is not even tried
            continue
        pattern = as_pattern(stem)
        match = re.search(pattern, plain)
        if match:
            matches.append(apart(match[0])[0] if _SIGN in stem or not word else word)
            continue
        with_parts = with_parts or _folded(names(text))
        if match := re.search(pattern, with_parts):  # inside a name, or of a script without spaces
            matches.append(shown(match[0]) if _SIGN in stem or not word else word)
    if any(is_pair(word) for word in matches):
        joined_pairs = joined(matches, composed(text))
        matches = [*(word for word in matches if not is_pair(word)), *(joined_pairs or matches)]
    alone = [word for word in matches if not any(word != longer and word in longer for longer in matches)]
    return list(dict.fromkeys(alone))[:most]


def around(terms: Iterable[tuple[str, str]], text: str, start: int, stop: int, most: int) -> tuple[int, int]:
    """The part of a long passage around the first matching term."""
    folded = text[start:stop].lower()
    for _, stem in terms:
        match = re.search(as_pattern(stem), folded)
        if match:
            begin = max(0, min(match.start() - most // 2, len(folded) - most))
            return start + begin, start + begin + most
    return start, start + most


def _folded(text: str) -> str:
    """Folds text as FTS5 does: no capitals, no accents."""
    if text.isascii():
        return text.lower()
    from unicodedata import combining, normalize

    apart = normalize("NFD", text.casefold())
    return normalize("NFC", "".join(char for char in apart if not combining(char)))  # Hangul comes apart too


def as_pattern(stem: str) -> str:
    """A regular expression for a word that begins with `stem`, or for a name with any signs in its places."""
    parts = _root(stem).split(_SIGN)
    return r"(?<![^\W_])" + r"[\W_]".join(re.escape(part) for part in parts) + r"\w*"


def _root(stem: str) -> str:
    """Porter writes `retri` for retry, `pi` for .py and `size` for sizing: such a last letter need not be there."""
    return stem[:-1] if len(stem) > _LEAST_STEM and stem[-1] in "ie" else stem


_LEAST_STEM = 3
