"""What new lessons add to those that are there: the same rule in other words is one rule with more evidence.

Pure. Nobody's active lesson gains a rule here: what is new becomes a candidate, under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.names import as_name
from holdfast.guard.hidden_text import why_line_refused, why_target_refused
from holdfast.lessons.markdown import normal
from holdfast.model.lesson import PRESENT, Fingerprint, Lesson, LessonEvidence
from holdfast.store.denied import Denied
from holdfast.store.phrases import FORGOTTEN

Alike = Callable[[str, str], bool]
Take = Callable[[str], str]  # the digest of a target as it is now; '' where there is nothing
MOST_RULES = 40
MOST_LINES = 8  # of evidence; of further sessions only the name is kept
LONGEST_RULE = 1_000


class Proposed(Struct, frozen=True, kw_only=True):
    """What became of it, by name. `known` counts rules that said nothing new, `rejected` lessons kept away."""

    added: tuple[str, ...] = ()
    grown: tuple[str, ...] = ()
    known: int = 0
    rejected: int = 0


class Standing(Struct, kw_only=True):
    """The lessons of this machine's project by name; those of `elsewhere` are known and not ours to change.

    `taught` tells whether sessions worded a rule as it stands: only such a one is worded anew by sessions. `reworded`
    has what became of which rule.
    """

    active: dict[str, Lesson]
    candidates: dict[str, Lesson]
    elsewhere: tuple[Lesson, ...] = ()
    taught: Callable[[str], bool] = lambda rule: False
    reworded: list[tuple[str, str]] = []


class _Told(Struct):
    added: list[str] = []
    grown: list[str] = []
    known: int = 0
    rejected: int = 0


def propose(
    standing: Standing, proposed: Iterable[Lesson], rejected: Sequence[str], alike: Alike
) -> tuple[Proposed, list[tuple[str, tuple[str, ...]]]]:
    """Changes `standing`; what was done, and every rule, as it stands now, with the sessions that showed it."""
    rules = _Rules(standing, rejected, alike)
    told = _Told()
    taken: list[tuple[str, tuple[str, ...]]] = []
    for lesson in map(sound, proposed):
        wanted = tuple(rule for rule in lesson.rules if not rules.is_rejected(rule))
        if not wanted:
            told.rejected += bool(lesson.rules)
            continue
        taken += [(rules.add(lesson, rule, told), lesson.witnesses) for rule in wanted]
    grown = [name for name in dict.fromkeys(told.grown) if name not in told.added]
    done = Proposed(
        added=tuple(dict.fromkeys(told.added)), grown=tuple(grown), known=told.known, rejected=told.rejected
    )
    return done, taken


def sound(lesson: Lesson) -> Lesson:
    """A lesson as it may be kept: without rules that hide something, or depend on what lies elsewhere."""
    lesson = normal(lesson)
    rules = [rule for rule in lesson.rules if len(rule) <= LONGEST_RULE and not why_line_refused(rule)]
    evidence = [
        item if not why_line_refused(item.line) else replace(item, line="") for item in lesson.evidence
    ]
    prints = [item for item in lesson.fingerprint if not why_target_refused(item.target)]
    description = "" if why_line_refused(lesson.description) else lesson.description
    return normal(
        replace(
            lesson,
            description=description,
            rules=tuple(rules),
            evidence=tuple(evidence),
            fingerprint=tuple(prints),
        )
    )


def allowed(lesson: Lesson, denied: Denied) -> Lesson:
    """What is left of a lesson without forgotten sessions and texts, under a name that can be a file's."""
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


class _Rules:
    """Where each rule stands, found again by its words."""

    def __init__(self, standing: Standing, rejected: Sequence[str], alike: Alike) -> None:
        self._standing = standing
        self._alike = alike
        self._rejected = rejected
        self._known: dict[str, bool] = {}
        self._places: list[tuple[str, str, str]] = []  # place, name, rule
        for lesson in standing.elsewhere:
            self._places += [("", lesson.name, rule) for rule in lesson.rules]
        for place in ("active", "candidates"):
            for name, lesson in getattr(standing, place).items():
                self._places += [(place, name, rule) for rule in lesson.rules]
        self._exact = {rule: (place, name) for place, name, rule in self._places}

    def is_rejected(self, rule: str) -> bool:
        if rule not in self._known:
            self._known[rule] = any(one == rule or self._alike(one, rule) for one in self._rejected)
        return self._known[rule]

    def add(self, lesson: Lesson, rule: str, told: _Told) -> str:
        """One rule of a lesson with the lesson's evidence; the rule as it is worded where it stands."""
        place, name, worded = self._where(rule)
        if worded and not place:
            told.known += 1
            return worded
        if not worded:
            place, name, worded = "candidates", lesson.name, rule
            self._places.append((place, name, rule))
            self._exact[rule] = (place, name)
        lessons: dict[str, Lesson] = getattr(self._standing, place)
        before = lessons.get(name)
        if before is not None and worded != rule and self._is_better(place, worded, rule, lesson):
            before = replace(before, rules=tuple(rule if one == worded else one for one in before.rules))
            lessons[name] = before
            self._standing.reworded.append((worded, rule))
            self._places = [(place, name, rule) if one[2] == worded else one for one in self._places]
            self._exact[rule] = (place, name)
            worded = rule
            told.grown.append(name)
        after = united(before, replace(lesson, name=name, rules=(worded,)))
        if before is None:
            told.added.append(name)
        elif after != before:
            told.grown.append(name)
        else:
            told.known += 1
        lessons[name] = after
        return worded

    def _is_better(self, place: str, worded: str, rule: str, lesson: Lesson) -> bool:
        """Whether sessions now name another remedy for what they were the ones to word: in a candidate at once, in what
        is active when several sessions showed it."""
        names_remedy = "→" in rule
        return names_remedy and self._standing.taught(worded) and (place == "candidates" or lesson.strong)

    def _where(self, rule: str) -> tuple[str, str, str]:
        if rule in self._exact:
            return (*self._exact[rule], rule)
        return next((one for one in self._places if self._alike(one[2], rule)), ("", "", ""))


def united(known: Lesson | None, more: Lesson) -> Lesson:
    """Two lessons of one name: rules and evidence of both, the older first. The same again changes nothing."""
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
    """Seen `again` in another session, a rule depends on what that one looked at; else on what was there first."""
    digests = {item.target: item.digest for item in known}
    for item in more:
        before = digests.get(item.target, "")
        digests[item.target] = (item.digest or before) if again else (before or item.digest)
    return tuple(Fingerprint(target=target, digest=digest) for target, digest in digests.items())


def stamped(lesson: Lesson, before: Lesson | None, take: Take) -> Lesson:
    """The lesson with digests of what is there now, where it is new or was seen again.

    A target that is not there is let go: what cannot be looked at tells nothing.
    """
    known = {item.target for item in before.fingerprint} if before else set()
    again = before is None or not set(before.sessions).issuperset(lesson.sessions)
    prints: list[Fingerprint] = []
    for item in lesson.fingerprint:
        if item.target in known and not again:
            prints.append(item)
        elif digest := take(item.target):
            kept = PRESENT if item.digest == PRESENT else digest
            prints.append(Fingerprint(target=item.target, digest=kept))
    return replace(lesson, fingerprint=tuple(prints))


def _evidence(known: Sequence[LessonEvidence], more: Sequence[LessonEvidence]) -> tuple[LessonEvidence, ...]:
    """One for each session: what was seen first, and its words for the first few only."""
    by_session = {item.session: item for item in reversed([*known, *more]) if item.session}
    ordered = dict.fromkeys(item.session for item in (*known, *more) if item.session)
    nameless = dict.fromkeys(item for item in (*known, *more) if not item.session and item.line)
    told = [by_session[session] for session in ordered]
    lines = [item for item in told if item.line or item.at is not None]
    bare = [
        LessonEvidence(session=item.session)
        for item in (*lines[MOST_LINES:], *told)
        if item not in lines[:MOST_LINES]
    ]
    return (*lines[:MOST_LINES], *list(nameless)[:MOST_LINES], *dict.fromkeys(bare))
