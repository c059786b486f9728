"""The prompt hook with much to tell: 1,000 sessions that settled something, and 20,000 commits, against the yardstick."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.hooks import RUNS, YARDSTICK, _as_if_later, _once
from bench.measuring import report
from holdfast.briefing.prepare import prepare
from holdfast.briefing.projects import memory_of
from holdfast.flows.hosts import Plan, install
from holdfast.hot import hook_entry
from holdfast.memory.decisions import SessionPassages
from holdfast.model.memory import Passage
from holdfast.store.machine import Machine

SESSIONS, COMMITS = 1_000, 20_000
_START = 1_600_000_000


def bench_telling_hook(folder: Path) -> bool:
    """A first prompt that is told statements, and one about something else, which is not."""
    rng = random.Random(3)
    words = _words(rng)
    repo = folder / "shop"
    subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], check=True)
    history = _history(rng, words).encode()
    subprocess.run(["git", "-C", str(repo), "fast-import", "--quiet"], input=history, check=True)
    env = {"HOME": str(folder), "HOLDFAST_HOME": str(folder / "memory"), "PATH": os.environ["PATH"]}
    machine = Machine(env, repo)
    project = machine.project()
    install(machine, project, Plan(agent="claude-code", changes=()))
    sections = [_section(rng, words, number) for number in range(SESSIONS)]
    memory_of(machine, project).record_passages(sections)
    start = time.perf_counter()
    prepare(machine, project)
    seconds = time.perf_counter() - start
    told = f"The export breaks: {' '.join(sections[500].passages[3].text.split()[:9])}, and so on. Mend it."
    size = round((project.memory / "told.db").stat().st_size / 1e6, 1)
    first = _bench(
        "telling_hook",
        told,
        True,
        project.memory,
        repo,
        env,
        {"prepare_s": round(seconds, 1), "told_db_mb": size},
    )
    other = "Write a haiku about the sea in autumn, and then explain to me what makes it one."
    return _bench("telling_hook_silent", other, False, project.memory, repo, env, {}) and first


def _bench(
    name: str, prompt: str, told: bool, memory: Path, repo: Path, env: dict[str, str], more: dict[str, float]
) -> bool:
    event = {"cwd": str(repo), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    command = [sys.executable, "-I", "-S", hook_entry.__file__, "claude-code", "UserPromptSubmit"]
    bare, hook = [], []
    for number in range(-1, RUNS):
        _as_if_later(memory, b"")
        payload = json.dumps({"session_id": f"bench-{number}", **event}).encode()
        yardstick = _once(YARDSTICK, env, payload)[0]
        took, code, printed = _once(command, env, payload)
        assert code == 0 and (b"D-" in printed or b"git " in printed) == told, printed
        if number >= 0:
            bare.append(yardstick)
            hook.append(took)
    figures = {
        "ms": round(1000 * statistics.median(hook), 1),
        "yardstick_ms": round(1000 * statistics.median(bare), 1),
    }
    ratio = statistics.median(hook) / statistics.median(bare)
    return report(name, ratio, 'x python -I -S -c "import json, sqlite3"', 1.45, **figures, **more)


def _words(rng: random.Random) -> list[str]:
    """8,000 words that no language has."""
    return [
        "".join(rng.choice("bdfgklmnprstv") + rng.choice("aeiou") for _ in range(4)) for _ in range(8_000)
    ]


def _sentence(rng: random.Random, words: list[str]) -> str:
    """Twelve words, few of them common, as in texts that people write."""
    return " ".join(words[int(len(words) * rng.random() ** 3)] for _ in range(12))


def _section(rng: random.Random, words: list[str], number: int) -> SessionPassages:
    passages = (Passage(text=f"{_sentence(rng, words)}.", worth=80) for _ in range(10))
    return SessionPassages(
        session=f"bench-{number:05}",
        title=_sentence(rng, words)[:60],
        at=1.7e9 + number * 3600,
        passages=tuple(passages),
    )


def _history(rng: random.Random, words: list[str]) -> str:
    """Input of `git fast-import`: each message has a subject and three sentences."""
    lines = []
    for number in range(COMMITS):
        body = ".\n".join(f"Because {_sentence(rng, words)}, use {rng.randint(2, 90)}" for _ in range(3))
        message = f"{_sentence(rng, words)[:50]}\n\n{body}.\n"
        who = f"Dev <dev@example.org> {_START + 600 * number} +0000"
        lines.append(f"commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata {len(message)}\n{message}")
    return "\n".join(lines)


def main() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        bench_telling_hook(Path(folder))


if __name__ == "__main__":
    main()
