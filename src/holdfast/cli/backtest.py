"""`holdfast backtest`: what memory would have told each past session of this repository, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from holdfast.backtest.last import chosen, keep, key_of, last_report
from holdfast.backtest.report import BacktestReport, Tally, TestedSession
from holdfast.core.errors import NotFound, UsageError
from holdfast.flows.find_transcripts import TranscriptSearch
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, limit, option
from holdfast.terminal.output import Column, table_of
from holdfast.terminal.progress import progress_bar

DESCRIPTION = """Replays this repository's past: for each recorded session, what memory would have shown it, knowing
only the sessions before it, and what the session then needed. Reads the newest sessions; --all reads all, which can
take minutes. Needs no setup and writes nothing to the repository; the last result is cached in ~/.holdfast/cache."""
EXAMPLES = """examples:
  holdfast backtest                   the figures, with their controls
  holdfast backtest --all             all sessions, not only the newest
  holdfast backtest --session last    one session, line by line
  holdfast backtest --html > proof.html
  holdfast backtest ~/old-sessions              transcripts from elsewhere
  holdfast backtest --ab tasks.toml --dry-run   what paired tasks in a real client would cost"""
MOST_WRONG = 20
NEWEST = 50  # sessions: a minute at most on a common machine, and enough for shares

OPTIONS = (
    option(
        "paths", nargs="*", type=Path, metavar="PATH", help="transcripts to read instead of this project's"
    ),
    *limit("sessions", f"default: the newest {NEWEST}"),
    flag("--all", "all sessions, however long it takes"),
    option("--session", metavar="ID", help="one session: its id or a prefix of it, its number, or `last`"),
    option(
        "--control",
        type=Path,
        metavar="PATH",
        help="the repository or transcripts to use as the control",
    ),
    option(
        "--ab",
        metavar="TASKS",
        help="run paired tasks in a real client, with memory and without (docs/ab.md)",
    ),
    flag("--dry-run", "with --ab: show what it would do and cost"),
    flag("--yes", "with --ab: do not ask"),
    flag("--again", "measure again, even if nothing has changed"),
    flag("--html", "as one HTML page without scripts", group="form"),
    option("--json", action="store_true", group="form", help="all figures, and each session with its lines"),
)


def run(options: Namespace, machine: Machine) -> int | None:
    if options.ab is not None:
        from holdfast.cli.backtest_ab import run_ab

        return run_ab(options, machine)
    report, seconds = _report(options, machine)
    if options.session is not None:
        _one(options, report)
    elif options.json:
        output.show_json(as_json(report))
    elif options.html:
        from holdfast.backtest.page import page

        output.write(page(report))
    else:
        _show(report, seconds)
    return None


def _report(options: Namespace, machine: Machine) -> tuple[BacktestReport, float | None]:
    """The report, and how long it took; None if the last one still holds."""
    from holdfast.backtest.reading import newest_of, transcripts_of

    for path in (*options.paths, *([options.control] if options.control else [])):
        if not path.exists():
            raise UsageError(f"there is no {path}", fix="Name a transcript, or a folder of them")
    project = machine.project()
    most = 0 if options.all else NEWEST if options.limit is None else options.limit
    search, found = newest_of(transcripts_of(machine, project, options.paths), most)
    key = key_of(project, search, options.control)
    known = None if options.again else last_report(machine, project, key)
    if known is not None:
        return known, None
    shown = not options.json and not options.html
    report = replayed(machine, search, key, options.control, found=found, shown=shown)
    return report, report.seconds


def replayed(
    machine: Machine,
    search: TranscriptSearch,
    key: str,
    control: Path | None = None,
    *,
    found: int,
    shown: bool,
) -> BacktestReport:
    """Runs the backtest, with its progress if `shown`, and keeps the report. `found`: more sessions were recorded."""
    from holdfast.backtest.run import run as backtest

    project = machine.project()
    with progress_bar(show=shown, text="backtest", columns=("TimeRemainingColumn",)) as update:
        progress = update and (lambda done, total, what: update(done, total, what))
        report = backtest(machine, project, (), control, progress, search)
    output.warn_all(f"{warning.path}: {warning.message}" for warning in search.warnings)
    if found:
        report = msgspec.structs.replace(report, found=found)
    keep(machine, project, report, key)
    return report


def as_json(report: BacktestReport) -> dict[str, Any]:
    """The main figures first, under the names that docs/json.md lists."""
    value: dict[str, Any] = msgspec.to_builtins(report)
    memory = value.pop("memory")
    tested = value.pop("tested")
    del value["key"]
    control = {
        "of": value.pop("control_of"),
        "sessions": value.pop("control_sessions"),
        **value.pop("control"),
    }
    from holdfast.backtest.words import sentences

    return {
        "sentence": " ".join(sentences(report)),
        "sessions": value.pop("sessions"),
        **memory,
        "control": control,
        **value,
        "details": tested,
    }


def _show(report: BacktestReport, seconds: float | None) -> None:
    from holdfast.backtest.words import HOW, cost_line, name_of, sentences

    for sentence in (*sentences(report), cost_line(report)):
        output.line(sentence)
    output.line()
    output.show(_compared(report))
    if report.stretches:
        output.section("By session, oldest first")
        output.show(_by_stretch(report))
    wrong = report.wrong_lines
    if wrong:
        output.section("Wrong")
        for one, line in wrong[:MOST_WRONG]:
            output.item(f"{name_of(one)}: {line.text} — {line.why}")
        if len(wrong) > MOST_WRONG:
            output.note(f"{MOST_WRONG} of {len(wrong)}; --json lists all.")
    output.section("How this was counted")
    for text in HOW:
        output.item(text)
    for text in _notes(report):
        output.item(text)
    output.note(
        f"It took {seconds:.0f} s." if seconds is not None else "Nothing has changed since the last time."
    )


def _notes(report: BacktestReport) -> list[str]:
    notes = []
    if report.sessions == 1:
        notes.append("A single session has nothing before it that memory could have known.")
    if report.found:
        notes.append(
            f"Of {output.counted(report.found, 'recorded session')} the newest {report.sessions} were tested, and "
            "memory knew nothing from before them: --all tests all, --limit N so many."
        )
    if report.undated:
        notes.append(f"Skipped: {output.counted(report.undated, 'session')} without a date.")
    if report.replaced_later:
        notes.append(
            f"{output.counted(report.replaced_later, 'statement')} shown were true at the time and were replaced later."
        )
    return notes


def _compared(report: BacktestReport) -> output.Table:
    from holdfast.backtest.words import in_time, share, sides

    return table_of(
        sides(report),
        (Column("", flexible=True, wrapped=True), lambda side: side[0]),
        (Column("Spoke", "right"), lambda side: str(side[1].spoke)),
        (Column("Tokens", "right", dispensable=2), lambda side: f"{side[1].tokens_each or 0:.0f}"),
        (Column("Lines", "right"), lambda side: str(side[1].lines)),
        (Column("Used", "right"), lambda side: share(side[1].used, side[1].lines)),
        (Column("Wrong", "right"), lambda side: str(side[1].wrong)),
        (Column("Failures", "right", dispensable=1), lambda side: in_time(side[1].needs.get("remedy"))),
        (Column("Questions", "right", dispensable=4), lambda side: in_time(side[1].needs.get("question"))),
        (Column("Decisions", "right", dispensable=3), lambda side: in_time(side[1].needs.get("decision"))),
        (Column("Files", "right"), lambda side: in_time(side[1].needs.get("file"))),
        (Column("Commands", "right", dispensable=5), lambda side: in_time(side[1].needs.get("command"))),
    )


def _by_stretch(report: BacktestReport) -> output.Table:
    from holdfast.backtest.words import in_time, share

    def tally(place: int) -> Tally:
        return report.stretches[place].tally

    return table_of(
        range(len(report.stretches)),
        (
            Column("Sessions"),
            lambda place: f"{report.stretches[place].first}–{report.stretches[place].last}",
        ),
        (Column("Spoke", "right"), lambda place: str(tally(place).spoke)),
        (Column("Tokens", "right", dispensable=1), lambda place: f"{tally(place).tokens_each or 0:.0f}"),
        (Column("Lines", "right"), lambda place: str(tally(place).lines)),
        (Column("Used", "right"), lambda place: share(tally(place).used, tally(place).lines)),
        (Column("Wrong", "right"), lambda place: str(tally(place).wrong)),
        (Column("Failures", "right"), lambda place: in_time(tally(place).needs.get("remedy"))),
        (Column("Files", "right"), lambda place: in_time(tally(place).needs.get("file"))),
        (
            Column("Commands", "right", dispensable=2),
            lambda place: in_time(tally(place).needs.get("command")),
        ),
    )


def _one(options: Namespace, report: BacktestReport) -> None:
    found = [report.tested[place] for place in chosen(report, options.session)]
    if len(found) != 1:
        problem = "no session" if not found else f"{len(found)} sessions"
        raise NotFound(
            f"{problem} of the {len(report.tested)} that were tested begins with {options.session!r}",
            fix="holdfast backtest --json lists them; a number counts them from the oldest; --all tests all",
        )
    output.answer(options, found[0], lambda: _show_session(found[0]))


def _show_session(one: TestedSession) -> None:
    from holdfast.backtest.words import counted, name_of

    output.heading(name_of(one))
    output.line(
        f"{one.agent}; memory knew {counted(one.past, 'session')} and would have shown {counted(one.tokens, 'token')}."
    )
    when = ""
    for line in one.lines:
        if line.when != when:
            when = line.when
            output.section(f"At the {when}" if " " not in when else f"At a {when}")
        output.item(f"{line.text}")
        output.aside(f"{line.verdict}: {line.why}", 4)
    _show_needs(one.needs)


def _show_needs(needs: Sequence[Any]) -> None:
    if not needs:
        return
    output.section("Known before and needed")
    for need in needs:
        cost = f" ({need.calls} calls, {need.tokens} tokens)" if need.calls else ""
        output.item(f"{'shown' if need.told else 'not shown'}: {need.kind} {need.what}{cost}")
