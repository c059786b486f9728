"""What is kept beside the lessons, on this machine only: what a person chose, and what happened to each lesson.

`choices.json` keeps versions like every file a person decides over; `record.json` only counts, and may be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.hashes import blake2b
from holdfast.lessons.markdown import forget_in_lesson, names_it
from holdfast.model.lesson import Fingerprint, Lesson
from holdfast.store.json_files import decode_json, encode_json
from holdfast.store.project import Project
from holdfast.store.removal import Removal
from holdfast.store.sections import decode_text, encode_text
from holdfast.store.trust import Trust
from holdfast.store.versions import Versions

FORMAT = 1
CHOICES = "choices.json"
RECORD = "record.json"
_MOST_PAID = 200
_MOST_SESSIONS = 20  # whose keys are kept for a rule: more tell nothing new


class Rejected(Struct, frozen=True, kw_only=True):
    """Rules that somebody does not want; their words are kept, so that they do not come back in other words."""

    name: str
    rules: tuple[str, ...]
    at: float
    sessions: tuple[str, ...] = ()


class Choices(Struct, frozen=True, kw_only=True):
    """`muted` has the moment at which a lesson may speak again, None for never; `shared` what was put into git."""

    format: int = FORMAT
    muted: dict[str, float | None] = {}
    rejected: tuple[Rejected, ...] = ()
    shared: tuple[str, ...] = ()

    def is_muted(self, name: str, now: float) -> bool:
        return name in self.muted and ((until := self.muted[name]) is None or until > now)

    def rejected_rules(self) -> list[str]:
        return [rule for one in self.rejected for rule in one.rules]

    def mute(self, name: str, until: float | None) -> Choices:
        return replace(self, muted={**self.muted, name: until})

    def unmute(self, name: str) -> Choices:
        return replace(self, muted={key: until for key, until in self.muted.items() if key != name})

    def share(self, name: str) -> Choices:
        return replace(self, shared=tuple(sorted({*self.shared, name})))

    def unshare(self, name: str) -> Choices:
        return replace(self, shared=tuple(known for known in self.shared if known != name))

    def reject(self, lesson: Lesson, at: float) -> Choices:
        new = Rejected(name=lesson.name, rules=lesson.rules, at=at, sessions=lesson.sessions)
        return replace(self.unmute(lesson.name), rejected=(*self.rejected, new))

    def readmit(self, rules: Iterable[str]) -> Choices:
        """Somebody wants these after all."""
        wanted = set(rules)
        left = (
            replace(one, rules=tuple(rule for rule in one.rules if rule not in wanted))
            for one in self.rejected
        )
        return replace(self, rejected=tuple(one for one in left if one.rules))


def decode_choices(data: bytes | None, path: Path) -> Choices:
    fix = "Correct it, or take an older one: holdfast history lessons/choices.json"
    return decode_json(data, Choices, path, fix)


def encode_choices(choices: Choices) -> bytes | None:
    if choices == Choices(format=choices.format):
        return None
    return encode_json(choices)


# --- what happened -------------------------------------------------------------------------------------


class Payback(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often a lesson was told, what that cost, and what came of it."""

    injected: int = 0
    tokens: int = 0
    used: int = 0
    contradicted: int = 0
    last: float | None = None

    def plus(self, more: Payback) -> Payback:
        moments = [at for at in (self.last, more.last) if at is not None]
        return Payback(
            injected=self.injected + more.injected,
            tokens=self.tokens + more.tokens,
            used=self.used + more.used,
            contradicted=self.contradicted + more.contradicted,
            last=max(moments, default=None),
        )


class Record(Struct, frozen=True, kw_only=True):
    """By rule: the sessions on this machine that taught it (as keys), and when a person was first shown it."""

    format: int = FORMAT
    captured: dict[str, tuple[str, ...]] = {}
    shown: dict[str, float] = {}
    payback: dict[str, Payback] = {}
    baseline: dict[
        str, dict[str, str]
    ] = {}  # of lessons whose file has no digests: as it was at the first look
    registered: str = ""  # the commit whose history was asked where new files are registered
    paid: dict[str, str] = {}  # sessions whose payback is counted, and until when

    def against(self, lesson: Lesson) -> tuple[Fingerprint, ...]:
        """What a lesson depends on, with the digest that it is held against."""
        first = self.baseline.get(lesson.id, {})
        return tuple(
            item if item.digest else replace(item, digest=first.get(rule_key(item.target), ""))
            for item in lesson.fingerprint
        )

    def look(self, found: Mapping[str, Mapping[str, str]]) -> Record:
        """Keeps what was found at a first look, by lesson and target."""
        keyed = {
            name: {rule_key(target): digest for target, digest in one.items()} for name, one in found.items()
        }
        new = {name: {**digests, **self.baseline.get(name, {})} for name, digests in keyed.items()}
        baseline = {**self.baseline, **new}
        return self if baseline == self.baseline else replace(self, baseline=baseline)

    def seen_in(self, rule: str) -> int:
        """In how many sessions here; 0 for a rule that came by any other way, and is not promoted unasked."""
        return len(self.captured.get(rule_key(rule), ()))

    def capture(self, taught: Iterable[tuple[str, Iterable[str]]]) -> Record:
        captured = dict(self.captured)
        for rule, sessions in taught:
            key = rule_key(rule)
            known = captured.get(key, ())
            new = dict.fromkeys((*known, *(rule_key(session)[:12] for session in sessions)))
            captured[key] = tuple(new)[: max(_MOST_SESSIONS, len(known))]
        return self if captured == self.captured else replace(self, captured=captured)

    def reword(self, rules: Iterable[tuple[str, str]]) -> Record:
        """A rule in its new words is as old as in its former ones: who taught it, and when it was first shown."""
        captured, shown = dict(self.captured), dict(self.shown)
        for before, after in rules:
            old, new = rule_key(before), rule_key(after)
            if old in captured:
                captured.setdefault(new, captured[old])
            if old in shown:
                shown.setdefault(new, shown[old])
        same = captured == self.captured and shown == self.shown
        return self if same else replace(self, captured=captured, shown=shown)

    def show(self, rules: Iterable[str], at: float) -> Record:
        new = {key: at for rule in rules if (key := rule_key(rule)) not in self.shown}
        return replace(self, shown={**self.shown, **new}) if new else self

    def shown_at(self, rule: str) -> float | None:
        return self.shown.get(rule_key(rule))

    def count(self, more: Mapping[str, Payback], session: str = "", until: str = "") -> Record:
        """`until` is when the last line was told that is counted here; what was told before is not counted again."""
        if session and until <= self.paid_until(session):
            return self
        counted = {name: self.payback.get(name, Payback()).plus(one) for name, one in more.items()}
        if not counted:
            return self
        paid = {key: at for key, at in self.paid.items() if key != _session_key(session)}
        if session:
            paid[_session_key(session)] = until
        latest = dict(list(paid.items())[-_MOST_PAID:])
        return replace(self, payback={**self.payback, **counted}, paid=latest)

    def paid_until(self, session: str) -> str:
        return self.paid.get(_session_key(session), "")


def _session_key(session: str) -> str:
    return rule_key(session)[:12]


def rule_key(rule: str) -> str:
    """A text as a record names it, which keeps no words."""
    return blake2b(rule.encode("utf-8", "replace"), digest_size=16).hexdigest()


def decode_record(data: bytes | None) -> Record:
    """One that cannot be read is begun anew: it costs counts, and no lesson is promoted because of it."""
    try:
        return Record() if data is None else msgspec.json.decode(data, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Record()


def read_record(folder: Path) -> Record:
    return decode_record(files.read(folder / RECORD))


def encode_record(record: Record) -> bytes:
    return msgspec.json.encode(record, order="deterministic")


# Forgetting in lessons: this project's, with what was chosen of them; shared ones, and this user's own.


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

    def edit(self, shown: str, data: bytes) -> bytes:
        """A lesson, or what was chosen, without what is forgotten; nothing when nothing is left."""
        if shown.endswith(CHOICES):
            return self._choices(data)
        if shown.endswith(RECORD):
            return self._record(data)
        text = decode_text(data)
        left = forget_in_lesson(text, self.removal, Path(shown).name.removesuffix(".md"))
        return encode_text(left)

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
