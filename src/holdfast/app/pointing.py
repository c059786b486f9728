"""File pointers for a prompt: the sessions of this project as the ranking needs them, and only files that exist."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

from holdfast.app.postings import prompt_words, write_postings
from holdfast.app.wiring import Machine
from holdfast.guard.fence import wrap
from holdfast.guard.visible import has_hidden
from holdfast.hot.named import named_files
from holdfast.hot.pointer_text import fitting
from holdfast.hot.postings import Postings
from holdfast.hot.prompting import is_file
from holdfast.hot.ranking import rank
from holdfast.model.pointer import Pointer, PointerSession
from holdfast.model.session import DistilledSession
from holdfast.repo.cochange import changed_together
from holdfast.search.shell_reads import shell_reads
from holdfast.store.capture import CaptureStore
from holdfast.store.layout import Project

BUDGET = 200
LATEST = 1000  # sessions that are looked at: older ones weigh next to nothing
_LONGEST_PATH = 300
_WORKTREE = re.compile(r"^(?:.*/)?\.?(?:[\w.-]+/)?worktrees/[^/]+/")
_DRIVE = re.compile(r"(?:([A-Za-z]):|/([A-Za-z]))/")
_BREAKS = re.compile(r"[\n\r\t]")
_OWN = {".git", ".holdfast"}
# What a tool writes for itself says nothing of the repository.
_NOT_THE_WORK = re.compile(
    r"(^|/)(node_modules|\.git|\.holdfast|__pycache__|tmp)/|\.claude/(projects|plans)/"
)


def pointers_for(
    machine: Machine,
    project: Project,
    prompt: str,
    *,
    budget: int = BUDGET,
    now: float | None = None,
    earlier: Sequence[str] = (),
    touched: Collection[str] = (),
    said: Collection[str] = (),
    least: float = 0.0,
    session: str = "",
    branch: str = "",
) -> list[Pointer]:
    """Files of this repository that the work asked for is likely to touch, within `budget` tokens; [] when unsure.

    `earlier` are this session's prompts so far and `touched` its files; `said` was told before and is not told again.
    With `now` only sessions that had begun by then count; `least` is the smallest chance that is worth a line; `branch`
    is where the work is done.
    """
    known = [
        one for one in pointer_sessions(project) if one.session != session and (now is None or one.at <= now)
    ]
    root = project.root if is_checkout(project.root) else None
    top = None if root is None else os.path.realpath(root)
    db = sqlite3.connect("file::memory:", uri=True)
    try:
        write_postings(db, known, changed_together(root) if root else {})
        said_before = [prompt_words(one) for one in earlier]
        held_back = set(said)
        postings = Postings(db)
        named = named_files(postings, prompt, [top] if top else [])
        ranked = [
            one
            for one in rank(postings, prompt, said_before, touched, least, branch=branch, named=named)
            if one.path not in held_back and (top is None or is_file(top, one.path))
        ]
        taken = set(fitting([one.path for one in ranked], budget))
        return [
            Pointer(path=one.path, why=one.why, chance=one.chance, session=one.session)
            for one in ranked
            if one.path in taken
        ]
    finally:
        db.close()


def pointer_sessions(project: Project) -> list[PointerSession]:
    """The latest sessions as the ranking needs them."""
    none: list[DistilledSession] = []
    records = CaptureStore.glimpse(project.capture, lambda store: store.records(LATEST), none)
    return [pointer_session(record, project.root) for record in records]


def pointer_session(record: DistilledSession, root: Path) -> PointerSession:
    """A record as the ranking reads it, with the repository's own paths only."""
    edited: dict[str, None] = {}
    read: dict[str, None] = {}
    for touch in record.files:
        if path := repository_path(touch.path, record.cwd, root):
            (edited if touch.edits else read)[path] = None
    for shown in shell_reads(record.commands):
        if path := repository_path(shown, record.cwd, root):
            read[path] = None
    named = [
        (path, names) for file, names in record.named if (path := repository_path(file, record.cwd, root))
    ]
    return PointerSession(
        session=record.session,
        at=record.started or 0.0,
        prompts=record.prompts,
        answer=record.final_message,
        branch=record.branch,
        edited=tuple(edited),
        read=tuple(path for path in read if path not in edited),
        named=tuple(named),
    )


def repository_path(path: str, cwd: str, root: Path) -> str:
    """A path that a session in `cwd` recorded, as the repository has it; '' for what is outside or unfit to show.

    A session that was recorded elsewhere is read as if its directory were the root.
    """
    plain, here, top = _slashed(path), _slashed(cwd).rstrip("/"), _slashed(str(root)).rstrip("/")
    inner = _under(plain, top)
    if inner is None:
        inner = _under(plain, here)
        plain = plain if inner is None else inner
        below = _under(here, top)
        if below and "worktrees/" not in below and plain[:1] != "/":
            plain = f"{below}/{plain}"
    else:
        plain = inner
    plain = (_WORKTREE.sub("", plain) if "worktrees/" in plain else plain).removeprefix("./")
    parts = plain.split("/")
    if not plain or len(plain) > _LONGEST_PATH or plain[0] in "/~$" or ":" in parts[0] or "*" in plain:
        return ""
    if any(part in ("", ".", "..") for part in parts) or has_hidden(plain) or _BREAKS.search(plain):
        return ""
    return "" if _NOT_THE_WORK.search(plain) or _could_end_a_fence(plain) else plain


def _could_end_a_fence(path: str) -> bool:
    """A path is told as it is or not at all: made harmless it would name no file."""
    if path.isascii() and "holdfast" not in path.lower():
        return False
    return wrap([path], "000000").split("\n")[1:-1] != [path]


def _slashed(path: str) -> str:
    """One way to write a path: Windows' own and its shells' forms as `d:/x`."""
    plain = path.replace("\\", "/")
    drive = _DRIVE.match(plain)
    return f"{(drive[1] or drive[2]).lower()}:/{plain[drive.end() :]}" if drive else plain


def _under(path: str, folder: str) -> str | None:
    """What is left of a path inside a folder. Windows does not tell cases apart."""
    if not folder:
        return None
    start = folder + "/"
    same = path[: len(start)].lower() == start.lower() if folder[1:2] == ":" else path.startswith(start)
    return path[len(start) :] if same else None


def is_checkout(root: Path) -> bool:
    """Whether there are files to look for: sessions may have been imported into an empty folder."""
    try:
        with os.scandir(root) as entries:
            return any(entry.name not in _OWN for entry in entries)
    except OSError:
        return False
