"""What single commands cost beside `python -c pass`, and how much room an installation takes."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from pathlib import Path

from bench.corpus import write_corpus
from bench.measuring import PYTHON, outer, report, scratch_env


def bench_help(folder: Path) -> bool:
    bare = outer([PYTHON, "-c", "pass"])
    return report("help", outer([PYTHON, "-m", "holdfast", "--help"]) / bare, "x python -c pass", 4)


def bench_resume(folder: Path) -> bool:
    """`holdfast resume` in a project of 500 sessions, and once with what was prepared gone."""
    work = folder / "resume" / "work"
    work.mkdir(parents=True)
    write_corpus(folder / "resume" / "t", 500, 20_000, cwd=str(work))
    env = scratch_env(folder / "resume")
    command = [PYTHON, "-m", "holdfast"]
    done = subprocess.run(
        [*command, "import", folder / "resume" / "t"], env=env, cwd=work, check=True, capture_output=True
    )
    assert b"500 added" in done.stdout, done.stdout
    bare = outer([PYTHON, "-c", "pass"])
    told = report(
        "resume_of_500_sessions", outer([*command, "resume"], env, work) / bare, "x python -c pass", 6
    )
    by_hand = outer([*command, "resume", "--budget", "599"], env, work)
    return report("resume_after_a_hand_edit", by_hand / bare, "x python -c pass", None) and told


# Typed many times a day. {n} makes each text a new one: what is there already is not written again.
WRITING = {
    "todo_add": ("todo", "add", "write the importer {n}"),
    "ask_keep": ("ask", "should the importer retry in case {n}", "--keep"),
    "note_fact": ("note", "fact", "the port of service {n} is 80{n}", "--evidence", "cat config"),
    "note_decision": ("note", "decision", "importer {n} uses sqlite", "--because", "one file"),
    "note_rule": ("note", "rule", "run make lint before change {n}"),
    "lessons_add": ("lessons", "add", "check-{n}", "--rule", "run check {n} first"),
    "forget": ("forget", "--text", "importer {n}", "--yes"),
}
READING = {
    "status": ("status",),
    "todo": ("todo",),
    "ledger_list": ("ledger", "list"),
    "lessons_list": ("lessons", "list"),
    "search": ("search", "importer retry"),
}


def bench_everyday(folder: Path) -> bool:
    """CPU time of commands that write, and of those that people read often, in a project of 500 sessions."""
    work = folder / "everyday" / "work"
    work.mkdir(parents=True)
    env = scratch_env(folder / "everyday")
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    write_corpus(folder / "everyday" / "t", 500, 20_000, cwd=str(work))
    command = [PYTHON, "-m", "holdfast"]
    subprocess.run(
        [*command, "import", folder / "everyday" / "t"], env=env, cwd=work, check=True, capture_output=True
    )
    times: dict[str, list[float]] = {name: [] for name in ("bare", *WRITING, *READING)}
    for number in range(7):  # in turn, so that a busy minute is everybody's
        times["bare"].append(_cpu([PYTHON, "-c", "pass"], env, work))
        for name, words in (*WRITING.items(), *READING.items()):
            filled = [word.replace("{n}", str(number)) for word in words]
            times[name].append(_cpu([*command, *filled], env, work))
    bare = statistics.median(times.pop("bare"))
    told = [
        report(f"everyday_{name}", statistics.median(taken) / bare, "x CPU of python -c pass", 10)
        for name, taken in times.items()
    ]
    return all(told)


def _cpu(command: list[str], env: dict[str, str], cwd: Path) -> float:
    """Processor seconds of a process and its children that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, f"{command[3:]}: {done.stderr.decode()}"
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bench_context(folder: Path) -> bool:
    """`holdfast context` in a repository with instructions and notes: unchanged, with a new file, with a new rule."""
    work = folder / "work"
    work.mkdir(parents=True)
    env = {**scratch_env(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    (work / "AGENTS.md").write_text("- run make lint\n" * 200, encoding="utf-8")
    notes = folder / ".codex" / "memories"
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text("- the port is 8081\n" * 200, encoding="utf-8")
    command = [PYTHON, "-m", "holdfast"]
    fact = [*command, "fact", "add", "the port is 8081", "--evidence", "cat config"]
    subprocess.run(fact, env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
    looking = [*command, "context"]
    outer(looking, env, work, runs=1)
    same, files, rules = [], [], []
    bare = []
    for number in range(15):  # in turn, so that a busy minute is everybody's
        bare.append(outer([PYTHON, "-c", "pass"], runs=1))
        same.append(outer(looking, env, work, runs=1))
        (work / f"{number}.py").touch()
        files.append(outer(looking, env, work, runs=1))
        (work / "AGENTS.md").write_text(f"- rule {number}\n", encoding="utf-8")
        rules.append(outer(looking, env, work, runs=1))
    unit, yard = "x python -c pass", statistics.median(bare)
    ok = report("context_unchanged", statistics.median(same) / yard, unit, 6)
    ok &= report("context_with_a_new_file", statistics.median(files) / yard, unit, 6)
    return report("context_with_a_new_rule", statistics.median(rules) / yard, unit, 6) and ok


def bench_size(folder: Path) -> bool:
    """What an installation takes as it is unpacked, and with the bytecode that pip writes beside it."""
    target = folder / "installed"
    root = Path(__file__).parent.parent
    constraints = root / "constraints.txt"
    options = ["-q", "--disable-pip-version-check", "--target", str(target)]
    command = [PYTHON, "-m", "pip", "install", *options, str(root)]
    subprocess.run([*command, "-c", str(constraints)] if constraints.exists() else command, check=True)
    found = [path for path in target.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in found)
    compiled = sum(path.stat().st_size for path in found if path.suffix == ".pyc")
    report("installed_size_with_bytecode", size / 1e6, "MB", None)
    return report("installed_size", (size - compiled) / 1e6, "MB", 150)


def bench_show(folder: Path) -> bool:
    """The first screen of `holdfast show` on a session of 50 MB: the rest is read while a person reads."""
    work = folder / "show" / "work"
    work.mkdir(parents=True)
    env = scratch_env(folder / "show")
    write_corpus(folder / "show" / "t", 1, 50_000_000, cwd=str(work))
    command = [PYTHON, "-m", "holdfast"]
    subprocess.run(
        [*command, "import", folder / "show" / "t"], env=env, cwd=work, check=True, capture_output=True
    )
    bare, screens = [], []
    for _ in range(9):  # in turn, so that a busy minute is everybody's
        bare.append(outer([PYTHON, "-c", "pass"], runs=1))
        screens.append(_first_screen([*command, "show", "last"], env, work))
    value = statistics.median(screens) / statistics.median(bare)
    return report("show_first_screen_of_50_mb", value, "x python -c pass", 15)


def _first_screen(command: list[str], env: dict[str, str], cwd: Path, lines: int = 24) -> float:
    """Seconds until the first lines are there; the rest is not waited for."""
    started = time.perf_counter()
    with subprocess.Popen(command, env=env, cwd=cwd, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(lines):
            assert process.stdout.readline(), "the session ended on the first screen"
        took = time.perf_counter() - started
        process.kill()
    return took
