"""Forgets here what was forgotten by its words on another machine: of the words there are hashes in the denylist."""

from __future__ import annotations

from holdfast.briefing.prepare import prepare
from holdfast.core import files
from holdfast.flows.forget import LOCK_S
from holdfast.flows.forget_files import Forgetting
from holdfast.flows.refresh import refresh
from holdfast.store.denied import Denied
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.removal import Removal


def forget_texts(machine: Machine, project: Project) -> None:
    """Removes every forgotten text from the whole memory, also from what is derived, kept and prepared."""
    with files.lock(project.lock("capture"), timeout=LOCK_S):
        with files.lock(project.lock("import")), files.lock(project.lock("memory")) as lock:
            if texts := Denied(project.memory).texts:
                Forgetting(project, Removal.of_hashes(texts)).apply(lock)
        refresh(machine, project)
        if (project.memory / "hot.db").exists():  # even if hooks are disabled by now
            prepare(machine, project)
