"""How search on the team's server grows, beside SQLite: real passages of 200 authors, from 10,000 statements up.

.venv/bin/python -m bench.team_scale --out growth.jsonl                        # 10,000, 30,000 and 100,000
.venv/bin/python -m bench.team_scale --sizes 10000,300000,1000000 --out growth.jsonl --folder /big/disk
.venv/bin/python scripts/plot_team_search.py growth.jsonl                      # docs/research/team-search-growth.svg

Each size adds to the one before, and its figures are written as soon as it is done, with the load of the machine beside
them. 98% of the statements are of one project, `fleet`; 2% are of another that lies in the same partition, `corner`.
Ana owns both and sees 100% of the rows, cleo is a member of `corner` and sees 2%. Where a team has more statements than
there are different passages, several authors say the same.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.forked import exit_code, fork
from tests.postgres.server import Server, running_server, set_up, why_none

from bench.measuring import PYTHON, outer
from bench.passages import DATA, real_passages, real_questions
from holdfast import search
from holdfast.postgres import source
from holdfast.postgres.address import Address, parse_address
from holdfast.postgres.connection import connected
from holdfast.postgres.index import TeamIndex
from holdfast.postgres.source import PostgresSource, PostgresVocabulary
from holdfast.search import Chunk, Index
from holdfast.search.contract import Query, Scope
from holdfast.search.embed.static import StaticTable
from holdfast.search.stemming import Splitter

SIZES = (10_000, 30_000, 100_000)
AUTHORS = 200
CLIENTS = 50
SMALL_PART = 50  # one statement in so many is of `corner`
# What a server of 8 GB would have; nothing that a real one would not dare.
SETTINGS = (
    "fsync=on", "full_page_writes=on", "autovacuum=on", "shared_buffers=2GB", "max_wal_size=4GB",
    "maintenance_work_mem=2GB", "max_connections=120", "max_parallel_maintenance_workers=2",
)  # fmt: skip
_AT_ONCE = 2_000
_ASKED_ALONE, _ASKED_EACH, _COMPARED = 60, 4, 50
_PUSHES, _PUSHED = 5, 20
_BEFORE = 1.7e9


class Team:
    """The statements of a team, in the order in which they came."""

    def __init__(self) -> None:
        self.passages = real_passages()

    def statements(self, first: int, last: int, *, corner: bool) -> Iterator[tuple[str, Chunk]]:
        """Each with its author, of one of the two projects."""
        for number in range(first, last):
            if (number % SMALL_PART == 0) == corner:
                yield author(number), self.statement(number)

    def statement(self, number: int) -> Chunk:
        text = self.passages[number % len(self.passages)]
        return Chunk(id=f"D-{number:07d}", kind="decision", text=text, when=_BEFORE + number * 60)


def author(number: int) -> str:
    """One in 200; the same passage comes from different ones."""
    return f"{(number * 7919 + number // 1000) % AUTHORS:016x}"


class Scale:
    """A team on a server, and its larger project in a database of SQLite."""

    def __init__(self, server: Server, folder: Path, out: Path) -> None:
        self.server, self._folder, self._out = server, folder, out
        self.team, self.table = Team(), StaticTable()
        self.questions = real_questions()
        self._size = 0
        self._seconds: dict[str, float] = {"load": 0.0, "sqlite": 0.0}
        set_up(server)
        self.fleet, self.corner = self._two_of_one_partition()
        for project in (self.fleet, self.corner):
            server.sql("SELECT holdfast.add_project(%s, 'ana')", project)
            server.sql("SELECT holdfast.set_indexed(%s, true)", project, login="ana")
        server.sql("SELECT holdfast.set_member(%s, 'cleo', 'reader')", self.corner, login="ana")
        self.partition = ""

    def _two_of_one_partition(self) -> tuple[str, str]:
        query = (
            "SELECT name FROM unnest(%s::text[]) AS name WHERE satisfies_hash_partition("
            "'holdfast.statement'::regclass, 8, 0, name)"
        )
        rows = self.server.sql(
            query, [f"{kind}-{number}" for number in range(40) for kind in ("fleet", "corner")]
        )
        names = [str(name) for (name,) in rows]
        return next(n for n in names if n.startswith("fleet")), next(
            n for n in names if n.startswith("corner")
        )

    def address(self, login: str) -> Address:
        return parse_address(self.server.address(login))

    @property
    def sqlite(self) -> Path:
        return self._folder / "beside.db"

    def write(self, name: str, **figures: object) -> None:
        load = round(os.getloadavg()[0], 1)
        line = json.dumps({"statements": self._size, "name": name, **figures, "load": load})
        with self._out.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        print(line, flush=True)

    def grow(self, size: int) -> None:
        first, self._size = self._size, size
        self._fill(first, size)
        self._build()
        self._push()
        self._sizes()
        self._recall()
        self._ask("postgres_100", ("postgres", self.server.address("ana"), self.fleet))
        self._ask("postgres_2", ("postgres", self.server.address("cleo"), self.corner))
        self._fill_sqlite(first, size)
        self._ask("sqlite", ("sqlite", str(self.sqlite)))
        self._agreement()

    # --- filling ---------------------------------------------------------------------------------------------

    def _fill(self, first: int, last: int) -> None:
        """As members push: by author, through the index; without the indexes of words and meaning, which come after."""
        for name in self._large_indexes():
            self.server.sql(f"DROP INDEX holdfast.{name}")
        own, start = time.process_time(), time.perf_counter()
        with self._server_time() as spent:
            for project, is_corner in ((self.fleet, False), (self.corner, True)):
                by_author: dict[str, list[Chunk]] = {}
                for who, chunk in self.team.statements(first, last, corner=is_corner):
                    by_author.setdefault(who, []).append(chunk)
                for who, chunks in by_author.items():
                    with TeamIndex(self.address("ana"), project, who) as index:
                        for at in range(0, len(chunks), _AT_ONCE):
                            index.put_many(chunks[at : at + _AT_ONCE])
        seconds = time.perf_counter() - start
        self._seconds["load"] += seconds
        self.write(
            "load", s=round(seconds, 1), rows=last - first, rows_per_s=round((last - first) / seconds),
            all_s=round(self._seconds["load"], 1), client_cpu_s=round(time.process_time() - own, 1),
            server_cpu_s=round(spent[0], 1), distinct=min(last, len(self.team.passages)),
        )  # fmt: skip
        ((place,),) = self.server.sql("SELECT tableoid::regclass::text FROM holdfast.statement LIMIT 1")
        self.partition = str(place)

    def _large_indexes(self) -> list[str]:
        if not self.partition:
            return []
        query = (
            "SELECT c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_am a ON a.oid = c.relam "
            "WHERE x.indrelid = %s::regclass AND a.amname IN ('gin', 'hnsw')"
        )
        return [str(name) for (name,) in self.server.sql(query, self.partition)]

    def _build(self) -> None:
        for name in self._large_indexes():
            self.server.sql(f"DROP INDEX holdfast.{name}")
        for name, how in (
            ("words", "gin (words)"),
            ("wholes", "gin (whole)"),
            ("graph", "hnsw (meaning halfvec_ip_ops) WITH (m = 16, ef_construction = 64)"),
        ):
            start = time.perf_counter()
            with self._server_time() as spent:
                self.server.sql(f"CREATE INDEX ON {self.partition} USING {how}")
            self.write(
                f"build_{name}", s=round(time.perf_counter() - start, 1), server_cpu_s=round(spent[0], 1)
            )
        start = time.perf_counter()
        self.server.sql(f"VACUUM (ANALYZE) {self.partition}")
        self.write("vacuum", s=round(time.perf_counter() - start, 1))

    def _push(self) -> None:
        """What a member waits for whose sync brings some new statements, with all indexes there."""
        times = []
        with self._server_time() as spent, TeamIndex(self.address("ana"), self.fleet, "f" * 16) as index:
            index.put("D-first", "The first one makes the author known", "decision")
            for push in range(_PUSHES):
                number = self._size + push * _PUSHED
                chunks = [
                    Chunk(id=f"P-{one}", kind="decision", text=f"{self.team.statement(one).text} (again)")
                    for one in range(number, number + _PUSHED)
                ]
                start = time.perf_counter()
                index.put_many(chunks)
                times.append((time.perf_counter() - start) * 1000)
            index.delete_many([f"P-{one}" for one in range(self._size, self._size + _PUSHES * _PUSHED)])
        self.write(
            "push", statements_each=_PUSHED, p50_ms=round(statistics.median(times)), most_ms=round(max(times)),
            server_cpu_ms=round(spent[0] * 1000 / _PUSHES),
        )  # fmt: skip

    def _fill_sqlite(self, first: int, last: int) -> None:
        chunks = (chunk for _, chunk in self.team.statements(first, last, corner=False))
        own, start = time.process_time(), time.perf_counter()
        with search.open(self.sqlite) as index:
            while some := list(itertools.islice(chunks, 20_000)):
                index.put_many(some)
        seconds = time.perf_counter() - start
        self._seconds["sqlite"] += seconds
        size = sum(path.stat().st_size for path in self._folder.glob("beside*") if path.is_file())
        self.write(
            "sqlite_load", s=round(seconds, 1), all_s=round(self._seconds["sqlite"], 1),
            cpu_s=round(time.process_time() - own, 1), mb=round(size / 1e6),
        )  # fmt: skip

    def _sizes(self) -> None:
        query = (
            "SELECT c.relname, a.amname, pg_relation_size(c.oid) FROM pg_index x JOIN pg_class c ON c.oid = "
            "x.indexrelid JOIN pg_am a ON a.oid = c.relam WHERE x.indrelid = %s::regclass"
        )
        by_kind: dict[str, float] = {}
        for _, kind, size in self.server.sql(query, self.partition):
            by_kind[f"{kind}_mb"] = by_kind.get(f"{kind}_mb", 0) + float(str(size)) / 1e6
        ((table,),) = self.server.sql("SELECT pg_table_size(%s::regclass)", self.partition)
        self.write(
            "disk",
            table_mb=round(float(str(table)) / 1e6),
            **{k: round(v) for k, v in sorted(by_kind.items())},
        )

    # --- asking ----------------------------------------------------------------------------------------------

    def _recall(self) -> None:
        """The ten nearest by the graph beside all compared, as near or nearer than the tenth: some say the same."""
        for name, login, project in (("100", "ana", self.fleet), ("2", "cleo", self.corner)):
            with connected(self.address(login)) as session:
                session.execute("SET statement_timeout = 0")
                words = PostgresVocabulary(session, project, Splitter())
                words.seen()
                passages = words.counts().passages
                asked = [Query(one, Scope(), None, self._vector(one)) for one in self.questions[:_COMPARED]]

                nearest = partial(_nearest, PostgresSource(session, project, words), asked)
                exact, exact_ms = nearest(10**12)
                graph, graph_ms = nearest(-1)
                product, product_ms = nearest(source._EXACT)
            self.write(
                f"recall_{name}", passages=passages, questions=len(exact), graph=_recall(graph, exact),
                product=_recall(product, exact), least=round(min(map(_shared, graph, exact)), 2),
                short=sum(len(one) < 10 for one in graph), exact_ms=round(exact_ms, 1), graph_ms=round(graph_ms, 1),
                product_ms=round(product_ms, 1), product_is="exact" if passages <= source._EXACT else "graph",
            )  # fmt: skip

    def _vector(self, text: str) -> bytes:
        (vector,) = self.table.embed([text])
        return bytes(vector)

    def _ask(self, name: str, where: tuple[str, ...]) -> None:
        """Whole questions, ranking included, as `search --team` asks them: one client, then fifty at once."""
        alone = self._folder / "alone"
        said = json.dumps([where, self.questions, _ASKED_ALONE, str(alone)])
        with self._server_time() as spent:  # a process of its own, whose memory is its own
            script = (
                "import json, sys; from bench.team_scale import one_client; one_client(*json.load(sys.stdin))"
            )
            subprocess.run([PYTHON, "-c", script], input=said, encoding="utf-8", check=True)
        one = json.loads(alone.read_text(encoding="utf-8"))
        bare = outer([PYTHON, "-c", "pass"], runs=5) * 1000
        self.write(
            f"{name}_1_client", n=_ASKED_ALONE, **_quantiles(one["ms"]), client_cpu_ms=round(one["cpu_ms"], 1),
            server_cpu_ms=round(spent[0] * 1000 / (_ASKED_ALONE + 3), 1), client_mb=round(one["mb"]),
            python_pass_ms=round(bare),
        )  # fmt: skip
        starting = time.time() + 5 + CLIENTS / 5  # until all are there
        files = [self._folder / f"client{number}" for number in range(CLIENTS)]
        with self._server_time() as spent:
            children = [
                fork(partial(one_client, where, self.questions, _ASKED_EACH, str(file), starting, number))
                for number, file in enumerate(files)
            ]
            memory = self._memory(until=starting + 2) if name.startswith("postgres") else 0.0
            codes = [exit_code(child) for child in children]
        answers = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        took = max(told["stop"] for told in answers) - min(told["start"] for told in answers)
        figures = {
            "n": CLIENTS * _ASKED_EACH, **_quantiles([one for told in answers for one in told["ms"]]),
            "questions_per_s": round(CLIENTS * _ASKED_EACH / took, 1), "failed": sum(code != 0 for code in codes),
            "client_cpu_ms": round(statistics.median(told["cpu_ms"] for told in answers), 1),
            "server_cpu_ms": round(spent[0] * 1000 / (CLIENTS * (_ASKED_EACH + 3)), 1),
        }  # fmt: skip
        self.write(f"{name}_{CLIENTS}_clients", **figures, **({"server_mb": round(memory)} if memory else {}))

    def _agreement(self) -> None:
        """Whole answers beside those of SQLite over the same texts; what two authors say alike is one answer."""
        with TeamIndex(self.address("ana"), self.fleet) as there, search.open(self.sqlite) as here:
            first = shared = 0.0
            asked = self.questions[:_COMPARED]
            for question in asked:
                ours = [hit.text for hit in here.search(question, 10)]
                theirs = [hit.text for hit in there.search(question, 10)]
                first += ours[:1] == theirs[:1]
                shared += len(set(ours) & set(theirs)) / max(len(set(ours)), 1)
        self.write(
            "agreement",
            questions=len(asked),
            same_first=round(first / len(asked), 3),
            of_ten=round(shared / len(asked), 3),
        )

    # --- what the server uses ----------------------------------------------------------------------------------

    def _processes(self) -> Iterator[Path]:
        """The server's, which are those with its folder as the working one."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "cwd").readlink() == self.server.folder:
                    yield folder
            except OSError:
                continue

    @contextmanager
    def _server_time(self) -> Iterator[list[float]]:
        """The seconds of the processor that the server spent meanwhile, those of ended sessions too."""
        spent = [0.0]
        before = self._ticks()
        yield spent
        time.sleep(0.2)  # a session that ends is counted once its process was waited for
        spent[0] = (self._ticks() - before) / os.sysconf("SC_CLK_TCK")

    def _ticks(self) -> int:
        total = 0
        for folder in self._processes():
            try:
                fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            total += sum(map(int, fields[11:15]))  # its own, and its children's that have ended
        return total

    def _memory(self, until: float) -> float:
        """MB that the server holds in all while clients ask, what it shares counted once."""
        most = 0.0
        while not most or time.time() < until:
            total = 0
            for folder in self._processes():
                try:
                    lines = (folder / "smaps_rollup").read_text(encoding="utf-8").splitlines()
                except OSError:
                    continue
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
            most = max(most, total / 1000)
            time.sleep(0.5)
        return most


def _nearest(
    where: PostgresSource, asked: Sequence[Query], all_below: int
) -> tuple[list[list[float]], float]:
    """The ten best cosines for each question, and the median time in ms; with so many passages all are compared."""
    before, source._EXACT = source._EXACT, all_below
    found, times = [], []
    try:
        for question in asked:
            start = time.perf_counter()
            cosines = where.by_meaning(question)
            times.append(time.perf_counter() - start)
            found.append(sorted(cosines.values(), reverse=True)[:10])
    finally:
        source._EXACT = before
    return found, statistics.median(times) * 1000


def _shared(found: Sequence[float], exact: Sequence[float]) -> float:
    if not exact:
        return 1.0
    least = exact[-1] - 1e-9
    return min(1.0, sum(cosine >= least for cosine in found) / len(exact))


def _recall(found: Sequence[Sequence[float]], exact: Sequence[Sequence[float]]) -> float:
    return round(statistics.mean(map(_shared, found, exact)), 4)


def _quantiles(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "p50_ms": round(statistics.median(ordered), 1),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)], 1),
    }


def opened(where: Sequence[str]) -> Index:
    if where[0] == "sqlite":
        return search.open(Path(where[1]))
    return TeamIndex(parse_address(where[1]), where[2])


def one_client(
    where: Sequence[str],
    questions: Sequence[str],
    count: int,
    out: str,
    starting: float = 0.0,
    number: int = 0,
) -> None:
    """Asks after three questions that nobody counts, and writes how long each took."""
    with opened(where) as index:
        for question in questions[-3:]:
            index.search(question)
        time.sleep(max(0.0, starting - time.time()))
        own, first, times = time.process_time(), time.time(), []
        for asked in range(count):
            start = time.perf_counter()
            index.search(questions[(number * count + asked) % len(questions)])
            times.append((time.perf_counter() - start) * 1000)
        told = {
            "ms": times, "start": first, "stop": time.time(), "cpu_ms": (time.process_time() - own) * 1000 / count,
            "mb": _peak(),
        }  # fmt: skip
    Path(out).write_text(json.dumps(told), encoding="utf-8")


def _peak() -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM:"))


def measure(folder: Path, sizes: Sequence[int], out: Path) -> None:
    with running_server(folder / "postgres", *SETTINGS) as server:
        scale = Scale(server, folder, out)
        for size in sizes:
            scale.grow(size)


def main() -> int:
    asking = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asking.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), help="how many statements, in rising order"
    )
    asking.add_argument(
        "--out", type=Path, required=True, help="figures are appended here, one JSON line each"
    )
    asking.add_argument(
        "--folder", type=Path, help="where the databases are made; they are removed at the end"
    )
    asked = asking.parse_args()
    if not DATA.is_dir() or why_none():
        print(why_none() or "the histories of ../shared/data are not here", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="team-scale-", dir=asked.folder) as scratch:
        measure(Path(scratch), sorted(int(size) for size in asked.sizes.split(",")), asked.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
