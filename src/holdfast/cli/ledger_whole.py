"""Verbs of `holdfast ledger` that take the whole ledger, or several: stats, report, export, merge, commit."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from holdfast.cli import output
from holdfast.cli.output import NONE_CHOSEN
from holdfast.core.errors import UsageError
from holdfast.ledger import rows as ledgers
from holdfast.ledger.rows import Filter, commit
from holdfast.model.ledger import LedgerEntry
from holdfast.store.machine import Machine
from holdfast.store.project import Project

VERBS = ("stats", "report", "export", "merge", "commit")
BY = ("model", "framework", "type", "kind", "complexity", "topic", "agent", "month")
EXPORTS = ("csv", "jsonl", "parquet", "openmetrics", "grafana")
_PLACES = "repositories or ledger files to read instead of this project's, as one"


def configure(verbs: Any, filters: Callable[[argparse.ArgumentParser, str], None]) -> None:
    stats = verbs.add_parser(
        "stats", help="totals, averages, failures and cost per model, or by anything else"
    )
    stats.add_argument("places", nargs="*", metavar="DIR", help=_PLACES)
    stats.add_argument("--by", choices=BY, help="one line for each of these instead")
    filters(stats, argparse.SUPPRESS)
    stats.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="the figures as JSON")
    report = verbs.add_parser("report", help="which model works best where, what fails, and the trend")
    report.add_argument("places", nargs="*", metavar="DIR", help=_PLACES)
    report.add_argument("--format", choices=("text", "md", "html"), default="text", help="how it is written")
    filters(report, argparse.SUPPRESS)
    report.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="the report as JSON")
    export = verbs.add_parser("export", help="rows for spreadsheets, data frames and dashboards")
    export.add_argument("places", nargs="*", metavar="DIR", help=_PLACES)
    export.add_argument(
        "--format", choices=EXPORTS, default="csv", help="csv unless said (grafana: a dashboard)"
    )
    export.add_argument("-o", "--output", metavar="FILE", help="write here instead of standard output")
    filters(export, argparse.SUPPRESS)
    merge = verbs.add_parser("merge", help="take in the rows of other clones' ledgers")
    merge.add_argument(
        "places", nargs="+", metavar="FILE", help="ledger files, or repositories that have one"
    )
    merge.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="what was taken in, as JSON"
    )
    committing = verbs.add_parser(
        "commit", help="commit the shared ledger, and nothing else, with a telling message"
    )
    committing.add_argument("--dry-run", action="store_true", help="print the message and commit nothing")


def run(options: argparse.Namespace, machine: Machine, project: Project, wanted: Filter) -> int:
    if options.verb == "commit":
        message = commit(project, dry_run=options.dry_run)
        output.line(message)
        return 0
    if options.verb == "merge":
        _merge(options, machine, project)
        return 0
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
    return 0


def _merge(options: argparse.Namespace, machine: Machine, project: Project) -> None:
    merged = ledgers.merge(machine, project, options.places)
    output.warn_all(merged.problems)
    if options.json:
        output.show_json(merged)
        return
    rows = f"{merged.added} row{'s' if merged.added != 1 else ''}"
    forgotten = f", {merged.forgotten} forgotten and left out" if merged.forgotten else ""
    output.line(f"Took in {rows}; {merged.known} known already{forgotten}. holdfast ledger shows them.")


def _export(
    rows: Sequence[LedgerEntry], options: argparse.Namespace, machine: Machine, project: Project
) -> None:
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
