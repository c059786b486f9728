"""The one token counter: what a briefing may cost is counted the same way everywhere."""

from __future__ import annotations

from holdfast.core.patterns import lazy_regex

_PIECE = lazy_regex(r"[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]")


def count_tokens(text: str) -> int:
    """How many pieces of a word, a number or a single sign `text` has."""
    return sum(1 for _ in _PIECE.finditer(text))


def cut_to(text: str, most: int) -> str:
    """`text` within so many tokens, with `…` where it was cut: after a word, or inside one that is half of it or more.

    Words alone do not bound it: one may be a blob, and there are scripts without spaces.
    """
    if count_tokens(text) <= most:
        return text
    end = 0
    for number, piece in enumerate(_PIECE.finditer(text), 2):
        if number > most:
            break
        end = piece.end()
    kept = text[:end]
    if text[end : end + 1].strip():
        whole = kept.rpartition(" ")[0]
        kept = whole if 2 * len(whole) > len(kept) else kept
    return f"{kept.rstrip()}…"
