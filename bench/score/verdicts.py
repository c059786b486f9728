"""Verdicts on sessions beside those of a careful reader: outcome, kind of work, number of tasks.

    .venv/bin/python -m bench.score.verdicts /path/to/labels.jsonl [--misses outcome]

A label is a line `{"path", "session", "agent", "repo", "outcome", "outcome2", "kind", "kind2", "tasks_min",
"tasks_max"}`; what ends in 2 is the reader's second choice, or null. `path` is the transcript, absolute or beside the
labels. A file that holds several sessions names the one by its start (`2026-04-25 07:26:54`).

The labels in bench/data/verdicts name files by a hash and sessions by their place in the file. Of these the sessions
whose transcripts are in ../shared are measured.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
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
from holdfast.sessions.task_model import request_features
from holdfast.sessions.tasks import is_request

VARIABLE = "HOLDFAST_SESSION_LABELS"  # a file or a folder of labels
COMMITTED = Path(__file__).parents[1] / "data/verdicts/labels.jsonl.gz"
TRANSCRIPTS = SHARED / "data" / "transcripts"
_IN_SHARED = "shared:"  # begins the repository of a label whose transcript is there
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
    def outcome_credit(self) -> float:
        """A match of the reader's second choice counts half."""
        return 1.0 if self.outcome_right else 0.5 if self.outcome == self.label["outcome2"] else 0.0

    @property
    def kind_right(self) -> bool:
        return self.session is not None and self.session.kind in (self.label["kind"], self.label["kind2"])

    @property
    def tasks_right(self) -> bool:
        fewest, most = self.label["tasks"]
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
    files = sorted(place.glob("*.jsonl*")) if place.is_dir() else [place]
    rows = [json.loads(line) for file in files for line in _text_of(file).splitlines() if line]
    labels = [_label(row) for row in rows if {"repo", "outcome", "kind"} <= row.keys()]
    return _located(labels) if any("place" in label for label in labels) else labels


def _text_of(file: Path) -> str:
    content = file.read_bytes()
    return (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8")


def _label(row: Label) -> Label:
    bounds = {"tasks": (row["tasks_min"], row["tasks_max"])} if "tasks_min" in row else {}
    return {"file": row.get("path", ""), "session": "", **row, **bounds}


def file_hash(repo: str, name: str) -> str:
    return hashlib.sha256(f"{repo}\n{name}".encode()).hexdigest()[:16]


def _located(labels: Iterable[Label]) -> list[Label]:
    """The labels whose transcripts are in ../shared, with their files."""
    files: dict[str, str] = {}
    by_repo: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        by_repo[label["repo"]].append(label)
    for repo in by_repo:
        folder = TRANSCRIPTS / repo.removeprefix(_IN_SHARED)
        if repo.startswith(_IN_SHARED) and folder.is_dir():
            files |= {file_hash(repo, path.name): str(path) for path in folder.iterdir()}
    return [
        {**label, "file": files[label["hash"]]}
        for own in by_repo.values()
        for label in own
        if label["hash"] in files
    ]


def recorded(place: Path) -> Iterator[Label]:
    """The labels as they may be committed: hashes and places, the labels, and the features of the requests."""
    for row in judged(labels_in(place), place):
        label, path = row.label, Path(row.label["file"])
        started = sorted(session.started or 0.0 for session, _ in sessions_in(path))
        if row.session is None:
            continue
        main = [part.digest for part in row.parts if not part.digest.parent]
        turns = [turn for digest in main for turn in digest.turns if is_request(turn)]
        yield {
            "repo": label["repo"],
            "agent": label["agent"],
            "hash": file_hash(label["repo"], path.name),
            "place": started.index(row.session.started or 0.0),
            **{name: label[name] for name in ("outcome", "outcome2", "kind", "kind2")},
            "tasks": list(label["tasks"]),
            "first": min(len(turns), 1) if main else len(row.session.tasks),
            "requests": list(request_features(turns)),
        }


def default_place() -> Path | None:
    """The labels that the environment names, else the committed ones; None without any."""
    named = os.environ.get(VARIABLE, "")
    place = Path(named) if named else COMMITTED
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
    yield from TRANSCRIPTS.rglob(Path(name).name)


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
    if "place" in label and label["place"] < len(found):
        return sorted(found, key=lambda pair: pair[0].started or 0.0)[label["place"]]
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
    credit: float  # with half for the reader's second choice
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

    def share(right: Callable[[Judged], float]) -> float:
        return sum(map(right, rows)) / len(rows) if rows else 0.0

    return Figures(
        n=len(rows),
        outcome=share(lambda row: row.outcome_right),
        credit=share(lambda row: row.outcome_credit),
        kind=share(lambda row: row.kind_right),
        tasks=share(lambda row: row.tasks_right),
        said=len(said),
        said_right=sum(_is_negative(row.label) for row in said),
        negative=len(negative),
        found=sum(row.outcome in NEGATIVE for row in negative),
    )


def _is_negative(label: Label) -> bool:
    return label["outcome"] in NEGATIVE


def report(rows: Sequence[Judged]) -> Iterator[str]:
    """A table: all sessions, then by list, by agent and by repository."""
    yield f"{'':34s} {'n':>4s} {'outcome':>8s} {'or 2nd':>7s} {'kind':>6s} {'tasks':>6s}  negative verdicts right, found"
    yield _line("all", rows)
    for field in ("agent", "repo"):
        groups: dict[str, list[Judged]] = defaultdict(list)
        for row in rows:
            groups[str(row.label.get(field, "-"))].append(row)
        for name, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
            yield _line(f"{field} {name}", group)


def _line(name: str, rows: Sequence[Judged]) -> str:
    figures = figures_of(rows)
    return (
        f"{name[:34]:34s} {figures.n:4d} {figures.outcome:8.2f} {figures.credit:7.2f} {figures.kind:6.2f} {figures.tasks:6.2f}"
        f"  {figures.said_right}/{figures.said}, {figures.found}/{figures.negative}"
    )


def misses(rows: Sequence[Judged], what: str) -> Iterator[str]:
    for row in rows:
        if getattr(row, f"{what}_right"):
            continue
        label, session = row.label, row.session
        yield f"{label['repo']} {label['agent']} {label['session']}"
        if session is None:
            yield "    no such session"
        elif what == "outcome":
            yield f"    {session.outcome}: {session.outcome_why}\n    reader {label['outcome']}: {label.get('why', '')}"
        elif what == "kind":
            yield f"    {session.kind}: {session.kind_why}\n    reader {label['kind']}, {label['kind2']}"
        else:
            yield f"    {len(session.tasks)}, reader {label['tasks']}"
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
