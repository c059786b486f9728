"""Brings told.db up to date with the files of decisions, their sessions, and the commits of the checkout."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from holdfast.briefing.told_index import ToldIndex, open_told
from holdfast.core.errors import HoldfastError
from holdfast.core.hashes import blake2b
from holdfast.core.place import stamp
from holdfast.memory.decisions import SessionPassages, passage_statement
from holdfast.memory.read import known_projects
from holdfast.memory.shared_decisions import mirror_shared
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Passage
from holdfast.model.source import Source
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.switches import switches_of

_FILE = "file "  # before the name of a file among the notes
BY_HAND = (
    "decided"  # begins the ids of decisions of the register, which `recall` and briefs search by themselves
)
_WORTH_BY_HAND = 95  # percent: a person found it worth the words
_BRANCH_DAYS = 14  # after which what was settled on a branch counts everywhere


def update_told(machine: Machine, project: Project, *, git: bool = True) -> None:
    """Takes in what changed since the last time. Files with an unchanged stamp are not read.

    Without `git` only sessions: a long history takes minutes when it is read for the first time.
    """
    mirror_shared(machine, project)
    files = dict(_files(project))
    with open_told(project.memory) as index:
        seen = msgspec.json.decode(index.meta("files") or "{}", type=dict[str, tuple[str, list[str]]])
        changed = {shown: path for shown, path in files.items() if seen.get(shown, ("",))[0] != stamp(path)}
        gone = [id for shown, (_, ids) in seen.items() if shown not in files for id in ids]
        if changed or gone:
            known, last = index.stamps(), index.last()
            index.remove(gone)
            now = {shown: entry for shown, entry in seen.items() if shown in files}
            for shown, path in changed.items():
                now[shown] = _take_in(index, project, shown, path, known, seen)
            index.link_sessions(last)
            index.set_meta("files", msgspec.json.encode(now).decode())
            index.set_meta("stamps", stamps_text((shown, entry[0]) for shown, entry in now.items()))
        if git:
            _take_in_git(machine, project, index)


def stamps_text(stamps: Iterator[tuple[str, str]]) -> str:
    """As `hooks/telling.py` compares it: a line for each file, in the order of their names."""
    return "\n".join(f"{shown} {mark}" for shown, mark in sorted(stamps))


def _files(project: Project) -> Iterator[tuple[str, Path]]:
    for name in known_projects(project):
        with contextlib.suppress(HoldfastError):
            store = MemoryStore(project, name)
            for path in (*store.months(), store.reference_file, store.questions_file):
                if path.is_file():
                    yield path.relative_to(project.memory).as_posix(), path


def _take_in(
    index: ToldIndex,
    project: Project,
    shown: str,
    path: Path,
    known: dict[str, str],
    seen: dict[str, tuple[str, list[str]]],
) -> tuple[str, list[str]]:
    mark, name = stamp(path), shown.split("/")[1]
    try:
        store = MemoryStore(project, name)
        by_hand = _BY_HAND_IN.get(path.name)
        sections = by_hand(store) if by_hand else store.decisions(path).sections
    except (HoldfastError, OSError):
        return mark, seen.get(shown, ("", []))[1]  # `doctor` reports it; what was read before stays
    ids: list[str] = []
    fresh: list[tuple[SessionPassages, str, str]] = []
    for section in sections:
        if not section.passages:
            continue
        digest = blake2b(msgspec.json.encode(section), digest_size=8).hexdigest()
        origin = BY_HAND if by_hand else "note"
        id = section.session or f"{origin} {blake2b(_key(section).encode(), digest_size=6).hexdigest()}"
        ids.append(id)
        if known.get(id) != digest:
            fresh.append((section, id, digest))
    with contextlib.suppress(HoldfastError):
        index.put(_sources(project, name, fresh))
    index.remove(set(seen.get(shown, ("", []))[1]) - set(ids))
    return mark, ids


def _decided_by_hand(store: MemoryStore) -> list[SessionPassages]:
    """What a person wrote into the register. What sessions decided stands in the files of their months."""
    return [
        SessionPassages(
            session="",
            title=decision.text,
            at=decision.at,
            passages=(
                Passage(
                    text=f"{decision.text} (because {decision.rationale})"
                    if decision.rationale
                    else decision.text,
                    by="user",
                    worth=_WORTH_BY_HAND,
                    written_id=decision.id,
                ),
            ),
        )
        for decision in store.facts().reference.decisions
        if not decision.session and decision.by != "agent"
    ]


def _answered_by_hand(store: MemoryStore) -> list[SessionPassages]:
    """The questions that a person answered. What sessions were answered stands in the files of their months."""
    return [
        SessionPassages(
            session="",
            title=question.text,
            at=question.at if question.answered_at is None else question.answered_at,
            passages=(
                Passage(
                    text=f"{question.text} → {question.answer}",
                    kind="answer",
                    by="user",
                    worth=_WORTH_BY_HAND,
                    written_id=question.id,
                ),
            ),
        )
        for question in store.questions().questions
        if question.answer and not question.session and question.by != "agent"
    ]


_BY_HAND_IN = {"reference.md": _decided_by_hand, "open-questions.md": _answered_by_hand}


def _key(section: SessionPassages) -> str:
    """What tells apart the sections that no session wrote: their title, and of shared ones the person."""
    return f"{section.author} · {section.title}" if section.author else section.title


def _sources(project: Project, name: str, fresh: list[tuple[SessionPassages, str, str]]) -> Iterator[Source]:
    main = name if name != project.title else ""
    for section, id, digest in fresh:
        dialogue = _dialogue(project, section.session)
        texts = dialogue or [section.title, *(passage.text for passage in section.passages)]
        branches = (section.branch,) if section.branch else ()
        yield Source(
            id=id,
            # A decision by itself, by hand or shared, is found like a decision record: there is no chat around it.
            kind="session" if section.session else "document",
            at=section.at,
            title=section.title,
            who=section.author or ("" if section.session else "you"),
            project=main,
            branches=branches,
            everywhere_from=None if section.at is None else section.at + _BRANCH_DAYS * 86_400.0,
            turns=tuple(texts),
            statements=tuple(passage_statement(passage, section) for passage in section.passages),
            stamp=digest,
        )


def _dialogue(project: Project, session: str) -> list[str]:
    none: list[str] = []
    return (
        CaptureStore.glimpse(project.capture, lambda store: store.dialogue(session), none)
        if session
        else none
    )


def _take_in_git(machine: Machine, project: Project, index: ToldIndex) -> None:
    """Commits and documents of the checkout. Those of others count once `init` was answered here."""
    from holdfast.briefing.told_branches import follow_commits
    from holdfast.knowledge.commit_memory import CommitsRead, commit_sources, own_emails
    from holdfast.knowledge.document_memory import DocumentsRead, document_sources

    now = machine.now().timestamp()
    before = index.meta("commits")
    commits = commit_sources(
        project.root,
        msgspec.json.decode(before, type=CommitsRead) if before else None,
        clean=machine.clean,
        user_emails=own_emails(project.root),
        others=switches_of(project).enabled,
        now=now,
    )
    if commits.is_fresh:
        index.remove_all("commit")
    index.put(commits.sources())
    index.remove(commits.gone)
    _note(index, "commits", commits.state)
    follow_commits(project, index, commits.state, now)
    before = index.meta("documents")
    documents = document_sources(
        project.root,
        msgspec.json.decode(before, type=DocumentsRead) if before else None,
        clean=machine.clean,
        others=switches_of(project).enabled,
        now=now,
    )
    index.put(documents.sources)
    index.remove(documents.gone)
    _note(index, "documents", documents.state)


def _note(index: ToldIndex, key: str, state: msgspec.Struct | None) -> None:
    noted = "" if state is None else msgspec.json.encode(state).decode()
    if index.meta(key) != noted:
        index.set_meta(key, noted)
