"""Where something forgotten is still held, by others or by choice of a person: named, never changed."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import HoldfastError
from holdfast.core.git import git_text
from holdfast.store.phrases import HEAD, Phrases, words_of_phrase
from holdfast.store.project import Project, worktrees

IN_GIT = (".holdfast/ledger.md", ".holdfast/lessons")
_SPECIAL = re.compile(r"[.\[\]{}()*+?^$|\\]")
_FEW = 2  # words that the ledger may hold apart from each other, as keywords


class Held(Struct, frozen=True):
    """A place, and what it is: the commits that hold it, or what kind of copy it is."""

    path: str
    commits: tuple[str, ...] = ()
    what: str = ""


class Pickaxe:
    """Sessions and texts, as git's history and other people's files are searched for them."""

    def __init__(self, sessions: Sequence[str], texts: Sequence[str]) -> None:
        self.sessions = sessions
        self.texts = texts

    @cached_property
    def _phrases(self) -> Phrases:
        return Phrases(self.texts)

    def in_data(self, data: bytes) -> bool:
        if any(session.encode() in data for session in self.sessions):
            return True
        return bool(self._phrases) and self.in_text(data.decode("utf-8", "replace"))

    def in_text(self, text: str) -> bool:
        return self._phrases.found_in(text)

    def searches(self) -> Iterator[list[str]]:
        """Arguments for `git log`. What is looked for is glued to its option: it may begin with a dash."""
        for session in self.sessions:
            yield [f"-S{session}"]
        for text in self.texts:
            words = [_SPECIAL.sub(r"\\\g<0>", word) for word in words_of_phrase(text)[:HEAD]]
            pattern = "[[:space:]]*".join(words)
            if len(words) == _FEW:
                pattern = f"{words[0]}.*{words[1]}|{words[1]}.*{words[0]}"
            yield ["--regexp-ignore-case", "--pickaxe-regex", f"-S{pattern}"]


def held_in_git(project: Project, needles: Pickaxe) -> list[Held]:
    """Commits of any branch that brought it in or took it out."""
    if not git_text(project.root, "rev-parse", "--git-dir"):
        return []
    found: list[Held] = []
    for path in IN_GIT:
        commits: dict[str, None] = {}
        for search in needles.searches():
            answer = git_text(project.root, "log", "--all", "--format=%h", *search, "--", path)
            commits.update(dict.fromkeys(answer.split()))
        if commits:
            found.append(Held(path, commits=tuple(commits)))
    return found


def held_elsewhere(home: Path, project: Project, needles: Pickaxe, transcripts: Iterable[Path]) -> list[Held]:
    found = [Held(str(path), what="transcript of the agent") for path in transcripts if path.exists()]
    for root in worktrees(project):
        ledger = root / ".holdfast" / "ledger.md"
        if not ledger.is_symlink() and needles.in_data(_data(ledger)):
            found.append(Held(str(ledger), what="another worktree's ledger"))
    for path in sorted((home / "backups").glob(f"{project.memory.name}-*.tar.gz")):
        if any(map(needles.in_data, _members(path))):
            found.append(Held(str(path), what="backup"))
    for path in sorted((home / "hosts").rglob("*")):
        if path.is_file() and needles.in_data(_data(path)):
            found.append(Held(str(path), what="backup of an agent's configuration"))
    for name in ("projects.json", "switches.json", "root", "name"):
        if needles.in_data(_data(project.memory / name)):
            found.append(Held(str(project.memory / name), what="names that holdfast needs"))
    return found


def _data(path: Path) -> bytes:
    try:
        return files.read(path) or b""
    except HoldfastError:
        return b""


def _members(path: Path) -> Iterator[bytes]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield file.read()
    except (OSError, tarfile.TarError, EOFError):
        return
