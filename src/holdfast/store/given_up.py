"""Decisions that were retired or deleted by hand, in their words: so that they are known again in other words.

The list of what was dismissed holds ids alone. The words are still in the log, and in the versions of the reference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.model.memory import Decision
from holdfast.store.memory import MemoryStore
from holdfast.text.reference_md import parse_reference


def given_up(store: MemoryStore) -> list[Decision]:
    """Each with the moment at which it was given up; what was decided later is a new decision."""
    times = {id: at for id, at in store.dismissed_at().items() if id.startswith("D-")}
    found: dict[str, Decision] = {}
    for decision in _known(store) if times else ():
        if decision.id in times:
            found.setdefault(decision.id, replace(decision, at=times[decision.id]))
            if len(found) == len(times):
                break
    return list(found.values())


def made_since(decision: Decision, gone: Decision) -> bool:
    return (decision.at or 0.0) > (gone.at if gone.at is not None else math.inf)


def _known(store: MemoryStore) -> Iterator[Decision]:
    for entry in store.entries().entries:
        yield from entry.decisions
    file = store.reference_file.name
    for change in store.history(file):
        try:
            text = (store.content(file, change.n) or b"").decode("utf-8", "replace")
        except HoldfastError:  # a version that is no longer whole
            continue
        yield from parse_reference(text).reference.decisions
