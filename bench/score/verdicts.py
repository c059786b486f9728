"""Verdicts on sessions beside those of a careful reader: outcome, kind of work, number of tasks.

    .venv/bin/python -m bench.score.verdicts /path/to/labels.jsonl [--misses outcome]

A label is a line `{"file", "session", "agent", "repo", "list", "outcome", "negative", "kind", "kind_also", "tasks",
"tasks_ok"}`. `file` is the transcript, absolute or beside the labels. A file that holds several sessions names the one by
its start (`aider:owner/repo:2026-04-25 07:26:54`). Without labels nothing is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.measuring import SHARED
from holdfast.agents.registry import importers
from holdfast.core.errors import HoldfastError
from holdfast.flows.find_transcripts import search_paths
from holdfast.model.events import DistilledSession
from holdfast.sessions.digest import Digest
from holdfast.sessions.reducer import Reducer
from holdfast.sessions.session import SessionPart, conclude

VARIABLE = "HOLDFAST_SESSION_LABELS"  # a file or a folder of labels
NEGATIVE = ("failed", "abandoned")
_START = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_SLACK_S = 2.0
Label = dict[str, Any]


class Judged(Struct):
    """A label, and the session as holdfast sees it; None where it finds no such session."""

    label: Label
    session: DistilledSession | None
    parts: list[SessionPart] = []

    @property
    def outcome(self) -> str:
        return self.session.outcome if self.session else ""

    @property
    def outcome_right(self) -> bool:
        return self.outcome == self.label["outcome"]

    @property
    def kind_right(self) -> bool:
        return self.session is not None and self.session.kind in (
            self.label["kind"],
            self.label.get("kind_also"),
        )

    @property
    def tasks_right(self) -> bool:
        fewest, most = self.label["tasks_ok"]
        return self.session is not None and fewest <= len(self.session.tasks) <= most


class Once:
    """Each line counts once within the files that are read together."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def repeated(self, key: str) -> bool:
        known = key in self._seen
        self._seen.add(key)
        return known

    def foreign(self, key: str) -> bool:
        return False


def labels_in(place: Path) -> list[Label]:
    """The labels of a file, or of all files of a folder."""
    files = sorted(place.glob("*.json*")) if place.is_dir() else [place]
    rows: list[Any] = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".jsonl":
            rows += [json.loads(line) for line in text.splitlines() if line]
        elif isinstance(found := json.loads(text), list):
            rows += found
    labels = [row for row in rows if isinstance(row, dict) and {"file", "outcome", "kind"} <= row.keys()]
    return [{"tasks_ok": (0, 10**6), **row} for row in labels]


def default_place() -> Path | None:
    """The labels that the environment names, else those of ../shared; None without any."""
    named = os.environ.get(VARIABLE, "")
    place = Path(named) if named else SHARED / "data" / "labels"
    return place if place.exists() else None


def judged(labels: Iterable[Label], beside: Path) -> Iterator[Judged]:
    """Read each labelled session as an import would."""
    by_file: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        by_file[label["file"]].append(label)
    for name, wanted in by_file.items():
        path = next((place for place in _places(name, beside) if place.is_file()), None)
        found = sessions_in(path) if path else []
        for label in wanted:
            session, parts = _matching(label, found)
            yield Judged(label, session, parts)


def _places(name: str, beside: Path) -> Iterator[Path]:
    folder = beside if beside.is_dir() else beside.parent
    yield Path(name)
    yield folder / name
    yield from (SHARED / "data" / "transcripts").rglob(Path(name).name)


def sessions_in(path: Path) -> list[tuple[DistilledSession, list[SessionPart]]]:
    """The sessions of one transcript file."""
    try:
        sources = search_paths([path], importers()).sources
    except HoldfastError:
        return []
    families: dict[str, list[SessionPart]] = defaultdict(list)
    for source in sources:
        digest = Digest(source.importer.agent)
        reading = source.importer.open(source.path, 0, b"", Once(), source.glance.part)
        Reducer(digest).take_all(reading.events())
        if digest.first_at is None:
            digest.first_at = digest.last_at = source.mtime_ns / 1e9
        digest.seal(str)
        if not digest.empty:
            families[digest.parent or digest.session].append(SessionPart(source.key, digest))
    return [(conclude(name, parts, None, None), parts) for name, parts in families.items()]


def _matching(
    label: Label, found: Sequence[tuple[DistilledSession, list[SessionPart]]]
) -> tuple[DistilledSession | None, list[SessionPart]]:
    if len(found) == 1:
        return found[0]
    if start := _START.search(str(label["session"])):
        # aider writes local time without a zone
        at = datetime.strptime(start[0], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
        local = datetime.strptime(start[0], "%Y-%m-%d %H:%M:%S").astimezone().timestamp()
        for session, parts in found:
            if (
                session.started is not None
                and min(abs(session.started - at), abs(session.started - local)) < _SLACK_S
            ):
                return session, parts
    return next((pair for pair in found if pair[0].session == label["session"]), (None, []))


class Figures(Struct):
    """Shares of agreement over some sessions, each with its number."""

    n: int
    outcome: float
    kind: float
    tasks: float
    said: int  # sessions that holdfast calls failed or abandoned
    said_right: int
    negative: int  # sessions that the reader calls so
    found: int

    @property
    def precision(self) -> float | None:
        return self.said_right / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        return self.found / self.negative if self.negative else None


def figures_of(rows: Sequence[Judged]) -> Figures:
    said = [row for row in rows if row.outcome in NEGATIVE]
    negative = [row for row in rows if _is_negative(row.label)]

    def share(right: Callable[[Judged], bool]) -> float:
        return sum(map(right, rows)) / len(rows) if rows else 0.0

    return Figures(
        n=len(rows),
        outcome=share(lambda row: row.outcome_right),
        kind=share(lambda row: row.kind_right),
        tasks=share(lambda row: row.tasks_right),
        said=len(said),
        said_right=sum(_is_negative(row.label) for row in said),
        negative=len(negative),
        found=sum(row.outcome in NEGATIVE for row in negative),
    )


def _is_negative(label: Label) -> bool:
    return bool(label.get("negative", label["outcome"] in NEGATIVE))


def report(rows: Sequence[Judged]) -> Iterator[str]:
    """A table: all sessions, then by list, by agent and by repository."""
    yield f"{'':34s} {'n':>4s} {'outcome':>8s} {'kind':>6s} {'tasks':>6s}  negative verdicts right, found"
    yield _line("all", rows)
    for field in ("list", "agent", "repo"):
        groups: dict[str, list[Judged]] = defaultdict(list)
        for row in rows:
            groups[str(row.label.get(field, "-"))].append(row)
        for name, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
            yield _line(f"{field} {name}", group)


def _line(name: str, rows: Sequence[Judged]) -> str:
    figures = figures_of(rows)
    return (
        f"{name[:34]:34s} {figures.n:4d} {figures.outcome:8.2f} {figures.kind:6.2f} {figures.tasks:6.2f}"
        f"  {figures.said_right}/{figures.said}, {figures.found}/{figures.negative}"
    )


def misses(rows: Sequence[Judged], what: str) -> Iterator[str]:
    for row in rows:
        if getattr(row, f"{what}_right"):
            continue
        label, session = row.label, row.session
        yield f"{label.get('pack', '')} {label['agent']} {label['session']}"
        if session is None:
            yield "    no such session"
        elif what == "outcome":
            yield f"    {session.outcome}: {session.outcome_why}\n    reader {label['outcome']}: {label.get('why', '')}"
        elif what == "kind":
            yield f"    {session.kind}: {session.kind_why}\n    reader {label['kind']}, {label.get('kind_also')}"
        else:
            yield f"    {len(session.tasks)}, reader {label.get('tasks')} {label['tasks_ok']}"
            yield from (f"      {task.status:8s}{task.title[:100]}" for task in session.tasks)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("labels", nargs="?", type=Path, default=default_place())
    parser.add_argument(
        "--misses", choices=("outcome", "kind", "tasks"), help="list where holdfast disagrees"
    )
    options = parser.parse_args()
    if options.labels is None or not (labels := labels_in(options.labels)):
        parser.error(f"no labels of sessions: name a file, or set {VARIABLE}")
    rows = list(judged(labels, options.labels))
    print(*(misses(rows, options.misses) if options.misses else report(rows)), sep="\n")


if __name__ == "__main__":
    main()
