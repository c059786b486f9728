"""Merges new lessons into the existing ones: the same rule in other words is one rule with more evidence.

Has no side effects. An active lesson never gains a rule here: a new rule becomes a candidate under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.likeness import Likeness, compare
from holdfast.core.names import as_name
from holdfast.core.patterns import lazy_regex
from holdfast.guard.hidden_text import why_line_refused, why_target_refused
from holdfast.lessons.markdown import normal
from holdfast.model.lesson import PRESENT, Fingerprint, Lesson, LessonEvidence
from holdfast.store.denied import Denied
from holdfast.store.phrases import FORGOTTEN

Place = Literal["personal", "local", "candidates", "shared"]
Key = tuple[Place, str]  # the folder and the name of a lesson
MOST_RULES = 40
MOST_LINES = 8  # of evidence; for further sessions only the id is kept
LONGEST_RULE = 1_000
COMMAND_RULE = lazy_regex(r"([\w ]{2,12}): `([^`\n]+)`")
_SPAN = lazy_regex(r"`([^`\n]+)`")
_REFUSED = lazy_regex(r"\b(?:is|are) refused here\b.* by (?:a hook|configuration|the client)\b")
_FAILS = lazy_regex(
    r"\bfails?\b|\bdoes not exist\b|\bthere is no\b|\bis not (?:found|installed)\b"
    r"|\bneeds\b|\benforces\b|\bflaky\b|\btakes long\b"
)


def same_rule(rule: str, other: str) -> bool:
    """Whether two rules are one lesson. Rules about a call are compared by the call, others by their text."""
    cause, other_cause = _cause(rule), _cause(other)
    if cause or other_cause:
        return cause == other_cause
    return compare(rule, other).likeness is Likeness.SAME


def _cause(rule: str) -> tuple[str, ...]:
    if match := COMMAND_RULE.fullmatch(rule.strip()):
        return ("works", match[2])  # a rule that a command works differs from one that it fails
    failing = rule.partition("→")[0].rstrip()
    if _REFUSED.search(failing):
        return ("refused", failing)  # by the hook's message: one hook refuses a call for several reasons
    return ("fails", *_SPAN.findall(failing)) if _FAILS.search(failing) else ()


class Proposed(Struct, frozen=True, kw_only=True):
    """Names of lessons that are new or changed, the number of known rules, and the number of rejected lessons."""

    added: tuple[str, ...] = ()
    grown: tuple[str, ...] = ()
    known: int = 0
    rejected: int = 0


class Merge:
    """Merges new lessons into the project's lessons on this machine.

    Lessons in `elsewhere` are known, but not ours to change. `is_taught` tells whether sessions worded a rule: only
    such a rule may be reworded by sessions. `taken` has every rule in its current wording with the sessions that
    showed it, `reworded` the pairs of old and new wording.
    """

    def __init__(
        self,
        lessons: Mapping[Key, Lesson],
        elsewhere: Iterable[Lesson],
        is_rejected: Callable[[str], bool],
        is_taught: Callable[[str], bool],
    ) -> None:
        self.lessons = dict(lessons)
        self.taken: list[tuple[str, tuple[str, ...]]] = []
        self.reworded: list[tuple[str, str]] = []
        self._is_rejected, self._is_taught = is_rejected, is_taught
        self._added: dict[str, None] = {}
        self._grown: dict[str, None] = {}
        self._known_rules = self._rejected_lessons = 0
        self._rules: list[tuple[Key | None, str]] = [(None, rule) for one in elsewhere for rule in one.rules]
        self._rules += [(key, rule) for key, lesson in lessons.items() for rule in lesson.rules]
        self._exact = {rule: key for key, rule in self._rules}

    def add(self, lesson: Lesson) -> None:
        lesson = sound(lesson)
        wanted = [rule for rule in lesson.rules if not self._is_rejected(rule)]
        self._rejected_lessons += bool(lesson.rules) and not wanted
        self.taken += [(self._add_rule(lesson, rule), lesson.witnesses) for rule in wanted]

    def result(self) -> Proposed:
        return Proposed(
            added=tuple(self._added),
            grown=tuple(name for name in self._grown if name not in self._added),
            known=self._known_rules,
            rejected=self._rejected_lessons,
        )

    def _add_rule(self, lesson: Lesson, rule: str) -> str:
        """Add a rule with the lesson's evidence. Return its existing wording."""
        known_key, worded = self._find(rule)
        if worded and known_key is None:
            self._known_rules += 1
            return worded
        key: Key = known_key or ("candidates", lesson.name)
        if not worded:
            worded = rule
            self._rules.append((key, rule))
            self._exact[rule] = key
        place, name = key
        before = self.lessons.get(key)
        if before is not None and worded != rule and self._is_better(place, worded, rule, lesson):
            before = replace(
                before, rules=tuple(rule if existing == worded else existing for existing in before.rules)
            )
            self.reworded.append((worded, rule))
            self._rules = [
                (key, rule) if existing == worded else (owner, existing) for owner, existing in self._rules
            ]
            self._exact[rule] = key
            worded = rule
            self._grown[name] = None
        after = united(before, replace(lesson, name=name, rules=(worded,)))
        if before is None:
            self._added[name] = None
        elif after != before:
            self._grown[name] = None
        else:
            self._known_rules += 1
        self.lessons[key] = after
        return worded

    def _is_better(self, place: Place, worded: str, rule: str, lesson: Lesson) -> bool:
        """Whether sessions now show another remedy for a rule that sessions worded.

        In a candidate it replaces the old one at once, in an active lesson when several sessions showed it.
        """
        return "→" in rule and self._is_taught(worded) and (place == "candidates" or lesson.strong)

    def _find(self, rule: str) -> tuple[Key | None, str]:
        if rule in self._exact:
            return self._exact[rule], rule
        return next((entry for entry in self._rules if same_rule(entry[1], rule)), (None, ""))


def sound(lesson: Lesson) -> Lesson:
    """Return the lesson without lines that hide something, and without targets outside of the repository."""
    lesson = normal(lesson)
    refused = why_line_refused
    return normal(
        replace(
            lesson,
            description="" if refused(lesson.description) else lesson.description,
            rules=tuple(rule for rule in lesson.rules if len(rule) <= LONGEST_RULE and not refused(rule)),
            evidence=tuple(
                replace(item, line="") if refused(item.line) else item for item in lesson.evidence
            ),
            fingerprint=tuple(item for item in lesson.fingerprint if not why_target_refused(item.target)),
        )
    )


def allowed(lesson: Lesson, denied: Denied) -> Lesson:
    """Return the lesson without forgotten sessions and texts, under a valid file name."""
    evidence = tuple(item for item in lesson.evidence if item.session not in denied.sessions)
    rules: Iterable[str] = lesson.rules if evidence or not lesson.evidence else ()
    description = lesson.description
    if denied:
        rules = [
            rule for rule in rules if lesson.id not in denied.ids and FORGOTTEN not in denied.strip(rule)
        ]
        evidence = tuple(replace(item, line=denied.strip(item.line)) for item in evidence)
        description = denied.strip(description)
    return replace(
        lesson, name=as_name(lesson.name), description=description, rules=tuple(rules), evidence=evidence
    )


def united(known: Lesson | None, more: Lesson) -> Lesson:
    """Merge two lessons of one name: rules and evidence of both, the older first. Merging twice changes nothing."""
    if known is None:
        return replace(more, evidence=_evidence((), more.evidence))
    rules = tuple(dict.fromkeys((*known.rules, *more.rules)))[: max(MOST_RULES, len(known.rules))]
    moments = [at for at in (known.captured_at, more.captured_at) if at is not None]
    again = not set(known.sessions).issuperset(more.sessions)
    return replace(
        known,
        description=known.description or more.description,
        rules=rules,
        kind=more.kind if known.kind == "other" else known.kind,
        fingerprint=_fingerprint(known.fingerprint, more.fingerprint, again=again),
        captured_at=min(moments, default=None),
        evidence=_evidence(known.evidence, more.evidence),
        seldom=more.seldom,
    )


def _fingerprint(
    known: Sequence[Fingerprint], more: Sequence[Fingerprint], *, again: bool
) -> tuple[Fingerprint, ...]:
    """Merge fingerprints: if another session saw the rule `again`, its digests win; otherwise the first ones do."""
    digests = {item.target: item.digest for item in known}
    for item in more:
        before = digests.get(item.target, "")
        digests[item.target] = (item.digest or before) if again else (before or item.digest)
    return tuple(Fingerprint(target=target, digest=digest) for target, digest in digests.items())


def with_digests(lesson: Lesson, before: Lesson | None, digest_of: Callable[[str], str]) -> Lesson:
    """Return the lesson with current digests of its targets, if it is new or was seen again.

    A target that does not exist is dropped: it cannot show a change.
    """
    known = {item.target for item in before.fingerprint} if before else set()
    again = before is None or not set(before.sessions).issuperset(lesson.sessions)
    prints: list[Fingerprint] = []
    for item in lesson.fingerprint:
        if item.target in known and not again:
            prints.append(item)
        elif digest := digest_of(item.target):
            kept = PRESENT if item.digest == PRESENT else digest
            prints.append(Fingerprint(target=item.target, digest=kept))
    return replace(lesson, fingerprint=tuple(prints))


def _evidence(known: Sequence[LessonEvidence], more: Sequence[LessonEvidence]) -> tuple[LessonEvidence, ...]:
    """Return one item for each session, the first one; with a line only for the first few."""
    by_session = {item.session: item for item in reversed([*known, *more]) if item.session}
    ordered = dict.fromkeys(item.session for item in (*known, *more) if item.session)
    nameless = dict.fromkeys(item for item in (*known, *more) if not item.session and item.line)
    items = [by_session[session] for session in ordered]
    lines = [item for item in items if item.line or item.at is not None]
    bare = [
        LessonEvidence(session=item.session)
        for item in (*lines[MOST_LINES:], *items)
        if item not in lines[:MOST_LINES]
    ]
    return (*lines[:MOST_LINES], *list(nameless)[:MOST_LINES], *dict.fromkeys(bare))
