"""What goes wrong in PostgreSQL without a word: too few answers, rows that are missed for ever, bodies parsed again."""

from __future__ import annotations

import random
from collections.abc import Iterator

import psycopg
import pytest
from tests.postgres.server import Server
from tests.sync.transports import some_packs

from holdfast.postgres.address import parse_address
from holdfast.postgres.connection import connected
from holdfast.postgres.statements import Statement, TeamIndex
from holdfast.sync.postgres import Postgres

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
        assert len(packs) == 1, "what was added later is there already"
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
        with TeamIndex(parse_address(server.address(login)), project) as index:
            index.put(author, [Statement(id=text, kind="decision", body=text) for text in chosen])
    server.sql("ANALYZE")
    yield server


def test_a_member_who_sees_2_percent_gets_as_many_neighbours_as_there_are(crowded: Server) -> None:
    """Without iterative scans the nearest are looked up first, and those of others then taken away."""
    recalls = []
    with TeamIndex(parse_address(crowded.address("ana")), "shop") as index:
        for question in [
            f"{subject} {verb} {end}" for subject in SUBJECTS for verb in VERBS[:3] for end in ENDS[:2]
        ]:
            nearest = [statement.id for statement in index.by_meaning(question, 10)]
            exact = [statement.id for statement in index.by_meaning(question, 10, exact=True)]
            assert len(nearest) == 10
            recalls.append(len(set(nearest) & set(exact)) / 10)
    assert sum(recalls) / len(recalls) >= 0.95


def test_the_trap_is_real_without_iterative_scans(crowded: Server) -> None:
    with TeamIndex(parse_address(crowded.address("ana")), "shop") as index:
        index.session.execute("SET enable_seqscan = off")
        index.session.execute("SET enable_bitmapscan = off")
        index.session.execute("SET enable_sort = off")
        index.session.execute("SET hnsw.iterative_scan = off")
        short = len(index.by_meaning("export client retries", 10))
        index.session.execute("SET hnsw.iterative_scan = relaxed_order")
        full = len(index.by_meaning("export client retries", 10))
    assert short < full == 10


def test_no_search_parses_a_body_again(crowded: Server) -> None:
    with connected(parse_address(crowded.address("ana"))) as session:
        ((stored,),) = session.execute(
            "SELECT attgenerated FROM pg_attribute WHERE attrelid = 'holdfast.statement'::regclass AND attname = 'words'"
        ).fetchall()
    assert stored == "s"
    with TeamIndex(parse_address(crowded.address("ana")), "shop") as index:
        plan = index.explain("export client retries")
    assert "to_tsvector" not in plan and "words" in plan
