"""The verbs of `holdfast lessons` that look through lessons: review, trust, stale, refresh, extract, learn."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence

from holdfast.cli import consent, output
from holdfast.cli import lesson_views as views
from holdfast.cli.consent import agreed
from holdfast.cli.import_ import progress_bar
from holdfast.cli.memory_views import flat
from holdfast.cli.options import Machine, Namespace
from holdfast.cli.output import Column, Table
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.flows import extract_lessons as extraction
from holdfast.flows import lesson_sharing as sharing
from holdfast.flows import lesson_upkeep as upkeep
from holdfast.flows import lessons as app
from holdfast.flows.lesson_upkeep import Relearned, relearn
from holdfast.lessons.states import Seen
from holdfast.store.project import Project

_KEYS = "p promote · r reject · m mute · s skip · e edit · g share in git · q quit"
_DONE = {"p": "promoted", "r": "rejected", "m": "muted", "s": "skipped", "g": "shared"}
_NO_TERMINAL = (
    "holdfast lessons list --state candidate shows them; then lessons promote NAME, or lessons reject NAME"
)


def review(options: Namespace, machine: Machine) -> None:
    """Candidates one by one, a single key for each."""
    project = machine.project()
    listed = app.read_lessons(machine, project)
    waiting = [one for one in listed.lessons if one.place == "candidates" and one.state == "candidate"]
    if options.json:
        return output.show_json([views.in_full(one, ()) for one in waiting])
    output.warn_all(listed.problems)
    if not waiting:
        return output.line("Nothing to review: no candidate waits.")
    if not consent.terminal():
        raise UsageError("review asks for single keys, and there is no terminal here", fix=_NO_TERMINAL)
    done: Counter[str] = Counter()
    for number, one in enumerate(waiting, 1):
        key = _decide(machine, project, one, f"{number} of {len(waiting)}")
        if key == "q":
            break
        done[_DONE[key]] += 1
    output.line(_summary(done, len(waiting)))


def _decide(machine: Machine, project: Project, one: Seen, place: str) -> str:
    """Shows a candidate until something was decided; the key that did it, `q` to go."""
    while True:
        output.line()
        views.show(one)
        app.shown(machine, project, [one.lesson])
        key = _ask(f"{place}: {_KEYS}")
        try:
            if key == "e":
                one = sharing.edit(machine, project, one.lesson.name)
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


def trust(options: Namespace, machine: Machine) -> int | None:
    """Shows what came with a repository, all of it, before anybody is asked to agree."""
    project = machine.project()
    if options.all and options.names:
        raise UsageError("--all and names at once", fix="Say one of them")
    if options.revoke:
        names = sharing.revoke(machine, project, options.names)
        return _told(options, f"No longer trusted: {', '.join(names)}.", trusted=[], revoked=names)
    for problem in app.read_lessons(machine, project).problems:
        if problem.startswith(".holdfast/lessons"):
            output.warn(problem)
    seen = sharing.to_trust(machine, project, options.names)
    if not seen:
        nothing = "These are trusted already." if options.names else "Nothing here waits for your trust."
        return _told(options, nothing, trusted=[], waiting=[])
    if options.yes and not options.names and not options.all:
        raise UsageError("--yes to what?", fix="Name the lessons, or say --all")
    if options.json and not options.yes:
        return _told(options, "", trusted=[], waiting=[views.as_json(one) for one in seen])
    if not options.json:
        for one in seen:
            views.show(one)
            output.line()
    names = [one.lesson.name for one in seen]
    which = f"these {len(names)} lessons" if len(names) > 1 else f"the lesson {names[0]}"
    if not options.yes and not agreed(f"Tell agents {which}?", "Say --yes with NAME or --all to agree"):
        output.line("Nothing was changed.")
        return 1
    sharing.agree(machine, project, seen)
    said = f"Trusted as they are now: {', '.join(names)}. Any change takes it back."
    return _told(options, said, trusted=names, waiting=[])


def _told(options: Namespace, line: str, **values: object) -> int:
    output.answer(options, values, line)
    return 0


_SAID = {
    ("rewritten", "repository"): "rewritten, as the repository has it now",
    ("rewritten", "sessions"): "rewritten, as sessions since the change show it",
    ("kept", "repository"): "still holds: the repository still defines it",
    ("kept", "sessions"): "still holds: sessions since the change show it again",
    ("kept", "person"): "still holds: you say so",
    ("retired", "repository"): "retired: all it depends on is gone",
    ("retired", "sessions"): "retired: no session since the change met it",
    ("left", ""): "still stale: only you can tell whether it holds",
}


def stale(options: Namespace, machine: Machine) -> None:
    seen = upkeep.stale(machine, machine.project())
    if options.json:
        output.show_json([views.as_json(one) for one in seen])
    elif not seen:
        output.line("No lesson is stale.")
    else:
        _show_stale(seen)
        output.note("They are not told to agents. holdfast lessons refresh renews or retires them.")


def _show_stale(seen: Sequence[Seen]) -> None:
    if output.is_narrow():
        for one in seen:
            output.heading(one.lesson.name)
            output.wrapped(flat("; ".join(one.lesson.rules)), indent=2)
            output.aside("; ".join(one.drift), indent=2)
        return
    columns = (
        Column("Lesson", style="cyan"),
        Column("Scope", dispensable=1),
        Column("What has changed", flexible=True, wrapped=True),
        Column("What it says", flexible=True, wrapped=True),
    )
    rows = [
        [one.lesson.name, views.WHERE[one.place], "; ".join(one.drift), "; ".join(one.lesson.rules)]
        for one in seen
    ]
    output.show(Table(columns, rows))


def refresh(options: Namespace, machine: Machine) -> None:
    done = upkeep.refresh(machine, machine.project(), options.names, keep=options.keep)
    if options.json:
        return output.show_json(
            [
                {
                    "name": one.lesson.name,
                    "done": one.done,
                    "rules": list(one.lesson.rules),
                    "because": list(one.drift),
                    "told_by": one.told_by,
                }
                for one in done
            ]
        )
    for one in done:
        output.heading(f"{one.lesson.name} · {_SAID[one.done, one.told_by]}")
        output.wrapped(flat("; ".join(one.lesson.rules)), indent=2)
        output.aside("; ".join(one.drift), indent=2)
    if not done:
        output.line("No lesson of this project is stale.")
    if any(one.done == "left" for one in done):
        output.note("Still true? holdfast lessons refresh NAME --keep. If not: holdfast lessons rm NAME.")
    elif done:
        output.note("holdfast undo takes it back.")


def extract(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.dry_run:
        return _show_sent(extraction.preview(machine, project, options.session), as_json=options.json)
    done = extraction.extract(machine, project, options.session)
    if options.json:
        return output.show_json(_extraction_as_json(done))
    output.warn_all(done.dropped)
    output.line(_extracted(done))
    if done.added:
        output.note("Candidates: they wait for you, holdfast lessons review.")


def _show_sent(sent: extraction.Sent, *, as_json: bool) -> None:
    if as_json:
        output.show_json(
            {
                "session": sent.session,
                "to": sent.to,
                "model": sent.model or None,
                "tokens": sent.tokens,
                "instructions": sent.instructions,
                "text": sent.text,
            }
        )
        return
    output.line(f"{sent.instructions}\n\n{sent.text}")
    model = f", model {sent.model}" if sent.model else ""
    output.note(f"{sent.tokens:,} tokens on session {sent.session}, to {sent.to}{model}. Nothing was sent.")


def _extraction_as_json(done: extraction.Extraction) -> dict[str, object]:
    return {
        "session": done.session,
        "added": list(done.added),
        "known": done.known,
        "dropped": list(done.dropped),
        "cost_usd": None if done.cost_usd is None else str(done.cost_usd),
    }


def _extracted(done: extraction.Extraction) -> str:
    price = "at an unknown price" if done.cost_usd is None else f"for ${done.cost_usd.normalize():f}"
    found = ", ".join(done.added) if done.added else "nothing new"
    more = f", {done.known} known or rejected before" if done.known else ""
    return f"Session {done.session}: {found}{more}, {price}."


def learn(options: Namespace, machine: Machine) -> None:
    with progress_bar(show=not options.json and sys.stderr.isatty()) as progress:
        done = relearn(machine, machine.project(), progress, everything=options.all)
    if options.json:
        return output.show_json(
            {"sessions": done.behind, "read": done.read, "gone": done.gone, "lessons": done.lessons}
        )
    output.line(_relearned(done))
    if done.lessons:
        output.note("holdfast lessons list shows them, holdfast lessons review goes through them.")


def _relearned(done: Relearned) -> str:
    if not done.behind:
        return "Nothing to read again: every session was read by this holdfast. --all reads all of them."
    gone = f", {done.gone} have no transcript any more" if done.gone else ""
    new = f"{done.lessons} new lesson{'s' if done.lessons != 1 else ''}" if done.lessons else "nothing new"
    return f"Read {done.read} of {done.behind} session{'s' if done.behind != 1 else ''} again{gone}: {new}."
