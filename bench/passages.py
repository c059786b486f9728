"""Real passages for measuring growth: paragraphs, sentences and lines of the open histories in ../shared/data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from bench.measuring import SHARED

DATA = SHARED / "data"
_SHORTEST, _LONGEST = 40, 500  # characters
_FEWEST_WORDS = 5
_BLANK = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"'])")
_WORD = re.compile(r"[A-Za-z]{3,}")


def real_passages() -> list[str]:
    """All distinct ones, without regard to case, in an order that is the same each time and says nothing."""
    found: dict[bytes, str] = {}
    for text in _texts():
        for passage in _passages(text):
            found.setdefault(blake2b(passage.lower().encode(), digest_size=8).digest(), passage)
    return [found[key] for key in sorted(found)]


def real_questions() -> list[str]:
    """What people asked of their agents: short prompts that open nothing else."""
    lines = (DATA / "labels" / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [" ".join(str(json.loads(line)["prompt"]).split()) for line in lines]
    asked = {prompt: None for prompt in prompts if 15 <= len(prompt) <= 300 and len(prompt.split()) >= 3}
    return sorted(asked, key=lambda prompt: blake2b(prompt.encode()).digest())


def _texts() -> Iterator[str]:
    files = [path for path in sorted((DATA / "transcripts").rglob("*")) if path.is_file()]
    for path in [*files, DATA / "retrieval" / "longmemeval_sessions.jsonl"]:
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix not in (".json", ".jsonl"):
            yield text
            continue
        for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
            try:
                yield from _strings(json.loads(part))
            except ValueError:
                continue  # half a line


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= _SHORTEST:
            yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _passages(text: str) -> Iterator[str]:
    """Paragraphs, or their sentences where they are long; and the lines of what is neither."""
    for paragraph in _BLANK.split(text.replace("\\n", "\n")):
        yield from _fitting(_SENTENCE.split(paragraph) if len(paragraph) > _LONGEST else [paragraph])
        yield from _fitting(paragraph.split("\n"))


def _fitting(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        passage = " ".join(part.split())
        if _SHORTEST <= len(passage) <= _LONGEST and len(_WORD.findall(passage)) >= _FEWEST_WORDS:
            yield passage


if __name__ == "__main__":
    passages = real_passages()
    print(f"{len(passages):,} distinct passages, {sum(map(len, passages)):,} characters")
    print(f"{len(real_questions())} questions; the folder is {Path(DATA)}")
