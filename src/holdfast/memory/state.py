"""Updates the state with sessions: next steps on each branch, to-dos, what was done, recurring failures.

The new state is derived from the old one and the sessions' records: entries of a person or an agent stay, and a
session that is captured again replaces only its own entries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Literal

from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.language.checks import is_task
from holdfast.language.open_items import is_chore, speaks_of
from holdfast.language.own_words import own_words
from holdfast.memory.current import Check, ClosedTodo, Current, Done, NextStep, by_session
from holdfast.memory.current_digest import GO_ON
from holdfast.memory.log import goal_line, summary_of, task_line, title_line
from holdfast.model.events import DistilledSession, TaskResult
from holdfast.model.ledger import FailureReason
from holdfast.model.memory import Fact, FactCategory, OpenItem
from holdfast.sessions.digest import is_alike, words_of
from holdfast.sessions.harvest_commands import bare_command, check_in
from holdfast.sessions.outcome import ON_THE_LIST, TICKED
from holdfast.sessions.summary import cut
from holdfast.store.line_grammar import render_minute

# --- checks worth keeping ------------------------------------------------------------------------------

_ALL = frozenset((".", "./", "./...", "...", "*", "**"))
_NAMES_A_FILE = lazy_regex(r"[\w-]+\.(?!\.)[A-Za-z]{1,5}\Z")
_WRAPPER = lazy_regex(
    r"\A(?:(?:npx|bunx|pnpx|uvx)\s+(?:--?\w+\s+)*|(?:mise|asdf|rbenv|pnpm|yarn|npm|bundle|direnv)\s+(?:exec|x|dlx)\s+(?:--\s+)?"
    r"|(?:uv|poetry|pipenv|pdm|hatch|rye)\s+run\s+|(?:\S*/)?python[\d.]*\s+-m\s+)+"
)
_ELSEWHERE = lazy_regex(r"\s*cd\s+[\"']?(?:/|~|[A-Za-z]:|\$)")


def useful_checks(new: Sequence[Fact], known: Iterable[Fact] = ()) -> list[Fact]:
    """The new facts without checks that others make redundant. Known facts are kept.

    Of one program the check of the whole counts, in the form that most sessions use. Where the repository defines a
    task for a kind of check, a tool that one session called once is not worth a line.
    """
    known_facts = list(known)
    ids = {fact.id for fact in known_facts}
    checks = [fact for fact in (*known_facts, *new) if check_in(fact)]
    tasks = {check_in(fact) for fact in checks if is_task(fact.command)}
    seen = Counter(fact.id for fact in new)
    chosen: dict[tuple[str, ...], Fact] = {}
    for fact in checks:
        best = chosen.get(_runner(fact))
        if best is None or (best.id not in ids and _worth(fact, seen) > _worth(best, seen)):
            chosen[_runner(fact)] = fact

    def tells(fact: Fact) -> bool:
        if fact.id in ids or not check_in(fact):
            return True
        once = seen[fact.id] == 1
        if once and (_names_files(fact.command) or (check_in(fact) in tasks and not is_task(fact.command))):
            return False
        return chosen[_runner(fact)].id == fact.id

    return [fact for fact in new if tells(fact)]


@lru_cache(maxsize=2048)  # sessions run the same checks
def of_a_part(command: str) -> bool:
    """Whether a check names files or folders, or ran in a directory of one machine."""
    return bool(_ELSEWHERE.match(command)) or any(map(_is_place, bare_command(command).split()[1:]))


def _names_files(command: str) -> bool:
    return any(_NAMES_A_FILE.search(word) for word in bare_command(command).split()[1:] if word[0] != "-")


def _is_place(word: str) -> bool:
    if word.startswith("-") or word in _ALL:
        return False
    return "/" in word or _NAMES_A_FILE.search(word) is not None


def _runner(fact: Fact) -> tuple[str, ...]:
    """The kind of check, and the program with its verb, without options, paths and the program's folder."""
    return (check_in(fact), *_program_and_verbs(fact.command))


@lru_cache(maxsize=2048)
def _program_and_verbs(command: str) -> tuple[str, ...]:
    words = _WRAPPER.sub("", bare_command(command)).split()
    verbs: list[str] = []
    for word in words[1:]:
        if word.startswith("-") or word in _ALL or _is_place(word):
            break
        verbs.append(word)
    return (words[0].rpartition("/")[2] if words else "", *verbs)


def _worth(fact: Fact, seen: Counter[str]) -> tuple[bool, int, int, int, float]:
    """The order of checks: the whole, then more sessions, fewer and wider paths, fewer options, then newer."""
    words = bare_command(fact.command).split()[1:]
    places = sum(word.strip("./").count("/") + 1 for word in words if _is_place(word))
    options = sum(word.startswith("-") for word in words)
    newest = fact.verified_at or fact.at or 0.0
    return not of_a_part(fact.command), seen[fact.id], -places, -options, newest


MOST_TODO = 12
MOST_OF_A_SESSION = 6
LAPSES_AFTER = 3  # sessions on the branch that did not return to an item
MOST_DONE = 6
MOST_CLOSED = 8
FEWEST_OWN = 3  # words of a request that says what it wants
MOST_BRANCHES = 6
MOST_STUMBLES = 6
MOST_CHECKS = 5
LONGEST = 180
LONGEST_REQUEST = 120  # a to-do is short; the log has the rest
OLDEST_S = 14 * 86_400  # an item untouched for two weeks leaves the state; the log keeps it
# A person or the client stopped the task. If it is still open, the agent's list has it.
_STOPPED = frozenset({FailureReason.USER_REJECTED, FailureReason.INTERRUPTED, FailureReason.API_ERROR})
UNFINISHED = frozenset({"partial", "failed", "abandoned"})

_FOR_A_PROGRAM = lazy_regex(r"\s*You (?:are|write|generate|summari[sz]e)\b.{1,400}\bJSON\b", re.DOTALL)
_NUMBERS = lazy_regex(r"\d+")
_FILE = lazy_regex(r"\w\.\w{1,5}$")
_PLACEHOLDER = lazy_regex(r"\W*\[\[[^\]]*\]\]\W*|\W*\{\{[^}]*\}\}\W*")  # of a template that was printed
_FAILS = lazy_regex(r"(\w+) fails: ")


def advance(
    before: Current,
    records: Iterable[tuple[str, DistilledSession]],
    dismissed: Collection[str] = (),
) -> Current:
    """The state updated with these sessions, each with its project, oldest first.

    The repository's main project is ''. Headless sessions leave no next step.
    """
    state = before
    for project, record in sorted(records, key=lambda pair: pair[1].started or 0.0):
        if not record.headless:
            state = _take(state, record, project, dismissed)
    newest = max((item.at for item in state.done if item.at is not None), default=None)
    return _trimmed(state, newest)


def _take(state: Current, record: DistilledSession, project: str, dismissed: Collection[str]) -> Current:
    left_open = [replace(item, project=project) for item in open_items(record) if item.id not in dismissed]
    deed = (_done(record, project),) if did_something(record) else ()
    done = (*(item for item in state.done if item.session != record.session), *deed)
    closed = {item.id: ending for item in state.todo if (ending := _ending(item, record, project, left_open))}
    if deed:
        lapsed = [item for item in state.todo if item.id not in closed and _lapsed(item, deed[0], done)]
        closed.update({item.id: ("dropped", NOT_TAKEN_UP) for item in lapsed})
    restated = {item.id for item in state.todo if item.session and _is_restated(item, record, left_open)}
    still_open = [item for item in state.todo if item.id not in closed and item.id not in restated]
    ids = {item.id for item in still_open}
    next_steps = _next(state.next, record, project, left_open)
    gone = [_closed(item, *closed[item.id], record.ended) for item in state.todo if item.id in closed]
    gone += _steps_given_up(state, next_steps, record)
    reopened = {item.id for item in left_open}
    return replace(
        state,
        todo=(*still_open, *(item for item in left_open if item.id not in ids)),
        next=next_steps,
        done=done,
        closed=(*(item for item in state.closed if item.id not in reopened), *gone),
        checks=_checks(state.checks, record),
    )


def did_something(record: DistilledSession) -> bool:
    """Whether a session did anything worth listing. A host's helper that writes a title or a commit message did not.

    Nor did a session that consists only of commands of holdfast or of the client, or a request whose answer repeats it.
    """
    if not goal_line(record, 100):
        return False
    if record.tool_calls or record.files or len(record.prompts) > 1:
        return True
    echoes = record.outcome == "unknown" and words_of(record.final_message) <= words_of(record.goal)
    return not echoes and not _FOR_A_PROGRAM.match(record.goal)


def open_items(record: DistilledSession) -> tuple[OpenItem, ...]:
    """The items that a session left open, by urgency: failures, what it stated, the rest of its list.

    A request is not an open item: the person knows how it ended, and the next step names it if it was not done.
    """
    all_items = record.harvest.open_items
    urgent = [item for item in all_items if item.priority == "high"]
    stated = [item for item in all_items if item.priority != "high" and item.why != ON_THE_LIST]
    listed = [item for item in all_items if item.priority != "high" and item.why == ON_THE_LIST]
    items: list[OpenItem] = []
    for item in [*urgent, *stated, *_unfinished(record), *listed]:
        if _PLACEHOLDER.fullmatch(item.text):
            continue
        if not any(is_alike(words_of(item.text), words_of(item_before.text)) for item_before in items):
            at = to_minute(item.at or record.ended)
            items.append(replace(item, branch=record.branch, session=record.session, at=at))
    return tuple(items[:MOST_OF_A_SESSION])


def _unfinished(record: DistilledSession) -> list[OpenItem]:
    """The open items of the agent's own list, without routine chores and items that it ticked itself."""
    requests = {_folded(prompt)[:40] for prompt in record.prompts}
    return [
        OpenItem(text=task_line(task.title, LONGEST_REQUEST), why=_why(task), owner="agent", at=task.at)
        for task in record.tasks
        if (task.status == "skipped" or (task.status == "failed" and task.listed))
        and task.title
        and task.reason not in _STOPPED
        and not task.evidence.startswith(TICKED)
        and not is_chore(task.title)
        and not task.title.startswith("/")  # a command of the client is a request, not a step of a list
        and _folded(task.title)[:40] not in requests
    ]


def _why(task: TaskResult) -> str:
    return task.reason.replace("_", " ") if task.reason not in ("", "unknown") else "not finished"


def _folded(text: str) -> str:
    return " ".join(text.split())


def to_minute(at: float | None) -> float | None:
    """The time without seconds."""
    return None if at is None else at // 60 * 60


Ending = tuple[Literal["done", "dropped", "replaced"], str]
NOT_TAKEN_UP = f"{LAPSES_AFTER} later sessions on its branch did not return to it"
TOO_OLD = "nobody returned to it for two weeks"
TOO_MANY = f"only the {MOST_TODO} newest and most urgent are kept"


def _ending(
    item: OpenItem, record: DistilledSession, project: str, left: Sequence[OpenItem]
) -> Ending | None:
    """How a session ended an open item; None if it is open as before, or is left again."""
    words = words_of(item.text)
    if any(is_alike(words, words_of(again.text)) for again in left):
        return None
    if item.session and item.session == record.session:
        return (
            ("done", "")
            if _did(item, record)
            else ("replaced", "a later report of its session does not name it")
        )
    if item.branch not in (record.branch, "") or item.project != project or not item.session:
        return None  # only a person closes a person's to-do
    return ("done", "") if _did(item, record) else None


def _is_restated(item: OpenItem, record: DistilledSession, left: Sequence[OpenItem]) -> bool:
    """Whether a session reports an open item again: its own, or an earlier one of its branch in its own words."""
    if item.session == record.session:
        return True
    words, place = words_of(item.text), (item.branch, item.project)
    return any(is_alike(words, words_of(new.text)) and place == (new.branch, new.project) for new in left)


def _did(item: OpenItem, record: DistilledSession) -> bool:
    """Whether a session did an open item: a check passes again, a task of it is done, or its account speaks of it."""
    if check := _FAILS.match(item.text):
        return check[1] in dict(record.verified)
    words = words_of(item.text)
    if any(task.status == "done" and is_alike(words, words_of(task.title)) for task in record.tasks):
        return True
    if record.outcome in UNFINISHED and not record.commits:
        return False
    accounts = (record.summary, *record.harvest.commits)
    return any(speaks_of(text, item.text) for text in accounts if text)


def _closed(item: OpenItem | NextStep, how: str, why: str, at: float | None) -> ClosedTodo:
    return ClosedTodo(
        text=item.text,
        how=how,  # type: ignore[arg-type]
        why=why,
        branch=item.branch,
        project=item.project,
        session=item.session,
        at=to_minute(at),
    )


def _steps_given_up(state: Current, now: Sequence[NextStep], record: DistilledSession) -> list[ClosedTodo]:
    """Steps to go on with a session, which a later one did not take up. The others stand among the to-dos."""
    kept = {step.session for step in now}
    return [
        _closed(step, "dropped", "a later session on its branch went on with something else", record.ended)
        for step in state.next
        if step.text.startswith(GO_ON)
        and not step.by
        and step.session not in (*kept, record.session)
        and not any(speaks_of(text, _goal_of(step)) for text in (*record.prompts, record.summary))
    ]


def _goal_of(step: NextStep) -> str:
    return step.text.removeprefix(GO_ON).rpartition(" (")[0]


def _lapsed(item: OpenItem, deed: Done, done: Sequence[Done]) -> bool:
    """Whether enough later sessions ignored an item. It leaves the state; the log keeps it."""
    place = (deed.branch, deed.project)
    if not item.session or item.at is None or (item.branch, item.project) != place:
        return False
    later = {
        entry.session
        for entry in done
        if (entry.branch, entry.project) == place and (entry.at or 0) > item.at
    }
    return len(later - {item.session}) >= LAPSES_AFTER


def _next(
    steps: Sequence[NextStep], record: DistilledSession, project: str, left: Sequence[OpenItem]
) -> tuple[NextStep, ...]:
    """The next steps. Derived steps of the branch are replaced by those of a later session; handoffs stay."""
    place = (record.branch, project)
    remaining = [
        step
        for step in steps
        if step.by or (step.branch, step.project) != place or (step.at or 0) > (record.started or 0)
    ]
    remaining = [step for step in remaining if step.by or step.session != record.session]
    if left:
        text = left[0].text
    elif record.outcome in UNFINISHED and own_words(_request(record, LONGEST - 80)):  # "hi" is no step
        day = "" if record.ended is None else f", {render_minute(record.ended)[:10]}"
        text = f"{GO_ON}{_request(record, LONGEST - 80)} ({record.outcome}{day})"
    else:
        return tuple(remaining)
    at = to_minute(record.started)
    step = NextStep(text=text, branch=record.branch, project=project, session=record.session, at=at)
    return (*remaining, step)


def _request(record: DistilledSession, most: int) -> str:
    """The last request that was not finished, if it says what it wants; else the goal of the session."""
    requests = [task.title for task in record.tasks if not task.listed and task.status != "done"]
    last = task_line(requests[-1], most) if requests else ""
    return last if len(own_words(last)) >= FEWEST_OWN and not is_chore(last) else title_line(record, most)


def _done(record: DistilledSession, project: str) -> Done:
    summary = summary_of(record, LONGEST)
    goal = title_line(record, 100)
    ended = f" ({record.outcome})" if record.outcome in UNFINISHED else ""
    head = f"{goal.rstrip(' .,;:')}{ended}"
    text = (head if head.endswith(("?", "!", "…")) else f"{head}.") + (f" {summary}" if summary else "")
    return Done(
        text=cut(text, LONGEST),
        branch=record.branch,
        project=project,
        agent=record.agent,
        session=record.session,
        at=to_minute(record.ended),
    )


def _checks(checks: Sequence[Check], record: DistilledSession) -> tuple[Check, ...]:
    """For each kind the command that passed most often in the newest session."""
    newest = {check.kind: check for check in checks}
    for fact in reversed(record.harvest.facts):
        kind = check_in(fact)
        previous = newest.get(kind)
        if kind and (previous is None or (previous.at or 0) <= (record.ended or 0)):
            if previous is not None and of_a_part(fact.command) and not of_a_part(previous.command):
                continue  # a check of a part must not replace a check of everything
            newest[kind] = Check(command=cut(fact.command, 120), kind=kind, at=to_minute(record.ended))
    return tuple(newest.values())[:MOST_CHECKS]


def _trimmed(state: Current, newest: float | None) -> Current:
    """The state cut to its limits: the newest and most urgent stay. Handoffs and a person's to-dos are never cut."""
    oldest = (newest or 0) - OLDEST_S
    todo = [item for item in state.todo if not item.session or (item.at or 0) >= oldest]
    by_worth = sorted(by_session(todo), key=lambda item: (bool(item.session), item.priority != "high"))
    kept_ids = {item.id for item in by_worth[:MOST_TODO]} | {item.id for item in todo if not item.session}
    expired = [_closed(item, "dropped", TOO_OLD, newest) for item in state.todo if item not in todo]
    expired += [_closed(item, "dropped", TOO_MANY, newest) for item in todo if item.id not in kept_ids]
    closed = {item.id: item for item in (*state.closed, *expired) if (item.at or 0) >= oldest}
    derived = sorted((step for step in state.next if not step.by), key=lambda step: -(step.at or 0))
    fresh = [step for step in derived if (step.at or 0) >= oldest][:MOST_BRANCHES]
    return replace(
        state,
        todo=tuple(item for item in by_worth if item.id in kept_ids),
        next=(*(step for step in state.next if step.by), *fresh),
        done=tuple(sorted(state.done, key=lambda item: (item.at or 0, item.session))[-MOST_DONE:][::-1]),
        closed=tuple(sorted(closed.values(), key=lambda item: (item.at or 0, item.id))[-MOST_CLOSED:][::-1]),
    )


# --- the category of a fact ----------------------------------------------------------------------------

# In this order: the more specific patterns come first.
_SIGNS: tuple[tuple[FactCategory, re.Pattern[str]], ...] = tuple(
    (category, lazy_regex(pattern, re.IGNORECASE))
    for category, pattern in (
        (FactCategory.DECISION, r"\b(?:was|were|is|has been) decided\b|\bpolicy\b"),
        (FactCategory.RESULT, r"\b(?:benchmark|measured|throughput|latency|p9\d|took \d|accuracy|recall@)"),
        (FactCategory.TESTING, r"\b(?:tests?|pytest|jest|vitest|coverage|fixtures?|go test|cargo test)\b"),
        (FactCategory.BUILD, r"\b(?:builds?|compil\w+|bundles?|linter|lints?|type.?checks?)\b"),
        (FactCategory.ENDPOINT, r"\w+://|\b(?:endpoint|port \d+|localhost|(?:GET|POST|PUT|DELETE) /)"),
        (
            FactCategory.ID,
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?:id|account|tenant|project)"
            r" (?:\w+ ){0,3}is \S*\d|\b(?:arn:|[a-z]{2,5}_[A-Za-z0-9]*\d)",
        ),
        (FactCategory.DEPENDENCY, r"\b(?:depend\w*|librar(?:y|ies)|packages?|lock ?file|pinned)\b"),
        (
            FactCategory.ENVIRONMENT,
            r"\b(?:environment|env var\w*|[A-Z]+_[A-Z_]+|python|node|java|docker|kernel|version)\b",
        ),
        (FactCategory.COMMAND, r"^`|\b(?:make|npm run|pnpm|just|run) \S+"),
    )
)


def guess_category(text: str) -> FactCategory:
    return next((category for category, sign in _SIGNS if sign.search(text)), FactCategory.OTHER)
