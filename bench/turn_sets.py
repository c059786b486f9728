"""Chats whose turns are put into an index one by one, and questions whose answer is one of the turns.

data/search_turns.jsonl is invented: 61 chats, 146 questions. The answer hardly ever names its subject, which stands in the
turn before or earlier. The turns of data/told/open.jsonl are put beside them. data/longmemeval_turns.json says which turns
of ../shared/data/retrieval answer its questions, by their place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from bench.retrieval_sets import SETS, Asked, RetrievalSet, Text, moment

DATA = Path(__file__).parent / "data"
HALVES = ("open", "sealed")
_FIRST = datetime(2025, 3, 1, tzinfo=UTC).timestamp()
_HALF_A_DAY = 43_200


def half_of(text: str) -> str:
    """Which half a question or a chat belongs to: by its hash, so that nobody chose."""
    return HALVES[int(sha256(text.encode()).hexdigest(), 16) % 2]


def chats(halves: Sequence[str] = HALVES) -> RetrievalSet:
    """Our own chats among others; `halves` are those whose questions are asked."""
    texts, questions = [], []
    for line in (DATA / "search_turns.jsonl").read_text(encoding="utf-8").splitlines():
        chat = json.loads(line)
        at = datetime.fromisoformat(chat["date"]).timestamp()
        texts += _turns(chat["chat"], [said for _, said in chat["turns"]], at)
        if half_of(chat["chat"]) in halves:
            questions += [(one["question"], f"{chat['chat']}:{one['turn']}") for one in chat["questions"]]
    number = 0
    for line in (DATA / "told" / "open.jsonl").read_text(encoding="utf-8").splitlines():
        for other in json.loads(line).get("chats", ()):
            number += 1
            turns = [turn["text"] for turn in other]
            texts += _turns(f"other{number}", turns, _FIRST + number * _HALF_A_DAY)
    asked = [Asked(question, frozenset({gold}), len(texts)) for question, gold in questions]
    return RetrievalSet("turns", texts, asked)


def longmemeval_turns(users_only: bool) -> RetrievalSet:
    """940 chats in turns, and the 46 questions that some of them answer."""
    texts: list[Text] = []
    with (SETS / "longmemeval_sessions.jsonl").open(encoding="utf-8") as file:
        for session in map(json.loads, file):
            turns = [
                turn["content"] if turn["role"] == "user" or not users_only else ""
                for turn in session["turns"]
            ]
            texts += _turns(session["id"], turns, moment(session["date"]))
    known = {text.id for text in texts}
    right = json.loads((DATA / "longmemeval_turns.json").read_text(encoding="utf-8"))
    asked = json.loads((SETS / "longmemeval_dev50.json").read_text(encoding="utf-8"))
    questions = [
        Asked(one["question"], gold, len(texts))
        for one in asked
        if (gold := frozenset(right.get(one["id"], ())) & known)
    ]
    return RetrievalSet("turns_longmemeval_" + ("user" if users_only else "whole"), texts, questions)


def dated(found: RetrievalSet) -> RetrievalSet:
    """The same questions with the day of a chat that answers them."""
    by_id = {text.id: text for text in found.texts}
    questions = []
    for asked in found.questions:
        gold_of: dict[str, list[str]] = {}
        for id in sorted(asked.gold):
            gold_of.setdefault(by_id[id].session, []).append(id)
        for ids in list(gold_of.values())[:2]:
            day = datetime.fromtimestamp(by_id[ids[0]].at or 0, UTC)
            query = f"{asked.query.rstrip('?.')} on {day.day} {day:%B %Y}?"
            questions.append(Asked(query, frozenset(ids), asked.visible))
    return RetrievalSet(f"{found.name}_dated", found.texts, questions)


def _turns(chat: str, said: Sequence[str], at: float) -> list[Text]:
    return [Text(f"{chat}:{n}", text, at, session=chat) for n, text in enumerate(said) if text]


def found_of_ten(answers: Sequence[Sequence[str]], questions: Sequence[Asked]) -> list[float]:
    """For each question, which share of the turns that answer it is among the first ten."""
    return [
        len(asked.gold.intersection(answer[:10])) / min(len(asked.gold), 10)
        for answer, asked in zip(answers, questions, strict=True)
    ]
