"""style.md: the operating manual. It is a person's file; holdfast seeds it and proposes corrections in one part."""

from __future__ import annotations

import re
from collections.abc import Iterable

from holdfast.text import memory_md as md
from holdfast.text import sections

PROPOSED = "proposed"
_SOURCE = re.compile(r" \(session [0-9a-z-]+\)\Z")
SEED = """\
# How we work here

This file is yours: holdfast writes only into the part below "Proposed". Move up what you agree with.

## Style

## Decisions

## Anti-patterns
"""


def propose(text: str, corrections: Iterable[str], where: str = "style.md") -> str:
    """The manual with these corrections proposed, those that a person has not taken up or thrown out included.

    What the file says already, anywhere, is not proposed again.
    """
    document = sections.parse(text or SEED, where)
    body = document.body(PROPOSED)
    standing = [body[n] for n in sorted(document.ours(PROPOSED)) if body[n].strip()]
    said = {_folded(line) for line in document.render().split("\n")}
    fresh = dict.fromkeys(f"- {md.encode(correction)}" for correction in corrections)
    added = [line for line in fresh if _folded(line) not in said]
    if not added and text:
        return text
    return document.replace(PROPOSED, [*standing, *added], heading="Proposed").render()


def says_something(text: str) -> bool:
    """Whether a person has written a rule, or agreed to one: what is only proposed nobody need follow."""
    ours = {*SEED.split("\n"), "## Proposed"}
    lines = sections.parse(text, "style.md").outside().splitlines()
    return any(line.strip() and line not in ours for line in lines)


def _folded(line: str) -> str:
    """The same for the same rule, whichever session it was said in."""
    plain = _SOURCE.sub("", line.casefold().rstrip())
    return " ".join(plain.lstrip("-*[ x]").split()).rstrip(".")
