"""How long a scan takes on a repository of 100,000 files, in multiples of `git ls-files` in the same minute."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.measuring import report

FILES = 100_000
PYTHON = sys.executable

_MODULE = '''"""Orders of customer {number}."""

from __future__ import annotations

import json
from shop.core import errors


def load_order_{number}(path: str) -> dict[str, int]:
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    if not found:
        raise errors.Missing(path)
    return {{name: int(value) for name, value in found.items() if value}}


class OrderBook{number}:
    def total_amount(self) -> int:
        return sum(self.amounts or [])
'''
_TEST = """import pytest
from shop.orders import load_order_{number}


@pytest.mark.parametrize("name", ["a", "b"])
def test_an_order_is_loaded_{number}(name: str) -> None:
    assert load_order_{number}(name)
"""
_VENDORED = "module.exports = function f{number}() {{ return {number}; }};\n"


def write_tree(root: Path, files: int = FILES) -> None:
    """Program, tests, data and vendored files, in folders of a hundred."""
    for number in range(files):
        folder = number // 100
        kind = folder % 10
        if kind < 5:
            path, text = f"src/shop/part_{folder}/order_{number}.py", _MODULE
        elif kind < 7:
            path, text = f"tests/part_{folder}/test_order_{number}.py", _TEST
        elif kind < 8:
            path, text = f"node_modules/lib{folder}/f{number}.js", _VENDORED
        else:
            path, text = f"data/set_{folder}/{number}.json", '{{"number": {number}}}\n'
        if number % 100 == 0:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        with open(root / path, "w", encoding="utf-8") as file:
            file.write(text.format(number=number))
    (root / "pyproject.toml").write_text(
        '[project]\nname = "shop"\ndependencies = ["httpx"]\n\n[dependency-groups]\ndev = ["pytest", "ruff"]\n\n'
        "[tool.ruff]\nline-length = 100\n\n[tool.pytest.ini_options]\n",
        encoding="utf-8",
    )
    (root / "Makefile").write_text("test:\n\tuv run pytest\n\nlint:\n\truff check .\n", encoding="utf-8")
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "gc.auto=0"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Add the shop"]):
        subprocess.run([*git, *command], cwd=root, check=True)


def timed(command: list[str], cwd: Path, env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def bench_scan(folder: Path) -> bool:
    """Whole processes on both sides. The best of several turns: what the work costs, without its neighbours."""
    root = folder / "tree"
    root.mkdir(parents=True)
    write_tree(root)
    ok = True
    listing, first, again = [], [], []
    for turn in range(3):
        env = {**os.environ, "HOLDFAST_HOME": str(folder / f"memory{turn}"), "HOME": str(folder)}
        for identity in (root / ".git" / "holdfast-id",):
            identity.unlink(missing_ok=True)
        listing += [timed(["git", "ls-files", "-z"], root, env) for _ in range(5)]
        scan = [PYTHON, "-m", "holdfast", "know", "scan"]
        first.append(timed(scan, root, env))
        again += [timed(scan, root, env) for _ in range(5)]
        listing += [timed(["git", "ls-files", "-z"], root, env) for _ in range(5)]
    yard = statistics.median(listing)
    more = {"files": FILES, "git_ls_files_s": round(yard, 4)}
    ok &= report(
        "know_full_scan", min(first) / yard, "x git ls-files", 100, seconds=round(min(first), 2), **more
    )
    middle = statistics.median(again)
    ok &= report("know_unchanged_scan", middle / yard, "x git ls-files", 5, seconds=round(middle, 3), **more)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return ok & report("know_scan_rss", peak, "MB", 400)


def main() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        bench_scan(Path(folder))


if __name__ == "__main__":
    main()
