"""Finds lists in which new files are registered: files that commits change whenever they add one to a folder.

Such a list must also name the files of the folder: files that merely change together seldom name each other. Lists
that a compiler asks for are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.core.git import run_git
from holdfast.core.patterns import lazy_regex
from holdfast.lessons.fingerprint_content import read_regular
from holdfast.lessons.grounds import evidence_of, slug
from holdfast.model.events import Lived
from holdfast.model.lesson import PRESENT, Fingerprint, Lesson

COMMITS = 1000
FEWEST_SESSIONS = 3  # needed before git's history is searched
MOST_LISTS = 3  # that one rule names
FEWEST = 3  # commits that added one, and files that are there
MOST = 0.75  # share of the commits that added a file and changed the list
NAMED = 0.8  # share of the folder's files that the list names
RARE = 0.1  # largest share of all commits: a file that every commit changes is not a list
_LARGE = 40  # files of a commit that is ignored: a move, a vendored tree
_SECONDS, _BYTES = 5.0, 8 << 20
_MOST_CONTENT = 1 << 20
_PLAIN = lazy_regex(r"[\w.@+-]+(?:/[\w.@+-]+)*")
_TEST = lazy_regex(
    r"(?:^|/)(?:tests?|__tests__|testdata|fixtures|e2e|snapshots)/|_test\.|\.test\.|\.spec\.|/test_|^test_"
)
_NO_LIST = lazy_regex(
    r"(?:^|/)(?:CHANGELOG|CHANGES|README|HISTORY)[^/]*$|\.lock$|lock\.(?:json|ya?ml)$|\.sum$|(?:^|/)(?:mod|lib|main)\.rs$"
    r"|\.(?:png|svg|jpg|gif|snap)$",
    re.IGNORECASE,
)
_NO_NAME = frozenset(
    ["index", "mod", "__init__", "main", "lib", "types", "utils", "readme", "common", "helpers"]
)


class Registration(Struct, frozen=True, kw_only=True):
    """`together` of the `added` commits that put a file into the folder changed the list, which names `named` of the
    `there` files that are in it."""

    folder: str
    ending: str
    registry: str
    together: int
    added: int
    named: int
    there: int


Commit = tuple[list[str], list[str]]  # the files that it added, and those that it changed


def registrations(root: Path) -> list[Registration]:
    """Find registrations in the latest commits and the current files; the most certain first."""
    commits = _commits(root)
    often = Counter(path for _, changed in commits for path in changed)
    adding: dict[tuple[str, str], list[Commit]] = {}
    for commit in commits:
        for kind in dict.fromkeys(filter(None, map(_kind, commit[0]))):
            adding.setdefault(kind, []).append(commit)
    result = []
    for (folder, ending), commits_adding in adding.items():
        if len(commits_adding) < FEWEST:
            continue
        together = Counter(path for _, changed in commits_adding for path in changed)
        for path, count in together.items():
            likely = count >= max(FEWEST, MOST * len(commits_adding)) and often[path] <= max(
                RARE * len(commits), count
            )
            if likely and not _NO_LIST.search(path) and not _TEST.search(path):
                named, there = _naming(root, folder, ending, path)
                if there >= FEWEST and named >= NAMED * there:
                    result.append(
                        Registration(
                            folder=folder, ending=ending, registry=path,
                            together=count, added=len(commits_adding), named=named, there=there,
                        )
                    )  # fmt: skip
    return sorted(result, key=lambda one: (-one.together, -one.named, one.folder, one.registry))


def _kind(path: str) -> tuple[str, str] | None:
    """Return the folder and the extension of a file that may be one of several."""
    folder, _, name = path.rpartition("/")
    stem, _, ending = name.rpartition(".")
    return (folder, ending) if folder and stem and not _TEST.search(path) else None


def _commits(root: Path) -> list[Commit]:
    words = ("log", "--no-merges", f"-n{COMMITS}", "--name-status", "-M", "--diff-filter=AM", "--format=%x01")
    printed = run_git(root, *words, seconds=_SECONDS, most_bytes=_BYTES).data.decode("utf-8", "replace")
    commits: list[Commit] = []
    for block in printed.split("\x01")[1:]:
        by_status: dict[str, list[str]] = {"A": [], "M": []}
        for line in block.split("\n"):
            status, _, path = line.partition("\t")
            if status in by_status and _PLAIN.fullmatch(path):
                by_status[status].append(path)
        if len(by_status["A"]) + len(by_status["M"]) <= _LARGE:
            commits.append((by_status["A"], by_status["M"]))
    return commits


def _naming(root: Path, folder: str, ending: str, registry: str) -> tuple[int, int]:
    """Count the files of a folder that a list names, and all of them."""
    try:
        content = read_regular(str(root / registry), _MOST_CONTENT).decode("utf-8", "replace")
        stems = _stems([path.name for path in (root / folder).iterdir()], ending, registry.rpartition("/")[2])
    except (OSError, ValueError):
        return 0, 0
    text = _plain(content)
    named = sum(re.search(rf"(?<![a-z0-9]){re.escape(stem)}(?![a-z0-9])", text) is not None for stem in stems)
    return named, len(stems)


def _stems(names: Sequence[str], ending: str, registry: str) -> list[str]:
    wanted = (
        name for name in names if name.endswith(f".{ending}") and name != registry and not _TEST.search(name)
    )
    stems = (_plain(name[: -len(ending) - 1]) for name in wanted)
    return [stem for stem in stems if len(stem) > 2 and stem not in _NO_NAME]


def _plain(text: str) -> str:
    """Fold a name: `LineShadow`, `line-shadow` and `line_shadow` are the same."""
    return text.lower().replace("-", "").replace("_", "")


def is_registration(rule: str) -> bool:
    """Whether a rule is of this kind: git's history is not searched each time, so its absence proves nothing."""
    return rule.startswith("a new `") and "` is registered in `" in rule


def registration_lessons(
    root: Path, lived: Sequence[Lived], is_stated: Callable[[str], bool]
) -> list[Lesson]:
    """Return a rule for each kind of file that a session worked on, unless an instruction file states it."""
    if len(lived) < FEWEST_SESSIONS:
        return []
    by_kind: dict[tuple[str, str], list[Registration]] = {}
    for registration in registrations(root):
        if not is_stated(registration.registry):
            by_kind.setdefault((registration.folder, registration.ending), []).append(registration)
    lessons = (_lesson(group[:MOST_LISTS], lived) for group in by_kind.values())
    return [lesson for lesson in lessons if lesson is not None]


def _lesson(found: Sequence[Registration], lived: Sequence[Lived]) -> Lesson | None:
    first = found[0]
    lists = {registration.registry for registration in found}
    met = [session for session in lived if _worked_on(session, first, lists)]
    if not met:
        return None
    names = ", ".join(f"`{registration.registry}`" for registration in found)
    summary = "; ".join(
        f"{registration.registry}: changed by {registration.together} of {registration.added} commits that added one,"
        f" names {registration.named} of {registration.there}"
        for registration in found
    )
    return Lesson(
        name=slug("register", " ".join(first.folder.split("/")[-2:]), first.ending),
        description="where new files are registered",
        rules=(f"a new `{first.folder}/*.{first.ending}` is registered in {names}",),
        kind="convention",
        fingerprint=tuple(
            Fingerprint(target=registration.registry, digest=PRESENT) for registration in found
        ),
        captured_at=met[-1].ended,
        evidence=evidence_of((session.session, session.ended, summary) for session in met),
    )


def _worked_on(session: Lived, kind: Registration, lists: set[str]) -> bool:
    """Whether a session edited such a file and one of the lists: it discovered that they belong together."""
    edited = {touch.path for touch in session.files if touch.edits}
    inside = f"{kind.folder}/"
    ours = (
        path
        for path in edited
        if path.startswith(inside) and path.endswith(f".{kind.ending}") and "/" not in path[len(inside) :]
    )
    return bool(edited & lists) and any(path not in lists for path in ours)
