"""Composes a brief: what is known of a subject, for a reader who is about to begin a large task.

Sections hold what was decided and turned down, what was found, verified facts, dead ends, open questions, next steps,
what commits and documents say, and what no longer holds: each with its source, the newest first, within a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.brief_lines import BriefLine
from holdfast.briefing.brief_sources import gathered
from holdfast.core.likeness import Likeness, Signature, compare_signatures, signature
from holdfast.core.session_id import short_session
from holdfast.core.tokens import count_tokens
from holdfast.memory.decisions import FOLDER
from holdfast.model.search import WEAK
from holdfast.store.machine import Machine
from holdfast.store.project import Project

BUDGET = 4000
LEAST_BUDGET = 100
# Name, title, and the share of the budget that a section has for sure. What is left goes to the sections in this order.
SECTIONS = (
    ("decisions", "Decisions", 0.4),
    ("findings", "Findings", 0.15),
    ("rules", "Rules", 0.05),
    ("facts", "Verified facts", 0.1),
    ("dead_ends", "Dead ends", 0.08),
    ("questions", "Open questions", 0.05),
    ("next_steps", "Next steps", 0.05),
    ("repository", "From commits and documents", 0.15),
    ("unconfirmed", "Said by an agent, not confirmed", 0.05),
    ("superseded", "No longer holds", 0.05),
)
_GROUPED = ("decisions", "findings", "unconfirmed")
_RESTATED = 0.75  # share of a line's words that another line of its section already has
_FEWEST_WORDS = 3


class BriefSection(Struct, frozen=True, kw_only=True):
    name: str
    title: str
    lines: tuple[BriefLine, ...]


class Brief(Struct, frozen=True, kw_only=True):
    """What is known of a subject. `weak`: nothing here is clearly about it. Without sections `nothing` says why."""

    subject: str
    budget: int
    tokens: int = 0
    weak: bool = False
    sections: tuple[BriefSection, ...] = ()
    nothing: str = ""

    @property
    def text(self) -> str:
        return "\n".join(rendered(self))

    def as_json(self) -> dict[str, Any]:
        sections = [
            {"name": part.name, "title": part.title, "lines": [line.as_json() for line in part.lines]}
            for part in self.sections
        ]
        nothing = {"nothing": self.nothing} if self.nothing else {}
        figures = {"budget": self.budget, "tokens": self.tokens, "weak": self.weak}
        return {"subject": self.subject, **figures, "sections": sections, **nothing, "text": self.text}


def brief(machine: Machine, project: Project, subject: str, budget: int = BUDGET, name: str = "") -> Brief:
    """What is known of a subject, in this project or in the one of its projects that is called `name`."""
    empty = Brief(subject=subject, budget=budget)
    found = gathered(machine, project, subject, name)
    if not any(found.lines.values()):
        known = "Nothing is remembered here yet" if not project.memory.is_dir() else "Nothing matches"
        return replace(empty, nothing=known)
    chosen = _chosen({part: _without_repetitions(lines) for part, lines in found.lines.items()}, budget)
    result = replace(empty, weak=found.weak, sections=_sections(chosen))
    while count_tokens(result.text) > budget and chosen:
        _drop_last(chosen)
        result = replace(result, sections=_sections(chosen))
    if not chosen:
        return replace(empty, nothing=f"{budget} tokens are not enough for a brief")
    return replace(result, tokens=count_tokens(result.text))


# --- which lines -----------------------------------------------------------------------------------------


def _without_repetitions(lines: Sequence[BriefLine]) -> list[BriefLine]:
    """The lines, the best first, without those that say no more than a better one."""
    kept: list[tuple[BriefLine, Signature]] = []
    for line in sorted(lines, key=lambda line: -line.score):
        said = signature(line.text)
        if not any(_restates(said, other) and line.status == known.status for known, other in kept):
            kept.append((line, said))
    return [line for line, _ in kept]


def _restates(new: Signature, old: Signature) -> bool:
    if compare_signatures(old, new).likeness is Likeness.SAME:
        return True
    words = new.words | new.hard
    shared = words & (old.words | old.hard)
    return len(shared) >= _FEWEST_WORDS and len(shared) >= _RESTATED * len(words) and not new.hard - old.hard


def _chosen(candidates: dict[str, list[BriefLine]], budget: int) -> dict[str, list[BriefLine]]:
    """The best lines of each section within its share, then whatever fits."""
    chosen: dict[str, list[BriefLine]] = {}
    room = budget
    left: dict[str, list[BriefLine]] = {}
    for part, title, share in SECTIONS:
        own = budget * share
        for place, line in enumerate(candidates.get(part, ())):
            cost = _cost(part, line, chosen.get(part, ())) + (
                0 if part in chosen else count_tokens(title) + 2
            )
            if cost > own or cost > room:
                left[part] = candidates[part][place:]
                break
            chosen.setdefault(part, []).append(line)
            own -= cost
            room -= cost
    for part, lines in left.items():
        for line in lines:
            if (cost := _cost(part, line, chosen.get(part, ()))) <= room:
                chosen.setdefault(part, []).append(line)
                room -= cost
    return chosen


def _cost(part: str, line: BriefLine, beside: Iterable[BriefLine]) -> int:
    """The tokens of a line, with those of its session's heading if it is the first of its session."""
    cost = count_tokens(_bullet(part, line)) + 1
    if _is_grouped(part, line) and all(other.session != line.session for other in beside):
        cost += count_tokens(_group_heading(line))
    return cost


def _drop_last(chosen: dict[str, list[BriefLine]]) -> None:
    part = min(chosen, key=lambda part: chosen[part][-1].score)
    chosen[part].pop()
    if not chosen[part]:
        del chosen[part]


def _sections(chosen: dict[str, list[BriefLine]]) -> tuple[BriefSection, ...]:
    return tuple(
        BriefSection(name=part, title=title, lines=tuple(_newest_first(chosen[part])))
        for part, title, _ in SECTIONS
        if part in chosen
    )


def _newest_first(lines: Sequence[BriefLine]) -> list[BriefLine]:
    """The newest session first; within a session as it was said."""

    def at(line: BriefLine) -> float:
        return (line.at if line.until is None else line.until) or 0.0

    newest: dict[str, float] = {}
    for line in lines:
        newest[line.session] = max(newest.get(line.session, 0.0), at(line))

    def place(line: BriefLine) -> tuple[float, str, bool, int, float]:
        group = newest[line.session] if line.session else at(line)
        return -group, line.session, f"/{FOLDER}/" not in line.path, line.position, at(line)

    return sorted(lines, key=place)


# --- text ------------------------------------------------------------------------------------------------


def rendered(brief: Brief) -> Iterator[str]:
    """The brief as lines of markdown."""
    yield f"# {' '.join(brief.subject.split())}"
    if brief.nothing:
        yield from ("", f"{brief.nothing}.")
        return
    if brief.weak:
        yield from ("", f"{WEAK.capitalize()}: nothing clearly matches. The nearest:")
    for part in brief.sections:
        yield from ("", f"## {part.title}")
        last = ""
        for line in part.lines:
            if _is_grouped(part.name, line) and line.session != last:
                yield from ("", _group_heading(line))
            last = line.session
            yield _bullet(part.name, line)


def _is_grouped(part: str, line: BriefLine) -> bool:
    """Whether a line stands under the title of its session: what was said is understood from there."""
    return part in _GROUPED and bool(line.session and line.title)


def _group_heading(line: BriefLine) -> str:
    branch = f", branch {line.branch}" if line.branch else ""
    later = f", later on this: session {line.later[:8]}" if line.later else ""
    return f"### {_day(line.at)} · {line.title} (session {short_session(line.session)}{branch}{later})"


def _bullet(part: str, line: BriefLine) -> str:
    text = line.text.rstrip(".;,: ") or line.text
    if line.status == "rejected":
        text = f"not: {text}"
    elif line.status == "superseded":
        text = f"was (until {_day(line.until)}): {text}" if line.until is not None else f"was: {text}"
    reason = f"; because: {line.reason.rstrip('. ')}" if line.reason else ""
    evidence = f" ({line.evidence})" if line.evidence else ""
    source = _source(part, line)
    return f"- {text}{reason}{evidence}{f' ({source})' if source else ''}"


def _source(part: str, line: BriefLine) -> str:
    if _is_grouped(part, line):
        return ", ".join(filter(None, (_who(line.by), line.id)))
    session = f"session {short_session(line.session)}" if line.session else ""
    place = f"git {line.commit[:8]}" if line.commit else session or ("" if line.id else line.path)
    dated = _day(line.at) if line.at is not None and line.until is None else ""
    now = f"now session {line.replaced_by[:8]}" if line.replaced_by else ""
    return ", ".join(filter(None, (_who(line.by), dated, place, "" if line.commit else line.id, now)))


def _who(by: str) -> str:
    return "you" if by == "user" else by


def _day(at: float | None) -> str:
    if at is None:
        return "undated"
    try:
        return datetime.fromtimestamp(at, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return "undated"
