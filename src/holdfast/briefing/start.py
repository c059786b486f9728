"""Prepares the lines for the start of a session, whether it is new, resumed or compacted.

All expensive work is done here in advance; a hook only picks lines that fit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.changes_since import RecentChange, recent_changes, short
from holdfast.briefing.lesson_lines import Rule, count_lessons, flat, instructions, reason_of, strong_rules
from holdfast.briefing.lesson_proposals import known_here, lived_here
from holdfast.briefing.moments import Moment, moments_of
from holdfast.briefing.projects import Naming, naming
from holdfast.briefing.recovery import starts
from holdfast.core.errors import HoldfastError
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import LINKED, is_checkout
from holdfast.core.tokens import count_tokens
from holdfast.guard.hidden_text import visible, why_line_refused
from holdfast.hooks.start_lines import ALONE_TOKENS, LEFT_TOKENS, START_TOKENS, STUMBLE_TOKENS
from holdfast.lessons.commands import LEAST_MET, InUse, in_use, is_default, lately_met
from holdfast.lessons.fingerprint import Missing, check
from holdfast.lessons.grounds import depends_on
from holdfast.memory.current import Current, parse_current
from holdfast.memory.current_digest import STUMBLE_BUDGET, digest, within
from holdfast.memory.read import ProjectMemory, or_nothing
from holdfast.memory.state import open_items
from holdfast.model.events import DistilledSession, Lived
from holdfast.model.lesson import Fingerprint
from holdfast.model.line import Line
from holdfast.model.memory import Passage
from holdfast.sessions.store import CaptureStore
from holdfast.store.inbox import envelopes
from holdfast.store.machine import Machine
from holdfast.store.project import Project

BUDGET = 45
_HEADING = "Commands here: "
_QUOTED = lazy_regex(r"`([^`]+)`")


def command_line(
    machine: Machine, project: Project, silenced: Collection[str], instructions: str
) -> Line | None:
    """The line with the usual commands; None if too few sessions ran any, or the guides state them all.

    `silenced` are rules that must not be injected; `instructions` is the text of the guides, in lower case.
    """
    experiences = lived_here(project)
    silenced_commands = {quoted for rule in silenced for quoted in _QUOTED.findall(rule)}
    chosen: list[InUse] = []
    parts: list[str] = []
    remaining = BUDGET
    for one in in_use(experiences):
        text = flat(visible(machine.clean(f"{one.job} `{one.command}`")))
        if one.command in silenced_commands or not text or "\n" in text or why_line_refused(text):
            continue
        cost = count_tokens(text) + 1
        if (
            cost > remaining
            or is_stated(one.command, instructions)
            or not is_defined(project, one.command, experiences)
        ):
            continue
        remaining -= cost
        chosen.append(one)
        parts.append(text)
    if not chosen:
        return None
    most_used = max(chosen, key=lambda one: one.sessions)
    return Line(
        f"{_HEADING}{'; '.join(parts)}",
        f"run in up to {most_used.sessions} of {len(experiences)} sessions; recent ones count more",
        "commands",
    )


def is_stated(command: str, instructions: str) -> bool:
    """Whether a guide names the command, with any arguments."""
    program = command.partition(" <")[0].casefold()
    return re.search(rf"(?<![\w-]){re.escape(program)}(?![\w:-])", instructions) is not None


def is_defined(project: Project, command: str, lived: Sequence[Lived]) -> bool:
    """Whether the command is still defined, if there is a checkout."""
    if not is_checkout(project.root):
        return True
    targets = depends_on(command, known_here(project, lived, only_checkout=True))
    against = [Fingerprint(target=target) for target in targets]
    return not any(isinstance(verdict, Missing) for verdict in check(project.root, against).verdicts)


LATEST = 100  # sessions that a briefing uses
MOST_OWNERS = 20
LONGEST = 110
SETTLED = ("decision", "rule", "answer")
MOST_SETTLED = 6
STUMBLES = ("stumble", "lesson")
AROUND = ("check", "commands")  # what may follow the state and the failures
MOST_DECIDED = 90  # tokens of a session's own decisions after a compaction; its open items have the rest

Digests = Mapping[tuple[str, str], Sequence[Line]]
"""Lines by source and branch; '' is for every branch without lines of its own. `startup` is a new session, `alone` one
in a host that has no hook for prompts.
"""


class Briefings(Struct, frozen=True, kw_only=True):
    """All prepared lines. `since` has the newest first; `own` are a session's open items; `projects` maps branches to
    projects, with '' for every branch that is not named.
    """

    digests: Digests = {}
    stumbles: tuple[Line, ...] = ()
    since: tuple[RecentChange, ...] = ()
    own: Mapping[str, tuple[Line, ...]] = {}
    projects: Mapping[str, str] = {}
    moments: tuple[Moment, ...] = ()


def briefings_of(
    machine: Machine, project: Project, memory: ProjectMemory | None = None, *, resumes: bool = True
) -> Briefings:
    """What hooks tell. Without `resumes` no session goes on: what they need to do so is left out."""
    memory = memory or ProjectMemory(project)
    records, going_on = _records(project)
    names = _naming(machine, project)
    lessons = count_lessons(machine, project)
    guides = instructions(project.root)
    rules = strong_rules(machine, lessons, guides)
    recent_rules = _met_lately(rules, lessons.kept, project)
    with_lessons = partial(_with_lessons, rules=recent_rules, silenced=lessons.silenced)
    commands = or_nothing(lambda: [command_line(machine, project, lessons.silenced, guides)])
    starts_with = partial(_with_commands, commands=[line for line in commands if line], guides=guides)
    # Recurring failures are shown even without any other line.
    start_lines = {("startup", ""): [], **dict(or_nothing(partial(_startup, machine, memory)))}
    whole = {branch: starts_with(with_lessons(lines)) for (_, branch), lines in start_lines.items()}
    digests = {("startup", branch): _at_start(lines) for branch, lines in whole.items()}
    digests |= {("alone", branch): within(lines, ALONE_TOKENS) for branch, lines in whole.items()}
    return Briefings(
        digests={key: lines for key, lines in digests.items() if lines},
        stumbles=tuple(with_lessons(_stumbles(memory, machine.now().timestamp()))),
        since=recent_changes(records, names, memory) if resumes else (),
        own=_own([*going_on, *records], memory.dismissed) if resumes else {},
        projects={"": names.default, **names.branches},
        moments=moments_of(project, memory, [*going_on, *records], names, rules),
    )


def _naming(machine: Machine, project: Project) -> Naming:
    try:
        return naming(machine, project)
    except HoldfastError:
        # The switches of hooks are prepared together with this, and must not wait until that file is repaired.
        return Naming(default=project.title)


def _startup(machine: Machine, memory: ProjectMemory) -> list[tuple[tuple[str, str], list[Line]]]:
    lines_by_branch = starts(machine, memory.project, memory.current_file())
    return [(("startup", branch), lines) for branch, lines in lines_by_branch.items() if lines]


def _stumbles(memory: ProjectMemory, now: float) -> list[Line]:
    """Recurring failures, in the same words as at the start of a session."""
    only = replace(parse_current(""), current=Current(stumbles=memory.current.stumbles))
    return within(digest(only, None, STUMBLE_BUDGET, now), STUMBLE_TOKENS)


def _met_lately(rules: Sequence[Rule], kept: Collection[str], project: Project) -> list[Rule]:
    """Removes failures that sessions rarely meet any more, unless a person chose to keep them."""
    sessions = (
        [experience.session for experience in or_nothing(partial(lived_here, project))] if rules else []
    )
    return [
        rule for rule in rules if rule.lesson.name in kept or lately_met(rule.lesson, sessions) >= LEAST_MET
    ]


def _with_lessons(lines: Iterable[Line], rules: Sequence[Rule], silenced: Collection[str]) -> list[Line]:
    """Adds the failures of lessons that current.md does not have, within the same tokens; removes stale ones."""
    visible_lines = [line for line in lines if line.text not in silenced]
    stumble_numbers = [number for number, line in enumerate(visible_lines) if line.kind == "stumble"]
    remaining = STUMBLE_TOKENS - sum(count_tokens(visible_lines[number].text) for number in stumble_numbers)
    shown_text = "\n".join(line.text for line in visible_lines)
    new = []
    for rule in rules:
        line = Line(f"{rule.text} [{rule.lesson.id}]", reason_of(rule), "lesson", rule.lesson.id)
        if rule.text not in shown_text and (cost := count_tokens(line.text)) <= remaining:
            remaining -= cost
            new.append(line)
    place = stumble_numbers[-1] + 1 if stumble_numbers else 0
    visible_lines[place:place] = new
    return visible_lines


def _with_commands(lines: Sequence[Line], commands: Sequence[Line], guides: str) -> list[Line]:
    """Replaces the lines about passed checks by the usual commands.

    Without usual commands, removes checks that the guides state or that an agent would run unaided.
    """
    if not commands:
        return [line for line in lines if not (line.kind == "check" and _is_known(line, guides))]
    other_lines = [line for line in lines if line.kind != "check"]
    place = next(
        (number for number, line in enumerate(other_lines) if line.kind == "index"), len(other_lines)
    )
    other_lines[place:place] = commands
    return other_lines


def _at_start(lines: Sequence[Line]) -> list[Line]:
    """What a new session sees: the state that was left, what keeps failing, and the usual commands if there is room.

    The index of files is for those who ask (`holdfast resume`): the same lines at every start tell nothing.
    """
    state = [line for line in lines if line.kind not in (*STUMBLES, *AROUND, "index")]
    left = within(state, LEFT_TOKENS)
    chosen = left + within([line for line in lines if line.kind in STUMBLES], STUMBLE_TOKENS)
    missing = [line for line in state if line.kind in ("next", "note") and line not in left]
    more = [line for line in lines if line.kind in AROUND]
    if missing:  # a person's words for the next session must not vanish
        what = f"{len(missing)} more line{'s' if len(missing) != 1 else ''} for this session"
        more.insert(0, Line(f"{LINKED}current.md: {what}", "they do not fit into a start", "index"))
    return chosen + within(more, START_TOKENS - sum(count_tokens(line.text) for line in chosen))


def _is_known(line: Line, guides: str) -> bool:
    is_test = line.subject.casefold() == "test"
    return is_stated(line.said, guides) or (not is_test and is_default(line.said))


def _records(project: Project) -> tuple[list[DistilledSession], list[DistilledSession]]:
    """The latest sessions, and the running ones, which may have begun long before."""
    letters, _ = envelopes(project.memory / "inbox")
    running = dict.fromkeys(letter.session for letter in letters)

    def look(store: CaptureStore) -> tuple[list[DistilledSession], list[DistilledSession]]:
        live = [store.record(session) for session in running]
        return store.records(LATEST), [record for record in live if record is not None]

    nothing: tuple[list[DistilledSession], list[DistilledSession]] = [], []
    return CaptureStore.glimpse(project.capture, look, nothing)


def _own(records: Iterable[DistilledSession], dismissed: set[str]) -> dict[str, tuple[Line, ...]]:
    lines_by_session: dict[str, tuple[Line, ...]] = {}
    for record in records:
        if len(lines_by_session) < MOST_OWNERS and record.session not in lines_by_session:
            lines = _open_lines(record, dismissed)
            if lines:
                lines_by_session[record.session] = lines
    return lines_by_session


def _open_lines(record: DistilledSession, dismissed: set[str]) -> tuple[Line, ...]:
    settled = [
        passage
        for passage in record.passages
        if passage.status == "agreed" and passage.kind in SETTLED and passage.id not in dismissed
    ]
    best = set(sorted(settled, key=lambda passage: -passage.worth)[:MOST_SETTLED])
    decided = [
        Line(
            f"Decided in this session: {text_in(passage)} [{passage.id}]",
            f"said by the {passage.by or 'user'}",
        )
        for passage in settled
        if passage in best
    ]
    open_now = [item for item in open_items(record) if item.id not in dismissed]
    return (
        *within(decided, MOST_DECIDED),
        *(
            Line(f"Open in this session: {short(item.text, LONGEST)}", item.why or "named as a next step")
            for item in open_now
        ),
    )


def text_in(passage: Passage) -> str:
    """A passage in a line, with the question that it answers."""
    text = f"{passage.question} → {passage.text}" if passage.question else passage.text
    return " ".join(text.split()).rstrip(".;,: ")
