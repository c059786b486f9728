"""Conventions of registration that sessions had to discover: what is in git's history, where a session worked on it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.app.guides import Guides
from holdfast.distill.lesson_form import evidence_of, slug
from holdfast.model.lesson import PRESENT, Fingerprint, Lesson
from holdfast.model.session import Lived
from holdfast.repo.git_output import git_output
from holdfast.repo.registration import Registration, registrations
from holdfast.store.layout import Project

FEWEST_SESSIONS = 3  # known here before git's history is asked
MOST_LISTS = 3  # that one rule names
_SECONDS, _BYTES = 2.0, 200


def head_of(project: Project) -> str:
    """The commit that is checked out; '' outside git."""
    printed = git_output(project.root, "rev-parse", "HEAD", seconds=_SECONDS, most_bytes=_BYTES)
    return printed.decode("ascii", "replace").strip()


def registration_lessons(project: Project, lived: Sequence[Lived], guides: Guides) -> list[Lesson]:
    """Where new files are registered: a rule for each kind that a session worked on; none that a guide has."""
    if len(lived) < FEWEST_SESSIONS:
        return []
    by_kind: dict[tuple[str, str], list[Registration]] = {}
    for one in registrations(project.root):
        if not guides.name(one.registry):
            by_kind.setdefault((one.folder, one.ending), []).append(one)
    made = (_lesson(found[:MOST_LISTS], lived) for found in by_kind.values())
    return [lesson for lesson in made if lesson is not None]


def _lesson(found: Sequence[Registration], lived: Sequence[Lived]) -> Lesson | None:
    first = found[0]
    lists = {one.registry for one in found}
    met = [session for session in lived if _worked_on(session, first, lists)]
    if not met:
        return None
    names = ", ".join(f"`{one.registry}`" for one in found)
    shown = "; ".join(
        f"{one.registry}: changed by {one.together} of {one.added} commits that added one,"
        f" names {one.named} of {one.there}"
        for one in found
    )
    return Lesson(
        name=slug("register", " ".join(first.folder.split("/")[-2:]), first.ending),
        description="where new files are registered",
        rules=(f"a new `{first.folder}/*.{first.ending}` is registered in {names}",),
        kind="convention",
        fingerprint=tuple(Fingerprint(target=one.registry, digest=PRESENT) for one in found),
        captured_at=met[-1].ended,
        evidence=evidence_of((session.session, session.ended, shown) for session in met),
    )


def _worked_on(session: Lived, kind: Registration, lists: set[str]) -> bool:
    """Whether a session edited such a file and one of the lists: it found out that they belong together."""
    edited = {touch.path for touch in session.files if touch.edits}
    inside = f"{kind.folder}/"
    ours = (
        path
        for path in edited
        if path.startswith(inside) and path.endswith(f".{kind.ending}") and "/" not in path[len(inside) :]
    )
    return bool(edited & lists) and any(path not in lists for path in ours)
