"""What hooks say at the moment of a tool call: remedies of known stumbles, answers to answered questions.

All that takes thought is done here: what made a command fail, whether it has worked since, how the line reads. The
hook only looks calls up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from time import gmtime, strftime

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.failing import Failing, failing
from holdfast.app.lesson_lines import Rule, reason_of
from holdfast.app.meanwhile import Files, or_nothing, short
from holdfast.app.projects import Naming
from holdfast.distill.passing import is_passing_question
from holdfast.hot.moment import ASK, SHELL, fits, folded, place_of
from holdfast.hot.shell import Call, calls, normal
from holdfast.model.memory import DeadEnd, Question, ids_of
from holdfast.model.session import DistilledSession
from holdfast.store.capture import CaptureStore
from holdfast.store.layout import Project
from holdfast.store.memory import MemoryStore
from holdfast.text.reference_md import KeptFact

SESSIONS = 500  # in which stumbles are looked for
MOST = 1_000
_TRIED, _FAILED, _ASKED, _ANSWER = 120, 80, 120, 160
_NO_FILE_TO_READ = "no such file"  # what was tried is a path that was read, and no command
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")  # neither JSON nor a shell writes these in another way
_THEN = ", then "  # between the two calls of a remedy that takes two
_FAILS = re.compile(
    r"`([^`]+)` fails here(?: \((.*)\))? → `([^`]+)`"
)  # as distill/lesson_rules.py words them
_NOT_THERE = re.compile(r"`([^`\s]+)` is not found here → `([^`]+)`")
_GAP = re.compile(r"<[a-z]+>|…")
_SCRATCH = re.compile(r"(?:^|[\s=\"'])(?:/tmp/|/var/folders/|/private/tmp/)|\bmktemp\b|\$TMPDIR")
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
    files: Files,
    records: Sequence[DistilledSession],
    names: Naming,
    rules: Sequence[Rule] = (),
) -> tuple[Moment, ...]:
    """The newest first; then `rules` of lessons, where no session's own stumble says the same."""
    answers = sorted(_answered(files, records, names), key=lambda pair: -pair[0])
    remedies = list(_remedies(_dead_ends(project, files), _worked(files, records), files.dismissed, project))
    known = {_same(moment) for moment in remedies}
    learned = [one for one in _of_lessons(rules, str(project.root)) if _same(one) not in known]
    return (*(moment for _, moment in answers[:MOST]), *remedies[:MOST], *learned[:MOST])


def words_of(moments: Iterable[Moment]) -> bytes:
    """For `hot/glance.py`: of each command a piece that its call must hold as it is written, whatever its form."""
    pieces = set()
    for one in moments:
        if one.tool == SHELL:
            texts = [one.token] if one.token else [one.key, *(one.needs if one.rule == "whole" else ())]
            runs = [run for text in texts for run in _PLAIN.findall(text)]
            pieces.add(max(runs, key=len, default=""))
    return "\n".join(f"={piece}" for piece in sorted(pieces)).encode()


# --- stumbles ------------------------------------------------------------------------------------------


def _dead_ends(project: Project, files: Files) -> list[DeadEnd]:
    """Those of the latest sessions, those in the files, where a person may have written some; the newest first."""
    nothing: list[tuple[str, DeadEnd]] = []
    captured = CaptureStore.glimpse(project.capture, lambda capture: capture.dead_ends(SESSIONS), nothing)
    found = [replace(end, session=session) for session, end in captured]
    found += [
        replace(end, session=entry.session, at=entry.at if end.at is None else end.at)
        for store in files.stores
        for entry in or_nothing(store.latest)
        for end in entry.dead_ends
    ]
    found += [
        DeadEnd(tried=one.tried, failed=one.failed, instead=one.instead, at=one.at)
        for one in or_nothing(lambda: files.state().stumbles)
        # Too long to be told whole there; or a rule of a lesson, in whole words and no command.
        if not one.tried.endswith("…")
        and not one.instead.endswith("…")
        and (one.instead or "`" not in one.tried)
    ]
    return sorted(found, key=lambda end: -(end.at or 0.0))


def _worked(files: Files, records: Sequence[DistilledSession]) -> list[Worked]:
    """Commands that are known to have worked: those of facts, checks that passed, what helped where another failed."""
    facts = [fact for record in records for fact in record.harvest.facts]
    ends = [end for record in records for end in record.harvest.dead_ends]
    facts += [
        kept.fact
        for store in files.stores
        for kept in or_nothing(partial(_facts_in, store))
        if kept.retired_at is None
    ]
    said = [(fact.command, fact.verified_at or fact.at) for fact in facts]
    said += [(end.instead.replace(_THEN, " ; "), end.at) for end in ends]
    # When in its session a check passed is not kept: it counts from the session's start.
    said += [(command, record.started) for record in records for _, command in record.verified]
    return [(at, call) for text, at in said if text and at is not None for call in calls(text)]


def _facts_in(store: MemoryStore) -> Sequence[KeptFact]:
    return store.facts().reference.facts


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
            unwanted.add(same)  # whoever took it out does not want to hear it of another number either
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
        if match := _NOT_THERE.fullmatch(rule.text):
            tried, failed, instead = match[1], f"{match[1]}: command not found", match[2]
        elif match := _FAILS.fullmatch(rule.text):
            tried, failed, instead = match[1], match[2] or "it fails here", match[3]
        else:
            continue
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
    parts = [end.id, end.session[:8], _day(end.at)]
    return ", ".join(part for part in parts if part)


def _when(end: DeadEnd) -> str:
    return (
        f"last {_day(end.at)} in session {end.session}"
        if end.session
        else f"last {_day(end.at) or 'undated'}"
    )


def _day(at: float | None) -> str:
    try:
        return "" if at is None else strftime("%Y-%m-%d", gmtime(at))
    except (OverflowError, ValueError, OSError):
        return ""


# --- questions -----------------------------------------------------------------------------------------


def _answered(
    files: Files, records: Sequence[DistilledSession], names: Naming
) -> Iterator[tuple[float, Moment]]:
    """As the files have them; those of sessions that go on are written there only when they end."""
    there: set[tuple[str, str]] = set()
    kept = [(one, store.name) for store in files.stores for one in or_nothing(partial(_questions_in, store))]
    asked = [(one, names.of_session(record)) for record in records for one in record.harvest.questions]
    for question, name in (*kept, *asked):
        known = question.id in files.dismissed or (question.id, name) in there
        if question.answer and not known and not (question.session and is_passing_question(question.text)):
            at = question.answered_at if question.answered_at is not None else question.at
            yield at or 0.0, answer(question, name)
        there.add(
            (question.id, name)
        )  # also where it is open: what a person asked anew no older session answers


def _questions_in(store: MemoryStore) -> Sequence[Question]:
    return store.questions().questions


def answer(question: Question, project: str) -> Moment:
    at = question.answered_at if question.answered_at is not None else question.at
    who = ", ".join(part for part in (f"by {question.by}" if question.by else "", _day(at)) if part)
    text = f"Answered before: {short(question.text, _ASKED)} → {short(question.answer, _ANSWER)}"
    return Moment(
        tool=ASK,
        key=folded(question.text),
        rule="question",
        token=question.answer,
        needs=(question.text,),
        project=project,
        text=f"{text}{f' ({who})' if who else ''} [{question.id}]",
        reason=f"the same question was answered{f' {_day(at)}' if _day(at) else ''}",
        id=question.id,
    )
