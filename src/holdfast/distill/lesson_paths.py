"""Files that were looked for where they are not: the wait for them to turn up elsewhere."""

from __future__ import annotations

import re

from holdfast.distill.harvest_state import Gathered
from holdfast.distill.lesson_notes import note, wait
from holdfast.distill.lesson_remedies import same_file
from holdfast.distill.lesson_signs import line_of
from holdfast.distill.lesson_slips import path_slip
from holdfast.distill.shell_line import Simple, unquoted
from holdfast.text.late import late

LISTING, MOST_LINES = 4000, 60  # of an output that lists files
_MISSING = late(r"(?:File|Path|Directory) does not exist|does not exist\.|no such file", re.IGNORECASE)
_MISSING_PATH = late(r"(?:Path|File|Directory) does not exist: (\S+?)\.?(?:</|[\s,]|$)", re.MULTILINE)
_MEANT = late(r"Did you mean (\S+?)\?")
_TOO_LARGE = late(r"exceeds maximum allowed (?:tokens|size)")
_LISTED = late(r"[\w.@+/-]+/[\w.@+-]+")


def watch_file(state: Gathered, path: str, output: str, *, ok: bool | None, at: float | None) -> None:
    """Takes one file that was read, or was not where it was looked for."""
    if ok is False:
        _not_read(state, path, output[:300], at)
        return
    for slip in state.slips:
        if slip.part is None and same_file(slip.token, path):
            state.slips.remove(slip)
            note(state, slip, path)
            break


def _not_read(state: Gathered, path: str, output: str, at: float | None) -> None:
    if match := _TOO_LARGE.search(output):
        slip = path_slip(path, line_of(output, match.start()), at)
        if slip is not None:
            slip.cause, slip.settled = "large", True
    elif _MISSING.search(output):
        slip = path_slip(path, "no such file", at)
    else:
        return
    if slip is None:
        return
    meant = _MEANT.search(output)
    if meant and same_file(slip.token, found := _beside(slip.token, meant[1])):
        note(state, slip, found)
    else:
        wait(state, slip)


def watch_listing(state: Gathered, output: str, root: str = "") -> None:
    """Takes an output that may list files: one of them may be what was looked for elsewhere."""
    waiting = [slip for slip in state.slips if slip.part is None]
    if not waiting:
        return
    lines = output[:LISTING].splitlines()[:MOST_LINES]
    paths = [
        line.strip().removeprefix(root).removeprefix("./")
        for line in lines
        if _LISTED.fullmatch(line.strip())
    ]
    for slip in waiting:
        if found := next((path for path in paths if same_file(slip.token, path)), ""):
            state.slips.remove(slip)
            note(state, slip, found)


def missing_in(output: str) -> str:
    """The path that a search was told does not exist."""
    match = _MISSING_PATH.search(output[:400])
    return match[1] if match else ""


def _beside(path: str, name: str) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/{name}" if folder and "/" not in name else name


def paths_in(part: Simple) -> list[str]:
    words = (unquoted(word) for word in part.words[1:])
    paths = [
        word for word in words if ("/" in word or "." in word) and not word.startswith(("-", "/", "~", "$"))
    ]
    return [f"{part.directory}/{path}" if part.directory else path.removeprefix("./") for path in paths]
