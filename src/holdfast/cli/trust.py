"""`holdfast trust`: shows what came from elsewhere and reaches no agent yet, and lets a person agree to it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast import __version__
from holdfast.cli import lessons_verbs
from holdfast.cli.export import amount
from holdfast.cli.share import shared_as_json
from holdfast.core.errors import NotFound, UsageError
from holdfast.core.patterns import lazy_regex
from holdfast.flows import decision_sharing as decisions
from holdfast.flows import lesson_sharing as sharing
from holdfast.guard.hidden_text import visible
from holdfast.memory.shared_decisions import SharedFile
from holdfast.store.project import Project
from holdfast.terminal import output
from holdfast.terminal.consent import agreed, require_person
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted, flat
from holdfast.upkeep.archives import Received, accept, drop, find_waiting, waiting
from holdfast.views import lessons as lesson_views

DESCRIPTION = """Lists what came from elsewhere and awaits your review: archives from other machines, and lessons and
decisions in the repository. Agents see none of it. With NAME (an archive's id or title, a lesson, or a decision's
id), shows in full what agents would see, and asks. Any change to the content needs trust again."""
EXAMPLES = """examples:
  holdfast trust                   list what is waiting
  holdfast trust 1f4a9c02          review an archive, then import it
  holdfast trust 1f4a9c02 --drop   discard a waiting archive
  holdfast trust go-generate       a lesson that came with the repository
  holdfast trust D-k3f9ab          a decision that came with the repository
"""
_DECISION = lazy_regex(r"D-[0-9a-z]{2,6}\Z")
_NOUNS = {
    "session": "session",
    "lesson": "rule",
    "decision": "decision",
    "fact": "fact",
    "question": "question",
    "state": "state line",
    "knowledge": "style line",
}
_LABELS = {
    "lesson": "rules",
    "decision": "decisions",
    "state": "next steps and notes",
    "knowledge": "style.md",
    "fact": "facts",
}

OPTIONS = (
    option("names", nargs="*", metavar="NAME", help="an archive's id or title, a lesson, or a decision's id"),
    flag("--drop", "discard a waiting archive; the file it came from stays", group="how"),
    flag("--revoke", "revoke trust in lessons or decisions", group="how"),
    flag("--yes", "do not ask; needs a NAME"),
    flag("--json", "what is waiting, or what was done, as JSON"),
)


def run(options: Namespace, machine: Machine) -> int:
    project = machine.project()
    if options.names and all(_DECISION.match(name) for name in options.names) and not options.drop:
        return _decisions(options, machine, project)
    found = {name: find_waiting(machine, project, name) for name in options.names}
    archives = [archive for archive in found.values() if archive is not None]
    options.names = [name for name, archive in found.items() if archive is None]
    options.all = False
    if options.revoke or (options.names and not archives):
        if options.drop:
            raise UsageError(
                f"no archive {options.names[0]!r} is waiting here", fix="holdfast trust lists them"
            )
        try:
            return lessons_verbs.trust(options, machine)
        except NotFound as error:
            problem = error.problem.replace("no lesson", "no archive and no lesson")
            raise NotFound(problem, fix="holdfast trust lists what is waiting") from error
    if options.names:
        raise UsageError(
            "archives and lessons cannot be trusted together", fix="Name them in separate commands"
        )
    if not archives:
        return _list(options, machine, project)
    if options.drop:
        for archive in archives:
            drop(archive)
        ids = [archive.archive.id for archive in archives]
        output.answer(options, {"dropped": ids}, f"Removed: {', '.join(ids)}.")
        return 0
    return _agree(options, machine, project, archives)


def _decisions(options: Namespace, machine: Machine, project: Project) -> int:
    """Decisions that came with the repository: shown in full, and trusted after a yes."""
    if options.revoke:
        gone = decisions.revoke(machine, project, options.names)
        output.answer(options, {"trusted": [], "revoked": gone}, f"No longer trusted: {', '.join(gone)}.")
        return 0
    seen = decisions.to_trust(machine, project, options.names)
    if options.json and not options.yes:
        output.show_json({"trusted": [], "waiting": [shared_as_json(one) for one in seen]})
        return 0
    require_person(machine)
    for one in () if options.json else seen:
        output.heading(f"{one.decision.id}  {flat(visible(one.decision.by or 'no author'))}")
        output.wrapped(flat(visible(one.decision.text)), indent=2)
        for label, texts in (("because", [one.decision.reason]), ("not", one.decision.not_)):
            for text in filter(None, texts):
                output.wrapped(f"{label}: {flat(visible(text))}", indent=2)
    which = f"these {len(seen)} decisions" if len(seen) > 1 else f"the decision {seen[0].decision.id}"
    if not options.yes and not agreed(f"Show agents {which}?", "Add --yes to agree"):
        output.line("Nothing was changed.")
        return 1
    done = decisions.agree(machine, project, seen)
    said = f"Trusted: {', '.join(done)}. Any change revokes that."
    output.answer(options, {"trusted": done, "waiting": []}, said)
    return 0


def _list(options: Namespace, machine: Machine, project: Project) -> int:
    if options.yes or options.drop:
        raise UsageError("NAME is missing", fix="holdfast trust lists what is waiting")
    archives, lessons = waiting(machine, project), sharing.to_trust(machine, project)
    shared = decisions.to_trust(machine, project)
    if options.json:
        output.show_json(
            {
                "archives": [archive.as_json() for archive in archives],
                "lessons": [lesson_views.as_json(status) for status in lessons],
                "decisions": [shared_as_json(one) for one in shared],
            }
        )
        return 0
    for archive in archives:
        output.heading(f"{archive.archive.id}  {_title(archive)}")
        output.line(f"  {_holds(archive)}", under=2)
    for status in lessons:
        output.heading(f"{status.lesson.name}  a lesson that came with the repository")
        output.line(f"  {flat('; '.join(status.lesson.rules))}", under=2)
    for one in shared:
        by = flat(visible(one.decision.by or "no author"))
        output.heading(f"{one.decision.id}  a decision that {by} shared{_note(one)}")
        output.line(f"  {flat(visible(one.decision.text))}", under=2)
    if archives or lessons or shared:
        output.line()
        output.line("Agents do not see any of this. holdfast trust NAME shows one in full, then asks.")
    else:
        output.line("Nothing here is waiting for your trust.")
    return 0


def _note(one: SharedFile) -> str:
    if one.problem:
        return f"; {one.problem}"
    return "; it has changed since you trusted it" if one.changed else ""


def _title(received: Received) -> str:
    manifest = received.archive.manifest
    return f"archive of {manifest.title}, made on another machine on {manifest.made[:10]}"


def _holds(received: Received) -> str:
    counts = received.contents.counts()
    parts = [counted(counts[kind], noun) for kind, noun in _NOUNS.items() if kind in counts]
    size = amount(received.archive.manifest.bytes)
    return f"{', '.join(parts) or 'nothing to search'} ({size})"


def show_received(received: Received) -> None:
    """Everything of an archive that agents would see as it stands, in full; of the rest, how much there is."""
    output.heading(f"{received.archive.id}  {_title(received)}:")
    output.line(f"  {_holds(received)}", under=2)
    lines = received.contents.instructions()
    for kind, label in _LABELS.items():
        texts = [text for of_kind, text in lines if of_kind == kind]
        if texts:
            output.line(f"  {label}:")
            for text in texts:
                output.wrapped(f"- {flat(visible(text))}", indent=4)


def _agree(options: Namespace, machine: Machine, project: Project, archives: Sequence[Received]) -> int:
    if options.json and not options.yes:
        output.show_json({"trusted": [], "waiting": [archive.as_json() for archive in archives]})
        return 0
    require_person(machine)
    done = []
    for archive in archives:
        if not options.json:
            show_received(archive)
        if not options.yes and not agreed("Trust this archive and import it?", "Add --yes to agree"):
            output.line("Nothing was changed.")
            return 1
        accept(machine, project, archive, __version__)
        done.append(archive.archive.id)
    trusted = f"Trusted and imported: {', '.join(done)}. What was here is unchanged."
    output.answer(options, {"trusted": done, "waiting": []}, trusted)
    return 0
