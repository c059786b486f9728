"""Prepares the lines for tool calls: remedies for commands that failed before, answers to questions asked before.

This module decides what made a command fail, whether it has worked since, and the wording of the line. The hook only
looks calls up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.changes_since import short
from holdfast.briefing.lesson_lines import Rule, reason_of
from holdfast.briefing.projects import Naming
from holdfast.core.likeness import word_set
from holdfast.core.patterns import lazy_regex
from holdfast.core.reuse import for_same_arguments, for_same_object
from holdfast.core.session_id import short_session
from holdfast.core.shell_calls import Call, calls, normal
from holdfast.hooks.moment import ASK, SHELL, fits, folded, place_of
from holdfast.memory.current_digest import day_of
from holdfast.memory.merge import is_passing
from holdfast.memory.read import ProjectMemory
from holdfast.model.events import DistilledSession
from holdfast.model.lesson import failing_call
from holdfast.model.memory import DeadEnd, ids_of
from holdfast.model.statement import Statement, statement_of
from holdfast.sessions.store import CaptureStore
from holdfast.store.project import Project

# --- the failing part of a command ---------------------------------------------------------------------


_NOT_FOUND = lazy_regex(
    r"(?P<before>[^\s:'\"`]+)['\"`]?: (?:command )?not found\b"
    r"|['\"`](?P<quoted>[^'\"`]+)['\"`] is not recognized as an? (?:internal|name)|spawn (?P<spawned>\S+) ENOENT",
    re.IGNORECASE,
)
_NOT_FOUND_NAMED = lazy_regex(r"command not found: (?P<after>\S+)")
_FLAG = lazy_regex(
    r"unknown|unrecogni[sz]ed|invalid|illegal|unsupported|unexpected|no such|not defined|not (?:a )?valid"
    r"|not supported|not recognized|does not (?:exist|support)|bad (?:option|flag)|ambiguous",
    re.IGNORECASE,
)
_MISSING = lazy_regex(
    r"unknown|unrecogni[sz]ed|undefined|no such|no rule|no (?:task|module|target|script|package)|missing script"
    r"|not found|not a (?:\S+ )?(?:valid )?(?:\S+ )?command|is not a|could not find|cannot find|not recognized"
    r"|not installed|invalid (?:sub-?command|command|choice|value|task|target|argument)|unexpected|does not contain",
    re.IGNORECASE,
)
_NO_FILE = lazy_regex(
    r"no such file|does not exist|cannot (?:open|stat|access|find)|can't (?:open|find)|ENOENT|not found",
    re.IGNORECASE,
)
_TOGETHER = lazy_regex(
    r"mutually exclusive|cannot be used|can't be used|not allowed with|conflicts with|needs|requires"
)
_SHORT = lazy_regex(r"(?:option|flag|switch)s?:? (?:-- )?['\"`]?-?(?P<letter>\w)\b", re.IGNORECASE)
_MANAGED = "externally-managed"
_SUBCOMMAND = lazy_regex(r"[a-z][a-z_:-]+")
_FILE = lazy_regex(r"[/\\]|\.\w{1,5}\Z")
_INSTANCE = lazy_regex(r"\d+|[0-9a-f]{7,40}|#\d+|https?://.*")

# How many words after the program are subcommands. The others have two: `gh pr diff`, `npm run lint`.
_NO_SUBCOMMAND = word_set(
    """ls cat grep egrep fgrep rg find fd sed awk head tail wc sort uniq cut tr diff cp mv rm mkdir touch chmod curl
    wget make gmake ninja pytest jest vitest mocha tsc eslint prettier node python python3 bash sh zsh tar jq yq
    sqlite3 psql ssh scp rsync date xxd stat tree mypy black flake8 gcc g++ clang javac java du df ps xargs tee
    gofmt gofumpt goimports golangci rustfmt shellcheck which"""
)
_ONE_SUBCOMMAND = word_set(
    "git go cargo ruff brew apt apt-get dnf pip pip3 terraform helm golangci-lint hg svn rustup gem bazel"
)
_TWO_OF_GIT = word_set("stash remote worktree submodule bisect notes lfs")


class Failing(Struct, frozen=True):
    """How to recognise a failing call (`hooks/moment.py`): by `rule`, with `token` after the words `needs`."""

    rule: str
    token: str = ""
    needs: tuple[str, ...] = ()


def failing(call: Call, said: str) -> Failing:
    """The failing part of a call. If that is not clear, only a call with the same words matches."""
    program, rest = call.words[0], call.words[1:]
    whole = Failing("whole", "", tuple(rest))
    match = _NOT_FOUND_NAMED.search(said) or _NOT_FOUND.search(said)
    if match and program in match.groups():
        return Failing("path", program) if "/" in program else Failing("program")
    if "/" in program and _NO_FILE.search(said) and _position(program, said) >= 0:
        return Failing("path", program)
    if _MANAGED in said:
        return Failing("word", "install", ()) if "install" in rest else whole
    if _TOGETHER.search(said):
        return whole
    token = _named(rest, said)
    if not token or _INSTANCE.fullmatch(token):
        return whole
    if token.startswith("-"):
        return Failing("flag", token, _doing(program, rest)) if _FLAG.search(said) else whole
    at = rest.index(token) if token in rest else len(rest)
    before = tuple(word for word in _doing(program, rest) if word in rest[:at])
    if _FILE.search(token):
        return Failing("path", token, before) if _NO_FILE.search(said) else whole
    return Failing("word", token, before) if _MISSING.search(said) else whole


def _doing(program: str, rest: list[str]) -> tuple[str, ...]:
    """The subcommands of a call: `pr diff` of `gh pr diff 104 --stat`."""
    if rest[:1] == ["-m"]:
        return tuple(rest[:2])
    if program in _NO_SUBCOMMAND:
        return ()
    most = (
        1
        if program in _ONE_SUBCOMMAND and not (program == "git" and rest[:1] and rest[0] in _TWO_OF_GIT)
        else 2
    )
    subcommands = []
    for word in rest[:most]:
        if not _SUBCOMMAND.fullmatch(word):
            break
        subcommands.append(word)
    return tuple(subcommands)


def _named(words: list[str], said: str) -> str:
    """The word of a call that its error names: of several the first after the message, else the last before it."""
    places = [(at, word) for word in _pieces(words) if (at := _position(word, said)) >= 0]
    if not places:
        letter = match["letter"] if (match := _SHORT.search(said)) else ""
        short = [
            word for word in words if letter and word.startswith("-") and word[1:2] != "-" and letter in word
        ]
        return short[0] if len(short) == 1 else ""
    flags = [place for place in places if place[1].startswith("-")]
    if flags:  # an error that names an option is about the option
        places = flags
    complaint = _FLAG.search(said) or _MISSING.search(said) or _NO_FILE.search(said)
    start = complaint.start() if complaint else 0
    after = [place for place in places if place[0] >= start]
    return min(after)[1] if after else max(places)[1]


def _pieces(words: Iterable[str]) -> set[str]:
    """Words, and the items of lists: `--json title,labels` names two fields."""
    every = set(words)
    lists = [word for word in every if "," in word]
    return {word for word in every.union(*(word.split(",") for word in lists)) if len(word) > 1}


def _position(word: str, said: str) -> int:
    """The position of a whole word in a text; -1 if it is absent."""
    match = re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-]|\.\w)", said)
    if match is None and word.startswith("--"):  # git names options without their dashes
        match = re.search(rf"['\"`‘]{re.escape(word[2:])}['\"`’]", said)
    return match.start() if match else -1


SESSIONS = 500  # that are searched for failures
MOST = 1_000
_TRIED, _FAILED, _ASKED, _ANSWER = 120, 80, 120, 160
_NO_FILE_TO_READ = "no such file"  # a read of a path failed, not a command
_PLAIN = lazy_regex(r"[A-Za-z0-9_.-]+")  # neither JSON nor a shell escapes these
_THEN = ", then "  # between the two calls of a remedy that takes two
_GAP = lazy_regex(r"<[a-z]+>|…")
_SCRATCH = lazy_regex(r"(?:^|[\s=\"'])(?:/tmp/|/var/folders/|/private/tmp/)|\bmktemp\b|\$TMPDIR")
_LONGEST_REMEDY = 200  # a truncated remedy cannot be run


class Moment(Struct, frozen=True, kw_only=True):
    """One line for calls of `tool` that `key` finds and `rule` matches; docs/contributing/hot-path.md has the rules.

    `project` '' is for all projects of a repository.
    """

    tool: str
    key: str
    rule: str
    text: str
    reason: str
    id: str = ""
    token: str = ""
    needs: tuple[str, ...] = ()
    place: str = ""
    project: str = ""


Worked = tuple[float, Call]
"""When a call succeeded."""


def moments_of(
    project: Project,
    memory: ProjectMemory,
    records: Sequence[DistilledSession],
    names: Naming,
    rules: Sequence[Rule] = (),
) -> tuple[Moment, ...]:
    """The newest first; then `rules` of lessons, unless a session's own failure says the same."""
    answers = sorted(_answered(memory, records, names), key=lambda pair: -pair[0])
    remedies = list(
        _remedies(_dead_ends(project, memory), _worked(memory, records), memory.dismissed, project)
    )
    seen = {_same(moment) for moment in remedies}
    learned = [
        moment_of_lesson
        for moment_of_lesson in _of_lessons(rules, str(project.root))
        if _same(moment_of_lesson) not in seen
    ]
    return (*(moment for _, moment in answers[:MOST]), *remedies[:MOST], *learned[:MOST])


def words_of(moments: Iterable[Moment]) -> bytes:
    """For `hooks/prefilter.py`: for each command a substring that every matching call contains literally."""
    pieces = set()
    for moment in moments:
        if moment.tool == SHELL:
            texts = (
                [moment.token]
                if moment.token
                else [moment.key, *(moment.needs if moment.rule == "whole" else ())]
            )
            runs = [run for text in texts for run in _PLAIN.findall(text)]
            pieces.add(max(runs, key=len, default=""))
    return "\n".join(f"={piece}" for piece in sorted(pieces)).encode()


def _dead_ends(project: Project, memory: ProjectMemory) -> list[DeadEnd]:
    """The dead ends of the latest sessions and of the memory files, newest first."""
    nothing: list[tuple[str, DeadEnd]] = []
    captured = CaptureStore.glimpse(project.capture, lambda capture: capture.dead_ends(SESSIONS), nothing)
    dead_ends = [replace(end, session=session) for session, end in captured]
    dead_ends += [
        replace(end, session=entry.session, at=entry.at if end.at is None else end.at)
        for _, entry in memory.entries()
        for end in entry.dead_ends
    ]
    dead_ends += [
        DeadEnd(tried=stumble.tried, failed=stumble.failed, instead=stumble.instead, at=stumble.at)
        for stumble in memory.current.stumbles
        # Too long to be shown whole there; or a rule of a lesson, in prose and not a command.
        if not stumble.tried.endswith("…")
        and not stumble.instead.endswith("…")
        and (stumble.instead or "`" not in stumble.tried)
    ]
    return sorted(dead_ends, key=lambda end: -(end.at or 0.0))


def _worked(memory: ProjectMemory, records: Sequence[DistilledSession]) -> list[Worked]:
    """Commands that are known to have worked: those of facts, passed checks, and remedies of failures."""
    worked = [pair for record in records for pair in _worked_in(record)]
    commands = [
        (fact_statement.evidence[0].command, fact_statement.at)
        for fact_statement in memory.statements("fact")
        if fact_statement.status != "retired"
    ]
    return worked + _calls_of(commands)


@for_same_object
def _worked_in(record: DistilledSession) -> list[Worked]:
    commands = [(fact.command, fact.verified_at or fact.at) for fact in record.harvest.facts]
    commands += [(end.instead.replace(_THEN, " ; "), end.at) for end in record.harvest.dead_ends]
    # The time of a passed check is not recorded: it counts from the session's start.
    commands += [(command, record.started) for _, command in record.verified]
    return _calls_of(commands)


def _calls_of(commands: Iterable[tuple[str, float | None]]) -> list[Worked]:
    return [(at, call) for text, at in commands if text and at is not None for call in calls(text)]


def _remedies(
    dead_ends: Sequence[DeadEnd], worked: Sequence[Worked], dismissed: set[str], project: Project
) -> Iterator[Moment]:
    sessions: dict[object, set[str]] = {}
    candidates: list[tuple[object, DeadEnd, Moment]] = []
    unwanted: set[object] = set()
    root = str(project.root)
    for end in dead_ends:
        moment = remedy(end, root)
        if moment is None:
            continue
        identity = _same(moment)
        if ids_of(end) & dismissed:
            unwanted.add(identity)  # a dismissed failure stays dismissed with other numbers too
        if identity not in sessions:
            candidates.append((identity, end, moment))
        sessions.setdefault(identity, set()).update([end.session] if end.session else [])
    by_program: dict[str, list[Worked]] = {}
    for at, call in worked:
        by_program.setdefault(call.words[0], []).append((at, call))
    for candidate_identity, end, moment in candidates:
        worked_later = by_program.get(moment.key, ())
        if candidate_identity not in unwanted and not _works_now(moment, end, worked_later, root):
            times = len(sessions[candidate_identity])
            frequency = "once" if times < 2 else f"in {times} sessions"
            yield replace(moment, reason=f"failed {frequency}, {_known_by(moment)}; {_when(end)}")


def _same(moment: Moment) -> tuple[object, ...]:
    """The identity of a failure: two with the same one are merged."""
    return moment.key, moment.rule, moment.token, moment.needs, moment.place


def _of_lessons(rules: Iterable[Rule], root: str) -> Iterator[Moment]:
    """Lessons that name a failing call and what works; a call with placeholders matches only by the placeholders."""
    for rule in rules:
        if (call := failing_call(rule.text)) is None:
            continue
        tried, failed, instead = call
        moment = remedy(DeadEnd(tried=_GAP.sub("x", tried), failed=failed, instead=instead), root)
        whole = _GAP.search(tried) is None
        if moment is not None and (whole or moment.rule in ("flag", "program")):
            reason = f"{reason_of(rule)}, {_known_by(moment)}"
            yield replace(moment, text=f"{rule.text} [{rule.lesson.id}]", reason=reason, id=rule.lesson.id)


@for_same_arguments
def remedy(end: DeadEnd, root: str) -> Moment | None:
    """How to recognise a failure, and the line for it; None if it has no usable remedy."""
    tried, helped = calls(end.tried), calls(end.instead.replace(_THEN, " ; "))
    if len(tried) != 1 or not helped or len(end.instead) > _LONGEST_REMEDY:
        return None
    if end.failed in ("", _NO_FILE_TO_READ):
        return None
    call = tried[0]
    if any(
        helping_call.words == call.words and place(helping_call, root) == place(call, root)
        for helping_call in helped
    ):
        return (
            None  # the same call worked once something else was done: it depends on the day, not on the call
        )
    for failure in (failing(call, end.failed), Failing("whole", "", tuple(call.words[1:]))):
        moment = _moment(end, call, failure, root, _stand_in(failure, helped))
        if not any(_is(moment, helping_call, root) for helping_call in helped):
            return moment if moment.rule != "whole" or not _SCRATCH.search(end.instead) else None
    return None


def _stand_in(found: Failing, helped: Sequence[Call]) -> str:
    """The correct path of a file that was not found; the rest of the call does not matter."""
    name = found.token.replace("\\", "/").rpartition("/")[2] if found.rule == "path" else ""
    words = (word for call in helped for word in call.words) if name else iter(())
    return next((word for word in words if word.replace("\\", "/").endswith(f"/{name}")), "")


def _moment(end: DeadEnd, call: Call, found: Failing, root: str, stand_in: str) -> Moment:
    tried = found.token if stand_in else normal(end.tried) if call.directory else end.tried
    text = (
        f"`{short(tried, _TRIED)}` failed here before ({short(end.failed, _FAILED)}) → "
        f"`{stand_in or ' '.join(end.instead.split())}` worked [{_source(end)}]"
    )
    anywhere = found.rule in ("flag", "program")
    return Moment(
        tool=SHELL,
        key=call.words[0],
        rule=found.rule,
        token=found.token,
        needs=found.needs,
        place="" if anywhere else place(call, root),
        text=text,
        reason="",
        id=end.id,
    )


def place(call: Call, root: str) -> str:
    """The directory of a call relative to the project's root, where sessions are assumed to start."""
    return place_of(os.path.join(root, os.path.expanduser(call.directory)), root)


def _is(moment: Moment, call: Call, root: str) -> bool:
    row = {"rule": moment.rule, "token": moment.token, "needs": list(moment.needs), "place": moment.place}
    return call.words[0] == moment.key and fits(row, call, root, root)


def _works_now(moment: Moment, end: DeadEnd, worked: Sequence[Worked], root: str) -> bool:
    """Whether such a call succeeded after this one failed."""
    return end.at is not None and any(at > end.at and _is(moment, call, root) for at, call in worked)


def _known_by(moment: Moment) -> str:
    descriptions = {
        "flag": f"known by the option {moment.token}",
        "program": f"known by the program {moment.key}",
        "word": f"known by the word {moment.token}",
        "path": f"known by the file {moment.token}, which is still not there",
    }
    return descriptions.get(moment.rule, "known by its words")


def _source(end: DeadEnd) -> str:
    parts = [end.id, short_session(end.session), day_of(end.at)]
    return ", ".join(part for part in parts if part)


def _when(end: DeadEnd) -> str:
    return (
        f"last {day_of(end.at)} in session {end.session}"
        if end.session
        else f"last {day_of(end.at) or 'undated'}"
    )


def _answered(
    memory: ProjectMemory, records: Sequence[DistilledSession], names: Naming
) -> Iterator[tuple[float, Moment]]:
    """Answers in the files, and those of running sessions, which are written to the files only when they end."""
    seen: set[tuple[str, str]] = set()
    questions = [
        statement_of(question, names.of_session(record))
        for record in records
        for question in record.harvest.questions
    ]
    for statement in (*memory.register("answer"), *questions):
        skip = statement.id in memory.dismissed or (statement.id, statement.project) in seen
        if statement.text and not skip and not is_passing(statement):
            yield statement.at or 0.0, answer(statement)
        # Open questions count too: an older answer must not apply to a question that a person asked again.
        seen.add((statement.id, statement.project))


def answer(said: Statement) -> Moment:
    day = day_of(said.at)
    who = ", ".join(filter(None, (f"by {said.who}" if said.who else "", day)))
    text = f"Answered before: {short(said.subject, _ASKED)} → {short(said.text, _ANSWER)}"
    return Moment(
        tool=ASK,
        key=folded(said.subject),
        rule="question",
        token=said.text,
        needs=(said.subject,),
        project=said.project,
        text=f"{text}{f' ({who})' if who else ''} [{said.id}]",
        reason=f"the same question was answered{f' {day}' if day else ''}",
        id=said.id,
    )
