"""What waits for a person on the screen Now: decisions that only an agent made, candidates for rules, what is stale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.core.wording import cut
from holdfast.flows import lessons
from holdfast.lessons.states import LessonStatus
from holdfast.memory.decisions import passage_statement
from holdfast.memory.listing import settling
from holdfast.memory.read import ProjectMemory
from holdfast.model.statement import Statement
from holdfast.web.changes import change
from holdfast.web.contract import Changed, Request, Route, Undo
from holdfast.web.memory_lists import facts_of, months_of, rules_of

MOST = 5
MOST_SESSIONS = 200  # looked at for decisions to confirm
MOST_SOUGHT = 40  # decisions: an older month is not read for more
_skipped: dict[Path, set[str]] = {}  # by memory, until the page ends


class Review(Struct, frozen=True, kw_only=True):
    """The first few of each, and how many more there are."""

    decisions: Sequence[Statement]
    more_decisions: int
    rules: Sequence[LessonStatus]
    more_rules: int
    stale_rules: Sequence[LessonStatus]
    stale_facts: Sequence[str]

    @property
    def many_decisions(self) -> bool:
        return len(self.decisions) + self.more_decisions >= MOST_SOUGHT - MOST

    @property
    def waiting(self) -> int:
        return len(self.decisions) + self.more_decisions + len(self.rules) + self.more_rules


def review_of(request: Request) -> Review:
    skipped = _skipped.get(request.project.memory, set())
    decisions = [one for one in _unconfirmed(request) if one.id not in skipped]
    every = rules_of(request).lessons
    rules = [one for one in every if one.state == "candidate" and one.lesson.name not in skipped]
    first = rules[:MOST]
    if first:  # as `lessons review` does: a week after a person saw one it counts
        lessons.shown(request.here, request.project, [one.lesson for one in first])
    return Review(
        decisions=decisions[:MOST],
        more_decisions=max(len(decisions) - MOST, 0),
        rules=first,
        more_rules=max(len(rules) - MOST, 0),
        stale_rules=[one for one in every if one.state == "stale"],
        stale_facts=_stale_facts(request),
    )


def _unconfirmed(request: Request) -> Sequence[Statement]:
    """Decisions that an agent made or proposed and no person agreed to: of the latest, those first that matter most."""

    def make() -> list[Statement]:
        memory = ProjectMemory(request.project, months=months_of(request.project.memory))
        registered = list(memory.register("decision"))
        known = {one.id for one in registered}
        latest = islice(memory.passages(newest_first=True), MOST_SESSIONS)
        said = (
            passage_statement(passage, section, name)
            for name, section in latest
            for passage in section.passages
            if passage.kind == "decision" and passage.id not in known and settling(passage)
        )
        waiting = list(islice(filter(_waits, chain(registered, said)), MOST_SOUGHT))
        return sorted(waiting, key=lambda one: (one.worth, one.order), reverse=True)

    return request.kept("unconfirmed", make, "memory")


def _waits(said: Statement) -> bool:
    return said.status == "proposed" or (said.status == "agreed" and said.who == "agent")


def _stale_facts(request: Request) -> Sequence[str]:
    """Facts whose command did not show them any more when it was last run."""
    return [
        kept.fact.text
        for kept in facts_of(request)
        if kept.did_not_show is not None and kept.retired_at is None
    ]


# --- answers --------------------------------------------------------------------------------------------


def _said(text: str) -> str:
    return f"“{cut(' '.join(text.split()), 80)}”"


def _confirm(request: Request, wanted: str) -> str:
    from holdfast.flows import amend  # loads the search, and the first page does not need it

    return f"You agree: {_said(amend.confirm(request.here, wanted).text)}"


def _refuse(request: Request, wanted: str) -> str:
    from holdfast.flows import questions

    return f"Retired: {_said(questions.retire(request.here, wanted).text)}"


def _promote(request: Request, name: str) -> str:
    (done,) = lessons.promote(request.here, request.project, [name])
    return f"{done.lesson.name} is active here"


def _reject(request: Request, name: str) -> str:
    (done,) = lessons.reject(request.here, request.project, [name])
    return f"{done.lesson.name} rejected; it will not come back in other words"


def _mute(request: Request, name: str) -> str:
    (done,) = lessons.mute(request.here, request.project, [name])
    return f"{done.lesson.name} is muted until you unmute it"


_ACTIONS: Mapping[str, Callable[[Request, str], str]] = {
    "confirm": _confirm,
    "refuse": _refuse,
    "promote": _promote,
    "reject": _reject,
    "mute": _mute,
}


def answer(request: Request) -> Changed:
    action, wanted = request.form.get("do", ""), request.form.get("id", "").strip()
    if not wanted:
        raise UsageError("nothing is named", fix="Choose one of the list")
    if action in ("skip", "unskip"):
        return _skip(request, wanted, skip=action == "skip")
    act = _ACTIONS.get(action)
    if act is None:
        raise UsageError(f"there is no answer {action[:40]!r}", fix="Use the buttons of the row")
    return change(request, lambda text: text, lambda: act(request, wanted))


def _skip(request: Request, wanted: str, *, skip: bool) -> Changed:
    """Not now: it is shown again when the page is next started."""
    skipped = _skipped.setdefault(request.project.memory, set())
    (skipped.add if skip else skipped.discard)(wanted)
    undo = Undo(request.url("now.answer"), {"do": "unskip", "id": wanted}) if skip else None
    return Changed("Skipped for now" if skip else "Back in the list", undo)


ROUTES = (Route("/now/answer", answer, "POST", name="now.answer"),)
