"""`holdfast note fact`: what was verified, with its evidence; added, changed, listed, retired."""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

from holdfast.flows import facts as app
from holdfast.guard.hidden_text import visible
from holdfast.memory.reference import KeptFact
from holdfast.model.memory import Fact, FactCategory
from holdfast.terminal import output
from holdfast.terminal.consent import agreed
from holdfast.terminal.options import (
    SUPPRESS,
    Machine,
    Namespace,
    Option,
    Verb,
    flag,
    limit,
    newest,
    of_verb,
    option,
)
from holdfast.terminal.output import flat
from holdfast.views import memory as views

DESCRIPTION = """Adds and lists facts. Each needs evidence. The same fact in other words is stored once; a
contradicting fact is stored too, and reported."""
EXAMPLES = """examples:
  holdfast note fact add "The API listens on port 8080" --evidence "listening on :8080" --command "make ping"
  holdfast note fact list --category endpoint
  holdfast note fact show F-k3             its evidence, and what it said before
  holdfast note fact verify F-k3           run its command again, after asking
  holdfast note fact change F-k3 "The API listens on port 9090" --evidence "listening on :9090"
  holdfast note fact retire F-k3 --because "the API is gone"
"""
_CATEGORIES = [str(category) for category in FactCategory]
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


_ONE = f"one of {', '.join(_CATEGORIES)}"
_JSON = flag("--json", "the result as JSON", default=SUPPRESS)
_ID = option("id", metavar="ID", help="the fact's id, or a prefix of it")
_EVIDENCE = option("--evidence", metavar="TEXT", help="the line of output that shows it")


def _category(about: str) -> Option:
    return option("--category", choices=_CATEGORIES, metavar="CATEGORY", help=about)


OPTIONS = (
    _category(f"only facts of this category: {', '.join(_CATEGORIES)}"),
    flag("--all", "include retired facts"),
    *limit("facts, the newest", "default: all"),
    flag("--json", "the result as JSON"),
)
DEFAULT_VERB = "add"
VERBS = {
    "list": Verb("list the facts of this project (the default)", of_verb(*OPTIONS)),
    "show": Verb("show one fact with its evidence and history", (_ID, _JSON)),
    "add": Verb(
        "add a fact with its evidence (TEXT without a verb does the same)",
        (
            option("text", metavar="TEXT", help="the fact, in one sentence"),
            _EVIDENCE,
            option("--command", default="", metavar="CMD", help="the command that printed it"),
            _category(f"{_ONE} (default: guessed from the words)"),
            _JSON,
        ),
    ),
    "change": Verb(
        "replace a fact; the old one becomes its history",
        (
            _ID,
            option("text", metavar="TEXT", help="the fact as it is now"),
            _EVIDENCE,
            option("--command", metavar="CMD", help="the command that printed it (default: as before)"),
            _category(f"{_ONE} (default: as before)"),
            _JSON,
        ),
    ),
    "retire": Verb(
        "mark a fact as no longer true; it stays, with the date",
        (_ID, option("--because", metavar="TEXT", help="why it is no longer true"), _JSON),
    ),
    "verify": Verb(
        "run the commands behind facts again, after asking, and compare",
        (
            option("ids", nargs="*", metavar="ID", help="default: every current fact that has a command"),
            flag("--yes", "do not ask before each command"),
            option(
                "--timeout",
                type=_seconds,
                default=_TIMEOUT_S,
                metavar="S",
                help=f"seconds each command may take (default: {_TIMEOUT_S:g})",
            ),
            _JSON,
        ),
    ),
}


def run(options: Namespace, machine: Machine) -> None:
    facts = _read(machine)
    wanted_facts = newest(
        [fact for fact in facts if _is_wanted(fact, options)], options.limit, lambda kept: kept.fact.at
    )
    nothing = (
        "No current fact matches. holdfast note fact list --all includes retired ones."
        if facts
        else "No facts yet. holdfast note fact add TEXT --evidence TEXT adds one; holdfast import finds more."
    )
    output.answer(
        options,
        views.with_origins(machine, [views.fact_as_json(fact) for fact in wanted_facts]),
        views.facts_table(wanted_facts) if wanted_facts else nothing,
    )


def run_show(options: Namespace, machine: Machine) -> None:
    fact = app.wanted_fact(_read(machine), options.id)
    [shown] = views.with_origins(machine, [views.fact_as_json(fact)])
    output.answer(options, shown, lambda: views.show_fact(fact, shown["origin"]))


def run_add(options: Namespace, machine: Machine) -> None:
    _answer(options, app.add_fact(machine, options.text, options.evidence, options.command, options.category))


def run_change(options: Namespace, machine: Machine) -> None:
    _answer(
        options,
        app.change(machine, options.id, options.text, options.evidence, options.command, options.category),
    )


def run_retire(options: Namespace, machine: Machine) -> None:
    _answer(options, app.retire(machine, options.id, options.because))


def run_verify(options: Namespace, machine: Machine) -> int:
    facts = app.to_verify(machine, options.ids)
    verdicts: list[app.FactCheck] = []
    try:
        for fact in facts:
            verdicts.append(_verified(machine, fact, options))
            if not options.json:
                _show_verdict(verdicts[-1])
    finally:  # an interruption must not lose the results so far
        holding = [verdict.fact for verdict in verdicts if verdict.status == "holds"]
        failed = [verdict.fact for verdict in verdicts if verdict.status in ("changed", "failed")]
        app.mark_verified(machine, holding, failed)
    if options.json:
        output.show_json([_verdict_as_json(verdict) for verdict in verdicts])
    elif not facts:
        output.line(
            "No fact has a command to run. holdfast note fact add --command stores a command with its fact."
        )
    fine = ("holds",) if options.ids else ("holds", "not named", "incomplete")
    return 0 if all(verdict.status in fine for verdict in verdicts) else 1


def _read(machine: Machine) -> tuple[KeptFact, ...]:
    file = app.read_facts(machine)
    output.warn_all(problem.message for problem in file.problems)
    return file.reference.facts


def _is_wanted(kept: KeptFact, options: Namespace) -> bool:
    return (options.all or kept.retired_at is None) and options.category in (None, kept.fact.category)


def _answer(options: Namespace, result: app.FactChange) -> None:
    value = {
        "status": result.status,
        **views.fact_as_json(result.kept),
        "contradicts": views.clashes_as_json(result.contradictions),
    }
    output.answer(options, value, lambda: _show(result))


def _show(result: app.FactChange) -> None:
    kept, fact = result.kept, result.kept.fact
    text = flat(fact.text)
    status = {
        "added": f"added to {fact.category}: {text}",
        "merged": f"is already recorded; marked as verified today: {text}",
        "revived": f"was retired and is now current again: {text}",
        "changed": f"now: {text}",
        "unchanged": f"has been retired since {views.date(kept.retired_at)}.",
        "retired": f"retired: {text}. It stays in reference.md with the date.",
    }
    output.line(f"{fact.id} {status[result.status]}")
    if result.status == "changed" and kept.was:
        output.line(f"Before ({kept.was[0].id}): {flat(kept.was[0].text)}")
    views.show_contradictions(
        result.contradictions,
        "Is one of them no longer true? holdfast note fact change {id} TEXT --evidence TEXT, or note fact retire {id}.",
    )


def _verified(machine: Machine, fact: Fact, options: Namespace) -> app.FactCheck:
    if obstacle := app.obstacle(fact, named=bool(options.ids) or not options.yes):
        return obstacle
    command = "\n  > ".join(visible(fact.command).splitlines())
    if options.yes:
        if not options.json:
            output.line(f"  $ {command}")
    else:
        if sys.stdin.isatty():
            sys.stderr.write(f"{fact.id}  {visible(flat(fact.text))}\n  $ {command}\n")
        fix = f"Add --yes to run {flat(fact.command)!r} and similar commands without being asked"
        if not agreed("Run this here?", fix):
            return app.FactCheck(fact, "declined")
    return app.verify(machine, fact, options.timeout)


def _show_verdict(verdict: app.FactCheck) -> None:
    fact = verdict.fact
    before = flat(fact.evidence)
    status = {
        "holds": "still true, verified today",
        "changed": f"its command no longer prints: {before}",
        "failed": f"the command failed with exit code {verdict.exit_code}; it printed before: {before}",
        "timeout": "the command took too long and was stopped; --timeout allows more time",
        "declined": "not run",
        "no command": "has no command to run; check it yourself and add it again with new evidence",
        "incomplete": "its command is incomplete (redacted or cut), so it cannot be run",
        "not named": f"not run because it may change something; holdfast note fact verify {fact.id} runs it",
    }
    output.line(f"{fact.id}  {flat(fact.text)}: {status[verdict.status]}")
    output.lines(*(f"    instead: {line}" for line in verdict.lines))
    if verdict.status == "changed":
        output.line(f"    If this is now true: holdfast note fact change {fact.id} TEXT --evidence TEXT")


def _verdict_as_json(verdict: app.FactCheck) -> dict[str, Any]:
    return {
        "id": verdict.fact.id,
        "text": verdict.fact.text,
        "command": verdict.fact.command,
        "evidence": verdict.fact.evidence,
        "status": verdict.status,
        "exit_code": verdict.exit_code,
        "instead": list(verdict.lines),
    }
