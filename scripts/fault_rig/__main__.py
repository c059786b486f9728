"""Runs real commands on a disk that fails, is killed or loses power: `python -m scripts.fault_rig`.

    python -m scripts.fault_rig                         about 3,800 points, two processes, a quarter of an hour
    python -m scripts.fault_rig --points 20             a sample: 20 points for each scenario
    python -m scripts.fault_rig --scenario import undo  only these
    python -m scripts.fault_rig --scenario import --only "EIO@123"    one point again, with what it said

Exit code 1 when something was violated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from scripts.fault_rig import shim  # noqa: E402
from scripts.fault_rig.trials import Result, totals  # noqa: E402

POINTS = 185
OUT = ROOT / "bench" / "out" / "faults.json"


def main() -> int:
    options = _options()
    if problem := shim.missing():
        print(f"skipped: {problem}")
        return 0
    began = time.monotonic()
    results, problems = run(
        points=options.points,
        jobs=options.jobs,
        seed=options.seed,
        scenarios=options.scenario,
        only=options.only,
        tell=_progress if sys.stderr.isatty() else None,
    )
    seconds = time.monotonic() - began
    for line in _table(results):
        print(line)
    for problem in problems:
        print(f"not tried: {problem}")
    _show_violations(results, options.show, everything=bool(options.only))
    print(f"{sum(result.reached for result in results)} points in {seconds:.0f} s.")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    violated = [result.as_json() for result in results if result.violations]
    figures = {"scenarios": totals(results), "kinds": by_fault(results), "seconds": round(seconds)}
    text = json.dumps({**figures, "not_tried": problems, "violations": violated}, indent=1)
    options.json.write_text(text + "\n", encoding="utf-8")
    return 1 if violated or problems else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts.fault_rig", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--points", type=int, default=POINTS, help="points for each scenario")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenario", nargs="*", default=[])
    parser.add_argument("--only", default="", help="one point again, e.g. EIO@123")
    parser.add_argument("--show", type=int, default=40, help="violations to print")
    parser.add_argument("--json", type=Path, default=OUT, help="where the figures go")
    return parser.parse_args()


def run(
    *,
    points: int,
    jobs: int = 1,
    seed: int = 0,
    scenarios: Iterable[str] = (),
    only: str = "",
    tell: Any = None,
) -> tuple[list[Result], list[str]]:
    """All results, and why some scenarios could not be tried."""
    kills, losses = round(points * 0.2), round(points * 0.22)
    base = {
        "budget": (points - kills - losses, kills, losses), "seed": seed, "scenarios": list(scenarios), "only": only,
        "shares": jobs,
    }  # fmt: skip
    results: list[Result] = []
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="holdfast-faults-", dir=_memory_disk()) as name:
        library = shim.build(Path(name))
        threads = []
        for share in range(jobs):
            folder = Path(name, str(share))
            folder.mkdir()
            mine = {**base, "folder": str(folder), "library": str(library), "share": share}
            threads.append(threading.Thread(target=_work, args=(mine, results, problems, tell)))
            threads[-1].start()
        for thread in threads:
            thread.join()
    return sorted(results, key=lambda result: (result.scenario, result.at)), sorted(set(problems))


def _memory_disk() -> str | None:
    """A file system in memory, where syncing costs nothing: what matters is which calls are made."""
    place = "/dev/shm"
    return place if os.access(place, os.W_OK) and shutil.disk_usage(place).free > 1 << 29 else None


def _work(options: dict[str, Any], results: list[Result], problems: list[str], tell: Any) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "scripts.fault_rig.worker", json.dumps(options)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": options["library"]},
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            row = json.loads(line)
            if "problem" in row:
                problems.append(row["problem"])
            else:
                results.append(Result(**row))
                if tell:
                    tell(results)
    if process.returncode:
        problems.append(f"a worker ended with {process.returncode}")


def _progress(results: list[Result]) -> None:
    bad = sum(bool(result.violations) for result in results)
    sys.stderr.write(f"\r{len(results)} points, {bad} violated, {results[-1].scenario:<24}")
    sys.stderr.flush()


def by_fault(results: Iterable[Result]) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for result in results:
        if result.reached:
            name = f"{result.fault}: {result.how}" if result.how else result.fault
            row = table.setdefault(name, {"points": 0, "violated": 0})
            row["points"] += 1
            row["violated"] += bool(result.violations)
    return dict(sorted(table.items()))


def _table(results: Iterable[Result]) -> list[str]:
    results = list(results)
    columns = ("points", "error", "kill", "power loss", "violated")
    lines = [f"{'scenario':<20}" + "".join(f"{column:>12}" for column in columns)]
    table = totals(results)
    for name, row in table.items():
        lines.append(f"{name:<20}" + "".join(f"{row[column]:>12,}" for column in columns))
    sums = {column: sum(row[column] for row in table.values()) for column in columns}
    lines.append(f"{'all':<20}" + "".join(f"{sums[column]:>12,}" for column in columns))
    lines += ["", f"{'fault':<40}{'points':>12}{'violated':>12}"]
    lines += [
        f"{name:<40}{row['points']:>12,}{row['violated']:>12,}" for name, row in by_fault(results).items()
    ]
    return [*lines, ""]


def _show_violations(results: Iterable[Result], most: int, *, everything: bool) -> None:
    violated = [result for result in results if result.violations or everything]
    kinds: dict[str, list[Result]] = {}
    for result in violated:
        for violation in result.violations[:1]:
            kinds.setdefault(shim.without_chance(violation)[:110], []).append(result)
    for violation, some in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(some):>5} × {violation}")
    for result in violated[:most]:
        how = f"/{result.how}/{result.seed}" if result.how else ""
        print(f"{result.scenario} · {result.fault}@{result.at}{how} · {result.place} · exit {result.code}")
        if result.said:
            print(f"    said: {result.said}")
        for violation in result.violations[:8]:
            print(f"    - {violation}")
    if len(violated) > most:
        print(f"and {len(violated) - most} more: see the JSON")


if __name__ == "__main__":
    raise SystemExit(main())
