"""`make fuzz`: looks for inputs that break a promise, target by target, and writes down what it finds.

    scripts/fuzz.py                          every target, two minutes each
    scripts/fuzz.py ledger 'reader-*'        some targets
    scripts/fuzz.py --seconds 600 mcp        ten minutes
    scripts/fuzz.py --list                   the names
    scripts/fuzz.py --reproduce FILE         what a finding does today; exit code 1 if it still breaks a promise

A finding is in bench/out/fuzz/TARGET/: the smallest input that was found, and a text with the command that repeats it.
The next run looks at it first, and removes it once it is mended. Inputs that reach new code are kept there too.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUT = ROOT / "bench" / "out" / "fuzz"
REAL = ROOT.parent / "shared" / "data" / "transcripts"
MOST_REAL = 12
STARTING_S = 120  # beside the time asked for: loading, making a memory, the last input
FIGURES = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
COVERAGE = re.compile(r"\bcov: (\d+)")
sys.path.insert(0, str(ROOT))


def main() -> int:
    options = _options()
    if options.worker:
        return _work(options.worker, options.seconds, options.engine)
    if options.settle:
        return _settle(options.settle)
    if options.reproduce:
        return _reproduce(Path(options.reproduce))
    from tests.fuzz.targets import makers

    names = [
        name for name in makers() if any(fnmatch.fnmatch(name, wanted) for wanted in options.targets or ["*"])
    ]
    if options.list or not names:
        print("\n".join(makers()))
        return 0 if options.list else 2
    engine = _engine(options.engine)
    print(f"{len(names)} targets, {options.seconds} s each, engine: {engine}", flush=True)
    rows = []
    for name in names:
        rows.append(_fuzz(name, options.seconds, engine))
        print(_line(rows[-1]), flush=True)
    _record(rows)
    print(f"\n{_line({})}")
    print("\n".join(map(_line, rows)))
    found = [path for row in rows for path in row["findings"]]
    for path in found:
        print(f"\n{(OUT / path).with_suffix('.txt').read_text(encoding='utf-8')}")
    return 1 if found or any("died" in row for row in rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", help="names or patterns; all of them unless given")
    parser.add_argument("--seconds", type=int, default=120, help="for each target; 120 unless given")
    parser.add_argument("--engine", choices=("auto", "atheris", "own"), default="auto")
    parser.add_argument("--list", action="store_true", help="print the names of the targets")
    parser.add_argument("--reproduce", metavar="FILE", help="examine one input of bench/out/fuzz/TARGET/")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--settle", help=argparse.SUPPRESS)
    return parser.parse_args()


def _engine(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    return "atheris" if find_spec("atheris") else "own"


# --- one target ----------------------------------------------------------------------------------------


def _fuzz(name: str, seconds: int, engine: str) -> dict[str, Any]:
    """Runs a target in a process of its own, which an input may end, and looks at what it found in another."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    begun, before = time.monotonic(), _cpu_of_children()
    with open(folder / "engine.log", "w+", encoding="utf-8", errors="replace") as log:
        worker = subprocess.Popen(
            _command("--worker", name, seconds, engine), stdout=log, stderr=log, cwd=ROOT
        )
        try:
            code = worker.wait(seconds * 2 + STARTING_S)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
            code = -9
        took, cpu = time.monotonic() - begun, _cpu_of_children() - before
        log.seek(0)
        text = log.read()
    if code not in (0, 1):
        from tests.fuzz.engines import current_input

        (folder / f"died-{abs(code)}.found").write_bytes(current_input(folder))
    settled = subprocess.run(
        _command("--settle", name, seconds, engine), cwd=ROOT, capture_output=True, text=True
    )
    findings = [line for line in settled.stdout.splitlines() if line.endswith(".input")]
    if settled.returncode:
        print(settled.stderr, file=sys.stderr)
    runs = FIGURES.findall(text) or re.findall(r"^own: (\d+)", text, re.MULTILINE)
    edges = COVERAGE.findall(text)
    return {
        "target": name,
        "engine": engine,
        "seconds": round(took),
        "cpu": round(cpu),
        "runs": int(runs[-1]) if runs else 0,
        "edges": int(edges[-1]) if edges else 0,
        "findings": findings,
        **({"died": code} if code not in (0, 1) else {}),
    }


def _cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _command(mode: str, name: str, seconds: int, engine: str) -> list[str]:
    return [sys.executable, __file__, mode, name, "--seconds", str(seconds), "--engine", engine]


def _work(name: str, seconds: int, engine: str) -> int:
    if engine == "atheris":
        import atheris

        # Modules are loaded on first use, so whatever is imported until the end must be instrumented.
        atheris.instrument_imports(include=["holdfast"]).__enter__()
    from tests.fuzz.engines import Findings, run_atheris, run_own
    from tests.fuzz.targets import makers

    make, findings, seeds = makers()[name], Findings(OUT / name), _real_sessions(name)
    if engine == "atheris":
        run_atheris(make, seconds, findings, OUT / name / "corpus", seeds)
    target = make()
    runs, steps = run_own(target, findings, seconds=seconds, seeds=seeds, seed=time.time_ns())
    print(f"own: {runs} runs, cov: {steps}")
    target.close()
    return 0


def _real_sessions(name: str) -> list[bytes]:
    """Sessions of an agent from the folder beside the checkout, if it is there: read where they are, never copied
    into the project."""
    from tests.fuzz.mutations import MOST_BYTES

    agent = name.removeprefix("reader-")
    folders = [REAL / agent, REAL / f"{agent}-cli"] if name != agent else []
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    found.sort(key=lambda path: path.stat().st_size)
    step = max(1, len(found) // MOST_REAL)
    sessions = []
    for path in found[::step][:MOST_REAL]:
        with open(path, "rb") as file:
            beginning = file.read(MOST_BYTES)
        sessions.append(
            beginning[: beginning.rfind(b"\n") + 1] if len(beginning) == MOST_BYTES else beginning
        )
    return [session for session in sessions if session]


def _settle(name: str) -> int:
    """Minimises what was found, and removes what does not break anything any more. Prints what is left."""
    from tests.fuzz.engines import name_of
    from tests.fuzz.minimise import minimised
    from tests.fuzz.oracles import examine
    from tests.fuzz.targets import makers

    folder = OUT / name
    target = makers()[name]()
    for seed in target.seeds:
        examine(target, seed)  # what is loaded on first use is read and kept once
    left: dict[str, Path] = {}
    for path in sorted([*folder.glob("*.input"), *folder.glob("*.found")]):
        data = path.read_bytes()
        finding = examine(target, data)
        path.unlink()
        path.with_suffix(".txt").unlink(missing_ok=True)
        if finding is None or finding.kind in left:
            continue
        data = minimised(target, data, finding.kind)
        smallest = examine(target, data) or finding
        place = folder / f"{name_of(finding)}.input"
        place.write_bytes(data)
        command = f".venv/bin/python scripts/fuzz.py --reproduce {place.relative_to(ROOT)}"
        shown = repr(data if len(data) < 600 else data[:600])
        place.with_suffix(".txt").write_text(
            f"{name}: {finding.kind}\n{command}\n{len(data)} bytes: {shown}\n\n{smallest.text}\n",
            encoding="utf-8",
        )
        left[finding.kind] = place
    target.close()
    for place in left.values():
        print(place.relative_to(OUT))
    return 0


def _reproduce(path: Path) -> int:
    from tests.fuzz.oracles import examine
    from tests.fuzz.targets import makers

    target = makers()[path.resolve().parent.name]()
    for seed in target.seeds:
        examine(target, seed)
    finding = examine(target, path.read_bytes())
    target.close()
    print(f"{finding.kind}\n{finding.text}" if finding else "Nothing is broken.")
    return 1 if finding else 0


# --- the summary ---------------------------------------------------------------------------------------


def _line(row: dict[str, Any]) -> str:
    if not row:
        return (
            f"{'target':24} {'engine':8} {'seconds':>7} {'CPU s':>6} {'runs':>9} {'edges':>7} {'findings':>8}"
        )
    note = f"  the process died ({row['died']})" if "died" in row else ""
    figures = (
        f"{row['seconds']:>7} {row['cpu']:>6} {row['runs']:>9,} {row['edges']:>7,} {len(row['findings']):>8}"
    )
    return f"{row['target']:24} {row['engine']:8} {figures}{note}"


def _record(rows: list[dict[str, Any]]) -> None:
    """The last run of each target."""
    path = OUT / "summary.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    known |= {row["target"]: {**row, "at": stamp} for row in rows}
    path.write_text(json.dumps(known, indent=1), encoding="utf-8")


if __name__ == "__main__":
    if shutil.which("git") is None:
        sys.exit("make fuzz needs git")
    os.environ.setdefault("TZ", "UTC")
    sys.exit(main())
