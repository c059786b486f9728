"""Search over what a project knows, or all projects on this machine: the index kept up to date, then asked.

The index is brought up to date by each search, and by the capture that runs after a session; an import by hand
leaves it alone, because that would double the time it takes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec.structs import replace

from holdfast.briefing.index import PLACE, ask_index
from holdfast.core.folders import text_of as file_text
from holdfast.core.patterns import lazy_regex
from holdfast.model.search import Grounds, Hit
from holdfast.model.statement import OPEN, SessionText, Statement, decoded, text_of
from holdfast.search import Index
from holdfast.search.periods import Period, period_in
from holdfast.store.machine import Machine
from holdfast.store.project import Project

# --- newer statements first ----------------------------------------------------------------------------

_STATEMENTS = ("F-", "D-")
_AS_GOOD = 0.02  # of score: no question means one of them by so little
_SHARED = 0.7  # of the words of the longer one
_WORD = lazy_regex(r"\w+")


def newest_first(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; of two such statements the newer one takes the better score."""
    ordered = list(hits)
    places = [at for at, hit in enumerate(ordered) if hit.id[:2] in _STATEMENTS]
    for number, at in enumerate(places):
        for later in places[number + 1 :]:
            one, other = ordered[at], ordered[later]
            if one.score - other.score > _AS_GOOD:
                break
            is_older = one.date < other.date and (one.project, one.kind) == (other.project, other.kind)
            if is_older and _differ_in_a_value(one, other):
                ordered[at] = replace(other, score=one.score)
                ordered[later] = replace(one, score=other.score)
    return ordered


def _differ_in_a_value(one: Hit, other: Hit) -> bool:
    """`The port is 5433` and `The port is 6432`: what shows it is not it."""
    words, others = (set(_WORD.findall(_without_evidence(hit).casefold())) for hit in (one, other))
    return words != others and len(words & others) >= _SHARED * max(len(words), len(others))


def _without_evidence(hit: Hit) -> str:
    said = decoded(hit.data)
    return said.text if isinstance(said, Statement) else hit.text


_MOST_REPEATED = 20
_MOST_OF_PERIOD = 300
_NAMED = 2.0  # as much as for a chunk whose id is said
_OF_PERIOD = {"session": 8.0, "D-": 2.0, "Q-": 1.5}
KINDS = ("state", "history", "fact", "question", "lesson", "knowledge", "ledger")


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
) -> list[Hit]:
    """The best hits, in this project or in all of this machine's that are not excluded, with or without its own.

    Nothing where no text holds a word of the query and none is near it in meaning, unless the `nearest` are wanted.
    What is of a day or period that the query names comes first.
    """
    places = memories(machine, project)[0 if own else 1 :] if everywhere else [project]
    period = period_in(query, machine.now()) if own else None
    # From the full hour: who asks again a little later gets the same, to the last digit of its score.
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
                hits += _of_others(own, place) if place is not project else _openable(own, place)
        hits = newest_first(_each_session_once(sorted(hits, key=lambda hit: -hit.score)))
        # Who sets a floor looks for what is to be said, and chooses between a question and a decision by itself.
        return hits if floor > 0 else _each_answer_once(hits)

    hits = found(query, k + _MOST_REPEATED)
    if period is None:
        return hits[:k]
    of_it = found("", _MOST_OF_PERIOD, period) if period.is_all else found(period.rest, k, period)
    first = sorted((_dated(hit, period) for hit in of_it), key=lambda hit: -hit.score)
    if period.is_all:  # no word of it is a subject; a date may stand in a text of another day
        return (first or [hit for hit in hits if period.said.casefold() in hit.text.casefold()])[:k]
    known = {(hit.project, hit.id) for hit in first}
    return [*first, *(hit for hit in hits if (hit.project, hit.id) not in known)][:k]


def _dated(hit: Hit, period: Period) -> Hit:
    """A hit of the period that was named: before all others. Where nothing else was asked for, the sessions first."""
    worth = hit.score / (1 - hit.score)
    if period.is_all:
        worth = _OF_PERIOD.get(hit.id.partition(":")[0], _OF_PERIOD.get(hit.id[:2], worth))
    worth += _NAMED
    dated = Grounds(dated=period.name) if period.is_all else replace(hit.grounds, dated=period.name)
    why = dated.text() if period.is_all else f"{hit.why}; dated {period.name}"
    return replace(hit, score=round(worth / (1 + worth), 4), why=why, grounds=dated)


def _names_of(place: Project, name: str) -> list[str] | None:
    """Which projects may answer: that of a name, and in its repository what holds for all of them."""
    if not name:
        return None
    return [name, ""] if name in project_names(place) else [name]


def project_names(place: Project) -> set[str]:
    """What the projects of a repository are called."""
    return {place.title, *(folder.name for folder in (place.memory / "projects").glob("*"))}


def _named(hit: Hit, place: Project) -> Hit:
    """With the project that it holds for; what is personal holds for none."""
    if hit.project or hit.path.startswith("~"):
        return hit
    return replace(hit, project=place.title)


def _with_its_goal(hit: Hit, index: Index) -> Hit:
    """A passage of a long session says nothing to who does not know what the session was about."""
    if not hit.id.startswith("session:"):
        return hit
    whole = index.text(hit.id)
    if whole.startswith(hit.text):
        return hit
    said = decoded(hit.data)
    beginning = SessionText(goal=said.goal, outcome=said.outcome) if isinstance(said, SessionText) else None
    told = [line for line in text_of(beginning).split("\n") if line not in hit.text] if beginning else []
    place = whole.find(hit.text)
    passage = hit.text if place > 0 and whole[place - 1] == "\n" else f"… {hit.text}"
    return replace(hit, text="\n".join([*told, passage]))


def _each_session_once(hits: list[Hit]) -> list[Hit]:
    """Without the row and the line of state that only repeat what the log says of a session, if that is there too."""
    told = {hit.session for hit in hits if hit.id == f"session:{hit.session}"}

    def repeats(hit: Hit) -> bool:
        return hit.kind == "ledger" or (hit.kind == "state" and isinstance(decoded(hit.data), SessionText))

    return [hit for hit in hits if hit.session not in told or not repeats(hit)]


def _each_answer_once(hits: list[Hit]) -> list[Hit]:
    """Without what repeats a better hit: a question that was answered is in the register of decisions as well."""
    answers: dict[str, list[str]] = {"Q-": [], "D-": []}
    kept = []
    for hit in hits:
        sort = hit.id[:2]
        said = _question_and_answer(hit)
        others = [other for known, texts in answers.items() if known != sort for other in texts]
        if sort in answers and any(
            one.startswith(two) for o in others for one, two in ((o, said), (said, o))
        ):
            continue
        kept.append(hit)
        if sort in answers and "?" in said:
            answers[sort].append(said)
    return kept


def _question_and_answer(hit: Hit) -> str:
    """As the register of decisions has it."""
    said = decoded(hit.data)
    if isinstance(said, Statement) and said.kind == "answer":
        return f"{said.subject} {said.text or OPEN}"
    return hit.text


def _of_others(hits: list[Hit], place: Project) -> list[Hit]:
    """Hits of another repository; what is personal is in every index and was found here already."""
    return [_elsewhere(hit, place) for hit in hits if not hit.path.startswith("~")]


def _openable(hits: list[Hit], place: Project) -> list[Hit]:
    """As they are: but a work tree that was just made has no link to the memory yet."""
    linked = os.path.lexists(place.window / "local")
    return hits if linked else [_elsewhere(hit, place) for hit in hits]


def _elsewhere(hit: Hit, place: Project) -> Hit:
    """A hit by its path from the root of the file system, and named by its repository."""
    path = hit.path.replace(PLACE, str(place.memory), 1)
    if path.startswith(".holdfast/"):
        path = path.replace(".holdfast", str(place.window), 1)
    return replace(hit, project=hit.project or place.title, path=path)


def memories(machine: Machine, project: Project) -> list[Project]:
    """This project first, then every other one on this machine; what is excluded is not read."""
    found = [project]
    settings = machine.settings()
    folder = machine.home / "projects"
    for memory in sorted(folder.iterdir()) if folder.is_dir() else []:
        root = file_text(memory, memory / "root").strip() if memory.is_dir() else ""
        if root and memory != project.memory and not settings.excludes(root, machine.user_home):
            home = Path(root)
            found.append(Project(home, home / ".holdfast", memory, home / ".holdfast" / "id"))
    return found
