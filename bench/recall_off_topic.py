"""How often `recall` and `search` say something where nothing is known, and whether they still say what is: real histories.

The tasks are made up and of no repository; half of them share words with any work on code. What is known is asked for by
every other word of what a memory holds: an easy question, so that a floor which is too high shows at once.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.recall import machine_in
from bench.search import opened, report
from holdfast.briefing.index import update_index
from holdfast.briefing.recall import recall
from holdfast.briefing.search import search
from holdfast.core.stopwords import ENGLISH
from holdfast.store.machine import Machine

TRANSCRIPTS = Path(__file__).parent.parent.parent / "shared" / "data" / "transcripts"
_HISTORIES = ("claude-code/entireio-cli", "specstory/getspecstory", "codex/EntityProcess-agentv")
_TASKS = (
    "write a haiku about autumn leaves",
    "which key should a pianist learn first",
    "how do I store apples over the winter",
    "compare the value of two used cars",
    "find a branch of the library that opens on sundays",
    "return a pair of shoes that do not fit",
    "the lock of our garden gate is stuck",
    "wash a wool sweater without shrinking it",
    "list the kings of Norway",
    "is it safe to run after a heavy meal",
    "explain how a hash map resolves collisions",
    "what is the difference between a thread and a fiber",
    "write a function that returns the nth prime",
    "how does public key cryptography work",
    "parse a date in Kotlin",
    "when is a heap better than a sorted list",
    "solve the knapsack problem with dynamic programming",
    "how do I draw a line chart with matplotlib",
    "explain what a monad is",
    "convert celsius to fahrenheit in Excel",
    "yes please",
    "great, thank you so much!",
    "what do you think?",
    "never mind",
    "hello there",
)
_ASKED = 40  # statements of each history
_FEWEST_WORDS, _MOST_WORDS = 4, 12


def bench_recall_off_topic(folder: Path) -> bool:
    told: list[bool] = []
    shown: list[bool] = []
    known: list[bool] = []
    for name in _HISTORIES:
        if not (TRANSCRIPTS / name).is_dir():
            continue
        machine = _imported(TRANSCRIPTS / name, folder / name.replace("/", "-"))
        project = machine.project()
        told += [bool(recall(machine, project, task).lines) for task in _TASKS]
        shown += [bool(search(machine, project, task, 5)) for task in _TASKS]
        known += [
            id in {line.id for line in recall(machine, project, task, 400).lines}
            for id, task in _halves(machine)
        ]
    if not told:
        return True
    ok = report("recall_told_off_topic", sum(told) / len(told), "share", 0.25, n=len(told))
    ok &= report("search_shown_off_topic", sum(shown) / len(shown), "share", 0.5, n=len(shown))
    return (
        report(
            "recall_tells_by_half_the_words", sum(known) / len(known), "share", 0.9, least=True, n=len(known)
        )
        and ok
    )


def _imported(transcripts: Path, home: Path) -> Machine:
    machine = machine_in(home, "own")
    command = [sys.executable, "-m", "holdfast", "import", "--quiet", str(transcripts)]
    subprocess.run(command, cwd=machine.cwd, env=machine.env, check=True, capture_output=True)
    return machine


def _halves(machine: Machine) -> Iterator[tuple[str, str]]:
    """Statements of a memory, evenly spread, each with every other word of it."""
    update_index(machine, machine.project())
    with opened(machine.project().memory / "index.db") as index:
        ids = [id for id in index.ids() if id[:2] in ("D-", "N-", "Q-", "F-")]
        for id in ids[:: max(1, len(ids) // _ASKED)][:_ASKED]:
            (hit,) = index.search(id, 1)
            words = [word for word in hit.text.split() if word.isalpha() and word.lower() not in ENGLISH]
            if len(words) >= _FEWEST_WORDS:
                yield id, " ".join(words[:_MOST_WORDS:2])
