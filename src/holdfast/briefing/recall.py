"""Builds the briefing for a task: the few relevant lines of memory, each with its reason and source, or none.

First come the statements that the prompt hook would tell. Then the task decides which kinds come first: a fix needs
dead ends and similar failures, work on commands needs facts, a question about design needs decisions and history.
Lines below the threshold are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.asked import statements_for
from holdfast.briefing.file_pointers import pointers_for
from holdfast.briefing.meaning import Meanings
from holdfast.briefing.projects import memory_of
from holdfast.briefing.prompt import prompt_and_ids
from holdfast.briefing.recall_lines import LineChooser, Nearness, sort_of
from holdfast.briefing.recovery import recovery, state_of
from holdfast.briefing.replaced import replaced_passages
from holdfast.briefing.search import search
from holdfast.briefing.task_wants import asks_state, first_for, in_english, may_go_on, weights_for
from holdfast.core.patterns import lazy_regex
from holdfast.core.session_id import short_session
from holdfast.core.tokens import count_tokens
from holdfast.hooks.classify import classify
from holdfast.hooks.prompt import CODE, LOOKING
from holdfast.hooks.prompt import MOST_TOKENS as PROMPT_BUDGET
from holdfast.hooks.ranking import path_lines
from holdfast.language.kind import explain_kind
from holdfast.memory.current_digest import done_line, step_line, todo_line, with_branch, within
from holdfast.memory.decisions import is_passage
from holdfast.memory.read import ProjectMemory
from holdfast.model.ledger import Kind
from holdfast.model.line import Line
from holdfast.model.search import Hit
from holdfast.model.statement import Statement, decoded
from holdfast.search import FLOOR
from holdfast.search.lexical import says_something
from holdfast.search.periods import period_in
from holdfast.search.terms import value_of
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of

BUDGET = 300
CANDIDATES = 40
ELSEWHERE_FLOOR = (
    0.25  # above the floor: hits of other projects must fit the task better, as there are many projects
)
PASSAGE_FLOOR = 0.1  # above the floor, for one passage of a session
CLEARLY = 0.1  # of score: how much better they must be than this project's own hits
MOST_ELSEWHERE = 2
MOST_FILES = 6
LEAST_FILE = 0.1  # probability; between the bars for a first and a later prompt
ALONE_FILE = 0.2  # if no statement fits the task: it may not be about this project at all
_SHARE_OF_FILES = 0.4  # of the budget, at most
_ANY_ROOM = 10**9
_OF_EACH = 2  # steps, to-dos and finished items of other branches


class Briefing(Struct, frozen=True, kw_only=True):
    """The lines for a task, most useful first; without lines, `nothing` says why.

    `written` are the lines as the prompt hook writes them, if that differs: files are listed under their folder.
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
    """The lines for a task, within a budget of tokens; none when nothing is relevant enough."""
    if asks_state(task):
        return _state(machine, project, budget)
    period = period_in(task, machine.now())
    statements = [] if period and period.is_all else statements_for(machine, project, task, budget)
    if not (statements or says_something(task) or may_go_on(task) or period):
        return Briefing(budget=budget, tokens=0, lines=())
    found_hits = _found(machine, project, task)
    if not found_hits and (text := in_english(task)) != task:
        found_hits, task = _found(machine, project, text), text
    judgement = explain_kind(task, (), ())
    weights = weights_for(task, judgement.kind)
    own_hits = _that_speak(task, _that_count(machine, project, found_hits))
    first = first_for(task, judgement.kind, own_hits)
    if not (period and period.is_all):
        own_hits = without_siblings(own_hits, weights, first)
    ranked = sorted(
        own_hits, key=lambda hit: (hit.id not in first, -hit.score * weights.get(sort_of(hit), 1.0))
    )
    best = max((hit.score for hit in own_hits), default=0.0)
    other_hits = [
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
        if hit.kind != "lesson"  # a lesson applies only where it was learned
        and hit.score > best + CLEARLY  # the same name often means another thing elsewhere
    ]
    hits = [(hit, "") for hit in ranked]
    hits += [(hit, f"in {hit.project}: ") for hit in other_hits[:MOST_ELSEWHERE]]
    choose_lines = partial(_lines, task, hits, Meanings().nearness, statements)
    room = budget - sum(count_tokens(line.text) for line in statements)
    all_lines = choose_lines(_ANY_ROOM)
    if not (statements or all_lines) and may_go_on(task):
        return _state(machine, project, budget)
    files: list[Line] = []
    is_work = judgement.kind is not Kind.OTHER or classify(task)[0] in (CODE, LOOKING)
    if is_work and not (period and period.is_all):  # a question about a whole day needs no files
        most, least = int(room * _SHARE_OF_FILES), LEAST_FILE if statements or all_lines else ALONE_FILE
        files = _files(machine, project, task, most, least)
    lines = [*statements, *choose_lines(room - sum(count_tokens(line.text) for line in files))]
    text = "\n".join(line.text for line in lines)
    more = [line for line in files if line.text not in text]
    return _briefing([*lines, *more] or all_lines, budget)


def _found(machine: Machine, project: Project, task: str) -> list[Hit]:
    """The hits that a task may be told of. Passages are many and short, so that one fits by chance more easily."""
    hits = search(machine, project, task, CANDIDATES, _TOLD, floor=FLOOR)
    likely = {hit.id for hit in hits if not _is_passage(hit)}
    if len(likely) < len(hits):
        surer = search(machine, project, task, CANDIDATES, ("decision",), floor=FLOOR + PASSAGE_FLOOR)
        likely |= {hit.id for hit in surer}
    return [hit for hit in hits if hit.id in likely]


def _is_passage(hit: Hit) -> bool:
    statement = decoded(hit.data)
    return isinstance(statement, Statement) and is_passage(statement)


def _lines(
    task: str, hits: Sequence[tuple[Hit, str]], nearness: Nearness, statements: Sequence[Line], room: int
) -> list[Line]:
    """Each statement once, however it is worded, within the budget. `statements` are told already."""
    chooser = LineChooser(task, [hit for hit, _ in hits], nearness)
    for told in statements:
        chooser.keep(told)
    lines = []
    for candidate, prefix in hits:
        hit = candidate if prefix else chooser.decided(candidate)
        line = chooser.line(hit)
        if line is None:
            continue
        text = prefix + line.text
        cost = count_tokens(text)
        if cost <= room:
            chooser.keep(line)
            lines.append(replace(line, text=text))
            room -= cost
    return lines


def recall_as_prompt(
    machine: Machine, project: Project, prompt: str, session: str = "", budget: int = PROMPT_BUDGET
) -> Briefing:
    """Exactly what the prompt hook would inject, or why nothing; without lines that the named session has seen."""
    budget = min(budget, PROMPT_BUDGET)
    if budget <= 0:
        return Briefing(
            budget=budget, tokens=0, lines=(), nothing="a budget of 0 tokens is too small for any line"
        )
    answer, ids = prompt_and_ids(machine, project, prompt, session, budget=budget)
    above_files = len(answer.lines) - (1 + len(path_lines(answer.files)) if answer.files else 0)
    prompt_lines = [Line(text, why, "file", f"prompt:{at}") for at, (text, why) in enumerate(answer.lines)]
    # A line above the files that is neither a statement nor a fact is a lesson.
    for at, line in enumerate(prompt_lines[:above_files]):
        if mark := _MARK.search(line.text):
            prompt_lines[at] = replace(line, id=mark[1], kind="decision")
        elif line.text in ids:
            prompt_lines[at] = replace(line, id=ids[line.text], kind="fact")
        else:
            prompt_lines[at] = replace(line, kind="lesson")
    # `lines` have whole paths; headings and folders are for readers of the text.
    pairs = zip(path_lines(answer.files), prompt_lines[above_files + 1 :], strict=True)
    files = {path: replace(line, id=f"file:{path}", text=path) for (_, path), line in pairs}
    return Briefing(
        budget=budget,
        tokens=answer.tokens,
        lines=(*prompt_lines[:above_files], *(files[path] for path in answer.files)),
        nothing=answer.nothing,
        written=tuple(prompt_lines),
    )


def _files(machine: Machine, project: Project, task: str, budget: int, least: float) -> list[Line]:
    """Files that similar sessions worked on, likeliest first, each with its full path."""
    lines = []
    branch = branch_of(project.root)
    pointers = pointers_for(machine, project, task, budget=budget, least=least, branch=branch)
    for pointer in pointers[:MOST_FILES]:
        cost = count_tokens(pointer.path)
        if cost <= budget:
            budget -= cost
            lines.append(
                Line(
                    pointer.path,
                    pointer.why,
                    "file",
                    f"file:{pointer.path}",
                    f"session {short_session(pointer.session)}" if pointer.session else "git history",
                )
            )
    return lines


def _that_count(machine: Machine, project: Project, hits: Sequence[Hit]) -> list[Hit]:
    """Removes what only search shows: dismissed and replaced statements, and lessons that do not count now."""
    hits = [hit for hit in hits if not _is_replaced(hit)]
    dismissed = (
        memory_of(machine, project).dismissed() if any(hit.id[:2] in _NOTED for hit in hits) else set()
    )
    hits = _that_hold(project, [hit for hit in hits if hit.id not in dismissed])
    if not any(hit.kind == "lesson" for hit in hits):
        return hits
    from holdfast.briefing.chunks import lessons_told

    lesson_ids = lessons_told(machine, project)
    return [hit for hit in hits if hit.kind != "lesson" or hit.id in lesson_ids]


def _is_replaced(hit: Hit) -> bool:
    statement = decoded(hit.data)
    return isinstance(statement, Statement) and statement.status in ("superseded", "retired")


def _that_hold(project: Project, hits: Sequence[Hit]) -> list[Hit]:
    """Removes passages that were not agreed, or that a later session replaced."""
    sessions = {hit.session for hit in hits if hit.session and _is_passage(hit)}
    replaced = replaced_passages(project, ProjectMemory(project), sessions) if sessions else {}

    def holds(hit: Hit) -> bool:
        return hit.id not in replaced and getattr(decoded(hit.data), "status", "") == "agreed"

    return [hit for hit in hits if not _is_passage(hit) or holds(hit)]


def _that_speak(task: str, hits: Sequence[Hit]) -> list[Hit]:
    """Removes history that shares only one of several words, if another hit shares more: `set up` is in `settings`.

    A fact is short and selected: a single shared word may be enough.
    """
    several = sum(says_something(word) for word in task.split()) > 1

    def is_chance(hit: Hit) -> bool:
        return hit.kind in _LONG_WINDED and hit.grounds.are_one_word

    if not several or all(is_chance(hit) for hit in hits[:1]):
        return list(hits)
    return [hit for hit in hits if not is_chance(hit)]


def without_siblings(
    hits: Sequence[Hit], weights: Mapping[str, float] | None = None, needed: Collection[str] = ()
) -> list[Hit]:
    """Removes what shares the subject of the best hit and answers something else.

    That is a hit that fits less than half as well, and one that has only some of the best hit's words and fits clearly
    worse. A hit with a word that the best one lacks may answer another part of the task. `needed` are ids of facts with
    a command, which stay where the best hit only speaks about that command.
    """

    def value(hit: Hit) -> float:
        return value_of(hit.score) * (weights or {}).get(sort_of(hit), 1.0)

    best = max(hits, key=value, default=None)
    if best is None:
        return []
    most, words = value(best), set(best.grounds.words)

    def answers(hit: Hit) -> bool:
        least = _LEAST_SIBLING if set(hit.grounds.words) < words else _LEAST
        return value(hit) >= least * most or (hit.id in needed and best.kind != hit.kind)

    return [hit for hit in hits if answers(hit)]


_LEAST, _LEAST_SIBLING = 0.5, 0.7  # of the best hit's value
_MARK = lazy_regex(
    r", (D-[0-9a-z]{6}|git [0-9a-f]{7,40})\)$"
)  # of a statement: who said it, when, and its id
_NOTED = ("X-", "N-")  # these are in the log, which is never rewritten
_LONG_WINDED = ("history", "decision", "state")
_TOLD = ("history", "decision", "fact", "question", "lesson", "state")


def _state(machine: Machine, project: Project, budget: int) -> Briefing:
    """The state, for a task that asks where the work stands."""
    lines = recovery(machine, project, budget=budget)
    state_lines = [
        Line(line.text, line.reason, "state", f"state:{number}", ".holdfast/local/current.md")
        for number, line in enumerate([*_last(project, lines), *lines])
    ]
    return _briefing(state_lines, budget)


def _last(project: Project, lines: Sequence[Line]) -> list[Line]:
    """The latest open and finished items on any branch, if the digest has none of them."""
    if not project.memory.is_dir():
        return []
    current = state_of(project).current
    entries = [(step_line(step), step.branch) for step in current.next[:_OF_EACH]]
    entries += [(todo_line(item), item.branch) for item in current.todo[:_OF_EACH]]
    entries += [(done_line(deed), deed.branch) for deed in current.done[:_OF_EACH]]
    if any(
        line.text in shown_line.text or shown_line.kind in ("stale", "old")
        for line, _ in entries
        for shown_line in lines
    ):
        return []
    return [with_branch(line, branch, None) for line, branch in entries]


def _briefing(lines: Sequence[Line], budget: int) -> Briefing:
    fitted = within(lines, budget)
    nothing = ""
    if lines and not fitted:
        least = min(count_tokens(line.text) for line in lines)
        nothing = f"the shortest line has {least} tokens"
    used = sum(count_tokens(line.text) for line in fitted)
    return Briefing(budget=budget, tokens=used, lines=tuple(fitted), nothing=nothing)
