"""Lessons in the replay of ../shared/eval: what a session would have been told of stumbles and commands at its start.

As a provider: `replay.py eval CORPUS --provider 'python -m bench.replay_lessons'`, run from the repository.
As a table: `python -m bench.replay_lessons CORPUS…`, with the baselines of the same run beside it.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench.measuring import report
from holdfast.briefing.lesson_proposals import known_here, lived_here
from holdfast.core.tokens import count_tokens
from holdfast.flows.import_sessions import import_into
from holdfast.lessons.commands import STUMBLES, by_worth
from holdfast.lessons.rules import learned
from holdfast.model.lesson import Lesson
from holdfast.store.machine import Machine

REPLAY = Path(__file__).parent.parent.parent / "shared" / "eval" / "replay.py"
CORPUS = REPLAY.parent.parent / "data" / "transcripts" / "claude-code" / "entireio-cli"
BASELINES = ("frequency", "recency", "bm25", "stumbles", "hybrid")
MEASURES = ("coverage_stumble", "coverage_command", "coverage", "precision")


def answer(request: dict[str, object]) -> str:
    """What is told at the first prompt; later prompts are the business of file pointers."""
    state = Path(str(request["state_dir"]))
    work = state / "work"
    work.mkdir(parents=True, exist_ok=True)
    machine = Machine(env={"HOME": str(state)}, cwd=work)
    project = machine.project()
    new = request["new_sessions"]
    if isinstance(new, list) and new:
        import_into(machine, project, [Path(str(path)) for path in new])
    if int(str(request["turn"])):
        return ""
    lived = lived_here(project)
    found = learned(lived, known_here(project, lived))
    return "\n".join(opening((*found.lessons, *found.usual), int(str(request["budget_tokens"]))))


def opening(lessons: Sequence[Lesson], budget: int) -> list[str]:
    """Stumbles that recur in half of the budget, commands in the other half; what is left is for single stumbles."""
    stumbles = [lesson for lesson in lessons if lesson.kind in STUMBLES]
    recurring = within(sorted((one for one in stumbles if one.strong), key=by_worth), budget // 2)
    commands = sorted((one for one in lessons if one.kind == "command"), key=lambda one: -len(one.sessions))
    doing = within(commands, budget // 2)
    once = sorted((one for one in stumbles if not one.strong), key=lambda one: -(one.captured_at or 0.0))
    left = budget - sum(count_tokens(line) for line in (*recurring, *doing))
    return [*recurring, *within(once, left), *doing]


def within(lessons: Iterable[Lesson], budget: int) -> list[str]:
    """Rules that fit, in their order; one that is too long does not keep out the next."""
    lines: list[str] = []
    for line in (f"- {rule}" for lesson in lessons for rule in lesson.rules):
        if count_tokens(line) <= budget:
            lines.append(line)
            budget -= count_tokens(line)
    return lines


def measured(corpus: str) -> Iterator[dict[str, object]]:
    """Figures of each memory: lessons, then the baselines."""
    provider = f"{sys.executable} -m bench.replay_lessons"
    for name in ("lessons", *BASELINES):
        how = ["--provider", provider] if name == "lessons" else ["--baseline", name]
        command = [sys.executable, str(REPLAY), "eval", corpus, "--json", "--boot", "200", *how]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        told = json.loads(done.stdout).get("all")
        if told is None:
            yield {"corpus": Path(corpus).name, "memory": name, "note": "no session has three before it"}
            continue
        values = {measure: told[measure]["value"] for measure in MEASURES}
        targets = {f"n_{measure}": told[measure]["n"] for measure in MEASURES}
        yield {
            "corpus": Path(corpus).name,
            "memory": name,
            **values,
            **targets,
            "tokens": told["tokens_mean"],
        }


def bench_replay_lessons(folder: Path) -> bool:
    """Whether what lessons tell is used more often than what the best baseline tells, and covers as many stumbles."""
    if not CORPUS.is_dir():
        return True
    rows = {str(row["memory"]): row for row in measured(str(CORPUS))}
    lessons, others = rows.pop("lessons"), list(rows.values())
    ok = True
    for measure in ("precision", "coverage_stumble"):
        best = max(float(str(row[measure] or 0)) for row in others)
        value = float(str(lessons[measure] or 0))
        ok &= report(f"lessons_{measure}", value, "share", best, least=True, tokens=lessons["tokens"])
    return ok


def main() -> None:
    if sys.argv[1:]:
        for corpus in sys.argv[1:]:
            for row in measured(corpus):
                print(json.dumps(row), flush=True)
        return
    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        text = answer(request)
    print(json.dumps({"briefing_text": text}))


if __name__ == "__main__":
    main()
