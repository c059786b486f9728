"""Hooks against their yardstick: `python -I -S -c "import json, sqlite3"` of the same interpreter, same pipes."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from msgspec.structs import replace

import holdfast
from bench.measuring import report
from holdfast.briefing.changes_since import RecentChange
from holdfast.briefing.moments import answer, remedy
from holdfast.briefing.prepare import prepare
from holdfast.briefing.projects import memory_of
from holdfast.briefing.start import Briefings
from holdfast.flows.hosts import Plan, install
from holdfast.flows.import_sessions import import_into
from holdfast.hot import hook_entry
from holdfast.memory.decisions import SessionPassages
from holdfast.model.events import FileTouch
from holdfast.model.line import Line
from holdfast.model.memory import DeadEnd, Passage, Question
from holdfast.model.statement import statement_of
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

RUNS = 60
DEMO = Path(holdfast.__file__).parent / "demo_sessions"
YARDSTICK = [sys.executable, "-I", "-S", "-c", "import json, sqlite3"]


STARTS: dict[str, dict[str, object]] = {
    "startup": {},
    "resume": {"seconds_since_last_response": 3600},
    "compact": {},
}


def bench_start_hook(folder: Path) -> bool:
    """Each way to start by itself: what a person waits for is one of them."""
    repo, env, machine = _enabled(folder)
    project = machine.project()
    prepare(machine, project, _briefings())
    kept = [_bench_source(source, project.memory, repo, env) for source in STARTS]
    return all(kept)


def _enabled(folder: Path) -> tuple[Path, dict[str, str], Machine]:
    """A project with hooks, what its sessions have around them, and the machine."""
    repo = folder / "shop"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    env = {"HOME": str(folder), "HOLDFAST_HOME": str(folder / "memory"), "PATH": os.environ["PATH"]}
    machine = Machine(env, repo)
    install(machine, machine.project(), Plan(agent="claude-code", changes=()))
    return repo, env, machine


def _briefings() -> Briefings:
    lines = tuple(
        Line(f"Open: finish part {number} of the payment refactoring", "open item") for number in range(20)
    )
    since = tuple(
        RecentChange(at=time.time() - number, line=line, session=f"s{number}", branch="main")
        for number, line in enumerate(lines * 2)
    )
    own = {"bench": lines[:10], **{f"s{number}": lines[:10] for number in range(19)}}
    return Briefings(digests={("startup", ""): lines}, stumbles=lines[:5], since=since, own=own)


def _bench_source(source: str, memory: Path, repo: Path, env: dict[str, str]) -> bool:
    event = {"cwd": str(repo), "hook_event_name": "SessionStart", "source": source, **STARTS[source]}
    command = [sys.executable, "-I", "-S", hook_entry.__file__, "claude-code", "SessionStart"]
    # The trace is as long as it gets, and of this session: the most there is to look through.
    told = {"session": "bench", "time": "2026", "source": "startup", "lines": [{"text": "x" * 100}] * 20}
    full = (json.dumps(told) + "\n").encode() * 60
    bare, hook = [], []
    for number in range(-1, RUNS):  # the first warms both up
        _as_if_later(memory, full)
        payload = json.dumps({"session_id": "bench", **event}).encode()
        yardstick = _once(YARDSTICK, env, payload)[0]
        seconds, code, printed = _once(command, env, payload)
        assert code == 0 and b"payment refactoring" in printed
        if number >= 0:
            bare.append(yardstick)
            hook.append(seconds)
        for envelope in (memory / "inbox").iterdir():  # as the capture would
            envelope.unlink()
    ratio = statistics.median(hook) / statistics.median(bare)
    more = {
        "ms": round(1000 * statistics.median(hook), 1),
        "yardstick_ms": round(1000 * statistics.median(bare), 1),
    }
    name = "start_hook" if source == "startup" else f"start_hook_{source}"
    return report(name, ratio, 'x python -I -S -c "import json, sqlite3"', 1.6, **more)


def _as_if_later(memory: Path, trace: bytes) -> None:
    """The trace as it was, and nothing that was said just now: what is measured is a hook that speaks."""
    (memory / "why.jsonl").write_bytes(trace)
    for claim in (memory / "claims").glob("*"):
        claim.unlink()


def bench_moment_hook(folder: Path) -> bool:
    """At a tool call, with 1,000 stumbles and 200 answers prepared: one that is none of them, and one that is."""
    repo, env, machine = _enabled(folder)
    project = machine.project()
    stumbles = [
        DeadEnd(
            tried=f"{program} {verb} {number} --flag{number}",
            failed=f"unknown flag: --flag{number}",
            instead=f"{program} {verb} {number}",
        )
        for number in range(250)
        for program in ("gh", "git", "npm", "cargo")
        for verb in ("view",)
    ]
    moments = [found for end in stumbles if (found := remedy(end, str(repo)))]
    answers = [
        answer(statement_of(Question(text=f"Which port has service {n}?", answer=str(n)), "shop"))
        for n in range(200)
    ]
    assert len(moments) == 1000
    prepare(machine, project, Briefings(moments=(*moments, *answers), projects={"": "shop"}))
    commands = {
        "moment_hook": "cd web && make -j4 check 2>&1 | tail -20",
        "moment_hook_same_word": "git status --flag123 --short | head",
        "moment_hook_told": "gh view 7 --flag123 2>&1 | tail",
    }
    kept = [_bench_moment(name, text, project.memory, repo, env) for name, text in commands.items()]
    return all(kept)


def _bench_moment(name: str, text: str, memory: Path, repo: Path, env: dict[str, str]) -> bool:
    env = {**env, "CLAUDE_PROJECT_DIR": str(repo)}  # as the client has it
    event = {"cwd": str(repo), "hook_event_name": "PreToolUse", "session_id": "bench", "tool_name": "Bash"}
    payload = json.dumps({**event, "tool_input": {"command": text, "description": "x"}}).encode()
    command = [sys.executable, "-I", "-S", hook_entry.__file__, "claude-code", "PreToolUse"]
    entry = {"session": "other", "time": "2026", "source": "startup", "lines": [{"text": "x" * 100}] * 20}
    full = (json.dumps(entry) + "\n").encode() * 60
    bare, hook = [], []
    for number in range(-1, RUNS):  # the first warms both up
        _as_if_later(memory, full)
        yardstick = _once(YARDSTICK, env, payload)[0]
        seconds, code, printed = _once(command, env, payload)
        assert code == 0 and (b"--flag123" in printed) == (name == "moment_hook_told")
        if number >= 0:
            bare.append(yardstick)
            hook.append(seconds)
    ratio = statistics.median(hook) / statistics.median(bare)
    more = {
        "ms": round(1000 * statistics.median(hook), 1),
        "yardstick_ms": round(1000 * statistics.median(bare), 1),
    }
    return report(name, ratio, 'x python -I -S -c "import json, sqlite3"', 1.6, **more)


def bench_file_hook(folder: Path) -> bool:
    """At the reading of a file, with 1,000 sessions that each decided something about some of 150 files.

    Four calls: a file of which nothing is known, the same after an edit of 20 kB, a file that this session was told
    about, and one that it is told about now. The first three are silent, and most calls of a session are like the first.
    """
    repo, env, project, _, _ = with_sessions(folder)
    env = {**env, "CLAUDE_PROJECT_DIR": str(repo)}
    machine = Machine(env, repo)
    files = sorted(path.relative_to(repo).as_posix() for path in repo.rglob("*.py"))[:150]
    sections = [
        SessionPassages(
            session=f"bench-{number:05}",
            title="bench",
            at=1.7e9 + number * 3600,
            passages=tuple(
                Passage(text=f"In {files[(number * 7 + part) % 150]} rule {number}-{part} holds.", worth=80)
                for part in range(8)
            ),
        )
        for number in range(1_000)
    ]
    memory_of(machine, project).record_passages(sections)
    start = time.perf_counter()
    prepare(machine, project)
    seconds = time.perf_counter() - start
    told = str(repo / files[0])
    kept = [
        _bench_file("file_hook", "Read", str(repo / "src" / "other.py"), {}, 0.6, project.memory, env, seconds),
        _bench_file("file_hook_edit", "Edit", str(repo / "src/other.py"), {"old_string": "x\n" * 9_000}, 0.6, project.memory, env),
        _bench_file("file_hook_told", "Read", told, {}, 1.6, project.memory, env),
    ]  # fmt: skip
    (project.memory / "said").mkdir(exist_ok=True)
    (project.memory / "said" / "bench.files").write_text(f"\t{told}\n", encoding="utf-8")
    kept.append(_bench_file("file_hook_again", "Read", told, {}, 0.6, project.memory, env))
    return all(kept)


def _bench_file(
    name: str,
    tool: str,
    path: str,
    more: dict[str, str],
    bound: float,
    memory: Path,
    env: dict[str, str],
    prepare_s: float = 0.0,
) -> bool:
    event = {
        "cwd": env["CLAUDE_PROJECT_DIR"],
        "hook_event_name": "PreToolUse",
        "session_id": "bench",
        "tool_name": tool,
    }
    payload = json.dumps({**event, "tool_input": {"file_path": path, **more}}).encode()
    command = [sys.executable, "-I", "-S", hook_entry.__file__, "claude-code", "PreToolUse"]
    entry = {"session": "other", "time": "2026", "source": "startup", "lines": [{"text": "x" * 100}] * 20}
    full = (json.dumps(entry) + "\n").encode() * 60
    bare, hook = [], []
    for number in range(-1, RUNS):  # the first warms both up
        _as_if_later(memory, full)
        if name == "file_hook_told":
            (memory / "said" / "bench.files").unlink(missing_ok=True)
        yardstick = _once(YARDSTICK, env, payload)[0]
        seconds, code, printed = _once(command, env, payload)
        assert code == 0 and (b" holds" in printed) == (name == "file_hook_told"), printed
        if number >= 0:
            bare.append(yardstick)
            hook.append(seconds)
    figures = {
        "ms": round(1000 * statistics.median(hook), 1),
        "yardstick_ms": round(1000 * statistics.median(bare), 1),
        **({"prepare_s": round(prepare_s, 2)} if prepare_s else {}),
    }
    ratio = statistics.median(hook) / statistics.median(bare)
    return report(name, ratio, 'x python -I -S -c "import json, sqlite3"', bound, **figures)


def bench_prompt_hook(folder: Path) -> bool:
    """A prompt that is told lessons and files, with 100 lessons; sessions as they are after months, and after decades.

    A session makes about five chunks, so 20,000 of them stand for 100,000. The hook reads what was prepared of the
    latest 1,000, whatever else there is.
    """
    few = _bench_prompt(folder / "few", "prompt_hook_1000_sessions", 1_000, 1.6)
    return _bench_prompt(folder / "many", "prompt_hook_100000_chunks", 20_000, 2.0) and few


def _bench_prompt(folder: Path, name: str, sessions: int, bound: float) -> bool:
    repo, env, project, prompt, seconds = with_sessions(folder, sessions)
    event = {"cwd": str(repo), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    command = [sys.executable, "-I", "-S", hook_entry.__file__, "claude-code", "UserPromptSubmit"]
    told = {"session": "bench", "time": "2026", "source": "", "event": "UserPromptSubmit", "tokens": 1}
    full = (json.dumps({**told, "lines": [{"text": "x" * 100}] * 20}) + "\n").encode() * 60
    payload = json.dumps({"session_id": "bench", **event}).encode()
    bare, hook = [], []
    for number in range(-1, RUNS):
        _as_if_later(project.memory, full)
        yardstick = _once(YARDSTICK, env, payload)[0]
        took, code, printed = _once(command, env, payload)
        assert code == 0 and b"services/" in printed and b"[L-" in printed, printed
        if number >= 0:
            bare.append(yardstick)
            hook.append(took)
    ratio = statistics.median(hook) / statistics.median(bare)
    more = {
        "ms": round(1000 * statistics.median(hook), 1),
        "yardstick_ms": round(1000 * statistics.median(bare), 1),
        "hot_db_mb": round((project.memory / "hot.db").stat().st_size / 1e6, 2),
        "prepare_s": round(seconds, 2),
    }
    return report(name, ratio, 'x python -I -S -c "import json, sqlite3"', bound, **more)


def with_sessions(folder: Path, sessions: int = 1_000) -> tuple[Path, dict[str, str], Project, str, float]:
    """A repository with that much behind it, its environment, a prompt that is told something, and how long it took."""
    repo = folder / "prompted"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    env = {"HOME": str(folder), "HOLDFAST_HOME": str(folder / "prompted-memory"), "PATH": os.environ["PATH"]}
    machine = Machine(env, repo)
    project = machine.project()
    install(machine, project, Plan(agent="claude-code", changes=()))
    words = _many_sessions(project, repo, sessions)
    _hundred_lessons(project, repo, words)
    start = time.perf_counter()
    prepare(machine, project)
    seconds = time.perf_counter() - start
    topic = 7
    path = f"{words[7 * topic + 500]}_{words[7 * topic + 900]}.py"  # of a session that was about this
    prompt = f"Fix the {words[topic]} {words[topic + 1]} handling in {path}: " + " ".join(
        words[topic::61][:60]
    )
    return repo, env, project, prompt, seconds


def _hundred_lessons(project: Project, repo: Path, words: list[str]) -> None:
    """Commands, corrections and rules, each depending on a file; a few of them fit the prompt."""
    folder = project.memory / "lessons"
    folder.mkdir(parents=True, exist_ok=True)
    there = sorted(path.relative_to(repo).as_posix() for path in repo.rglob("*.py"))
    for number in range(100):
        kind = ("command", "correction", "convention", "stumble")[number % 4]
        rule = {
            "command": f"tests: `make check-{words[number]}`",
            "correction": f"Never rename {words[number]} in {words[number + 1]}",
        }.get(kind, f"{words[number]} goes with {words[number + 1]} and {words[number + 2]}")
        text = f"---\nkind: {kind}\nfingerprint:\n  - {there[number]}\n---\n- {rule}\n"
        (folder / f"lesson-{number}.md").write_text(text, encoding="utf-8")


def _many_sessions(project: Project, repo: Path, count: int) -> list[str]:
    """Records with 150 words each by a skewed choice, and 12 files of 3,000: like the real ones, without their words."""
    rng = random.Random(5)
    words = [
        "".join(rng.choice("bdfgklmnprstv") + rng.choice("aeiou") for _ in range(4)) for _ in range(4000)
    ]
    paths = [f"services/{words[n % 40]}/{words[n]}/{words[n + 500]}_{words[n + 900]}.py" for n in range(3000)]
    for path in paths[:200]:
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text("x\n", encoding="utf-8")
    project.prepare()
    elsewhere = Machine({"HOME": str(repo.parent / "sample")}, repo)
    import_into(elsewhere, elsewhere.project(), [DEMO])
    sample = CaptureStore.glimpse(elsewhere.project().capture, lambda store: store.records(1), [])[0]
    store = CaptureStore(project.capture)
    with store.transaction():
        for number in range(count):
            said = [words[int(rng.paretovariate(0.6)) % len(words)] for _ in range(150)]
            topic = rng.randrange(200)
            said += [words[topic], words[topic + 1]] * 2
            touched = [paths[(topic * 7 + n) % len(paths)] for n in range(4)]
            touched += [rng.choice(paths) for _ in range(8)]
            store.put_record(
                replace(
                    sample,
                    session=f"bench-{number:05}",
                    cwd=str(repo),
                    started=1.7e9 + number * 3600,
                    prompts=(" ".join(said[:100]), " ".join(said[100:])),
                    files=tuple(FileTouch(path, 1, n % 2) for n, path in enumerate(touched)),
                )
            )
    store.close()
    return words


def _once(command: list[str], env: dict[str, str], payload: bytes) -> tuple[float, int, bytes]:
    start = time.perf_counter()
    done = subprocess.run(command, env=env, input=payload, capture_output=True, check=False)
    return time.perf_counter() - start, done.returncode, done.stdout
