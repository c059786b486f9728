"""Forgetting in lessons: this project's, with what was chosen of them; shared ones, and this user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.store import files
from holdfast.store.layout import Project
from holdfast.store.lesson_notes import (
    CHOICES,
    RECORD,
    Choices,
    Rejected,
    decode_choices,
    decode_record,
    encode_choices,
    encode_record,
)
from holdfast.store.memory import is_lesson
from holdfast.store.trust import Trust
from holdfast.store.versions import Versions
from holdfast.text.lesson_forgetting import forget_in_lesson, names_it
from holdfast.text.removal import Removal


class _Elsewhere(Struct, frozen=True):
    """A lesson outside the project's memory."""

    path: Path
    shown: str
    lock: Path


class LessonForgetting:
    def __init__(self, project: Project, removal: Removal) -> None:
        self.project = project
        self.removal = removal
        self._home = project.memory.parent.parent

    def is_mine(self, shown: str) -> bool:
        return is_lesson(shown) or shown == f"lessons/{RECORD}"

    def edit(self, shown: str, data: bytes) -> bytes:
        """A lesson, or what was chosen, without what is forgotten; nothing when nothing is left."""
        if shown.endswith(CHOICES):
            return self._choices(data)
        if shown.endswith(RECORD):
            return self._record(data)
        text = data.decode("utf-8", "surrogateescape")
        left = forget_in_lesson(text, self.removal, Path(shown).name.removesuffix(".md"))
        return left.encode("utf-8", "surrogateescape")

    def version(self, shown: str, data: bytes) -> bytes | None:
        """A kept version without it; None for one of which nothing is left."""
        return self.edit(shown, data) or None

    def _choices(self, data: bytes) -> bytes:
        choices = decode_choices(data, Path(CHOICES))
        kept = tuple(some for one in choices.rejected if (some := self._rejected(one)).rules)
        muted = {name: until for name, until in choices.muted.items() if not names_it(name, self.removal)}
        left = replace(choices, rejected=kept, muted=muted)
        if left == choices:
            return data
        self.removal.hits += max(_said(choices) - _said(left), 1)
        return encode_choices(left) or b""

    def _record(self, data: bytes) -> bytes:
        """Names of lessons are the only words in it."""
        record = decode_record(data)
        payback = {name: one for name, one in record.payback.items() if not names_it(name, self.removal)}
        if payback == record.payback:
            return data
        self.removal.hits += len(record.payback) - len(payback)
        return encode_record(replace(record, payback=payback))

    def _rejected(self, one: Rejected) -> Rejected:
        sessions = tuple(name for name in one.sessions if name not in self.removal.sessions)
        only = (bool(one.sessions) and not sessions) or names_it(one.name, self.removal)
        rules = () if only else tuple(rule for rule in one.rules if not self.removal.phrases.found_in(rule))
        return replace(one, rules=rules, sessions=sessions)

    # --- outside the memory ----------------------------------------------------------------------------

    def count(self, found: Callable[[str, int], None]) -> None:
        for place in self._elsewhere():
            data = files.read(place.path)
            if data is not None:
                found(place.shown, self._counted(place.path, data)[1])
        versions = self._versions()
        kept = versions.contents(versions.changes())
        found("~/.holdfast/lessons/.history", sum(self.version(file, data) != data for _, file, data in kept))

    def apply(self, found: Callable[[str, int], None], at: float) -> None:
        trust = Trust(self._home, self.project)
        gone = {name for name in trust.names() if names_it(name, self.removal)}
        for place in self._elsewhere():
            with files.lock(place.lock) as held:
                before = files.read(place.path)
                if before is None:
                    continue
                after, number = self._counted(place.path, before)
                if after:
                    if after != before:
                        files.replace_held(held, place.path, after, files.digest(before))
                else:
                    place.path.unlink(missing_ok=True)
            found(place.shown, number)
            name = place.path.name.removesuffix(".md")
            if not place.shown.startswith(".holdfast/"):
                continue
            given = trust.given(name, before)
            if given is not None and after:  # what is left of it was agreed to with the rest
                trust.give({name: after}, at, given.by)
            elif not after:
                gone.add(name)
        if not gone.isdisjoint(trust.names()):
            trust.revoke(gone)
        if self._versions().directory.is_dir():
            with files.lock(self._home / "locks" / "lessons.lock") as held:
                found("~/.holdfast/lessons/.history", self._versions().rewrite(held, self.version))

    def _counted(self, path: Path, data: bytes) -> tuple[bytes, int]:
        return self.removal.counted(lambda raw: self.edit(path.name, raw), data)

    def _elsewhere(self) -> Iterator[_Elsewhere]:
        personal, shared = self._home / "lessons", self.project.window / "lessons"
        yield from _lessons(personal, "~/.holdfast/lessons", self._home / "locks" / "lessons.lock")
        if not self.project.window.is_symlink() and shared != personal:
            yield from _lessons(shared, ".holdfast/lessons", self.project.lock("lessons-shared"))

    def _versions(self) -> Versions:
        return Versions(self._home / "lessons" / ".history")


def _said(choices: Choices) -> int:
    return sum(len(one.rules) for one in choices.rejected) + len(choices.muted)


def _lessons(folder: Path, shown: str, lock: Path) -> Iterator[_Elsewhere]:
    """A link is never followed: what it leads to is not ours."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in sorted(folder.glob("*.md")):
        if path.is_file() and not path.is_symlink():
            yield _Elsewhere(path, f"{shown}/{path.name}", lock)
