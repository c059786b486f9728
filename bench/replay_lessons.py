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
from pathlib import Path

from holdfast.app.importing import import_into
from holdfast.app.learning import lessons_of
from holdfast.app.wiring import Machine
from holdfast.distill.lesson_telling import opening

REPLAY = Path(__file__).parent.parent.parent / "shared" / "eval" / "replay.py"
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
    return "\n".join(opening(lessons_of(project).lessons, int(str(request["budget_tokens"]))))


def table(corpus: str) -> None:
    """One JSON line for each memory: lessons, then the baselines."""
    provider = f"{sys.executable} -m bench.replay_lessons"
    for name in ("lessons", *BASELINES):
        how = ["--provider", provider] if name == "lessons" else ["--baseline", name]
        command = [sys.executable, str(REPLAY), "eval", corpus, "--json", "--boot", "200", *how]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        told = json.loads(done.stdout).get("all")
        if told is None:
            print(
                json.dumps(
                    {"corpus": Path(corpus).name, "memory": name, "note": "no session has three before it"}
                )
            )
            continue
        values = {measure: told[measure]["value"] for measure in MEASURES}
        targets = {f"n_{measure}": told[measure]["n"] for measure in MEASURES}
        print(
            json.dumps(
                {
                    "corpus": Path(corpus).name,
                    "memory": name,
                    **values,
                    **targets,
                    "tokens": told["tokens_mean"],
                }
            ),
            flush=True,
        )


def main() -> None:
    if sys.argv[1:]:
        for corpus in sys.argv[1:]:
            table(corpus)
        return
    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        text = answer(request)
    print(json.dumps({"briefing_text": text}))


if __name__ == "__main__":
    main()
