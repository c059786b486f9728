"""reference.md: verified facts by category, each with its evidence and history; the decision register.

A person may correct a line by hand: what can be read counts. A line that cannot, a fact without evidence above
all, is reported and moved below the managed part at the next write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.core.errors import UsageError
from holdfast.core.patterns import lazy_regex
from holdfast.model.memory import Decision, Fact, FactCategory, Question
from holdfast.store import line_grammar as md
from holdfast.store import sections
from holdfast.store.line_grammar import Field, Form, Problem
from holdfast.store.sections import Document

FACTS = "facts"
DECISIONS = "decisions"
_TITLES: dict[str, str] = {
    FactCategory.ENDPOINT: "Endpoints",
    FactCategory.ID: "Ids",
    FactCategory.COMMAND: "Commands",
    FactCategory.ENVIRONMENT: "Environment",
    FactCategory.DEPENDENCY: "Dependencies",
    FactCategory.BUILD: "Build",
    FactCategory.TESTING: "Testing",
    FactCategory.RESULT: "Results",
    FactCategory.DECISION: "Decided outside",
    FactCategory.OTHER: "Other",
}
_CATEGORIES = {title: category for category, title in _TITLES.items()}
_OWN_TITLE = "Category "
_WAS = "  - was: "
# A fact rarely changes its category; if it did, the old one is written.
_OLD_FACT = Form(Fact, "text", (Field("category", "category"), *md.FACT.fields))
_FAILED = "  - failed: "
_RETIRED = "  - retired: "
_BECAUSE = " · because: "
_EVIDENCE = lazy_regex(rf"  - (?=(?:{'|'.join(field.key for field in md.FACT.fields)}): )")
_SIGN_WIDTH = len(" · ")


class KeptFact(Struct, frozen=True, kw_only=True):
    """A fact, its earlier versions (newest first), and when it was retired, if it was.

    `failed_at` is when its command last did not show it.
    """

    fact: Fact
    was: tuple[Fact, ...] = ()
    retired_at: float | None = None
    retired_because: str = ""
    failed_at: float | None = None

    @property
    def did_not_show(self) -> float | None:
        """When its check last failed, unless it was verified since."""
        seen = self.fact.verified_at or self.fact.at or 0
        return None if self.failed_at is None or self.failed_at < seen else self.failed_at


class Reference(Struct, frozen=True, kw_only=True):
    """The facts and decisions of a project."""

    facts: tuple[KeptFact, ...] = ()
    decisions: tuple[Decision, ...] = ()


class ReferenceFile(Struct):
    """A parsed reference.md."""

    document: Document
    reference: Reference
    problems: list[Problem] = field(default_factory=list)
    understood: dict[str, set[int]] = field(default_factory=dict)


def change_fact(reference: Reference, old_id: str, new: Fact) -> Reference:
    """The reference with `new` in place of a fact; the old fact is kept as its history."""
    facts = [
        KeptFact(fact=new, was=(kept.fact, *kept.was))
        if kept.fact.id == old_id and kept.fact != new
        else kept
        for kept in reference.facts
    ]
    return Reference(facts=tuple(facts), decisions=reference.decisions)


# --- writing -------------------------------------------------------------------------------------------


def beginning(project: str) -> str:
    return (
        f"# Reference of {md.encode(project)}\n\n"
        "What was verified, with the command that showed it; times are UTC. Nothing stands here without evidence.\n"
    )


def render_reference(file: ReferenceFile, reference: Reference) -> str:
    """The file with these facts and decisions in its managed parts. Raises UsageError for a fact without evidence."""
    facts = _render_facts(reference.facts)
    decisions = [f"- {md.DECISION.render(decision)}" for decision in reference.decisions]
    document = file.document.replace(FACTS, facts, heading="Facts", ours=file.understood.get(FACTS, ()))
    return document.replace(
        DECISIONS, decisions, heading="Decision register", ours=file.understood.get(DECISIONS, ())
    ).render()


def _render_facts(facts: Iterable[KeptFact]) -> list[str]:
    by_category: dict[str, list[KeptFact]] = {}
    for kept in facts:
        by_category.setdefault(kept.fact.category, []).append(kept)
    order = {str(category): place for place, category in enumerate(_TITLES)}
    lines: list[str] = []
    for category in sorted(by_category, key=lambda name: (order.get(name, len(order)), name)):
        lines += ["", f"### {_title(category)}", ""]
        for kept in by_category[category]:
            lines += _render_fact(kept)
    return [*lines[1:], ""] if lines else []


def _title(category: str) -> str:
    return _TITLES.get(category) or f"{_OWN_TITLE}{md.encode(category)}"


def _render_fact(kept: KeptFact) -> list[str]:
    for fact in (kept.fact, *kept.was):
        if not fact.evidence.strip():
            raise UsageError(
                f"the fact {fact.text[:60]!r} has no evidence",
                fix="Say which command or query showed it, and what it answered",
            )
    form, fact = md.FACT, kept.fact
    first_key = form.tail(fact)[_SIGN_WIDTH:]
    lines = [f"- {form.head(fact)}{md.shown_id(fact)}", f"  - {first_key}{form.source(fact)}"]
    if kept.failed_at is not None:
        lines.append(f"{_FAILED}{md.render_time(kept.failed_at)}")
    if kept.retired_at is not None:
        reason = f"{_BECAUSE}{md.encode(kept.retired_because)}" if kept.retired_because else ""
        lines.append(f"{_RETIRED}{md.render_time(kept.retired_at)}{reason}")
    context = {"category": kept.fact.category}
    lines += [f"{_WAS}{_OLD_FACT.render(fact, context)}" for fact in kept.was]
    return lines


# --- reading -------------------------------------------------------------------------------------------


def parse_reference(text: str, where: str = "reference.md") -> ReferenceFile:
    """Parses a reference.md. Raises StoreError if its markers are broken."""
    document = sections.parse(text, where)
    file = ReferenceFile(document, Reference())
    facts = _read_facts(file)
    decisions: list[Decision] = []
    for number, line in _lines(file, DECISIONS):
        with _reported(file, DECISIONS, number):
            if not line.startswith("- "):
                raise ValueError("no decision")
            decisions.append(md.DECISION.parse(line[2:]))
            file.understood[DECISIONS].add(number)
    file.reference = Reference(facts=tuple(facts), decisions=tuple(decisions))
    return file


def _lines(file: ReferenceFile | QuestionsFile, part: str) -> list[tuple[int, str]]:
    file.understood[part] = set()
    return [(n, line.rstrip()) for n, line in enumerate(file.document.body(part)) if line.strip()]


def _read_facts(file: ReferenceFile) -> list[KeptFact]:
    facts: list[KeptFact] = []
    category: str = FactCategory.OTHER
    above = False  # whether a fact that could be read stands above, for a line that continues one
    lines = _lines(file, FACTS)
    while lines:
        number, line = lines.pop(0)
        used = {number}
        with _reported(file, FACTS, number):
            if line.startswith("### "):
                above = False
                category = _category(line[4:])
            elif line.startswith("- "):
                above = False
                if lines and (evidence := _EVIDENCE.match(lines[0][1])):
                    line = f"{md.without_id(line)} · {lines[0][1][evidence.end() :]}"
                    used.add(lines.pop(0)[0])
                facts.append(KeptFact(fact=_parse_fact(line[2:], category)))
                above = True
            elif above:
                facts[-1] = _continue(facts[-1], line, category)
            else:
                raise ValueError("no fact")
            file.understood[FACTS] |= used
    return facts


def _category(title: str) -> str:
    if title in _CATEGORIES:
        return _CATEGORIES[title]
    if title.startswith(_OWN_TITLE):
        return md.decode(title.removeprefix(_OWN_TITLE))
    raise ValueError(f"the category {title!r} is unknown")


def _parse_fact(line: str, category: str, form: Form[Fact] = md.FACT) -> Fact:
    fact = form.parse(line, {"category": category})
    if not fact.evidence.strip():
        raise ValueError("a fact without evidence")
    return fact


def _continue(kept: KeptFact, line: str, category: str) -> KeptFact:
    if line.startswith(_FAILED):
        return replace(kept, failed_at=md.parse_time(line.removeprefix(_FAILED).strip()))
    if line.startswith(_RETIRED):
        at, _, reason = line.removeprefix(_RETIRED).partition(_BECAUSE)
        return replace(kept, retired_at=md.parse_time(at.strip()), retired_because=md.decode(reason))
    if not line.startswith(_WAS):
        raise ValueError("no fact")
    old = _parse_fact(line.removeprefix(_WAS), category, _OLD_FACT)
    return replace(kept, was=(*kept.was, old))


@contextmanager
def _reported(file: ReferenceFile | QuestionsFile, part: str, number: int) -> Iterator[None]:
    """Turns a parse error into one of the file's problems."""
    try:
        yield
    except (ValueError, OverflowError) as error:
        place = file.document.line_number(part, number)
        file.problems.append(md.problem(file.document.where, place, str(error)))


# --- open-questions.md ---------------------------------------------------------------------------------

QUESTIONS = "questions"
_BULLET = lazy_regex(r"- (?:\[([ xX])\] )?")


class QuestionsFile(Struct):
    """A parsed open-questions.md."""

    document: Document
    questions: tuple[Question, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    understood: dict[str, set[int]] = field(default_factory=dict)


def questions_beginning(project: str) -> str:
    return (
        f"# Questions of {md.encode(project)}\n\n"
        "What was asked and what was answered; times are UTC. An answered question is not asked again.\n"
    )


def render_questions(file: QuestionsFile, questions: Iterable[Question]) -> str:
    """The file with these questions in its managed part; each keeps its place among the open or the answered."""
    ordered = sorted(questions, key=lambda question: not question.open)
    lines = [f"- [{' ' if question.open else 'x'}] {md.QUESTION.render(question)}" for question in ordered]
    return file.document.replace(
        QUESTIONS, lines, heading="Questions", ours=file.understood.get(QUESTIONS, ())
    ).render()


def parse_questions(text: str, where: str = "open-questions.md") -> QuestionsFile:
    """Parses an open-questions.md. Raises StoreError if its markers are broken."""
    file = QuestionsFile(sections.parse(text, where))
    questions: list[Question] = []
    body = file.document.body(QUESTIONS)
    for number, _ in _lines(file, QUESTIONS):
        with _reported(file, QUESTIONS, number):
            line = body[number]
            bullet = _BULLET.match(line)
            if bullet is None:
                raise ValueError("no question")
            question = md.QUESTION.parse(line[bullet.end() :])
            ticked = bullet[1] in ("x", "X")
            questions.append(replace(question, closed=ticked and not question.answer))
            file.understood[QUESTIONS].add(number)
    file.questions = tuple(questions)
    return file


# --- style.md, the operating manual --------------------------------------------------------------------

PROPOSED = "proposed"
_SOURCE = lazy_regex(r" \(session [0-9a-z-]+\)\Z")
SEED = """\
# How we work here

This file is yours: holdfast writes only into the part below "Proposed". Move up what you agree with.

## Style

## Decisions

## Anti-patterns
"""


def propose(text: str, corrections: Iterable[str], where: str = "style.md") -> str:
    """The manual with these corrections proposed, those that a person has not taken up or thrown out included.

    What the file says already, anywhere, is not proposed again.
    """
    document = sections.parse(text or SEED, where)
    body = document.body(PROPOSED)
    standing = [body[n] for n in sorted(document.ours(PROPOSED)) if body[n].strip()]
    known_lines = {_folded(line) for line in document.render().split("\n")}
    fresh = dict.fromkeys(f"- {md.encode(correction)}" for correction in corrections)
    added = [line for line in fresh if _folded(line) not in known_lines]
    if not added and text:
        return text
    return document.replace(PROPOSED, [*standing, *added], heading="Proposed").render()


def says_something(text: str) -> bool:
    """Whether a person has written a rule, or agreed to one: proposed rules do not count yet."""
    return any(True for _ in _written_in(text))


def rules_of_style(text: str) -> list[str]:
    """The rules that a person wrote or agreed to, without bullets, headings and comments."""
    bare = (_SOURCE.sub("", line.strip()).lstrip("-*+ ").strip() for line in _written_in(text))
    rules = (md.decode(line) for line in bare if not line.startswith(("#", "<!--", "```", "|", ">")))
    return list(dict.fromkeys(rule for rule in rules if rule))


def _written_in(text: str) -> Iterator[str]:
    our_lines = {*SEED.split("\n"), "## Proposed"}
    lines = sections.parse(text, "style.md").outside().splitlines()
    return (line for line in lines if line.strip() and line not in our_lines)


def _folded(line: str) -> str:
    """A normal form that is equal for the same rule, whichever session it came from."""
    plain = _SOURCE.sub("", line.casefold().rstrip())
    return " ".join(plain.lstrip("-*[ x]").split()).rstrip(".")
