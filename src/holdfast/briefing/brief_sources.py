"""Gathers what a brief may say about a subject, by section, each line with its source and how well it fits.

Passages are judged by their own words and meaning; one that says little by itself counts if its session is about the
subject. Commits and documents are found by the scorer of the prompt hook, and quoted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from holdfast.briefing.asked import ABOUT, asking, is_about
from holdfast.briefing.brief_lines import BriefLine, Gathered
from holdfast.briefing.brief_passages import add_passages, set_aside_replaced
from holdfast.briefing.chunks import lessons_told
from holdfast.briefing.search import search
from holdfast.core.patterns import lazy_regex
from holdfast.core.tokens import count_tokens, cut_to
from holdfast.core.words import words
from holdfast.hooks.telling import Found
from holdfast.memory.decisions import is_passage
from holdfast.memory.merge import is_passing
from holdfast.memory.read import ProjectMemory
from holdfast.model.search import Hit
from holdfast.model.statement import Statement, decoded, text_of
from holdfast.search import FLOOR
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST_HITS = 300
MOST_OTHERS = 12  # hits of each other kind
MOST_SOURCES = 12  # commits and documents
_FAR_BEHIND = 3.0  # of log-odds: a commit that is so much less likely than the best one is left out
_TITLE_TOKENS = 24
_COVERED = 0.3  # share of the subject's words, by weight, that a hit must have
_NEAR_IN_MEANING = 0.6  # cosine from which on a hit needs none of them
_QUOTED_TOKENS = 70  # of one commit or document
_STEP = lazy_regex(r"\A(?:Next|To do): ")


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
                found.add("superseded" if line.status == "superseded" else "repository", line)

    def look(most: int, kinds: Collection[str], floor: float = 0.0) -> list[Hit]:
        hits = search(machine, project, subject, most, kinds, name=name, floor=floor)
        return [hit for hit in hits if _covers(hit, weights)]

    hits = look(MOST_HITS, ("decision",))
    strong = [hit for hit in hits if not hit.grounds.weak]
    sure = any(source.evidence["close share"] >= ABOUT for source in about)
    found.weak = not sure and not any(_says_enough(hit, subject) for hit in strong)
    by_session = {str(source.id): source for source in about}
    add_passages(found, machine, project, memory, {hit.id: hit for hit in hits}, by_session)
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
    set_aside_replaced(found, project, memory)
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
            "SELECT position, text, words, worth, status FROM line WHERE source = ? ORDER BY position",
            (source.number,),
        ).fetchall()
        holding = [row for row in rows if row[4] == "agreed"]
        status = "agreed" if holding or not rows else rows[0][4]
        if status == "proposed":
            continue
        title, id = " ".join(str(source.title).split()), str(source.id)
        chosen = _best_rows(weights, holding or rows, title)
        text = f"{title}: {'; '.join(chosen)}" if chosen else title
        is_commit = source.kind == "commit"
        yield BriefLine(
            text=text,
            kind=str(source.kind),
            status=status,
            by=str(source.who),
            at=source.at if isinstance(source.at, float) else None,
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
