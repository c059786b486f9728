"""How a text becomes one that may be stored: cleaned first, cut afterwards."""

from __future__ import annotations

from collections.abc import Callable

Clean = Callable[[str], str]

_IN_A_WORD = "".join(map(chr, range(ord("!"), ord("~") + 1)))
LEEWAY = 2  # raw text kept per character shown, so that a cut never falls inside a secret


def kept(text: str, limit: int, clean: Clean) -> str:
    """A text as it may be stored: cleaned first and cut afterwards, never the other way round."""
    if not text:
        return text
    cleaned = clean(clipped(text, limit))
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


def clipped(text: str, limit: int) -> str:
    """Raw text cut so that it can still be cleaned: the word that the cut falls into goes too.

    Half a secret is no secret to any rule, and enough to whoever reads it.
    """
    size = limit * LEEWAY
    return text if len(text) <= size else text[:size].rstrip(_IN_A_WORD)
