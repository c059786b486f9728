"""`holdfast audit`: what is wrong in memory and in the files that agents read; exit code 1 if it needs a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from holdfast.core.errors import UsageError
from holdfast.store.project import Project
from holdfast.terminal import output
from holdfast.terminal.consent import agreed
from holdfast.terminal.options import Machine, Namespace, flag
from holdfast.upkeep.audit import Audit, audit
from holdfast.upkeep.audit_fixes import PlannedFix, apply_fixes, plan_fixes
from holdfast.upkeep.finding import LEVELS, AuditFinding

DESCRIPTION = """Checks this project's memory and the files agents read: CLAUDE.md, AGENTS.md, GEMINI.md, rules of
Cursor, Copilot and others, your personal ones, and the notes of Claude Code and Codex. Finds secrets, planted
instructions, contradictions, files that agents cut off, duplicates, and what is stale or unused. Secrets are never
printed."""
EXAMPLES = """examples:
  holdfast audit               everything, worst first; exit code 1 if there is a problem
  holdfast audit --json        the same for scripts
  holdfast audit --fix         show what can be fixed as a diff, ask for each file, keep a backup
"""

TITLES = {
    "secret": "Secrets",
    "planted": "Planted instructions",
    "contradiction": "Contradictions",
    "oversized": "Cut off by agents",
    "duplicate": "Duplicates",
    "stale": "Out of date",
    "unused": "Never used",
}
_MOST_SHOWN = 15  # findings under one title, without --all

OPTIONS = (
    flag("--all", "show every finding, not the first 15 of each kind"),
    flag("--fix", "remove exact duplicates and redact secrets: each diff is shown, and you are asked"),
    flag("--yes", "with --fix: do not ask"),
    flag("--dry-run", "with --fix: only show what would change"),
    flag("--json", "the findings as JSON; with --fix also the changes, made only with --yes"),
)


def run(options: Namespace, machine: Machine) -> int:
    if (options.yes or options.dry_run) and not options.fix:
        raise UsageError("--yes and --dry-run need --fix", fix="Run holdfast audit --fix")
    project = machine.project()
    result = audit(machine, project)
    if options.fix:
        return _fix(options, machine, project, result)
    if options.json:
        output.show_json(as_json(result))
    else:
        _show(result, most=None if options.all else _MOST_SHOWN)
    return 1 if result.problems else 0


def _fix(options: Namespace, machine: Machine, project: Project, result: Audit) -> int:
    planned = plan_fixes(machine, result)
    chosen = planned if options.yes and not options.dry_run else []
    if not options.json:
        chosen = [plan for plan in planned if _agrees(plan, options)]
    backup = apply_fixes(machine, project, chosen) if chosen else None
    after = audit(machine, project) if chosen else result
    if options.json:
        fixes = [
            {"file": plan.file, "duplicates": plan.duplicates, "secrets": plan.secrets, "diff": plan.diff}
            for plan in planned
        ]
        output.show_json(
            {**as_json(after), "fixes": fixes, "done": bool(chosen), "backup": backup and str(backup)}
        )
        return 1 if after.problems else 0
    if not planned:
        output.line("Nothing here can be fixed automatically.")
    if backup is not None:
        output.line(f"Changed {output.counted(len(chosen), 'file')}. Backup: {output.place(backup)}")
        if any(plan.secrets for plan in chosen):
            output.line("The backup still contains the secrets: delete it once you have rotated them.")
    output.line(_total(after))
    return 1 if after.problems else 0


def _agrees(plan: PlannedFix, options: Namespace) -> bool:
    """Shows a change, and asks whether to make it. Files of the repository are written only after a yes."""
    parts = [
        output.counted(number, word)
        for number, word in ((plan.duplicates, "duplicate"), (plan.secrets, "secret"))
        if number
    ]
    output.heading(f"{plan.file}: {', '.join(parts)}")
    output.show_diff(plan.diff)
    output.line()
    if options.dry_run:
        return False
    return options.yes or agreed(f"Change {plan.file}?")


def as_json(result: Audit) -> dict[str, object]:
    counts = Counter(finding.check for finding in result.findings)
    return {
        "ok": not result.problems,
        "problems": result.problems,
        "notes": len(result.findings) - result.problems,
        "counts": {check: counts[check] for check in LEVELS},
        "files": len(result.files),
        "findings": [msgspec.structs.asdict(finding) for finding in result.findings],
    }


def _show(result: Audit, most: int | None) -> None:
    for level in ("problem", "note"):
        for check, title in TITLES.items():
            found = [one for one in result.findings if one.check == check and one.level == level]
            if found:
                _show_kind(title, found, most)
    output.line(_total(result))


def _show_kind(title: str, found: Sequence[AuditFinding], most: int | None) -> None:
    output.heading(f"{title} ({len(found)})")
    before = ("", "")
    for finding in found[:most]:
        also = f" and {finding.also}" if finding.also and finding.check == "contradiction" else ""
        output.item(f"{finding.place}{also}")
        output.wrapped(finding.what, 4)
        if (finding.why, finding.fix) != before:
            output.aside(finding.why, 4)
            output.aside(f"Fix: {finding.fix}", 4)
        before = (finding.why, finding.fix)
    if most is not None and len(found) > most:
        output.item(f"… and {len(found) - most} more: holdfast audit --all")
    output.line()


def _total(result: Audit) -> str:
    files = output.counted(len(result.files), "file")
    notes = len(result.findings) - result.problems
    if not result.findings:
        return f"Nothing to report in {files}."
    problems = output.counted(result.problems, "problem")
    fixable = sum(finding.fixable for finding in result.findings)
    mend = f" holdfast audit --fix can fix {fixable} of them." if fixable else ""
    return f"{problems}, {output.counted(notes, 'note')} in {files}.{mend}"
