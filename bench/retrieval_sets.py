"""The development sets of ../shared/data/retrieval as questions over an index, and measures with their intervals."""

from __future__ import annotations

import json
import math
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

SETS = Path(__file__).parent.parent.parent / "shared" / "data" / "retrieval"
_BOOTSTRAPS = 2000


class Text(NamedTuple):
    """One thing to put into an index."""

    id: str
    text: str
    at: float | None
    title: str = ""
    project: str = ""
    session: str = ""


class Asked(NamedTuple):
    """One question: only the first `visible` texts are there, and `gold` are the right answers."""

    query: str
    gold: frozenset[str]
    visible: int
    now: float | None = None
    projects: tuple[str, ...] = ()


class RetrievalSet(NamedTuple):
    name: str
    texts: list[Text]
    questions: list[Asked]


def longmemeval(users_only: bool) -> RetrievalSet:
    """940 chat sessions, each as one text, and 50 questions."""
    texts = []
    with (SETS / "longmemeval_sessions.jsonl").open(encoding="utf-8") as file:
        sessions = [json.loads(line) for line in file]
    for session in sessions:
        turns = [turn for turn in session["turns"] if turn["role"] == "user" or not users_only]
        at = moment(session["date"])
        texts.append(Text(_opaque(session["id"]), "\n".join(turn["content"] for turn in turns), at))
    asked = json.loads((SETS / "longmemeval_dev50.json").read_text(encoding="utf-8"))
    questions = [
        Asked(one["question"], frozenset(map(_opaque, one["gold_sessions"])), len(texts)) for one in asked
    ]
    return RetrievalSet("longmemeval_" + ("user" if users_only else "whole"), texts, questions)


def moment(date: str) -> float:
    return datetime.strptime(date, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC).timestamp()


def _opaque(id: str) -> str:
    """An id that says nothing: sessions that answer one question are numbered, which would make them one chat."""
    return blake2b(id.encode(), digest_size=8).hexdigest()


def coding_sessions(with_files: bool) -> RetrievalSet:
    """Sessions of one repository: a first prompt asks for earlier sessions that touched the same files."""
    lines = (SETS / "entire_dev.jsonl").read_text(encoding="utf-8").splitlines()
    sessions = [json.loads(line) for line in lines]
    moments = [datetime.fromisoformat(session["created_at"]).timestamp() for session in sessions]
    order = sorted(range(len(sessions)), key=lambda index: moments[index])
    sessions, moments = [sessions[index] for index in order], [moments[index] for index in order]
    touched = [frozenset(session["files_touched"]) for session in sessions]
    counts: dict[str, int] = {}
    for files in touched:
        for file in files:
            counts[file] = counts.get(file, 0) + 1
    squares = {file: math.log(len(sessions) / count) ** 2 for file, count in counts.items()}

    def likeness(one: frozenset[str], other: frozenset[str]) -> float:
        product = sum(squares[file] for file in one) * sum(squares[file] for file in other)
        return sum(squares[file] for file in one & other) / math.sqrt(product) if product else 0.0

    texts, questions = [], []
    for index, session in enumerate(sessions):
        more = session["files_touched"] if with_files else []
        texts.append(Text(session["session_id"], "\n".join([*session["prompts"], *more]), moments[index]))
        gold = [
            sessions[other]["session_id"]
            for other in range(index)
            if likeness(touched[index], touched[other]) >= 0.3
        ]
        if gold and session["prompts"]:
            questions.append(Asked(session["prompts"][0], frozenset(gold), index, moments[index]))
    return RetrievalSet("coding_" + ("prompts_files" if with_files else "prompts"), texts, questions)


def beliefs() -> RetrievalSet:
    """PrecisionMemBench, the part that is search: what may be returned besides pinned notes and open questions."""
    seeds = json.loads((SETS / "precisionmembench" / "beliefs.seed.json").read_text(encoding="utf-8"))
    searched = [
        seed
        for seed in seeds
        if seed["epistemic_status"] != "superseded"
        and not seed["resolved_at"]
        and not seed["pinned"]
        and seed["type"] != "open_question"
        and "user:universal" not in seed["scope"]
    ]
    texts = [
        Text(
            seed["_id"],
            seed["content"],
            None,
            ", ".join([seed["canonical_name"].replace("_", " "), *seed["aliases"]]),
            seed["scope"][0],
        )
        for seed in searched
    ]
    known = {text.id for text in texts}
    cases = json.loads((SETS / "precisionmembench" / "retrieval.cases.json").read_text(encoding="utf-8"))
    questions = [
        Asked(case["query"], frozenset(wanted) & known, len(texts), None, tuple(case["scope"]))
        for case in cases
        if "userId" not in case and "budget" not in case
        for wanted in [case["expect"].get("relevantBeliefs", {}).get("shouldOnlyInclude")]
        if wanted is not None
    ]
    return RetrievalSet("precisionmembench", texts, questions)


def plain_fts5(
    texts: Sequence[Text], queries: Sequence[str], small_words: frozenset[str], k: int
) -> list[list[str]]:
    """What SQLite gives by itself: one row for each text, stop words out, any word, bm25()."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE found USING fts5(body, tokenize='porter unicode61')")
        db.executemany("INSERT INTO found (body) VALUES (?)", [(text.text,) for text in texts])
        answers = []
        for query in queries:
            letters = "".join(char if char.isalnum() else " " for char in query.lower())
            words = list(dict.fromkeys(word for word in letters.split() if word not in small_words))
            expression = " OR ".join(f'"{word}"' for word in words[:500])
            statement = "SELECT rowid FROM found WHERE found MATCH ? ORDER BY rank, rowid LIMIT ?"
            rows = db.execute(statement, (expression, k)).fetchall() if words else []
            answers.append([texts[row - 1].id for (row,) in rows])
        return answers


class Measures(NamedTuple):
    any5: list[float]
    mrr: list[float]
    ndcg10: list[float]


def measure(answers: Sequence[Sequence[str]], questions: Sequence[Asked]) -> Measures:
    measures = Measures([], [], [])
    for answer, question in zip(answers, questions, strict=True):
        hits = [id in question.gold for id in answer]
        measures.any5.append(float(any(hits[:5])))
        measures.mrr.append(next((1 / place for place, hit in enumerate(hits, 1) if hit), 0.0))
        ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(question.gold))))
        gained = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits[:10]))
        measures.ndcg10.append(gained / ideal)
    return measures


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the mean lies in 95 of 100 resamplings."""
    chance = random.Random(7)
    means = sorted(mean(chance.choices(values, k=len(values))) for _ in range(_BOOTSTRAPS))
    return round(means[int(0.025 * _BOOTSTRAPS)], 3), round(means[int(0.975 * _BOOTSTRAPS)], 3)


def precision_recall(rows: Sequence[tuple[int, int, int]]) -> tuple[float, float]:
    """Of questions with so many right, given and wanted answers, taken together."""
    right, given, wanted = (sum(column) for column in zip(*rows, strict=True))
    return right / max(given, 1), right / max(wanted, 1)


def retrieval_sets() -> Iterator[RetrievalSet]:
    yield longmemeval(users_only=True)
    yield longmemeval(users_only=False)
    yield coding_sessions(with_files=False)
    yield coding_sessions(with_files=True)
