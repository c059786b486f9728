"""What this branch's sessions decided, turned down and checked, as text for a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.core.errors import NotFound, UsageError
from holdfast.core.git import git_text
from holdfast.core.session_id import short_session
from holdfast.guard.inert import inert
from holdfast.memory.read import ProjectMemory
from holdfast.model.events import DistilledSession
from holdfast.model.statement import Statement, StatementKind
from holdfast.sessions.lookup import title_of_record
from holdfast.sessions.store import CaptureStore
from holdfast.store.project import Project

MOST_OF_A_KIND = 12
_DEFAULTS = ("origin/HEAD", "main", "master", "trunk")
_DECIDES: tuple[StatementKind, ...] = ("decision", "rule", "preference")


def pull_request_text(project: Project, clean: Callable[[str], str]) -> str:
    """Raises if this is not a branch of its own, or no session is known on it."""
    branch = git_text(project.root, "symbolic-ref", "--quiet", "--short", "HEAD")
    base = next((name for name in _DEFAULTS if _merge_base(project, name)), "")
    if not branch or not base or branch == base.rpartition("/")[2]:
        raise UsageError("no pull request can be opened from here", fix="Check out its branch first")
    commits = git_text(project.root, "rev-list", f"{_merge_base(project, base)}..HEAD").split()
    none: list[DistilledSession] = []
    records = CaptureStore.glimpse(project.capture, lambda store: store.all_records(), none)
    mine = [record for record in records if _worked_on(record, branch, commits)]
    if not mine:
        raise NotFound(
            f"no recorded session worked on {branch}", fix="holdfast import reads what agents recorded"
        )
    mine.sort(key=lambda record: record.started or 0.0)
    return clean("\n".join(_lines(project, mine)) + "\n")


def _merge_base(project: Project, name: str) -> str:
    return git_text(project.root, "merge-base", name, "HEAD")


def _worked_on(record: DistilledSession, branch: str, commits: Iterable[str]) -> bool:
    made = {line.partition(" ")[0] for line in record.harvest.commits}
    return record.branch == branch or any(sha.startswith(tuple(made)) for sha in commits if made)


def _lines(project: Project, records: list[DistilledSession]) -> list[str]:
    sessions = {record.session for record in records}
    known = ProjectMemory(project).statements(*_DECIDES, "dead_end")
    said = [item for item in known if item.session in sessions]
    decided = [item for item in said if item.kind in _DECIDES and item.status == "agreed" and item.text]
    rejected = [item.text for item in said if item.status == "rejected" and item.text]
    rejected += [item.not_ for item in decided if item.not_]
    # A command that failed and was then given otherwise says nothing about the change.
    tried = [item for item in said if item.kind == "dead_end" and item.not_ and item.basis != "command"]
    rejected += [f"{item.not_}: {item.reason}" for item in tried]
    checks = {f"{kind}: `{command}`": None for record in records for kind, command in record.verified}
    sections = (
        ("What was decided", [_decision(item) for item in decided]),
        ("Not done, and why", rejected),
        ("Checked", [f"{line} passed" for line in checks]),
        ("Sessions", [_session(record) for record in records]),
    )
    lines: list[str] = []
    for title, items in sections:
        if items:
            unique = list(dict.fromkeys(inert(" ".join(item.split()), "md") for item in items))
            more = len(unique) - MOST_OF_A_KIND
            lines += [f"## {title}", "", *(f"- {item}" for item in unique[:MOST_OF_A_KIND])]
            lines += [f"- and {more} more", ""] if more > 0 else [""]
    return lines[:-1]


def _decision(item: Statement) -> str:
    return f"{item.text}{f' — {item.reason}' if item.reason else ''} ({item.id})"


def _session(record: DistilledSession) -> str:
    return f"{title_of_record(record) or short_session(record.session)} ({record.agent}, {record.outcome})"
