"""What recent sessions say of a stale lesson: seen again, found in a new form, contradicted, or not met any more.

Recent are sessions since what it depends on changed. What they did before that moment says nothing of now.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from holdfast.app.learning import known_here, lived_here
from holdfast.app.lesson_states import alike
from holdfast.app.lessons import clean, digest_of
from holdfast.app.wiring import Machine
from holdfast.distill.lesson_again import shown_again, since
from holdfast.distill.lesson_rules import learned
from holdfast.model.lesson import Fingerprint, Lesson
from holdfast.model.session import Lived
from holdfast.repo.fingerprint import Renamed, Same, Verdict
from holdfast.store.layout import Project
from holdfast.store.lesson_union import united

ENOUGH_SESSIONS = 3  # since the change: what none of them met, although others learned it, is over


class Rediscovered(NamedTuple):
    """`again` is the lesson as sessions show it now; `unmet`, that they had their chance and did not."""

    said: Literal["again", "unmet", "nothing"]
    lesson: Lesson | None = None


NOTHING = Rediscovered("nothing")


class RecentSessions:
    """The sessions of a project, and what they tell of lessons."""

    def __init__(self, machine: Machine, project: Project) -> None:
        self._machine, self._project = machine, project
        self._lived: list[Lived] | None = None

    def tell(self, lesson: Lesson, verdicts: Sequence[Verdict], taken: Collection[str]) -> Rediscovered:
        """What they say of a lesson; `taken` are rules of other lessons, and rules that nobody wants."""
        moment = max((self._changed_at(one) for one in verdicts if not isinstance(one, Same)), default=0.0)
        if self._lived is None:
            self._lived = lived_here(self._project)
        recent = since(self._lived, moment)
        if not recent or not moment:
            return NOTHING
        exists = known_here(self._project, self._lived, only_checkout=True)
        found = [shown_again(rule, recent, exists, taken) for rule in lesson.rules]
        again = [one for one in found if one is not None and not _unwanted(one, lesson, taken)]
        if len(again) == len(lesson.rules):
            return Rediscovered("again", self._renewed(lesson, again))
        gone = learned(recent, exists).contradicted
        begun = sum(1 for session in recent if (session.started or 0.0) >= moment)
        over = begun >= ENOUGH_SESSIONS or all(any(alike(rule, one) for one in gone) for rule in lesson.rules)
        # What somebody wrote down was never seen in sessions: that it is not seen now says nothing.
        return Rediscovered("unmet") if over and lesson.sessions and not again else NOTHING

    def _renewed(self, lesson: Lesson, again: Sequence[Lesson]) -> Lesson:
        new = lesson
        for one in again:
            new = united(new, replace(one, rules=(), fingerprint=()))
        wanted = {item.target: item.digest for one in again for item in one.fingerprint}
        prints = [
            Fingerprint(target=target, digest=wanted[target] or digest)
            for target in wanted
            if (digest := digest_of(self._machine, self._project, target))
        ]
        rules = tuple(dict.fromkeys(one.rules[0] for one in again))
        renewed = clean(self._machine, replace(new, rules=rules))
        return replace(renewed, fingerprint=tuple(prints), captured_at=lesson.captured_at)

    def _changed_at(self, verdict: Verdict) -> float:
        """When it came to be as it is; of what is gone, when something last changed where it lay."""
        target = verdict.to if isinstance(verdict, Renamed) else verdict.target
        path = self._project.root / target.partition("#")[0].rstrip("/")
        while True:
            try:
                return os.stat(path).st_mtime
            except (OSError, ValueError):
                if path in (self._project.root, path.parent):
                    return 0.0
                path = path.parent


def _unwanted(one: Lesson, lesson: Lesson, taken: Collection[str]) -> bool:
    """Whether a new form is something that stands elsewhere, or was rejected; a lesson's own rule never is."""
    rule = one.rules[0]
    return rule not in lesson.rules and any(alike(rule, other) for other in taken)
