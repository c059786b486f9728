"""Which commands that verify are worth keeping: `go build ./...` says it all, `go build ./cmd/x/` was for a moment.

Sessions check the part that they work on, each another one. Of one program's checks those of the whole are kept; where
none was ever of the whole, the part that most sessions checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from holdfast.distill.harvest_facts import check_in
from holdfast.distill.harvest_stumbles import bare
from holdfast.model.memory import Fact
from holdfast.text.late import late

_ALL = frozenset((".", "./", "./...", "...", "*", "**"))
_NAMES_A_FILE = late(r"[\w-]+\.(?!\.)[A-Za-z]{1,5}\Z")
_ELSEWHERE = late(r"\s*cd\s+[\"']?(?:/|~|[A-Za-z]:|\$)")


def telling_checks(new: Sequence[Fact], known: Iterable[Fact] = ()) -> list[Fact]:
    """The new facts without checks of a part that others make needless. What is known already is said again."""
    kept = list(known)
    ids = {fact.id for fact in kept}
    checks = [fact for fact in (*kept, *new) if check_in(fact)]
    whole = {_runner(fact) for fact in checks if not of_a_part(fact.command)}
    seen = Counter(fact.id for fact in new)
    chosen: dict[tuple[str, ...], Fact] = {}
    for fact in checks:
        before = chosen.get(_runner(fact))
        if before is None or (before.id not in ids and _worth(fact, seen) > _worth(before, seen)):
            chosen[_runner(fact)] = fact

    def tells(fact: Fact) -> bool:
        if fact.id in ids or not check_in(fact) or not of_a_part(fact.command):
            return True
        return _runner(fact) not in whole and chosen[_runner(fact)].id == fact.id

    return [fact for fact in new if tells(fact)]


def of_a_part(command: str) -> bool:
    """Whether a check names files or folders, or was made in a place of one machine."""
    return bool(_ELSEWHERE.match(command)) or any(map(_is_place, bare(command).split()[1:]))


def _is_place(word: str) -> bool:
    if word.startswith("-") or word in _ALL:
        return False
    return "/" in word or _NAMES_A_FILE.search(word) is not None


def _runner(fact: Fact) -> tuple[str, ...]:
    """What is checked and by whom: the program and its verb, without options, places and where it lies."""
    words = bare(fact.command).split()
    verbs: list[str] = []
    for word in words[1:]:
        if word.startswith("-") or word in _ALL or _is_place(word):
            break
        verbs.append(word)
    program = words[0].rpartition("/")[2] if words else ""
    return (check_in(fact), program, *verbs)


def _worth(fact: Fact, seen: Counter[str]) -> tuple[int, int, float]:
    """More sessions, then fewer and wider places, then newer."""
    named = sum(word.strip("./").count("/") + 1 for word in bare(fact.command).split()[1:] if _is_place(word))
    return seen[fact.id], -named, fact.verified_at or fact.at or 0.0
