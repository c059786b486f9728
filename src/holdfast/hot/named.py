"""Files that a prompt names by less than their path: "clean.go", "checkpoint/temporary.go".

Whoever is asked so has to look for the file first. Where sessions worked on just one or two that are called so, their
paths are told before all that is only likely.
"""

from __future__ import annotations

import os

from holdfast.hot.words import LONGEST_PROMPT

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Collection

    from holdfast.hot.postings import Postings

CHANCE = 0.5  # of those that 22 histories named so, 68 of 134 were touched (docs/benchmarks.md)
_AROUND = "`'\"()[]{}<>,;:!?*.…“”‘’"
_MOST_SAID, _MOST_MEANT = 12, 2
_LONGEST, _LONGEST_ENDING = 200, 8


def named_files(postings: Postings, prompt: str, folders: Collection[str]) -> list[str]:
    """The paths that are meant, in the order in which the prompt says them.

    `folders` are the checkout and where the agent is in it: what can be opened from there as it is said needs no path.
    """
    found: dict[str, None] = {}
    said = said_names(prompt)
    for name in said:
        if any(os.path.isfile(os.path.join(folder, name)) for folder in folders):
            continue
        meant = postings.ending_with(name, _MOST_MEANT + 1)
        if len(meant) <= _MOST_MEANT and not any(path in prompt for path in meant):
            found.update(dict.fromkeys(meant))
    return list(found)


def said_names(prompt: str) -> list[str]:
    """What looks like the name of a file, or like the last parts of a path."""
    found: dict[str, None] = {}
    if "." not in prompt:
        return []
    for piece in prompt[:LONGEST_PROMPT].split():
        if "." not in piece or len(piece) > _LONGEST or not piece.isprintable():
            continue  # half a character (a lone surrogate) is none that a database could look for
        name = piece.strip(_AROUND).partition(":")[0].partition("#")[0].lstrip("./@")
        stem, dot, ending = name.rpartition("/")[2].rpartition(".")
        if dot and stem and ending.isalnum() and not ending.isdigit() and len(ending) <= _LONGEST_ENDING:
            found[name] = None
            if len(found) == _MOST_SAID:
                break
    return list(found)
