"""Keeps what a person asked for in a prompt (`remember: …`), as a decision by this person.

`hooks/remember.py` leaves it in the inbox.
"""

from __future__ import annotations

from holdfast.core.errors import HoldfastError, UsageError
from holdfast.flows.questions import decide
from holdfast.store import inbox
from holdfast.store.machine import Machine
from holdfast.store.project import Project


def keep_remembered(machine: Machine, project: Project) -> list[str]:
    """Keeps and removes every such envelope, and returns the problems. Words that may not be stored are dropped."""
    problems: list[str] = []
    for envelope in inbox.envelopes(project.memory / "inbox")[0]:
        if not envelope.remember:
            continue
        try:
            for text in envelope.remember:
                decide(machine, text, by="user")
        except (
            UsageError
        ) as error:  # private, or our own words: never stored, and no other try would store it
            problems.append(error.line())
        except HoldfastError as error:  # the disk, a lock: the next capture tries again
            problems.append(error.line())
            continue
        inbox.remove([envelope.path])
    return problems
