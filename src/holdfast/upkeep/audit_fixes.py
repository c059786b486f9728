"""What `audit --fix` can do by itself: remove a line that stands twice in a list, and replace secrets with marks.

Every file is put into a backup before the first one is written. What `holdfast undo` keeps of our memory is redacted
too, or the secret would stay in the older versions; so the backup is the way back.
"""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.text_diff import unified
from holdfast.guard.redact import Redactor
from holdfast.memory.read import known_projects
from holdfast.memory.store import MemoryStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.sections import decode_text, encode_text
from holdfast.store.versions import Versions
from holdfast.upkeep.audit import Audit
from holdfast.upkeep.audited_files import AuditedFile
from holdfast.upkeep.rules_in_text import rules_in


class PlannedFix(Struct, frozen=True, kw_only=True):
    """One file to change. The secrets in `diff` are masked: a diff ends up in transcripts."""

    file: str
    path: Path
    area: str
    before: bytes
    after: bytes
    duplicates: int
    secrets: int
    diff: str


def plan_fixes(machine: Machine, result: Audit) -> list[PlannedFix]:
    """The changes for all findings that can be fixed, one for each file."""
    by_path = {str(file.path): file for file in result.files}
    lines: dict[str, set[int]] = {}
    for finding in result.findings:
        if finding.fixable:
            lines.setdefault(finding.path, set())
            if finding.check == "duplicate":
                lines[finding.path].add(finding.line)
    plans = (_plan(machine.redactor, by_path[path], numbers) for path, numbers in lines.items())
    return [plan for plan in plans if plan is not None]


def _plan(redactor: Redactor, file: AuditedFile, duplicates: set[int]) -> PlannedFix | None:
    before = files.read(file.path)
    if before is None or encode_text(file.text) != before:
        return None  # changed since the audit read it
    text = _without_lines(file.text, duplicates)
    secrets = redactor.findings(text)
    after = encode_text(redactor.redact(text))
    if after == before:
        return None
    masked = file.text
    for secret in reversed(redactor.findings(masked)):
        mark = f"****({secret.end - secret.start} characters)"
        masked = masked[: secret.start] + mark + masked[secret.end :]
    return PlannedFix(
        file=file.shown,
        path=file.path,
        area=file.area,
        before=before,
        after=after,
        duplicates=len(duplicates),
        secrets=len(secrets),
        diff=unified(encode_text(masked), after, file.shown),
    )


def _without_lines(text: str, numbers: set[int]) -> str:
    lines = text.split("\n")
    for rule in reversed(rules_in(text)):
        if rule.line in numbers:
            del lines[rule.line - 1 : rule.end - 1]
    return "\n".join(lines)


def apply_fixes(machine: Machine, project: Project, plans: Sequence[PlannedFix]) -> Path:
    """Writes all of them, after a backup, and returns the backup. Raises Conflict for a file that changed meanwhile."""
    backup = _back_up(machine, project, plans)
    for plan in plans:
        if plan.area == "memory" and plan.path.is_relative_to(project.memory.resolve()):
            _change_memory(machine, project, plan)
        else:
            files.replace(plan.path, plan.after, _lock(machine), files.digest(plan.before))
    return backup


def _change_memory(machine: Machine, project: Project, plan: PlannedFix) -> None:
    """Redacts a file of the memory and its older versions. Our own change of a log must not look like one by hand."""
    stores = [MemoryStore(project, name) for name in known_projects(project)]
    with files.lock(project.lock("memory")) as held:
        by_hand = [{entry.session for entry in store.edited_entries()} for store in stores]
        files.replace_held(held, plan.path, plan.after, files.digest(plan.before))
        redact = machine.redactor.redact
        versions = Versions(project.memory / "history")
        versions.rewrite(held, lambda _, data: encode_text(redact(decode_text(data))))
        for store, sessions in zip(stores, by_hand, strict=True):
            store.accept_entries(sessions, held)


def _back_up(machine: Machine, project: Project, plans: Sequence[PlannedFix]) -> Path:
    """The files as they were, in an archive that `holdfast forget` looks into."""
    moment = machine.now().strftime("%Y%m%dT%H%M%S%f")
    folder = machine.home / "backups"
    for place in (machine.home, folder):
        files.make_private(place)
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for plan in plans:
            member = tarfile.TarInfo(plan.file.replace("~", "home", 1).lstrip("/"))
            member.size, member.mode = len(plan.before), 0o600
            archive.addfile(member, BytesIO(plan.before))
    path = folder / f"{project.memory.name}-audit-{moment}.tar.gz"
    with files.open_new(path, 0o600) as file:  # it holds the secrets that were found
        file.write(buffer.getvalue())
        files.finish(file)
    return path


def _lock(machine: Machine) -> Path:
    return machine.home / "backups" / ".lock"
