"""What goes wrong in PostgreSQL without a word: too few answers, rows that are missed for ever, bodies parsed again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.patience import wait_until
from tests.postgres.server import Server
from tests.sync.transports import some_packs

from holdfast.postgres import source
from holdfast.postgres.address import parse_address
from holdfast.postgres.connection import connected
from holdfast.postgres.index import _HASHES, TeamIndex
from holdfast.postgres.source import PostgresSource, PostgresVocabulary, as_halfvec, prepare
from holdfast.search import Chunk
from holdfast.search.contract import Query, Scope
from holdfast.search.embed.static import StaticTable
from holdfast.search.stemming import Splitter
from holdfast.sync.postgres import Postgres

if TYPE_CHECKING:
    from holdfast.postgres.connection import Session

pytestmark = pytest.mark.promise("T1")

ANA, BEN = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"
SUBJECTS = ("export client", "billing queue", "login page", "search index", "cache of prices", "test runner")
VERBS = ("retries", "drops", "keeps", "refuses", "measures", "renames", "signs")
ENDS = (
    "after a timeout",
    "before the deploy",
    "when the disk is full",
    "with five workers",
    "on every branch",
)


def slow_publisher(server: Server, seed: str) -> psycopg.Connection[tuple[object, ...]]:
    """A transaction that has added a pack of ben's and is not committed."""
    session = psycopg.connect(host=str(server.socket), port=server.port, user="ben", dbname="team")
    ((name, data),) = some_packs(seed).items()
    session.execute("SELECT holdfast.claim('shop', %s)", [BEN])
    session.execute(
        "INSERT INTO holdfast.pack (project, author, machine, name, data) VALUES ('shop', %s, 'm2', %s, %s)",
        [BEN, name, data],
    )
    return session


def test_what_a_slow_transaction_commits_behind_a_reader_is_not_missed(server: Server) -> None:
    reader = Postgres(server.address("cleo"), "shop")
    with slow_publisher(server, "slow") as slow:
        Postgres(server.address("ana"), "shop").publish(f"{ANA}/m1", some_packs("quick"))
        state, packs = reader.state(), reader.packs()
        assert len(packs) == 1, "what was added later already exists"
        slow.commit()
    assert reader.state() != state
    assert set(reader.packs()) - set(packs) == {(f"{BEN}/m2", name) for name in some_packs("slow")}


def test_a_transaction_that_is_given_up_changes_no_state(server: Server) -> None:
    reader = Postgres(server.address("cleo"), "shop")
    before = reader.state()
    slow = slow_publisher(server, "given up")
    slow.rollback()
    slow.close()
    assert reader.state() == before


@pytest.fixture(scope="module")
def crowded(server: Server) -> Iterator[Server]:
    """3,000 statements, of which ana may see 2%."""
    server.sql("SELECT holdfast.add_project('crowd', 'dan')")
    chance = random.Random(5)
    texts = [
        f"{chance.choice(SUBJECTS)} {number} {chance.choice(VERBS)} {chance.choice(ENDS)}, {chance.choice(SUBJECTS)} too"
        for number in range(3_000)
    ]
    for login, project, author, chosen in (
        ("ana", "shop", ANA, texts[::50]),
        ("dan", "crowd", "dddddddddddddddd", [text for place, text in enumerate(texts) if place % 50]),
    ):
        server.sql("SELECT holdfast.set_indexed(%s, true)", project, login=login)
        with TeamIndex(parse_address(server.address(login)), project, author) as index:
            index.put_many(Chunk(id=text, kind="decision", text=text) for text in chosen)
    server.sql("ANALYZE")
    yield server


def nearest(session: Session, question: str) -> set[int]:
    """The ten nearest passages that a session sees."""
    words = PostgresVocabulary(session, "shop", Splitter())
    words.seen()
    (vector,) = StaticTable().embed([question])
    cosines = PostgresSource(session, "shop", words).by_meaning(Query(question, Scope(), None, vector))
    return set(sorted(cosines, key=lambda number: -cosines[number])[:10])


def test_a_member_who_sees_2_percent_gets_as_many_neighbours_as_there_are(
    crowded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without iterative scans the nearest are looked up first, and those of others then taken away."""
    questions = [f"{subject} {verb} {end}" for subject in SUBJECTS for verb in VERBS[:3] for end in ENDS[:2]]
    with connected(parse_address(crowded.address("ana"))) as session:
        exact = [nearest(session, question) for question in questions]
        monkeypatch.setattr(source, "_EXACT", -1)
        near = [nearest(session, question) for question in questions]
    assert all(len(found) == 10 for found in near)
    recalls = [len(one & other) / 10 for one, other in zip(near, exact, strict=True)]
    assert sum(recalls) / len(recalls) >= 0.95


def test_the_trap_is_real_without_iterative_scans(crowded: Server) -> None:
    (vector,) = StaticTable().embed(["export client retries"])
    query = (
        "SELECT n FROM holdfast.statement WHERE project = 'shop' ORDER BY meaning OPERATOR(pg_catalog.<#>) "
        "%s::pg_catalog.halfvec LIMIT 10"
    )
    found = {}
    with connected(parse_address(crowded.address("postgres"))) as session:
        session.execute("SELECT NULL::pg_catalog.halfvec")
        for setting in ("enable_seqscan", "enable_bitmapscan", "enable_sort"):
            session.execute(f"SET {setting} = off".encode())
        session.execute("SET hnsw.ef_search = 40")
        for scan in ("off", "relaxed_order"):
            session.execute(f"SET hnsw.iterative_scan = {scan}".encode())
            found[scan] = len(session.execute(query.encode(), [as_halfvec(vector)]).fetchall())
    assert found["off"] < found["relaxed_order"] == 10


def test_no_search_parses_a_body_again(crowded: Server) -> None:
    """The words are stored, and no function of a search makes any of a body."""
    functions = crowded.sql(
        "SELECT prosrc FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace AND proname = ANY (%s)",
        ["by_words", "frequencies", "beginning"],
    )
    assert len(functions) == 3 and "to_tsvector" not in repr(functions)


def test_candidates_by_words_come_from_the_index_of_words_in_spite_of_the_policies(crowded: Server) -> None:
    """An operator that is not leakproof uses no index below a policy: so the functions ask who is asking."""
    crowded.sql("SELECT pg_stat_reset()")
    with TeamIndex(parse_address(crowded.address("ana")), "shop") as index:
        index.session.execute("SET enable_seqscan = off")
        assert index.search("export client retries")
        index.session.execute("SELECT pg_stat_force_next_flush()")
    used = "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname LIKE 'statement%words%'"
    assert wait_until(lambda: crowded.sql(used) > [(0,)], 30)


def rows_read(session: Session) -> int:
    """Of the statements, by this transaction so far."""
    query = (
        "SELECT coalesce(sum(coalesce(idx_tup_fetch, 0) + seq_tup_read), 0)::bigint FROM pg_stat_xact_all_tables "
        "WHERE schemaname = 'holdfast' AND relname LIKE 'statement%'"
    )
    ((count,),) = session.execute(query).fetchall()
    return int(str(count))


def test_a_row_is_looked_up_and_not_found_by_reading_the_whole_project(crowded: Server) -> None:
    """Without statistics a plan takes a project for two rows: what it then reads grows with the team."""
    with connected(parse_address(crowded.address("dan"))) as session:
        prepare(session)
        words = PostgresVocabulary(session, "crowd", Splitter())
        words.seen()
        found = session.execute(
            "SELECT n, chunk, id, start, stop FROM holdfast.statement WHERE project = 'crowd' LIMIT 5"
        ).fetchall()
        numbers, chunks = [int(str(row[0])) for row in found], [int(str(row[1])) for row in found]
        (vector,) = StaticTable().embed(["export client"])
        question, scope = Query(f"{found[0][2]}", Scope(), None, vector), Scope()
        asked = PostgresSource(session, "crowd", words)
        looks = {
            "of": lambda: asked.of(numbers, chunks, scope),
            "cosines": lambda: asked.cosines(question, numbers),
            "rows": lambda: asked.rows([(chunk, 0, 10) for chunk in chunks]),
            "followers": lambda: list(asked.followers(chunks)),
            "around": lambda: list(asked.around(7, 1.0, 3)),
            "named": lambda: asked.named(question),
            "newest": lambda: asked.newest(None),
            "listed": lambda: asked.listed(scope, 5),
            "hashes": lambda: session.execute(
                _HASHES, ["crowd", [str(row[2]) for row in found], "d" * 16]
            ).fetchall(),
        }
        read = {}
        for name, look in looks.items():
            with session.transaction():
                before = rows_read(session)
                look()
                read[name] = rows_read(session) - before
    assert max(read.values()) <= 50, read
    assert read["of"] >= 5, "it is counted at all"


def test_the_nearest_come_from_the_graph_where_not_all_are_compared(
    crowded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_EXACT", -1)
    used = "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname LIKE 'statement%meaning%'"
    crowded.sql("SELECT pg_stat_reset()")
    with connected(parse_address(crowded.address("ana"))) as session:
        assert len(nearest(session, "export client retries")) == 10
        session.execute("SELECT pg_stat_force_next_flush()")
    assert wait_until(lambda: crowded.sql(used) > [(0,)], 30)
