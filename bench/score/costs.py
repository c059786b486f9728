"""What holdfast costs in CPU time: hooks, an import, one session end. Ratios to a yardstick and to 0.1.0 in one run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from bench.corpus import write_corpus
from bench.measuring import PYTHON, SHARED
from bench.score.practice import RIGHT, WRONG, Practice, practice, write_session
from bench.score.processes import YARDSTICK, Installation, base_source, cost_of, current_source, installed
from bench.score.rows import Found, Measured

Side = TypeVar("Side")
RUNS = 20
SESSIONS = 120
IMPORTS = 4  # each side comes first twice
HISTORY = SHARED / "data" / "transcripts" / "claude-code" / "entireio-cli"

PARSING = """
import sys, time, orjson
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        for line in file:
            try: orjson.loads(line)
            except orjson.JSONDecodeError: pass
print(time.process_time())
"""
NOTHING_PARSED = "import time, orjson; print(time.process_time())"

# Each interpreter of the installation says which files it opens. SQLite opens its files by itself, so it is not seen.
OPENS = """
import os, sys
_to = os.environ.get("SCORE_OPENS")
if _to:
    _log = os.open(_to, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    def _opened(event, given):
        if event == "open" and isinstance(given[0], (str, bytes)):
            os.write(_log, os.fsencode(os.path.abspath(given[0])) + b"\\n")
    sys.addaudithook(_opened)
"""


class Setting(NamedTuple):
    """Where costs are measured, and what they are compared with."""

    folder: Path
    base_commit: str
    base_checkout: Path | None = None

    def now(self, name: str, extra: str = "") -> Installation:
        return installed(current_source(self.folder / name / "code"), self.folder / name / "venv", extra)

    def base(self, name: str) -> Installation:
        source = base_source(self.folder / name / "code", self.base_commit, self.base_checkout)
        return installed(source, self.folder / name / "venv")


def hooks(setting: Setting) -> Found:
    """Medians of CPU time beside the yardstick, in turn, so that a busy minute is everybody's."""
    project = practice(setting.now("hooks"), setting.folder / "hooks" / "home", SESSIONS)
    prompt = "Fix the voucher refunds in the nightly run: the last case is wrong"
    # Of each: the event, what it is given, and a word that the answer holds (none: it is silent).
    asked: dict[str, tuple[str, dict[str, object], str]] = {
        "hook_start": ("SessionStart", {"source": "startup"}, "holdfast"),
        "hook_prompt": ("UserPromptSubmit", {"prompt": prompt}, "shop/refunds.py"),
        "hook_tool_silent": ("PreToolUse", _bash("make -j4 check 2>&1 | tail -20"), ""),
        "hook_tool_told": ("PreToolUse", _bash(WRONG), RIGHT),
    }
    spent: dict[str, list[float]] = {name: [] for name in asked}
    yardstick, answered = [], Counter[str]()
    for number in range(-1, RUNS):  # the first warms all up
        bare = cost_of(YARDSTICK, project.env, project.repo).own
        yardstick += [bare] * (number >= 0)
        for name, (event, payload, word) in asked.items():
            session = str(uuid.uuid4())
            cost = project.hook(event, session_id=session, **payload)
            if event == "SessionStart":  # a session that never ends would be captured by the next start
                project.hook("SessionEnd", session_id=session, reason="exit")
            if number >= 0:
                spent[name].append(cost.own)
                answered[name] += (word in cost.printed) if word else not cost.printed.strip()
    bare = statistics.median(yardstick)
    found = {}
    for name, values in spent.items():
        note = f"{1000 * statistics.median(values):.0f} ms of CPU"
        if answered[name] < RUNS:
            note += f"; as expected in only {answered[name]} of {RUNS} runs"
        found[name] = Measured(statistics.median(values) / bare, RUNS, note)
    return found


def _bash(command: str) -> dict[str, object]:
    return {"tool_name": "Bash", "tool_input": {"command": command, "description": "x"}}


def importing(setting: Setting) -> Found:
    """The best of four for each, in turn: what the work costs, without its neighbours."""
    files = sorted(map(str, HISTORY.glob("*.jsonl")))
    what = f"{len(files)} sessions of {HISTORY.name}"
    if not files:
        files = list(map(str, write_corpus(setting.folder / "made", 60, 1_000_000)))
        what = f"{len(files)} made-up sessions, because there is no ../shared"
    sides = {"now": setting.now("import-now"), "base": setting.base("import-base")}
    parsing: list[float] = []
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(IMPORTS):
        parsing.append(_reported(PARSING, files) - _reported(NOTHING_PARSED, []))
        for name, code in _in_turn(sides, turn):
            home = setting.folder / f"import-{name}" / str(turn)
            (home / "work").mkdir(parents=True)
            command = code.holdfast("import", "--json", *files)
            spent[name].append(cost_of(command, _own_home(home), home / "work").own)
    best = {name: min(values) for name, values in spent.items()}
    size = sum(Path(name).stat().st_size for name in files) / 1e6
    note = f"{what}, {size:.0f} MB, {best['now']:.1f} s of CPU"
    return {
        "import_orjson": Measured(best["now"] / min(parsing), IMPORTS, note),
        "import_base": Measured(best["now"] / best["base"], IMPORTS, f"0.1.0 took {best['base']:.1f} s"),
    }


def _in_turn(sides: Mapping[str, Side], turn: int) -> list[tuple[str, Side]]:
    """Both sides; who comes first changes, for the second finds the machine warmed up."""
    return list(sides.items())[:: -1 if turn % 2 else 1]


def _own_home(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "HOLDFAST_HOME": str(home / "memory")}


def _reported(script: str, names: Sequence[str]) -> float:
    return float(subprocess.check_output([PYTHON, "-c", script, *names], text=True))


def session_end(setting: Setting) -> Found:
    """The end hook and the capture that it leaves, one new session after another; then one with its opens counted."""
    folder = setting.folder / "end"
    ends = {
        "now": _ends(practice(setting.now("end-now"), folder / "now", SESSIONS)),
        "base": _ends(practice(setting.base("end-base"), folder / "base", SESSIONS)),
    }
    yardstick: list[float] = []
    spent: dict[str, list[float]] = {name: [] for name in ends}
    for number in range(-1, RUNS):
        bare = cost_of(YARDSTICK, os.environ, folder).own
        costs = {name: end(SESSIONS + 1 + number) for name, end in _in_turn(ends, number)}
        if number >= 0:
            yardstick.append(bare)
            for name, cost in costs.items():
                spent[name].append(cost)
    middle = {name: statistics.median(values) for name, values in spent.items()}
    note = f"{1000 * middle['now']:.0f} ms of CPU, {SESSIONS} sessions known"
    return {
        "end_cpu": Measured(middle["now"] / statistics.median(yardstick), RUNS, note),
        "end_base": Measured(
            middle["now"] / middle["base"], RUNS, f"0.1.0 took {1000 * middle['base']:.0f} ms"
        ),
        "end_opens": _opens(practice(setting.now("end-opens", OPENS), folder / "opens", 20)),
    }


def _ends(project: Practice) -> Callable[[int], float]:
    """A function that lets a new session end, and gives the CPU time of the hook and of what it leaves."""
    known = _captured(project)

    def end(number: int) -> float:
        nonlocal known
        spent = _end_one(project, number)
        known += 1
        if (captured := _captured(project)) != known:
            raise RuntimeError(f"{captured} sessions in the ledger after {known} ended: not captured")
        return spent

    return end


def _end_one(project: Practice, number: int, more: Mapping[str, str] | None = None) -> float:
    transcripts = project.home / ".claude" / "projects" / "shop"
    transcripts.mkdir(parents=True, exist_ok=True)
    path = transcripts / f"{number:08d}-1111-4111-8111-111111111111.jsonl"
    write_session(path, project.repo, number, turns=8)
    project = project._replace(env={**project.env, **(more or {})})
    cost = project.hook("SessionEnd", session_id=path.stem, transcript_path=str(path), reason="exit")
    return cost.with_children


def _captured(project: Practice) -> int:
    return len(json.loads(project.run("ledger", "list", "--json")))


def _opens(project: Practice) -> Measured:
    log = project.home / "opens.log"
    _end_one(project, 900, {"SCORE_OPENS": str(log)})
    if not log.exists():
        return Measured(None, 0, "the capture opened no file that could be seen")
    roots = [project.repo, project.home / ".claude", project.home / "memory"]
    opened = Counter(
        Path(line)
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
        if any(Path(line).is_relative_to(root) for root in roots) and not _is_database(line)
    )
    if not opened:
        return Measured(None, 0, "no file of the memory or the work tree was opened")
    path, count = max(opened.items(), key=lambda item: (item[1], str(item[0])))
    again = sum(number > 1 for number in opened.values())
    name = path.relative_to(project.home).as_posix()
    return Measured(count, len(opened), f"{name}; {again} of {len(opened)} files more than once")


def _is_database(name: str) -> bool:
    return name.endswith((".db", ".db-wal", ".db-shm", ".db-journal", ".sqlite"))
