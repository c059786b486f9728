"""`holdfast doctor`: what is sound and what is not; exit code 1 when something needs a hand."""

from __future__ import annotations

import argparse

from holdfast.cli import output
from holdfast.cli.output import places
from holdfast.flows.doctor import examine, repair
from holdfast.store.machine import Machine

SIGNS = {"ok": "ok  ", "note": "note", "problem": "BAD "}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fix",
        action="store_true",
        help="repair what can be repaired: links, rules, old formats; try sessions again that could not be read; "
        "accept log entries changed by hand",
    )
    parser.add_argument("--dry-run", action="store_true", help="with --fix: only say what would be done")
    parser.add_argument("--json", action="store_true", help="the findings as JSON")


def run(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    fixes = repair(machine, project, dry_run=options.dry_run) if options.fix else []
    findings = examine(machine, project)
    problems = [finding for finding in findings if finding.level == "problem"]
    if options.json:
        output.show_json({"ok": not problems, "fixes": fixes, "findings": findings})
        return 1 if problems else 0
    for fix in fixes:
        output.line(f"{'would' if options.dry_run else 'done '}  {places(fix)}")
    width = max((len(finding.check) for finding in findings), default=0)
    for finding in findings:
        begins = f"{SIGNS[finding.level]}  {finding.check:<{width}}  "
        output.line(begins + places(finding.message), under=len(begins))
    output.line(
        f"{len(problems)} problem{'s' if len(problems) != 1 else ''} found."
        if problems
        else "Everything is sound."
    )
    return 1 if problems else 0
