"""Verbs of `holdfast ledger` that take the whole ledger, or several: stats, report, export, merge, commit."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from holdfast.cli import output
from holdfast.cli.options import Machine, Namespace
from holdfast.cli.output import NONE_CHOSEN
from holdfast.core.errors import UsageError
from holdfast.ledger import rows as ledgers
from holdfast.ledger.rows import Filter, commit
from holdfast.model.ledger import LedgerEntry
from holdfast.store.project import Project

VERBS = ("stats", "report", "export", "merge", "commit")
BY = ("model", "framework", "type", "kind", "complexity", "topic", "agent", "month")
EXPORTS = ("csv", "jsonl", "parquet", "openmetrics", "grafana")


def run(options: Namespace, machine: Machine, project: Project, wanted: Filter) -> None:
    if options.verb == "commit":
        return output.line(commit(project, dry_run=options.dry_run))
    if options.verb == "merge":
        return _merge(options, machine, project)
    gc.disable()  # rows form no cycles, and this process ends with them
    rows, problems = ledgers.read_all(machine, project, options.places, wanted)
    output.warn_all(problems)
    words = options.verb == "stats" or (options.verb == "report" and options.format != "html")
    if words and not rows and wanted != Filter() and not options.json:
        output.line(NONE_CHOSEN)
    elif options.verb == "stats":
        from holdfast.cli.ledger_figures import show_stats

        show_stats(rows, options.by, as_json=options.json)
    elif options.verb == "report":
        from holdfast.cli.ledger_report import show_report

        show_report(rows, options.format, as_json=options.json)
    else:
        _export(rows, options, machine, project)


def _merge(options: Namespace, machine: Machine, project: Project) -> None:
    merged = ledgers.merge(machine, project, options.places)
    output.warn_all(merged.problems)
    if options.json:
        output.show_json(merged)
        return
    rows = f"{merged.added} row{'s' if merged.added != 1 else ''}"
    forgotten = f", {merged.forgotten} forgotten and left out" if merged.forgotten else ""
    output.line(f"Took in {rows}; {merged.known} known already{forgotten}. holdfast ledger shows them.")


def _export(rows: Sequence[LedgerEntry], options: Namespace, machine: Machine, project: Project) -> None:
    from holdfast.ledger.export import exported, write_export

    pieces = exported(rows, options.format, project.title)
    if options.output:
        path = machine.cwd / Path(options.output).expanduser()
        if not path.parent.is_dir():
            raise UsageError("there is no such folder", where=str(path.parent), fix="Make it first")
        write_export(project, path, pieces)
        what = f"{len(rows)} session{'s' if len(rows) != 1 else ''}"
        output.note(f"{'a dashboard' if options.format == 'grafana' else what} written to {path}")
        return
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
