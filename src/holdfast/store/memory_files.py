"""The kinds of files in a memory: whether an export contains them, and how `forget` treats them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

CAPTURE = "capture.db"
HOLDOUT, HOLDOUT_KEY = "holdout.jsonl", "holdout.key"
# Bound to this machine: the switches of hooks, what hooks wrote, and the places that it belongs to.
MACHINE_FILES = (
    "root",
    "places",
    "origins.json",
    "format",
    "switches.json",
    "why.jsonl",
    "why.jsonl.1",
    "hook.log",
    "hook.log.1",
    HOLDOUT,
    HOLDOUT_KEY,
    "sync.json",
)

Treatment = Literal["keep", "remove", "injections", "errors", "log", "lesson", "markdown", "text"]


class FileKind(Struct, frozen=True):
    """`forget` names the treatment: `keep` and `remove` never look inside, the others edit the content."""

    pattern: str
    exported: bool
    forget: Treatment


# The first matching pattern counts. The last one matches files that a later version adds: exported and searched.
_KINDS = (
    FileKind(r"(?:inbox|locks)(?:/.*)?|root|places|origins\.json|format|switches\.json", False, "keep"),
    FileKind(re.escape(HOLDOUT_KEY), False, "keep"),
    # The journal of sync is edited by what forgets, entry by entry; a restored memory begins a new one.
    # The copy of a git remote is fetched again.
    FileKind(r"sync/git/.*", False, "remove"),
    FileKind(r"sync\.json|sync\.db(?:-journal)?|sync/.*", False, "keep"),
    FileKind(r"(?:why\.jsonl|holdout\.jsonl)(?:\.1)?", False, "injections"),
    FileKind(r"hook\.log(?:\.1)?", False, "errors"),
    FileKind(r"(?:resume|index)\.json|scan\.cache|(?:context|stamps)-[0-9a-f]{8}\.json", False, "remove"),
    FileKind(r"told\.db(?:-wal|-shm|-journal)?", False, "remove"),
    FileKind(r"index\.db(?:-wal|-shm|-journal)?|[^/]+\.(?:npy|vec)", False, "remove"),
    FileKind(r"capture\.db", True, "keep"),
    FileKind(r".*\.db(?:-wal|-shm|-journal)?|(?:.*/)?\.holdfast-.*\.tmp", False, "keep"),
    FileKind(r"hot\.words|.*(?:\.npy|\.vec|\.tmp|-wal|-shm|-journal)", False, "text"),
    # Names that the program depends on, and the lists that keep forgotten items out.
    FileKind(r"name|projects\.json|ledger\.md|(?:dismissed|denied)\.jsonl|history/.*", True, "keep"),
    FileKind(r"projects/[^/]+/(?:log|archive/(?:\d{4}-\d\d|undated))\.md", True, "log"),
    FileKind(r"lessons/(?:(?:_candidates/)?[^/\\]+\.md|choices\.json|record\.json)", True, "lesson"),
    FileKind(r"(?:.*/)?(?:current|style|reference|open-questions)\.md", True, "markdown"),
    FileKind(r"projects/[^/]+/decisions/[^/]+\.md", True, "markdown"),
    FileKind(r".*", True, "text"),
)


def kind_of(path: str) -> FileKind:
    """The kind of a file, given its path relative to the memory."""
    return next(kind for kind in _KINDS if re.fullmatch(kind.pattern, path, re.DOTALL))


def walk_memory(memory: Path) -> Iterator[tuple[Path, str]]:
    """Every file, folder and link of a memory in a stable order, with its relative path. Links are not followed."""
    for directory, folders, names in os.walk(memory):
        folders.sort()
        for name in sorted([*names, *folders]):
            path = Path(directory, name)
            yield path, path.relative_to(memory).as_posix()
