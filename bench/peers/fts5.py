"""FTS5 alone: what a script of thirty lines gives, and every other program has to beat.

python fts5.py index DATABASE TRANSCRIPTS    python fts5.py search DATABASE QUERY
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path


def texts(line: bytes) -> Iterator[str]:
    """What the person and the agent wrote, without calls and their results."""
    try:
        entry = json.loads(line)
    except ValueError:
        return  # two lines in one, as a client that was killed leaves them
    content = (
        entry.get("message", {}).get("content", "") if entry.get("type") in ("user", "assistant") else ""
    )
    if isinstance(content, str):
        yield content
    else:
        yield from (part["text"] for part in content if part.get("type") == "text")


def index(database: str, folder: str) -> None:
    db = sqlite3.connect(database)
    db.execute("CREATE VIRTUAL TABLE found USING fts5(session UNINDEXED, body, tokenize='porter unicode61')")
    for path in sorted(Path(folder).rglob("*.jsonl")):
        with path.open("rb") as file:
            said = "\n".join(text for line in file for text in texts(line) if text)
        db.execute("INSERT INTO found VALUES (?, ?)", (path.stem, said))
    db.commit()


def search(database: str, query: str) -> None:
    letters = "".join(char if char.isalnum() else " " for char in query.lower())
    expression = " OR ".join(f'"{word}"' for word in dict.fromkeys(letters.split()[:500]))
    db = sqlite3.connect(database)
    rows = db.execute("SELECT session FROM found WHERE found MATCH ? ORDER BY rank LIMIT 200", (expression,))
    print(json.dumps([session for (session,) in rows]))


if __name__ == "__main__":
    {"index": index, "search": search}[sys.argv[1]](*sys.argv[2:])
