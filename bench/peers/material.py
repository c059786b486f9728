"""What all programs are given: a history of Claude Code transcripts, questions about it, and sets for retrieval."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from bench import retrieval_sets
from bench.measuring import SHARED
from bench.retrieval_sets import RetrievalSet
from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import words
from holdfast.demo.run import SESSIONS as DEMO

HISTORY = SHARED / "data" / "transcripts" / "claude-code" / "entireio-cli"
KEYWORDS = 3
MOST_QUESTIONS = 60


class Question(Struct, frozen=True):
    """`keywords` are what a person would type who knows which words are rare here; right are only earlier sessions."""

    prompt: str
    keywords: str
    gold: frozenset[str]
    earlier: frozenset[str]


class Material(Struct, frozen=True):
    name: str
    transcripts: Path
    sessions: int
    megabytes: float
    questions: Sequence[Question] = ()
    sets: Sequence[RetrievalSet] = ()

    def lay_out(self, home: Path) -> Path:
        """Copies the transcripts to where Claude Code keeps them, below a scratch home."""
        folder = home / ".claude" / "projects" / "-history"
        folder.mkdir(parents=True)
        for path in self.transcripts.glob("*.jsonl"):
            shutil.copyfile(path, folder / path.name.rpartition("/")[2])
        return folder.parent


def shared() -> Material:
    return _of(
        HISTORY, "entireio/cli", _questions(), (retrieval_sets.longmemeval(True), retrieval_sets.beliefs())
    )


def demo() -> Material:
    """Small enough for a test: shows that everything runs, and says nothing about quality."""
    return _of(DEMO / "claude-code", "the bundled demonstration", (), ())


def _of(folder: Path, name: str, questions: Sequence[Question], sets: Sequence[RetrievalSet]) -> Material:
    files = list(folder.glob("*.jsonl"))
    size = sum(path.stat().st_size for path in files) / 1e6
    return Material(name, folder, len(files), round(size, 1), questions, sets)


def _questions() -> Sequence[Question]:
    """First prompts of sessions, whose answers are earlier sessions that touched the same files."""
    found = retrieval_sets.coding_sessions(with_files=False)
    there = {id_of(path.stem) for path in HISTORY.glob("*.jsonl")}
    by_text = [set(words(text.text, ENGLISH)) for text in found.texts]
    often = Counter(word for one in by_text for word in one)
    questions = []
    for asked in found.questions:
        own = id_of(found.texts[asked.visible].id)
        earlier = {id_of(text.id) for text in found.texts[: asked.visible]} & there - {own}
        gold = frozenset(map(id_of, asked.gold)) & earlier
        said = dict.fromkeys(words(asked.query, ENGLISH))
        known = [word for word in said if often[word] > 1 and word.isalpha()]
        rare = sorted(known, key=lambda word: -math.log(len(by_text) / often[word]))[:KEYWORDS]
        if gold and rare:
            # The words as they were written: other programs stem in their own way.
            typed = [_written(word, asked.query) for word in rare]
            questions.append(Question(asked.query, " ".join(typed), gold, frozenset(earlier)))
    step = max(len(questions) // MOST_QUESTIONS, 1)
    return questions[::step][:MOST_QUESTIONS]


def id_of(name: str) -> str:
    """The session's own id: some transcripts have the day before it in their names."""
    return name[-36:]


def _written(stem: str, text: str) -> str:
    letters = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return next((word for word in letters if word.startswith(stem)), stem)
