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

from holdfast.briefing.asked import asking
from holdfast.briefing.brief_lines import BriefLine, Gathered
from holdfast.briefing.brief_passages import add_passages, set_aside_replaced
from holdfast.briefing.chunks import lessons_told
from holdfast.briefing.search import search
from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import ENGLISH
from holdfast.core.tokens import count_tokens, cut_to
from holdfast.core.words import words
from holdfast.hooks.telling import Found
from holdfast.ledger.rows import session_titles
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
# Cosine and share of the subject's weight of a hit with one of its several words; cosine of one that needs none.
_NEAR_WITH_ONE, _WEIGHT_OF_ONE, _NEAR = 0.42, 0.3, 0.6
_QUOTED_TOKENS, _LIKELY_TOKENS = (
    70,
    150,
)  # of one commit or document, and of one that the prompt hook would tell of
_STEP = lazy_regex(r"\A(?:Next|To do): ")


def gathered(machine: Machine, project: Project, subject: str, name: str = "") -> Gathered:
    """What is known of a subject; `name` is one of the repository's projects."""
    found = Gathered()
    if not project.memory.is_dir():
        return found
    memory = ProjectMemory(project, name)
    likely: dict[str, float] = {}
    weights = dict.fromkeys(words(subject, ENGLISH), 1.0)
    with asking(machine, project, subject) as asked:
        if asked:
            every, weights = asked.telling.found(), asked.telling.weights
            found.weak = not any(map(asked.is_about, every))
            likely = asked.likely(every)
            sources = [source for source in every if source.id in likely or asked.is_about(source)]
            # What a person decided by hand is found below, with the register.
            quotable = [source for source in sources if source.id.startswith(("git:", "doc:"))]
            for line in _quoted(asked.db, weights, quotable, likely):
                found.add("superseded" if line.status == "superseded" else "repository", line)

    def look(most: int, kinds: Collection[str], floor: float = 0.0) -> list[Hit]:
        hits = search(machine, project, subject, most, kinds, name=name, floor=floor)
        return [hit for hit in hits if len(weights) < 2 or _shares_enough(hit, weights)]

    hits = look(MOST_HITS, ("decision",))
    strong = [hit for hit in hits if not hit.grounds.weak]
    found.weak &= not any(
        len(weights) == 1 or len(hit.grounds.words) > 1 or hit.grounds.named for hit in strong
    )
    add_passages(found, machine, project, memory, {hit.id: hit for hit in hits}, likely)
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
    _add_titles(found, project, memory)
    return found


def _add_titles(found: Gathered, project: Project, memory: ProjectMemory) -> None:
    """Names the sessions of all lines."""
    titles = {
        entry.session: cut_to(" ".join(entry.context.split()), _TITLE_TOKENS) for _, entry in memory.entries()
    }
    titles |= {section.session: section.title for _, section in memory.passages()}
    titles |= {session: title for session, title in session_titles(project, list(titles)).items() if title}
    for lines in found.lines.values():
        lines[:] = [
            replace(line, title=titles.get(line.session, "")) if line.session else line for line in lines
        ]


def _shares_enough(hit: Hit, weights: dict[str, float]) -> bool:
    """Whether a hit has two words of a subject of several, or the one that says most and is near in meaning."""
    near = float(hit.grounds.meaning or 0.0)
    shared = {stem for word in hit.grounds.words for stem in words(word, frozenset())}
    weight = sum(weight for word, weight in weights.items() if word in shared)
    says_most = near >= _NEAR_WITH_ONE and weight >= _WEIGHT_OF_ONE * sum(weights.values())
    return hit.grounds.named or len(hit.grounds.words) > 1 or says_most or near >= _NEAR


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


def _quoted(
    db: sqlite3.Connection, weights: dict[str, float], about: Sequence[Found], likely: Collection[str]
) -> Iterator[BriefLine]:
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
        room = _LIKELY_TOKENS if source.id in likely else _QUOTED_TOKENS
        chosen = _best_rows(weights, holding or rows, title, room)
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


def _best_rows(
    weights: dict[str, float], rows: Sequence[tuple[Any, ...]], title: str, room: int
) -> list[str]:
    """The passages that share most with the subject, in the order of the text."""

    def fit(row: tuple[Any, ...]) -> float:
        shared = sum(weights.get(word, 0.0) for word in set(str(row[2]).split(" ")))
        return shared + float(row[3])

    chosen: list[tuple[int, str]] = []
    room -= count_tokens(title)
    for row in sorted(rows, key=fit, reverse=True):
        text = " ".join(str(row[1]).split()).rstrip(".;,: ")
        if text.strip("…") and text != title.rstrip(".") and (cost := count_tokens(text) + 1) <= room:
            chosen.append((int(row[0]), text))
            room -= cost
    return [text for _, text in sorted(chosen)]


def _time(date: str) -> float | None:
    return datetime.fromisoformat(date).timestamp() if date else None
