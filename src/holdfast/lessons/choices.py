"""What is kept beside the lessons, on this machine only: what a person chose, and what happened to each lesson.

`choices.json` keeps versions like every file that a person decides; `record.json` only counts, and may be lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.hashes import blake2b
from holdfast.lessons.proposals import same_rule
from holdfast.model.lesson import Fingerprint, Lesson
from holdfast.store.json_files import decode_json, encode_json

FORMAT = 1
CHOICES = "choices.json"
RECORD = "record.json"
_MOST_PAID = 200
_MOST_SESSIONS = 20  # whose keys are kept for a rule: more tell nothing new


class Rejected(Struct, frozen=True, kw_only=True):
    """Rules that a person does not want. Their words are kept, so that they do not come back in other words."""

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

    def rejects(self, rule: str) -> bool:
        """Whether a rule was rejected, in these or other words."""
        return any(known == rule or same_rule(known, rule) for known in self.rejected_rules())

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
        """A person wants these after all."""
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


class Payback(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often the agent saw a lesson, what that cost, and what came of it."""

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
    baseline: dict[str, dict[str, str]] = {}  # of lessons whose file has no digests: those of the first look
    registered: str = ""  # the commit whose history was searched for lists of files
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
        return replace(self, baseline={**self.baseline, **new})

    def seen_in(self, rule: str) -> int:
        """In how many sessions here; 0 for a rule that came another way, which is never promoted by itself."""
        return len(self.captured.get(rule_key(rule), ()))

    def capture(self, taught: Iterable[tuple[str, Iterable[str]]]) -> Record:
        captured = dict(self.captured)
        for rule, sessions in taught:
            key = rule_key(rule)
            known = captured.get(key, ())
            new = dict.fromkeys((*known, *map(_session_key, sessions)))
            captured[key] = tuple(new)[: max(_MOST_SESSIONS, len(known))]
        return replace(self, captured=captured)

    def reword(self, rules: Iterable[tuple[str, str]]) -> Record:
        """A rule in its new words is as old as in its former ones: who taught it, and when it was first shown."""
        captured, shown = dict(self.captured), dict(self.shown)
        for before, after in rules:
            old, new = rule_key(before), rule_key(after)
            if old in captured:
                captured.setdefault(new, captured[old])
            if old in shown:
                shown.setdefault(new, shown[old])
        return replace(self, captured=captured, shown=shown)

    def show(self, rules: Iterable[str], at: float) -> Record:
        new = {rule_key(rule): at for rule in rules}
        return replace(self, shown={**new, **self.shown})

    def shown_at(self, rule: str) -> float | None:
        return self.shown.get(rule_key(rule))

    def count(self, more: Mapping[str, Payback], session: str = "", until: str = "") -> Record:
        """`until` is when the last line was injected that counts here: what came before it does not count again."""
        if not more or (session and until <= self.paid_until(session)):
            return self
        counted = {name: self.payback.get(name, Payback()).plus(one) for name, one in more.items()}
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
    """An unreadable one counts as empty: counts are lost, and no lesson is promoted because of it."""
    try:
        return Record() if data is None else msgspec.json.decode(data, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Record()


def read_record(folder: Path) -> Record:
    return decode_record(files.read(folder / RECORD))


def encode_record(record: Record) -> bytes:
    return msgspec.json.encode(record, order="deterministic")
