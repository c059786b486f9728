"""`holdfast lessons`: lists, reviews, promotes, rejects, mutes, shares, trusts and adds lessons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from holdfast.core.errors import UsageError
from holdfast.flows import lesson_sharing as sharing
from holdfast.flows import lessons as app
from holdfast.flows.lessons import Handled
from holdfast.lessons.deny_rules import TARGETS
from holdfast.lessons.markdown import KINDS
from holdfast.lessons.proposals import Place
from holdfast.lessons.states import LessonStatus, pays
from holdfast.store.project import Project
from holdfast.terminal import output
from holdfast.terminal.options import (
    SUPPRESS,
    Machine,
    Namespace,
    Verb,
    at_least_one,
    flag,
    limit,
    of_verb,
    option,
)
from holdfast.terminal.output import flat, plural
from holdfast.views import lessons as views

DESCRIPTION = """Manages lessons: rules learned from sessions or written by you. A candidate becomes active when you
promote it, when a second session confirms it, or a week after you first saw it, unless you reject it. Lessons from a
repository count only after `lessons trust`."""
EXAMPLES = """examples:
  holdfast lessons                          all lessons: yours, this project's, shared ones
  holdfast lessons review                   review the proposals one by one
  holdfast lessons add testing --rule "run make test, never pytest itself" --fingerprint Makefile
  holdfast lessons change testing --rule "run make test in api/"     replace its rules
  holdfast lessons show testing             its rules, and where they come from
  holdfast lessons promote testing          shown to every session from now on
  holdfast lessons mute testing --days 30   not shown for a month
  holdfast lessons unmute testing
  holdfast lessons reject testing           no session brings it back
  holdfast lessons rm testing
  holdfast lessons share testing            share it in git, in .holdfast/lessons/ (--undo takes it back)
  holdfast lessons stale                    what is stale, and why (refresh fixes it)
  holdfast lessons extract --dry-run        what a configured model would be asked
  holdfast lessons export testing --as claude   a deny rule, and how often it would have been wrong
  holdfast lessons trust                    read what came with the repository, and trust it
"""
_STATES = ("candidate", "active", "stale", "muted", "rejected", "untrusted")
_SCOPES = ("personal", "local", "shared")
_WHICH: dict[Place, str] = {
    "candidates": "the candidate",
    "local": "the lesson",
    "shared": "the shared lesson",
    "personal": "the personal lesson",
}


_ADVICE = {
    "candidate": "to review: holdfast lessons review",
    "untrusted": "from the repository, not trusted: holdfast lessons trust",
    "stale": "stale: holdfast lessons stale says why",
}
_JSON = flag("--json", "the result as JSON", default=SUPPRESS)
_NAMES = option("names", nargs="+", metavar="NAME", help="name or id, or a prefix of it")
_PERSONAL = flag("--personal", "for all your projects, not just this one")
_FILTERS = (
    option(
        "--state",
        choices=_STATES,
        metavar="STATE",
        help=f"only lessons in this state: {', '.join(_STATES)}",
    ),
    option("--scope", choices=_SCOPES, metavar="SCOPE", help=f"only of this scope: {', '.join(_SCOPES)}"),
)
_LIMIT = limit("lessons, by name", "default: all")
OPTIONS = (*_FILTERS, *_LIMIT, flag("--json", "the result as JSON"))
VERBS = {
    "list": Verb("list all lessons, of all scopes (the default)", (*of_verb(*_FILTERS, *_LIMIT), _JSON)),
    "review": Verb(
        "review the proposals one by one",
        (flag("--json", "the candidates as JSON, nothing is asked", default=SUPPRESS),),
    ),
    "show": Verb(
        "show one lesson with its evidence",
        (option("name", metavar="NAME", help="the lesson's name or id, or a prefix of it"), _JSON),
    ),
    "promote": Verb("make candidates active", (_NAMES, _PERSONAL, _JSON)),
    "reject": Verb("remove a lesson, and block it in any wording", (_NAMES, _JSON)),
    "mute": Verb(
        "stop showing a lesson that is true",
        (
            _NAMES,
            option("--days", type=at_least_one, metavar="N", help="for N days (default: until unmuted)"),
            _JSON,
        ),
    ),
    "unmute": Verb("show a muted lesson again", (_NAMES, _JSON)),
    "share": Verb(
        "share lessons in .holdfast/lessons/ and stage them; commits nothing",
        (
            _NAMES,
            flag("--undo", "remove them from the repository again"),
            flag("--replace", "replace another person's lesson of the same name"),
            _JSON,
        ),
    ),
    "change": Verb(
        "replace a lesson's rules",
        (
            option("name", metavar="NAME", help="the lesson's name or id, or a prefix of it"),
            option(
                "--rule",
                action="append",
                required=True,
                metavar="TEXT",
                help="a rule in one line; repeat it for each that the lesson should have",
            ),
            option("--description", metavar="TEXT", help="what the rules are about (default: as before)"),
            _JSON,
        ),
    ),
    "rm": Verb("remove lessons (sessions may teach them again; reject prevents that)", (_NAMES, _JSON)),
    "stale": Verb("list lessons that are not shown because what they depend on has changed", (_JSON,)),
    "refresh": Verb(
        "bring stale lessons up to date with the repository",
        (
            option("names", nargs="*", metavar="NAME", help="only these (default: all that are stale)"),
            flag("--keep", "they still hold: only update the hashes"),
            _JSON,
        ),
    ),
    "trust": Verb(
        "show lessons that came with the repository, and trust them",
        (
            option("names", nargs="*", metavar="NAME", help="only these (default: all that are shown)"),
            flag("--all", "all that are not trusted yet"),
            flag("--yes", "do not ask"),
            flag("--revoke", "revoke trust"),
            _JSON,
        ),
    ),
    "export": Verb(
        "print a lesson as a deny rule for an agent's own guard, or as a pre-commit check",
        (
            option("name", metavar="NAME", help="the lesson's name or id, or a prefix of it"),
            option(
                "--as",
                dest="target",
                choices=TARGETS,
                required=True,
                metavar="HOST",
                help=f"what will read it: {', '.join(TARGETS)}",
            ),
            _JSON,
        ),
    ),
    "extract": Verb(
        "ask the configured model for lessons from one session",
        (
            option(
                "--session",
                default="",
                metavar="ID",
                help="the session's id, or a prefix of it (default: the latest)",
            ),
            flag("--dry-run", "show what would be sent, and where to; nothing is sent"),
            _JSON,
        ),
    ),
    "learn": Verb(
        "reread sessions that an older holdfast could not learn from",
        (flag("--all", "all of them"), _JSON),
    ),
    "add": Verb(
        "write a lesson by hand, active at once",
        (
            option("name", nargs="?", metavar="NAME", help="its name: letters, digits and dashes"),
            option(
                "--rule",
                action="append",
                default=[],
                metavar="TEXT",
                help="a rule in one line; repeat it for each",
            ),
            option("--description", default="", metavar="TEXT", help="what the rules are about"),
            option(
                "--fingerprint",
                action="append",
                default=[],
                metavar="TARGET",
                help="what it depends on: a file, tests/, src/**/*.ts, package.json#scripts.test; repeat it for each",
            ),
            option("--kind", choices=KINDS, default="other", help="the kind of lesson (default: other)"),
            option("--file", type=Path, metavar="FILE", help="use an existing file"),
            _PERSONAL,
            flag("--replace", "replace a lesson of the same name"),
            _JSON,
        ),
    ),
}


def run(options: Namespace, machine: Machine) -> int | None:
    """The verbs that go through lessons one by one load more than a list needs."""
    if options.verb in (None, "list") or options.verb in _CHANGES:
        return (_change if options.verb in _CHANGES else _list)(options, machine)
    from holdfast.cli import lessons_verbs

    code: int | None = getattr(lessons_verbs, options.verb)(options, machine)
    return code


def _list(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    listed = app.read_lessons(machine, project)
    output.warn_all(listed.problems)
    seen = [
        one
        for one in listed.lessons
        if options.state in (None, one.state) and options.scope in (None, one.scope)
    ]
    seen.sort(key=lambda one: (one.lesson.name, one.place))
    seen = seen[: options.limit]
    if options.json:
        return output.show_json([views.as_json(one) for one in seen])
    if seen:
        views.show_list(seen)
        app.shown(machine, project, [one.lesson for one in seen if one.state == "candidate"])
        _advise(seen)
    elif listed.lessons:
        output.line("No such lesson. holdfast lessons list shows them all.")
    else:
        output.line(
            "No lessons yet. Sessions teach them (holdfast import); holdfast lessons add adds one by hand."
        )
    from holdfast.flows.lesson_upkeep import behind

    if count := behind(project):
        sessions = "One session was" if count == 1 else f"{count} sessions were"
        output.note(f"{sessions} read by an older holdfast; holdfast lessons learn rereads them.")


def _advise(seen: Sequence[LessonStatus]) -> None:
    for state, advice in _ADVICE.items():
        if number := sum(status.state == state for status in seen):
            output.note(f"{plural(number, 'lesson')} {advice}")
    for status in seen:
        if pays(status.payback) is False:
            usage = f"shown {output.counted(status.payback.injected, 'time')}, used {status.payback.used}"
            output.note(
                f"{status.lesson.name} is rarely followed ({usage}); to remove it: holdfast lessons rm "
                f"{status.lesson.name}"
            )


def run_show(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    listed = app.read_lessons(machine, project)
    lesson_status = app.pick(listed.lessons, options.name, app.KEPT_FIRST)
    copies = [
        copy
        for copy in listed.lessons
        if copy.lesson.name == lesson_status.lesson.name and copy.place != lesson_status.place
    ]
    if options.json:
        return output.show_json(views.in_full(lesson_status, copies))
    for each in (lesson_status, *copies):
        views.show(each)
    app.shown(
        machine, project, [each.lesson for each in (lesson_status, *copies) if each.state == "candidate"]
    )


def _change(options: Namespace, machine: Machine) -> None:
    """promote, reject, mute, unmute, rm."""
    change, text = _CHANGES[options.verb]
    done = change(machine, machine.project(), options)
    _answer(options, done, lambda one: text(one, options))
    if options.json:
        return
    if options.verb in ("promote", "reject"):
        output.note("holdfast undo takes it back.")
    elif options.verb == "rm":
        removed = {one.lesson.name for one in done}
        for one in app.read_lessons(machine, machine.project()).lessons:
            if one.lesson.name in removed:
                output.note(f"Still there: {one.stored.path} ({views.state(one)})")


def _answer(options: Namespace, done: Sequence[Handled], text: Callable[[Handled], str]) -> None:
    output.answer(
        options, [handled_as_json(handled) for handled in done], lambda: output.lines(*map(text, done))
    )


def handled_as_json(one: Handled) -> dict[str, Any]:
    return {
        "name": one.lesson.name,
        "id": one.lesson.id,
        "was": "candidate" if one.place == "candidates" else one.place,
        "now": "candidate" if one.into == "candidates" else one.into or None,
        "rules": list(one.lesson.rules),
    }


def active_text(one: Handled, options: Namespace) -> str:
    where = "in all your projects" if (one.into or one.place) == "personal" else "here"
    return f"{one.lesson.name} is active {where}: {_rules(one)}"


def _rejected(one: Handled, options: Namespace) -> str:
    stays = " Its file stays in the repository but has no effect here." if one.place == "shared" else ""
    return f"{_which(one)} rejected, and will not be proposed again: {_rules(one)}.{stays}"


def _muted(one: Handled, options: Namespace) -> str:
    return (
        f"{one.lesson.name} is muted {f'for {options.days} days' if options.days else 'until you unmute it'}."
    )


def _removed(one: Handled, options: Namespace) -> str:
    if one.place == "shared":
        return f"Removed {_which(one)} from .holdfast/lessons/: commit the removal, or restore it with git checkout."
    back = "holdfast undo --personal" if one.place == "personal" else "holdfast undo"
    return f"Removed {_which(one)}. {back} restores it."


def _which(one: Handled) -> str:
    return f"{_WHICH[one.place]} {one.lesson.name}"


def _rules(one: Handled) -> str:
    return flat("; ".join(one.lesson.rules))


_Change = Callable[[Machine, Project, Namespace], list[Handled]]
_CHANGES: dict[str, tuple[_Change, Callable[[Handled, Namespace], str]]] = {
    "promote": (lambda m, p, o: app.promote(m, p, o.names, personal=o.personal), active_text),
    "reject": (lambda m, p, o: app.reject(m, p, o.names), _rejected),
    "mute": (lambda m, p, o: app.mute(m, p, o.names, o.days), _muted),
    "unmute": (
        lambda m, p, o: app.unmute(m, p, o.names),
        lambda one, o: f"{one.lesson.name} is shown again.",
    ),
    "rm": (lambda m, p, o: app.remove(m, p, o.names), _removed),
}


def run_change(options: Namespace, machine: Machine) -> None:
    done = app.reword(machine, machine.project(), options.name, options.rule, options.description)
    _answer(options, done, lambda one: f"{_which(one)} now says: {_rules(one)}")
    if not options.json:
        output.note("holdfast undo takes it back.")


def run_share(options: Namespace, machine: Machine) -> None:
    if options.undo:
        done = sharing.unshare(machine, machine.project(), options.names)
        names = ", ".join(handled.lesson.name for handled in done)
        return output.answer(
            options,
            [handled_as_json(handled) for handled in done],
            f"Removed from the repository: {names}. Commit the removal; git history keeps earlier versions.",
        )
    staged = sharing.share(machine, machine.project(), options.names, instead=options.replace)
    output.answer(options, {"staged": staged}, f"Tracked in git, not committed: {', '.join(staged)}.")
    if not options.json:
        output.note("Rules and session ids are shared; the evidence stays on this machine.")


def run_add(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.file is not None:
        if options.rule or options.fingerprint or options.description:
            raise UsageError("--file has its own rules", fix="Remove --rule, --description and --fingerprint")
        done = app.add_file(
            machine,
            project,
            options.file,
            name=options.name or "",
            personal=options.personal,
            instead=options.replace,
        )
    elif options.name is None:
        raise UsageError("a lesson needs a name", fix="holdfast lessons add NAME --rule TEXT")
    else:
        done = app.add(
            machine,
            project,
            options.name,
            options.rule,
            description=options.description,
            fingerprint=options.fingerprint,
            kind=options.kind,
            personal=options.personal,
            instead=options.replace,
        )
    output.answer(options, handled_as_json(done), active_text(done, options))
    for status in () if options.json else app.read_lessons(machine, project).lessons:
        if status.state == "stale" and (status.lesson.name, status.place) == (done.lesson.name, done.place):
            output.note(f"It is stale and not shown yet: {'; '.join(status.drift)}")
