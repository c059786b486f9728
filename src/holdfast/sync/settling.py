"""A person decides a conflict."""

from __future__ import annotations

from holdfast.core.errors import NotFound
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.sync.collect import Author
from holdfast.sync.intake import row_of
from holdfast.sync.keys import Keys
from holdfast.sync.merge import Conflict, conflicts, essence, settling_key
from holdfast.sync.service import journal_of
from holdfast.sync.settings import read_settings


def settle(machine: Machine, project: Project, wanted: str) -> Conflict:
    """Decides a conflict for the version whose id begins with `wanted`. It travels with the next sync."""
    settings, keys = read_settings(project), Keys(machine)
    author = Author(machine, keys, settings.project)
    with journal_of(project, change=True) as journal:
        assert journal is not None
        close = [
            (conflict, version)
            for conflict in conflicts(journal)
            for version in conflict.versions
            if len(wanted) >= 4 and version.id.startswith(wanted)
        ]
        if len(close) != 1:
            what = (
                f"{wanted!r} fits {len(close)} versions"
                if close
                else f"no open conflict has a version {wanted!r}"
            )
            raise NotFound(what, fix="holdfast sync --conflicts lists them")
        conflict, kept = close[0]
        if conflict.replaced:
            body = {"kept": kept.id, "by": keys.name}
            signed = author.entry(settling_key(conflict), body, (), "team")
        else:
            parents = journal.lineage(version.id for version in conflict.versions)
            signed = author.entry(conflict.key, kept.entry.body, parents, kept.entry.scope)
        journal.add(row_of(signed), signed.entry.order.machine, signed.entry.parents)
        if conflict.key.startswith("team/") and not conflict.replaced:
            journal.show(conflict.key, essence(kept.entry.body), signed.id)
    return conflict
