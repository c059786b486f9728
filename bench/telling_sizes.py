"""Collects what scripts/train_telling.py fits last: how the size of a memory and of its sources changes what is likely.

    python -m bench.telling_sizes MEMORY SESSIONS PROMPTS.jsonl --others FILE… --real MEMORY…

MEMORY, SESSIONS and PROMPTS are those of bench/telling_evidence.py, the files of prompts likewise (one for each
repository), and --real are memories that `holdfast init` made of real repositories, in a folder with the name of the
file of its prompts (owner+name: prompts of the same owner may be about it). A prompt is asked of

- parts of MEMORY of several sizes, with what it is about (and prompts of other repositories, which nothing is about),
- parts of MEMORY without what it is about: a prompt of the project, and nothing was decided,
- real memories (nothing is about it), and these with what it is about put in, once as a source of its own and once
  inside a long one, as in sessions that settle several things.

Prints JSON lines: for each prompt the log-odds by the first fit, the length, the kind and whether it is right, of the
likeliest sources.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.telling_evidence import sessions_by_opening
from holdfast.briefing.told_index import weight_of
from holdfast.hooks import telling
from holdfast.search.embed.static import StaticTable

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

LIKELIEST = 5
SIZES = {12: 3, 30: 3, 75: 3, 180: 2, 400: 2}  # sources of a part, and how many parts of that size
ABSENT = {12: 3, 30: 3, 75: 2}
OTHERS = 50  # prompts of other repositories that are asked of each memory
HOSTS = 20  # the longest sessions, and six times as many commits: what is put inside another source is in one of these
Row = tuple[Any, ...]


class Collector:
    def __init__(
        self,
        memory: Path,
        sessions: Path,
        items: list[dict[str, Any]],
        scratch: Path,
        first: dict[str, float],
    ) -> None:
        self.memory, self.scratch, self.first = memory, scratch, first
        self.random = random.Random(5)
        self.table = StaticTable()
        opening = sessions_by_opening(sessions)
        with closing(sqlite3.connect(memory / telling.NAME)) as db:
            self.all = {id for (id,) in db.execute("SELECT id FROM source")}
            commits = dict(db.execute("SELECT title, id FROM source WHERE kind = 'commit'"))
        self.sources = {
            item["id"]: [commits[item["commit"]["subject"]]]
            if "commit" in item
            else [opening[chat[0]["text"]] for chat in item["chats"]]
            for item in items
            if "commit" not in item or item["commit"]["subject"] in commits
        }
        self.items = [item for item in items if not item.get("decoy") and item["id"] in self.sources]
        self.made = 0

    def about(self, items: list[dict[str, Any]]) -> set[str]:
        return {id for item in items for id in self.sources[item["id"]]}

    def group(self, item: dict[str, Any]) -> str:
        return str(item["id"]).partition("-")[0]

    def copy(self, memory: Path) -> Path:
        self.made += 1
        folder = self.scratch / str(self.made)
        folder.mkdir()
        shutil.copy(memory / telling.NAME, folder)
        return folder

    def part(self, keep: Collection[str]) -> Path:
        """The memory with these sources only."""
        folder = self.copy(self.memory)
        with closing(sqlite3.connect(folder / telling.NAME)) as db, db:
            numbers = {
                number for number, id in db.execute("SELECT number, id FROM source").fetchall() if id in keep
            }
            for word, blob in db.execute("SELECT word, sources FROM word WHERE sources != x''").fetchall():
                flat, kept = array("I", blob), array("I")
                for place in range(0, len(flat), 2):
                    if flat[place] in numbers:
                        kept.extend(flat[place : place + 2])
                db.execute("UPDATE word SET sources = ? WHERE word = ?", (kept.tobytes(), word))
            for number, id in db.execute("SELECT number, id FROM source").fetchall():
                if id not in keep:
                    db.execute("DELETE FROM source WHERE number = ?", (number,))
                    db.execute("DELETE FROM line WHERE source = ?", (number,))
            db.execute("UPDATE meta SET value = ? WHERE key = 'sources'", (str(len(numbers)),))
        return folder

    def planted(self, memory: Path, ids: Collection[str], inside: bool) -> Path:
        """A real memory with these sources put in, as they are or inside long ones."""
        folder = self.copy(memory)
        with (
            closing(sqlite3.connect(folder / telling.NAME)) as db,
            closing(sqlite3.connect(self.memory / telling.NAME)) as own,
            db,
        ):
            (number,) = db.execute("SELECT max(number) FROM source").fetchone()
            postings: dict[str, array[int]] = {}
            hosts = {
                kind: [
                    id
                    for (id,) in db.execute(
                        "SELECT id FROM source WHERE kind = ? AND worth > 0 ORDER BY length(turns) DESC LIMIT ?",
                        (kind, most),
                    )
                ]
                for kind, most in (("session", HOSTS), ("commit", 6 * HOSTS))
            }
            for id in sorted(ids):
                number += 1
                row, lines = read(own, id)
                if inside and (possible := hosts[row[2]]):
                    host = possible.pop(self.random.randrange(len(possible)))
                    row, lines = self.joined(row, lines, *read(db, host))
                    db.execute(
                        "DELETE FROM line WHERE source = (SELECT number FROM source WHERE id = ?)", (host,)
                    )
                    db.execute("DELETE FROM source WHERE id = ?", (host,))
                db.execute(f"INSERT INTO source VALUES ({', '.join('?' * 13)})", (number, *row[1:]))
                for line in lines:
                    db.execute(f"INSERT INTO line VALUES ({', '.join('?' * 10)})", (number, *line[1:]))
                counts = Counter(row[9].split())
                for word, count in counts.items():
                    impact = telling.impact(count, counts.total(), telling.USUAL_LENGTHS[row[2]])
                    postings.setdefault(word, array("I")).extend((number, impact))
            for word, more in postings.items():
                known = db.execute("SELECT sources FROM word WHERE word = ?", (word,)).fetchone()
                blob = (known[0] if known else b"") + more.tobytes()
                db.execute("INSERT OR REPLACE INTO word VALUES (?, ?, ?)", (word, weight_of(word), blob))
            db.execute("UPDATE meta SET value = (SELECT count(*) FROM source) WHERE key = 'sources'")
        return folder

    def joined(self, row: Row, lines: list[Row], host: Row, host_lines: list[Row]) -> tuple[Row, list[Row]]:
        turns = host[9].split("\n")
        at = self.random.randrange(len(turns) + 1)
        turns[at:at] = row[9].split("\n")
        both = [(0, place, *line[2:]) for place, line in enumerate([*host_lines, *lines])]
        agreed = [line for line in both if line[4] == "agreed"]
        text = " ".join([host[4], *(line[7] for line in agreed)])
        worth = sum(line[6] for line in agreed)
        vector = next(iter(self.table.embed([text])))
        return (*row[:3], host[3], host[4], *row[5:9], "\n".join(turns), worth, vector, row[12]), both

    def asked(self, memory: Path, where: str, group: str, prompt: str, right: str = "") -> dict[str, Any]:
        db = telling.opened(str(memory))
        assert db is not None
        with closing(db):
            (count,) = db.execute("SELECT value FROM meta WHERE key = 'sources'").fetchone()
            found = telling.Telling(db, prompt, None, "", 0.0).found()
        rows = []
        for one in found:
            if one.evidence["worth"]:
                odds = sum(weight * one.evidence[name] for name, weight in self.first.items())
                length = one.evidence["session length"] + one.evidence["other length"]
                rows.append(
                    [round(odds, 2), round(length, 2), int(one.kind == "session"), int(one.id == right)]
                )
        rows.sort(reverse=True)
        return {
            "memory": where, "sources": int(count), "group": group, "wanted": bool(right), "found": rows[:LIKELIEST],
        }  # fmt: skip

    def rows(self, real: list[Path], others: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
        groups = sorted({self.group(item) for item in self.items})
        yield from self.of_one(self.memory, "open", self.items, others)
        for size, times in SIZES.items():
            for _ in range(times):
                asked = self.random.sample(self.items, min(len(self.items), max(3, size // 4)))
                rest = sorted(self.all - self.about(asked))
                more = self.random.sample(rest, max(0, size - len(self.about(asked))))
                yield from self.of_one(self.part({*self.about(asked), *more}), "open", asked, others)
        for group in groups:
            own = [item for item in self.items if self.group(item) == group]
            pool = sorted(id for name, ids in self.sources.items() if name.startswith(group) for id in ids)
            for size, times in ABSENT.items():
                for _ in range(times):
                    asked = self.random.sample(own, len(own) // 2)
                    rest = [id for id in pool if id not in self.about(asked)]
                    memory = self.part(self.random.sample(rest, min(size, len(rest))))
                    for item in asked:
                        yield self.asked(memory, "absent", group, item["prompt"])
        for memory in real:
            name = memory.name
            owner = name.partition("+")[0]
            foreign = {group: said for group, said in others.items() if group.partition("+")[0] != owner}
            for item in self.items:
                yield self.asked(memory, name, self.group(item), item["prompt"])
            for group in groups:
                own = [item for item in self.items if self.group(item) == group]
                for inside in (False, True):
                    yield from self.of_one(self.planted(memory, self.about(own), inside), name, own, foreign)

    def of_one(
        self, memory: Path, where: str, asked: list[dict[str, Any]], others: dict[str, list[str]]
    ) -> Iterator[dict[str, Any]]:
        for item in asked:
            right = self.sources[item["id"]][-1]
            yield self.asked(memory, where, self.group(item), item["prompt"], right)
        said = [(group, prompt) for group, prompts in sorted(others.items()) for prompt in prompts]
        for group, prompt in self.random.sample(said, min(OTHERS, len(said))):
            yield self.asked(memory, where, group, prompt)


def read(db: sqlite3.Connection, id: str) -> tuple[Row, list[Row]]:
    row = db.execute("SELECT * FROM source WHERE id = ?", (id,)).fetchone()
    return row, db.execute("SELECT * FROM line WHERE source = ? ORDER BY position", (row[0],)).fetchall()


def main() -> None:
    import train_telling  # type: ignore[import-not-found, unused-ignore]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("memory", type=Path)
    parser.add_argument("sessions", type=Path)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("--others", type=Path, nargs="+", required=True)
    parser.add_argument("--real", type=Path, nargs="+", required=True)
    given = parser.parse_args()
    items = [json.loads(line) for line in given.prompts.read_text(encoding="utf-8").splitlines()]
    others = {
        path.stem: [json.loads(line)["prompt"] for line in path.read_text(encoding="utf-8").splitlines()]
        for path in given.others
    }
    first, _ = train_telling.first_fit()
    with tempfile.TemporaryDirectory() as scratch:
        collector = Collector(given.memory, given.sessions, items, Path(scratch), first)
        for row in collector.rows(given.real, others):
            print(json.dumps(row, separators=(",", ":")))


if __name__ == "__main__":
    main()
