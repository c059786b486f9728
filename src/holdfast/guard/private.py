"""Takes out what a person marked `<private>…</private>`: it is never stored."""

from __future__ import annotations

import re
from functools import cache

# Taking a block out may join its neighbours into another tag; past this many rounds someone is playing games.
_MOST_ROUNDS = 10
# As written, as HTML escapes it (also twice), and as JSON escapes it.
_LESS = r"(?:<|&(?:amp;){0,3}(?:lt|#60|#x0*3c);|\\{1,4}u003c)"
_GREATER = r"(?:>|&(?:amp;){0,3}(?:gt|#62|#x0*3e);|\\{1,4}u003e)"


@cache
def _tag() -> re.Pattern[str]:
    """An opening or closing tag; attributes may follow the name, `<privateKey>` and `x < private` are none."""
    attributes = r"(?=[\s/>&\\])[^<>]{0,500}?"
    return re.compile(
        rf"{_LESS}(?P<close>\s{{0,8}}/\s{{0,8}})?(?:private{attributes}|\s{{1,8}}private\s{{0,8}})"
        rf"(?P<empty>/\s{{0,4}})?{_GREATER}",
        re.IGNORECASE,
    )


def strip_private(text: str) -> str:
    """The text without its private blocks; a block that is never closed goes to the end of the text."""
    # The pattern takes these two for an i as well; looking for the word alone is far cheaper than it is.
    plain = text if text.isascii() else text.replace("\u0130", "i").replace("\u0131", "i")
    if "private" not in plain.lower():
        return text
    for _ in range(_MOST_ROUNDS):
        stripped = _without_blocks(text)
        if stripped == text:
            return text
        text = stripped
    rest = _tag().search(text)
    return text[: rest.start()] if rest else text


def _without_blocks(text: str) -> str:
    kept: list[str] = []
    depth = 0
    position = 0
    for tag in _tag().finditer(text):
        if tag["empty"] and not tag["close"]:
            continue
        if not tag["close"]:
            if depth == 0:
                kept.append(text[position : tag.start()])
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                position = tag.end()
    if depth == 0:
        kept.append(text[position:])
    return "".join(kept)
