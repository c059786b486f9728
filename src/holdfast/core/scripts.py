"""Splits text of scripts without spaces between words: Han, Kana, Hangul."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import groupby

from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import CHINESE_CUTS, CHINESE_STOPS, HAN_TERMS

_LONGEST_UNSPACED = 20
_LONGEST_TERM = 4


# Compiled on first use: their character sets are large, and most goals are in alphabetic scripts.
_JAPANESE = lazy_regex(
    r"[\u30a1-\u30fa\u30fc]{2,}"
    # A verb of two parts, such as 書き換え: a single Hiragana between Kanji is inside the word.
    r"|[\u3400-\u9fff々][きしちみりぎじびえけせめれげべ][\u3400-\u9fff々][えみしけせりきめ]?"
    r"|[\u3400-\u9fff\uf900-\ufaff々〆]{2,}"
)


_UNSPACED = lazy_regex(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


_PARTICLES = lazy_regex(
    r"(?:해주세요|해주십시오|해주실래요|해줄래|해줘요|해줘|합니다|하세요|하십시오|하려면|하려고|했습니다|했는데|하도록|하면서|하는|하기|하고|해서|해야|"
    r"했다|한다|하자|할까|된다|되는|되지|입니다|이라는|으로서|으로써|에게서|에서는|에서도|에서의|으로는|으로|에서|에게|한테|까지|부터|처럼|보다|"
    r"마다|이나|이랑|하며|이고|들을|들이|들의|들은)$"
)
_SHORT_PARTICLES = lazy_regex(r"[을를이가은는에로와과의도만해한할]$")


def script_runs(text: str) -> Iterator[tuple[str, str]]:
    """Runs of characters of one script, with its name; characters that are not letters separate them."""
    for script, run in groupby(text, _script):
        if script == "unspaced":
            whole = "".join(run)
            if len(whole) <= _LONGEST_UNSPACED:
                yield script, whole
        elif script:
            yield script, "".join(run)


def _script(char: str) -> str:
    if char.isascii():
        return "letters" if char.isalnum() else ""
    if ("\u3041" <= char <= "\u30ff" and char != "・") or char in "々〆":
        return "cjk"
    if "\u3400" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003ffff":
        return "cjk"
    if "\uac00" <= char <= "\ud7a3" or "\u1100" <= char <= "\u11ff" or "\u3130" <= char <= "\u318f":
        return "hangul"
    if _UNSPACED.match(char):
        return "unspaced"
    return "letters" if unicodedata.category(char)[0] in "LM" else ""


def japanese_words(run: str) -> Iterator[str]:
    """Kanji and Katakana runs; Hiragana separates them."""
    for word in _JAPANESE.findall(run):
        if word[0] >= "\u3400" and all(char >= "\u3400" or char == "々" for char in word):
            yield from _pieces(word)
        else:
            yield word


def chinese_words(run: str) -> Iterator[str]:
    """Runs between function characters, cut into known terms and pairs."""
    for stop in CHINESE_STOPS:
        run = run.replace(stop, "的")
    for cut, group in groupby(_protected(run), lambda piece: piece in CHINESE_CUTS):
        if not cut:
            yield from _joined(list(group))


def _protected(run: str) -> Iterator[str]:
    """Known terms whole, everything else character by character."""
    position = 0
    while position < len(run):
        for length in range(_LONGEST_TERM, 1, -1):
            if run[position : position + length] in HAN_TERMS:
                break
        else:
            length = 1
        yield run[position : position + length]
        position += length


def _joined(pieces: list[str]) -> Iterator[str]:
    for is_term, group in groupby(pieces, lambda piece: len(piece) > 1):
        if is_term:
            yield from group
        else:
            yield from _pairs("".join(group))


def _pieces(run: str) -> Iterator[str]:
    if len(run) <= _LONGEST_TERM:
        yield run
    else:
        yield from _joined(list(_protected(run)))


def _pairs(run: str) -> Iterator[str]:
    """Most Han words have two characters; a short run stays whole."""
    if len(run) < 2:
        return
    if len(run) <= 3:
        yield run
        return
    for start in range(0, len(run) - 1, 2):
        is_last = start + 3 >= len(run)
        yield run[start:] if is_last else run[start : start + 2]
        if is_last:
            return


def hangul_words(run: str) -> Iterator[str]:
    """A Korean word without its grammatical particles and endings."""
    word = _PARTICLES.sub("", run)
    shorter = _SHORT_PARTICLES.sub("", word)
    word = shorter if len(shorter) >= 2 else word
    if len(word) >= 2:
        yield word
