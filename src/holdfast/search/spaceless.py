"""Scripts that put no space between words: what stands for words there, so that FTS5 can find them.

Chinese, Japanese and Korean are found by pairs of neighbouring characters; a word of other letters that is written
against them (`修改config.py文件`, `5433입니다`) is taken out, which unicode61 does not do. What has no pairs at all, a
single character, Thai or an emoji, is looked for as it stands: no index is kept of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.text.late import late

_KANA_AND_HANGUL = "\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af"
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PAIRED = _KANA_AND_HANGUL + _HAN
# Compiled on first use: the sets are large, and most questions and texts are in ASCII and need none of them.
_RUN = late(f"[{_PAIRED}]+")
_OTHER = f"(?:(?![{_PAIRED}])[^\\W_])+"
_BESIDE = late(f"(?<=[{_PAIRED}]){_OTHER}|{_OTHER}(?=[{_PAIRED}])")
# Thai, Lao, Myanmar, Khmer; and arrows, symbols and emoji, which are no words to anybody else.
_AS_IT_STANDS = late(f"[{_PAIRED}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2190-\u2bff\U0001f000-\U0001faff]")
_WORDS = late(r"[^\W_]")
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
    """Words of other letters that touch a run."""
    return (match[0].lower() for match in _BESIDE.finditer(token))


def apart(token: str) -> list[str]:
    """What is left of a token without its runs."""
    return [token] if token.isascii() else [part for part in _RUN.split(token) if part]


def is_in_parts(word: str) -> bool:
    """Whether pairs and what is beside them say all of a word: as a whole nobody else writes it."""
    if not has_run(word):
        return False
    return len(word) > _PAIR or _RUN.fullmatch(word) is None


def joined(pieces: Iterable[str], text: str) -> list[str]:
    """Pairs as the longest runs of them that a text has, in its order: `缓存, 存失, 失效` is `缓存失效`."""
    known = set(pieces)
    found: list[str] = []
    for match in _RUN.finditer(text):
        run, start = match[0], -1
        for at in range(len(run)):
            if run[at : at + _PAIR] in known:
                start = at if start < 0 else start
            elif start >= 0:
                found.append(run[start : at + 1])
                start = -1
    return sorted(dict.fromkeys(found), key=len, reverse=True)


def is_pair(term: str) -> bool:
    return len(term) == _PAIR and not term.isascii() and _RUN.fullmatch(term) is not None


def sought_as_it_stands(query: str) -> list[str]:
    """The pieces of a question that can be looked for letter by letter; none of one with letters that make words."""
    if _WORDS.search(_AS_IT_STANDS.sub("", query)):
        return []
    pieces = [piece.replace(_VARIANT, "") for piece in query.split()[:_MOST_SOUGHT]]
    return list(dict.fromkeys(piece for piece in pieces if _AS_IT_STANDS.search(piece)))
