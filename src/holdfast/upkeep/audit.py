"""The audit: every check over our memory and over the files that agents read. It writes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.upkeep import rule_checks
from holdfast.upkeep.age_checks import find_stale, find_unused
from holdfast.upkeep.audited_files import AuditedFile, audited_files
from holdfast.upkeep.finding import AuditFinding, in_order
from holdfast.upkeep.own_statements import own_rules
from holdfast.upkeep.text_checks import find_oversized, find_planted, find_secrets


class Audit(Struct, frozen=True, kw_only=True):
    """What was found, the worst first, and the files that were read."""

    findings: tuple[AuditFinding, ...]
    files: tuple[AuditedFile, ...]

    @property
    def problems(self) -> int:
        return sum(finding.level == "problem" for finding in self.findings)


def audit(machine: Machine, project: Project) -> Audit:
    files = audited_files(machine, project)
    findings: list[AuditFinding] = []
    for file in files:
        findings += find_secrets(file, machine.redactor)
        findings += find_planted(file)
        findings += find_oversized(file)
    findings += _between_rules(machine, project, files)
    findings += find_stale(machine, project, files)
    findings += find_unused(machine, project, files)
    return Audit(findings=tuple(in_order(findings)), files=tuple(files))


def _between_rules(machine: Machine, project: Project, files: Sequence[AuditedFile]) -> list[AuditFinding]:
    rules = rule_checks.rules_of(files)
    ours = own_rules(machine, project, files)
    return [
        *rule_checks.find_duplicates(files, rules),
        *rule_checks.find_contradictions([*rules, *ours]),
    ]
