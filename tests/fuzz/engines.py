"""Two engines that look for inputs which break a promise, guided by the code that an input reaches.

atheris (libFuzzer) where it is installed. Elsewhere a small one of our own: slower, with the same mutations and oracles.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.mutations import MOST_BYTES, mutate
from tests.fuzz.oracles import MOST_WAIT_S, Finding, Target, examine

PACKAGE = f"{os.sep}src{os.sep}holdfast{os.sep}"
CURRENT = "current"  # the input that is being examined, for a process that dies of it


class Findings:
    """Keeps the first input of each kind of finding, as it was found."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kinds: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / CURRENT, "wb") as file:
            file.truncate(MOST_BYTES + 8)
        with open(folder / CURRENT, "r+b") as file:
            self._current = mmap.mmap(file.fileno(), MOST_BYTES + 8)

    def examine(self, target: Target, data: bytes) -> Finding | None:
        self._current[:8] = len(data).to_bytes(8, "little")
        self._current[8 : 8 + len(data)] = data
        finding = examine(target, data, wait_s=MOST_WAIT_S)
        if finding is not None and finding.kind not in self._kinds:
            self._kinds.add(finding.kind)
            (self._folder / f"{name_of(finding)}.found").write_bytes(data)
        return finding


def name_of(finding: Finding) -> str:
    """The name of a finding's files: words of its kind, and a hash of it."""
    words = "".join(char if char.isascii() and char.isalnum() else "-" for char in finding.kind.lower())
    return f"{'-'.join(filter(None, words.split('-')))[:60]}-{sha256(finding.kind.encode()).hexdigest()[:6]}"


def current_input(folder: Path) -> bytes:
    raw = (folder / CURRENT).read_bytes()
    return raw[8 : 8 + int.from_bytes(raw[:8], "little")]


# --- atheris -------------------------------------------------------------------------------------------


def run_atheris(
    make: Callable[[], Target], seconds: int, findings: Findings, corpus: Path, seeds: list[bytes]
) -> None:
    """Does not return: libFuzzer ends the process. Its last lines on standard error have the figures."""
    import atheris

    target = make()
    corpus.mkdir(parents=True, exist_ok=True)
    inputs = [*target.seeds, *seeds]
    for seed in inputs:
        if len(seed) <= MOST_BYTES:
            (corpus / sha256(seed).hexdigest()[:16]).write_bytes(seed)

    def change(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.25:
            return bytes(atheris.Mutate(data, most))
        return mutate(data, random, target.words, inputs)[:most]

    options = [
        f"-max_total_time={seconds}",
        f"-max_len={MOST_BYTES}",
        "-print_final_stats=1",
        "-timeout=0",
        "-rss_limit_mb=3000",
    ]
    # An input that is kept by its size says nothing of ours: shorter is better only for people.
    options += ["-reduce_inputs=0", f"-artifact_prefix={corpus.parent}{os.sep}", str(corpus)]
    atheris.Setup(
        [sys.argv[0], *options],
        lambda data: findings.examine(target, data) and None,
        custom_mutator=change,
        internal_libfuzzer=True,
    )
    atheris.Fuzz()


# --- our own -------------------------------------------------------------------------------------------


class Reached:
    """The steps from one line of ours to the next that some input took."""

    def __init__(self, inside: str = PACKAGE) -> None:
        self._inside = inside
        self._ours: dict[CodeType, bool] = {}
        self.steps: set[tuple[CodeType, int, int]] = set()

    def __enter__(self) -> Reached:
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if (ours := self._ours.get(code)) is None:
            ours = self._ours[code] = self._inside in code.co_filename
        if not ours:
            return None
        last = 0

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "line":
                self.steps.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return line

        return line


def run_own(
    target: Target,
    findings: Findings,
    *,
    seconds: float = 0.0,
    runs: int = 0,
    seed: int = 1,
    seeds: list[bytes] | None = None,
    reached: Reached | None = None,
) -> tuple[int, int]:
    """Inputs examined and steps reached, after so many seconds or runs. An input that reaches more is kept."""
    random, reached = Random(seed), reached or Reached()
    corpus = [*target.seeds, *(seeds or [])]
    waiting, done, end = list(corpus), 0, time.monotonic() + seconds
    while (runs and done < runs) or (not runs and time.monotonic() < end):
        parents = corpus[-8:] if random.random() < 0.5 else corpus  # what reached more last leads on
        data = waiting.pop() if waiting else mutate(random.choice(parents), random, target.words, corpus)
        known = len(reached.steps)
        with reached:
            findings.examine(target, data)
        if len(reached.steps) > known and done >= len(target.seeds):
            corpus.append(data)
        done += 1
    return done, len(reached.steps)
