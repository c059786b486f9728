"""The programs, each as its user would run it: what it reads, what it answers, and what that costs."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.measuring import PYTHON
from bench.peers import fts5
from bench.peers.material import Material, Question
from bench.peers.measured import Cost, Failed, Server, cpu_of, disk_mb, run, scratch_env
from bench.retrieval_sets import Asked, RetrievalSet, mean, measure, precision_recall

CACHE = Path(os.environ.get("HOLDFAST_PEERS", "~/.cache/holdfast-peers")).expanduser()
MOST_HITS = 500
DEEP = 12  # answers to a question of a retrieval set
HOLDFAST = Path(sys.executable).parent / "holdfast"
Ranked = Sequence[str]


class Bill(Struct, frozen=True):
    """Tokens and dollars of a whole history."""

    input: int
    output: int
    cache_write: int
    cache_read: int
    usd: float


class Program:
    """A program in a scratch home. What it has no answer to, it leaves out."""

    name = ""
    version = ""
    folder = ""  # below the cache

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir(parents=True)
        self.env = scratch_env(home)

    def missing(self) -> str:
        """Why it is not there, or ''."""
        if not self.folder or (CACHE / self.folder).is_file():
            return ""
        failed = CACHE / f"{self.name}.failed"
        return failed.read_text(encoding="utf-8").strip() if failed.exists() else "it is not installed"

    def read(self, transcripts: Path) -> Cost:
        raise NotImplementedError

    def bill(self) -> tuple[Cost, Bill]:
        raise NotImplementedError

    def find(self, query: str) -> tuple[Cost, Ranked]:
        """Sessions for a query, the best first."""
        raise NotImplementedError

    def answers(self, found: RetrievalSet) -> tuple[Cost, Cost, list[Ranked]]:
        """The cost of taking the texts in and of all questions, and the answers."""
        raise NotImplementedError

    def close(self) -> None:
        pass


class Holdfast(Program):
    name = "holdfast"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        from holdfast import __version__

        self.version = __version__

    def read(self, transcripts: Path) -> Cost:
        return run([HOLDFAST, "import", transcripts], self.env, self.work)

    def bill(self) -> tuple[Cost, Bill]:
        cost = run([HOLDFAST, "cost", "--by", "day", "--json"], self.env, self.work)
        rows = json.loads(cost.printed)

        def total(name: str) -> int:
            return sum(row["tokens"][name] for row in rows)

        usd = sum(row["known_cost_usd"] or 0.0 for row in rows)
        tokens = (total("input"), total("output"), total("cache_write"), total("cache_read"))
        return cost, Bill(*tokens, round(usd, 2))

    def find(self, query: str) -> tuple[Cost, Ranked]:
        cost = run([HOLDFAST, "search", query, "--json", "--limit", "50"], self.env, self.work)
        return cost, list(dict.fromkeys(hit["session"] for hit in json.loads(cost.printed) if hit["session"]))

    def answers(self, found: RetrievalSet) -> tuple[Cost, Cost, list[Ranked]]:
        import holdfast.search
        from holdfast.search import Chunk

        floor = holdfast.search.FLOOR if found.name == "precisionmembench" else None
        with holdfast.search.open(self.home / f"{found.name}.db") as index:
            chunks = [
                Chunk(
                    id=t.id,
                    text=t.text,
                    when=t.at,
                    title=t.title,
                    project=t.project,
                    kind="fact" if floor else "",
                )
                if floor
                else Chunk(id=t.id, text=t.text, when=t.at)
                for t in found.texts
            ]
            taken = _in_process(lambda: index.put_many(chunks))
            given: list[Ranked] = []

            def ask(asked: Asked) -> None:
                hits = (
                    index.search(asked.query, DEEP, project=asked.projects, floor=floor)
                    if floor
                    else index.search(asked.query, DEEP, asked.now)
                )
                given.append([hit.id for hit in hits])

            asking = _in_process(lambda: [ask(asked) for asked in found.questions])
        return taken, asking, given


class Fts5(Program):
    name = "FTS5 alone"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        import sqlite3

        self.version = f"SQLite {sqlite3.sqlite_version}"
        self._script, self._db = Path(fts5.__file__), home / "found.db"

    def read(self, transcripts: Path) -> Cost:
        return run([PYTHON, "-I", self._script, "index", self._db, transcripts], self.env, self.work)

    def find(self, query: str) -> tuple[Cost, Ranked]:
        cost = run([PYTHON, "-I", self._script, "search", self._db, query], self.env, self.work)
        return cost, json.loads(cost.printed)

    def answers(self, found: RetrievalSet) -> tuple[Cost, Cost, list[Ranked]]:
        from bench.retrieval_sets import plain_fts5
        from holdfast.core.stopwords import ENGLISH

        given: list[Ranked] = []
        queries = [asked.query for asked in found.questions]
        taken = _in_process(lambda: plain_fts5(found.texts, [], ENGLISH, DEEP))
        both = _in_process(lambda: given.extend(plain_fts5(found.texts, queries, ENGLISH, DEEP)))
        asking = Cost(max(both.cpu - taken.cpu, 0.0), max(both.wall - taken.wall, 0.0), both.peak_mb)
        return taken, asking, given


class Ccusage(Program):
    name, folder = "ccusage", "ccusage/node_modules/.bin/ccusage"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.version = _pinned("ccusage")

    def bill(self) -> tuple[Cost, Bill]:
        words = ("claude", "daily", "--offline", "--json", "--timezone", "UTC")
        cost = run([CACHE / self.folder, *words], self.env, self.work)
        told = json.loads(cost.printed)["totals"]
        names = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")
        return cost, Bill(*(told[name] for name in names), round(told["totalCost"], 2))


class Agentsview(Program):
    """Reads in one process without its server; searches need the server, whose CPU counts."""

    name, folder = "agentsview", "agentsview/bin/agentsview"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.version = _pinned("agentsview")
        self._server = 0

    def read(self, transcripts: Path) -> Cost:
        return run([CACHE / self.folder, "sync"], {**self.env, "AGENTSVIEW_NO_DAEMON": "1"}, self.work)

    def bill(self) -> tuple[Cost, Bill]:
        words = ("usage", "daily", "--all", "--offline", "--json", "--no-sync", "--timezone", "UTC")
        cost = self._asked(*words)
        told = json.loads(cost.printed)["totals"]
        names = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")
        usd = told["totalCost"]["microdollars"] / 1e6
        return cost, Bill(*(told[name] for name in names), round(usd, 2))

    def find(self, query: str) -> tuple[Cost, Ranked]:
        words = ("--fts", "--json", "--limit", str(MOST_HITS), "--include-one-shot", "--include-automated")
        cost = self._asked("session", "search", query, *words)
        hits = json.loads(cost.printed)["matches"] or ()
        return cost, list(dict.fromkeys(hit["session_id"] for hit in hits))

    def _asked(self, *words: str) -> Cost:
        if not self._server:
            run([CACHE / self.folder, "daemon", "start"], self.env, self.work)
            status = run([CACHE / self.folder, "daemon", "status"], self.env, self.work).printed
            number = re.search(r"pid\W{0,12}(\d+)", status)
            if number is None:
                raise Failed(f"its server does not say its process: {status[:80]}")
            self._server = int(number[1])
        before = cpu_of(self._server)
        cost = run([CACHE / self.folder, *words], self.env, self.work)
        return Cost(cost.cpu + cpu_of(self._server) - before, cost.wall, cost.peak_mb, cost.printed)

    def close(self) -> None:
        if self._server:
            run([CACHE / self.folder, "daemon", "stop"], self.env, self.work)


class BasicMemory(Program):
    """Notes in a folder, asked through its MCP server; without embeddings, whose model it fetches from a hub."""

    name, folder = "basic-memory", "basic-memory/bin/basic-memory"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.version = _pinned("basic-memory")

    def answers(self, found: RetrievalSet) -> tuple[Cost, Cost, list[Ranked]]:
        home = self.home / found.name
        notes = home / "notes"
        notes.mkdir(parents=True)
        for number, text in enumerate(found.texts):
            head = f"---\ntitle: n{number}\ntype: note\n---\n\n"
            (notes / f"n{number}.md").write_text(f"{head}{text.title}\n\n{text.text}\n", encoding="utf-8")
        more = {"BASIC_MEMORY_HOME": str(notes), "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"}
        env = scratch_env(home, **more)
        program = CACHE / self.folder
        taken = run([program, "reindex", "--search"], env, self.work)
        begun = time.monotonic()
        server = Server([program, "mcp"], env, self.work)
        try:
            given = [self._asked(server, asked.query, found) for asked in found.questions]
            asking = Cost(server.cpu, time.monotonic() - begun, 0.0)
        finally:
            server.close()
        return taken, asking, given

    def _asked(self, server: Server, query: str, found: RetrievalSet) -> Ranked:
        printed = server.call("search_notes", query=query, page_size=DEEP, output_format="json")
        try:
            hits: list[dict[str, Any]] = json.loads(printed).get("results", [])
        except ValueError:
            return ()  # it says in prose that there is nothing
        numbers = dict.fromkeys(int(hit["file_path"].removesuffix(".md").removeprefix("n")) for hit in hits)
        return [found.texts[number].id for number in numbers]


PROGRAMS: tuple[Callable[[Path], Program], ...] = (Holdfast, Ccusage, Agentsview, Fts5, BasicMemory)


def quality_of_sessions(found: Sequence[tuple[Question, Ranked]]) -> tuple[float, float]:
    """How often one of the first five earlier sessions is right, and how often nothing was found."""
    right = nothing = 0
    for question, ranked in found:
        earlier = [id for id in ranked if id in question.earlier]
        right += any(id in question.gold for id in earlier[:5])
        nothing += not earlier
    return right / len(found), nothing / len(found)


def quality_of_set(found: RetrievalSet, given: Sequence[Ranked]) -> tuple[float, float | None]:
    """any@5; of PrecisionMemBench precision and recall."""
    if found.name != "precisionmembench":
        return mean(measure(given, found.questions).any5), None
    rows = [
        (len({*one} & asked.gold), len({*one}), len(asked.gold))
        for one, asked in zip(given, found.questions, strict=True)
    ]
    return precision_recall(rows)


def disk_of(program: Program) -> float:
    """What it keeps, without the transcripts."""
    return disk_mb(program.home, without=program.home / ".claude" / "projects" / "-history")


def material_for(program: Program, material: Material) -> Path:
    return material.lay_out(program.home)


def _in_process(work: Callable[[], object]) -> Cost:
    begun, cpu = time.monotonic(), time.process_time()
    work()
    return Cost(time.process_time() - cpu, time.monotonic() - begun, 0.0)


def _pinned(name: str) -> str:
    """The version that the script installs."""
    script = Path(__file__).parents[2] / "scripts" / "install_peers.sh"
    found = re.search(rf"{name}(?:@|==)([\d.]+)", script.read_text(encoding="utf-8"))
    return found[1] if found else ""
