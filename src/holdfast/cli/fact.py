"""`holdfast fact`: what was verified, with its evidence; added, changed, listed, retired."""

from __future__ import annotations

from holdfast.cli import fact_verify, output
from holdfast.cli import memory_views as views
from holdfast.cli.memory_views import flat
from holdfast.cli.options import SUPPRESS, Machine, Namespace, Option, Verb, flag, of_verb, option
from holdfast.flows import facts as app
from holdfast.memory.reference import KeptFact
from holdfast.model.memory import FactCategory

DESCRIPTION = """Facts that were verified, each with its evidence: nothing is kept without. The same fact in other
words is kept once; one that contradicts another is kept beside it and said. ID may be the beginning of an id."""
EXAMPLES = """examples:
  holdfast fact add "The API listens on port 8080" --evidence "listening on :8080" --command "make ping"
  holdfast fact list --category endpoint
  holdfast fact verify F-k3           run its command again, after asking
  holdfast fact change F-k3 "The API listens on port 9090" --evidence "listening on :9090"
"""
_CATEGORIES = [str(category) for category in FactCategory]


_ONE = f"one of {', '.join(_CATEGORIES)}"
_JSON = flag("--json", "the result as JSON", default=SUPPRESS)
_ID = option("id", metavar="ID", help="the fact's id, or the beginning of it")
_EVIDENCE = option("--evidence", metavar="TEXT", help="what showed it: the line that was answered")


def _category(about: str) -> Option:
    return option("--category", choices=_CATEGORIES, metavar="CATEGORY", help=about)


OPTIONS = (
    _category(f"only facts of this category: {', '.join(_CATEGORIES)}"),
    flag("--all", "retired facts too"),
    flag("--json", "the result as JSON"),
)
VERBS = {
    "list": Verb("the facts of this project (the default)", of_verb(*OPTIONS)),
    "show": Verb("one fact with its evidence and what it was before", (_ID, _JSON)),
    "add": Verb(
        "keep a fact; refused without evidence",
        (
            option("text", metavar="TEXT", help="the fact, in one sentence"),
            _EVIDENCE,
            option("--command", default="", metavar="CMD", help="the command that showed it"),
            _category(f"{_ONE} (default: guessed from the words)"),
            _JSON,
        ),
    ),
    "change": Verb(
        "put a new fact in an old one's place; the old one is its history",
        (
            _ID,
            option("text", metavar="TEXT", help="what holds now"),
            _EVIDENCE,
            option("--command", metavar="CMD", help="the command that showed it (default: as before)"),
            _category(f"{_ONE} (default: as before)"),
            _JSON,
        ),
    ),
    "retire": Verb(
        "give a fact up; it stays with the date",
        (_ID, option("--because", metavar="TEXT", help="why it no longer holds"), _JSON),
    ),
    "verify": Verb(
        "run the commands of facts again, after asking, and compare", (*fact_verify.OPTIONS, _JSON)
    ),
}


def run(options: Namespace, machine: Machine) -> int:
    if options.verb == "verify":
        return fact_verify.run(options, machine)
    if options.verb == "add":
        _tell(
            app.add_fact(machine, options.text, options.evidence, options.command, options.category),
            as_json=options.json,
        )
    elif options.verb == "change":
        _tell(
            app.change(
                machine, options.id, options.text, options.evidence, options.command, options.category
            ),
            as_json=options.json,
        )
    elif options.verb == "retire":
        _tell(app.retire(machine, options.id, options.because), as_json=options.json)
    else:
        _read(options, machine)
    return 0


def _tell(result: app.Kept, *, as_json: bool) -> None:
    kept, fact = result.kept, result.kept.fact
    if as_json:
        output.show_json(
            {
                "status": result.status,
                **views.fact_as_json(kept),
                "contradicts": views.clashes_as_json(result.contradictions),
            }
        )
        return
    gone = f"since {views.date(kept.retired_at)}"
    said = {
        "added": f"{fact.id} added to {fact.category}: {flat(fact.text)}",
        "merged": f"{fact.id} says that already, and is verified today: {flat(fact.text)}",
        "revived": f"{fact.id} was retired and stands again: {flat(fact.text)}",
        "changed": f"{fact.id} now: {flat(fact.text)}",
        "unchanged": f"{fact.id} is retired already, {gone}.",
        "retired": f"{fact.id} retired: {flat(fact.text)}. It stays in reference.md with the date.",
    }
    output.line(said[result.status])
    if result.status == "changed" and kept.was:
        output.line(f"Before ({kept.was[0].id}): {flat(kept.was[0].text)}")
    older = result.contradictions[0].one.id if len(result.contradictions) == 1 else "ID"
    views.show_contradictions(
        result.contradictions,
        f"Which no longer holds? holdfast fact change {older} TEXT --evidence TEXT, or holdfast fact retire {older}.",
    )


def _read(options: Namespace, machine: Machine) -> None:
    file = app.read_facts(machine)
    views.warn_of(file.problems)
    facts = file.reference.facts
    if options.verb == "show":
        kept = app.wanted_fact(facts, options.id)
        if options.json:
            output.show_json(views.fact_as_json(kept))
        else:
            views.show_fact(kept)
        return
    shown = [kept for kept in facts if _is_wanted(kept, options)]
    if options.json:
        output.show_json([views.fact_as_json(kept) for kept in shown])
    elif shown:
        output.show(views.facts_table(shown))
    else:
        output.line(_nothing(facts))


def _is_wanted(kept: KeptFact, options: Namespace) -> bool:
    return (options.all or kept.retired_at is None) and options.category in (None, kept.fact.category)


def _nothing(facts: tuple[KeptFact, ...]) -> str:
    if facts:
        return "No such fact stands. holdfast fact list --all shows retired ones too."
    return "No facts yet. holdfast fact add TEXT --evidence TEXT keeps one; holdfast import finds them in sessions."
