"""`holdfast fact verify`: runs commands of facts again, each only with consent."""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

from holdfast.cli import output
from holdfast.cli.consent import agreed
from holdfast.cli.memory_views import flat
from holdfast.cli.options import Machine, Namespace, flag, option
from holdfast.flows import facts as verifying
from holdfast.flows.facts import Verdict, mark_verified
from holdfast.guard.hidden_text import visible
from holdfast.model.memory import Fact

_TIMEOUT_S = 120.0
_LONGEST_S = 86_400.0


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= _LONGEST_S:
        raise argparse.ArgumentTypeError("must be seconds, more than 0 and at most a day")
    return value


OPTIONS = (
    option("ids", nargs="*", metavar="ID", help="default: every fact that has a command and stands"),
    flag("--yes", "run the commands without asking"),
    option(
        "--timeout",
        type=_seconds,
        default=_TIMEOUT_S,
        metavar="S",
        help=f"seconds that each command may take (default: {_TIMEOUT_S:g})",
    ),
)


def run(options: Namespace, machine: Machine) -> int:
    facts = verifying.to_verify(machine, options.ids)
    verdicts: list[Verdict] = []
    try:
        for fact in facts:
            verdicts.append(_verified(machine, fact, options))
            if not options.json:
                _show(verdicts[-1])
    finally:  # an interruption does not cost what was seen to hold, or not to
        held = [verdict.fact for verdict in verdicts if verdict.status == "holds"]
        failed = [verdict.fact for verdict in verdicts if verdict.status in ("changed", "failed")]
        mark_verified(machine, held, failed)
    if options.json:
        output.show_json([_as_json(verdict) for verdict in verdicts])
    elif not facts:
        output.line("No fact has a command to run. holdfast fact add --command keeps one with its fact.")
    fine = ("holds",) if options.ids else ("holds", "not named", "incomplete")
    return 0 if all(verdict.status in fine for verdict in verdicts) else 1


def _verified(machine: Machine, fact: Fact, options: Namespace) -> Verdict:
    if obstacle := verifying.obstacle(fact, named=bool(options.ids) or not options.yes):
        return obstacle
    shown = "\n  > ".join(visible(fact.command).splitlines())
    if options.yes:
        if not options.json:
            output.line(f"  $ {shown}")
    else:
        if sys.stdin.isatty():
            sys.stderr.write(f"{fact.id}  {visible(flat(fact.text))}\n  $ {shown}\n")
        fix = f"Say --yes to run {flat(fact.command)!r} and the like without being asked"
        if not agreed("Run this here?", fix):
            return Verdict(fact, "declined")
    return verifying.verify(machine, fact, options.timeout)


def _show(verdict: Verdict) -> None:
    fact = verdict.fact
    said = {
        "holds": "holds, verified today",
        "changed": f"does not show any more: {flat(fact.evidence)}",
        "failed": f"the command failed with exit code {verdict.exit_code}; it showed before: {flat(fact.evidence)}",
        "timeout": "the command took too long and was stopped; --timeout gives it more",
        "declined": "not run",
        "no command": "has no command that could be run; look for yourself and add it again with new evidence",
        "incomplete": "its command was kept only in part, without a secret or its end, so it cannot be run",
        "not named": f"not run, it may change something; holdfast fact verify {fact.id} runs it",
    }
    output.line(f"{fact.id}  {flat(fact.text)}: {said[verdict.status]}")
    for line in verdict.lines:
        output.line(f"    instead: {line}")
    if verdict.status == "changed":
        output.line(f"    If that is so now: holdfast fact change {fact.id} TEXT --evidence TEXT")


def _as_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.fact.id,
        "text": verdict.fact.text,
        "command": verdict.fact.command,
        "evidence": verdict.fact.evidence,
        "status": verdict.status,
        "exit_code": verdict.exit_code,
        "instead": list(verdict.lines),
    }
