"""The briefing for a task: the few lines of memory that it needs, each with its reason and source, or none.

Which kinds come first depends on the task: a fix wants dead ends and like failures, work on commands wants facts, a
question about design wants decisions and history. What is not good enough is not told.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.app.pointing import pointers_for
from holdfast.app.projects import memory_of
from holdfast.app.prompting import as_prompt
from holdfast.app.recovery import recovery
from holdfast.app.searching import search
from holdfast.app.task_wants import asks_state, may_go_on, weights_for
from holdfast.app.wiring import Machine
from holdfast.distill.kind import explain_kind
from holdfast.distill.likeness import Likeness, compare_signatures, signature
from holdfast.hot.classify import classify
from holdfast.hot.prompting import CODE, HEADING, LOOKING
from holdfast.hot.prompting import MOST_TOKENS as PROMPT_BUDGET
from holdfast.model.ledger import Kind
from holdfast.model.search import Hit
from holdfast.search import FLOOR
from holdfast.search.lexical import says_something
from holdfast.store.layout import Project, branch_of
from holdfast.text.periods import period_in
from holdfast.text.tokens import count_tokens, cut_to

BUDGET = 200
CANDIDATES = 40
ELSEWHERE_FLOOR = (
    0.25  # above the floor: what another project solved must fit the task better, as there are many
)
CLEARLY = 0.1  # of score: so much better than what this project knows itself
MOST_ELSEWHERE = 2
MOST_FILES = 6
LEAST_FILE = 0.1  # chance; between what a first and what a later prompt is told unasked
ALONE_FILE = 0.2  # where no statement fits the task: it may not be about this project at all
_SHARE_OF_FILES = 0.4  # of the budget, at most
_LONGEST = 45  # tokens of one line


class Recalled(Struct, frozen=True, kw_only=True):
    """One line of a briefing."""

    id: str
    text: str
    kind: str
    why: str
    source: str


class Briefing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a task is told, most useful first; for a prompt that is told nothing, `nothing` says why."""

    budget: int
    tokens: int
    lines: tuple[Recalled, ...]
    nothing: str = ""

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


def recall(machine: Machine, project: Project, task: str, budget: int = BUDGET) -> Briefing:
    """Lines for a task, within a budget of tokens; none when nothing is good enough."""
    if asks_state(task):
        return _state(machine, project, budget)
    if not (says_something(task) or may_go_on(task) or period_in(task, machine.now())):
        return Briefing(budget=budget, tokens=0, lines=())
    judged = explain_kind(task, (), ())
    weights = weights_for(task, judged.kind)
    own = _that_count(machine, project, search(machine, project, task, CANDIDATES, _TOLD, floor=FLOOR))
    ranked = sorted(own, key=lambda hit: -hit.score * weights.get(_sort_of(hit), 1.0))
    best = max((hit.score for hit in own), default=0.0)
    others = [
        hit
        for hit in search(
            machine,
            project,
            task,
            CANDIDATES,
            _TOLD,
            everywhere=True,
            own=False,
            floor=FLOOR + ELSEWHERE_FLOOR,
        )
        if hit.kind != "lesson"  # holds where it was learned
        and hit.score > best + CLEARLY  # the same name often means another thing elsewhere
    ]
    lines = [_line(hit, "") for hit in ranked]
    lines += [_line(hit, f"in {hit.project}: ") for hit in others[:MOST_ELSEWHERE]]
    if not lines and may_go_on(task):
        return _state(machine, project, budget)
    different = _different(lines)
    if not (judged.kind is not Kind.OTHER or classify(task)[0] in (CODE, LOOKING)):
        return _within(different, budget)
    files = _files(
        machine, project, task, int(budget * _SHARE_OF_FILES), LEAST_FILE if different else ALONE_FILE
    )
    kept = _within(different, budget - sum(count_tokens(line.text) for line in files))
    more = [line for line in files if line.text not in kept.text]
    return _within([*kept.lines, *more] or different, budget)


def recall_as_prompt(machine: Machine, project: Project, prompt: str, session: str = "") -> Briefing:
    """Exactly what the prompt hook would say, or why nothing; what a session heard already, when it is named."""
    said = as_prompt(machine, project, prompt, session)
    facts = [text for text, _ in said.lines].index(HEADING) if said.files else len(said.lines)
    lines = [
        Recalled(id=f"prompt:{at}", text=text, kind="fact" if at < facts else "file", why=why, source="")
        for at, (text, why) in enumerate(said.lines)
    ]
    return Briefing(budget=PROMPT_BUDGET, tokens=said.tokens, lines=tuple(lines), nothing=said.nothing)


def _files(machine: Machine, project: Project, task: str, budget: int, least: float) -> list[Recalled]:
    """Files that like sessions worked on, likeliest first, each written out so that it can be read by itself."""
    lines = []
    branch = branch_of(project.root)
    found = pointers_for(machine, project, task, budget=budget, least=least, branch=branch)
    for pointer in found[:MOST_FILES]:
        cost = count_tokens(pointer.path)
        if cost <= budget:
            budget -= cost
            lines.append(
                Recalled(
                    id=f"file:{pointer.path}",
                    text=pointer.path,
                    kind="file",
                    why=pointer.why,
                    source=f"session {pointer.session[:8]}" if pointer.session else "git history",
                )
            )
    return lines


def _that_count(machine: Machine, project: Project, hits: Sequence[Hit]) -> list[Hit]:
    """Without what was dismissed, and lessons that are candidates, muted or stale: only search finds them."""
    dismissed = (
        memory_of(machine, project).dismissed() if any(hit.id[:2] in _NOTED for hit in hits) else set()
    )
    hits = [hit for hit in hits if hit.id not in dismissed]
    if not any(hit.kind == "lesson" for hit in hits):
        return hits
    from holdfast.app.learned_chunks import lessons_told

    told = lessons_told(machine, project)
    return [hit for hit in hits if hit.kind != "lesson" or hit.id in told]


_NOTED = ("X-", "N-")  # stand in the log, which is never rewritten


_TOLD = ("history", "fact", "question", "lesson", "state")


def _state(machine: Machine, project: Project, budget: int) -> Briefing:
    """Who asks where we are is told the state."""
    told = [
        Recalled(
            id=f"state:{number}",
            text=line.text,
            kind="state",
            why=line.reason,
            source=".holdfast/local/current.md",
        )
        for number, line in enumerate(recovery(machine, project, budget=budget))
    ]
    return _within(told, budget)


def _sort_of(hit: Hit) -> str:
    """The letter of a statement's id, or `session` and the like."""
    return hit.id[0] if hit.id[1:2] == "-" else hit.id.partition(":")[0]


def _line(hit: Hit, before: str) -> Recalled:
    text = f"{before}{_label(hit)}{_short(hit)}"
    where = f"{hit.path}:{hit.line}" if hit.line else hit.path
    session = f"session {hit.session[:8]}, " if hit.session else ""
    return Recalled(
        id=hit.id, text=text, kind=hit.kind, why=hit.why, source=f"{where} ({session}{hit.date[:10]})"
    )


_LABELS = {"D": "Decided: ", "N": "Found: ", "Q": "Asked: ", "session": "Done before: "}


def _label(hit: Hit) -> str:
    return _LABELS.get(_sort_of(hit), "")


def _short(hit: Hit) -> str:
    """One line of at most so many tokens; of a session what it was about, and its files."""
    lines = [" ".join(line.split()) for line in hit.text.split("\n") if line.strip()]
    if _sort_of(hit) == "session":
        files = next((line for line in lines if line.startswith("Files: ")), "")
        lines = [lines[0], f"· files: {files.removeprefix('Files: ')}"] if files else lines[:1]
    return cut_to(" ".join(lines), _LONGEST)


def _different(lines: Sequence[Recalled]) -> list[Recalled]:
    """Each thing once, whatever words it is said in; an answered question is often a decision as well."""
    kept: list[Recalled] = []
    asked: set[str] = set()
    for line in lines:
        own = signature(line.text)
        question = _question_of(line.text)
        if question not in asked and not any(
            compare_signatures(signature(known.text), own).likeness is Likeness.SAME for known in kept
        ):
            kept.append(line)
            asked |= {question} - {""}
    return kept


def _question_of(text: str) -> str:
    """What was asked, of a line that begins with a question; '' of any other."""
    said = text.removeprefix(_LABELS["Q"]).removeprefix(_LABELS["D"])
    question, sign, _ = said.partition("?")
    return question.casefold() if sign else ""


def _within(lines: Sequence[Recalled], budget: int) -> Briefing:
    kept: list[Recalled] = []
    used = 0
    for line in lines:
        cost = count_tokens(line.text)
        if used + cost <= budget:
            kept.append(line)
            used += cost
    nothing = ""
    if lines and not kept:
        least = min(count_tokens(line.text) for line in lines)
        nothing = f"the shortest line for it has {least} tokens"
    return Briefing(budget=budget, tokens=used, lines=tuple(kept), nothing=nothing)
