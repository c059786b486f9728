"""What waits for a person on the screen Now: decisions that only an agent made, candidates for rules, what is stale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.core.wording import cut
from holdfast.flows import lessons
from holdfast.flows.lessons import Listed, read_lessons
from holdfast.lessons.states import LessonStatus
from holdfast.web.changes import change
from holdfast.web.contract import Changed, Request, Route, Undo

MOST = 5
_skipped: dict[Path, set[str]] = {}  # by memory, until the page ends


class Review(Struct, frozen=True):
    rules: Sequence[LessonStatus]
    more_rules: int
    stale_rules: Sequence[LessonStatus]


def review_of(request: Request) -> Review:
    skipped = _skipped.get(request.project.memory, set())
    every = _rules(request).lessons
    rules = [one for one in every if one.state == "candidate" and one.lesson.name not in skipped]
    if shown := [
        one.lesson for one in rules[:MOST]
    ]:  # as in `lessons review`: a week after a person saw one it counts
        lessons.shown(request.machine, request.project, shown)
    return Review(
        rules=rules[:MOST],
        more_rules=max(len(rules) - MOST, 0),
        stale_rules=[one for one in every if one.state == "stale"],
    )


def _rules(request: Request) -> Listed:
    """They depend on the checkout, which no topic watches: read again in time."""
    moment = int(request.now.timestamp()) // 30
    return request.kept(f"rules-{moment}", lambda: read_lessons(request.machine, request.project), "lessons")


# --- answers --------------------------------------------------------------------------------------------


def _said(text: str) -> str:
    return f"“{cut(' '.join(text.split()), 80)}”"


def _promote(request: Request, name: str) -> str:
    (done,) = lessons.promote(request.machine, request.project, [name])
    return f"{done.lesson.name} is active here"


def _reject(request: Request, name: str) -> str:
    (done,) = lessons.reject(request.machine, request.project, [name])
    return f"{done.lesson.name} is rejected, and does not come back in other words"


def _mute(request: Request, name: str) -> str:
    (done,) = lessons.mute(request.machine, request.project, [name])
    return f"{done.lesson.name} is muted until you unmute it"


_ACTIONS: Mapping[str, Callable[[Request, str], str]] = {
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
