"""What hooks say at the moment of a tool call: remedies of known stumbles, answers to answered questions.

All that takes thought is done here: what made a command fail, whether it has worked since, how the line reads. The
hook only looks calls up.
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

# How many words after the program say what it is to do. The others have two: `gh pr diff`, `npm run lint`.
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
    """`rule` is how the call is known again (`hooks/moment.py`), by `token` after the words `needs`."""

    rule: str
    token: str = ""
    needs: tuple[str, ...] = ()


def failing(call: Call, said: str) -> Failing:
    """What failed. Where that is not clear, only the same words again are the same call."""
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
    """The words that say what a program is to do: `pr diff` of `gh pr diff 104 --stat`."""
    if rest[:1] == ["-m"]:
        return tuple(rest[:2])
    if program in _NO_SUBCOMMAND:
        return ()
    most = (
        1
        if program in _ONE_SUBCOMMAND and not (program == "git" and rest[:1] and rest[0] in _TWO_OF_GIT)
        else 2
    )
    found = []
    for word in rest[:most]:
        if not _SUBCOMMAND.fullmatch(word):
            break
        found.append(word)
    return tuple(found)


def _named(words: list[str], said: str) -> str:
    """The word of a call that its complaint names: of several the first after the complaint, else the last before."""
    places = [(at, word) for word in _pieces(words) if (at := _position(word, said)) >= 0]
    if not places:
        letter = match["letter"] if (match := _SHORT.search(said)) else ""
        short = [
            word for word in words if letter and word.startswith("-") and word[1:2] != "-" and letter in word
        ]
        return short[0] if len(short) == 1 else ""
    flags = [place for place in places if place[1].startswith("-")]
    if flags:  # a complaint that names an option is about the option
        places = flags
    complaint = _FLAG.search(said) or _MISSING.search(said) or _NO_FILE.search(said)
    start = complaint.start() if complaint else 0
    after = [place for place in places if place[0] >= start]
    return min(after)[1] if after else max(places)[1]


def _pieces(words: Iterable[str]) -> set[str]:
    """Words, and the parts of lists: `--json title,labels` names two fields."""
    every = set(words)
    lists = [word for word in every if "," in word]
    return {word for word in every.union(*(word.split(",") for word in lists)) if len(word) > 1}


def _position(word: str, said: str) -> int:
    """Where a text names a word, standing by itself; -1 when it does not."""
    match = re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-]|\.\w)", said)
    if match is None and word.startswith("--"):  # git names options without their dashes
        match = re.search(rf"['\"`‘]{re.escape(word[2:])}['\"`’]", said)
    return match.start() if match else -1


SESSIONS = 500  # in which stumbles are looked for
MOST = 1_000
_TRIED, _FAILED, _ASKED, _ANSWER = 120, 80, 120, 160
_NO_FILE_TO_READ = "no such file"  # what was tried is a path that was read, and no command
_PLAIN = lazy_regex(r"[A-Za-z0-9_.-]+")  # neither JSON nor a shell writes these in another way
_THEN = ", then "  # between the two calls of a remedy that takes two
_GAP = lazy_regex(r"<[a-z]+>|…")
_SCRATCH = lazy_regex(r"(?:^|[\s=\"'])(?:/tmp/|/var/folders/|/private/tmp/)|\bmktemp\b|\$TMPDIR")
_LONGEST_REMEDY = 200  # a remedy that is cut cannot be run


class Moment(Struct, frozen=True, kw_only=True):
    """One line for calls of `tool` that `key` finds and `rule` then recognises; docs/hot-path.md has the rules.

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
"""When a call came to a good end."""


def moments_of(
    project: Project,
    memory: ProjectMemory,
    records: Sequence[DistilledSession],
    names: Naming,
    rules: Sequence[Rule] = (),
) -> tuple[Moment, ...]:
    """The newest first; then `rules` of lessons, where no session's own stumble says the same."""
    answers = sorted(_answered(memory, records, names), key=lambda pair: -pair[0])
    remedies = list(
        _remedies(_dead_ends(project, memory), _worked(memory, records), memory.dismissed, project)
    )
    known = {_same(moment) for moment in remedies}
    learned = [one for one in _of_lessons(rules, str(project.root)) if _same(one) not in known]
    return (*(moment for _, moment in answers[:MOST]), *remedies[:MOST], *learned[:MOST])


def words_of(moments: Iterable[Moment]) -> bytes:
    """For `hooks/prefilter.py`: of each command a piece that its call must hold as it is written, whatever its form."""
    pieces = set()
    for one in moments:
        if one.tool == SHELL:
            texts = [one.token] if one.token else [one.key, *(one.needs if one.rule == "whole" else ())]
            runs = [run for text in texts for run in _PLAIN.findall(text)]
            pieces.add(max(runs, key=len, default=""))
    return "\n".join(f"={piece}" for piece in sorted(pieces)).encode()


def _dead_ends(project: Project, memory: ProjectMemory) -> list[DeadEnd]:
    """Those of the latest sessions, those in the files, where a person may have written some; the newest first."""
    nothing: list[tuple[str, DeadEnd]] = []
    captured = CaptureStore.glimpse(project.capture, lambda capture: capture.dead_ends(SESSIONS), nothing)
    found = [replace(end, session=session) for session, end in captured]
    found += [
        replace(end, session=entry.session, at=entry.at if end.at is None else end.at)
        for _, entry in memory.entries()
        for end in entry.dead_ends
    ]
    found += [
        DeadEnd(tried=one.tried, failed=one.failed, instead=one.instead, at=one.at)
        for one in memory.current.stumbles
        # Too long to be told whole there; or a rule of a lesson, in whole words and no command.
        if not one.tried.endswith("…")
        and not one.instead.endswith("…")
        and (one.instead or "`" not in one.tried)
    ]
    return sorted(found, key=lambda end: -(end.at or 0.0))


def _worked(memory: ProjectMemory, records: Sequence[DistilledSession]) -> list[Worked]:
    """Commands that are known to have worked: those of facts, checks that passed, what helped where another failed."""
    facts = [fact for record in records for fact in record.harvest.facts]
    ends = [end for record in records for end in record.harvest.dead_ends]
    said = [(fact.command, fact.verified_at or fact.at) for fact in facts]
    said += [
        (one.evidence[0].command, one.at) for one in memory.statements("fact") if one.status != "retired"
    ]
    said += [(end.instead.replace(_THEN, " ; "), end.at) for end in ends]
    # When in its session a check passed is not kept: it counts from the session's start.
    said += [(command, record.started) for record in records for _, command in record.verified]
    return [(at, call) for text, at in said if text and at is not None for call in calls(text)]


def _remedies(
    dead_ends: Sequence[DeadEnd], worked: Sequence[Worked], dismissed: set[str], project: Project
) -> Iterator[Moment]:
    sessions: dict[object, set[str]] = {}
    made: list[tuple[object, DeadEnd, Moment]] = []
    unwanted: set[object] = set()
    root = str(project.root)
    for end in dead_ends:
        moment = remedy(end, root)
        if moment is None:
            continue
        same = _same(moment)
        if ids_of(end) & dismissed:
            unwanted.add(same)  # a dismissed stumble stays away for other numbers too
        if same not in sessions:
            made.append((same, end, moment))
        sessions.setdefault(same, set()).update([end.session] if end.session else [])
    for known, end, moment in made:
        if known not in unwanted and not _works_now(moment, end, worked, root):
            times = len(sessions[known])
            often = "once" if times < 2 else f"in {times} sessions"
            yield replace(moment, reason=f"failed {often}, {_known_by(moment)}; {_when(end)}")


def _same(moment: Moment) -> tuple[object, ...]:
    """By what two stumbles are one."""
    return moment.key, moment.rule, moment.token, moment.needs, moment.place


def _of_lessons(rules: Iterable[Rule], root: str) -> Iterator[Moment]:
    """Lessons that name a failing call and what works; one whose call has gaps is known by what stands in them only."""
    for rule in rules:
        if (call := failing_call(rule.text)) is None:
            continue
        tried, failed, instead = call
        moment = remedy(DeadEnd(tried=_GAP.sub("x", tried), failed=failed, instead=instead), root)
        whole = _GAP.search(tried) is None
        if moment is not None and (whole or moment.rule in ("flag", "program")):
            reason = f"{reason_of(rule)}, {_known_by(moment)}"
            yield replace(moment, text=f"{rule.text} [{rule.lesson.id}]", reason=reason, id=rule.lesson.id)


def remedy(end: DeadEnd, root: str) -> Moment | None:
    """How a stumble is known again and what is said then; None where no remedy can be told of it."""
    tried, helped = calls(end.tried), calls(end.instead.replace(_THEN, " ; "))
    if len(tried) != 1 or not helped or len(end.instead) > _LONGEST_REMEDY:
        return None
    if end.failed in ("", _NO_FILE_TO_READ):
        return None
    call = tried[0]
    if any(one.words == call.words and place(one, root) == place(call, root) for one in helped):
        return (
            None  # the same call worked once something else was done: it depends on the day, not on the call
        )
    for found in (failing(call, end.failed), Failing("whole", "", tuple(call.words[1:]))):
        moment = _moment(end, call, found, root, _stand_in(found, helped))
        if not any(_is(moment, one, root) for one in helped):
            return moment if moment.rule != "whole" or not _SCRATCH.search(end.instead) else None
    return None


def _stand_in(found: Failing, helped: Sequence[Call]) -> str:
    """Where the file was that was not found where it was looked for: the rest of the call is of the day."""
    name = found.token.replace("\\", "/").rpartition("/")[2] if found.rule == "path" else ""
    words = (word for one in helped for word in one.words) if name else iter(())
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
    """Where a call ran, from the project's root; a session is taken to have begun there."""
    return place_of(os.path.join(root, os.path.expanduser(call.directory)), root)


def _is(moment: Moment, call: Call, root: str) -> bool:
    row = {"rule": moment.rule, "token": moment.token, "needs": list(moment.needs), "place": moment.place}
    return call.words[0] == moment.key and fits(row, call, root, root)


def _works_now(moment: Moment, end: DeadEnd, worked: Sequence[Worked], root: str) -> bool:
    """Whether such a call came to a good end after this one failed."""
    return end.at is not None and any(at > end.at and _is(moment, call, root) for at, call in worked)


def _known_by(moment: Moment) -> str:
    known = {
        "flag": f"known by the option {moment.token}",
        "program": f"known by the program {moment.key}",
        "word": f"known by the word {moment.token}",
        "path": f"known by the file {moment.token}, which is still not there",
    }
    return known.get(moment.rule, "known by its words")


def _source(end: DeadEnd) -> str:
    parts = [end.id, end.session[:8], day_of(end.at)]
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
    """As the files have them; those of sessions that go on are written there only when they end."""
    seen: set[tuple[str, str]] = set()
    asked = [
        statement_of(one, names.of_session(record)) for record in records for one in record.harvest.questions
    ]
    for said in (*memory.statements("answer"), *asked):
        known = said.id in memory.dismissed or (said.id, said.project) in seen
        if said.text and not known and not is_passing(said):
            yield said.at or 0.0, answer(said)
        # Open questions count too: no older session answers what a person asked again.
        seen.add((said.id, said.project))


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
