"""Counts how common words are in the talk of people and coding agents, for src/holdfast/briefing/background.txt.

    .venv/bin/python scripts/background.py CAPTURE_DB… --chats ../shared/data/retrieval/longmemeval_sessions.jsonl

Each capture.db is a history that was imported; all count alike, however long. A word weighs minus the logarithm of its share of
messages, in histories or in general chats, whichever is larger. Only stems and figures are written, no text.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import words
from holdfast.sessions.store import CaptureForgetting

FILE = Path(__file__).parents[1] / "src/holdfast/briefing/background.txt"
HEAVIEST = 78  # tenths; a rarer word is as good as unknown
LONGEST = 2_400
FEWEST = 2
SIZES = range(3, 21)


def counted(texts: list[str]) -> tuple[Counter[str], int]:
    seen: Counter[str] = Counter()
    for text in texts:
        seen.update(set(words(text[:LONGEST], ENGLISH)))
    return seen, max(len(texts), 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--chats", type=Path)
    arguments = parser.parse_args()
    shares: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for path in arguments.histories:
        store = CaptureForgetting.look(path)
        if store is None:
            raise SystemExit(f"{path}: no such file")
        seen, messages = counted([text for session in store.sessions() for text in store.dialogue(session)])
        total.update(seen)
        for word, count in seen.items():
            shares[word] += min(count / messages, 0.5) / len(arguments.histories)  # type: ignore[assignment]
    if arguments.chats:
        lines = arguments.chats.read_text(encoding="utf-8").splitlines()
        seen, messages = counted([turn["content"] for line in lines for turn in json.loads(line)["turns"]])
        total.update(seen)
        for word, count in seen.items():
            shares[word] = max(shares[word], count / messages)  # type: ignore[assignment]
    rows = []
    for word in sorted(shares):
        weight = round(-10 * math.log(shares[word]))
        plain = word.isascii() and word.isalpha() and word.islower() and len(word) in SIZES
        if plain and weight <= HEAVIEST and total[word] >= FEWEST:
            rows.append(f"{word} {weight}\n")
    head = "# How much a stem says, in tenths: minus the logarithm of its share of messages. Made by scripts/background.py.\n"
    FILE.write_text(head + "".join(rows), encoding="utf-8")
    print(f"{len(rows):,} words")


if __name__ == "__main__":
    main()
