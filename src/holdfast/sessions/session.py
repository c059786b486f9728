"""Builds a session from the digests of all its transcripts: main file, later copies and subagents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from msgspec import Struct

from holdfast.language.dialogue import Message
from holdfast.language.keywords import keywords
from holdfast.language.kind import NOTHING_ELSE, explain_kind, kind_of_commits
from holdfast.language.open_items import is_chore
from holdfast.language.passages import passages_of
from holdfast.language.title import title_of
from holdfast.model.events import DistilledSession, FileTouch, ModelUsage, TaskResult, TodoStatus, Usage
from holdfast.model.ledger import Completeness, Kind, LedgerEntry, Tokens
from holdfast.model.memory import OpenItem
from holdfast.sessions.cost import cost_of
from holdfast.sessions.digest import MOST_NAMES, Digest, TodoItem, Turn
from holdfast.sessions.failing_calls import experience_of
from holdfast.sessions.harvest import concluded, harvest_of
from holdfast.sessions.left_failing import failing_checks
from holdfast.sessions.outcome import (
    ON_THE_LIST,
    active_seconds,
    complexity_of,
    judge_all,
    outcome_of,
    outcome_of_parts,
)
from holdfast.sessions.reducer import NO_EDIT, settle_responses
from holdfast.sessions.summary import session_summary
from holdfast.sessions.tasks import tasks_of
from holdfast.sessions.usage_gaps import gaps_of

MOST_PROMPTS = 60
MOST_OPEN_ITEMS = 20
MOST_GOAL = 900  # the topic of a session comes first
FEW_KEYWORDS = 3  # a goal with fewer is too vague; the next prompt may say more


class SessionPart(Struct, frozen=True):
    """One transcript's digest and where it came from."""

    source: str
    digest: Digest


def conclude(
    session: str, parts: Sequence[SessionPart], project_type: str | None, framework: str | None
) -> DistilledSession:
    """Return the session as known now. Parts may grow; call it again for the newer state."""
    ordered = sorted(parts, key=lambda part: (part.digest.first_at or 0.0, part.source))
    for part in ordered:
        settle_responses(part.digest, 0)
    main = [part.digest for part in ordered if not part.digest.parent]
    orphans = not main
    main = main or [part.digest for part in ordered]  # a parent that is not there is judged by its subagents
    turns, todos = _joined(main)
    verdicts = judge_all(turns)
    if orphans:
        tasks = [task for digest in main for task in tasks_of(digest.turns, judge_all(digest.turns))[:1]]
        outcome, outcome_why = outcome_of_parts(
            [outcome_of(digest.turns, digest.todos.values(), judge_all(digest.turns)) for digest in main]
        )
    else:
        tasks = tasks_of(turns, verdicts)
        outcome, outcome_why = outcome_of(turns, todos.values(), verdicts)
    files = _files([part.digest for part in ordered])
    edited = [touch.path for touch in files if touch.edits]
    commands = tuple(dict.fromkeys(command for digest in main for command in digest.commands))
    prompts = [f"{turn.command} {turn.text}".strip() for turn in turns if turn.text or turn.command]
    goal = prompts[0] if prompts else ""
    kind, kind_why = _kind_of_parts(main) if orphans else _kind(prompts, edited, commands, _subjects(main))
    summary = _summary(turns, main, files)
    started = min(
        (part.digest.first_at for part in ordered if part.digest.first_at is not None), default=None
    )
    ended = max((part.digest.last_at for part in ordered if part.digest.last_at is not None), default=None)
    lasted = ended - started if started is not None and ended is not None else 0.0
    calls = sum(part.digest.tool_calls for part in ordered)
    first = main[0]
    return DistilledSession(
        session=session,
        agent=first.agent,
        started=started,
        ended=ended,
        active_s=active_seconds(span for part in ordered for span in part.digest.spans) if lasted else None,
        wall_s=round(lasted) if lasted else None,
        cwd=first.cwd,
        branch=main[-1].branch,
        version=main[-1].version,
        headless=first.headless,
        provider=first.provider,
        goal=goal,
        prompts=tuple(prompts[:MOST_PROMPTS]),
        tasks=tuple(tasks),
        outcome=outcome,
        outcome_why=outcome_why,
        kind=kind,
        kind_why=kind_why,
        complexity=complexity_of(tool_calls=calls, edited_files=len(edited), tasks=len(tasks)),
        keywords=_goal_keywords(prompts),
        project_type=project_type,
        framework=framework,
        models=_models([part.digest for part in ordered], first.provider, started),
        files=files,
        commands=commands,
        verified=tuple({kind: text for digest in main for kind, text in digest.verified.items()}.items()),
        open_items=_open_items(tasks),
        commits=sum(part.digest.commits for part in ordered),
        tool_calls=calls,
        failed_calls=sum(part.digest.failed_calls for part in ordered),
        compactions=sum(digest.compactions for digest in main),
        subagents=sum(1 for part in ordered if part.digest.parent),
        final_message=next((turn.final for turn in reversed(turns) if turn.final), ""),
        sources=tuple(part.source for part in ordered),
        harvest=harvest_of(
            session,
            [digest.harvest for digest in main],
            [part.digest.harvest for part in ordered],
            _left_open(turns, todos),
        ),
        experience=experience_of(
            [digest.harvest for digest in main], [part.digest.harvest for part in ordered]
        ),
        usage_gaps=gaps_of(part.digest for part in ordered),
        named=_named([part.digest for part in ordered]),
        summary=summary,
        title=_title(main, prompts, commands, summary),
        calls_before_edit=None if orphans else _calls_before_edit(main),
        passages=tuple(passages_of(dialogue_of(ordered), worked=calls > 0)),
    )


def _calls_before_edit(main: Sequence[Digest]) -> int | None:
    """Return the calls of a session before its first edit, over all its transcripts, without subagents."""
    calls = 0
    for digest in main:
        if digest.before_edit is None:
            return None
        if digest.before_edit != NO_EDIT:
            return calls + digest.before_edit
        calls += digest.tool_calls
    return None


def dialogue_of(parts: Sequence[SessionPart]) -> list[Message]:
    """What person and agent said to each other in all main transcripts, without the subagents."""
    ordered = sorted(parts, key=lambda part: (part.digest.first_at or 0.0, part.source))
    main = [part.digest for part in ordered if not part.digest.parent] or [ordered[0].digest]
    return [message for digest in main for message in concluded(digest.harvest).dialogue]


def _summary(turns: Sequence[Turn], main: Sequence[Digest], files: Sequence[FileTouch]) -> str:
    commits = _subjects(main)
    bodies = {line: body for digest in main for line, body in digest.harvest.bodies.items()}
    return session_summary(turns, commits, bodies, files)


def _title(main: Sequence[Digest], prompts: Sequence[str], commands: Sequence[str], summary: str) -> str:
    named = next((digest.title for digest in reversed(main) if digest.title), "")
    return title_of(named, prompts, _subjects(main), commands, summary)


def _joined(digests: Sequence[Digest]) -> tuple[list[Turn], dict[str, TodoItem]]:
    """Concatenate the turns of all main transcripts; to-do items point into the joined list."""
    turns: list[Turn] = []
    todos: dict[str, TodoItem] = {}
    for digest in digests:
        shift = len(turns)
        turns += digest.turns
        for text, item in digest.todos.items():
            if text in todos:
                todos[text].status = item.status
            else:
                todos[text] = TodoItem(item.status, item.turn + shift, item.at)
    return turns, todos


def _files(digests: Sequence[Digest]) -> tuple[FileTouch, ...]:
    counts: dict[str, tuple[int, int]] = {}
    for digest in digests:
        for path, (reads, edits) in digest.files.items():
            known_reads, known_edits = counts.get(path, (0, 0))
            counts[path] = (known_reads + reads, known_edits + edits)
    return tuple(FileTouch(path, reads, edits) for path, (reads, edits) in counts.items())


def _named(digests: Sequence[Digest]) -> tuple[tuple[str, str], ...]:
    joined: dict[str, dict[str, None]] = {}
    for digest in digests:
        for path, names in digest.names.items():
            joined.setdefault(path, {}).update(dict.fromkeys(names))
    return tuple((path, " ".join(list(names)[:MOST_NAMES])) for path, names in joined.items())


def _subjects(main: Sequence[Digest]) -> list[str]:
    return [line for digest in main for line in digest.harvest.commits]


def _kind(
    prompts: Sequence[str], edited: Sequence[str], commands: Sequence[str], subjects: Sequence[str]
) -> tuple[Kind, str]:
    """Return the kind of what was committed, else of the first prompt that has one: many sessions open with a question
    and then get to work."""
    judgements = [explain_kind(prompt, edited, commands) for prompt in prompts[:5] or [""]]
    asked = next(
        (one for one in judgements if one.kind != Kind.OTHER and one.reason != NOTHING_ELSE), judgements[0]
    )
    return kind_of_commits(subjects, asked)


def _kind_of_parts(digests: Sequence[Digest]) -> tuple[Kind, str]:
    """Return the most common kind of the subagents of a session that is not there."""
    kinds: dict[Kind, int] = {}
    for digest in digests:
        prompts = [turn.text for turn in digest.turns if turn.text] or [digest.title]
        edited = [path for path, (_, edits) in digest.files.items() if edits]
        kind, _ = _kind(prompts, edited, tuple(digest.commands), _subjects([digest]))
        kinds[kind] = kinds.get(kind, 0) + (kind != Kind.OTHER) * 2 + 1
    best = max(kinds, key=lambda kind: kinds[kind])
    return best, f"what most of its {len(digests)} subagents did" if len(
        digests
    ) > 1 else "what its subagent did"


def _goal_keywords(prompts: Sequence[str]) -> tuple[str, ...]:
    """Return keywords of the first prompt, and of the next ones if it says little (`/clear`, `hi`, a bare link)."""
    text = ""
    words: tuple[str, ...] = ()
    for prompt in prompts[:4]:
        text = f"{text}\n{prompt}" if text else prompt
        words = keywords(text[:MOST_GOAL])
        if len(words) >= FEW_KEYWORDS:
            break
    return words


def _models(digests: Sequence[Digest], provider: str, at: float | None) -> tuple[ModelUsage, ...]:
    usage: dict[str, Usage] = {}
    costs: dict[str, Decimal | None] = {}
    responses: dict[str, int] = {}
    for digest in digests:
        for total in digest.usage:
            model = total.model
            usage[model] = usage.get(model, Usage()) + total.usage
            responses[model] = responses.get(model, 0) + total.responses
            subtotal, price = costs.get(model, Decimal(0)), cost_of(total, provider, at)
            costs[model] = None if subtotal is None or price is None else subtotal + price
    ranked = sorted(usage, key=lambda model: (-usage[model].output, model))
    return tuple(
        ModelUsage(
            model=model,
            usage=usage[model],
            responses=responses[model],
            cost_usd=None if (cost := costs[model]) is None else str(cost),
        )
        for model in ranked
    )


def _open_items(tasks: Sequence[TaskResult]) -> tuple[str, ...]:
    """Return what the next session has to know: unfinished tasks, and tasks that still fail."""
    items = [
        task.title + (f" ({task.reason})" if task.reason else "")
        for task in tasks
        if task.status in ("failed", "skipped")
    ]
    return tuple(dict.fromkeys(item for item in items if item))[-MOST_OPEN_ITEMS:]


def _left_open(turns: Sequence[Turn], todos: dict[str, TodoItem]) -> list[OpenItem]:
    """Return unfinished to-dos, and checks that still fail at the end."""
    stopped = bool(turns) and not turns[-1].answered
    open_states: list[TodoStatus] = ["pending", "in_progress"] if stopped else ["pending"]
    items = [
        OpenItem(text=text, why=ON_THE_LIST, owner="agent", at=item.at)
        for text, item in todos.items()
        if item.status in open_states and text and not is_chore(text)
    ]
    for turn in turns[-1:]:
        items += failing_checks(turn)
    return items


def ledger_entry(session: DistilledSession) -> LedgerEntry:
    """Return the ledger row of a session: metadata only. The writer sets `recorded`."""
    failed = [task for task in session.tasks if task.status == "failed"]
    costs = [model.cost_usd for model in session.models]
    tokens = Tokens()
    for model in session.models:
        used = model.usage
        tokens = tokens + Tokens(used.input, used.output, used.cache_read, used.cache_write)
    main = session.models[0].model if session.models else ""
    return LedgerEntry(
        session=session.session,
        model=main or None,
        tasks=len(session.tasks),
        failed=len(failed),
        skipped=sum(1 for task in session.tasks if task.status == "skipped"),
        cost_usd=None
        if not costs or any(cost is None for cost in costs)
        else sum((Decimal(cost) for cost in costs if cost is not None), Decimal(0)),
        duration_s=session.active_s,
        framework=session.framework,
        goal=session.keywords,
        timestamp=datetime.fromtimestamp(round(session.started, 3), UTC)
        if session.started is not None
        else None,
        agent=session.agent,
        provider=session.provider or None,
        kind=session.kind,
        project_type=session.project_type,
        failures=tuple(task.reason for task in failed),
        complexity=session.complexity,
        tokens=tokens if session.models else None,
        commits=session.commits,
        outcome=session.outcome,
        usage=None
        if not session.usage_gaps
        else Completeness.INCOMPLETE
        if session.models
        else Completeness.MISSING,
    )
