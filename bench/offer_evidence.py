"""Collects what speaks for files under the prompts of real histories, for scripts/train_offers.py.

    python -m bench.offer_evidence NAME=FOLDER…         run from the repository, with ../shared beside it

A FOLDER holds the transcripts of one repository. Each session is asked of the memory of those that had ended before it
began: its first prompt, its later ones, and first prompts of the other histories. Numbers are kept, no text: the
evidence (`hooks/relevance.py`, `hooks/ranking.py`) and whether the session then touched the file.
"""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.replay_briefing import branch_in
from holdfast.briefing.file_pointers import pointer_session, prompt_words, write_postings
from holdfast.core.words import command_in
from holdfast.flows.import_sessions import import_into
from holdfast.hooks.postings import Postings
from holdfast.hooks.ranking import FIRST, file_evidence
from holdfast.hooks.relevance import Match, names_in
from holdfast.knowledge.co_change import CoChange
from holdfast.model.memory import PointerSession
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT.parent / "shared" / "eval"))
TARGET = ROOT / "bench/data/offers/evidence.jsonl.gz"
OTHERS = 2  # first prompts of other histories, for each session
FILES, LATER_FILES = 30, 15  # the likeliest
LATER_PROMPTS = 15  # of a session
EVERYTHING = dict.fromkeys(FIRST, 1.0)


def records(folder: str) -> dict[str, PointerSession]:
    """The sessions of a history by the names of their transcripts."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "work"
        work.mkdir()
        machine = Machine(env={"HOME": scratch}, cwd=work)
        project = machine.project()
        import_into(machine, project, [Path(folder)])
        found = CaptureStore.glimpse(project.capture, lambda store: store.records(10_000), [])
        return {
            Path(source).name: pointer_session(record, project.root)
            for record in found
            for source in record.sources
        }


def collected(name: str, folder: str, others: list[str]) -> Iterator[dict[str, Any]]:
    import replay  # type: ignore[import-not-found, unused-ignore]

    known = records(folder)
    facts = [replay.Facts(session) for session in replay.load_corpus(folder)]
    ended = sorted(facts, key=lambda one: (one.s.end, one.id))
    drawn = random.Random(name)
    for one in facts:
        past = [session for session in ended if session.s.end <= one.s.start]
        own = known.get(Path(one.s.path).name)
        sessions = {known[file].session: known[file] for s in past if (file := Path(s.s.path).name) in known}
        if own is not None:
            sessions.pop(own.session, None)
        if len(past) < 3 or not one.s.prompts:
            continue
        with closing(sqlite3.connect(":memory:")) as db:
            write_postings(db, sessions.values(), CoChange())
            for number, evidence in enumerate(_prompts(one, db)):
                yield {"history": name, "kind": "later" if number else "first", **evidence}
            for prompt in drawn.sample(others, OTHERS):
                branch = branch_in(Path(one.s.path))
                yield {"history": name, "kind": "other", **_evidence(db, prompt, [], branch, {}, (), FILES)}


def _prompts(one: Any, db: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    turns: dict[str, set[int]] = {}
    for call in one.s.calls:
        if call.kind in ("read", "edit"):
            for path in call.paths:
                turns.setdefault(path, set()).add(call.turn)
    branch = branch_in(Path(one.s.path))
    earlier: list[list[str]] = []
    for turn, prompt in enumerate(prompt[1] for prompt in one.s.prompts[: LATER_PROMPTS + 1]):
        before = {path for path, at in turns.items() if min(at) < turn}
        touched = {path: any(when >= turn for when in at) for path, at in turns.items()}
        yield _evidence(db, prompt, earlier, branch, touched, before, LATER_FILES if turn else FILES)
        earlier.append(prompt_words(prompt))


def _evidence(
    db: sqlite3.Connection,
    prompt: str,
    earlier: list[list[str]],
    branch: str,
    touched: dict[str, bool],
    before: set[str] | tuple[()],
    most: int,
) -> dict[str, Any]:
    postings = Postings(db)
    match = Match(postings, prompt, earlier, branch=branch)
    names = names_in(postings, prompt, [])[1]
    if (command := command_in(prompt)) and postings.holding(command):
        names += 1
    files = file_evidence(match, [], EVERYTHING) if match.is_known else {}
    likely = sorted(files, key=lambda path: -files[path]["likeness"])
    rows = [path for path in likely if path not in before][:most]
    return {
        "about": _rounded(match.evidence(names)),
        "news": round(match.news()[0], 1),
        "files": [[*_rounded(files[path]).values(), int(touched.get(path, False))] for path in rows],
        "names": [*next(iter(files.values()), {})],
    }


def _rounded(evidence: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in evidence.items()}


def main() -> None:
    import replay

    histories = dict(pair.split("=", 1) for pair in sys.argv[1:])
    first = {
        name: [session.prompts[0][1] for session in replay.load_corpus(folder) if session.prompts]
        for name, folder in histories.items()
    }
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(TARGET, "wt", encoding="utf-8") as file:
        for name, folder in histories.items():
            others = [prompt for other, prompts in first.items() if other != name for prompt in prompts]
            count = 0
            for row in collected(name, folder, others):
                file.write(json.dumps(row, separators=(",", ":")) + "\n")
                count += 1
            print(f"{name}: {count} prompts", flush=True)


if __name__ == "__main__":
    main()
