"""Shares decisions through git: proposes them, writes `.holdfast/decisions/<id>.md`, takes in what others shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import NotFound, StoreError, UsageError
from holdfast.core.git import git_complaint, git_text
from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import words
from holdfast.flows.refresh import refresh
from holdfast.memory.decisions import FOLDER, SHARED, edit_passages
from holdfast.memory.ids import by_id, earlier_ids, reworded
from holdfast.memory.offering import best_first, stands_alone
from holdfast.memory.read import ProjectMemory, known_projects
from holdfast.memory.shared_decisions import (
    SharedDecision,
    SharedFile,
    folder_of,
    is_from_others,
    mirror_shared,
    render_shared,
    said_in_full,
    shared_files,
    trust_name,
)
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Passage
from holdfast.model.statement import Statement
from holdfast.store.gate import gate
from holdfast.store.json_files import decode_json, encode_json
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.trust import Trust

LISTING = "holdfast share --list"
MOST_A_WEEK = 10
_STATE = "shared.json"
_RULES = (".holdfast/.gitignore", ".holdfast/.gitattributes")
_KINDS = ("decision", "rule", "preference", "cause", "answer", "dead_end")
_LEAST_WORTH = 0.5
_NEAR = 2  # passages between a decision and a way that was turned down for it


class _Answers(Struct):
    """What was proposed in which week, and what a person does not want to share."""

    format: int = 1
    proposed: dict[str, str] = {}
    declined: list[str] = []


class Shared(Struct, frozen=True):
    """Files that were written and staged."""

    ids: tuple[str, ...]
    paths: tuple[str, ...]


# --- sharing ---------------------------------------------------------------------------------------------


def share(
    machine: Machine, project: Project, wanted: Sequence[str], *, by: str = "", instead: bool = False
) -> Shared:
    """Writes decisions to `.holdfast/decisions/` and stages them; the owner makes the commit."""
    _require_git(project)
    known, store = _shareable(project), MemoryStore(project, project.title)
    ids = {said.id for said in known}
    chosen = [
        by_id(reworded(store, id, ids) or id, known, lambda said: said.id, "decision", LISTING)
        for id in dict.fromkeys(wanted)
    ]
    author = by or git_text(project.root, "config", "user.name").strip()
    clean, there = gate(machine, project), {one.decision.id: one for one in shared_files(machine, project)}
    contents: dict[str, bytes] = {}
    replaced: list[str] = []
    for statement in chosen:
        made = _for_others(statement, _turned_down(project, statement), clean(author), clean)
        earlier = [id for id in earlier_ids(store.successors(), made.id) if id in there]
        replaced += earlier
        made = replace(made, replaces=made.replaces or next(iter(earlier), ""))
        data = render_shared(made).encode()
        before = there.get(made.id)
        is_ours = before is None or (before.given is not None and before.given.by == "share")
        if before is not None and not is_ours and not instead and before.data != data:
            raise UsageError(
                f"{made.id} is shared, and has been edited since",
                where=str(before.path),
                fix="See git diff. Add --replace to overwrite it with your words",
            )
        contents[made.id] = data
    project.prepare()
    project.write_ignore_rules(decisions=True)
    for id, data in contents.items():
        files.replace(folder_of(project) / f"{id}.md", data, project.lock("shared"), files.ANYTHING)
    trust = Trust(machine.home, project)
    trust.give({trust_name(id): data for id, data in contents.items()}, machine.now().timestamp(), "share")
    if replaced:
        _take_out(machine, project, replaced)
    staged = [*(f".holdfast/{FOLDER}/{id}.md" for id in contents), *_RULES]
    _git_or_fail(project, "add", "--force", *staged)
    return Shared(tuple(contents), tuple(staged))


def unshare(machine: Machine, project: Project, wanted: Sequence[str]) -> list[str]:
    """Removes decisions from the repository. Commits that contain them stay in the history."""
    there = shared_files(machine, project)
    chosen = [
        by_id(id, there, lambda one: one.decision.id, "shared decision", "holdfast share --list").decision.id
        for id in wanted
    ]
    _take_out(machine, project, chosen)
    if not shared_files(machine, project):
        project.write_ignore_rules(decisions=False)
        _git_or_fail(project, "add", "--force", *_RULES)
    refresh(machine, project)
    return chosen


def _take_out(machine: Machine, project: Project, ids: Sequence[str]) -> None:
    paths = [f".holdfast/{FOLDER}/{id}.md" for id in ids]
    _git_or_fail(project, "rm", "--cached", "--quiet", "--ignore-unmatch", *paths)
    files.discard([folder_of(project) / f"{id}.md" for id in ids])
    Trust(machine.home, project).revoke([trust_name(id) for id in ids])


def is_shared(project: Project, id: str) -> bool:
    """Whether the repository has a file of this decision: others follow what it says until it changes."""
    return (folder_of(project) / f"{id}.md").is_file()


def _for_others(
    statement: Statement, not_: Iterable[str], author: str, clean: Callable[[str], str]
) -> SharedDecision:
    said = f"{statement.subject} → {statement.text}" if statement.kind == "answer" else statement.text
    return SharedDecision(
        id=statement.id,
        text=clean(said),
        reason=clean(statement.reason),
        not_=tuple(clean(text) for text in not_),
        by=author,
        at=statement.at,
        replaces=statement.supersedes[0] if statement.supersedes else "",
    )


def _shareable(project: Project) -> list[Statement]:
    memory = ProjectMemory(project)
    said = [*memory.register("decision"), *memory.passage_statements()]
    return [one for one in said if one.status == "agreed" and one.kind in _KINDS]


def _turned_down(project: Project, statement: Statement) -> Iterator[str]:
    """The ways that stand beside a decision as turned down, and are about the same thing."""
    if statement.not_:
        yield statement.not_
    said = {*words(statement.text, ENGLISH)}
    for _, section in ProjectMemory(project).passages():
        places = {passage.id: place for place, passage in enumerate(section.passages)}
        if section.author or (place := places.get(statement.id)) is None:
            continue
        for other, passage in enumerate(section.passages):
            near = abs(other - place) <= _NEAR and len(said & {*words(passage.text, ENGLISH)}) > 1
            if passage.status == "rejected" and near:
                yield passage.text


def _require_git(project: Project) -> None:
    if not git_text(project.root, "rev-parse", "--git-dir"):
        raise UsageError(
            "this project is not in a git repository", where=str(project.root), fix="Run git init first"
        )


def _git_or_fail(project: Project, *arguments: str) -> None:
    if trouble := git_complaint(project.root, *arguments):
        raise StoreError(
            f"git {arguments[0]} failed: {trouble}", where=str(project.root), fix="Fix that and try again"
        )


# --- proposals -------------------------------------------------------------------------------------------


def proposals(machine: Machine, project: Project) -> list[Statement]:
    """What is worth sharing: what a person decided, by hand first, at most ten new ones a week."""
    path, week = project.memory / _STATE, _week(machine)
    answers = _answers(path)
    out = {*answers.declined, *(one.decision.id for one in shared_files(machine, project))}
    known = {
        one.id: one
        for one in _shareable(project)
        if one.basis == "person"
        and not one.source.endswith("shared.md")
        and (one.worth >= _LEAST_WORTH or not one.session)
        and one.id not in out
        and stands_alone(one)
    }
    ranked = sorted(known.values(), key=best_first)
    asked = [id for id, when in answers.proposed.items() if when == week]
    open_before = [one for one in ranked if one.id in answers.proposed]
    fresh = [one for one in ranked if one.id not in answers.proposed][: max(0, MOST_A_WEEK - len(asked))]
    chosen = [*open_before, *fresh][:MOST_A_WEEK]
    if fresh := [one for one in chosen if one.id not in answers.proposed]:
        _change(project, lambda now: now.proposed.update({one.id: week for one in fresh}))
    return chosen


def decline(project: Project, wanted: Sequence[str]) -> list[str]:
    """Does not propose these again."""
    known = _shareable(project)
    ids = [by_id(id, known, lambda said: said.id, "decision", LISTING).id for id in wanted]
    _change(project, lambda now: now.declined.extend(id for id in ids if id not in now.declined))
    return ids


def _week(machine: Machine) -> str:
    year, week, _ = datetime.fromtimestamp(machine.now().timestamp(), UTC).isocalendar()
    return f"{year}-W{week:02}"


def _answers(path: Path) -> _Answers:
    return decode_json(files.read(path), _Answers, path, "Delete it; decisions will then be proposed again")


def _change(project: Project, change: Callable[[_Answers], None]) -> None:
    path = project.memory / _STATE
    with files.lock(project.lock("shared")) as held:
        answers = _answers(path)
        change(answers)
        files.replace_held(held, path, encode_json(answers, indent=1), files.ANYTHING)


# --- what others shared ------------------------------------------------------------------------------------


def to_trust(machine: Machine, project: Project, wanted: Sequence[str] = ()) -> list[SharedFile]:
    """The decisions in the repository that no person here has agreed to, all or those in `wanted`."""
    waiting = [one for one in shared_files(machine, project) if one.given is None]
    if not wanted:
        return waiting
    chosen = [
        by_id(id, waiting, lambda one: one.decision.id, "decision", "holdfast trust lists what waits")
        for id in dict.fromkeys(wanted)
    ]
    if bad := next((one for one in chosen if one.problem), None):
        raise UsageError(
            f"{bad.problem}, so it cannot be trusted",
            where=str(bad.path),
            fix="Ask the person who shared it, or correct the file",
        )
    return chosen


def agree(machine: Machine, project: Project, seen: Iterable[SharedFile]) -> list[str]:
    """Trusts exactly the bytes that the person saw. A decision of one's own that others edited is changed here too."""
    contents = {trust_name(one.decision.id): one.data for one in seen if not one.problem}
    if not contents:
        return []
    project.prepare()
    Trust(machine.home, project).give(contents, machine.now().timestamp(), "trust")
    _take_edits_in(project, {one.decision.id: one.decision for one in seen if not one.problem})
    mirror_shared(machine, project)
    refresh(machine, project)
    return [name.partition("/")[2] for name in contents]


def _take_edits_in(project: Project, edited: dict[str, SharedDecision]) -> None:
    """A decision that was settled here and edited in the pull request gets the words that a person agreed to."""

    def edit(passage: Passage) -> Passage | None:
        new = edited.get(passage.id)
        if new is None or passage.status == "rejected":
            return passage
        if not new.holds:
            return replace(passage, status="superseded", written_id=passage.id)
        return replace(passage, text=said_in_full(new), written_id=passage.id)

    for name in known_projects(project):
        store = MemoryStore(project, name)
        for path in store.months():
            if path.stem != SHARED:
                store.change(path, lambda text: edit_passages(text, edit), "trust")
        if any(decision.id in edited for decision in store.facts().reference.decisions):
            store.change_facts(
                lambda reference: replace(
                    reference,
                    decisions=tuple(
                        replace(one, text=new.text, rationale=new.reason)
                        if (new := edited.get(one.id)) is not None and new.holds
                        else one
                        for one in reference.decisions
                        if one.id not in edited or edited[one.id].holds
                    ),
                ),
                "trust",
            )


def revoke(machine: Machine, project: Project, wanted: Sequence[str]) -> list[str]:
    """Takes trust in others' decisions away again: agents see nothing of them any more."""
    trusted = [one for one in shared_files(machine, project) if is_from_others(one)]
    chosen = [by_id(id, trusted, lambda one: one.decision.id, "trusted decision", LISTING) for id in wanted]
    if not (chosen or wanted):
        chosen = trusted
    if not chosen:
        raise NotFound("no decisions from others are trusted here", fix="holdfast share --list shows them")
    Trust(machine.home, project).revoke([trust_name(one.decision.id) for one in chosen])
    mirror_shared(machine, project)
    refresh(machine, project)
    return [one.decision.id for one in chosen]
