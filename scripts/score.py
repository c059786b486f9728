"""Measures the product and writes one table: docs/research/score.md, with the figures in score.json beside it.

    python scripts/score.py [--only PART,…] [--label NAME] [--base DIR] [--suite-cpu SECONDS] [--json]

A part that cannot be measured here says why in its rows; the others are measured all the same. Progress goes to
standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.score import agent, costs, quality, record, size  # noqa: E402
from bench.score.rows import TITLES, Found, Measured, rows_of  # noqa: E402

BASE_COMMIT = "4d89c62"  # version 0.1.0
FOLDER = ROOT / "docs" / "research"


def main(arguments: list[str] | None = None) -> int:
    chosen = options().parse_args(arguments)
    parts = chosen.only.split(",") if chosen.only else list(TITLES)
    if unknown := [part for part in parts if part not in TITLES]:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(TITLES)}", file=sys.stderr)
        return 2
    began, found = time.monotonic(), {}
    with tempfile.TemporaryDirectory(prefix="holdfast-score-") as scratch:
        measures = measures_in(Path(scratch), chosen)
        for part in parts:
            found.update(measured(part, measures[part]))
    about = {
        "commit": chosen.commit or commit(),
        "label": chosen.label,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "remark": chosen.remark,
        "seconds": round(time.monotonic() - began),
    }
    runs = record.added(record.read(chosen.folder / "score.json"), about, found)
    record.write(chosen.folder / "score.json", runs)
    (chosen.folder / "score.md").write_text(record.page(runs), encoding="utf-8")
    print(json.dumps(runs[0], ensure_ascii=False) if chosen.json else record.printed(runs[0]))
    return 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help=f"parts, with commas: {', '.join(TITLES)}")
    parser.add_argument("--label", default="", help="a name for this state of the code, such as 0.1.0")
    parser.add_argument("--commit", default="", help="the commit that is measured, if it is not HEAD")
    parser.add_argument(
        "--base", type=Path, help=f"a checkout of 0.1.0; default: an archive of {BASE_COMMIT}"
    )
    parser.add_argument("--suite-cpu", type=float, help="CPU seconds of a whole test run")
    parser.add_argument("--remark", default="", help="a sentence on the circumstances, such as other load")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where score.md and score.json are")
    parser.add_argument("--json", action="store_true", help="print the run as JSON")
    return parser


def measures_in(scratch: Path, chosen: argparse.Namespace) -> dict[str, Callable[[], Found]]:
    setting = costs.Setting(scratch, BASE_COMMIT, chosen.base)
    return {
        "told": lambda: agent.told(scratch),
        "replay": lambda: agent.replay(scratch),
        "retrieval": lambda: quality.retrieval(scratch),
        "verdicts": lambda: quality.verdicts(scratch),
        "hooks": lambda: costs.hooks(setting),
        "import": lambda: costs.importing(setting),
        "session_end": lambda: costs.session_end(setting),
        "size": size.size,
        "suite": lambda: size.suite(chosen.suite_cpu),
    }


def measured(part: str, measure: Callable[[], Found]) -> Found:
    """What a part found. Each of its rows has a figure or a reason, also when the part fails."""
    print(f"{part} …", file=sys.stderr, flush=True)
    began = time.monotonic()
    why = "not reported"
    found: Found = {}
    try:
        found = measure()
    except Exception as error:  # the other parts are measured all the same
        why = f"failed: {described(error)}"
        print(f"{part}: {why}", file=sys.stderr)
    print(f"{part}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return {spec.id: found.get(spec.id, Measured(None, 0, why)) for spec in rows_of(part)}


def described(error: Exception) -> str:
    """One line, with the last line of what a failed process wrote."""
    said = ""
    if isinstance(error, subprocess.CalledProcessError) and error.stderr:
        text = error.stderr if isinstance(error.stderr, str) else error.stderr.decode(errors="replace")
        said = f": {(text.strip().splitlines() or [''])[-1]}"
    return " ".join(f"{type(error).__name__}{said or f': {error}'}".split())[:200]


def commit() -> str:
    """HEAD, marked where the source differs from it."""
    git = ["git", "-C", str(ROOT)]
    name = subprocess.check_output([*git, "rev-parse", "--short", "HEAD"], text=True).strip()
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"], check=False).returncode
    return f"{name}+changes" if changed else name


if __name__ == "__main__":
    raise SystemExit(main())
