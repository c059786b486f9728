"""`holdfast lessons review`: candidates one by one, a single key for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from holdfast.cli import consent, output
from holdfast.cli import lesson_views as views
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.flows import lesson_sharing as sharing
from holdfast.flows import lessons as app
from holdfast.flows.lesson_sharing import edit
from holdfast.lessons.states import Seen
from holdfast.store.machine import Machine
from holdfast.store.project import Project

_KEYS = "p promote · r reject · m mute · s skip · e edit · g share in git · q quit"
_DONE = {"p": "promoted", "r": "rejected", "m": "muted", "s": "skipped", "g": "shared"}
_NO_TERMINAL = (
    "holdfast lessons list --state candidate shows them; then lessons promote NAME, or lessons reject NAME"
)


def review(machine: Machine, *, as_json: bool = False) -> int:
    project = machine.project()
    listed = app.read_lessons(machine, project)
    waiting = [one for one in listed.lessons if one.place == "candidates" and one.state == "candidate"]
    if as_json:
        output.show_json([views.in_full(one, ()) for one in waiting])
        return 0
    for problem in listed.problems:
        output.warn(problem)
    if not waiting:
        output.line("Nothing to review: no candidate waits.")
        return 0
    if not consent.terminal():
        raise UsageError("review asks for single keys, and there is no terminal here", fix=_NO_TERMINAL)
    done: Counter[str] = Counter()
    for number, one in enumerate(waiting, 1):
        key = _decide(machine, project, one, f"{number} of {len(waiting)}")
        if key == "q":
            break
        done[_DONE[key]] += 1
    output.line(_summary(done, len(waiting)))
    return 0


def _decide(machine: Machine, project: Project, one: Seen, place: str) -> str:
    """Shows a candidate until something was decided; the key that did it, `q` to go."""
    while True:
        output.line()
        views.show(one)
        app.shown(machine, project, [one.lesson])
        key = _ask(f"{place}: {_KEYS}")
        try:
            if key == "e":
                one = edit(machine, project, one.lesson.name)
                continue
            if key in "pmrg":
                output.line(_do(machine, project, key, one.lesson.name))
            return key
        except HoldfastError as error:
            output.note(error.line())


def _do(machine: Machine, project: Project, key: str, name: str) -> str:
    actions: dict[str, Callable[[], object]] = {
        "p": lambda: app.promote(machine, project, [name]),
        "r": lambda: app.reject(machine, project, [name]),
        "m": lambda: app.mute(machine, project, [name]),
        "g": lambda: (app.promote(machine, project, [name]), sharing.share(machine, project, [name])),
    }
    actions[key]()
    return f"  {name}: {_DONE[key]}"


def _ask(question: str) -> str:
    output.note(question)
    with consent.single_keys() as next_key:
        while (key := next_key().lower()) not in ("p", "r", "m", "s", "e", "g", "q", consent.END):
            pass
    return key or "q"


def _summary(done: Counter[str], total: int) -> str:
    said = ", ".join(f"{count} {what}" for what, count in done.items())
    left = total - sum(done.values())
    rest = f"{left} left" if left else ""
    back = " holdfast undo takes the last one back." if set(done) - {"skipped"} else ""
    return f"{', '.join(filter(None, (said, rest))) or 'nothing'}.{back}"
