"""Where something that is gone went: by what git knows of renames, else by a new file of the same content."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator

SECONDS = 5.0
MOST_BYTES = 4_000_000
MOST_STEPS = 5
MOST_CANDIDATES = 200


class Renames:
    """The renames of one repository, asked for when first needed and remembered for one check."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._pending: list[tuple[str, str]] | None = None
        self._untracked: list[str] | None = None

    def followed(self, path: str, is_folder: bool, fits: Callable[[str], bool]) -> str:
        """The path it has now, or ''. `fits` tells whether a new file has the content that was there."""
        if not os.path.lexists(os.path.join(self.root, ".git")):
            return ""
        start = path
        for _ in range(MOST_STEPS):
            path = self._one_step(path, is_folder)
            if not path:
                break
            if os.path.lexists(os.path.join(self.root, path)):
                return path
        return "" if is_folder else next(filter(fits, self._new_files_like(start)), "")

    def _one_step(self, path: str, is_folder: bool) -> str:
        if self._pending is None:
            self._pending = list(self._renames("diff", "HEAD"))
        found = _target_of(path, is_folder, self._pending)
        if found:
            return found
        # The last commit in which it was deleted, or moved away: without -M a move is a deletion and an addition.
        last = self._git(
            "log", "-1", "--format=%H", "--no-renames", "--diff-filter=D", "HEAD", "--", f":(literal){path}"
        )
        commit = last.decode("ascii", "replace").strip()
        return (
            _target_of(
                path, is_folder, list(self._renames("show", "--format=", "-m", "--first-parent", commit))
            )
            if commit
            else ""
        )

    def _renames(self, command: str, *words: str) -> Iterator[tuple[str, str]]:
        options = (
            "--no-ext-diff",
            "--no-textconv",
            "-z",
            "--name-status",
            "--find-renames=50%",
            "--diff-filter=R",
        )
        parts = iter(os.fsdecode(self._git(command, *options, *words)).split("\0"))
        for status in parts:
            if status.strip()[:1] == "R":
                old, new = next(parts, ""), next(parts, "")
                if old and new:
                    yield old, new

    def _new_files_like(self, path: str) -> Iterator[str]:
        """Files that git does not know yet, those of the same name first."""
        if self._untracked is None:
            listing = self._git("ls-files", "--others", "--exclude-standard", "-z")
            self._untracked = [os.fsdecode(name) for name in listing.split(b"\0")[:-1]]
        name, ending = os.path.basename(path), os.path.splitext(path)[1]
        alike = [other for other in self._untracked if os.path.splitext(other)[1] == ending]
        yield from sorted(alike, key=lambda other: os.path.basename(other) != name)[:MOST_CANDIDATES]

    def _git(self, *words: str) -> bytes:
        # A repository may be anyone's: nothing that its configuration names is run.
        command = [
            "git",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.quotePath=false",
        ]
        environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
        import subprocess

        nothing = subprocess.DEVNULL
        try:
            done = subprocess.run(
                [*command, *words],
                cwd=self.root,
                env=environment,
                stdin=nothing,
                stdout=subprocess.PIPE,
                stderr=nothing,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError, ValueError):
            return b""
        return done.stdout[:MOST_BYTES] if done.returncode == 0 else b""


def _target_of(path: str, is_folder: bool, renames: list[tuple[str, str]]) -> str:
    if not is_folder:
        return next((new for old, new in renames if old == path), "")
    # A folder went where most of its files went, under their own names.
    went: Counter[str] = Counter()
    for old, new in renames:
        if old.startswith(path + "/"):
            tail = old[len(path) :]
            if new.endswith(tail) and len(new) > len(tail):
                went[new[: -len(tail)]] += 1
    return went.most_common(1)[0][0] if went else ""
