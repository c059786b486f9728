"""A person's choices about lessons, and the statistics of each lesson. Both stay on this machine.

`choices.json` is versioned like every file with a person's decisions; `record.json` holds counts, and may be lost.
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
MOST_SESSIONS = 20  # keys kept for a rule: more add nothing


class Rejected(Struct, frozen=True, kw_only=True):
    """Rules that a person rejected. Their text is kept, so that they do not come back in other words."""

    name: str
    rules: tuple[str, ...]
    at: float
    sessions: tuple[str, ...] = ()


class Choices(Struct, frozen=True, kw_only=True):
    """`muted` maps a lesson to the end of its mute, None for never; `shared` lists the lessons that are in git."""

    format: int = FORMAT
    muted: dict[str, float | None] = {}
    rejected: tuple[Rejected, ...] = ()
    shared: tuple[str, ...] = ()

    def is_muted(self, name: str, now: float) -> bool:
        return name in self.muted and ((until := self.muted[name]) is None or until > now)

    def rejected_rules(self) -> list[str]:
        return [rule for rejected in self.rejected for rule in rejected.rules]

    def rejects(self, rule: str) -> bool:
        """Whether a rule was rejected, in the same or in other words."""
        return any(
            rejected_rule == rule or same_rule(rejected_rule, rule) for rejected_rule in self.rejected_rules()
        )

    def mute(self, name: str, until: float | None) -> Choices:
        return replace(self, muted={**self.muted, name: until})

    def unmute(self, name: str) -> Choices:
        return replace(self, muted={key: until for key, until in self.muted.items() if key != name})

    def share(self, name: str) -> Choices:
        return replace(self, shared=tuple(sorted({*self.shared, name})))

    def unshare(self, name: str) -> Choices:
        return replace(self, shared=tuple(shared_name for shared_name in self.shared if shared_name != name))

    def reject(self, lesson: Lesson, at: float) -> Choices:
        new = Rejected(name=lesson.name, rules=lesson.rules, at=at, sessions=lesson.sessions)
        return replace(self.unmute(lesson.name), rejected=(*self.rejected, new))

    def readmit(self, rules: Iterable[str]) -> Choices:
        """Remove these rules from the rejected ones."""
        wanted = set(rules)
        remaining = (
            replace(rejected, rules=tuple(rule for rule in rejected.rules if rule not in wanted))
            for rejected in self.rejected
        )
        return replace(self, rejected=tuple(rejected for rejected in remaining if rejected.rules))


def decode_choices(data: bytes | None, path: Path) -> Choices:
    fix = "Correct it, or take an older one: holdfast history lessons/choices.json"
    return decode_json(data, Choices, path, fix)


def encode_choices(choices: Choices) -> bytes | None:
    if choices == Choices(format=choices.format):
        return None
    return encode_json(choices)


class Payback(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often the agent saw a lesson, how many tokens that cost, and how often it was used or contradicted."""

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
    """By rule: the sessions on this machine that taught it (as keys), and when a person first saw it."""

    format: int = FORMAT
    captured: dict[str, tuple[str, ...]] = {}
    shown: dict[str, float] = {}
    payback: dict[str, Payback] = {}
    baseline: dict[str, dict[str, str]] = {}  # digests at the first check, for lessons whose file has none
    registered: str = ""  # the commit whose history was searched for lists of files
    paid: dict[str, str] = {}  # sessions whose payback is counted -> until when

    def against(self, lesson: Lesson) -> tuple[Fingerprint, ...]:
        """Return the fingerprint of a lesson, with the digests to compare against."""
        first = self.baseline.get(lesson.id, {})
        return tuple(
            item if item.digest else replace(item, digest=first.get(rule_key(item.target), ""))
            for item in lesson.fingerprint
        )

    def look(self, found: Mapping[str, Mapping[str, str]]) -> Record:
        """Record the digests found at the first check, by lesson and target."""
        keyed = {
            name: {rule_key(target): digest for target, digest in targets.items()}
            for name, targets in found.items()
        }
        new = {name: {**digests, **self.baseline.get(name, {})} for name, digests in keyed.items()}
        return replace(self, baseline={**self.baseline, **new})

    def seen_in(self, rule: str) -> int:
        """Count the sessions on this machine that taught a rule; 0 for other rules, which are not promoted."""
        return len(self.captured.get(rule_key(rule), ()))

    def capture(self, taught: Iterable[tuple[str, Iterable[str]]]) -> Record:
        captured = dict(self.captured)
        for rule, sessions in taught:
            key = rule_key(rule)
            earlier = captured.get(key, ())
            new = dict.fromkeys((*earlier, *map(_session_key, sessions)))
            captured[key] = tuple(new)[: max(MOST_SESSIONS, len(earlier))]
        return replace(self, captured=captured)

    def reword(self, rules: Iterable[tuple[str, str]]) -> Record:
        """Carry the sessions and the first display of a rule over to its new wording."""
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
        """Add paybacks. `until` is the time of the last counted injection: earlier ones do not count again."""
        if not more or (session and until <= self.paid_until(session)):
            return self
        counted = {name: self.payback.get(name, Payback()).plus(payback) for name, payback in more.items()}
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
    """Hash a text: the record holds no words."""
    return blake2b(rule.encode("utf-8", "replace"), digest_size=16).hexdigest()


def decode_record(data: bytes | None) -> Record:
    """Decode a record. An unreadable one counts as empty: counts are lost, and no lesson is promoted because of it."""
    try:
        return Record() if data is None else msgspec.json.decode(data, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Record()


def read_record(folder: Path) -> Record:
    return decode_record(files.read(folder / RECORD))


def encode_record(record: Record) -> bytes:
    return msgspec.json.encode(record, order="deterministic")
