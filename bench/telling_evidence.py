"""Collects what scripts/train_telling.py fits: the evidence for each source that a prompt finds, and which are right.

    python -m bench.telling_evidence MEMORY SESSIONS PROMPTS.jsonl [--others OTHER.jsonl…]

MEMORY is the memory that `../shared/eval/told.py` made of a set (its folder under the `.holdfast/projects` that it leaves in
the folder for temporary files), SESSIONS the folder of its transcripts, PROMPTS the set. Prompts of other repositories
(`{"prompt"}` a line, one file for each) are asked of the same memory, and nothing is right for them. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.hooks.telling import Found, Telling, opened

LONGEST = 4_000


def found(memory: Path, prompt: str) -> list[Found]:
    db = opened(str(memory))
    if db is None:
        raise SystemExit(f"{memory}: nothing is prepared there")
    try:
        return Telling(db, prompt[:LONGEST], None, "", time.time()).found()
    finally:
        db.close()


def row(kind: str, group: str, sources: list[Found], right: set[str]) -> dict[str, Any]:
    return {
        "kind": kind,
        "group": group,
        "right": [place for place, one in enumerate(sources) if one.id in right or one.title in right],
        "found": [{name: round(value, 4) for name, value in one.evidence.items()} for one in sources],
    }


def sessions_by_opening(folder: Path) -> dict[str, str]:
    opening = {}
    for path in folder.glob("*.jsonl"):
        first = json.loads(path.open(encoding="utf-8").readline())
        opening[first["message"]["content"]] = first["sessionId"]
    return opening


def rows(
    memory: Path, sessions: Path, items: list[dict[str, Any]], others: list[Path]
) -> Iterator[dict[str, Any]]:
    opening = sessions_by_opening(sessions)
    for item in items:
        if item.get("decoy"):
            continue
        group = item["id"].partition("-")[0]
        if "commit" in item:
            yield row("commit", group, found(memory, item["prompt"]), {item["commit"]["subject"]})
        else:
            yield row("chat", group, found(memory, item["prompt"]), {opening[item["chats"][-1][0]["text"]]})
    for path in others:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield row("other", path.stem, found(memory, json.loads(line)["prompt"]), set())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("memory", type=Path)
    parser.add_argument("sessions", type=Path)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("--others", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    items = [json.loads(line) for line in given.prompts.read_text(encoding="utf-8").splitlines()]
    for one in rows(given.memory, given.sessions, items, given.others):
        print(json.dumps(one))


if __name__ == "__main__":
    main()
