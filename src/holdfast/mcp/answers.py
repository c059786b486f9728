"""Answers each tool call: calls the application and formats the result as text, with memory as fenced data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from holdfast.core.errors import StoreError, UsageError
from holdfast.core.fence import wrap
from holdfast.core.session_id import short_session
from holdfast.core.wording import about_dollars
from holdfast.flows.agent_access import may_write, permit
from holdfast.guard.hidden_text import visible
from holdfast.mcp import tools
from holdfast.model.origin import origin_text
from holdfast.store.machine import Machine

if TYPE_CHECKING:
    from holdfast.memory.merge import Contradiction
    from holdfast.store.project import Project

LONGEST_LINE = 600
MOST_SPANS = 12
MOST_LIKE = 5
_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789"


def answer(machine: Machine, name: str, arguments: object, client: str = "") -> str:
    """The text for a tool call; raises HoldfastError with the reason in one line."""
    parsed = tools.parse(name, arguments)  # refuses an unknown tool
    return _ANSWERS[name](machine, parsed, client)


def fenced(lines: Iterable[str], longest: int = LONGEST_LINE) -> str:
    """Fenced lines of memory, with hidden characters made visible and long lines cut."""
    id = "".join(_SIGNS[byte % len(_SIGNS)] for byte in os.urandom(6))
    visible_lines = map(visible, lines)
    return wrap([line if len(line) <= longest else f"{line[:longest]}…" for line in visible_lines], id)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _id(id: str) -> str:
    """As `correct` and `open` take it."""
    return id.removeprefix("lesson:")


def _recall(machine: Machine, given: tools.Recall, client: str) -> str:
    from holdfast.briefing.recall import BUDGET, recall

    project = permit(machine, reads=True, writes=False)
    if given.brief:
        return _brief(machine, project, given)
    briefing = recall(machine, project, given.task, given.budget or BUDGET)
    if not briefing.lines:
        return "Memory has nothing relevant enough for this task."
    return fenced(
        f"{_flat(line.text)}  ({' · '.join(filter(None, (_shown_id(line.id), line.source)))})"
        for line in briefing.lines
    )


def _brief(machine: Machine, project: Project, given: tools.Recall) -> str:
    from holdfast.briefing.brief import BUDGET, brief

    result = brief(machine, project, given.task, given.budget or BUDGET)
    if result.nothing:
        return f"{result.nothing}."
    return fenced(result.text.split("\n"), longest=4_000)


def _shown_id(id: str) -> str:
    return "" if id.startswith(("file:", "state:", "prompt:")) else _id(id)


def _search(machine: Machine, given: tools.Search, client: str) -> str:
    from holdfast.briefing.search import search
    from holdfast.ledger.rows import session_titles

    project = permit(machine, reads=True, writes=False)
    kinds = None if given.kind == "any" else [given.kind]
    hits = search(machine, project, given.query, given.k, kinds, waiting=True)
    if not hits:
        return "Nothing matches."
    titles = session_titles(project, [hit.session for hit in hits])
    lines = []
    for hit in hits:
        where = f"{hit.path}:{hit.line}" if hit.line else hit.path
        session = f"session {_named(hit.session, titles)}" if hit.session else ""
        lines.append(_flat(hit.text))
        origin = origin_text(hit.origin, trusted=hit.trusted)
        about = (_id(hit.id), hit.kind, hit.date[:10], where, session, origin)
        lines.append("  " + _flat(" · ".join(filter(None, about))))
    return fenced(lines)


def _open(machine: Machine, given: tools.Open, client: str) -> str:
    from holdfast.flows.open import open_place

    if given.place.startswith("blame:"):
        return _blame(machine, given.place.removeprefix("blame:"))
    opened = open_place(machine, permit(machine, reads=True, writes=False), given.place)
    origin = origin_text(opened.origin, trusted=opened.trusted)
    mark = f" ({origin})" if origin else ""
    heading = f"{opened.path}, lines {opened.first} to {opened.last} of {opened.total}{mark}:"
    return fenced([heading, *opened.text.split("\n")], longest=4_000)


def _blame(machine: Machine, wanted: str) -> str:
    """Which session, request and decision is behind lines of the repository."""
    from holdfast.flows.blame import blame
    from holdfast.provenance.target import target_from

    project = permit(machine, reads=True, writes=False)
    found = blame(machine, project, target_from(wanted.strip(), project.root))
    lines = [_flat(machine.clean(origin.sentence())) for origin in found.spans[:MOST_SPANS]]
    if len(found.spans) > MOST_SPANS:
        lines.append(f"{len(found.spans) - MOST_SPANS} more spans: ask for lines, as in blame:FILE:40-60")
    return fenced([f"blame of {_flat(found.target.path)}:", *lines], longest=1_000)


def _recommend(machine: Machine, given: tools.Recommend, client: str) -> str:
    from holdfast.flows.advise import advise
    from holdfast.ledger.rows import Filter, read_all, session_titles

    project = permit(machine, reads=True, writes=False)
    if not given.goal.strip():
        raise UsageError("no goal given", fix="Describe the goal")
    rows, _ = read_all(machine, project, (), Filter())
    advice = advise(machine, given.goal, rows, given.objective)
    lines = [advice.sentence]
    for candidate in advice.candidates:
        if not candidate.like:
            lines.append(f"{candidate.model}: {candidate.sessions} sessions, none like this")
            continue
        low, high = (round(100 * end) for end in candidate.failure_interval)
        cost = "unknown" if candidate.cost_per_success is None else about_dollars(candidate.cost_per_success)
        fails = f"fails {100 * candidate.failure_rate:.0f}% ({low} to {high}%)"
        lines.append(
            f"{candidate.model}: {fails}, {cost} per success, {candidate.sessions} sessions, {candidate.like} like this"
        )
    if alike := [like.entry.session for like in advice.like[:MOST_LIKE]]:
        titles = session_titles(project, alike)
        lines.append(f"like this: {', '.join(_named(session, titles) for session in alike)}")
    return fenced(map(_flat, lines))


def _named(session: str, titles: Mapping[str, str]) -> str:
    """A session by its id and, where it is known, its title."""
    title = titles.get(session)
    return f"{short_session(session)} “{title}”" if title else short_session(session)


def _remember(machine: Machine, given: tools.Remember, client: str) -> str:
    permit(machine, reads=False, writes=True)
    return _KEEPERS[given.kind](machine, given, client)


def _decision(machine: Machine, given: tools.Remember, client: str) -> str:
    from holdfast.flows.questions import decide

    done = decide(machine, given.text, given.because, "agent")
    status = "recorded as a decision" if done.status == "recorded" else "is already recorded"
    message = f"{done.decision.id} {status}."
    return _with_clashes(message, done.contradictions)


def _fact(machine: Machine, given: tools.Remember, client: str) -> str:
    from holdfast.flows.facts import add_fact

    if not given.evidence.strip():
        raise UsageError(
            "a fact needs evidence; nothing was written",
            fix="Give the line that a command printed or a file contains; without one, it is a finding",
        )
    done = add_fact(machine, given.text, given.evidence, given.command)
    fact = done.kept.fact
    message = {
        "added": f"{fact.id} recorded as a fact ({fact.category}).",
        "revived": f"{fact.id} was retired and holds again.",
    }.get(done.status, f"{fact.id} is already recorded; marked as verified today.")
    return _with_clashes(message, done.contradictions)


def _finding(machine: Machine, given: tools.Remember, client: str) -> str:
    from holdfast.flows.notes import note_finding

    done = note_finding(machine, given.text, client)
    return f"{done.item.id} {'recorded as a finding' if done.status == 'recorded' else 'is known already'}."


def _dead_end(machine: Machine, given: tools.Remember, client: str) -> str:
    from holdfast.flows.notes import note_dead_end

    done = note_dead_end(machine, given.text, given.evidence, given.command, client)
    return f"{done.item.id} {'recorded as a dead end' if done.status == 'recorded' else 'is known already'}."


def _todo(machine: Machine, given: tools.Remember, client: str) -> str:
    from holdfast.flows.todos import add_todo

    done = add_todo(machine, given.text, because=given.because or None)
    return f"{done.item.id} {'recorded as a to-do' if done.status == 'added' else 'is on the list already'}."


_KEEPERS: dict[str, Callable[[Machine, tools.Remember, str], str]] = {
    "decision": _decision,
    "fact": _fact,
    "finding": _finding,
    "dead_end": _dead_end,
    "todo": _todo,
}


def _with_clashes(said: str, clashes: Sequence[Contradiction[Any]]) -> str:
    if not clashes:
        return said
    lines = fenced(f"{clash.one.id}: {_flat(clash.one.text)}" for clash in clashes)
    return f"{said} It contradicts what memory has; both stay until one is rejected with correct:\n{lines}"


def _question(machine: Machine, given: tools.Question, client: str) -> str:
    if given.answer.strip():
        return _answered(machine, given)
    from holdfast.flows.questions import ask, count_answer

    # Asking alone writes nothing, as on the command line.
    record = may_write(machine, permit(machine, reads=True, writes=False)) and given.keep
    reply = ask(machine, given.question, record=record)
    if reply.status == "answered" and record:
        with suppress(StoreError):  # the answer is worth more than having counted it
            count_answer(machine, reply)
    message = {
        "answered": "Answered before:",
        "recorded": f"No answer yet. Recorded as {reply.id}.",
        "closed": f"Asked before and closed without an answer: {reply.id}. Do not ask it again.",
        "open": f"Asked before and still open: {reply.id}."
        if reply.id
        else "No answer yet, and not asked before.",
    }[reply.status]
    lines = []
    if reply.status == "answered":
        lines.append(f"{_flat(reply.answer)}  ({_origin(reply.id, reply.at, reply.session, reply.source)})")
    lines += [f"But {statement.id} says: {_flat(statement.text)}" for statement in reply.against]
    lines += [
        f"perhaps: {_flat(near.text)}  ({_origin(near.id, near.at, near.session, near.source)})"
        for near in reply.perhaps
    ]
    return f"{message}\n{fenced(lines)}" if lines else message


def _answered(machine: Machine, given: tools.Question) -> str:
    from holdfast.flows.questions import answer as close

    permit(machine, reads=False, writes=True)
    closed = close(machine, given.question, given.answer, "agent")
    status = {
        "answered": "answered.",
        "recorded": "recorded with its answer.",
        "unchanged": "already answered so.",
    }
    message = f"{closed.question.id} {status[closed.status]}"
    if closed.before is None:
        return message
    return f"{message} The earlier answer, which no longer counts:\n{fenced([_flat(closed.before.answer)])}"


def _origin(id: str, at: float | None, session: str, source: str) -> str:
    day = datetime.fromtimestamp(at, UTC).date().isoformat() if at is not None else ""
    place = f".holdfast/local/{source}" if source else ""
    return " · ".join(filter(None, (id, day, f"session {short_session(session)}" if session else "", place)))


def _handoff(machine: Machine, given: tools.Handoff, client: str) -> str:
    from holdfast.briefing.recovery import hand_over
    from holdfast.flows.refresh import refresh
    from holdfast.store.project import branch_of

    project = permit(machine, reads=False, writes=True)
    branch = branch_of(project.root)
    count = hand_over(machine, project, given.text, branch, "agent", add=given.add)
    refresh(machine, project)
    place = f"branch {branch}" if branch else "this project"
    return (
        f"The next session on {visible(place)} sees {'this' if count == 1 else f'these {count} steps'} first."
    )


def _correct(machine: Machine, given: tools.Correct, client: str) -> str:
    from holdfast.flows.correct import correct

    permit(machine, reads=False, writes=True)
    done = correct(machine, given.id, given.action, given.because, given.days or None)
    return f"{done.id} {done.done}. A person can undo this with holdfast undo.\n{fenced([_flat(done.text)])}"


_ANSWERS: dict[str, Callable[[Machine, Any, str], str]] = {
    "recall": _recall,
    "search": _search,
    "open": _open,
    "remember": _remember,
    "question": _question,
    "handoff": _handoff,
    "correct": _correct,
    "recommend": _recommend,
}
