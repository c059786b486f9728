"""Proves that two checkouts do the same: runs both over real histories and compares everything that comes out.

    scripts/goldens.py OLD NEW          paths of checkouts, or revisions of this repository
    scripts/goldens.py                  the baseline (4d89c62) and this working tree

For every history in ../shared/data/transcripts and for the bundled demonstration it makes a scratch project, then plays in
it: import, install, the hooks of seven hosts, the commands that read, the MCP server, and a sequence of changes by hand.
What came out (memory files, answers, texts) lies as text files in OUT/old and OUT/new. It knows nothing of the code but the
command line and files, so modules may be renamed at will. Both checkouts run at one pinned path (/tmp/holdfast-goldens), one
pinned clock (goldens_clock.c) and in one environment. OLD's outputs are kept in ~/.cache/holdfast-goldens for the next time.

Exit code: 0 equal, 1 different, 2 when it could not be compared.
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from goldens_histories import DEMO, History, histories, look_at
from goldens_hosts import HOSTS
from goldens_scenes import NEEDED, PARTS, Scope, run_history
from goldens_world import BASE, Fault, World, make_ready, put_code

# What may differ between two runs of the same code: an expression, what takes its place, and why. Names of files too.
MASKS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(r"(\[/?holdfast )[a-z0-9]{6}(?=[:\]])"),
        r"\1······",
        "the letters of a fence are random, so that no text can close it",
    ),
    (
        re.compile(r'("group":\s?")[0-9a-f]{10}(?=")'),
        r"\1·",
        "changes that go back together share a random name",
    ),
    (
        re.compile(r"(?<!\d)1[6-9]\d{8}(?!0{9})\d{9}(?!\d)(?::\d+)?"),
        "<mtime>",
        "file times, and inodes after them, are real; times that this script pinned are whole seconds and stay",
    ),
    (
        re.compile(r"\bfile:\d+:(?=<mtime>|\d{19})"),
        "file:·:",
        "a repository is known again by the inode of its id file",
    ),
    (
        re.compile(r"\bindex-[0-9a-f]{12}(?=\.vec)|(?<='generation' \| ')[0-9a-f]{12}(?=')"),
        "index-·",
        "each generation of the search index has a random name",
    ),
    (
        re.compile(r"(?<=\"mark\":\")[0-9a-f]{16}(?=\")|(?<='mark' \| ')[0-9a-f]{16}(?=')"),
        "·",
        "the two files of the search index are known as a pair by a random mark",
    ),
    (
        re.compile(r'(?<="\.holdfast/local/lessons":\[")[0-9a-f]{24}(?=")'),
        "·",
        "the search index knows lessons by a hash over their sizes and file times",
    ),
    (
        re.compile(r'(?<="stamp":")[0-9a-f]{24}(?=")'),
        "·",
        "`context` knows what a source looked at by a hash over file times; what it says stands beside it",
    ),
    (
        re.compile(r'\{"text":"[0-9a-f]{32}","words":(\d+),"key":"[0-9a-f]{32}"'),
        r'{"text":"·","words":\1,"key":"·"',
        "forgotten words are kept as a hash under a random key",
    ),
    (
        re.compile(r"(\.\d{19}-)\d+(?=\.json)"),
        r"\1·",
        "an envelope is named after the process of its hook",
    ),
    (
        re.compile(r"(\d{8}T\d{6}\.\d{3}-[a-h]?\d+-)[a-z]{4}\b"),
        r"\1····",
        "a machine's letters in its stamps are random",
    ),
    (
        re.compile(r'(?<="letters":")[a-z]{4}(?=")|(?<="inode":)\d+|(?<="system":")[0-9a-f]{16}(?=")'),
        "·",
        "a machine's letters are random, and known again by an inode and the system's id",
    ),
    (
        re.compile(r'("seconds": )[\d.]+'),
        r"\1·",
        "how long `index` took",
    ),
    (
        re.compile(r'("size": )\d+'),
        r"\1·",
        "an archive of files that hold random names and file times: its packed size varies by some bytes",
    ),
)

ROOT = Path(__file__).resolve().parents[1]
BASELINE = "4d89c62"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast-goldens"
KEPT_BASELINES = 6
QUICK = (DEMO, "claude-code/gmeligio-flutter-docker-image", "gemini-cli/entireio-cli")
MOST_FILES, MOST_LINES, MOST_SIGNS = 40, 6, 240


def masked(text: str) -> str:
    for pattern, instead, _ in MASKS:
        text = pattern.sub(instead, text)
    return text


# --- comparing -----------------------------------------------------------------------------------------------


def compared(old: Path, new: Path) -> list[tuple[str, list[str]]]:
    """The files that differ, each with its first differing lines."""
    before, after = _texts(old), _texts(new)
    found = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            found.append((name, _first_lines(before.get(name), after.get(name))))
    return found


def _texts(top: Path) -> dict[str, str]:
    paths = (path for path in top.rglob("*") if path.is_file())
    return {str(path.relative_to(top)): path.read_bytes().decode() for path in paths}


def _first_lines(old: str | None, new: str | None) -> list[str]:
    if old is None or new is None:
        return ["only in new" if old is None else "only in old"]
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), n=0, lineterm="")
    changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    left = len(changed) - MOST_LINES
    shown = changed[:MOST_LINES]
    return [_cut(line, shown) for line in shown] + ([f"… {left} lines more"] if left > 0 else [])


def _cut(line: str, shown: list[str]) -> str:
    """A long line around the place where it is no longer like one of the other side."""
    if len(line) <= MOST_SIGNS:
        return line
    others = [other[1:] for other in shown if other[0] != line[0]]
    alike = max((_alike(line[1:], other) for other in others), default=0)
    begin = max(1, alike - MOST_SIGNS // 3)
    return f"{line[0]}{'…' if begin > 1 else ''}{line[begin : begin + MOST_SIGNS]}…"


def _alike(one: str, other: str) -> int:
    """How many signs two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (here, there) in pairs if here != there), min(len(one), len(other)))


def summary(found: list[tuple[str, list[str]]], count: int) -> Iterator[str]:
    if not found:
        yield f"equal: {count} files"
        return
    yield f"different: {len(found)} of {count} files"
    for name, lines in found[:MOST_FILES]:
        yield name
        yield from (f"    {line}" for line in lines)
    if len(found) > MOST_FILES:
        yield f"… and {len(found) - MOST_FILES} files more"


# --- checkouts -----------------------------------------------------------------------------------------------


@contextmanager
def checkout(name: str) -> Iterator[Path]:
    """The folder of a checkout: the named one, or a revision of this repository, exported."""
    if (Path(name) / "src" / "holdfast").is_dir():
        yield Path(name).resolve()
        return
    asked = ["git", "-C", str(ROOT), "archive", name, "src", "pyproject.toml"]
    done = subprocess.run(asked, capture_output=True, check=False)
    if done.returncode:
        raise Fault(
            f"{name} is neither a checkout nor a revision here; where history is too shallow: git fetch --unshallow"
        )
    with tempfile.TemporaryDirectory(prefix="holdfast-goldens-") as folder:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder)


def digest_of(*parts: str | Path) -> str:
    """One name for texts, files, and the files below folders."""
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            whole.update(part.encode())
        else:
            for path in sorted(part.rglob("*")) if part.is_dir() else [part]:
                if path.is_file() and "__pycache__" not in path.parts:
                    whole.update(f"{path.relative_to(part.parent)}:".encode() + path.read_bytes())
        whole.update(b"\0")
    return whole.hexdigest()[:24]


# --- running -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What is to be run: histories, parts, and how many of them side by side."""

    histories: list[History]
    parts: list[str]
    captures: Path | None
    quick: bool
    jobs: int
    keep: bool

    def key(self, tree: Path, python: str) -> str:
        scripts = sorted(Path(__file__).parent.glob("goldens*"))
        sizes = [
            f"{path}:{path.stat().st_size}"
            for history in self.histories
            for path in sorted(history.source.rglob("*"))
            if path.is_file() and history.name != DEMO
        ]
        names = [f"{history.name}:{history.began}" for history in self.histories]
        return digest_of(
            tree / "src", *scripts, *names, *self.parts, *sizes, str(self.quick), python, str(BASE)
        )

    def scope(self, history: History) -> Scope:
        """All hosts in the demonstration, Claude Code and two others in each history: every host has some of them."""
        first, *others = [host.name for host in HOSTS]
        number = 2 * self.histories.index(history)
        some = [] if self.quick else [others[(number + offset) % len(others)] for offset in (0, 1)]
        whole = history.name == DEMO
        return Scope(
            whole=whole, hosts=frozenset([first, *(others if whole else some)]), captures=self.captures
        )


def run_all(plan: Plan, tree: Path, out: Path, title: str) -> None:
    """Everything of one checkout into a folder."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    put_code(tree)
    with ThreadPoolExecutor(plan.jobs) as pool:
        for done in [pool.submit(_run_one, plan, history, out, title) for history in plan.histories]:
            done.result()


def _run_one(plan: Plan, history: History, out: Path, title: str) -> None:
    world = World(history.name, history.title, history.began, out, masked)
    began = time.monotonic()
    told: list[tuple[str, float]] = []
    run_history(
        world,
        history,
        plan.parts,
        plan.scope(history),
        lambda part: told.append((part, time.monotonic() - began)),
    )
    ends = [at for _, at in told[1:]] + [time.monotonic() - began]
    parts = ", ".join(f"{part} {end - at:.0f}" for (part, at), end in zip(told, ends, strict=True))
    say(f"{title}: {history.name}: {time.monotonic() - began:.0f} s ({parts})")
    if not plan.keep:
        shutil.rmtree(world.base, ignore_errors=True)


def old_outputs(plan: Plan, tree: Path, out: Path, python: str, fresh: bool) -> None:
    """OLD's outputs, from the cache where they are there."""
    kept = CACHE / "baselines" / plan.key(tree, python)
    if kept.is_dir() and not fresh:
        say(f"old: taken from {kept}")
        os.utime(kept)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(kept, out)
        return
    run_all(plan, tree, out, "old")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(out, kept)
    older = sorted(kept.parent.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in older[KEPT_BASELINES:]:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def alone() -> Iterator[None]:
    """The pinned place is one: whoever comes second waits."""
    BASE.mkdir(parents=True, exist_ok=True)
    with (BASE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another run holds {BASE}; waiting for it (HOLDFAST_GOLDENS_BASE names another place)")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# --- the command line ----------------------------------------------------------------------------------------


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", nargs="?", default=BASELINE, help=f"a checkout or a revision ({BASELINE})")
    parser.add_argument("new", nargs="?", default=str(ROOT), help="the same (this working tree)")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="parts, or words of histories' names"
    )
    parser.add_argument("--quick", action="store_true", help="the demonstration and two small histories")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="histories side by side (1)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has all packages")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="../shared/data")
    parser.add_argument("--out", type=Path, default=CACHE / "out", help="where old/ and new/ go")
    parser.add_argument(
        "--keep", action="store_true", help="leave scratch projects and outputs where they are"
    )
    parser.add_argument("--fresh", action="store_true", help="run OLD again, whatever is in the cache")
    return parser.parse_args(arguments)


def planned(options: argparse.Namespace, tree: Path) -> Plan:
    """What the options ask for."""
    transcripts = options.data / "transcripts"
    known = list(histories(transcripts if transcripts.is_dir() else None, tree))
    if len(known) == 1:
        say(f"no histories in {transcripts}: the demonstration alone")
    parts = [name for name in options.only if name in PARTS]
    words = [name for name in options.only if name not in PARTS]
    for word in words:
        if not any(word in name for name, _, _ in known):
            raise Fault(
                f"--only {word}: neither a part ({', '.join(PARTS)}) nor a history ({', '.join(n for n, _, _ in known)})"
            )

    def wanted(name: str) -> bool:
        return (not options.quick or name in QUICK) and (not words or any(word in name for word in words))

    captures = options.data / "captures"
    return Plan(
        histories=[look_at(*one) for one in known if wanted(one[0])],
        parts=[name for name in PARTS if not parts or name in parts or name in NEEDED],
        captures=captures if captures.is_dir() else None,
        quick=options.quick,
        jobs=max(1, options.jobs),
        keep=options.keep,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    began = time.monotonic()
    try:
        with checkout(options.old) as old, checkout(options.new) as new, alone():
            plan = planned(options, old)
            make_ready(options.python, Path(__file__).with_name("goldens_clock.c"))
            old_outputs(plan, old, options.out / "old", options.python, options.fresh)
            run_all(plan, new, options.out / "new", "new")
            found = compared(options.out / "old", options.out / "new")
    except Fault as fault:
        say(f"goldens: {fault}")
        return 2
    count = sum(path.is_file() for path in (options.out / "old").rglob("*"))
    print("\n".join(summary(found, count)))
    say(f"{time.monotonic() - began:.0f} s")
    if found or options.keep:
        say(f"outputs in {options.out}/old and {options.out}/new")
    else:
        for side in ("old", "new"):
            shutil.rmtree(options.out / side, ignore_errors=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
