"""Measures what `recall` tells beside the right fact: memories where near siblings share most of a question's words.

bench/data/recall_siblings.jsonl is invented. Each question's half is decided by its hash; `sealed` was measured once, at
the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from bench.recall import machine_in
from bench.retrieval_sets import precision_recall
from bench.search import report
from bench.turn_sets import HALVES, half_of
from holdfast.briefing.recall import recall
from holdfast.flows.facts import add_fact

SET = Path(__file__).parent / "data" / "recall_siblings.jsonl"
_BUDGET = 400  # tokens; more than all facts of a memory, so that what is told is not a matter of room


def told(folder: Path, halves: tuple[str, ...] = HALVES) -> Iterator[tuple[str, str, set[str], set[str]]]:
    """For each question its memory, itself, what was told, and what is right."""
    for number, line in enumerate(SET.read_text(encoding="utf-8").splitlines()):
        memory = json.loads(line)
        machine = machine_in(folder / str(number), memory["repository"])
        letters = {
            add_fact(machine, text, "stated").kept.fact.id: letter for letter, text in memory["facts"].items()
        }
        for case in memory["cases"]:
            if half_of(case["question"]) in halves:
                lines = recall(machine, machine.project(), case["question"], _BUDGET).lines
                yield (
                    memory["repository"],
                    case["question"],
                    {letters.get(line.id, line.id) for line in lines},
                    set(case["right"]),
                )


def bench_recall_siblings(folder: Path) -> bool:
    rows = [(len(given & right), len(given), len(right)) for _, _, given, right in told(folder)]
    precision, recalled = precision_recall(rows)
    ok = report("recall_siblings_precision", precision, "share", 0.6, least=True, n=len(rows))
    return report("recall_siblings_recall", recalled, "share", 0.9, least=True, n=len(rows)) and ok
