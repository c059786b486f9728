"""The briefing for a task: the few lines of memory that it needs, each with its reason and source, or none.

Which kinds come first depends on the task: a fix wants dead ends and like failures, work on commands wants facts, a
question about design wants decisions and history. What is not good enough is not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.file_pointers import pointers_for
from holdfast.briefing.meaning import Meanings
from holdfast.briefing.projects import memory_of
from holdfast.briefing.prompt import prompt_and_ids
from holdfast.briefing.recall_lines import LineChooser, Nearness, sort_of
from holdfast.briefing.recovery import recovery, state_of
from holdfast.briefing.search import search
from holdfast.briefing.task_wants import asks_state, first_for, in_english, may_go_on, weights_for
from holdfast.core.tokens import count_tokens
from holdfast.hooks.classify import classify
from holdfast.hooks.prompt import CODE, LOOKING
from holdfast.hooks.prompt import MOST_TOKENS as PROMPT_BUDGET
from holdfast.hooks.ranking import path_lines
from holdfast.memory.current_digest import done_line, step_line, todo_line, with_branch, within
from holdfast.model.ledger import Kind
from holdfast.model.line import Line
from holdfast.model.search import Hit
from holdfast.search import FLOOR
from holdfast.search.lexical import says_something
from holdfast.search.periods import period_in
from holdfast.sessions.kind import explain_kind
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of

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
_ANY_ROOM = 10**9
_OF_EACH = 2  # steps, to-dos and deeds of other branches


class Briefing(Struct, frozen=True, kw_only=True):
    """What a task is told, most useful first; for a prompt that is told nothing, `nothing` says why.

    `written` are the lines as the prompt hook writes them, where that differs: files stand under their folder's name.
    """

    budget: int
    tokens: int
    lines: tuple[Line, ...]
    nothing: str = ""
    written: tuple[Line, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.written or self.lines)

    def as_json(self) -> dict[str, object]:
        lines = [
            {"id": line.id, "text": line.text, "kind": line.kind, "why": line.reason, "source": line.source}
            for line in self.lines
        ]
        nothing = {"nothing": self.nothing} if self.nothing else {}
        return {"budget": self.budget, "tokens": self.tokens, "lines": lines, **nothing, "text": self.text}


def recall(machine: Machine, project: Project, task: str, budget: int = BUDGET) -> Briefing:
    """Lines for a task, within a budget of tokens; none when nothing is good enough."""
    if asks_state(task):
        return _state(machine, project, budget)
    period = period_in(task, machine.now())
    if not (says_something(task) or may_go_on(task) or period):
        return Briefing(budget=budget, tokens=0, lines=())
    found = search(machine, project, task, CANDIDATES, _TOLD, floor=FLOOR)
    if not found and (said := in_english(task)) != task:
        found, task = search(machine, project, said, CANDIDATES, _TOLD, floor=FLOOR), said
    judged = explain_kind(task, (), ())
    weights = weights_for(task, judged.kind)
    own = _that_speak(task, _that_count(machine, project, found))
    first = first_for(task, judged.kind, own)
    ranked = sorted(own, key=lambda hit: (hit.id not in first, -hit.score * weights.get(sort_of(hit), 1.0)))
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
    hits = [(hit, "") for hit in ranked]
    hits += [(hit, f"in {hit.project}: ") for hit in others[:MOST_ELSEWHERE]]
    tell = partial(_lines, task, hits, Meanings().nearness)
    every = tell(_ANY_ROOM)
    if not every and may_go_on(task):
        return _state(machine, project, budget)
    files: list[Line] = []
    is_work = judged.kind is not Kind.OTHER or classify(task)[0] in (CODE, LOOKING)
    if is_work and not (period and period.is_all):  # a day as a whole is no work that needs files
        most, least = int(budget * _SHARE_OF_FILES), LEAST_FILE if every else ALONE_FILE
        files = _files(machine, project, task, most, least)
    kept = tell(budget - sum(count_tokens(line.text) for line in files))
    said = "\n".join(line.text for line in kept)
    more = [line for line in files if line.text not in said]
    return _briefing([*kept, *more] or every, budget)


def _lines(task: str, hits: Sequence[tuple[Hit, str]], nearness: Nearness, room: int) -> list[Line]:
    """Each thing once, whatever words it is said in, as long as there is room."""
    telling = LineChooser(task, [hit for hit, _ in hits], nearness)
    lines = []
    for found, before in hits:
        hit = found if before else telling.decided(found)
        line = telling.line(hit)
        if line is None:
            continue
        text = before + line.text
        cost = count_tokens(text)
        if cost <= room:
            telling.keep(line)
            lines.append(replace(line, text=text))
            room -= cost
    return lines


def recall_as_prompt(
    machine: Machine, project: Project, prompt: str, session: str = "", budget: int = PROMPT_BUDGET
) -> Briefing:
    """Exactly what the prompt hook would say, or why nothing; what a session heard already, when it is named."""
    budget = min(budget, PROMPT_BUDGET)
    if budget <= 0:
        return Briefing(budget=budget, tokens=0, lines=(), nothing="a budget of 0 tokens holds no line")
    said, ids = prompt_and_ids(machine, project, prompt, session, budget=budget)
    above = len(said.lines) - (1 + len(path_lines(said.files)) if said.files else 0)
    written = [Line(text, why, "file", f"prompt:{at}") for at, (text, why) in enumerate(said.lines)]
    # What stands above the files and is neither a fact nor a decision is a lesson.
    written[:above] = [
        replace(line, id=ids[line.text], kind="fact") if line.text in ids else replace(line, kind="lesson")
        for line in written[:above]
    ]
    # `lines` have whole paths; headings and folders are for readers of the text.
    whose = zip(path_lines(said.files), written[above + 1 :], strict=True)
    files = {path: replace(line, id=f"file:{path}", text=path) for (_, path), line in whose}
    return Briefing(
        budget=budget,
        tokens=said.tokens,
        lines=(*written[:above], *(files[path] for path in said.files)),
        nothing=said.nothing,
        written=tuple(written),
    )


def _files(machine: Machine, project: Project, task: str, budget: int, least: float) -> list[Line]:
    """Files that like sessions worked on, likeliest first, each written out so that it can be read by itself."""
    lines = []
    branch = branch_of(project.root)
    found = pointers_for(machine, project, task, budget=budget, least=least, branch=branch)
    for pointer in found[:MOST_FILES]:
        cost = count_tokens(pointer.path)
        if cost <= budget:
            budget -= cost
            lines.append(
                Line(
                    pointer.path,
                    pointer.why,
                    "file",
                    f"file:{pointer.path}",
                    f"session {pointer.session[:8]}" if pointer.session else "git history",
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
    from holdfast.briefing.chunks import lessons_told

    told = lessons_told(machine, project)
    return [hit for hit in hits if hit.kind != "lesson" or hit.id in told]


def _that_speak(task: str, hits: Sequence[Hit]) -> list[Hit]:
    """Without the history that shares one word of several, where something has more: `set up` is in `settings`.

    A fact is short and was chosen: one word of it may be the one that counts.
    """
    several = sum(says_something(word) for word in task.split()) > 1

    def is_chance(hit: Hit) -> bool:
        return hit.kind in _LONG_WINDED and hit.grounds.are_one_word

    if not several or all(is_chance(hit) for hit in hits[:1]):
        return list(hits)
    return [hit for hit in hits if not is_chance(hit)]


_NOTED = ("X-", "N-")  # stand in the log, which is never rewritten


_LONG_WINDED = ("history", "state")
_TOLD = ("history", "fact", "question", "lesson", "state")


def _state(machine: Machine, project: Project, budget: int) -> Briefing:
    """Who asks where we are is told the state."""
    lines = recovery(machine, project, budget=budget)
    told = [
        Line(line.text, line.reason, "state", f"state:{number}", ".holdfast/local/current.md")
        for number, line in enumerate([*_last(project, lines), *lines])
    ]
    return _briefing(told, budget)


def _last(project: Project, lines: Sequence[Line]) -> list[Line]:
    """What is left and was done last, on whatever branch and however long ago, where the digest has nothing of it."""
    if not project.memory.is_dir():
        return []
    current = state_of(project).current
    left = [(step_line(step), step.branch) for step in current.next[:_OF_EACH]]
    left += [(todo_line(item), item.branch) for item in current.todo[:_OF_EACH]]
    left += [(done_line(deed), deed.branch) for deed in current.done[:_OF_EACH]]
    if any(line.text in known.text or known.kind == "stale" for line, _ in left for known in lines):
        return []
    return [with_branch(line, branch, None) for line, branch in left]


def _briefing(lines: Sequence[Line], budget: int) -> Briefing:
    kept = within(lines, budget)
    nothing = ""
    if lines and not kept:
        least = min(count_tokens(line.text) for line in lines)
        nothing = f"the shortest line for it has {least} tokens"
    used = sum(count_tokens(line.text) for line in kept)
    return Briefing(budget=budget, tokens=used, lines=tuple(kept), nothing=nothing)
