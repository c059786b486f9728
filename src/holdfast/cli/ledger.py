"""`holdfast ledger`: rows on screen, one session explained, rows by hand, sharing and figures."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from pathlib import Path

from holdfast.core.errors import UsageError
from holdfast.ledger import rows as app
from holdfast.ledger.cells import parse_duration
from holdfast.model.ledger import Complexity, FailureReason, Kind, LedgerEntry, Outcome, Tokens
from holdfast.terminal import output
from holdfast.terminal.options import (
    Machine,
    Namespace,
    Verb,
    count,
    flag,
    limit,
    moment_from,
    of_verb,
    option,
    since,
)
from holdfast.terminal.output import EMPTY, NONE_CHOSEN, Column, Table, plural
from holdfast.views import ledger as views

DESCRIPTION = """One row for each session of any agent: what it was about, which model, what it cost, and how it
ended."""
EXAMPLES = """examples:
  holdfast ledger                      the newest sessions of this project
  holdfast ledger --since 7d           those of the last week
  holdfast ledger show 847ff7d2        one session with its tasks and their evidence
  holdfast ledger stats --by kind      failure rates with n and interval, cost and time
  holdfast ledger report --format html > report.html
  holdfast ledger export --format csv  for spreadsheets, dashboards and data frames
  holdfast ledger query "SELECT model, sum(cost_usd) FROM ledger GROUP BY model"
  holdfast ledger merge ~/work/api     the rows of another clone
  holdfast ledger add --session chat-7 --goal "auth refactor"
  holdfast ledger share                track .holdfast/ledger.md in git (--undo takes it back)
"""


SHOWN = 20  # rows of a list on screen
_BY = ("model", "framework", "type", "kind", "complexity", "topic", "agent", "month", "week", "day")
_EXPORTS = ("csv", "jsonl", "parquet", "openmetrics", "grafana")
_FILTERS = (
    option("--agent", help="only this agent's sessions, e.g. claude-code"),
    option("--model", help="only models whose name contains this"),
    since("sessions"),
    option("--framework", help="only projects built with this, e.g. react"),
    option("--goal", metavar="WORDS", help="only sessions whose goal has all these keywords"),
    *limit("sessions, the newest", "a terminal shows 20"),
)
_ADD_TEXTS = {
    "model": "the model, e.g. claude-opus-4-7",
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
    "input": "input tokens that were not cached",
    "output": "tokens written by the model",
    "cache-read": "tokens read from the cache",
    "cache-write": "tokens written to the cache",
}
_ADD = (
    option("--session", default="", help="session id (default: derived from the content)"),
    option("--goal", default="", help="what it was about; only keywords are kept"),
    *(option(f"--{name}", metavar="NAME", help=about) for name, about in _ADD_TEXTS.items()),
    *(option(f"--{name}", type=count, metavar="N", help=about) for name, about in _ADD_COUNTS.items()),
    option("--cost", metavar="USD", help="dollars, e.g. 0.12 (default: unknown)"),
    option("--duration", metavar="TIME", help="e.g. 8min, 1h 5min, 90s"),
    option(
        "--failure",
        action="append",
        default=[],
        choices=list(map(str, FailureReason)),
        help="why a task failed; repeat it for each",
    ),
    option("--kind", choices=list(map(str, Kind)), help="the kind of work"),
    option("--complexity", choices=list(map(str, Complexity)), help="how hard it was"),
    option(
        "--outcome",
        choices=[str(outcome) for outcome in Outcome if outcome != Outcome.FORGOTTEN],
        help="how it ended",
    ),
    option("--time", metavar="ISO", help="when it began (default: now)"),
)
_PLACES = option(
    "places",
    nargs="*",
    metavar="DIR",
    help="read these repositories or ledger files instead of this project's",
)
OPTIONS = (*_FILTERS, flag("--json", "rows as a JSON array"))
VERBS = {
    "list": Verb("list the sessions of this project (the default)", of_verb(*OPTIONS)),
    "show": Verb(
        "show one session: its row, its tasks and the evidence",
        (
            option("session", metavar="SESSION", help="the session's id, a prefix of it, or last"),
            *of_verb(flag("--json", "row and local record as JSON")),
        ),
    ),
    "stats": Verb(
        "show totals, averages, failures and cost, by model or anything else",
        (
            _PLACES,
            option("--by", choices=_BY, help="group by this instead"),
            *of_verb(*_FILTERS, flag("--json", "the figures as JSON")),
        ),
    ),
    "report": Verb(
        "show which model works best where, what fails, and the trend",
        (
            _PLACES,
            option("--format", choices=("text", "md", "html"), default="text", help="the output format"),
            *of_verb(*_FILTERS, flag("--json", "the report as JSON")),
        ),
    ),
    "export": Verb(
        "write rows for spreadsheets, data frames and dashboards",
        (
            _PLACES,
            option(
                "--format",
                choices=_EXPORTS,
                default="csv",
                help="default: csv (grafana: a dashboard)",
            ),
            option("-o", "--output", metavar="FILE", help="write here instead of standard output"),
            option("--out", metavar="DIR", help="parquet: files by month and project, for many ledgers"),
            *of_verb(*_FILTERS),
        ),
    ),
    "query": Verb(
        "run SQL over ledgers and exported Parquet (views: ledger, rows)",
        (
            option("sql", metavar="SQL", help="one SELECT statement"),
            option(
                "places", nargs="*", metavar="PLACE", help="ledgers, repositories, Parquet files or folders"
            ),
            flag("--csv", "the answer as CSV"),
            *of_verb(flag("--json", "the answer as a JSON array of objects")),
        ),
    ),
    "merge": Verb(
        "merge the rows of other clones' ledgers",
        (
            option("places", nargs="+", metavar="FILE", help="ledger files, or repositories that have one"),
            *of_verb(flag("--json", "what was merged, as JSON")),
        ),
    ),
    "commit": Verb(
        "commit the shared ledger and nothing else",
        (flag("--dry-run", "only show the message, commit nothing"),),
    ),
    "share": Verb(
        "track the ledger in git; commits nothing",
        (flag("--undo", "stop tracking it (git history keeps what was committed)"),),
    ),
    "add": Verb("write a row by hand", (*_ADD, *of_verb(flag("--json", "print the row as JSON")))),
}


def run(options: Namespace, machine: Machine) -> None:
    ledger = app.read_ledger(machine.project())
    output.warn_all(problem.message for problem in ledger.problems)
    rows = app.rows(ledger, _filter(options))
    all_of_them = options.json or options.limit or not output.on_terminal()
    shown = rows if all_of_them else rows[-SHOWN:]
    titles = app.titles_of(machine.project(), shown)
    output.answer(
        options,
        [{**views.as_json(row), "title": titles.get(row.session)} for row in shown],
        (lambda: _show_rows(shown, titles, len(rows))) if rows else _nothing(options),
    )


def _show_rows(shown: list[LedgerEntry], titles: dict[str, str], total: int) -> None:
    output.show(views.rows_table(shown[::-1], titles))
    if len(shown) < total:
        output.note(
            f"The newest {len(shown)} of {total:,} sessions. Use --limit N to see more, or --since 7d for a period."
        )


def run_show(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    ledger = app.read_ledger(project)
    output.warn_all(problem.message for problem in ledger.problems)
    entry = app.find_row(app.rows(ledger), options.session)
    record = app.record_of(project, entry.session)
    title = app.titles_of(project, [entry]).get(entry.session)
    origin = app.origin_of_row(project, entry, record)
    output.answer(
        options,
        {**views.as_json(entry), "title": title, "origin": origin, "record": record},
        lambda: views.show_session(entry, record, title or "", origin),
    )


def run_stats(options: Namespace, machine: Machine) -> None:
    from holdfast.views.ledger_figures import show_stats

    show_stats(_read_all(options, machine), options.by, _nothing(options), as_json=options.json)


def run_report(options: Namespace, machine: Machine) -> None:
    from holdfast.views.ledger_report import show_report

    show_report(_read_all(options, machine), options.format, _nothing(options), as_json=options.json)


def run_export(options: Namespace, machine: Machine) -> None:
    from holdfast.ledger.export import exported, write_export

    if options.out:
        return _export_folder(options, machine)
    rows, project = _read_all(options, machine), machine.project()
    pieces = exported(rows, options.format, project.title)
    if options.output:
        path = machine.cwd / Path(options.output).expanduser()
        if not path.parent.is_dir():
            raise UsageError("there is no such folder", where=str(path.parent), fix="Create it first")
        write_export(project, path, pieces)
        written = "a dashboard" if options.format == "grafana" else plural(len(rows), "session")
        return output.note(f"{written} written to {path}")
    _write(pieces)


def _write(pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _export_folder(options: Namespace, machine: Machine) -> None:
    from holdfast.ledger.parquet import write_partitions

    if options.format != "parquet" or options.output or _filter(options) != app.Filter():
        raise UsageError(
            "--out writes whole ledgers as Parquet", fix="Add --format parquet, and remove filters"
        )
    ledgers, problems = app.named_ledgers(machine, options.places)
    output.warn_all(problems)
    written = write_partitions(
        machine, machine.project(), ledgers, machine.cwd / Path(options.out).expanduser()
    )
    output.note(
        f"{plural(written.rows, 'row')} written to {plural(written.files, 'file')} in {written.folder}"
    )


def run_query(options: Namespace, machine: Machine) -> None:
    from holdfast.ledger.query import answered

    with answered(machine, options.sql, options.places) as (answer, problems):
        output.warn_all(problems)
        if options.csv:
            return _write(piece.encode() for piece in answer.csv())
        rows = answer.objects()
        columns = [Column(name, answer.side(name, rows), flexible=True) for name in answer.columns]
        output.answer(options, rows, Table(columns, answer.cells(rows)) if rows else "No rows.")


def _read_all(options: Namespace, machine: Machine) -> list[LedgerEntry]:
    """The chosen rows of all places."""
    gc.disable()  # rows form no cycles, and the process ends with them
    rows, problems = app.read_all(machine, machine.project(), options.places, _filter(options))
    output.warn_all(problems)
    return rows


def run_merge(options: Namespace, machine: Machine) -> None:
    merged = app.merge(machine, machine.project(), options.places)
    output.warn_all(merged.problems)
    forgotten = f", {merged.forgotten} were forgotten and skipped" if merged.forgotten else ""
    output.answer(
        options,
        merged,
        f"Merged {plural(merged.added, 'row')}; {merged.known} were already there{forgotten}. holdfast ledger "
        "shows them.",
    )


def run_commit(options: Namespace, machine: Machine) -> None:
    output.line(app.commit(machine.project(), dry_run=options.dry_run))


def run_share(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.undo:
        left = " Commit the removal; git history keeps earlier versions." if app.unshare(project) else ""
        output.line(f"The ledger is private again.{left}")
    else:
        staged = ", ".join(app.share(project))
        output.line(f"Tracked in git, not committed: {staged}. Merges keep both sides' rows.")


def run_add(options: Namespace, machine: Machine) -> None:
    project, row = machine.project(), _entry(options, machine)
    if row == LedgerEntry(session=""):
        raise UsageError(
            "nothing to add",
            fix='Describe the session: holdfast ledger add --goal "fix the login" --model gpt-5 --cost 0.12',
        )
    entry = app.add_row(machine, project, row)
    where = output.place(project.window / "ledger.md")
    output.answer(options, views.as_json(entry), f"added {entry.session} to {where}")


def _nothing(options: Namespace) -> str:
    return EMPTY if _filter(options) == app.Filter() else NONE_CHOSEN


def _filter(options: Namespace) -> app.Filter:
    return app.Filter(
        agent=options.agent,
        model=options.model,
        since=moment_from(options.since),
        last=options.limit,
        framework=options.framework,
        goal=tuple((options.goal or "").lower().split()),
    )


def _entry(options: Namespace, machine: Machine) -> LedgerEntry:
    from holdfast.language.keywords import keywords  # its word lists are only needed here
    from holdfast.store.gate import admit

    counts = (options.input, options.output, options.cache_read, options.cache_write)
    return LedgerEntry(
        session=options.session,
        model=options.model,
        tasks=options.tasks,
        failed=options.failed if options.failed is not None else (len(options.failure) or None),
        cost_usd=_dollars(options.cost),
        duration_s=_seconds(options.duration),
        framework=options.framework,
        goal=keywords(admit(machine, machine.project(), options.goal or "", "the goal")),
        timestamp=moment_from(options.time),
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
        raise UsageError(f"{text!r} is not an amount", fix="Write dollars as 0.12") from error
    if not value.is_finite() or not 0 <= value < 10**9 or value.as_tuple().exponent < -12:  # type: ignore[operator]
        raise UsageError(
            f"{text!r} is not a cost", fix="Write dollars as 0.12, or omit --cost if it is unknown"
        )
    return value


def _seconds(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a duration", fix="Write it as 8min, 1h 5min or 90s") from error
