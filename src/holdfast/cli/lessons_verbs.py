"""The verbs of `holdfast lessons` that look through lessons: review, trust, stale, refresh, extract, learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.cli.import_ import import_progress
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.extraction import extract_lessons as extraction
from holdfast.flows import lesson_sharing as sharing
from holdfast.flows import lesson_upkeep as upkeep
from holdfast.flows import lessons as app
from holdfast.lessons.deny_rules import PLACES, deny_rules, render
from holdfast.lessons.states import LessonStatus
from holdfast.store.project import Project
from holdfast.terminal import consent, output
from holdfast.terminal.consent import agreed, require_person
from holdfast.terminal.options import Machine, Namespace
from holdfast.terminal.output import Column, flat, plural, table_of
from holdfast.views import lessons as views

if TYPE_CHECKING:
    from holdfast.backtest.deny_rules import Refused

_KEYS = "p promote · r reject · m mute · s skip · e edit · g share in git · q quit"
_DONE = {"p": "promoted", "r": "rejected", "m": "muted", "s": "skipped", "g": "shared"}
_NO_TERMINAL = (
    "holdfast lessons list --state candidate shows them; then lessons promote NAME, or lessons reject NAME"
)
_RESULTS = {
    ("rewritten", "repository"): "updated from the repository",
    ("rewritten", "sessions"): "updated from sessions since the change",
    ("kept", "repository"): "still holds: the repository still defines it",
    ("kept", "sessions"): "still holds: sessions since the change show it again",
    ("kept", "person"): "still holds: you confirmed it",
    ("retired", "repository"): "retired: everything it depends on is gone",
    ("retired", "sessions"): "retired: no session has met it since the change",
    ("left", ""): "still stale: only you can tell if it holds",
}


def review(options: Namespace, machine: Machine) -> None:
    """Candidates one by one, a single key for each."""
    project = machine.project()
    listed = app.read_lessons(machine, project)
    waiting = [
        candidate
        for candidate in listed.lessons
        if candidate.place == "candidates" and candidate.state == "candidate"
    ]
    if options.json:
        return output.show_json([views.in_full(candidate, ()) for candidate in waiting])
    output.warn_all(listed.problems)
    if not waiting:
        return output.line("Nothing to review.")
    if not consent.terminal():
        raise UsageError("lessons review needs a terminal", fix=_NO_TERMINAL)
    done: Counter[str] = Counter()
    for number, candidate in enumerate(waiting, 1):
        key = _decide(machine, project, candidate, f"{number} of {len(waiting)}")
        if key == "q":
            break
        done[_DONE[key]] += 1
    output.line(_summary(done, len(waiting)))


def _decide(machine: Machine, project: Project, one: LessonStatus, place: str) -> str:
    """Shows a candidate until a key decides; returns that key, `q` to stop."""
    while True:
        output.line()
        views.show(one)
        app.shown(machine, project, [one.lesson])
        key, name = _ask(f"{place}: {_KEYS}"), one.lesson.name
        try:
            if key == "e":
                one = sharing.edit(machine, project, name)
                continue
            if key in "pg":
                app.promote(machine, project, [name])
            if key == "g":
                sharing.share(machine, project, [name])
            elif key == "r":
                app.reject(machine, project, [name])
            elif key == "m":
                app.mute(machine, project, [name])
            if key in "pmrg":
                output.line(f"  {name}: {_DONE[key]}")
            return key
        except HoldfastError as error:
            output.note(error.line())


def _ask(question: str) -> str:
    output.note(question)
    with consent.single_keys() as next_key:
        while (key := next_key().lower()) not in (*_DONE, "e", "q", consent.END):
            pass
    return key or "q"


def _summary(done: Counter[str], total: int) -> str:
    counts = {**done, "left": total - done.total()}
    parts = ", ".join(f"{count} {result}" for result, count in counts.items() if count)
    back = " holdfast undo takes the last one back." if set(done) - {"skipped"} else ""
    return f"{parts or 'nothing'}.{back}"


def export(options: Namespace, machine: Machine) -> None:
    """The rule alone goes to standard output; what it would have refused is said beside it."""
    from holdfast.backtest.deny_rules import count_refused, files_refused

    project = machine.project()
    lesson = app.pick(app.read_lessons(machine, project).lessons, options.name, app.KEPT_FIRST).lesson
    rules, others = deny_rules(lesson)
    if not rules:
        raise UsageError(
            f"{lesson.name} cannot be a deny rule: {others[0].reason if others else 'it has no rule'}",
            fix="holdfast lessons list shows the others",
        )
    is_check = options.target == "pre-commit"
    past = count_refused(machine, project, rules)
    stopped = files_refused(project, rules) if is_check else []
    rule = render(rules, options.target)
    value = {
        "name": lesson.name,
        "as": options.target,
        "rule": rule,
        "place": PLACES[options.target],
        "left_out": [{"rule": other.rule, "reason": other.reason} for other in others],
        "history": {
            "sessions": past.sessions,
            "commands": past.commands,
            "refused": past.refused,
            "worked": past.worked,
            "failed": past.failed,
            "false_block_rate": past.false_block_rate,
        },
        "files": stopped,
    }
    output.answer(options, value, lambda: output.write(rule.rstrip("\n") + "\n"))
    if options.json:
        return
    output.note(f"For {PLACES[options.target]}. holdfast does not write this file and blocks nothing itself.")
    for other in others:
        output.note(f"Left out: {flat(other.rule)}: {other.reason}.")
    output.note(_refused_text(past))
    if is_check:
        output.note(
            f"It would reject {plural(len(stopped), 'tracked file')} today"
            + (f": {', '.join(stopped[:3])}." if stopped else ".")
        )


def _refused_text(past: Refused) -> str:
    if not past.commands:
        return "No session of this project ran such a command, so the rate of false blocks is unknown."
    counted = f"{plural(past.commands, 'command')} of {plural(past.sessions, 'session')} here"
    if not past.refused:
        return f"Of {counted} it would have blocked none."
    text = (
        f"Of {counted} it would have refused {past.refused}: {past.failed} had failed, {past.worked} had worked "
        f"(false blocks: {100 * past.worked / past.commands:.2f}% of all commands"
    )
    wrong = f", {100 * past.worked / past.refused:.0f}% of those refused)."
    return text + wrong + (f" Such as: {past.examples[0]}" if past.examples else "")


def trust(options: Namespace, machine: Machine) -> int:
    """Shows all that came with a repository before it asks for agreement."""
    project = machine.project()
    if options.all and options.names:
        raise UsageError("--all cannot be used with names", fix="Use one or the other")
    if options.revoke:
        names = sharing.revoke(machine, project, options.names)
        output.answer(options, {"trusted": [], "revoked": names}, f"No longer trusted: {', '.join(names)}.")
        return 0
    problems = app.read_lessons(machine, project).problems
    output.warn_all(problem for problem in problems if problem.startswith(".holdfast/lessons"))
    seen = sharing.to_trust(machine, project, options.names)
    if not seen:
        nothing = "Already trusted." if options.names else "Nothing here is waiting for your trust."
        output.answer(options, {"trusted": [], "waiting": []}, nothing)
    elif options.yes and not options.names and not options.all:
        raise UsageError("--yes needs a NAME or --all", fix="Name the lessons, or add --all")
    elif options.json and not options.yes:
        output.show_json({"trusted": [], "waiting": [views.as_json(status) for status in seen]})
    else:
        return _agree(options, machine, project, seen)
    return 0


def _agree(options: Namespace, machine: Machine, project: Project, seen: Sequence[LessonStatus]) -> int:
    require_person(machine)
    for status in () if options.json else seen:
        views.show(status)
        output.line()
    names = [status.lesson.name for status in seen]
    which = f"these {len(names)} lessons" if len(names) > 1 else f"the lesson {names[0]}"
    if not options.yes and not agreed(f"Show agents {which}?", "Add --yes, and NAME or --all, to agree"):
        output.line("Nothing was changed.")
        return 1
    sharing.agree(machine, project, seen)
    done = f"Trusted: {', '.join(names)}. Any change revokes that."
    output.answer(options, {"trusted": names, "waiting": []}, done)
    return 0


def stale(options: Namespace, machine: Machine) -> None:
    seen = upkeep.stale(machine, machine.project())
    output.answer(
        options,
        [views.as_json(status) for status in seen],
        (lambda: _show_stale(seen)) if seen else "No lesson is stale.",
    )


def _show_stale(seen: Sequence[LessonStatus]) -> None:
    if output.is_narrow():
        for one in seen:
            _show_drift(one.lesson.name, one)
    else:
        output.show(
            table_of(
                seen,
                (Column("Lesson", style="cyan"), lambda one: one.lesson.name),
                (Column("Scope", dispensable=1), lambda one: views.WHERE[one.place]),
                (Column("What has changed", flexible=True, wrapped=True), lambda one: "; ".join(one.drift)),
                (
                    Column("What it says", flexible=True, wrapped=True),
                    lambda one: "; ".join(one.lesson.rules),
                ),
            )
        )
    output.note("Agents do not see these lessons. holdfast lessons refresh updates or retires them.")


def _show_drift(title: str, one: LessonStatus | upkeep.Refreshed) -> None:
    output.heading(title)
    output.wrapped(flat("; ".join(one.lesson.rules)), indent=2)
    output.aside("; ".join(one.drift), indent=2)


def refresh(options: Namespace, machine: Machine) -> None:
    done = upkeep.refresh(machine, machine.project(), options.names, keep=options.keep)
    if options.json:
        return output.show_json(
            [
                {
                    "name": refreshed.lesson.name,
                    "done": refreshed.done,
                    "rules": list(refreshed.lesson.rules),
                    "because": list(refreshed.drift),
                    "told_by": refreshed.told_by,
                }
                for refreshed in done
            ]
        )
    for refreshed in done:
        _show_drift(f"{refreshed.lesson.name} · {_RESULTS[refreshed.done, refreshed.told_by]}", refreshed)
    if not done:
        output.line("No lesson of this project is stale.")
    elif any(refreshed.done == "left" for refreshed in done):
        output.note("Still true? holdfast lessons refresh NAME --keep. If not: holdfast lessons rm NAME.")
    else:
        output.note("holdfast undo takes it back.")


def extract(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.dry_run:
        sent = extraction.preview(machine, project, options.session)
        value = {
            "session": sent.session,
            "to": sent.to,
            "model": sent.model or None,
            "tokens": sent.tokens,
            "instructions": sent.instructions,
            "text": sent.text,
        }
        return output.answer(options, value, lambda: _show_sent(sent))
    done = extraction.extract(machine, project, options.session)
    if options.json:
        return output.show_json(
            {
                "session": done.session,
                "added": list(done.added),
                "known": done.known,
                "dropped": list(done.dropped),
                "cost_usd": None if done.cost_usd is None else str(done.cost_usd),
            }
        )
    output.warn_all(done.dropped)
    price = "at an unknown price" if done.cost_usd is None else f"for ${done.cost_usd.normalize():f}"
    known_note = f", {done.known} already known or rejected" if done.known else ""
    output.line(f"Session {done.session}: {', '.join(done.added) or 'nothing new'}{known_note}, {price}.")
    if done.added:
        output.note("Review them: holdfast lessons review.")


def _show_sent(sent: extraction.Sent) -> None:
    output.line(f"{sent.instructions}\n\n{sent.text}")
    model = f", model {sent.model}" if sent.model else ""
    output.note(f"{sent.tokens:,} tokens on session {sent.session}, to {sent.to}{model}. Nothing was sent.")


def learn(options: Namespace, machine: Machine) -> None:
    with import_progress(show=not options.json) as progress:
        done = upkeep.relearn(machine, machine.project(), progress, everything=options.all)
    if options.json:
        return output.show_json(
            {"sessions": done.behind, "read": done.read, "gone": done.gone, "lessons": done.lessons}
        )
    if not done.behind:
        return output.line(
            "Nothing to reread: this version has read every session. Use --all to reread them all."
        )
    gone = f", {done.gone} no longer have a transcript" if done.gone else ""
    new = plural(done.lessons, "new lesson") if done.lessons else "nothing new"
    output.line(f"Read {done.read} of {plural(done.behind, 'session')} again{gone}: {new}.")
    if done.lessons:
        output.note("holdfast lessons list shows them; holdfast lessons review lets you decide on them.")
