"""Which planted faults do the tests notice?

    nice python scripts/plant_faults.py [ID …] [--tests PATH …] [--page docs/research/faults.md]

Takes faults from tests/faults.toml, plants one at a time in a copy of the checkout, and runs the tests that its row
names. A fault is caught when a test fails that passes without it. Results are kept in bench/out/planted.json; `--page`
writes them as a table. `--check` only says which snippets no longer occur exactly once: mend these rows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

TABLE = Path("tests/faults.toml")
RESULTS = Path("bench/out/planted.json")
LIMIT = 1800  # seconds for one run of tests; past it nothing is claimed, as the machine may only be busy
NOT_COPIED = (".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".hypothesis", "out")
FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    id: str
    what: str
    find: str
    replace: str
    tests: tuple[str, ...]


class Result(TypedDict):
    caught_by: str  # '' when no test noticed
    tests: list[str]
    seconds: float
    sound: bool  # whether the test that caught it is known to pass without it


Results = dict[str, Result]


def read_faults(table: Path) -> list[Fault]:
    rows = tomllib.loads(table.read_text(encoding="utf-8"))["fault"]
    return [Fault(**{**row, "tests": tuple(row["tests"])}) for row in rows]


def places_of(snippet: str, source: Path) -> list[Path]:
    """The modules that hold a snippet, each as often as it occurs there."""
    return [
        path
        for path in sorted(source.rglob("*.py"))
        for _ in range(path.read_text(encoding="utf-8").count(snippet))
    ]


class Scratch:
    """A copy of the checkout with an environment of its own, in which `holdfast` is the copy."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = folder / "holdfast"
        shutil.copytree(root, self.root, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
        venv.create(self.root / ".venv", with_pip=False)
        self.python = self.root / ".venv/bin/python"
        (packages,) = (self.root / ".venv/lib").glob("python*/site-packages")
        # Of the other environment only the packages: a .pth file there leads to the checkout.
        paths = [self.root / "src", *(path for path in sys.path if path.endswith("site-packages"))]
        packages.joinpath("scratch.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
        command = self.root / ".venv/bin/holdfast"
        start = f"#!{self.python}\nimport sys\nfrom holdfast.cli.main import main\nsys.exit(main())\n"
        command.write_text(start, encoding="utf-8")
        command.chmod(0o755)
        self._time = time.time()

    def plant(self, fault: Fault) -> tuple[Path, str]:
        """Put the fault in; returns the module and its text before."""
        places = places_of(fault.find, self.root / "src")
        if len(places) != 1:
            raise SystemExit(f"{fault.id}: the snippet occurs {len(places)} times, not once")
        before = places[0].read_text(encoding="utf-8")
        self.write(places[0], before.replace(fault.find, fault.replace))
        return places[0], before

    def write(self, path: Path, text: str) -> None:
        """With a time of its own: bytecode is known by the second and the size of its source."""
        path.write_text(text, encoding="utf-8")
        self._time += 2
        os.utime(path, (self._time, self._time))

    def failures(self, tests: Sequence[str], *options: str) -> list[str]:
        """The tests that fail. A single process for files: to start workers would take longer than their tests."""
        command = [str(self.python), "-m", "pytest", "-q", "--tb=no", "-m", "not slow", *options, *tests]
        if not all(".py" in test for test in tests):
            command += ["-n", "2"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        try:
            done = subprocess.run(
                command,
                cwd=self.root,
                env=environment,
                capture_output=True,
                encoding="utf-8",
                check=False,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return [f"unclear: no result in {LIMIT} s"]
        if done.returncode == 0:
            return []
        failed = FAILURE.findall(done.stdout)
        if done.returncode not in (1, 2) or not failed:  # killed, no test ran, or a wrong argument
            return [f"unclear: pytest ended with {done.returncode}"]
        return failed


def examine(scratch: Scratch, fault: Fault, tests: Sequence[str]) -> Result:
    started = time.monotonic()
    module, before = scratch.plant(fault)
    try:
        failed = scratch.failures(tests, "-x")
    finally:
        scratch.write(module, before)
    took = round(time.monotonic() - started, 1)
    return {"caught_by": failed[0] if failed else "", "tests": list(tests), "seconds": took, "sound": False}


def widen(scratch: Scratch, missed: Sequence[Fault], tests: Sequence[str]) -> list[str]:
    """The tests that notice any of the missed faults: all are planted at once, as most tests notice none."""
    before = [scratch.plant(fault) for fault in missed]
    try:
        failed = scratch.failures(tests)
    finally:
        for module, text in reversed(before):
            scratch.write(module, text)
    if failed[:1] and failed[0].startswith("unclear"):
        raise SystemExit(f"The wider run gave no result: {failed[0]}")
    unsound = set(scratch.failures(failed)) if failed else set()
    return [test for test in failed if test not in unsound]


def check_sound(scratch: Scratch, results: Results) -> None:
    """A test that fails without any fault has caught none."""
    open_ones = [result for result in results.values() if "::" in result["caught_by"] and not result["sound"]]
    if not open_ones:
        return
    names = list(dict.fromkeys(result["caught_by"] for result in open_ones))
    unsound = scratch.failures(names)
    for result in open_ones:
        if result["caught_by"] in unsound:
            result["caught_by"] = f"unclear: {result['caught_by']} fails without the fault too"
        result["sound"] = True


def check(faults: list[Fault], source: Path) -> int:
    stale = [fault.id for fault in faults if len(places_of(fault.find, source)) != 1]
    for id in stale:
        print(f"{id}: the snippet does not occur exactly once")
    print(f"{len(faults)} faults, {len(stale)} stale")
    return int(bool(stale))


def load_results(path: Path) -> Results:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def save_results(results: Results) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def verdict_on(result: Result | None) -> str:
    """What the table says: a fault that was missed was missed by the tests that ran, and others may notice it."""
    if result is None:
        return "not tried"
    if not result["caught_by"]:
        return f"no, by {', '.join(result['tests'])}"
    return f"`{result['caught_by']}`" if "::" in result["caught_by"] else result["caught_by"]


def write_page(page: Path, faults: list[Fault], results: Results) -> None:
    """Replaces the table of the page, and keeps what is written above it."""
    text = page.read_text(encoding="utf-8") if page.exists() else "# Planted faults\n\n"
    head = text.partition("| id |")[0]
    rows = ["| id | what | caught by |", "| --- | --- | --- |"]
    for fault in faults:
        cells = (fault.id, fault.what, verdict_on(results.get(fault.id)))
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    page.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ids", nargs="*", help="these faults; all that have no result yet unless given")
    parser.add_argument("--tests", nargs="+", help="run these in place of what the rows name")
    parser.add_argument("--page", type=Path, help="write the results as a table, and run nothing")
    parser.add_argument("--check", action="store_true", help="look for stale snippets, and run nothing")
    parser.add_argument(
        "--missed", action="store_true", help="those that no test noticed so far, with --tests"
    )
    chosen = parser.parse_args()
    faults, results = read_faults(TABLE), load_results(RESULTS)
    if chosen.check:
        return check(faults, Path("src"))
    if chosen.page:
        write_page(chosen.page, faults, results)
        return 0
    wanted = [fault for fault in faults if is_wanted(fault, chosen, results)]
    with tempfile.TemporaryDirectory(prefix="holdfast-faults-") as folder:
        scratch = Scratch(Path.cwd(), Path(folder))
        if chosen.missed and wanted:
            chosen.tests = widen(scratch, wanted, chosen.tests or ["tests"])
            wanted = wanted if chosen.tests else []
        for fault in wanted:
            results[fault.id] = result = examine(scratch, fault, chosen.tests or fault.tests)
            save_results(results)
            print(f"{fault.id}: {result['caught_by'] or 'not caught'} ({result['seconds']:g} s)", flush=True)
        check_sound(scratch, results)
        save_results(results)
    for id, result in results.items():
        if result["caught_by"].startswith("unclear"):
            print(f"{id}: {result['caught_by']}")
    return 0


def is_wanted(fault: Fault, chosen: argparse.Namespace, results: Results) -> bool:
    if chosen.ids:
        return fault.id in chosen.ids
    if chosen.missed:
        return fault.id in results and not results[fault.id]["caught_by"]
    return fault.id not in results


if __name__ == "__main__":
    sys.exit(main())
