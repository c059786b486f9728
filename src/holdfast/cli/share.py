"""`holdfast share`: proposes decisions to share with the team, and writes them as files that are reviewed in git."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.errors import UsageError
from holdfast.flows import decision_sharing as sharing
from holdfast.memory.shared_decisions import SharedFile, shared_files
from holdfast.model.statement import Statement
from holdfast.store.project import Project
from holdfast.terminal import consent, output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted, flat

DESCRIPTION = """Shares decisions with your team through git. Each becomes a file .holdfast/decisions/ID.md with its
reason and rejected alternatives, staged for you to commit and for others to review. In their clones it has no effect
until they run `holdfast trust`. Without ID, proposes recent decisions, at most ten a week."""
EXAMPLES = """examples:
  holdfast share                         decisions worth sharing, one key for each
  holdfast share D-k3f9ab                write .holdfast/decisions/D-k3f9ab.md and stage it
  holdfast share D-k3f9ab --undo         remove it from the repository again
  holdfast share --list                  what is shared, and by whom
"""
_KEYS = "y share · n do not ask again · s skip · q quit"

OPTIONS = (
    option("ids", nargs="*", metavar="ID", help="ids of decisions to share"),
    flag("--undo", "remove them from the repository again", group="what"),
    flag("--decline", "do not propose them again", group="what"),
    flag("--list", "what is shared in this repository", group="what"),
    option("--by", default="", metavar="NAME", help="who decided (default: git's user.name)"),
    flag("--replace", "overwrite other people's edits"),
    flag("--json", "what was proposed, listed or done, as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.list:
        return _list(options, machine, project)
    if (options.undo or options.decline) and not options.ids:
        raise UsageError("ID is missing", fix="holdfast share --list shows what is shared")
    if options.undo:
        gone = sharing.unshare(machine, project, options.ids)
        return output.answer(
            options,
            {"unshared": gone},
            f"No longer shared: {', '.join(gone)}. Commit the removal; earlier commits still contain them.",
        )
    if options.decline:
        declined = sharing.decline(project, options.ids)
        return output.answer(
            options, {"declined": declined}, f"Will not be proposed again: {', '.join(declined)}."
        )
    if options.ids:
        return _share(options, machine, project, options.ids)
    return _propose(options, machine, project)


def _share(options: Namespace, machine: Machine, project: Project, ids: Sequence[str]) -> None:
    shared = sharing.share(machine, project, ids, by=options.by, instead=options.replace)
    value = {"shared": list(shared.ids), "staged": list(shared.paths)}
    output.answer(options, value, lambda: _show_shared(shared))


def _show_shared(shared: sharing.Shared) -> None:
    output.line(f"Staged {counted(len(shared.ids), 'decision')}: {', '.join(shared.ids)}.")
    output.line("To commit them: git commit -m 'Share decisions' .holdfast")
    output.line("Your colleagues see them after a pull, and their agents once they run holdfast trust.")


def _propose(options: Namespace, machine: Machine, project: Project) -> None:
    proposed = sharing.proposals(machine, project)
    if options.json:
        return output.show_json({"proposed": [_as_json(one) for one in proposed]})
    if not proposed:
        return output.line(
            "No decisions to propose. Share one with holdfast share ID; holdfast note decision list shows them."
        )
    if not consent.terminal():
        for one in proposed:
            output.wrapped(f"{one.id}  {_text(one)}", indent=0)
        return output.line("holdfast share ID shares one; holdfast share --decline ID stops proposing it.")
    _ask_about(options, machine, project, proposed)


def _ask_about(options: Namespace, machine: Machine, project: Project, proposed: Sequence[Statement]) -> None:
    wanted: list[str] = []
    for number, one in enumerate(proposed, 1):
        output.line()
        output.wrapped(f"{one.id}  {_text(one)}", indent=0)
        output.note(f"{number} of {len(proposed)}: {_KEYS}")
        with consent.single_keys() as next_key:
            while (key := next_key().lower()) not in ("y", "n", "s", "q", consent.END):
                pass
        if key in ("q", consent.END):
            break
        if key == "n":
            sharing.decline(project, [one.id])
        if key == "y":
            wanted.append(one.id)
    output.line()
    if wanted:
        return _share(options, machine, project, wanted)
    output.line("Nothing was shared.")


def _list(options: Namespace, machine: Machine, project: Project) -> None:
    if options.ids:
        raise UsageError("--list takes no ID", fix="holdfast share --list lists them all")
    found = shared_files(machine, project)
    if options.json:
        return output.show_json([shared_as_json(one) for one in found])
    for one in found:
        output.heading(f"{one.decision.id}  {_state(one)}")
        output.wrapped(flat(one.decision.text), indent=2)
    if not found:
        output.line("No decisions are shared here. holdfast share proposes some.")


def _state(one: SharedFile) -> str:
    by = f"by {flat(one.decision.by)}" if one.decision.by else "no author"
    if one.problem:
        return f"{by}, cannot be trusted: {one.problem}"
    if one.given is None:
        return f"{by}, {'changed since you trusted it' if one.changed else 'not trusted yet'}"
    return f"{by}, {'yours' if one.given.by == 'share' else 'trusted'}"


def shared_as_json(one: SharedFile) -> dict[str, object]:
    decision = one.decision
    return {
        "id": decision.id,
        "text": decision.text,
        "because": decision.reason,
        "not": list(decision.not_),
        "by": decision.by,
        "at": decision.at,
        "path": str(one.path),
        "state": "refused" if one.problem else "waiting" if one.given is None else one.given.by,
        "problem": one.problem,
    }


def _as_json(one: Statement) -> dict[str, object]:
    return {
        "id": one.id,
        "text": one.text,
        "subject": one.subject,
        "because": one.reason,
        "session": one.session,
    }


def _text(one: Statement) -> str:
    text = f"{one.subject} → {one.text}" if one.subject else one.text
    return flat(f"{text} (because {one.reason})" if one.reason else text)
