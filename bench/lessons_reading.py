"""Prepares a second reading of lessons: every candidate of a history with its evidence and the transcripts to hold it to.

    python -m bench.lessons_reading CORPUS… [--first N] [--checkout FOLDER]      from the repository

With a checkout of the repository at the end of its history, what its guides state and its files show is known as it would be to
a user; without one, only what the transcripts show.

One JSON line for each lesson: rule, kind, state, whether it is of promotion quality (docs/contributing/lessons.md), how many sessions
showed it, and for each of them the file, the moment and the line that showed it. A last line for each history has the counts, and
the commands that are known as it is and so not proposed. The rubric and what was read so far are in docs/research/lessons-reading.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from holdfast.briefing.lesson_proposals import offered
from holdfast.core.errors import TranscriptError
from holdfast.flows.find_transcripts import SessionSource, TranscriptSearch, importers_for, search_paths
from holdfast.flows.import_sessions import import_sources
from holdfast.flows.lessons import read_lessons
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine


def in_order(corpus: Path, first: int) -> list[SessionSource]:
    """The first transcripts by when each began, as its own importer reads it; subagents go with their session."""
    files = [path for path in corpus.rglob("*") if path.is_file() and "subagents" not in path.parts]
    found: list[SessionSource] = []
    for path in files:
        with contextlib.suppress(TranscriptError):  # not a transcript
            found += search_paths([path], importers_for(None)).sources
    begun = sorted(found, key=lambda one: (one.glance.started or float("inf"), one.path.name))
    return begun[:first]


def read(corpus: Path, first: int, checkout: Path | None = None) -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "work"
        if checkout is None:
            work.mkdir()
        else:
            shutil.copytree(checkout, work, symlinks=True)
        machine = Machine(env={"HOME": scratch, "HOLDFAST_HOME": f"{scratch}/home"}, cwd=work)
        project = machine.project()
        for one in in_order(corpus, first):
            import_sources(machine, project, TranscriptSearch([one], [], []))
        files = _files(project.capture)
        seen = read_lessons(machine, project).lessons
        for one in seen:
            lesson = one.lesson
            yield {
                "corpus": corpus.name,
                "rule": "; ".join(lesson.rules),
                "kind": lesson.kind,
                "state": one.state,
                "promotion_quality": not lesson.seldom,
                "sessions": len(lesson.sessions),
                "evidence": [
                    {
                        "file": files.get(item.session, ""),
                        "at": datetime.fromtimestamp(item.at, UTC).isoformat() if item.at else None,
                        "line": item.line,
                    }
                    for item in lesson.evidence
                ],
            }
        usual = [rule for lesson in offered(project).usual for rule in lesson.rules]
        yield {"corpus": corpus.name, "of": len(set(files)), "lessons": len(seen), "known_as_it_is": usual}


def _files(capture: Path) -> dict[str, str]:
    store = CaptureStore(capture)
    try:
        return {session: path for path, (_, session) in store.stamps().items()}
    finally:
        store.close()


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("corpora", nargs="+", type=Path, help="folders of transcripts")
    options.add_argument("--first", type=int, default=50, help="sessions of each, in time order (default 50)")
    options.add_argument("--checkout", type=Path, help="the repository as it was at the end of the history")
    chosen = options.parse_args()
    for corpus in chosen.corpora:
        for row in read(corpus, chosen.first, chosen.checkout):
            print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
