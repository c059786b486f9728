"""Chooses the passages of sessions for a brief, and sets aside what a later session on the same subject replaced.

A passage is judged by its own words and meaning; one that says little by itself counts if it goes on with the words of
one that fits, or if its session is what the prompt hook would tell of.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from holdfast.briefing.brief_lines import BriefLine, Gathered
from holdfast.briefing.index import PLACE
from holdfast.briefing.replaced import later_sessions, replaced_passages
from holdfast.briefing.told_index import weight_of
from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import words
from holdfast.memory.decisions import SessionPassages, passage_statement
from holdfast.memory.merge import is_passing
from holdfast.memory.read import ProjectMemory
from holdfast.model.memory import Passage
from holdfast.model.search import Hit
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of

# Percent, of a passage that does not fit by itself, and of one in a session that the prompt hook would tell of.
_LEAST_WORTH, _LEAST_LIKELY_WORTH = 45, 35
# Weight of shared words, and their share of its own, by which one passage goes on with another.
_SHARED_WEIGHT, _SHARED = 14.0, 0.25
_STEPS = 2  # from a passage that fits by itself to one that goes on with it
_LIKELY = 0.3  # score of a passage in a session that is certainly meant
_BY_PERSON = 1.15  # what a person said is worth more
_PASSING = 0.6  # what reads like a report of the moment is worth less
_NEAR = 2  # passages between a decision and the way that was turned down for it
_STEP_DAYS = 30  # after which a session's next step is history
_BRANCH_DAYS = 14  # after which what was settled on a branch counts everywhere
_DAY = 86_400.0
_FOUND = ("cause", "measurement", "answer")  # kinds of passages that say how things are, if an agent said it
_REPLACEABLE = ("decisions", "findings")
_NUMBER = lazy_regex(r"\d+")


def add_passages(
    found: Gathered,
    machine: Machine,
    project: Project,
    memory: ProjectMemory,
    hits: dict[str, Hit],
    likely: dict[str, float],
) -> None:
    sections = sorted(memory.passages(), key=lambda item: -(item[1].at or 0.0))
    newest = max((section.at or 0.0 for _, section in sections), default=0.0)
    branch, now = branch_of(project.root), machine.now().timestamp()
    seen: set[str] = set()
    for name, section in sections:
        is_settled = (section.at or 0.0) + _BRANCH_DAYS * _DAY <= now or section.branch in ("", branch)
        for position, passage, score in _that_fit(section, hits, likely.get(section.session, 0.0)):
            part = _part(passage)
            is_old_step = part == "next_steps" and (section.at or 0.0) < newest - _STEP_DAYS * _DAY
            if passage.id in seen or is_old_step:
                continue
            seen.add(passage.id)
            if is_passing(passage_statement(passage, section)):
                score *= _PASSING
            line = replace(_line(passage, section, score), branch="" if is_settled else section.branch)
            hit = hits.get(passage.id)
            path = f"{PLACE}/projects/{name}/{passage_statement(passage, section).source}"
            place = {"path": hit.path, "line": hit.line} if hit else {"path": path}
            found.add(part, replace(line, position=position, **place))


def _that_fit(
    section: SessionPassages, hits: dict[str, Hit], chance: float
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
    for place, passage in enumerate(section.passages if chance else ()):
        if passage.worth >= _LEAST_LIKELY_WORTH:
            scores[place] = max(scores.get(place, 0.0), _LIKELY * chance)
    for place, passage in enumerate(section.passages):
        score = scores.get(place, 0.0)
        if not score and passage.status == "rejected":
            near = (
                seed for seed in scores if abs(seed - place) <= _NEAR and len(said[seed] & said[place]) > 1
            )
            score = max((scores[seed] / 2 for seed in near), default=0.0)
        if score:
            yield place, passage, score


def _words(text: str) -> frozenset[str]:
    return frozenset((*words(text, ENGLISH), *_NUMBER.findall(text)))


def _overlap(said: frozenset[str], seed: frozenset[str]) -> float:
    """The share of a passage's words, by weight, that another one has; 0 if they are few."""
    shared = sum(map(weight_of, said & seed))
    share = shared / (sum(map(weight_of, said)) or 1.0)
    return share if shared >= _SHARED_WEIGHT and share >= _SHARED else 0.0


def _part(passage: Passage) -> str:
    if passage.status == "superseded":
        return "superseded"
    if passage.status == "proposed":
        return "unconfirmed"
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
        status=passage.status,
        id=passage.id,
        by=section.author or passage.by,
        at=section.at,
        session=section.session,
        title=section.title,
        score=score * (0.4 + passage.worth / 100) * (_BY_PERSON if passage.by == "user" else 1.0),
    )


# --- replaced --------------------------------------------------------------------------------------------


def set_aside_replaced(found: Gathered, project: Project, memory: ProjectMemory) -> None:
    """Moves what a later session on the same subject replaced to what no longer holds, and names such sessions."""
    sessions = {line.session for part in _REPLACEABLE for line in found.lines.get(part, ()) if line.session}
    replaced = replaced_passages(project, memory, sessions)
    for part in _REPLACEABLE:
        lines = found.lines.get(part, [])
        for line in lines[:]:
            later = replaced.get(line.id)
            if later is not None and line.status == "agreed":
                lines.remove(line)
                gone = replace(line, status="superseded", until=later.at, replaced_by=later.session)
                found.add("superseded", gone)
    times = {section.session: section.at or 0.0 for _, section in memory.passages()}
    for session, others in later_sessions(project).items() if sessions else ():
        latest = max(others, key=lambda other: times.get(other, 0.0))
        for lines in found.lines.values():
            lines[:] = [replace(line, later=latest) if line.session == session else line for line in lines]
