"""What it costs to read transcripts: beside orjson parsing the same files, unchanged, and one of two gigabytes."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.corpus import write_corpus, write_giant
from bench.measuring import PYTHON, SHARED, inner, outer, report, scratch_env

TRANSCRIPTS = SHARED / "data" / "transcripts" / "claude-code"

ORJSON = """
import sys, time, orjson
start = time.perf_counter()
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        for line in file:
            try: orjson.loads(line)
            except orjson.JSONDecodeError: pass
print(time.perf_counter() - start)
"""

DISTILL = """
import sys, time
from pathlib import Path
import holdfast.sessions.session as session, holdfast.sessions.reducer as reduce, holdfast.sessions.digest as digest
from holdfast.agents.claude_code.reader import ClaudeCode
import genai_prices
class Claims:
    def __init__(self, known, number): self.known, self.number = known, number
    def repeated(self, key):
        if key in self.known: return True
        self.known[key] = self.number; return False
    def foreign(self, key): return self.known.setdefault(key, self.number) != self.number
start = time.perf_counter()
known, parts = {}, {}
for number, name in enumerate(sys.argv[1:]):
    summary = digest.Digest("claude-code")
    reading = ClaudeCode().open(Path(name), 0, b"", Claims(known, number))
    reduce.Reducer(summary).take_all(reading.events())
    if not summary.empty: parts.setdefault(summary.parent or summary.session, []).append(session.Part(name, summary))
for name, some in parts.items(): session.conclude(name, some, None, None)
print(time.perf_counter() - start)
"""


def corpora(folder: Path) -> Iterator[tuple[str, list[str]]]:
    yield "made", [str(path) for path in write_corpus(folder / "made", 60, 1_500_000)]
    if TRANSCRIPTS.is_dir():
        yield "real", sorted(str(path) for path in TRANSCRIPTS.rglob("*.jsonl"))


def bench_reading(folder: Path) -> bool:
    ok = True
    for label, names in corpora(folder):
        size = sum(Path(name).stat().st_size for name in names)
        parsing, process, distilling, importing = [], [], [], []
        for number in range(7):  # in turn, so that a busy minute is everybody's; the best of each is its cost
            parsing.append(inner(ORJSON, names, runs=1))
            distilling.append(inner(DISTILL, names, runs=1))
            process.append(outer([PYTHON, "-c", ORJSON, *names], runs=1))
            home = folder / f"{label}{number}"
            work = home / "work"
            work.mkdir(parents=True)
            command = [PYTHON, "-m", "holdfast", "import", "--json", *names]
            importing.append(outer(command, scratch_env(home), work, runs=1))
        ok &= report(f"read_and_distill_{label}", min(distilling) / min(parsing), "x orjson", 5, bytes=size)
        # The bound is over parsing alone, as it was set; against a whole process that parses is told beside it.
        best = min(importing)
        more = {"bytes": size, "seconds": round(best, 2), "x_orjson_process": round(best / min(process), 2)}
        ok &= report(f"whole_import_{label}", best / min(parsing), "x orjson", 8, **more)
    return ok


def bench_unchanged(folder: Path) -> bool:
    home, work = folder / "unchanged", folder / "unchanged" / "work"
    work.mkdir(parents=True)
    write_corpus(home / ".claude" / "projects" / "-work", 500, 20_000, cwd=str(work))
    command, env = [PYTHON, "-m", "holdfast", "import", "--json"], scratch_env(home)
    subprocess.run(command, env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
    return report("unchanged_import_of_500_files", outer(command, env, work, runs=5), "s", 0.5)


def bench_memory(folder: Path) -> bool:
    home, work = folder / "giant", folder / "giant" / "work"
    work.mkdir(parents=True)
    path = home / "giant.jsonl"
    write_giant(path, 2_000_000_000)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    start = time.perf_counter()
    command = [PYTHON, "-m", "holdfast", "import", "--json", str(path)]
    subprocess.run(command, env=scratch_env(home), cwd=work, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    size = path.stat().st_size
    path.unlink()
    return report(
        "peak_rss_of_2gb_transcript",
        peak,
        "MB",
        300,
        bytes=size,
        seconds=round(seconds),
        before=before / 1000,
    )
