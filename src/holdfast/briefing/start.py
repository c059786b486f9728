"""What sessions are told at their start, by how they start: a new one, one that is resumed, one that was compacted.

Everything that takes thought is done here, before it is needed; a hook only picks lines that fit.
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
from holdfast.briefing.recovery import START_BUDGET, starts
from holdfast.core.errors import HoldfastError
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import is_checkout
from holdfast.core.tokens import count_tokens
from holdfast.guard.hidden_text import visible, why_line_refused
from holdfast.lessons.commands import LEAST_MET, InUse, in_use, is_default, lately_met
from holdfast.lessons.fingerprint import Missing, check
from holdfast.lessons.grounds import depends_on
from holdfast.memory.current import Current, parse_current
from holdfast.memory.current_digest import STUMBLE_BUDGET, digest
from holdfast.memory.read import ProjectMemory, or_nothing
from holdfast.memory.state import open_items
from holdfast.model.events import DistilledSession, Lived
from holdfast.model.lesson import Fingerprint
from holdfast.model.line import Line
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
    """None where too few sessions ran any, or the agent's own files say them all.

    `silenced` are rules that must not be told; `instructions` is what the repository's guides say, in lower case.
    """
    lived = lived_here(project)
    unwanted = {quoted for rule in silenced for quoted in _QUOTED.findall(rule)}
    told: list[InUse] = []
    parts: list[str] = []
    left = BUDGET
    for one in in_use(lived):
        text = flat(visible(machine.clean(f"{one.job} `{one.command}`")))
        if one.command in unwanted or not text or "\n" in text or why_line_refused(text):
            continue
        cost = count_tokens(text) + 1
        if cost > left or is_stated(one.command, instructions) or not _is_there(project, one.command, lived):
            continue
        left -= cost
        told.append(one)
        parts.append(text)
    if not told:
        return None
    most = max(told, key=lambda one: one.sessions)
    return Line(
        f"{_HEADING}{'; '.join(parts)}",
        f"run in up to {most.sessions} of {len(lived)} sessions; recent ones count more",
    )


def is_stated(command: str, instructions: str) -> bool:
    """Whether a guide names the command, whatever it is given."""
    named = command.partition(" <")[0].casefold()
    return re.search(rf"(?<![\w-]){re.escape(named)}(?![\w:-])", instructions) is not None


def _is_there(project: Project, command: str, lived: Sequence[Lived]) -> bool:
    """Whether what the command is defined by still has it, where there is a checkout to look at."""
    if not is_checkout(project.root):
        return True
    targets = depends_on(command, known_here(project, lived, only_checkout=True))
    against = [Fingerprint(target=target) for target in targets]
    return not any(isinstance(verdict, Missing) for verdict in check(project.root, against).verdicts)


LATEST = 100  # sessions that a briefing may draw on
MOST_OWNERS = 20
LONGEST = 110
FIRST = ("next", "note", "stale")  # a state is told before what is usual

Digests = Mapping[tuple[str, str], Sequence[Line]]
"""Lines by source (startup) and branch; the branch '' is for every branch without its own."""


class Briefings(Struct, frozen=True, kw_only=True):
    """`since` has the newest first; `own` are a session's open items; `projects` says which project a branch works on.

    The branch '' of `projects` stands for every branch that is not named.
    """

    digests: Digests = {}
    stumbles: tuple[Line, ...] = ()
    since: tuple[RecentChange, ...] = ()
    own: Mapping[str, tuple[Line, ...]] = {}
    projects: Mapping[str, str] = {}
    moments: tuple[Moment, ...] = ()


def briefings_of(machine: Machine, project: Project, memory: ProjectMemory | None = None) -> Briefings:
    memory = memory or ProjectMemory(project)
    records, going_on = _records(project)
    names = _naming(machine, project)
    lessons = count_lessons(machine, project)
    guides = instructions(project.root)
    rules = strong_rules(machine, lessons, guides)
    often = _met_lately(rules, lessons.kept, project)
    told = partial(_with_lessons, rules=often, silenced=lessons.silenced)
    usual = or_nothing(lambda: [command_line(machine, project, lessons.silenced, guides)])
    starts_with = partial(_with_commands, commands=[line for line in usual if line], guides=guides)
    # With nothing else to say, what keeps failing is said all the same.
    starting = {("startup", ""): [], **dict(or_nothing(partial(_startup, machine, memory)))}
    return Briefings(
        digests={key: lines for key, old in starting.items() if (lines := starts_with(told(old)))},
        stumbles=tuple(told(_stumbles(memory, machine.now().timestamp()))),
        since=recent_changes(records, names, memory),
        own=_own([*going_on, *records], memory.dismissed),
        projects={"": names.default, **names.branches},
        moments=moments_of(project, memory, [*going_on, *records], names, rules),
    )


def _naming(machine: Machine, project: Project) -> Naming:
    try:
        return naming(machine, project)
    except HoldfastError:
        # The switches of hooks are prepared with all this, and must not wait until that file is repaired.
        return Naming(default=project.title)


def _startup(machine: Machine, memory: ProjectMemory) -> list[tuple[tuple[str, str], list[Line]]]:
    told = starts(machine, memory.project, memory.current_file())
    return [(("startup", branch), lines) for branch, lines in told.items() if lines]


def _stumbles(memory: ProjectMemory, now: float) -> list[Line]:
    """What keeps failing, in the words in which a new session hears of it."""
    only = replace(parse_current(""), current=Current(stumbles=memory.current.stumbles))
    return digest(only, None, STUMBLE_BUDGET, now)


def _met_lately(rules: Sequence[Rule], kept: Collection[str], project: Project) -> list[Rule]:
    """Without stumbles that sessions rarely meet any more, unless a person chose to keep them."""
    sessions = [one.session for one in or_nothing(partial(lived_here, project))] if rules else []
    return [
        rule for rule in rules if rule.lesson.name in kept or lately_met(rule.lesson, sessions) >= LEAST_MET
    ]


def _with_lessons(lines: Iterable[Line], rules: Sequence[Rule], silenced: Collection[str]) -> list[Line]:
    """With the stumbles of lessons that current.md does not have, in the same hundred tokens; no stale one."""
    kept = [line for line in lines if line.text not in silenced]
    known = [number for number, line in enumerate(kept) if line.kind == "stumble"]
    left = STUMBLE_BUDGET - sum(count_tokens(kept[number].text) for number in known)
    said = "\n".join(line.text for line in kept)
    new = []
    for rule in rules:
        line = Line(f"{rule.text} [{rule.lesson.id}]", reason_of(rule), "lesson", rule.lesson.id)
        if rule.text not in said and (cost := count_tokens(line.text)) <= left:
            left -= cost
            new.append(line)
    place = known[-1] + 1 if known else 0
    kept[place:place] = new
    return _trimmed(kept, 0) if new else kept


def _with_commands(lines: Sequence[Line], commands: Sequence[Line], guides: str) -> list[Line]:
    """What sessions use here, in place of what happened to pass last; after what keeps failing.

    Of what passed, nothing that the agent's own files say, nor what it would call unaided; which tests there are is
    worth a word.
    """
    if not commands:
        return [line for line in lines if not (line.kind == "check" and _is_known(line, guides))]
    kept = [line for line in lines if line.kind != "check"]
    failing = (number + 1 for number, line in enumerate(kept) if line.kind in ("stumble", "lesson"))
    place = max(failing, default=0) or sum(line.kind in FIRST for line in kept)
    kept[place:place] = commands
    return _trimmed(kept, 1)


def _trimmed(lines: list[Line], least: int) -> list[Line]:
    """Without the last lines, which matter least, until the budget holds the rest; at least so many stay."""
    while len(lines) > least and sum(count_tokens(line.text) for line in lines) > START_BUDGET:
        lines.pop()
    return lines


def _is_known(line: Line, guides: str) -> bool:
    is_test = line.subject.casefold() == "test"
    return is_stated(line.said, guides) or (not is_test and is_default(line.said))


def _records(project: Project) -> tuple[list[DistilledSession], list[DistilledSession]]:
    """The latest sessions, and those that go on: one of them may have begun long before the latest."""
    if not project.capture.exists():
        return [], []
    letters, _ = envelopes(project.memory / "inbox")
    store = CaptureStore(project.capture)
    try:
        live = [store.record(session) for session in dict.fromkeys(letter.session for letter in letters)]
        return store.records(LATEST), [record for record in live if record is not None]
    finally:
        store.close()


def _own(records: Iterable[DistilledSession], dismissed: set[str]) -> dict[str, tuple[Line, ...]]:
    found: dict[str, tuple[Line, ...]] = {}
    for record in records:
        if len(found) < MOST_OWNERS and record.session not in found:
            lines = _open_lines(record, dismissed)
            if lines:
                found[record.session] = lines
    return found


def _open_lines(record: DistilledSession, dismissed: set[str]) -> tuple[Line, ...]:
    kept = [item for item in open_items(record) if item.id not in dismissed]
    return tuple(
        Line(f"Open in this session: {short(item.text, LONGEST)}", item.why or "named as a next step")
        for item in kept
    )
