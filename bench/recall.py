"""Measures recall: PrecisionMemBench through real memories, and how long `search` and `recall` take from the command line."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import retrieval_sets
from bench.retrieval_sets import SETS, Asked, RetrievalSet, precision_recall
from bench.search import embedder, made_up_chunks, report, timed
from holdfast.briefing.recall import recall
from holdfast.flows.facts import add_fact
from holdfast.memory.log import render_beginning, render_entry
from holdfast.memory.reference import KeptFact, Reference, beginning, parse_reference, render_reference
from holdfast.model.memory import Fact, Finding, LogEntry
from holdfast.store.machine import Machine

_BUDGET = 400  # tokens; twelve beliefs and more, so that the floor decides and not the room


def bench_recall_precision(folder: Path) -> bool:
    """Every set of scopes is a repository with their beliefs as facts; the other beliefs lie in another repository."""
    if not SETS.is_dir():
        return True
    found = retrieval_sets.beliefs()
    rows = [
        row
        for number, scopes in enumerate(_scopes(found))
        for row in _asked(found, scopes, folder / str(number))
    ]
    chance = random.Random(7)
    spread = [precision_recall(chance.choices(rows, k=len(rows))) for _ in range(2000)]
    ok = True
    for place, (name, bound) in enumerate((("recall_precision", 0.5), ("recall_recall", 0.8))):
        values = sorted(one[place] for one in spread)
        between = (round(values[50], 3), round(values[-50], 3))
        exact = sum(right == given == wanted for right, given, wanted in rows)
        value = precision_recall(rows)[place]
        ok &= report(
            name, value, "share", bound, least=True, interval=between, n=len(rows), exact_cases=exact
        )
    nothing = [given for _, given, wanted in rows if not wanted]
    silent = sum(not given for given in nothing) / max(len(nothing), 1)
    return report("recall_silent_where_nothing_is_right", silent, "share", None, n=len(nothing)) and ok


def _scopes(found: RetrievalSet) -> list[tuple[str, ...]]:
    return sorted({asked.projects for asked in found.questions})


def _asked(found: RetrievalSet, scopes: tuple[str, ...], home: Path) -> Iterator[tuple[int, int, int]]:
    """For each question in these scopes: how many were right, were told, and were wanted."""
    own = machine_in(home, "own")
    other = machine_in(home, "other")
    known: dict[str, str] = {}
    for belief in found.texts:
        machine = own if belief.project in scopes else other
        text = f"{belief.title}: {belief.text}"
        known[add_fact(machine, text, "stated").kept.fact.id] = belief.id
    for asked in found.questions:
        if asked.projects == scopes:
            told = {known[line.id] for line in recall(own, own.project(), asked.query, _BUDGET).lines}
            yield _judged(told, asked)


def _judged(told: set[str], asked: Asked) -> tuple[int, int, int]:
    return len(told & asked.gold), len(told), len(asked.gold)


def machine_in(home: Path, name: str) -> Machine:
    """A user with a repository of that name."""
    repo = home / name
    repo.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True)
    env = {"HOME": str(home), "HOLDFAST_HOME": str(home / "memory"), "PATH": os.environ["PATH"]}
    if embedder() != "static":
        (home / "memory").mkdir(exist_ok=True)
        (home / "memory" / "config.toml").write_text(f'embedder = "{embedder()}"\n', encoding="utf-8")
    return Machine(env, repo)


def bench_search_command(folder: Path) -> bool:
    """`holdfast search` and `recall` as a person runs them, in a project of 961 statements in 51 files."""
    machine = machine_in(folder, "shop")
    project = machine.project()
    project.prepare()
    write_memory(project.memory, 961, 51)
    run = [sys.executable, "-m", "holdfast"]
    (first,) = made_up_chunks(1)
    question = " ".join(
        first.text.split()[10:16]
    )  # one that is answered: to find that nothing fits costs less

    def once(*command: str) -> float:
        return timed(
            lambda: subprocess.run(
                command, cwd=machine.cwd, env=machine.env, check=True, stdout=subprocess.DEVNULL
            )
        )

    def indexed(*more: str) -> dict[str, Any]:
        """The best of three: what the work costs, without the noise of neighbours."""
        command = [*run, "index", "--json", *more]
        told = [
            json.loads(subprocess.check_output(command, cwd=machine.cwd, env=machine.env)) for _ in range(3)
        ]
        return dict(min(told, key=lambda one: one["seconds"]))

    told = indexed("--rebuild")
    assert (told["added"], told["files"]) == (961, 51), told
    ok = report("index_command_961_chunks", told["seconds"], "s", 1.0)
    ok &= report("index_command_unchanged", indexed()["seconds"], "s", 0.1)
    times: dict[str, list[float]] = {"bare": [], "search": [], "recall": []}
    for _ in range(15):  # in turn, so that a busy minute is everybody's
        times["bare"].append(once(sys.executable, "-c", "pass"))
        for name in ("search", "recall"):
            times[name].append(once(*run, name, question))
    bare = statistics.median(times["bare"])
    for name, bound in (("search", 12), ("recall", None)):
        median = statistics.median(times[name])
        ok &= report(f"{name}_command", median / bare, "x python -c pass", bound, milliseconds=median * 1000)
    return ok


def write_memory(memory: Path, statements: int, files: int) -> None:
    """Archives of the log, as holdfast writes them, and a reference: in so many files so many statements."""
    texts = [chunk.text for chunk in made_up_chunks(statements)]
    each = statements // files
    folder = memory / "projects" / "shop"
    (folder / "archive").mkdir(parents=True)
    for number in range(files - 1):
        context, *found = texts[number * each : (number + 1) * each]
        at = 1.7e9 + number * 86_400
        session = f"s{number}"
        entry = LogEntry(
            session=session,
            agent="codex",
            at=at,
            context=context,
            findings=tuple(Finding(text=text, session=session, at=at) for text in found),
        )
        path = folder / "archive" / f"{number:03d}.md"
        path.write_text(render_beginning("shop") + render_entry(entry), encoding="utf-8")
    facts = tuple(KeptFact(fact=Fact(text=text, evidence="seen")) for text in texts[(files - 1) * each :])
    start = parse_reference(beginning("shop"))
    text = render_reference(start, Reference(facts=facts))
    (folder / "reference.md").write_text(text, encoding="utf-8")
