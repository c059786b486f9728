"""The last report of each project, kept in the cache: shown again while nothing that it was made from has changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from holdfast import __version__
from holdfast.backtest.report import BacktestReport
from holdfast.core import files
from holdfast.core.git import git_text
from holdfast.core.hashes import blake2b
from holdfast.flows.find_transcripts import TranscriptSearch
from holdfast.store.machine import Machine
from holdfast.store.project import Project

FORMAT = 1


def key_of(project: Project, search: TranscriptSearch, control: Path | None) -> str:
    """What a report depends on: the transcripts, the commit, the program, and what it was compared with."""
    parts = sorted(f"{source.key} {source.size} {source.mtime_ns}" for source in search.sources)
    head = git_text(project.root, "rev-parse", "HEAD")
    text = "\n".join([str(FORMAT), __version__, _code(), head, str(control or ""), *parts])
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _code() -> str:
    """When this code was written: a checkout of holdfast changes without a new version."""
    return str(max(path.stat().st_mtime_ns for path in Path(__file__).parent.glob("*.py")))


def keep(machine: Machine, project: Project, report: BacktestReport, key: str) -> None:
    for folder in (machine.home, machine.home / "cache", _place(machine, project).parent):
        files.make_private(folder)
    data = msgspec.json.encode(msgspec.structs.replace(report, key=key))
    path = _place(machine, project)
    files.replace(path, data, path.with_suffix(".lock"), files.ANYTHING)


def last_report(machine: Machine, project: Project, key: str = "") -> BacktestReport | None:
    """The last report, or None; with a key only one that is still true."""
    try:
        report = msgspec.json.decode(_place(machine, project).read_bytes(), type=BacktestReport)
    except (OSError, msgspec.MsgspecError):
        return None
    return report if key in ("", report.key) else None


def chosen(report: BacktestReport, wanted: str) -> Sequence[int]:
    """The places of the sessions that an id, its beginning or a number means."""
    if wanted == "last":
        return [len(report.tested) - 1]
    if wanted.isdecimal() and 0 < int(wanted) <= len(report.tested):
        return [int(wanted) - 1]
    return [place for place, one in enumerate(report.tested) if one.session.startswith(wanted)]


def _place(machine: Machine, project: Project) -> Path:
    return machine.home / "cache" / "backtest" / f"{project.memory.name}.json"
