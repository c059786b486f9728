"""`holdfast audit`: what is wrong in memory and in the files that agents read; exit code 1 if it needs a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from holdfast.cli import output
from holdfast.cli.options import Machine, Namespace, flag
from holdfast.upkeep.audit import Audit, audit
from holdfast.upkeep.finding import LEVELS, AuditFinding

DESCRIPTION = """Looks through this project's memory and the files that agents read: CLAUDE.md, AGENTS.md, GEMINI.md,
rules of Cursor, Copilot and others, your personal ones, and what Claude Code and Codex remember themselves. It finds
secrets, planted instructions, contradictions, files that agents cut off, duplicates, and what is stale or never used.
Each finding says where, what, why it matters and what to do. Secrets are never printed."""
EXAMPLES = """examples:
  holdfast audit               everything, the worst first; exit code 1 if something needs you
  holdfast audit --json        the same for scripts
"""

TITLES = {
    "secret": "Secrets",
    "planted": "Planted instructions",
    "contradiction": "Contradictions",
    "oversized": "Too large to be read",
    "duplicate": "Stated twice",
    "stale": "Out of date",
    "unused": "Never used",
}
_MOST_SHOWN = 15  # findings under one title, without --all

OPTIONS = (
    flag("--all", "show every finding, not the first 15 of each kind"),
    flag("--json", "the findings as JSON"),
)


def run(options: Namespace, machine: Machine) -> int:
    project = machine.project()
    result = audit(machine, project)
    if options.json:
        output.show_json(as_json(result))
    else:
        _show(result, most=None if options.all else _MOST_SHOWN)
    return 1 if result.problems else 0


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
    mend = f" holdfast audit --fix can mend {fixable} of them." if fixable else ""
    return f"{problems}, {output.counted(notes, 'note')} in {files}.{mend}"
