"""Runs memory through the past of a project: each session is asked of a memory that knows only what had ended before.

Everything is written to a scratch folder that is deleted afterwards; the repository and the user's own memory are only
read. The last report is kept beside other caches, and shown again as long as nothing has changed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from holdfast import __version__
from holdfast.backtest.judging import Judge, Judged, Replaced, ids_in
from holdfast.backtest.known import Known, Need
from holdfast.backtest.past import Past
from holdfast.backtest.reading import PastSession, Sessions, read_sessions, transcripts_of
from holdfast.backtest.report import (
    BacktestReport,
    Tally,
    TestedLine,
    TestedNeed,
    TestedSession,
    stretches_of,
    tally_of,
)
from holdfast.backtest.rival import recency
from holdfast.backtest.scratch import scratch_folder
from holdfast.backtest.telling import Teller, ToldLine
from holdfast.backtest.walk import Walk
from holdfast.briefing.replaced import replaced_passages
from holdfast.core import fence
from holdfast.core.errors import NotFound
from holdfast.core.open_files import opened_once
from holdfast.core.place import find_checkout
from holdfast.core.reuse import Reuse, reusing
from holdfast.core.tokens import count_tokens
from holdfast.demo.run import SESSIONS as DEMO
from holdfast.flows.find_transcripts import TranscriptSearch, importers_for, search_paths
from holdfast.flows.import_sessions import collector_paused
from holdfast.memory.read import ProjectMemory
from holdfast.model.events import Usage
from holdfast.sessions.cost import price_of
from holdfast.store.machine import Machine
from holdfast.store.project import Project, find_project
from holdfast.store.switches import switches_of

Progress = Callable[[int, int, str], None]
FEWEST_OF_A_CONTROL = 3  # sessions
FENCE_TOKENS = count_tokens(fence.fenced("", "000000"))
_SEED = 7


class Control:
    """A memory of something else, asked the same."""

    def __init__(self, title: str, sessions: int, past: Past | None) -> None:
        self.title, self.sessions, self.past = title, sessions, past
        self.teller: Teller | None = None


def run(
    machine: Machine,
    project: Project,
    paths: Sequence[Path] = (),
    control: Path | None = None,
    progress: Progress | None = None,
    search: TranscriptSearch | None = None,
) -> BacktestReport:
    """The backtest of a project, from its agents' transcripts or the named ones.

    `control` is a checkout whose sessions make the control; without one it is another project of this machine that has
    about as many, or the bundled demonstration.
    """
    begun = time.monotonic()
    progress = progress or (lambda done, total, what: None)
    search = search or transcripts_of(machine, project, paths)
    if not search.sources:
        raise NotFound(
            "no recorded sessions were found for this directory",
            where=str(project.root),
            fix="Name transcripts: holdfast backtest PATH; holdfast agents shows where agents keep them",
        )
    with (
        scratch_folder() as scratch,
        opened_once(),
        collector_paused(),
        reusing() as reuse,
    ):
        return _Run(machine, project, scratch, progress, reuse).run(search, control, begun)


class _Run:
    def __init__(
        self, machine: Machine, project: Project, folder: Path, progress: Progress, reuse: Reuse
    ) -> None:
        self._reuse = reuse
        self.machine, self.project, self.folder, self.progress = machine, project, folder, progress
        self.shuffled = Tally()
        self.rival = Tally()
        self.control_tally = Tally()

    def run(self, search: TranscriptSearch, control: Path | None, begun: float) -> BacktestReport:
        own = self.folder / "own"
        root = own / self.project.title
        sessions = read_sessions(self.machine, self.project, search, own, root, self._reading)
        if not sessions.dated:
            raise NotFound(
                "these transcripts contain no session with a date and a tool call",
                where=str(self.project.root),
                fix="Name others: holdfast backtest PATH",
            )
        real = self.project.root if find_checkout(str(self.project.root)) else None
        past = Past(
            own, self.project.title, real, self.machine.env, sessions.dated[0].started - 1.0, self._reuse
        )
        other = self._control(control, len(sessions.dated))
        try:
            tested = self._replay(sessions, past, other)
            return self._report(sessions, tested, past, other, begun)
        finally:
            past.close()
            if other.teller is not None:
                other.teller.close()
            if other.past is not None:
                other.past.close()

    def _reading(self, done: int, total: int, name: str) -> None:
        self.progress(done, total, "reading transcripts")

    # --- one session after the other ---------------------------------------------------------------------

    def _replay(self, sessions: Sessions, past: Past, other: Control) -> list[_Asked]:
        ended = sorted(sessions.dated, key=lambda one: (one.ended, one.record.session))
        known, learned = Known(past.project.root), 0
        asked: list[_Asked] = []
        for number, one in enumerate(sessions.dated):
            self.progress(number, len(sessions.dated), "asking memory")
            new = []
            # Not one that ended at this very moment: without times of its own a session may end when it begins.
            while learned < len(ended) and ended[learned].ended < one.started:
                new.append(ended[learned])
                learned += 1
            past.learn([(each.record, each.cursors) for each in new], one.started)
            for each in new:
                known.add(each.record)
            lines = self._told(past, one) if known.sessions else []
            first = next((at for at, step in enumerate(one.walk.steps) if step.did == "prompt"), 0)
            needs = known.needs(one.walk, one.record)
            asked.append(
                _Asked(
                    one, known.sessions, lines, needs, self._told_by(other, one), recency(known, first), first
                )
            )
        rest = [(each.record, each.cursors) for each in ended[learned:]]
        if rest:
            past.learn(rest, max(one.ended for one in sessions.dated))
        self.progress(len(sessions.dated), len(sessions.dated), "asking memory")
        return asked

    def _told(self, past: Past, one: PastSession) -> list[ToldLine]:
        place = past.prepare(one.started, one.record.branch or one.walk.branch)
        teller = Teller(past, place)
        try:
            return teller.told(one.walk, one.record.session, one.started)
        finally:
            teller.close()

    def _told_by(self, other: Control, one: PastSession) -> list[ToldLine]:
        if other.past is None:
            return []
        if other.teller is None:
            other.teller = Teller(other.past, other.past.prepare(other.past.at, ""))
        return other.teller.told(one.walk, one.record.session, one.started)

    # --- the control -------------------------------------------------------------------------------------

    def _control(self, named: Path | None, wanted: int) -> Control:
        folder = self.folder / "control"
        title, project, search = self._control_sessions(named, wanted)
        sessions = read_sessions(
            self.machine, project or self.project, search, folder, folder / "control", self._reading
        )
        if not sessions.dated:
            return Control(title, 0, None)
        last = max(one.ended for one in sessions.dated)
        real = project.root if project is not None and find_checkout(str(project.root)) else None
        past = Past(folder, "control", real, self.machine.env, last, self._reuse)
        latest = sessions.dated[-wanted:]
        past.learn([(one.record, one.cursors) for one in latest], last)
        return Control(title, len(latest), past)

    def _control_sessions(
        self, named: Path | None, wanted: int
    ) -> tuple[str, Project | None, TranscriptSearch]:
        """Those of the named place, else of the enabled project that has about as many, else of the demonstration."""
        if named is not None:
            project = find_project(named, self.machine.home)
            search = transcripts_of(self.machine, project) if named.is_dir() else TranscriptSearch()
            if search.sources:
                return project.title, project, search
            return named.stem, None, search_paths([named], importers_for(None))
        found = [(project, transcripts_of(self.machine, project)) for project in self._others()]
        large = [pair for pair in found if len(pair[1].sources) >= FEWEST_OF_A_CONTROL]
        if not large:
            return "the bundled demonstration", None, search_paths([DEMO], importers_for(None))
        project, search = min(large, key=lambda pair: abs(len(pair[1].sources) - wanted))
        return project.title, project, search

    def _others(self) -> Iterable[Project]:
        """The other projects that are enabled on this machine: of others nothing is read."""
        for recorded in sorted((self.machine.home / "projects").glob("*/root")):
            root = Path(recorded.read_text(encoding="utf-8", errors="replace").strip())
            if root.is_dir() and root != self.project.root:
                project = find_project(root, self.machine.home)
                if project.memory != self.project.memory and switches_of(project).enabled:
                    yield project

    # --- what came of it ---------------------------------------------------------------------------------

    def _report(
        self, sessions: Sessions, asked: list[_Asked], past: Past, other: Control, begun: float
    ) -> BacktestReport:
        replaced = self._replaced(asked, past)
        shuffled = _shuffled(asked)
        tested = []
        later = 0
        for number, one in enumerate(asked):
            self.progress(number, len(asked), "judging")
            record = one.past.record
            judge = Judge(one.past.walk, past.project.root, record.session, one.past.started, replaced)
            tested.append(self._tested(number, one, judge))
            later += sum(
                id in replaced
                and replaced[id].ended > one.past.started
                and replaced[id].session != record.session
                for line in one.lines
                for id in ids_in(line)
            )
            for tally, lines in (
                (self.control_tally, one.control),
                (self.rival, one.rival if one.known else []),
                (self.shuffled, shuffled.get(number, [])),
            ):
                _count(tally, judge, lines, one.needs)
        costs = [one.cost_usd for one in tested if one.tokens]
        prices = [cost for cost in costs if cost is not None]
        return BacktestReport(
            project=self.project.title,
            made=self.machine.now().timestamp(),
            version=__version__,
            sessions=len(tested),
            first=tested[0].started,
            last=tested[-1].started,
            undated=sessions.undated,
            memory=tally_of(tested),
            control=self.control_tally,
            control_of=other.title,
            control_sessions=other.sessions,
            shuffled=self.shuffled,
            rival=self.rival,
            cost_usd=round(sum(prices), 6) if prices else None,
            carried=sum(one.carried for one in tested),
            unpriced=len(costs) - len(prices),
            replaced_later=later,
            stretches=stretches_of(tested),
            tested=tuple(tested),
            seconds=round(time.monotonic() - begun, 1),
        )

    def _tested(self, number: int, one: _Asked, judge: Judge) -> TestedSession:
        judged = judge.judge(one.lines, one.needs)
        walk, record = one.past.walk, one.past.record
        carried = _carried(one)
        cost = price_of(walk.model, Usage(cache_read=carried), walk.provider, one.past.started)
        clean = self.machine.clean
        return TestedSession(
            session=record.session,
            number=number + 1,
            agent=record.agent,
            title=record.title,
            branch=record.branch,
            started=one.past.started,
            past=one.known,
            tokens=sum(line.tokens for line in one.lines),
            carried=carried,
            cost_usd=None if cost is None else float(cost),
            lines=tuple(_as_tested(each, walk) for each in judged),
            needs=tuple(
                TestedNeed(
                    kind=need.kind,
                    what=clean(need.what),
                    told=bool(judge.meeting(need, one.lines)),
                    calls=need.calls,
                    tokens=need.tokens,
                )
                for need in one.needs
            ),
        )

    def _replaced(self, asked: Sequence[_Asked], past: Past) -> dict[str, Replaced]:
        """Statements that a later session replaced, as the memory knows in the end."""
        told = {id for one in asked for line in one.lines for id in ids_in(line)}
        if not told:
            return {}
        ended = {one.past.record.session: one.past.ended for one in asked}
        memory = ProjectMemory(past.project)
        found = {
            id: Replaced(section.session, ended.get(section.session, section.at or 0.0))
            for id, section in replaced_passages(past.project, memory, set(ended)).items()
        }
        for _, reference in memory.references():
            for kept in reference.facts:
                for was in kept.was:
                    by = kept.fact.session
                    found[was.id] = Replaced(by, ended.get(by, kept.fact.at or 0.0))
        return found


class _Asked:
    """What each memory would have told one session."""

    def __init__(
        self,
        past: PastSession,
        known: int,
        lines: list[ToldLine],
        needs: list[Need],
        control: list[ToldLine],
        rival: list[ToldLine],
        first: int,
    ) -> None:
        self.past, self.known, self.lines, self.needs = past, known, lines, needs
        self.control, self.rival, self.first = control, rival, first


def _shuffled(asked: Sequence[_Asked]) -> dict[int, list[ToldLine]]:
    """Each session's lines given to another one, at its first prompt."""
    speaking = [number for number, one in enumerate(asked) if one.lines]
    if len(speaking) < 2:
        return {}
    order = list(speaking)
    random.Random(_SEED).shuffle(order)
    pairs = dict(zip(order, [*order[1:], order[0]], strict=True))
    return {
        number: [_placed(line, asked[number].first) for line in asked[pairs[number]].lines]
        for number in speaking
    }


def _placed(line: ToldLine, step: int) -> ToldLine:
    return replace(line, step=0 if line.when == "start" else step)


def _count(tally: Tally, judge: Judge, lines: Sequence[ToldLine], needs: Sequence[Need]) -> None:
    tally.add(judge.judge(lines, needs), sum(line.tokens for line in lines))
    for need in needs:
        tally.meet(need, bool(judge.meeting(need, lines)))


def _carried(one: _Asked) -> int:
    """Tokens that the model would have read again: those of each telling with its fence, for every later answer."""
    steps, answers = one.past.walk.steps, len(one.past.walk.requests)
    tellings: dict[tuple[str, int], int] = {}
    for line in one.lines:
        place = line.when, line.step
        tellings[place] = tellings.get(place, FENCE_TOKENS) + line.tokens
    carried = 0
    for (_, step), tokens in tellings.items():
        request = steps[step].request if step < len(steps) else answers
        carried += tokens * max(answers - request, 0)
    return carried


def _as_tested(one: Judged, walk: Walk) -> TestedLine:
    prompts = sum(step.did == "prompt" for step in walk.steps[: one.line.step + 1])
    return TestedLine(
        text=one.line.text,
        when=one.line.when,
        kind=one.kind,
        tokens=one.line.tokens,
        verdict=one.verdict,
        why=one.why,
        reason=one.line.reason,
        path=one.line.path,
        prompt=0 if one.line.when == "start" else prompts,
        met=one.met,
    )
