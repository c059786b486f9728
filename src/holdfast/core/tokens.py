"""The token counter that all budgets use."""

from __future__ import annotations

from holdfast.core.patterns import lazy_regex

_PIECE = lazy_regex(r"[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]")


def count_tokens(text: str) -> int:
    """The number of tokens in `text`: pieces of words, numbers and single characters."""
    return len(_PIECE.findall(text))


def cut_to(text: str, most: int) -> str:
    """Cuts `text` to `most` tokens and adds `…`: after a word, or inside a word that makes up half of it or more.

    Cutting only between words is not enough: a word may be a blob, and some scripts have no spaces.
    """
    if count_tokens(text) <= most:
        return text
    end = 0
    for number, piece in enumerate(_PIECE.finditer(text), 2):
        if number > most:
            break
        end = piece.end()
    shortened = text[:end]
    if text[end : end + 1].strip():
        words = shortened.rpartition(" ")[0]
        shortened = words if 2 * len(words) > len(shortened) else shortened
    return f"{shortened.rstrip()}…"
