"""The id of a statement: a letter and a short hash of its words. Hooks use this module, so it imports nothing heavy."""

from __future__ import annotations

from functools import lru_cache

from holdfast.core.hashes import blake2b

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # without i, l, o, u: ids are read aloud and typed


@lru_cache(maxsize=32_768)  # a session end asks for the same ids over and over
def content_id(letter: str, text: str) -> str:
    """The same for the same words, whatever their case, spacing and final punctuation."""
    folded = " ".join(text.casefold().split()).rstrip(".!?;: ")
    number = int.from_bytes(blake2b(folded.encode("utf-8", "replace"), digest_size=4).digest(), "big")
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, 32)
        digits += _DIGITS[digit]
    return f"{letter}-{digits}"
