"""What a new session is told of current.md: the lines that matter on its branch, within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import isfinite

from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.core.tokens import count_tokens, cut_to
from holdfast.memory.current import (
    BEGINNING,
    FENCE,
    Current,
    CurrentFile,
    Done,
    FileHint,
    NextStep,
    RecurringFailure,
    bare_todo,
    by_session,
)
from holdfast.model.line import Line
from holdfast.model.memory import OpenItem, Question
from holdfast.store.line_grammar import render_minute

# --- repeated lines ------------------------------------------------------------------------------------

_WORD = lazy_regex(r"\w+")
_FEWEST = 3  # words; fewer may begin two things by chance


def without_repeats(lines: Iterable[Line]) -> list[Line]:
    """The lines without those that say less of something that an earlier one says."""
    kept: list[tuple[Line, list[str]]] = []
    for line in lines:
        words = _words(line)
        if line.kind == "check" and any(line.said in other.text for other, _ in kept):
            continue
        if len(words) >= _FEWEST and any(_repeats(line, words, *other) for other in kept):
            continue
        kept.append((line, words))
    return [line for line, _ in kept]


def _repeats(line: Line, words: list[str], other: Line, said: list[str]) -> bool:
    """The same on two branches is two things; what names no branch is about either."""
    same_branch = line.branch == other.branch or not (line.branch and other.branch)
    return words == said[: len(words)] and same_branch


def _words(line: Line) -> list[str]:
    """What a line says; of a command nothing, and of what was cut all but the last word, which may be half of one."""
    words = [word.casefold() for word in _WORD.findall("" if line.kind == "check" else line.said)]
    return words[:-1] if line.said.endswith("…") else words


# --- one line for each item ----------------------------------------------------------------------------

_DAY_S = 86_400
_LONGEST = 60  # tokens of one line: a single essay must not eat the budget
_LONGEST_TEXT = 2_000
_NOT_TEXT = lazy_regex(r"[\ud800-\udfff]")  # bytes of the file that are not UTF-8


def with_branch(line: Line, own: str, branch: str | None) -> Line:
    """Where all branches are told, each line says which one it is about."""
    if branch is not None or not own:
        return line
    name = one_line(own)
    return replace(line, text=f"{line.text} (on {name})", branch=name)


def step_line(step: NextStep) -> Line:
    by = f" (by the {step.by})" if step.by else ""
    how = f"handed over {on(step.at)}" if step.by else _from(step.session, step.at)
    said = one_line(step.text)
    return Line(f"Next{by}: {said}", how, "next", said=said)


def stumble_line(stumble: RecurringFailure) -> Line:
    return Line(stumble_text(stumble), f"it failed in {stumble.sessions} sessions", "stumble", stumble.id)


def stumble_text(stumble: RecurringFailure) -> str:
    """What fails and what works instead, in one line."""
    if "`" in stumble.tried and not stumble.failed and not stumble.instead:  # a rule that says all of it
        return _whole_commands(one_line(stumble.tried))
    failed = f" ({one_line(stumble.failed)})" if stumble.failed else ""
    instead = f" → `{one_line(stumble.instead)}` worked" if stumble.instead else ""
    return f"`{one_line(stumble.tried)}` fails here{failed}{instead}"


def _whole_commands(rule: str) -> str:
    """A rule that was cut, without the command that it was cut in, where another one stands before it."""
    cut = rule.endswith("…") and rule.count("`") % 2
    return (rule.rpartition(" or `")[0] or rule) if cut else rule


def question_line(question: Question) -> Line | None:
    """None for a question that is too long: half a question cannot be answered."""
    text = one_line(question.text)
    if text.endswith("…") and not question.text.rstrip().endswith("…"):
        return None
    said = f"{text} [{question.id}]"
    return Line(
        f"Open question: {said}", _from(question.session, question.at), "question", question.id, said=said
    )


def todo_line(item: OpenItem) -> Line:
    """With the day on which a session left it, so that the reader can check what was done since."""
    owner = f"for the {item.owner}" if item.owner not in ("", "agent") else ""  # the agent is who reads it
    since = day_of(item.at) if item.session else ""
    marks = [item.priority if item.priority != "normal" else "", owner, since]
    shown = ", ".join(filter(None, marks))
    why = f"; {one_line(item.why)}" if item.why else ""
    label = f"To do ({shown})" if shown else "To do"
    said = one_line(item.text)
    return Line(f"{label}: {said}", f"{_from(item.session, item.at)}{why}", "todo", item.id, said=said)


def done_line(item: Done) -> Line:
    signed = ", ".join(part for part in (render_minute(item.at)[:10], one_line(item.agent)) if part)
    said = one_line(item.text)
    return Line(f"Done last ({signed}): {said}", _from(item.session, item.at), "done", said=said)


def _from(session: str, at: float | None) -> str:
    return f"from session {session[:8]}, {on(at)}" if session else f"kept {on(at)}"


def day_of(at: float | None) -> str:
    """The date in UTC; '' when it is not known."""
    return "" if (shown := render_minute(at)) == "undated" else shown[:10]


def on(at: float | None) -> str:
    return f"on {day}" if (day := day_of(at)) else "at a time not known"


def stale_line(items: Sequence[NextStep | Done | OpenItem], newest: float, now: float) -> Line:
    days = int((now - newest) // _DAY_S)
    said = one_line(items[0].text)
    text = f"Last state here is {days} days old ({render_minute(newest)[:10]}): {said}"
    return Line(text, "nothing newer is known", "stale", said=said)


def one_line(text: str) -> str:
    line = " ".join(_NOT_TEXT.sub("\ufffd", text[:_LONGEST_TEXT]).split())
    if len(text) > _LONGEST_TEXT:
        line += "…"
    return cut_to(line, _LONGEST)


STALE_DAYS = 14
STUMBLE_BUDGET = 100  # of what keeps failing: useful to every session, and never all that it is told
_PRIORITIES = {"high": 0, "normal": 1, "low": 2}
_MOST_QUESTIONS = 3
_MOST_TODO = 3  # that sessions left; a person's own are told as long as there is room
_MOST_BY_HAND = 12
_LONGEST_INDEX = 120
_COMMAND_ALONE = lazy_regex(
    r"/\S+(?: \(\w+\))?\.?"
)  # of the client: that it was given says nothing of the work
_REMOVED = lazy_regex(r"\bREDACTED\b|\*{3,}")
PLACE = ".holdfast/local/"  # where a session finds the files that current.md names
GO_ON = "Go on with: "  # how a step begins that is derived from a session which was not finished
ELSEWHERE = "\n"  # no branch is called so


def digest(
    file: CurrentFile,
    branch: str | None,
    budget: int,
    now: float,
    clean: Callable[[str], str] = str,
    project: str | None = None,
    name: str = "",
    place: str = PLACE,
) -> list[Line]:
    """Lines of at most `budget` tokens in all, the most useful first. `clean` removes secrets from a person's lines.

    Other branches' and other projects' steps are left out: they are not this session's. Without a branch (None: no
    repository, or nothing checked out) those of all branches are told. State older than 14 days is one line.
    `project` is '' for the repository's own, None for all; `name` is what it is called; `place` is where the files
    lie that it names.
    """
    current = state_of_project(file.current, project, name)

    def here(item: NextStep | Done | OpenItem) -> bool:
        return branch is None or item.branch in (branch, "")

    steps = steps_of(current, branch)
    done = [item for item in current.done if here(item)]
    todo = [item for item in current.todo if here(item)]
    dated: list[NextStep | Done | OpenItem] = [*steps, *done, *todo]
    newest = max((item.at for item in dated if item.at is not None and isfinite(item.at)), default=None)
    lines: list[Line] = []
    if newest is not None and newest < now - STALE_DAYS * _DAY_S:
        # A person's own words do not grow old: they are shown until the person removes them.
        steps, todo = [step for step in steps if step.by], [item for item in todo if not item.session]
        derived = [item for item in dated if item not in steps and item not in todo]
        lines += [stale_line(derived, newest, now)] if derived else []
        done = []
    lines += [with_branch(step_line(step), step.branch, branch) for step in steps]
    lines += _by_hand(file, clean, branch)
    lines += within(map(stumble_line, current.stumbles), STUMBLE_BUDGET)
    asked = (question_line(question) for question in current.questions if question.open)
    lines += list(islice((line for line in asked if line is not None), _MOST_QUESTIONS))
    lines += [with_branch(todo_line(item), item.branch, branch) for item in _to_tell(todo, steps)]
    lines += [with_branch(done_line(deed), deed.branch, branch) for deed in _last_done(done, steps)]
    at_work = any(branch is None or item.branch == branch for item in dated)
    lines += _around(current, branch, place, at_work=at_work, now=now)
    return within(without_repeats(lines), budget)


def state_of_project(current: Current, project: str | None, name: str) -> Current:
    """The state of one project of the repository, '' for its own; None is for all of them."""
    if project is None:
        return current
    return replace(
        current,
        next=tuple(step for step in current.next if step.project == project or step.by),
        todo=tuple(item for item in current.todo if item.project == project or not item.session),
        done=tuple(item for item in current.done if item.project == project),
        questions=tuple(question for question in current.questions if question.project == project),
        files=tuple(
            hint
            for hint in current.files
            if not hint.path.startswith("projects/") or hint.path.startswith(f"projects/{name}/")
        ),
        projects=tuple(
            entry if entry.name == name else replace(entry, branch=ELSEWHERE) for entry in current.projects
        ),
    )


def branches_of(current: Current) -> set[str]:
    """Branches that have a state of their own."""
    return {item.branch for items in (current.next, current.todo, current.done) for item in items} - {""}


def _to_tell(todo: Sequence[OpenItem], steps: Sequence[NextStep]) -> list[OpenItem]:
    """What is not said as the next step already: all that a person wants, of sessions' left-overs the newest few."""
    said = {step.text for step in steps}
    new = [item for item in todo if item.text not in said]
    ranked = sorted(by_session(new), key=lambda item: _PRIORITIES[item.priority])
    left = {item.id for item in [item for item in ranked if item.session][:_MOST_TODO]}
    return [item for item in ranked if not item.session or item.id in left]


def _last_done(done: Sequence[Done], steps: Sequence[NextStep]) -> list[Done]:
    """The last deed, unless the next step is to go on with it, which says the same."""
    last = max(done, key=lambda item: item.at or 0, default=None)
    going_on = {step.session for step in steps if step.session and step.text.startswith(GO_ON)}
    return [] if last is None or last.session in going_on or _COMMAND_ALONE.fullmatch(last.text) else [last]


def _around(current: Current, branch: str | None, place: str, *, at_work: bool, now: float) -> Iterator[Line]:
    """What helps once the work itself is told: commands that passed, where work went on, files to load."""
    for check in current.checks:
        command = one_line(check.command)
        if command.endswith("…") or _REMOVED.search(command):
            continue  # half a command cannot be run
        kind = one_line(check.kind)
        text = f"{kind.capitalize()} passed with: {command}"
        yield Line(text, f"it passed {on(check.at)}", "check", said=command, subject=kind)
    for project in current.projects:
        elsewhere = branch is not None and project.branch not in (branch, "")
        # Of the only project all that could be said is said above.
        if not elsewhere and not (at_work and len(current.projects) == 1):
            status = one_line(project.status)
            text = f"Project {one_line(project.name)}: {status}"
            yield Line(text, "an active project", "project", said=status)
    if branch is not None and not at_work:
        yield from _last_elsewhere(current, branch, now)
    yield from _files(current.files, place)


def _last_elsewhere(current: Current, branch: str, now: float) -> Iterator[Line]:
    """On a branch of which nothing is known: where work went on last. What it was is that branch's."""
    items: list[NextStep | Done | OpenItem] = [*current.next, *current.done, *current.todo]
    others = [item for item in items if item.branch not in (branch, "", "HEAD") and isfinite(item.at or 0)]
    last = max(others, key=lambda item: item.at or 0, default=None)
    if last is not None and (last.at or now) >= now - STALE_DAYS * _DAY_S:
        name, day = one_line(last.branch), render_minute(last.at)[:10]
        text = f"Last session here: {day} on {name} (holdfast resume --branch NAME)"
        yield Line(text, "its steps are not told here", "elsewhere")


def _files(hints: Iterable[FileHint], place: str) -> Iterator[Line]:
    """One line for each folder, so that the index stays shorter than what it points to."""
    folders: dict[str, list[str]] = {}
    for hint in hints:
        if hint.path.endswith("/"):
            continue  # an archive: who has read the log knows of it
        folder, slash, name = hint.path.rpartition("/")
        folders.setdefault(f"{folder}{slash}", []).append(f"{one_line(name)} when {one_line(hint.when)}")
    for folder, names in folders.items():
        text = f"Load from {place}{one_line(folder)}: {'; '.join(names)}"
        if count_tokens(text) <= _LONGEST_INDEX:
            yield Line(text, "the file index", "index")


def steps_of(current: Current, branch: str | None) -> list[NextStep]:
    """What is next on a branch, newest first.

    A handoff in a person's or an agent's own words replaces the steps of earlier sessions.
    """
    here = [step for step in current.next if branch is None or step.branch in (branch, "")]
    found = sorted(here, key=lambda step: step.at or 0, reverse=True)
    handed = [step for step in found if step.by]
    if not handed:
        return found
    return [*handed, *(step for step in found if not step.by and (step.at or 0) > (handed[0].at or 0))]


def _by_hand(file: CurrentFile, clean: Callable[[str], str], branch: str | None) -> list[Line]:
    """What a person wrote into the file, in sections of their own or between our lines."""
    ours = set(BEGINNING.split("\n"))
    outside = file.document.outside().removeprefix("\ufeff").split("\n")
    lines = [*_without_quoted_boxes(file.person), *_without_quoted_boxes(outside)]
    words = [line.strip() for line in lines if line.strip() and line.rstrip("\r") not in ours]
    if words:
        words = [line for line in clean("\n".join(words)).split("\n") if line.strip()]
    noted = (_noted(word, branch) for word in words if not word.startswith(("#", "<!--")))
    return list(islice((line for line in noted if line is not None), _MOST_BY_HAND))


def _without_quoted_boxes(lines: Iterable[str]) -> Iterator[str]:
    """A box in a block of code is an example, not a to-do."""
    fenced = False
    for line in lines:
        fenced ^= FENCE.match(line) is not None
        if not (fenced and bare_todo(line)):
            yield line


def _noted(line: str, branch: str | None) -> Line | None:
    """A person's line as it is told; a to-do by its text alone, and not at all once it is ticked."""
    label, text = "Noted by hand", line
    if (found := bare_todo(line)) is not None:
        item, done = found
        if done or (branch is not None and item.branch not in (branch, "")):
            return None
        label, text = "To do (by hand)", item.text
    said = one_line(text)
    return Line(f"{label}: {said}", "written into current.md", "note", said=said)


def within(lines: Iterable[Line], budget: int) -> list[Line]:
    """The lines that fit into a budget of tokens, in their order."""
    kept: list[Line] = []
    left = budget
    for line in lines:
        cost = count_tokens(line.text)
        if cost <= left:
            kept.append(line)
            left -= cost
    return kept
