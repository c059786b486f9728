"""The digest of current.md for a new session: the lines that matter on its branch, within a token budget."""

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
from holdfast.store.line_grammar import readable, render_minute

# --- repeated lines ------------------------------------------------------------------------------------

_WORD = lazy_regex(r"\w+")
_FEWEST = 3  # words; two lines may start with fewer by chance


def without_repeats(lines: Iterable[Line]) -> list[Line]:
    """The lines without those that an earlier line already contains."""
    unique: list[tuple[Line, list[str]]] = []
    for line in lines:
        words = _words(line)
        if line.kind == "check" and any(line.said in earlier.text for earlier, _ in unique):
            continue
        if len(words) >= _FEWEST and any(_repeats(line, words, *earlier) for earlier in unique):
            continue
        unique.append((line, words))
    return [line for line, _ in unique]


def _repeats(line: Line, words: list[str], other: Line, said: list[str]) -> bool:
    """Whether a line repeats another. The same text on two branches is no repeat; no branch matches any branch."""
    same_branch = line.branch == other.branch or not (line.branch and other.branch)
    return words == said[: len(words)] and same_branch


def _words(line: Line) -> list[str]:
    """The words of a line; none of a command, and without the last one if it may be cut in half."""
    words = [word.casefold() for word in _WORD.findall("" if line.kind == "check" else line.said)]
    return words[:-1] if line.said.endswith("…") else words


# --- one line for each item ----------------------------------------------------------------------------

_DAY_S = 86_400
_LONGEST = 60  # tokens of one line: a single long text must not use up the budget
_LONGEST_DONE = 36  # what was done matters less than what is next
_LONGEST_TEXT = 2_000
_NOT_TEXT = lazy_regex(r"[\ud800-\udfff]")  # bytes of the file that are not UTF-8


def with_branch(line: Line, own: str, branch: str | None) -> Line:
    """Adds the branch to a line if the digest covers all branches."""
    if branch is not None or not own:
        return line
    name = one_line(own)
    return replace(line, text=f"{line.text} (on {name})", branch=name)


def step_line(step: NextStep) -> Line:
    by = f" (by the {step.by})" if step.by else ""
    origin = f"handed over {on(step.at)}" if step.by else _from(step.session, step.at)
    text = one_line(step.text)
    return Line(f"Next{by}: {text}", origin, "next", said=text)


def stumble_line(stumble: RecurringFailure) -> Line:
    return Line(stumble_text(stumble), f"it failed in {stumble.sessions} sessions", "stumble", stumble.id)


def stumble_text(stumble: RecurringFailure) -> str:
    """What fails and what works instead, in one line."""
    if "`" in stumble.tried and not stumble.failed and not stumble.instead:  # a complete rule
        return _whole_commands(one_line(stumble.tried))
    failed = f" ({one_line(stumble.failed)})" if stumble.failed else ""
    instead = f" → `{one_line(stumble.instead)}` worked" if stumble.instead else ""
    return f"`{one_line(stumble.tried)}` fails here{failed}{instead}"


def _whole_commands(rule: str) -> str:
    """A rule without a command that was cut in half, if another command comes before it."""
    cut = rule.endswith("…") and rule.count("`") % 2
    return (rule.rpartition(" or `")[0] or rule) if cut else rule


def question_line(question: Question) -> Line | None:
    """The line of a question; None if it is too long, because half a question cannot be answered."""
    text = one_line(question.text)
    if text.endswith("…") and not question.text.rstrip().endswith("…"):
        return None
    text_with_id = f"{text} [{question.id}]"
    return Line(
        f"Open question: {text_with_id}",
        _from(question.session, question.at),
        "question",
        question.id,
        said=text_with_id,
    )


def todo_line(item: OpenItem) -> Line:
    """The line of a to-do, with the day on which a session left it: the reader can check what was done since."""
    owner = f"for the {item.owner}" if item.owner not in ("", "agent") else ""  # the agent is who reads it
    since = day_of(item.at) if item.session else ""
    marks = [item.priority if item.priority != "normal" else "", owner, since]
    details = ", ".join(filter(None, marks))
    why = f"; {one_line(item.why)}" if item.why else ""
    label = f"To do ({details})" if details else "To do"
    text = one_line(item.text)
    return Line(f"{label}: {text}", f"{_from(item.session, item.at)}{why}", "todo", item.id, said=text)


def done_line(item: Done) -> Line:
    signature = ", ".join(part for part in (render_minute(item.at)[:10], one_line(item.agent)) if part)
    text = cut_to(one_line(item.text), _LONGEST_DONE)
    return Line(f"Done last ({signature}): {text}", _from(item.session, item.at), "done", said=text)


def _from(session: str, at: float | None) -> str:
    return f"from session {session[:8]}, {on(at)}" if session else f"kept {on(at)}"


def day_of(at: float | None) -> str:
    """The date in UTC; '' if unknown."""
    return "" if (minute := render_minute(at)) == "undated" else minute[:10]


def on(at: float | None) -> str:
    return f"on {day}" if (day := day_of(at)) else "at a time not known"


def stale_line(items: Sequence[NextStep | Done | OpenItem], newest: float, now: float) -> Line:
    days = int((now - newest) // _DAY_S)
    last_text = one_line(items[0].text)
    text = f"Last state here is {days} days old ({render_minute(newest)[:10]}): {last_text}"
    return Line(text, "nothing newer is known", "old" if days > OLD_DAYS else "stale", said=last_text)


def one_line(text: str) -> str:
    line = " ".join(_NOT_TEXT.sub("\ufffd", text[:_LONGEST_TEXT]).split())
    if len(text) > _LONGEST_TEXT:
        line += "…"
    return cut_to(line, _LONGEST)


STALE_DAYS = 14
OLD_DAYS = 90  # what a session did this long ago helps no other one to start; who asks is told
STUMBLE_BUDGET = (
    100  # tokens for recurring failures: useful to every session, but not at the cost of the rest
)
_PRIORITIES = {"high": 0, "normal": 1, "low": 2}
_MOST_QUESTIONS = 3
_MOST_TODO = 3  # to-dos left by sessions; a person's own are included as long as there is room
_MOST_BY_HAND = 12
_LONGEST_INDEX = 120
_COMMAND_ALONE = lazy_regex(
    r"/\S+(?: \(\w+\))?\.?"
)  # of the client: that it was given says nothing of the work
_REMOVED = lazy_regex(r"\bREDACTED\b|\*{3,}")
PLACE = ".holdfast/local/"  # the folder of the files that current.md lists
GO_ON = "Go on with: "  # the start of a step that is derived from an unfinished session
ELSEWHERE = "\n"  # not a possible name of a branch


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
    """Lines of at most `budget` tokens in total, the most useful first. `clean` removes secrets from a person's lines.

    Steps of other branches and other projects are left out. Without a branch (None: no repository, or nothing checked
    out) those of all branches are included. State older than 14 days is one line. `project` is '' for the
    repository's main project, None for all; `name` is its name; `place` is the folder of the files in the index.
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
        # A person's own lines do not expire: they are shown until the person removes them.
        steps, todo = [step for step in steps if step.by], [item for item in todo if not item.session]
        derived = [item for item in dated if item not in steps and item not in todo]
        lines += [stale_line(derived, newest, now)] if derived else []
        done = []
    lines += [with_branch(step_line(step), step.branch, branch) for step in steps]
    lines += _by_hand(file, clean, branch)
    lines += within(map(stumble_line, current.stumbles), STUMBLE_BUDGET)
    question_lines = (question_line(question) for question in current.questions if question.open)
    lines += list(islice((line for line in question_lines if line is not None), _MOST_QUESTIONS))
    lines += [with_branch(todo_line(item), item.branch, branch) for item in _to_tell(todo, steps)]
    lines += [with_branch(done_line(deed), deed.branch, branch) for deed in _last_done(done, steps)]
    at_work = any(branch is None or item.branch == branch for item in dated)
    lines += _around(current, branch, place, at_work=at_work, now=now)
    return within(without_repeats(lines), budget)


def state_of_project(current: Current, project: str | None, name: str) -> Current:
    """The state of one project of the repository, '' for the main one; None for all of them."""
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
    """The branches with a state."""
    return {item.branch for items in (current.next, current.todo, current.done) for item in items} - {""}


def _to_tell(todo: Sequence[OpenItem], steps: Sequence[NextStep]) -> list[OpenItem]:
    """To-dos that are not already the next step: all of a person's, and the newest few left by sessions."""
    step_texts = {step.text for step in steps}
    remaining = [item for item in todo if item.text not in step_texts]
    ranked = sorted(by_session(remaining), key=lambda item: _PRIORITIES[item.priority])
    shown_ids = {item.id for item in [item for item in ranked if item.session][:_MOST_TODO]}
    return [item for item in ranked if not item.session or item.id in shown_ids]


def _last_done(done: Sequence[Done], steps: Sequence[NextStep]) -> list[Done]:
    """What was done last, unless the next step is to continue it."""
    last = max(done, key=lambda item: item.at or 0, default=None)
    going_on = {step.session for step in steps if step.session and step.text.startswith(GO_ON)}
    return [] if last is None or last.session in going_on or _COMMAND_ALONE.fullmatch(last.text) else [last]


def _around(current: Current, branch: str | None, place: str, *, at_work: bool, now: float) -> Iterator[Line]:
    """Further help: commands that passed, active projects, files to load."""
    for check in current.checks:
        command = one_line(check.command)
        if command.endswith("…") or _REMOVED.search(command):
            continue  # half a command cannot be run
        kind = one_line(check.kind)
        text = f"{kind.capitalize()} passed with: {command}"
        yield Line(text, f"it passed {on(check.at)}", "check", said=command, subject=kind)
    for project in current.projects:
        elsewhere = branch is not None and project.branch not in (branch, "")
        # The lines above already cover the only project.
        if not elsewhere and not (at_work and len(current.projects) == 1):
            status = one_line(project.status)
            text = f"Project {one_line(project.name)}: {status}"
            yield Line(text, "an active project", "project", said=status)
    if branch is not None and not at_work:
        yield from _last_elsewhere(current, branch, now)
    yield from _files(current.files, place)


def _last_elsewhere(current: Current, branch: str, now: float) -> Iterator[Line]:
    """On a branch without a state: where the last session worked, without the steps of that branch."""
    items: list[NextStep | Done | OpenItem] = [*current.next, *current.done, *current.todo]
    elsewhere = [item for item in items if item.branch not in (branch, "", "HEAD") and isfinite(item.at or 0)]
    last = max(elsewhere, key=lambda item: item.at or 0, default=None)
    if last is not None and (last.at or now) >= now - STALE_DAYS * _DAY_S:
        name, day = one_line(last.branch), render_minute(last.at)[:10]
        text = f"Last session here: {day} on {name} (holdfast resume --branch NAME)"
        yield Line(text, "its steps are not told here", "elsewhere")


def _files(hints: Iterable[FileHint], place: str) -> Iterator[Line]:
    """One line per folder, to keep the index short."""
    folders: dict[str, list[str]] = {}
    for hint in hints:
        if hint.path.endswith("/"):
            continue  # an archive: the log mentions it
        folder, slash, name = hint.path.rpartition("/")
        folders.setdefault(f"{folder}{slash}", []).append(f"{one_line(name)} when {one_line(hint.when)}")
    for folder, names in folders.items():
        text = f"Load from {place}{one_line(folder)}: {'; '.join(names)}"
        if count_tokens(text) <= _LONGEST_INDEX:
            yield Line(text, "the file index", "index")


def steps_of(current: Current, branch: str | None) -> list[NextStep]:
    """The next steps on a branch, newest first.

    A handoff in a person's or an agent's own words replaces the steps of earlier sessions.
    """
    on_branch = [step for step in current.next if branch is None or step.branch in (branch, "")]
    newest_first = sorted(on_branch, key=lambda step: step.at or 0, reverse=True)
    handoffs = [step for step in newest_first if step.by]
    if not handoffs:
        return newest_first
    return [
        *handoffs,
        *(step for step in newest_first if not step.by and (step.at or 0) > (handoffs[0].at or 0)),
    ]


def _by_hand(file: CurrentFile, clean: Callable[[str], str], branch: str | None) -> list[Line]:
    """The lines that a person wrote into the file, in their own sections or between our lines."""
    our_lines = set(BEGINNING.split("\n"))
    outside = readable(file.document.outside()).removeprefix("\ufeff").split("\n")
    lines = [*_without_quoted_boxes(file.person), *_without_quoted_boxes(outside)]
    words = [line.strip() for line in lines if line.strip() and line.rstrip("\r") not in our_lines]
    if words:
        words = [line for line in clean("\n".join(words)).split("\n") if line.strip()]
    note_lines = (_noted(word, branch) for word in words if not word.startswith(("#", "<!--")))
    return list(islice((line for line in note_lines if line is not None), _MOST_BY_HAND))


def _without_quoted_boxes(lines: Iterable[str]) -> Iterator[str]:
    """A box in a block of code is an example, not a to-do."""
    fenced = False
    for line in lines:
        fenced ^= FENCE.match(line) is not None
        if not (fenced and bare_todo(line)):
            yield line


def _noted(line: str, branch: str | None) -> Line | None:
    """The digest line of a person's line: of a to-do only the text, and None once it is ticked."""
    label, text = "Noted by hand", line
    if (todo := bare_todo(line)) is not None:
        item, done = todo
        if done or (branch is not None and item.branch not in (branch, "")):
            return None
        label, text = "To do (by hand)", item.text
    note_text = one_line(text)
    return Line(f"{label}: {note_text}", "written into current.md", "note", said=note_text)


def within(lines: Iterable[Line], budget: int) -> list[Line]:
    """The lines that fit into a token budget, in order."""
    fitting: list[Line] = []
    remaining = budget
    for line in lines:
        cost = count_tokens(line.text)
        if cost <= remaining:
            fitting.append(line)
            remaining -= cost
    return fitting
