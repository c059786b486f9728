"""How long git's history takes to become memory: 20,000 commits, in multiples of the CPU time of `git log`."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from pathlib import Path

from bench.measuring import report

COMMITS = 20_000
NEW = 50
_START = 1_500_000_000
_AREAS = ["export", "feed", "kiosk", "rates", "crates", "yard", "labels", "payroll", "scheduler", "probe"]
_WORDS = [
    "carrier",
    "quote",
    "session",
    "badge",
    "ward",
    "crate",
    "parcel",
    "truck",
    "printer",
    "queue",
    "shift",
    "invoice",
    "gateway",
    "window",
    "token",
    "limit",
    "retry",
    "timeout",
    "schema",
    "index",
    "cursor",
    "batch",
    "worker",
    "label",
    "scanner",
    "depot",
    "route",
    "driver",
    "manifest",
    "pallet",
    "customs",
]
_SENTENCES = (
    "The {0} keeps every {1} for {n} seconds, because the {2} changes it on Mondays.",
    "Do not derive the {0} from the {1}; two of them collide on one {2}.",
    "At most {n} attempts: the {0} counts them against the contract of the {1}.",
    "Before this the {0} locked the whole {1}, which stopped the {2} for {n} minutes.",
    "A {0} without a {1} is refused instead of being guessed by the {2}.",
)
_READ = """
import resource, sys, time
from pathlib import Path
import msgspec
from holdfast.guard.redact import Redactor, cleaner
from holdfast.knowledge.commit_memory import CommitsRead, commit_sources
root, state = Path(sys.argv[1]), Path(sys.argv[2])
since = msgspec.json.decode(state.read_bytes(), type=CommitsRead) if state.exists() else None
start = time.process_time()
reading = commit_sources(root, since, clean=cleaner(Redactor()), user_emails=("a0@example.org",))
count = sum(1 for source in reading.sources())
children = resource.getrusage(resource.RUSAGE_CHILDREN)
took = time.process_time() - start + children.ru_utime + children.ru_stime
assert reading.is_whole and reading.state is not None
state.write_bytes(msgspec.json.encode(reading.state))
print(took, count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def history(commits: int, first: int = 0) -> str:
    """Input of `git fast-import`: subjects, bodies of several sentences, reverts, bots, and some without a body."""
    rng = random.Random(first)
    lines: list[str] = []
    for number in range(first, first + commits):
        area, count = rng.choice(_AREAS), rng.randint(0, 6)
        body = " ".join(
            rng.choice(_SENTENCES).format(*rng.sample(_WORDS, 3), n=rng.randint(2, 90)) for _ in range(count)
        )
        message = f"{area}: {' '.join(rng.sample(_WORDS, 4))} (#{number})\n\n{_wrapped(body)}\n"
        if number % 97 == 0:
            message = f'Revert "{area} {number}"\n\nReverts shop/shop#{number - rng.randint(1, 50)}\n'
        author = "renovate[bot]" if number % 11 == 0 else f"Author {number % 40}"
        who = f"{author} <a{number % 40}@example.org> {_START + 600 * number} +0000"
        lines.append(f"commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata {len(message)}\n{message}")
        if number == first and first:
            lines.append("from refs/heads/main^0\n")
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    import textwrap

    return textwrap.fill(text, 72)


def bench_commits(folder: Path) -> bool:
    """A whole reading, one of what is new, and one of nothing new; the best of three turns."""
    root = folder / "repository"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    _import(root, history(COMMITS))
    logs = [_log(root) for _ in range(3)]
    whole, new, same, peak, sources = [], [], [], 0.0, 0
    for turn in range(3):
        state = folder / f"state{turn}"
        took, sources, rss = _read(root, state)
        whole.append(took)
        peak = max(peak, rss)
        same.append(_read(root, state)[0])
        _import(root, history(NEW, COMMITS + turn * NEW))
        new.append(_read(root, state)[0])
        logs.append(_log(root))
    yard = min(logs)
    more = {"commits": COMMITS, "sources": sources, "git_log_s": round(yard, 3)}
    ok = report("commits_read", min(whole) / yard, "x git log CPU", 120, seconds=round(min(whole), 2), **more)
    ok &= report(
        "commits_new", min(new) / yard, "x git log CPU", 1, seconds=round(min(new), 3), new=NEW, **more
    )
    ok &= report(
        "commits_unchanged", min(same) / yard, "x git log CPU", 0.5, seconds=round(min(same), 3), **more
    )
    return ok & report("commits_rss", peak, "MB", 200)


def _import(root: Path, text: str) -> None:
    subprocess.run(["git", "-C", str(root), "fast-import", "--quiet"], input=text.encode(), check=True)


def _log(root: Path) -> float:
    start = _of_children()
    subprocess.run(
        ["git", "-C", str(root), "log", "--topo-order", "--format=%H%n%B"],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return _of_children() - start


def _of_children() -> float:
    """CPU seconds of all processes that ended: wall time would measure the neighbours."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(root: Path, state: Path) -> tuple[float, int, float]:
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(root), str(state)], capture_output=True, text=True, check=True
    )
    took, count, rss = done.stdout.split()
    return float(took), int(count), float(rss)


def main() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        bench_commits(Path(folder))


if __name__ == "__main__":
    main()
