"""Searches the memory of a project, or of all projects on this machine.

Each search updates the index first, and so does the capture after a session. A manual import does not, because that
would double its time.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec.structs import replace

from holdfast.briefing.index import PLACE, SHARED_LEDGER, ask_index
from holdfast.core.folders import text_of as file_text
from holdfast.core.patterns import lazy_regex
from holdfast.memory.decisions import FOLDER, SHARED, TEAM
from holdfast.model.origin import Origin
from holdfast.model.search import Hit
from holdfast.model.statement import OPEN, SessionText, Statement, decoded, text_of
from holdfast.search import Index
from holdfast.search.dated import as_dated
from holdfast.search.periods import Period, period_in
from holdfast.store.machine import Machine
from holdfast.store.origins import Origins
from holdfast.store.project import Project
from holdfast.store.waiting import team_waiting, waiting_archives

# --- newer statements first ----------------------------------------------------------------------------

_STATEMENTS = ("F-", "D-")
_AS_GOOD = 0.02  # of score: too small a difference to prefer one
_SHARED = 0.7  # of the words of the longer one
_WORD = lazy_regex(r"\w+")


def newest_first(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; of two statements that differ in a value the newer one gets the better score."""
    ordered = list(hits)
    places = [at for at, hit in enumerate(ordered) if hit.id[:2] in _STATEMENTS]
    for number, at in enumerate(places):
        for later in places[number + 1 :]:
            first, second = ordered[at], ordered[later]
            if first.score - second.score > _AS_GOOD:
                break
            is_older = first.date < second.date and (first.project, first.kind) == (
                second.project,
                second.kind,
            )
            if is_older and _differ_in_a_value(first, second):
                ordered[at] = replace(second, score=first.score)
                ordered[later] = replace(first, score=second.score)
    return ordered


def _differ_in_a_value(one: Hit, other: Hit) -> bool:
    """`The port is 5433` and `The port is 6432`; ignores the evidence."""
    words, other_words = (set(_WORD.findall(_without_evidence(hit).casefold())) for hit in (one, other))
    return words != other_words and len(words & other_words) >= _SHARED * max(len(words), len(other_words))


def _without_evidence(hit: Hit) -> str:
    statement = decoded(hit.data)
    return statement.text if isinstance(statement, Statement) else hit.text


def superseding_first(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; what replaces another one comes right before it, with a score as good."""
    ordered = list(hits)
    for hit in hits:
        statement = decoded(hit.data) if hit.data else None
        if not isinstance(statement, Statement) or not statement.supersedes:
            continue
        at = ordered.index(hit)
        replaced = [
            place
            for place, other in enumerate(ordered[:at])
            if other.id in statement.supersedes and other.project == hit.project
        ]
        if replaced:
            del ordered[at]
            ordered.insert(replaced[0], replace(hit, score=ordered[replaced[0]].score))
    return ordered


SHARED_LESSONS = ".holdfast/lessons/"
_FROM_OTHERS = (f"{FOLDER}/{SHARED}.md", f"{FOLDER}/{TEAM}.md")
_MOST_REPEATED = 20
_MOST_OF_PERIOD = 300
_OF_PERIOD = {"session": 8.0, "D-": 2.0, "Q-": 1.5}  # values by kind of id, where only a day is asked for
KINDS = ("state", "history", "decision", "fact", "question", "lesson", "knowledge", "ledger")


def search(
    machine: Machine,
    project: Project,
    query: str,
    k: int = 10,
    kinds: Collection[str] | None = None,
    *,
    name: str = "",
    everywhere: bool = False,
    own: bool = True,
    floor: float = 0.0,
    nearest: bool = False,
    waiting: bool = False,
) -> list[Hit]:
    """The best hits, in this project or in all projects of this machine that are not excluded.

    `own` includes this project. Nothing if no text has a word of the query and none is close in meaning, unless
    `nearest`. Hits of a day or period that the query names come first. `waiting` adds what is in archives that nobody
    trusts yet, for a person or an agent who asks.
    """
    places = memories(machine, project)[0 if own else 1 :] if everywhere else [project]
    untrusted = (
        [
            *(archive.memory_of(project) for archive in waiting_archives(machine.home, project)),
            team_waiting(machine.home, project),
        ]
        if waiting
        else []
    )
    places = [*places, *untrusted]
    period = period_in(query, machine.now())
    if period is not None and period.is_all and not own:
        return []  # what was done on a day is asked of this project
    # The full hour, so that the same search a little later gives exactly the same scores.
    now = machine.now().replace(minute=0, second=0, microsecond=0)

    def found(query: str, enough: int, within: Period | None = None) -> list[Hit]:
        since, before = (within.start, within.stop) if within else (None, None)
        hits: list[Hit] = []
        for place in places:
            if place.memory.is_dir():
                names = _names_of(place, name)

                def ask(index: Index, names: Collection[str] | None = names) -> list[Hit]:
                    answers = index.search(
                        query,
                        enough,
                        now,
                        kinds,
                        names,
                        since=since,
                        before=before,
                        floor=floor,
                        fitting=not nearest,
                    )
                    return [_with_its_goal(hit, index) for hit in answers]

                own = [_named(hit, place) for hit in ask_index(machine, place, ask)]
                own = _marked(own, place, trusted=place not in untrusted)
                hits += _of_others(own, place) if place is not project else _openable(own, place)
        hits = newest_first(_each_session_once(sorted(hits, key=lambda hit: -hit.score)))
        hits = superseding_first(hits)
        # A caller with a floor builds a briefing, and chooses between a question and a decision itself.
        return hits if floor > 0 else _each_answer_once(hits)

    if period is None or not period.is_all:
        return found(query, k + _MOST_REPEATED)[:k]
    of_period = [as_dated(hit, period, _OF_PERIOD) for hit in found("", _MOST_OF_PERIOD, period)]
    if of_period:
        return sorted(of_period, key=lambda hit: -hit.score)[:k]
    # The query has no subject; a text of another day may contain the date.
    hits = found(query, k + _MOST_REPEATED)
    return [hit for hit in hits if period.said.casefold() in hit.text.casefold()][:k]


def _names_of(place: Project, name: str) -> list[str] | None:
    """The project names to search: the given one, and '' for what applies to all projects of the repository."""
    if not name:
        return None
    return [name, ""] if name in project_names(place) else [name]


def project_names(place: Project) -> set[str]:
    """The names of the projects of a repository."""
    return {place.title, *(folder.name for folder in (place.memory / "projects").glob("*"))}


def _named(hit: Hit, place: Project) -> Hit:
    """Adds the project of a hit; a personal one has none."""
    if hit.project or hit.path.startswith("~"):
        return hit
    return replace(hit, project=place.title)


def _with_its_goal(hit: Hit, index: Index) -> Hit:
    """Adds the goal to a passage of a long session, which is not understandable without it."""
    if not hit.id.startswith("session:"):
        return hit
    full_text = index.text(hit.id)
    if full_text.startswith(hit.text):
        return hit
    session_text = decoded(hit.data)
    beginning = (
        SessionText(goal=session_text.goal, outcome=session_text.outcome)
        if isinstance(session_text, SessionText)
        else None
    )
    opening = [line for line in text_of(beginning).split("\n") if line not in hit.text] if beginning else []
    place = full_text.find(hit.text)
    passage = hit.text if place > 0 and full_text[place - 1] == "\n" else f"… {hit.text}"
    return replace(hit, text="\n".join([*opening, passage]))


def _each_session_once(hits: list[Hit]) -> list[Hit]:
    """Removes ledger rows and state lines that only repeat a session of the log, if that is a hit too."""
    sessions_in_log = {hit.session for hit in hits if hit.id == f"session:{hit.session}"}

    def repeats(hit: Hit) -> bool:
        return hit.kind == "ledger" or (hit.kind == "state" and isinstance(decoded(hit.data), SessionText))

    return [hit for hit in hits if hit.session not in sessions_in_log or not repeats(hit)]


def _each_answer_once(hits: list[Hit]) -> list[Hit]:
    """Removes hits that repeat a better one: an answered question is in the register of decisions too."""
    answers: dict[str, list[str]] = {"Q-": [], "D-": []}
    unique = []
    for hit in hits:
        sort = hit.id[:2]
        hit_text = _question_and_answer(hit)
        other_texts = [
            earlier_text
            for other_sort, texts in answers.items()
            if other_sort != sort
            for earlier_text in texts
        ]
        if sort in answers and any(
            one.startswith(two) for o in other_texts for one, two in ((o, hit_text), (hit_text, o))
        ):
            continue
        unique.append(hit)
        if sort in answers and "?" in hit_text:
            answers[sort].append(hit_text)
    return unique


def _question_and_answer(hit: Hit) -> str:
    """The text of a hit as in the register of decisions."""
    statement = decoded(hit.data)
    if isinstance(statement, Statement) and statement.kind == "answer":
        return f"{statement.subject} {statement.text or OPEN}"
    return hit.text


def _marked(hits: list[Hit], place: Project, *, trusted: bool) -> list[Hit]:
    """The hits with their origin."""
    if not trusted and place.memory.parent.name == TEAM:
        return [replace(hit, origin="team", trusted=False) for hit in hits]
    if not trusted:
        return [replace(hit, origin="other_archive", trusted=False) for hit in hits]
    origins = Origins(place.memory)
    return [replace(hit, origin=_origin(hit, origins)) for hit in hits]


def _origin(hit: Hit, origins: Origins) -> Origin:
    if archive := origins.archive_of(hit.id.removeprefix("lesson:"), hit.session):
        return archive.origin
    if hit.path.endswith(_FROM_OTHERS):
        return "team"
    if hit.path.startswith((SHARED_LEDGER, SHARED_LESSONS)):
        return "git"
    return "session" if hit.session or hit.kind == "knowledge" else "person"


def _of_others(hits: list[Hit], place: Project) -> list[Hit]:
    """Hits of another repository, without personal ones: those are in every index and were found here already."""
    return [_elsewhere(hit, place) for hit in hits if not hit.path.startswith("~")]


def _openable(hits: list[Hit], place: Project) -> list[Hit]:
    """The hits, with absolute paths in a new work tree that has no link to the memory yet."""
    linked = os.path.lexists(place.window / "local")
    return hits if linked else [_elsewhere(hit, place) for hit in hits]


def _elsewhere(hit: Hit, place: Project) -> Hit:
    """A hit with an absolute path and the name of its repository."""
    path = hit.path.replace(PLACE, str(place.memory), 1)
    if path.startswith(".holdfast/"):
        path = path.replace(".holdfast", str(place.window), 1)
    return replace(hit, project=hit.project or place.title, path=path)


def memories(machine: Machine, project: Project) -> list[Project]:
    """This project first, then all others on this machine that are not excluded."""
    projects = [project]
    settings = machine.settings()
    folder = machine.home / "projects"
    for memory in sorted(folder.iterdir()) if folder.is_dir() else []:
        root = file_text(memory, memory / "root").strip() if memory.is_dir() else ""
        if root and memory != project.memory and not settings.excludes(root, machine.user_home):
            home = Path(root)
            projects.append(Project(home, home / ".holdfast", memory, home / ".holdfast" / "id"))
    return projects
