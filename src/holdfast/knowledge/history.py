"""One bounded pass over git's log: which files are hot, which change together, and how commits are written."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

from msgspec import Struct

from holdfast.core.git import run_git
from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.findings import convention, of_counts
from holdfast.model.knowledge import Convention, Evidence

MOST_COMMITS = 600
_MOST_BYTES = 12_000_000
_SECONDS = 6.0
_BULK = 40  # a commit with more files does not show which files belong together
_HALF_LIFE_DAYS = 90.0
_MOST_NEIGHBOURS = 4
_CONVENTIONAL = lazy_regex(
    r"(?:feat|fix|chore|docs|refactor|test|tests|build|ci|perf|style|revert|deps|release|wip)(?:\([^)]+\))?!?: \S"
)
# The start of a subject line, the more specific form first.
_PREFIXES = {
    "Conventional Commits (type(scope): subject)": _CONVENTIONAL,
    "ticket first (ABC-123: subject)": lazy_regex(r"\[?[A-Z][A-Z0-9]+-\d+\]?[: ]"),
    "[area] subject": lazy_regex(r"\[[^\]]+\] ?\S"),
    "emoji first": lazy_regex(r"(?::\w+:|[\U0001F300-\U0001FAFF\u2600-\u27BF])"),
    "area: subject": lazy_regex(r"[\w./*{},-]+(?:, ?[\w./*-]+)*: \S"),
}
_NUMBER = lazy_regex(r"\(#\d+\)\s*$")
_NOISE = lazy_regex(
    r"(?i)^(?:merge\b|revert \"|bump\b|v?\d+\.\d+|release\b|build\(deps|chore\(deps|\[pre-commit|update dependency"
    r"|update .* to v?\d|auto-|\[bot\])"
)
# Verbs that begin a subject line in the imperative mood.
_VERBS = frozenset(
    """
    add allow adjust align apply assert avoid backport build bump bring bind cache call catch change
    check clarify clean cleanup close collapse combine compare compute configure consolidate convert
    copy correct cover create cut declare decouple dedupe default define defer delete deprecate
    detect disable display document do drop dump emit enable enforce ensure escape exclude expand
    export expose extend extract fail fall fetch filter finish fix flush follow force format forward
    free generate get give group guard handle hide hoist honor ignore implement import improve
    include increase initialize inject inline insert install integrate introduce invert isolate join
    keep kill let limit link lint list load lock log lower make mark match measure merge migrate
    mock modernize modify mount move name normalize open optimize order override parse pass patch
    persist pin pick polish port prefer prepare preserve prevent print propagate protect provide
    publish pull push put raise read rebuild record reduce refactor refine refresh reject relax
    release reload remove rename render reorder reorganize replace report require rerun reset
    resolve respect restore restrict restructure retry return reuse revert rewrite rework route run
    sanitize save scope select send separate set setup share show shorten simplify skip sort specify
    speed split stabilize start stop store stream streamline strip suppress support switch sync tag
    take test throw tighten track translate treat trigger trim truncate try tune turn tweak unify
    unpin unwrap update upgrade use validate verify wait warn watch wire wrap write
    """.split()  # noqa: SIM905
)


# Any change may touch these files, so they say nothing about which files belong together.
_EVERYWHERE = lazy_regex(
    r"(?i)(?:^|/)(?:change(?:s|log)|news|history|release[-_ ]?notes)[\w.-]*$|\.lock$|(?:^|/)(?:package(?:-lock)?\.json|"
    r"pnpm-lock\.yaml|pyproject\.toml|go\.(?:mod|sum)|Cargo\.toml|setup\.(?:cfg|py))$"
)


class GitHistory(Struct, frozen=True):
    """The result of reading git's log. `whole` is False if a limit cut it off."""

    commits: int = 0
    subjects: tuple[str, ...] = ()
    signed: int = 0
    changes: dict[str, int] = {}
    heat: dict[str, float] = {}
    together: dict[str, tuple[str, ...]] = {}
    whole: bool = True

    def hot(self, names: set[str], most: int = 40) -> list[str]:
        """Files that change often and recently; at most a tenth of all."""
        ranked = sorted((name for name in self.heat if name in names), key=lambda name: -self.heat[name])
        changed = [name for name in ranked if self.changes[name] >= 3]
        return changed[: max(3, min(most, len(names) // 10))]


def history_of(root: Path, head: str) -> GitHistory:
    if not head:
        return GitHistory()
    answer = run_git(
        root,
        "log",
        "--no-merges",
        f"-n{MOST_COMMITS}",
        "--no-renames",
        "--diff-filter=AMD",
        "--format=%x02%ct%x01%s%x01%(trailers:key=Signed-off-by,valueonly)%x03",
        "--name-only",
        "-z",
        most_bytes=_MOST_BYTES,
        seconds=_SECONDS,
    )
    subjects: list[str] = []
    changes: Counter[str] = Counter()
    heat: dict[str, float] = {}
    pairs: dict[str, Counter[str]] = {}
    signed = newest = 0
    entries = answer.data.split(b"\x02")[1:]
    for entry in entries if answer.whole else entries[:-1]:
        head_part, _, files = entry.partition(b"\x03")
        fields = head_part.split(b"\x01")
        if len(fields) < 3 or not fields[0].strip().isdigit():
            continue
        when = int(fields[0])
        newest = max(newest, when)
        subjects.append(fields[1].decode("utf-8", "replace").strip())
        signed += bool(fields[2].strip(b"\0 \n"))
        names = [os.fsdecode(name) for name in files.strip(b"\n\0").split(b"\0") if name]
        if not names or len(names) > _BULK:
            continue
        weight = 0.5 ** ((newest - when) / 86400 / _HALF_LIFE_DAYS)
        for name in names:
            name = name.lstrip("\n")
            changes[name] += 1
            heat[name] = heat.get(name, 0.0) + weight
        if len(names) <= 12:
            for name in names:
                pairs.setdefault(name, Counter()).update(
                    neighbour for neighbour in names if neighbour != name
                )
    return GitHistory(
        commits=len(subjects),
        subjects=tuple(subjects),
        signed=signed,
        changes=dict(changes),
        heat=heat,
        together={
            name: _neighbours(counts, changes, name) for name, counts in pairs.items() if changes[name] >= 3
        },
        whole=answer.whole,
    )


def _neighbours(found: Counter[str], changes: Counter[str], name: str) -> tuple[str, ...]:
    """The files in at least three commits, and a third of all commits, with this file."""
    close = [
        neighbour
        for neighbour, times in found.most_common(12)
        if times >= 3 and times >= changes[name] / 3 and not _EVERYWHERE.search(neighbour)
    ]
    return tuple(close[:_MOST_NEIGHBOURS])


def commit_conventions(history: GitHistory) -> list[Convention]:
    subjects = [subject for subject in history.subjects[:400] if subject and not _NOISE.match(subject)]
    if len(subjects) < 5:
        return []
    total = len(subjects)
    where = Evidence(".git", "log")
    conventions: list[Convention] = []
    prefixed = (
        (label, [subject for subject in subjects if expression.match(subject)])
        for label, expression in _PREFIXES.items()
    )
    prefix, kept = next(((label, kept) for label, kept in prefixed if len(kept) >= 0.6 * total), ("", []))
    imperative = [
        s for s in subjects if _is_imperative(re.sub(r"^(?:[^:]{1,40}: |\[[^\]]+\] ?|:\w+: ?)", "", s))
    ]
    in_mood = len(imperative) >= 0.7 * total
    parts = [prefix] * bool(prefix) + ["imperative mood"] * in_mood
    numbered = sum(bool(_NUMBER.search(subject)) for subject in subjects)
    if numbered >= (0.5 if parts else 0.65) * total:
        parts.append("(#PR) at the end")
    if parts:
        count = len(kept) if prefix else len(imperative) if in_mood else numbered
        example = [*kept, *imperative, *subjects][0][:90]
        pattern = ", ".join(parts)
        conventions.append(of_counts("commit_style", pattern, count, total - count, where, example=example))
    elif sum(bool(_CONVENTIONAL.match(subject)) for subject in subjects) < 0.3 * total:
        pattern, example = "plain subject lines, no prefix", subjects[0][:90]
        conventions.append(convention("commit_style", pattern, 0.6, where, example=example, count=total))
    if history.signed >= 0.7 * history.commits:
        conventions.append(
            convention(
                "commit_sign_off",
                "Signed-off-by in every commit (DCO)",
                0.9,
                where,
                count=history.signed,
                counter=history.commits - history.signed,
            )
        )
    return conventions


def _is_imperative(subject: str) -> bool:
    first = re.sub(r"[^\w-]", "", subject.split(" ")[0]).lower() if subject else ""
    return first in _VERBS or first.partition("-")[2] in _VERBS
