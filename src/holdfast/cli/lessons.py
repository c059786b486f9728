"""`holdfast lessons`: what sessions taught; looked through, promoted, rejected, muted, shared, trusted, added."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from holdfast.cli import lesson_views as views
from holdfast.cli import output
from holdfast.cli.memory_views import flat
from holdfast.cli.output import at_least_one, counted
from holdfast.core.errors import UsageError
from holdfast.flows import lesson_sharing as sharing
from holdfast.flows import lessons as app
from holdfast.flows.lessons import Handled
from holdfast.lessons.markdown import KINDS
from holdfast.lessons.states import Seen, pays
from holdfast.lessons.store import Place
from holdfast.store.machine import Machine
from holdfast.store.project import Project

DESCRIPTION = """Lessons: rules that sessions taught, each with the sessions it was seen in. A candidate becomes active
when you promote it, a week after you were first shown it unless you reject it, or once it was seen in two sessions.
Lessons that came with a repository count only after `lessons trust`. NAME may be the beginning of a name, or an id."""
EXAMPLES = """examples:
  holdfast lessons                          all lessons: yours, this project's, shared ones
  holdfast lessons review                   look through candidates: one key for each
  holdfast lessons add testing --rule "run `make test`, never pytest itself" --fingerprint Makefile
  holdfast lessons share testing            let git track it in .holdfast/lessons/ (--undo takes it back)
  holdfast lessons stale                    what is skipped, and what has changed (refresh mends it)
  holdfast lessons extract --dry-run        what a configured model would be asked about the latest session
  holdfast lessons trust                    show what came with the repository, and agree to it
"""
_STATES = ("candidate", "active", "stale", "muted", "rejected", "untrusted")
_SCOPES = ("personal", "local", "shared")
_WHICH: dict[Place, str] = {
    "candidates": "the candidate",
    "local": "the lesson",
    "shared": "the shared lesson",
    "personal": "the personal lesson",
}
_NAMED = {
    "promote": "make candidates active",
    "reject": "not wanted: removed, and kept away in any words",
    "mute": "true, but not to be told",
    "unmute": "tell a muted lesson again",
    "share": "let git track lessons in .holdfast/lessons/; commits nothing",
    "rm": "take lessons away (a session may teach them anew: reject keeps them away)",
}


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    listing = verbs.add_parser("list", help="all lessons, of all scopes (the default)")
    # What is said before the verb counts too: a verb's own default must not overwrite it.
    for place, default in ((parser, None), (listing, argparse.SUPPRESS)):
        place.add_argument(
            "--state",
            choices=_STATES,
            metavar="STATE",
            default=default,
            help=f"only lessons in this state: {', '.join(_STATES)}",
        )
        place.add_argument(
            "--scope",
            choices=_SCOPES,
            metavar="SCOPE",
            default=default,
            help=f"only of this scope: {', '.join(_SCOPES)}",
        )
    review = verbs.add_parser("review", help="look through candidates: one key for each")
    show = verbs.add_parser("show", help="one lesson with its evidence")
    show.add_argument("name", metavar="NAME", help="the lesson's name or id, or the beginning of it")
    named = {verb: verbs.add_parser(verb, help=about) for verb, about in _NAMED.items()}
    for verb in named.values():
        verb.add_argument("names", nargs="+", metavar="NAME", help="name or id, or the beginning of it")
    named["promote"].add_argument(
        "--personal", action="store_true", help="for all your projects, not this one alone"
    )
    named["mute"].add_argument(
        "--days", type=at_least_one, metavar="N", help="for N days (default: until unmuted)"
    )
    named["share"].add_argument("--undo", action="store_true", help="take them out of the repository again")
    named["share"].add_argument(
        "--replace", action="store_true", help="put yours in the place of somebody else's of the same name"
    )
    stale = verbs.add_parser("stale", help="lessons that are skipped: what they depend on has changed")
    fresh = verbs.add_parser("refresh", help="bring stale lessons up to date with the repository")
    fresh.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all that are stale)")
    fresh.add_argument("--keep", action="store_true", help="they hold as they are: only the hashes are new")
    trust = verbs.add_parser("trust", help="show lessons that came with the repository, and agree to them")
    _configure_trust(trust)
    extract = verbs.add_parser("extract", help="ask the configured model for lessons of one session")
    extract.add_argument(
        "--session", default="", metavar="ID", help="its id or the beginning of it (default: the latest)"
    )
    extract.add_argument(
        "--dry-run", action="store_true", help="show what would be sent, and where to; nothing is sent"
    )
    learn = verbs.add_parser("learn", help="read sessions again that an older holdfast could not learn from")
    learn.add_argument("--all", action="store_true", help="all of them, whoever read them")
    add = verbs.add_parser("add", help="write a lesson by hand, active at once")
    _configure_add(add)
    parser.add_argument("--json", action="store_true", help="the result as JSON")
    for verb in (listing, show, stale, fresh, trust, extract, learn, add, *named.values()):
        verb.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="the result as JSON")
    review.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="the candidates as JSON, nothing is asked",
    )


def _configure_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all that are shown)")
    parser.add_argument("--all", action="store_true", help="all that are not trusted yet")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--revoke", action="store_true", help="take trust away again")


def _configure_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="its name: letters, digits and dashes")
    parser.add_argument(
        "--rule", action="append", default=[], metavar="TEXT", help="a rule in one line; repeat it for each"
    )
    parser.add_argument("--description", default="", metavar="TEXT", help="what the rules are about")
    parser.add_argument(
        "--fingerprint",
        action="append",
        default=[],
        metavar="TARGET",
        help="what it depends on: a file, tests/, src/**/*.ts, package.json#scripts.test; repeat it for each",
    )
    parser.add_argument("--kind", choices=KINDS, default="other", help="the sort of lesson (default: other)")
    parser.add_argument("--file", type=Path, metavar="FILE", help="take a file that is written already")
    parser.add_argument("--personal", action="store_true", help="for all your projects, not this one alone")
    parser.add_argument("--replace", action="store_true", help="in the place of a lesson of the same name")


def run(options: argparse.Namespace, machine: Machine) -> int:
    verb: str = options.verb or "list"
    if verb == "review":
        from holdfast.cli.lessons_review import review

        return review(machine, as_json=options.json)
    if verb == "trust":
        from holdfast.cli.lessons_trust import trust

        return trust(machine, options)
    if verb == "extract":
        from holdfast.cli import lessons_extract

        return lessons_extract.run(options, machine)
    if verb == "learn":
        from holdfast.cli import lessons_learn

        return lessons_learn.run(options, machine)
    if verb in ("stale", "refresh"):
        from holdfast.cli import lessons_stale

        return lessons_stale.run(options, machine)
    if verb == "list":
        return _list(options, machine)
    if verb == "show":
        return _show(options, machine)
    if verb == "add":
        return _add(options, machine)
    if verb == "share":
        return _share(options, machine)
    return _change(verb, options, machine)


# --- reading -------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    listed = app.read_lessons(machine, project)
    for problem in listed.problems:
        output.warn(problem)
    seen = [
        one
        for one in listed.lessons
        if options.state in (None, one.state) and options.scope in (None, one.scope)
    ]
    seen.sort(key=lambda one: (one.lesson.name, one.place))
    if options.json:
        output.show_json([views.as_json(one) for one in seen])
        return 0
    if not seen:
        output.line(_nothing(bool(listed.lessons)))
        _say_behind(project)
        return 0
    views.show_list(seen)
    app.shown(machine, project, [one.lesson for one in seen if one.state == "candidate"])
    _advise(seen)
    _say_behind(project)
    return 0


def _say_behind(project: Project) -> None:
    from holdfast.flows.lesson_upkeep import behind

    if count := behind(project):
        sessions = "One session was" if count == 1 else f"{count} sessions were"
        output.note(f"{sessions} read by an older holdfast: holdfast lessons learn learns from them.")


def _nothing(any_at_all: bool) -> str:
    if any_at_all:
        return "No such lesson. holdfast lessons list shows all."
    return "No lessons yet. Sessions teach them (holdfast import); holdfast lessons add writes one by hand."


def _advise(seen: Sequence[Seen]) -> None:
    waiting = sum(one.state == "candidate" for one in seen)
    foreign = sum(one.state == "untrusted" for one in seen)
    old = sum(one.state == "stale" for one in seen)
    if waiting:
        output.note(f"{_number(waiting)} to look at: holdfast lessons review")
    if foreign:
        output.note(f"{_number(foreign)} from the repository, not trusted: holdfast lessons trust")
    if old:
        output.note(f"{_number(old)} stale: holdfast lessons stale says why")
    for one in seen:
        if pays(one.payback) is False:
            told = f"told {counted(one.payback.injected, 'time')}, used {one.payback.used}"
            output.note(f"{one.lesson.name} does not pay ({told}): holdfast lessons rm {one.lesson.name}")


def _number(count: int) -> str:
    return f"{count} lesson{'s' if count != 1 else ''}"


def _show(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    listed = app.read_lessons(machine, project)
    one = app.pick(listed.lessons, options.name, app.KEPT_FIRST)
    others = [
        other for other in listed.lessons if other.lesson.name == one.lesson.name and other.place != one.place
    ]
    if options.json:
        output.show_json(views.in_full(one, others))
        return 0
    for each in (one, *others):
        views.show(each)
    app.shown(machine, project, [each.lesson for each in (one, *others) if each.state == "candidate"])
    return 0


# --- changing ------------------------------------------------------------------------------------------


def _change(verb: str, options: argparse.Namespace, machine: Machine) -> int:
    project, names = machine.project(), options.names
    handlers: dict[str, Callable[[], list[Handled]]] = {
        "promote": lambda: app.promote(machine, project, names, personal=options.personal),
        "reject": lambda: app.reject(machine, project, names),
        "mute": lambda: app.mute(machine, project, names, options.days),
        "unmute": lambda: app.unmute(machine, project, names),
        "rm": lambda: app.remove(machine, project, names),
    }
    done = handlers[verb]()
    if options.json:
        output.show_json([_handled(one) for one in done])
        return 0
    for one in done:
        output.line(_said(verb, one, options))
    if verb == "rm":
        _still_there(machine, done)
    elif verb in ("promote", "reject"):
        output.note("holdfast undo takes it back.")
    return 0


def _handled(one: Handled) -> dict[str, Any]:
    scopes: dict[Place, str] = {
        "candidates": "candidate",
        "local": "local",
        "shared": "shared",
        "personal": "personal",
    }
    return {
        "name": one.lesson.name,
        "id": one.lesson.id,
        "was": scopes[one.place],
        "now": scopes[one.into] if one.into else None,
        "rules": list(one.lesson.rules),
    }


def _said(verb: str, one: Handled, options: argparse.Namespace) -> str:
    name, rules = one.lesson.name, flat("; ".join(one.lesson.rules))
    where = _WHICH[one.place]
    if verb == "promote":
        return f"{name} is active {'in all your projects' if one.into == 'personal' else 'here'}: {rules}"
    if verb == "reject":
        stays = " Its file stays in the repository, and does not count here." if one.place == "shared" else ""
        return f"{where} {name} is rejected and will not come back: {rules}.{stays}"
    if verb == "mute":
        return f"{name} is muted {f'for {options.days} days' if options.days else 'until you unmute it'}."
    if verb == "unmute":
        return f"{name} is told again."
    if one.place == "shared":
        return f"Removed {where} {name} from .holdfast/lessons/: commit that, or git checkout brings it back."
    back = "holdfast undo --personal" if one.place == "personal" else "holdfast undo"
    return f"Removed {where} {name}. {back} brings it back."


def _still_there(machine: Machine, removed: Sequence[Handled]) -> None:
    gone = {one.lesson.name for one in removed}
    for one in app.read_lessons(machine, machine.project()).lessons:
        if one.lesson.name in gone:
            output.note(f"Still there: {one.found.path} ({views.state(one)})")


def _share(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    if options.undo:
        done = sharing.unshare(machine, project, options.names)
        if options.json:
            output.show_json([_handled(one) for one in done])
        else:
            names = ", ".join(one.lesson.name for one in done)
            output.line(
                f"Out of the repository: {names}. Commit the removal; git's history keeps what it had."
            )
        return 0
    staged = sharing.share(machine, project, options.names, instead=options.replace)
    if options.json:
        output.show_json({"staged": staged})
    else:
        output.line(f"Tracked in git, not committed: {', '.join(staged)}.")
        output.note("Rules and sessions are shared; the lines of evidence stay on this machine.")
    return 0


def _add(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    if options.file is not None:
        if options.rule or options.fingerprint or options.description:
            raise UsageError(
                "--file brings its own rules", fix="Leave out --rule, --description and --fingerprint"
            )
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
    if options.json:
        output.show_json(_handled(done))
        return 0
    where = "in all your projects" if done.place == "personal" else "here"
    output.line(f"{done.lesson.name} is active {where}: {flat('; '.join(done.lesson.rules))}")
    for one in app.read_lessons(machine, project).lessons:
        if one.state == "stale" and (one.lesson.name, one.place) == (done.lesson.name, done.place):
            output.note(f"It is stale and not told yet: {'; '.join(one.drift)}")
    return 0
