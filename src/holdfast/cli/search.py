"""`holdfast search`: the best matches in memory, with their file and line; with --brief, all that a task needs."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.briefing.brief import BUDGET, LEAST_BUDGET, brief
from holdfast.briefing.search import KINDS, project_names, search
from holdfast.core.errors import UsageError
from holdfast.core.session_id import short_session
from holdfast.core.wording import cut_around
from holdfast.flows.notes import memory_here
from holdfast.guard.hidden_text import visible
from holdfast.ledger.rows import session_titles
from holdfast.memory.ids import is_id, reworded
from holdfast.model.origin import origin_text
from holdfast.model.search import Hit
from holdfast.search.periods import period_in
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, limit, moment_from, option, since
from holdfast.terminal.output import place

DESCRIPTION = """Searches everything remembered about this project, by words and by meaning: decisions, facts,
history, questions, rules, knowledge and the ledger. Shows where each hit is, which session it came from and why it
was found. If nothing fits, it shows nothing.

--brief gathers what to read before a large task: decisions with reasons and rejected alternatives ("not: …"),
findings, facts, dead ends, open questions, next steps, what commits and documents say, and what no longer holds."""
EXAMPLES = """examples:
  holdfast search "why is auth slow"
  holdfast search ECONNREFUSED --kind fact
  holdfast search 48f428f9                      what one session did
  holdfast search "what did we do yesterday"    or 2026-11-03, 3 November, last week
  holdfast search -- --no-verify                a text that starts with a dash
  holdfast search "retry with backoff" --everywhere -n 3
  holdfast search --brief "retries of the export client"
  holdfast search --brief authentication --budget 1500 --json"""
LONGEST = 240
_MOST = 2_000  # hits
_DATED = 20  # times as many hits are looked through for those of a period


OPTIONS = (
    option(
        "query",
        nargs="+",
        metavar="QUERY",
        help="words, a question, an id or an error; with --brief, a subject",
    ),
    option("--kind", action="append", choices=KINDS, metavar="KIND", help=f"only these: {', '.join(KINDS)}"),
    option("--project", default="", metavar="NAME", help="only this project of the repository"),
    flag("--everywhere", "search every project on this machine"),
    flag("--team", "search what members made searchable on the team's server"),
    since("hits"),
    *limit("hits", "default: 5", "-k", default=5),
    flag("--all", "show the nearest hits even if nothing fits"),
    flag("--why", "also show how well each fits, from 0 to 1"),
    flag("--brief", "gather everything known about a subject, before a large task"),
    option(
        "--budget",
        type=int,
        default=None,
        metavar="N",
        help=f"with --brief: at most N tokens (default: {BUDGET})",
    ),
    flag("--json", "the hits, or the brief, as JSON"),
)
_OF_HITS = ("kind", "everywhere", "team", "all", "why", "since")


def run(options: Namespace, machine: Machine) -> None:
    query = " ".join(options.query).strip()
    if not query:
        raise UsageError("no search words given")
    if options.brief:
        return _brief(options, machine, query)
    if options.budget is not None:
        raise UsageError("--budget needs --brief", fix="holdfast search --brief SUBJECT --budget N")
    if options.team and (options.everywhere or options.project):
        raise UsageError("--team searches this project only", fix="Remove --everywhere and --project")
    if is_id(query) and (now := _renamed(machine, query)):
        output.note(f"{query} was reworded: it is {now} now.")
        query = now
    hits = _found(options, machine, query, nearest=options.all)
    titles = {} if options.everywhere else session_titles(machine.project(), [hit.session for hit in hits])
    if options.json:
        return output.show_json([{**hit.as_json(), "title": titles.get(hit.session)} for hit in hits])
    if hits and not _is_clear(options, machine, query, hits):
        output.note("No clear match. The nearest:")
    for number, hit in enumerate(hits):
        if number:
            output.line()
        _show(hit, titles.get(hit.session, ""), fit=options.why, project=options.everywhere)
    if not hits:
        output.note(_nothing(options, machine, query))


def _renamed(machine: Machine, id: str) -> str:
    """The id that a reworded decision has now; '' for any other."""
    store = memory_here(machine)
    return reworded(store, id, store.successors().values())


def _brief(options: Namespace, machine: Machine, subject: str) -> None:
    for name in _OF_HITS:
        if getattr(options, name):
            raise UsageError(
                f"--{name} cannot be combined with --brief",
                fix="holdfast search --brief SUBJECT [--budget N]",
            )
    budget = BUDGET if options.budget is None else options.budget
    if budget < LEAST_BUDGET:
        raise UsageError(f"--budget must be {LEAST_BUDGET} or more", fix=f"Omit it for {BUDGET} tokens")
    result = brief(machine, machine.project(), subject, budget, options.project)
    if options.json:
        return output.show_json(result.as_json())
    if result.nothing:
        return output.note(f"{result.nothing}: {output.flat(subject)}")
    for text in result.text.split("\n"):
        if text.startswith("#"):
            output.heading(text)
        else:
            output.line(text, under=2)
    if output.on_terminal():
        output.note(f"{result.tokens:,} of {budget:,} tokens")


def _found(options: Namespace, machine: Machine, query: str, *, nearest: bool) -> list[Hit]:
    start = moment_from(options.since)
    most = min(options.limit * (_DATED if start else 1), _MOST)
    if options.team:
        from holdfast.sync import team_index

        hits = team_index.search(machine, machine.project(), query, most, options.kind, nearest=nearest)
        return [hit for hit in hits if start is None or hit.date >= start.date().isoformat()][: options.limit]
    hits = search(
        machine,
        machine.project(),
        query,
        most,
        options.kind,
        name=options.project,
        everywhere=options.everywhere,
        nearest=nearest,
        waiting=True,
    )
    return [hit for hit in hits if start is None or hit.date >= start.date().isoformat()][: options.limit]


def _is_clear(options: Namespace, machine: Machine, query: str, hits: Sequence[Hit]) -> bool:
    """Whether a hit answers for sure. The nearest hits (--all) carry no doubt yet, so those without --all decide."""
    doubted = _found(options, machine, query, nearest=False) if options.all else hits
    return any(not hit.grounds.weak for hit in doubted)


def _nothing(options: Namespace, machine: Machine, query: str) -> str:
    if options.team:
        return "No match in what the team made searchable. Without --team, holdfast searches this machine."
    if not (options.everywhere or machine.project().memory.is_dir()):
        return "Memory is empty. holdfast import reads what agents recorded."
    if options.project and not options.everywhere and options.project not in project_names(machine.project()):
        return f"No project is called {options.project}: holdfast project lists them."
    period = period_in(query, machine.now())
    if period is not None and period.is_all:
        return f"Nothing here is dated {period.name}."
    return "Nothing matches." if options.all else "Nothing matches. --all shows the nearest."


def _show(hit: Hit, title: str, *, fit: bool, project: bool) -> None:
    first, *rest = [line for line in hit.text.split("\n") if line.strip()]
    output.heading(output.cut(first, LONGEST))
    for line in rest[:3]:
        output.line(f"  {cut_around(line, hit.grounds.words, LONGEST)}")
    where = place(f"{hit.path}:{hit.line}" if hit.line else hit.path)
    session = f"session {short_session(hit.session)}{f' “{title}”' if title else ''}" if hit.session else ""
    origin = origin_text(hit.origin, trusted=hit.trusted, by=visible(hit.by))
    parts = [hit.project if project else "", hit.kind, hit.date[:10], where, session, origin, hit.why]
    output.aside(" · ".join(filter(None, [*parts, f"fit {hit.score:.2f}" if fit else ""])), indent=2)
