"""How large src/holdfast is, how often it repeats itself, and what the test suite costs."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from bench.score.processes import ROOT
from bench.score.rows import Found, Measured

SOURCE = ROOT / "src" / "holdfast"
SUITE = ROOT / "bench" / "out" / "suite.json"


def size(source: Path = SOURCE) -> Found:
    lines, statements, rooms = Counter[str](), 0, Counter[str]()
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(source).as_posix()
        lines[name] = len(text.splitlines())
        rooms[name.split("/")[0] if "/" in name else "."] += lines[name]
        statements += sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))
    modules = len(lines)
    (module, longest), (room, largest) = lines.most_common(1)[0], rooms.most_common(1)[0]
    return {
        "lines": Measured(lines.total(), modules),
        "statements": Measured(statements, modules),
        "modules": Measured(modules, modules),
        "largest_module": Measured(longest, modules, module),
        "largest_room": Measured(largest, len(rooms), f"{room}/"),
        "duplicates": duplicates(source),
    }


def duplicates(source: Path) -> Measured:
    command = shutil.which("duplicates")
    if not command:
        return Measured(None, 0, "n/a: there is no command `duplicates` here")
    asked = [command, "--repo", source, "--seconds", "120", "--most", "1"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=180)
    return duplicate_pairs(done.stdout)


def duplicate_pairs(printed: str) -> Measured:
    first = next(iter(printed.splitlines()), "")
    if first.startswith("no duplicates"):
        return Measured(0, 0, first)
    counted = re.search(r"([\d,]+) pairs?", first)
    if not counted:
        return Measured(None, 0, f"not understood: {first[:80]}")
    files = re.search(r"\((\d+) files read\)", first)
    cut = "incomplete" if re.search(r"^incomplete:", printed, re.MULTILINE) else ""
    return Measured(int(counted[1].replace(",", "")), int(files[1]) if files else None, cut)


def suite(seconds: float | None) -> Found:
    """What was given on the command line, else what a test run left in bench/out/suite.json ({"cpu_s": …})."""
    if seconds is None and SUITE.exists():
        seconds = float(json.loads(SUITE.read_text(encoding="utf-8"))["cpu_s"])
    if seconds is None:
        return {"suite_cpu": Measured(None, 0, "not measured: give --suite-cpu SECONDS")}
    return {"suite_cpu": Measured(seconds, 1)}
