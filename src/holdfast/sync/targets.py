"""Where a sync goes: the transport for what a person writes as a target."""

from __future__ import annotations

from holdfast.core.errors import UsageError
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.sync.transport import Transport


def open_transport(
    machine: Machine, project: Project, target: str, project_id: str, *, may_ask: bool = False
) -> Transport:
    from holdfast.sync.folder import Folder

    if not target.startswith("/"):
        raise UsageError("this is no target to sync with", where=target, fix="Name a folder")
    return Folder(machine.cwd / target, project_id)
