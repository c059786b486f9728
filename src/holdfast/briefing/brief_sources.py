"""Gathers what a brief may say about a subject, by section, each line with its source and how well it fits.

Passages are judged by their own words and meaning; one that says little by itself counts if its session is about the
subject. Commits and documents are found by the scorer of the prompt hook, and quoted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.briefing.asked import ABOUT, asking, is_about
from holdfast.briefing.chunks import lessons_told
from holdfast.briefing.index import PLACE
from holdfast.briefing.search import search
from holdfast.briefing.told_index import weight_of
from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import ENGLISH
from holdfast.core.tokens import count_tokens, cut_to
from holdfast.core.words import words
from holdfast.hooks.telling import FLOOR as HOOK_FLOOR
from holdfast.hooks.telling import Found
from holdfast.memory.decisions import FOLDER, SessionPassages, is_passage, month_of, passage_statement
from holdfast.memory.merge import is_passing
from holdfast.memory.read import ProjectMemory
from holdfast.model.memory import Passage
from holdfast.model.search import Hit
from holdfast.model.statement import Statement, decoded, text_of
from holdfast.search import FLOOR
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of

MOST_HITS = 300
MOST_OTHERS = 12  # hits of each other kind
MOST_SOURCES = 12  # commits and documents
_FAR_BEHIND = 3.0  # of log-odds: a commit that is so much less likely than the best one is left out
_TITLE_TOKENS = 24
_COVERED = 0.3  # share of the subject's words, by weight, that a hit must have
_NEAR_IN_MEANING = 0.6  # cosine from which on a hit needs none of them
_LEAST_WORTH = 45  # percent, of a passage that counts for its session
_SHARED_WEIGHT, _SHARED = (
    14.0,
    0.25,
)  # weight of shared words, and share of it, by which one passage goes on with another
_STEPS = 2  # from a passage that fits by itself to one that goes on with it
_LIKELY = 0.3  # score of a passage in a session that is certainly meant
_BY_PERSON = 1.15  # what a person said is worth more
_NEAR = 2  # passages between a decision and the way that was turned down for it
_QUOTED_TOKENS = 70  # of one commit or document
_STEP_DAYS = 30  # after which a session's next step is history
_BRANCH_DAYS = 14  # after which what was settled on a branch counts everywhere
_DAY = 86_400.0
_FOUND = ("cause", "measurement", "answer")  # kinds of passages that say how things are, if an agent said it
_NUMBER = lazy_regex(r"\d+")
_STEP = lazy_regex(r"\A(?:Next|To do): ")


class BriefLine(Struct, frozen=True, kw_only=True):
    """One thing that is known, with its source: a session or a commit, a date, an id, a place in a file.

    `title` is what its session was about, `branch` where it was settled if it does not count everywhere yet.
    """

    text: str
    kind: str
    status: str = "agreed"
    id: str = ""
    by: str = ""
    reason: str = ""
    evidence: str = ""
    at: float | None = None
    until: float | None = None
    session: str = ""
    title: str = ""
    branch: str = ""
    commit: str = ""
    path: str = ""
    line: int = 0
    position: int = 0  # within its session
    score: float = 0.0

    def as_json(self) -> dict[str, Any]:
        names = (
            "id",
            "kind",
            "status",
            "text",
            "reason",
            "evidence",
            "by",
            "session",
            "title",
            "branch",
            "commit",
        )
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        places = {"path": self.path, "line": self.line, "score": round(self.score, 4)}
        return {**values, "date": _iso(self.at), "until": _iso(self.until), **places}


class Gathered(Struct):
    """The candidates of each section. `weak`: nothing is clearly about the subject."""

    lines: dict[str, list[BriefLine]] = field(default_factory=dict)
    weak: bool = True

    def add(self, section: str, line: BriefLine) -> None:
        self.lines.setdefault(section, []).append(line)


def gathered(machine: Machine, project: Project, subject: str, name: str = "") -> Gathered:
    """What is known of a subject; `name` is one of the repository's projects."""
    found = Gathered()
    if not project.memory.is_dir():
        return found
    memory = ProjectMemory(project, name)
    about: list[Found] = []
    weights: dict[str, float] = {}
    with asking(machine, project, subject) as asked:
        if asked:
            about = [source for source in asked.telling.found() if is_about(source)]
            weights = asked.telling.weights
            for line in _quoted(asked.db, weights, about):
                found.add("superseded" if line.until is not None else "repository", line)

    def look(most: int, kinds: Collection[str], floor: float = 0.0) -> list[Hit]:
        hits = search(machine, project, subject, most, kinds, name=name, floor=floor)
        return [hit for hit in hits if _covers(hit, weights)]

    hits = look(MOST_HITS, ("decision",))
    strong = [hit for hit in hits if not hit.grounds.weak]
    sure = any(source.evidence["close share"] >= ABOUT for source in about)
    found.weak = not sure and not any(_says_enough(hit, subject) for hit in strong)
    by_session = {str(source.id): source for source in about}
    _add_passages(found, machine, project, memory, {hit.id: hit for hit in hits}, by_session)
    for hit in (hit for hit in strong if not _of_passage(hit)):
        _add_register(found, hit)
    others = partial(look, MOST_OTHERS, floor=FLOOR)
    for hit in others(("fact",)):
        found.add("facts", _of_hit(hit))
    for hit in others(("question",)):
        _add_question(found, hit)
    for hit in others(("history", "state")):
        _add_history(found, hit, memory.dismissed)
    rules = others(("lesson",))
    told = lessons_told(machine, project) if rules else ()
    for hit in rules:
        if hit.id in told:
            found.add("rules", _of_hit(hit))
    _add_titles(found, memory)
    return found


def _add_titles(found: Gathered, memory: ProjectMemory) -> None:
    """Names the sessions of all lines."""
    titles = {
        entry.session: cut_to(" ".join(entry.context.split()), _TITLE_TOKENS) for _, entry in memory.entries()
    }
    titles |= {section.session: section.title for _, section in memory.passages()}
    for lines in found.lines.values():
        lines[:] = [
            replace(line, title=titles.get(line.session, "")) if line.session else line for line in lines
        ]


def _covers(hit: Hit, weights: dict[str, float]) -> bool:
    """Whether a hit shares enough of the subject, by the weight of its words, or is near to it in meaning."""
    if hit.grounds.named or not weights:
        return True
    shared = {stem for word in hit.grounds.words for stem in words(word, frozenset())}
    covered = sum(weight for word, weight in weights.items() if word in shared)
    near = float(hit.grounds.meaning or 0.0)
    return covered >= _COVERED * sum(weights.values()) or near >= _NEAR_IN_MEANING


def _says_enough(hit: Hit, subject: str) -> bool:
    """Whether a hit is more than one word in common with a subject of several."""
    return len(subject.split()) == 1 or len(hit.grounds.words) > 1 or hit.grounds.named


# --- passages of sessions --------------------------------------------------------------------------------


def _add_passages(
    found: Gathered,
    machine: Machine,
    project: Project,
    memory: ProjectMemory,
    hits: dict[str, Hit],
    about: dict[str, Found],
) -> None:
    sections = sorted(memory.passages(), key=lambda item: -(item[1].at or 0.0))
    newest = max((section.at or 0.0 for _, section in sections), default=0.0)
    branch, now = branch_of(project.root), machine.now().timestamp()
    seen: set[str] = set()
    for name, section in sections:
        is_settled = (section.at or 0.0) + _BRANCH_DAYS * _DAY <= now or section.branch in ("", branch)
        for position, passage, score in _that_fit(section, hits, about.get(section.session)):
            part = _part(passage)
            is_old_step = part == "next_steps" and (section.at or 0.0) < newest - _STEP_DAYS * _DAY
            if passage.id in seen or is_old_step or is_passing(passage_statement(passage, section)):
                continue
            seen.add(passage.id)
            line = replace(_line(passage, section, score), branch="" if is_settled else section.branch)
            hit = hits.get(passage.id)
            path = f"{PLACE}/projects/{name}/{FOLDER}/{month_of(section.at)}.md"
            place = {"path": hit.path, "line": hit.line} if hit else {"path": path}
            found.add(part, replace(line, position=position, **place))


def _that_fit(
    section: SessionPassages, hits: dict[str, Hit], source: Found | None
) -> Iterator[tuple[int, Passage, float]]:
    """The passages of a session about the subject, with place and score, and the ways turned down beside them.

    A passage fits by itself, or because it goes on with the words of one that does; all do in a session that the
    prompt hook would tell of.
    """
    said = [_words(passage.text) for passage in section.passages]
    scores: dict[int, float] = {}
    for place, passage in enumerate(section.passages):
        hit = hits.get(passage.id)
        if hit is not None and not hit.grounds.weak:
            scores[place] = hit.score
    for _ in range(_STEPS):
        further = {
            place: max(
                (score * _overlap(said[place], said[seed]) for seed, score in scores.items()), default=0.0
            )
            for place, passage in enumerate(section.passages)
            if place not in scores and passage.worth >= _LEAST_WORTH
        }
        scores |= {place: score for place, score in further.items() if score}
    if source is not None and source.chance >= HOOK_FLOOR:
        for place, passage in enumerate(section.passages):
            if passage.worth >= _LEAST_WORTH:
                scores[place] = max(scores.get(place, 0.0), _LIKELY * source.chance)
    for place, passage in enumerate(section.passages):
        score = scores.get(place, 0.0)
        if not score and passage.status == "rejected":
            near = (
                seed for seed in scores if abs(seed - place) <= _NEAR and len(said[seed] & said[place]) > 1
            )
            score = max((scores[seed] / 2 for seed in near), default=0.0)
        if score and passage.status != "proposed":
            yield place, passage, score


def _words(text: str) -> frozenset[str]:
    return frozenset((*words(text, ENGLISH), *_NUMBER.findall(text)))


def _overlap(said: frozenset[str], seed: frozenset[str]) -> float:
    """The share of a passage's words, by weight, that another one has; 0 if they are few."""
    shared = sum(map(weight_of, said & seed))
    share = shared / (sum(map(weight_of, said)) or 1.0)
    return share if shared >= _SHARED_WEIGHT and share >= _SHARED else 0.0


def _part(passage: Passage) -> str:
    if passage.until is not None or passage.status == "superseded":
        return "superseded"
    if passage.kind == "next_step":
        return "next_steps"
    if passage.kind == "dead_end" and passage.status != "rejected":
        return "dead_ends"
    return "findings" if passage.kind in _FOUND and passage.by != "user" else "decisions"


def _line(passage: Passage, section: SessionPassages, score: float) -> BriefLine:
    text = " ".join(passage.text.split())
    question = " ".join(passage.question.split())
    return BriefLine(
        text=f"{question} → {text}" if question else text,
        kind=passage.kind,
        status="superseded" if passage.until is not None else passage.status,
        id=passage.id,
        by=passage.by,
        at=section.at,
        until=passage.until,
        session=section.session,
        title=section.title,
        score=score * (0.4 + passage.worth / 100) * (_BY_PERSON if passage.by == "user" else 1.0),
    )


# --- the other files -------------------------------------------------------------------------------------


def _of_passage(hit: Hit) -> bool:
    said = decoded(hit.data)
    return isinstance(said, Statement) and is_passage(said)


def _of_hit(hit: Hit, text: str = "", kind: str = "") -> BriefLine:
    said = decoded(hit.data)
    statement = said if isinstance(said, Statement) else None
    reason = statement.reason if statement and statement.kind == "decision" else ""
    shown = text or (statement.text if statement and statement.kind in ("decision", "fact") else hit.text)
    evidence = ""
    if statement and statement.kind == "fact" and statement.evidence:
        shown_by = statement.evidence[0]
        command = "" if f"`{shown_by.command}`" in statement.text else f"`{cut_to(shown_by.command, 30)}` → "
        evidence = f"{command}{cut_to(shown_by.line, 30)}" if shown_by.command else cut_to(shown_by.line, 30)
    return BriefLine(
        text=" ".join(shown.split()),
        kind=kind or (statement.kind if statement else hit.kind),
        id=hit.id.removeprefix("lesson:") if hit.id[1:2] == "-" or hit.kind == "lesson" else "",
        by=statement.who if statement else "",
        reason=" ".join(reason.split()),
        evidence=" ".join(evidence.split()),
        at=_time(hit.date),
        session=hit.session,
        path=hit.path,
        line=hit.line,
        score=hit.score,
    )


def _add_register(found: Gathered, hit: Hit) -> None:
    said = decoded(hit.data)
    if isinstance(said, Statement) and not is_passing(said):
        found.add("decisions", _of_hit(hit))


def _add_question(found: Gathered, hit: Hit) -> None:
    said = decoded(hit.data)
    if not isinstance(said, Statement) or said.status == "retired" or is_passing(said):
        return
    if said.text:
        found.add("decisions", _of_hit(hit, text_of(said)))
    else:
        found.add("questions", _of_hit(hit, said.subject, "question"))


def _add_history(found: Gathered, hit: Hit, dismissed: Collection[str]) -> None:
    if hit.id in dismissed:
        return
    if hit.id.startswith("X-"):
        found.add("dead_ends", _of_hit(hit, kind="dead_end"))
    elif hit.id.startswith("N-"):
        found.add("findings", _of_hit(hit))
    elif hit.kind == "state" and (step := _STEP.match(hit.text)):
        found.add("next_steps", _of_hit(hit, hit.text[step.end() :], "next_step"))


# --- commits and documents -------------------------------------------------------------------------------


def _quoted(db: sqlite3.Connection, weights: dict[str, float], about: Sequence[Found]) -> Iterator[BriefLine]:
    """What commits and documents about the subject say, in their own words."""
    sources = [source for source in about if source.kind != "session"]
    best = max((source.odds for source in sources), default=0.0)
    for source in sources[:MOST_SOURCES]:
        if source.odds < best - _FAR_BEHIND:
            continue
        rows = db.execute(
            "SELECT position, text, words, worth, status, until FROM line WHERE source = ? ORDER BY position",
            (source.number,),
        ).fetchall()
        holding = [row for row in rows if row[4] == "agreed"]
        until = max((row[5] for row in rows if row[5] is not None), default=None) if not holding else None
        title, id = " ".join(str(source.title).split()), str(source.id)
        chosen = _best_rows(weights, holding or rows, title)
        text = f"{title}: {'; '.join(chosen)}" if chosen else title
        is_commit = source.kind == "commit"
        yield BriefLine(
            text=text,
            kind=str(source.kind),
            status="agreed" if holding or until is None else "superseded",
            by=str(source.who),
            at=source.at if isinstance(source.at, float) else None,
            until=until,
            commit=id.removeprefix("git:") if is_commit else "",
            path="" if is_commit else id.removeprefix("doc:"),
            score=source.chance,
        )


def _best_rows(weights: dict[str, float], rows: Sequence[tuple[Any, ...]], title: str) -> list[str]:
    """The passages that share most with the subject, in the order of the text."""

    def fit(row: tuple[Any, ...]) -> float:
        shared = sum(weights.get(word, 0.0) for word in set(str(row[2]).split(" ")))
        return shared + float(row[3])

    chosen: list[tuple[int, str]] = []
    room = _QUOTED_TOKENS - count_tokens(title)
    for row in sorted(rows, key=fit, reverse=True):
        text = " ".join(str(row[1]).split()).rstrip(".;,: ")
        if text.strip("…") and text != title.rstrip(".") and (cost := count_tokens(text) + 1) <= room:
            chosen.append((int(row[0]), text))
            room -= cost
    return [text for _, text in sorted(chosen)]


def _time(date: str) -> float | None:
    return datetime.fromisoformat(date).timestamp() if date else None


def _iso(at: float | None) -> str:
    if at is None:
        return ""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return ""
