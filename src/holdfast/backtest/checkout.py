"""A checkout as it was: a scratch repository that holds, at each moment, only the commits made before it.

It shares the objects of the real repository and has refs of its own, so nothing later can be reached from it, and the
real repository is not written.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from pathlib import Path

from holdfast.backtest.scratch import make, remove, write
from holdfast.core.git import run_git
from holdfast.core.git_history import branches_of, git_dir_of, own_emails
from holdfast.core.place import find_checkout

_SECONDS = 60.0
_MOST_BYTES = 64 << 20


class PastCheckout:
    """The work tree `root`, made from the repository of `real`. `at` moves it to a moment."""

    def __init__(self, real: Path, root: Path) -> None:
        self.root = root
        self._git_dir = git_dir_of(real)
        self._histories: dict[str, tuple[list[float], list[str]]] = {}
        self._now: tuple[str, str, str] | None = None
        self.is_there = self._git_dir is not None and self._made(real)

    def _made(self, real: Path) -> bool:
        checkout = find_checkout(os.fspath(real))
        assert self._git_dir is not None
        common = Path(checkout.common) if checkout else self._git_dir
        branches = branches_of(self._git_dir)
        if not branches.tips:
            return False
        self.default = branches.default or "main"
        local = {**branches.others, self.default: branches.tips[0]}
        self._tips = local
        make(self.root)
        of_format = run_git(
            self._git_dir, "rev-parse", "--show-object-format", seconds=_SECONDS, is_git_dir=True
        )
        kind = of_format.data.decode("ascii", "replace").strip() or "sha1"
        made = run_git(
            self.root, "init", "--quiet", "--template=", f"--object-format={kind}", seconds=_SECONDS
        )
        if not made.whole:
            return False
        git = self.root / ".git"
        shared = os.path.join(os.path.realpath(common), "objects")
        lines = {
            "objects/info/alternates": f"{shared}\n",
            # No filter runs, whatever the repository or the user configured: LFS would fetch.
            "info/attributes": "* -filter\n",
            "info/exclude": ".holdfast/\n",
        }
        for name, text in lines.items():
            write(git / name, text)
        for email in own_emails(real):
            run_git(self.root, "config", "--add", "user.email", email, seconds=_SECONDS)
        return True

    def at(self, moment: float, branch: str) -> bool:
        """Checks out what the branch held at a moment; the default branch where it is not known. True if that moved."""
        if not self.is_there:
            return False
        base = self._before(self.default, moment)
        tip = self._before(branch, moment) if branch in self._tips else base
        name = branch or self.default
        now = (name, tip or base, base)
        if now == self._now:
            return False
        self._now = now
        self._move(name, tip or base, base)
        return True

    def _before(self, branch: str, moment: float) -> str:
        """The last commit of a branch before a moment, by the dates of its first parents; '' if there is none."""
        if branch not in self._histories:
            assert self._git_dir is not None
            answer = run_git(
                self._git_dir, "rev-list", "--first-parent", "--timestamp", "--reverse", self._tips[branch],
                seconds=_SECONDS, most_bytes=_MOST_BYTES, is_git_dir=True,
            )  # fmt: skip
            times: list[float] = []
            commits: list[str] = []
            for line in answer.data.decode("ascii", "replace").splitlines():
                time, _, sha = line.partition(" ")
                # A clock may have been wrong: a commit is never older than its parent here.
                times.append(max(float(time or 0), times[-1] if times else 0.0))
                commits.append(sha)
            self._histories[branch] = times, commits
        times, commits = self._histories[branch]
        place = bisect_right(times, moment)
        return commits[place - 1] if place else ""

    def _move(self, branch: str, tip: str, base: str) -> None:
        heads = self.root / ".git" / "refs" / "heads"
        remove(heads)
        make(heads)
        for name, sha in {self.default: base, branch: tip}.items():
            if sha:
                run_git(self.root, "update-ref", f"refs/heads/{name}", sha, seconds=_SECONDS)
        run_git(self.root, "symbolic-ref", "HEAD", f"refs/heads/{branch}", seconds=_SECONDS)
        tree = tip or "--empty"
        if run_git(self.root, "read-tree", "--reset", "-u", tree, seconds=_SECONDS).whole:
            return
        # A partial clone lacks some old contents: the other files are checked out.
        self._run("read-tree", "--reset", tree)
        self._run("checkout-index", "--all", "--force", "--quiet")
        self._run("clean", "-ffdxq", "--exclude=.holdfast")

    def _run(self, *words: str) -> None:
        run_git(self.root, *words, seconds=_SECONDS)
