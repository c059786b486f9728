"""`holdfast ledger`: rows on screen, one session explained, rows by hand, sharing and figures."""

from __future__ import annotations

import argparse
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from holdfast.cli import ledger_views as views
from holdfast.cli import ledger_whole as whole
from holdfast.cli import output
from holdfast.cli.output import NONE_CHOSEN, at_least_one, count, place
from holdfast.core.errors import UsageError
from holdfast.ledger import rows as app
from holdfast.ledger.cells import parse_duration
from holdfast.model.ledger import Complexity, FailureReason, Kind, LedgerEntry, Outcome, Tokens
from holdfast.store.machine import Machine

DESCRIPTION = (
    "One row per session of any agent: what was tried, by which model, at what cost, and how it ended."
)
EXAMPLES = """examples:
  holdfast ledger                      the sessions of this project
  holdfast ledger show 847ff7d2        one session with its tasks and the evidence for them
  holdfast ledger stats --by kind      failure rates with n and interval, cost and time
  holdfast ledger report --format html > report.html
  holdfast ledger export --format csv  for spreadsheets, dashboards and data frames
  holdfast ledger share                track .holdfast/ledger.md in git (--undo takes it back)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    listing = verbs.add_parser("list", help="the sessions of this project (the default)")
    # What is said before the verb counts too: a verb's own default must not overwrite it.
    _filters(parser, None)
    parser.add_argument("--json", action="store_true", help="rows as a JSON array")
    _filters(listing, argparse.SUPPRESS)
    listing.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="rows as a JSON array"
    )
    show = verbs.add_parser("show", help="one session: its row, its tasks and what decided them")
    show.add_argument("session", metavar="SESSION", help="the session id, or the beginning of it")
    show.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="row and local record as JSON"
    )
    whole.configure(verbs, _filters)
    sharing = verbs.add_parser("share", help="track the ledger in git; commits nothing")
    sharing.add_argument(
        "--undo", action="store_true", help="take it out of git again (history keeps what was committed)"
    )
    _configure_add(verbs.add_parser("add", help="write a row by hand"))


def _filters(parser: argparse.ArgumentParser, default: str | None) -> None:
    def add(*names: str, **options: Any) -> None:
        parser.add_argument(*names, default=default, **options)

    add("--agent", help="only this agent's sessions, e.g. claude-code")
    add("--model", help="only models whose name contains this")
    add("--since", metavar="DATE", help="only sessions from this day on (YYYY-MM-DD, your time)")
    add("--framework", help="only projects built with this, e.g. react")
    add("--goal", metavar="WORDS", help="only sessions whose goal has all these keywords")
    add("-n", "--last", type=at_least_one, metavar="N", help="only the last N sessions")


_ADD_TEXTS = {
    "model": "the model that did the work, e.g. claude-opus-4-7",
    "provider": "who served the model, e.g. anthropic",
    "agent": "the coding agent, e.g. claude-code",
    "framework": "what the project is built with, e.g. react",
    "type": "the project's main language, e.g. go",
}
_ADD_COUNTS = {
    "tasks": "tasks in all",
    "failed": "tasks that failed (default: the number of --failure)",
    "skipped": "tasks left open",
    "commits": "commits made",
    "input": "tokens read that no cache held",
    "output": "tokens written by the model",
    "cache-read": "tokens read from the cache",
    "cache-write": "tokens written to the cache",
}


def _configure_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", default="", help="session id (default: made from the content)")
    parser.add_argument("--goal", default="", help="what it was about; only its keywords are kept")
    for name, about in _ADD_TEXTS.items():
        parser.add_argument(f"--{name}", metavar="NAME", help=about)
    for name, about in _ADD_COUNTS.items():
        parser.add_argument(f"--{name}", type=count, metavar="N", help=about)
    parser.add_argument("--cost", metavar="USD", help="dollars, e.g. 0.12 (default: unknown)")
    parser.add_argument("--duration", metavar="TIME", help="e.g. 8min, 1h 5min, 90s")
    outcomes = [str(outcome) for outcome in Outcome if outcome != Outcome.FORGOTTEN]
    reasons = [str(reason) for reason in FailureReason]
    why = "why a task failed; repeat it for each"
    parser.add_argument("--failure", action="append", default=[], choices=reasons, help=why)
    parser.add_argument("--kind", choices=[str(kind) for kind in Kind], help="the sort of work")
    parser.add_argument("--complexity", choices=[str(level) for level in Complexity], help="how hard it was")
    parser.add_argument("--outcome", choices=outcomes, help="how it ended")
    parser.add_argument("--time", metavar="ISO", help="when it began (default: now)")
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print the row as JSON"
    )


def run(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    if options.verb == "add":
        row = _entry(options, machine)
        if row == LedgerEntry(session=""):
            raise UsageError(
                "there is nothing to write down",
                fix='Say what it was about: holdfast ledger add --goal "fix the login" --model gpt-5 --cost 0.12',
            )
        entry = app.add_row(machine, project, row)
        if options.json:
            output.show_json(views.as_json(entry))
        else:
            output.line(f"added {entry.session} to {place(project.window / 'ledger.md')}")
        return 0
    if options.verb == "share":
        if options.undo:
            committed = app.unshare(project)
            left = " Commit the removal; git's history keeps what it had." if committed else ""
            output.line(f"The ledger is yours alone again.{left}")
        else:
            staged = app.share(project)
            output.line(f"Tracked in git, not committed: {', '.join(staged)}. Merges keep both sides' rows.")
        return 0
    if options.verb in whole.VERBS:
        return whole.run(options, machine, project, wanted(options))
    ledger = app.read_ledger(project)
    output.warn_all(problem.message for problem in ledger.problems)
    if options.verb == "show":
        entry = app.find_row(app.rows(ledger), options.session)
        views.show_session(entry, app.record_of(project, entry.session), as_json=options.json)
        return 0
    rows = app.rows(ledger, wanted(options))
    if not rows and not options.json and wanted(options) != app.Filter():
        output.line(NONE_CHOSEN)
    else:
        views.show_rows(rows, as_json=options.json)
    return 0


def wanted(options: argparse.Namespace) -> app.Filter:
    return app.Filter(
        agent=options.agent,
        model=options.model,
        since=_day(options.since),
        last=options.last,
        framework=options.framework,
        goal=tuple((options.goal or "").lower().split()),
    )


def _day(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no date", fix="Write it as YYYY-MM-DD") from error
    return moment if moment.tzinfo else moment.astimezone()


def _entry(options: argparse.Namespace, machine: Machine) -> LedgerEntry:
    from holdfast.sessions.keywords import keywords  # its word lists are only needed here

    counts = (options.input, options.output, options.cache_read, options.cache_write)
    return LedgerEntry(
        session=options.session,
        model=options.model,
        tasks=options.tasks,
        failed=options.failed if options.failed is not None else (len(options.failure) or None),
        cost_usd=_dollars(options.cost),
        duration_s=_seconds(options.duration),
        framework=options.framework,
        goal=keywords(machine.clean(options.goal)),
        timestamp=_day(options.time),
        agent=options.agent,
        provider=options.provider,
        kind=options.kind,
        skipped=options.skipped,
        project_type=options.type,
        failures=tuple(options.failure),
        complexity=options.complexity,
        tokens=None if all(count is None for count in counts) else Tokens(*(count or 0 for count in counts)),
        commits=options.commits,
        outcome=options.outcome,
    )


def _dollars(text: str | None) -> Decimal | None:
    if text is None or text == "?":
        return None
    try:
        value = Decimal(text.removeprefix("$"))
    except InvalidOperation as error:
        raise UsageError(f"{text!r} is no amount", fix="Write dollars as 0.12") from error
    if not value.is_finite() or not 0 <= value < 10**9 or value.as_tuple().exponent < -12:  # type: ignore[operator]
        raise UsageError(
            f"{text!r} is no cost", fix="Write dollars as 0.12, or leave --cost out when unknown"
        )
    return value


def _seconds(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no duration", fix="Write it as 8min, 1h 5min or 90s") from error
