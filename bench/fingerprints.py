"""A thousand lessons checked in process, against a thousand calls of os.stat in the same minute."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from bench.measuring import report
from holdfast.lessons.fingerprint import check, take
from holdfast.model.lesson import Fingerprint

COUNT = 1_000


def bench_fingerprints(folder: Path) -> bool:
    """Files and fields in turn: a field whose file was not touched is not parsed."""
    targets = []
    for number in range(COUNT):
        package = folder / f"packages/p{number:03}"
        package.mkdir(parents=True)
        (package / "package.json").write_text(json.dumps({"scripts": {"test": "vitest"}}), encoding="utf-8")
        targets.append(f"packages/p{number:03}/package.json{'#scripts.test' if number % 2 else ''}")
    found = [take(folder, target) for target in targets]
    prints = [item for item in found if isinstance(item, Fingerprint)]
    assert len(prints) == COUNT
    stamps = check(folder, prints).stamps
    paths = [str(folder / target.partition("#")[0]) for target in targets]
    spent, yardstick = (
        _least(lambda: check(folder, prints, stamps)),
        _least(lambda: [os.stat(p) for p in paths]),
    )
    more = {"ms": round(1000 * spent, 2), "yardstick_ms": round(1000 * yardstick, 2)}
    return report("fingerprints_1000", spent / yardstick, "x 1,000 os.stat", 5.0, **more)


def _least(call: Callable[[], object]) -> float:
    spent = []
    for _ in range(25):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)
