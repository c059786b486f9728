"""`holdfast doctor`: checks the installation; exit code 1 if something needs attention."""

from __future__ import annotations

from holdfast.core.errors import CopiedProject
from holdfast.sync.health import check_sync
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag
from holdfast.upkeep.clock_checks import clamped_rows
from holdfast.upkeep.doctor import examine, repair
from holdfast.upkeep.memories import copied_here

SIGNS = {"ok": "ok  ", "note": "note", "problem": "BAD "}
EXAMPLES = """examples:
  holdfast doctor                    check everything; exit code 1 if there is a problem
  holdfast doctor --fix --dry-run    what would be repaired
  holdfast doctor --fix
"""

OPTIONS = (
    flag(
        "--fix",
        "repair what can be repaired: links, rules, old formats, stamps ahead of the clock; retry sessions that "
        "could not be read; accept log entries changed by hand",
    ),
    flag("--dry-run", "with --fix: show what would be done"),
    flag("--json", "the findings as JSON"),
)


def run(options: Namespace, machine: Machine) -> int:
    project = copied_here(machine) or machine.project()
    fixes = repair(machine, project, dry_run=options.dry_run) if options.fix else []
    findings = examine(machine, project, {"sync": check_sync})
    problems = [finding for finding in findings if finding.level == "problem"]
    if options.json:
        clamped = [] if isinstance(project, CopiedProject) else clamped_rows(machine, project)
        output.show_json({"ok": not problems, "fixes": fixes, "findings": findings, "clamped_rows": clamped})
        return 1 if problems else 0
    for fix in fixes:
        output.line(f"{'would' if options.dry_run else 'done '}  {output.places(fix)}")
    width = max((len(finding.check) for finding in findings), default=0)
    for finding in findings:
        begins = f"{SIGNS[finding.level]}  {finding.check:<{width}}  "
        output.line(begins + output.places(finding.message), under=len(begins))
    output.line(
        f"{output.plural(len(problems), 'problem')} found." if problems else "Everything is in order."
    )
    return 1 if problems else 0
