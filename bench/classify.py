"""The prompt classifier: time per call against reading the prompt's JSON, and what its import adds to a cold hook."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.measuring import report

RUNS = 40
SOURCE = Path(__file__).parents[1] / "src"
YARDSTICK = "import json, sqlite3"


def bench_classify(folder: Path) -> bool:
    from holdfast.hooks.classify import classify

    prompt = (
        "The export fails for empty lists: TypeError in report.py line 12. Can you make it write the header "
        "anyway, and add a test next to the others? Then have a look at the importer, it may do the same."
    )
    giant = prompt + "\nINFO 12:00:01 worker 3 wrote 512 rows to part-00017\n" * 20_000 + "please fix it"
    typical, longest = _best(lambda: classify(prompt)), _best(lambda: classify(giant))
    kept = report("classify_prompt", 1000 * typical, "ms", 1.0)
    kept = report("classify_megabyte", 1000 * longest, "ms", 5.0) and kept
    bare, loaded = [], []
    code = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {YARDSTICK}"
    for _ in range(RUNS):
        bare.append(_cold(code))
        loaded.append(_cold(f"{code}; from holdfast.hooks.classify import classify; classify('fix it')"))
    # The least of many: what others do on this machine is larger than what is measured.
    ratio = min(loaded) / min(bare)
    more = {"ms": round(1000 * (min(loaded) - min(bare)), 2), "yardstick_ms": round(1000 * min(bare), 1)}
    return report("classify_import", ratio, f'x python -I -S -c "{YARDSTICK}"', 1.25, **more) and kept


def _best(call: Callable[[], object]) -> float:
    spent = []
    for _ in range(200):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent)


def _cold(code: str) -> float:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, env=env)
    return time.perf_counter() - start
