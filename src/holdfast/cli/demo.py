"""`holdfast demo`: shows all steps on bundled sessions, without touching your files."""

from __future__ import annotations

from pathlib import Path

from holdfast.cli.log import show_entry
from holdfast.demo.run import demonstrate
from holdfast.ledger.rows import titles_of
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.views.ledger import as_json, rows_table
from holdfast.views.ledger_figures import show_stats

DESCRIPTION = """Imports bundled sessions of two agents into a scratch project and shows what holdfast makes of
them."""
EXAMPLES = """examples:
  holdfast demo
  holdfast demo --keep ~/holdfast-demo    keep the project there, to look around
"""

OPTIONS = (
    option("--keep", type=Path, metavar="DIR", help="make the scratch project here and keep it"),
    flag("--json", "what was shown, as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    if not options.json:
        output.note("Reading the sample sessions of two agents; this takes some seconds.")
    with demonstrate(machine, options.keep.absolute() if options.keep else None) as demo:
        if options.json:
            return output.show_json(
                {
                    "added": demo.first.added,
                    "added_again": demo.again.added,
                    "rows": [as_json(row) for row in demo.rows],
                    "entry": demo.entry,
                    "told": demo.told,
                }
            )
        output.heading("1. Sessions of two agents, read from their own files")
        output.line(
            f"   {demo.first.sessions} sessions: {demo.first.added} added. Again: {demo.again.added} added.\n"
        )
        output.heading("2. The ledger: one row each (.holdfast/ledger.md, a markdown table you own)")
        output.show(rows_table(demo.rows, titles_of(demo.project, demo.rows)))
        output.section("3. All sessions together (holdfast ledger stats)")
        show_stats(demo.rows, None)
        output.section("4. A session in the log (.holdfast/local/projects/tidepool/log.md)")
        show_entry(demo.entry)
        output.heading("5. What the next session of any agent sees (holdfast resume)")
        output.lines(*(f"   {line}" for line in demo.told), "")
        where = (
            f"It is all in {output.place(demo.project.root)}."
            if options.keep
            else "The scratch project has been removed."
        )
        output.line(f"{where} In your own repository: holdfast init")
