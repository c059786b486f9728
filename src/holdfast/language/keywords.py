"""Extracts keywords of a goal for the ledger: enough to recognise a session, never its text, a path or a key."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.core.scripts import chinese_words, hangul_words, japanese_words, script_runs
from holdfast.core.stopwords import (
    COMPOUNDS,
    ENGLISH,
    OTHER_LANGUAGES,
    PATH_NOISE,
    SHORT_TERMS,
    SIGNED_TERMS,
    WEAK,
)
from holdfast.language.prose import prose_of

_LONGEST = 40
_UNLIKE_BLOBS = 14  # a shorter word without digits is never taken for encoded data
_EDGE = " \t\"'`“”‘’«»()[]{}<>,;:!?…*|^=&%$。，、；：！？「」『』（）【】《》·—–"
_URL = lazy_regex(r"^[a-z][a-z0-9+.-]*://|^www\.", re.IGNORECASE)
_TRACKER = lazy_regex(
    r"/(issue|pull|merge_request|discussion|actions|commit|release|pipeline|wiki)", re.IGNORECASE
)
_TRACKER_WORDS = {"pull": "pr", "merge_request": "mr", "actions": "ci", "pipeline": "ci"}
_LINK = lazy_regex(r"\[([^\]\n]{0,300})\]\(([^)\s]{1,600})\)")
_INNER_URL = lazy_regex(r"(?<=[^\s])(?=https?://)|(?<=[^\s(\[])[(\[](?=https?://)")
_HOST = lazy_regex(
    r"^(?:[\w-]+\.)+(?:com|org|net|io|dev|app|ai|co|edu|gov|cloud|local|internal|lan|corp|home|info|biz|me|sh|xyz|tech"
    r"|de|fr|uk|eu|us|ca|ch|at|nl|jp|cn|br|ru|in|es|it|pl)(?::\d+)?$",
    re.IGNORECASE,
)
_VERSION = lazy_regex(r"^[v^~<>=]*\d[\d.,:xX/_%-]*(?:[a-z]{1,3}\d*)?$", re.IGNORECASE)
_TICKET = lazy_regex(r"^[A-Z][A-Z]{1,9}-\d{1,5}$")
_NOT_TICKET = lazy_regex(
    r"(?:utf|sha|iso|rfc|gpt|es|http|tls|ssl|aes|rsa|md|cve|pep|arm|mp|part|step|phase|ipv)-", re.I
)
_SECRET = lazy_regex(
    r"^(?:(?:sk|pk|rk)[-_][A-Za-z0-9_-]{8}|(?:gh[pousr]|github_pat|glpat|xox[abprs]|npm|pypi)[-_][A-Za-z0-9_-]{12}"
    r"|(?:AKIA|ASIA|AIza|eyJ)[A-Za-z0-9_-]{8})"
)
_EXTENSION = lazy_regex(r"\.(?:[A-Za-z][A-Za-z0-9]{0,4}|gradle|svelte|properties|csproj|dockerfile)$")
_PINNED = lazy_regex(r"^(@?[\w./-]+)@(?:[\^~]?v?\d[\w.-]*|latest|next|canary|beta)$")
_PLACE = lazy_regex(r"[:#]L?\d[\dL:,-]*$")
_HOME = lazy_regex(r"^(?:[A-Za-z]:)?[/\\](?:users|home)[/\\][^/\\]+[/\\]?|^~[^/\\]*[/\\]?", re.IGNORECASE)
_CAMEL = lazy_regex(
    "|".join(sorted(map(re.escape, COMPOUNDS), key=len, reverse=True))
    + r"|[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])\d{0,3}|[A-Z]?[a-z]+\d{0,3}(?![a-z0-9])|[A-Z]?[a-z]+|\d+"
)
_COMPOUND_WORDS = frozenset(word.lower() for word in COMPOUNDS) | SIGNED_TERMS | SHORT_TERMS
_ELISION = lazy_regex(
    r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quelqu|aujourd|dell|all|nell|sull|dall|quell|un)'(?=\w{2})", re.I
)
_CONTRACTION = lazy_regex(r"(?:n't|'(?:s|re|ve|ll|d|m|t))$", re.IGNORECASE)
_MIXED_CASE = lazy_regex(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_ACRONYMS = lazy_regex(r"[A-Z]{2,}s")
_POINTS = lazy_regex(r"[\u0591-\u05c7\u064b-\u0652\ufe00-\ufe0f]")
# Many digits, a repeated character, no vowel in a long word: a blob, not a word.
_ODD = lazy_regex(r"\d\D+\d|\d{4}|^[a-z]\d+$|^(.)\1+$|^[b-df-hj-np-tv-xz]{6,}$|^[a-z]{0,2}\d+[a-z]+$")
_ALTERNATIVES = lazy_regex(r"^[A-Za-z+#]+(?:/[A-Za-z+#]+){1,2}$")

_SENTENCE_END = lazy_regex(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\s+->\s+")
_HEADING = lazy_regex(r"^#{1,3}\s+")
_SENTENCES = 400
_TITLE_WORDS = 3
_LABELS = {"option", "plan", "step", "phase", "point", "item", "choice", "part", "appendix", "section", "b"}
_LANGUAGE_BEFORE = {"in", "using", "from", "with", "of"}
_GO_BEFORE = {"to", "let", "lets", "we", "i", "you", "they", "it", "should", "can", "will", "would", "could"}

_GO_AFTER = {"through", "with", "ahead", "back", "over", "deeper", "forward", "wrong", "away"}
_GO_AFTER_START = _GO_AFTER | {"to", "into", "on", "for", "and", "in", "find", "look", "see", "get", "check"}
_FORBIDDEN = lazy_regex(r"[\s/\\|\x00-\x1f\x7f]")


# Splits a line of prose into words: identifiers, paths and addresses are split, blobs dropped; any script.


class Word(NamedTuple):
    """One lower-case word. `said` is false if it came from a path or an address."""

    text: str
    said: bool = True
    acronym: bool = False


def words_of(line: str) -> Iterator[Word]:
    """Yield the words of one line in order, stop words included."""
    if "](" in line:
        line = _LINK.sub(lambda link: f"{'' if '://' in link[1] else link[1]} {link[2]} ", line)
    is_japanese = not line.isascii() and any("\u3041" <= char <= "\u30ff" for char in line)
    if "://" in line:
        line = _INNER_URL.sub(" ", line)
    for chunk in line.split():
        plain = chunk.strip(_EDGE).rstrip(".")
        if len(plain) < _UNLIKE_BLOBS and plain[1:].islower() and plain.isalpha() and plain.isascii():
            if (word := _plain_word(plain)) is not None:
                yield word
        else:
            yield from _words_of_chunk(chunk, is_japanese)


@lru_cache(maxsize=4096)  # people repeat most words
def _plain_word(word: str) -> Word | None:
    """Fast path of `_words_of_chunk` for a lower-case or capitalised word."""
    lowered = word.lower()
    if lowered in _COMPOUND_WORDS:
        return Word(lowered)
    return None if _ODD.search(lowered) else Word(lowered, acronym=word.rstrip("s").isupper())


def _words_of_chunk(chunk: str, is_japanese: bool) -> Iterator[Word]:
    if _URL.match(chunk.lstrip(_EDGE)):
        yield from _address_words(chunk)
        return
    chunk = chunk.strip(_EDGE)
    bare = chunk.rstrip(".-/\\") if chunk.lower().rstrip(".") not in SIGNED_TERMS else chunk.rstrip(".")
    if bare.lower() in _COMPOUND_WORDS:
        yield Word(bare.lower(), acronym=bare.isupper())
        return
    if "@" in bare:
        bare = _PINNED.sub(r"\1", bare)
    if "=" in bare:
        bare = bare.split("=", 1)[0].rstrip(":+-!<>")
    if not bare or _is_noise(bare):
        return
    if bare.startswith("@"):
        yield from _path_words(bare[1:]) if re.search(r"[/\\.]", bare) else ()
    elif _TICKET.match(bare) and not _NOT_TICKET.match(bare):
        yield Word(bare.lower(), acronym=True)
    elif _looks_like_path(bare):
        yield from _path_words(bare)
    else:
        yield from _split_words(bare, is_japanese)


def _is_noise(chunk: str) -> bool:
    """Numbers, versions, hashes, keys, hosts, e-mail addresses."""
    is_address = bool(_HOST.match(chunk)) or ("@" in chunk and bool(re.search(r"[^/\\]@", chunk)))
    return is_address or bool(_VERSION.match(chunk) or _SECRET.match(chunk)) or is_blob(chunk)


def is_blob(chunk: str) -> bool:
    """Whether a text looks like a hash, a key or encoded data rather than joined words."""
    if not chunk.isascii():
        return False
    compact = re.sub(r"[^A-Za-z0-9+]", "", chunk)
    digits = sum(char.isdigit() for char in compact)
    if len(compact) >= 6 and digits and re.fullmatch(r"[0-9a-fA-F]+", compact):
        return True
    if len(compact) < 14 or ("/" in chunk[:60] and digits < 8):
        return False
    groups = len(re.findall(r"\d+", compact))
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", compact)
    is_mixed = groups >= 2 and compact != compact.lower() and compact != compact.upper()
    return (
        groups >= 3
        or is_mixed
        or (len(parts) > 3 and len(compact) / len(parts) < 2.2)
        or len(set(compact)) <= 3
    )


def _address_words(chunk: str) -> Iterator[Word]:
    """Yield only the kind of thing that an address points to: hosts, owners and tokens are not topics."""
    kind = _TRACKER.search(chunk.split("?", 1)[0].split("#", 1)[0])
    if kind:
        name = kind[1].lower()
        yield Word(_TRACKER_WORDS.get(name, name), said=False)


def _looks_like_path(chunk: str) -> bool:
    if "/" in chunk or "\\" in chunk:
        return not _ALTERNATIVES.match(chunk)
    return bool(_EXTENSION.search(_PLACE.sub("", chunk))) and not chunk.startswith(".")


def _path_words(path: str) -> Iterator[Word]:
    """Yield the significant parts of a path: its last folders and its name, without the home directory."""
    path = _PLACE.sub("", path.strip(_EDGE + "."))
    home = _HOME.match(path)
    path = _HOME.sub("", path)
    parts = [part for part in re.split(r"[/\\:]+", path) if part and part not in {".", ".."}]
    is_absolute = bool(home) or path.startswith(("/", "\\"))
    for number, part in enumerate(parts[-2:] if is_absolute else parts[-3:], 1):
        is_name = number == min(len(parts), 2 if is_absolute else 3)
        stem = _EXTENSION.sub("", part) if is_name else part
        if stem.lower() in PATH_NOISE or _is_noise(stem):
            continue
        for word in _split_words(stem, is_japanese=False):
            yield word._replace(said=False)


def _split_words(chunk: str, is_japanese: bool) -> Iterator[Word]:
    """Split identifiers by case and punctuation, other scripts by their own rules."""
    if chunk.lower() in _COMPOUND_WORDS:
        yield Word(chunk.lower(), acronym=chunk.isupper())
        return
    for piece in re.split(
        r"[\s_/\\.:,;+#@|()\[\]{}<>=\"`*&%$!?~^…“”«»。，、；：！？「」『』（）【】《》·—–-]+", chunk
    ):
        plain = _CONTRACTION.sub("", _ELISION.sub("", piece.replace("’", "'").replace("‘", "'").strip("'")))
        if plain.lower() in _COMPOUND_WORDS:
            yield Word(plain.lower(), acronym=plain.isupper())
            continue
        for script, run in script_runs(plain):
            yield from _words_of_run(script, run, is_japanese)


def _words_of_run(script: str, run: str, is_japanese: bool) -> Iterator[Word]:
    if script == "cjk":
        yield from (Word(word) for word in (japanese_words(run) if is_japanese else chinese_words(run)))
    elif script == "hangul":
        yield from (Word(word) for word in hangul_words(run))
    else:
        parts = _CAMEL.findall(run) if run.isascii() and _MIXED_CASE.search(run) else [run]
        for part in parts:
            is_acronym = len(part) > 1 and part.rstrip("s0123456789").isupper()
            yield from _kept((part[:-1] if _ACRONYMS.fullmatch(part) else part).lower(), is_acronym)


def _kept(text: str, is_acronym: bool) -> Iterator[Word]:
    text = unicodedata.normalize("NFC", _POINTS.sub("", text))
    is_plain = bool(text) and len(text) <= _LONGEST and text[0].isalpha() and not _ODD.search(text)
    if is_plain or text in _COMPOUND_WORDS:
        yield Word(text, acronym=is_acronym)


_GO_BEFORE |= {"must", "gonna", "then", "and", "don", "not", "did", "ll"}


class _Candidate(Struct):
    """A word that may become a keyword, with its evidence."""

    text: str
    order: int
    count: int = 0
    said: bool = False
    titled: bool = False
    acronym: bool = False

    def seen(self, word: Word, titled: bool) -> None:
        self.count += 1
        self.said |= word.said
        self.titled |= titled
        self.acronym |= word.acronym

    @property
    def weight(self) -> float:
        weight = 3.0 if self.titled else 0.5 * self.acronym
        weight += min(self.count - 1, 4) * 0.7
        return weight - 1.5 * (not self.said) - 2.5 * (self.text in WEAK)


def keywords(goal: str, limit: int = 8) -> tuple[str, ...]:
    """Return the significant words of `goal` in order of first appearance, at most `limit` of them.

    The caller removes secrets first; the markers left in their place are dropped. Never raises.
    """
    prose = prose_of(goal)
    candidates = _candidates(list(_sentences(prose.lines)))
    if not candidates:
        candidates = _candidates(list(_sentences(prose.complaints[:3])))
    chosen = sorted(candidates, key=lambda candidate: (-candidate.weight, candidate.order))[: max(limit, 0)]
    return tuple(candidate.text for candidate in sorted(chosen, key=lambda candidate: candidate.order))


def _sentences(lines: Iterable[str]) -> Iterator[tuple[bool, list[Word]]]:
    """Yield for each sentence whether it is a heading, and its words."""
    number = 0
    for line in lines:
        is_heading = bool(_HEADING.match(line))
        for sentence in _SENTENCE_END.split(line):
            number += 1
            if number > _SENTENCES:
                return
            yield is_heading, list(words_of(sentence))


def _candidates(sentences: Sequence[tuple[bool, list[Word]]]) -> list[_Candidate]:
    stops = _stop_words([word.text for _, words in sentences for word in words])
    candidates: dict[str, _Candidate] = {}
    titled_so_far = headings = order = 0
    for is_heading, words in sentences:
        titled = titled_so_far < _TITLE_WORDS or (is_heading and headings == 0)
        headings += is_heading
        for index, word in enumerate(words):
            if not _tells_something(words, index, stops):
                continue
            candidate = candidates.setdefault(singular(word.text), _Candidate(word.text, order))
            order += 1
            candidate.seen(word, titled)
            titled_so_far += titled and word.text not in WEAK
    return list(candidates.values())


def _stop_words(words: Sequence[str]) -> frozenset[str]:
    """Return English stop words, and those of any other language that is about as frequent in the text."""
    present = set(words)
    english = len(present & ENGLISH)
    stops = ENGLISH
    for listed, distinct in _other_languages():
        hits = len(present & distinct)
        if hits and hits * 2 >= english:
            stops |= listed
    return stops


@cache
def _other_languages() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return each language's stop words, with and without accents, and those that are not also English."""
    lists = [listed | {_unaccented(word) for word in listed} for listed in OTHER_LANGUAGES.values()]
    return tuple((frozenset(listed), frozenset(listed - ENGLISH)) for listed in lists)


def _tells_something(words: Sequence[Word], index: int, stops: frozenset[str]) -> bool:
    word = words[index]
    text = word.text
    if _FORBIDDEN.search(text):
        return False
    before = words[index - 1].text if index else ""
    after = words[index + 1].text if index + 1 < len(words) else ""
    if text == "go":
        return _is_language_go(before, after)
    if text in {"c", "r"}:
        return before not in _LABELS and after != "d" and (text == "c" or before in _LANGUAGE_BEFORE)
    if text in SHORT_TERMS:
        return word.acronym or text not in stops
    if text in stops and not (word.acronym and text not in ENGLISH):
        return False
    return (
        len(text) > 2 or word.acronym or (len(text) == 2 and text[0] >= "\u0e00")
    )  # two characters can be a word in Han, Kana and Hangul


def _is_language_go(before: str, after: str) -> bool:
    if before in _LANGUAGE_BEFORE:
        return True
    if not before:
        return after not in _GO_AFTER_START
    return before not in _GO_BEFORE and after not in _GO_AFTER


@lru_cache(20_000)
def singular(word: str) -> str:
    """Return the form that singular and plural share."""
    if len(word) <= 3 or not word.isascii() or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word.removesuffix("s")


def _unaccented(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
