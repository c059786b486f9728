"""What another member's plain SQL session can do: nothing of a project without access is seen, changed or guessed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from hashlib import sha256

import psycopg
import pytest
from tests.postgres.server import Server
from tests.sync.transports import some_packs

from holdfast.postgres.address import parse_address
from holdfast.postgres.connection import ServerError
from holdfast.postgres.index import TeamIndex
from holdfast.postgres.source import as_halfvec
from holdfast.search import Chunk
from holdfast.search.embed.static import StaticTable
from holdfast.sync.postgres import Postgres
from holdfast.sync.transport import SyncError

pytestmark = pytest.mark.promise("T2")

ANA, BEN, DAN = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "dddddddddddddddd"
SECRET = b"the vault opens with xyzzy"


@pytest.fixture(scope="module")
def filled(server: Server) -> Server:
    Postgres(server.address("ana"), "shop").publish(f"{ANA}/m1", some_packs("a", "b"))
    Postgres(server.address("ben"), "shop").publish(f"{BEN}/m2", some_packs("c"))
    name = sha256(SECRET).hexdigest()[:40]
    Postgres(server.address("dan"), "vault").publish(f"{DAN}/m3", {name: SECRET})
    for login, project, author, body in (
        ("ana", "shop", ANA, "the export client makes five attempts"),
        ("dan", "vault", DAN, SECRET.decode()),
    ):
        server.sql("SELECT holdfast.set_indexed(%s, true)", project, login=login)
        with TeamIndex(parse_address(server.address(login)), project, author) as index:
            index.put("D-1", body, "decision")
    server.sql("ANALYZE")
    return server


@pytest.fixture
def unchanged(filled: Server) -> Iterator[Server]:
    """What an attack must leave as it is, in both projects."""

    def everything() -> list[object]:
        tables = ("project", "member", "author", "pack", "statement", "tally")
        return [sorted(map(repr, filled.sql(f"SELECT * FROM holdfast.{table}"))) for table in tables]

    before = everything()
    yield filled
    assert everything() == before


SEES = [
    "SELECT * FROM holdfast.pack",
    "SELECT * FROM holdfast.statement",
    "SELECT * FROM holdfast.pack WHERE project = 'vault'",
    "SELECT * FROM holdfast.project",
    "SELECT * FROM holdfast.member",
    "SELECT * FROM holdfast.author",
    "SELECT count(*) FROM holdfast.pack WHERE project = 'vault' HAVING count(*) > 0",
    "TABLE holdfast.pack_0 UNION ALL TABLE holdfast.pack_1 UNION ALL TABLE holdfast.pack_2",
    "SELECT tableoid::regclass, * FROM ONLY holdfast.pack",
    "SELECT * FROM pg_catalog.pg_stats WHERE schemaname = 'holdfast'",
    "SELECT * FROM pg_catalog.pg_statistic",
    "SELECT query FROM pg_catalog.pg_stat_activity WHERE usename = 'dan'",
    "SELECT holdfast.readable() || holdfast.writable() || holdfast.owned()",
    "SELECT 1 WHERE holdfast.is_mine('vault', 'dddddddddddddddd')",
    "SELECT 1 WHERE holdfast.claim('vault', 'eeeeeeeeeeeeeeee')",
    "SELECT a.* FROM holdfast.pack p RIGHT JOIN holdfast.author a ON a.project = 'vault'",
    "SELECT body FROM holdfast.statement ORDER BY meaning <=> array_fill(0.5, ARRAY[384])::halfvec(384) LIMIT 10",
    "SELECT body FROM holdfast.statement WHERE words @@ 'xyzzy'::tsquery",
    "SELECT * FROM ts_stat('SELECT words FROM holdfast.statement')",
    "WITH a AS MATERIALIZED (SELECT * FROM holdfast.pack) SELECT * FROM a",
    "DELETE FROM holdfast.pack WHERE project = 'vault' RETURNING *",
    "COPY (SELECT * FROM holdfast.pack) TO STDOUT",
    "COPY holdfast.pack_3 TO STDOUT",
    "SELECT * FROM holdfast.tally",
    "SELECT holdfast.indexed()",
    "SELECT * FROM holdfast.frequencies('vault', ARRAY['vault', 'xyzzi'], false, 10)",
    "SELECT * FROM holdfast.beginning('vault', 'xy', 10)",
    "SELECT s.body FROM holdfast.statement s JOIN holdfast.by_words('vault', ARRAY['xyzzi'], ARRAY[1.0]::float8[], 5, "
    "false, NULL, NULL, NULL, NULL, 10) w ON w.n = s.n",
    "EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM holdfast.by_words('vault', ARRAY['xyzzi'], ARRAY[1.0]::float8[], 5, "
    "false, NULL, NULL, NULL, NULL, 10)",
    "SELECT channel FROM holdfast.project WHERE id = 'vault'",
    "SELECT id, body, words FROM holdfast.statement",
    "SELECT body FROM holdfast.by_id('vault', ARRAY['D-1'])",
    "SELECT body FROM holdfast.by_number('vault', ARRAY[hashtextextended('dddddddddddddddd/D-1/0', 0)])",
    "SELECT body FROM holdfast.by_chunk('vault', ARRAY[hashtextextended('dddddddddddddddd/D-1', 0)])",
    "SELECT body FROM holdfast.by_chunk('shop', ARRAY[hashtextextended('dddddddddddddddd/D-1', 0)])",
    "SELECT * FROM holdfast.parts('vault', ARRAY[hashtextextended('dddddddddddddddd/D-1', 0)], ARRAY[0], ARRAY[99])",
    "SELECT * FROM holdfast.nearest('vault', array_fill(1, ARRAY[384])::halfvec(384), NULL, NULL, NULL, NULL, true, 10)",
    "SELECT * FROM holdfast.followers('vault', ARRAY[hashtextextended('dddddddddddddddd/D-1', 0)]) HAVING count(*) > 0",
    "SELECT 1 FROM holdfast.named_from('vault', 'D', 'E', NULL, NULL, NULL, NULL, 5)",
    "SELECT most_common_vals, histogram_bounds FROM pg_catalog.pg_stats_ext",
    "SELECT query, query_start, state FROM pg_catalog.pg_stat_activity WHERE usename <> session_user",
    "SELECT pg_catalog.pg_listening_channels()",
    "SELECT last_value FROM pg_catalog.pg_sequences WHERE schemaname = 'holdfast'",
    "SELECT pg_catalog.lo_get(loid) FROM pg_catalog.pg_largeobject_metadata AS m (loid)",
    "DELETE FROM holdfast.statement WHERE project = 'vault' RETURNING body",
    "INSERT INTO holdfast.statement (project, author, id, start, stop, hash, kind, body, length, words) VALUES "
    "('vault', 'dddddddddddddddd', 'D-1', 0, 1, '', 'fact', 'x', 1, '')",
    "SELECT pg_catalog.pg_read_file('postgresql.conf')",
    "SELECT * FROM pg_catalog.pg_get_multixact_members('1')",
]
CHANGES = [
    "UPDATE holdfast.pack SET data = ''",
    "UPDATE holdfast.pack SET project = 'shop' WHERE project = 'vault'",
    "UPDATE holdfast.statement SET project = 'vault'",
    "UPDATE holdfast.statement SET body = 'changed' WHERE project = 'vault'",
    "TRUNCATE holdfast.pack",
    "DROP TABLE holdfast.pack",
    "ALTER TABLE holdfast.pack DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE holdfast.pack OWNER TO ben",
    "CREATE POLICY mine ON holdfast.pack USING (true)",
    "CREATE TABLE holdfast.mine (a int)",
    "CREATE FUNCTION holdfast.readable() RETURNS text[] LANGUAGE sql AS $$ SELECT ARRAY['vault'] $$",
    "INSERT INTO holdfast.member VALUES ('vault', 'ben', 'owner')",
    "INSERT INTO holdfast.project VALUES ('mine')",
    "INSERT INTO holdfast.author VALUES ('vault', 'eeeeeeeeeeeeeeee', 'ben')",
    "SELECT holdfast.set_member('vault', 'ben', 'reader')",
    "SELECT holdfast.set_member('shop', 'ben', 'owner')",
    "SELECT holdfast.add_project('vault', 'ben')",
    "SET ROLE dan",
    "SET SESSION AUTHORIZATION dan",
    "SET ROLE postgres",
    "INSERT INTO holdfast.migration VALUES (99, 'x', 'x', 99)",
    "INSERT INTO holdfast.pack_3 SELECT * FROM holdfast.pack",
    "DELETE FROM holdfast.pack WHERE author = 'aaaaaaaaaaaaaaaa'",
    "DELETE FROM holdfast.statement WHERE author = 'aaaaaaaaaaaaaaaa'",
    "GRANT SELECT ON holdfast.pack TO PUBLIC",
    "CREATE RULE r AS ON INSERT TO holdfast.pack DO ALSO NOTHING",
    "CREATE TRIGGER t BEFORE INSERT ON holdfast.pack FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger()",
    "LOCK TABLE holdfast.member IN ACCESS EXCLUSIVE MODE",
    "SELECT holdfast.set_indexed('vault', false)",
    "SELECT holdfast.set_indexed('shop', false)",
    "SELECT holdfast.recount('vault', 'dddddddddddddddd')",
    "SELECT holdfast.set_mark('vault', 'dddddddddddddddd', 'x'), holdfast.set_mark('shop', 'aaaaaaaaaaaaaaaa', 'x')",
    "UPDATE holdfast.project SET is_indexed = true, channel = 'mine'",
    "INSERT INTO holdfast.tally (project, author) VALUES ('shop', 'bbbbbbbbbbbbbbbb')",
    "SELECT holdfast.index_partition('holdfast.statement_0')",
    "CREATE TRIGGER t AFTER INSERT ON holdfast.pack FOR EACH ROW EXECUTE FUNCTION holdfast.tell()",
]


@pytest.mark.parametrize("login", ["ben", "cleo"])
@pytest.mark.parametrize("attack", SEES + CHANGES)
def test_plain_sql_sees_and_changes_nothing_of_others(unchanged: Server, login: str, attack: str) -> None:
    try:
        seen = repr(unchanged.sql(attack, login=login))
    except psycopg.Error as error:
        seen = str(error)
    if attack in SEES:
        assert "vault" not in seen.replace("'vault'", "") and "xyzzy" not in seen and DAN not in seen
        assert SECRET.hex() not in seen


@pytest.mark.parametrize("login", ["ben", "cleo"])
def test_a_function_of_ones_own_sees_no_row_before_the_policy(unchanged: Server, login: str) -> None:
    notices: list[str] = []
    with psycopg.connect(
        host=str(unchanged.socket), port=unchanged.port, user=login, dbname="team", autocommit=True
    ) as session:
        session.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
        session.execute(
            "CREATE FUNCTION pg_temp.leak(value text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS "
            "$$ BEGIN RAISE NOTICE 'seen %', value; RETURN true; END $$"
        )
        for table, column in (
            ("pack", "project"),
            ("statement", "body"),
            ("member", "login"),
            ("author", "author"),
        ):
            session.execute(
                f"SELECT {column} FROM holdfast.{table} WHERE pg_temp.leak({column}::text)".encode()
            )
            session.execute(b"DELETE FROM holdfast.pack WHERE pg_temp.leak(project) AND false")
        session.execute(
            "CREATE VIEW pg_temp.all_of_it AS SELECT body FROM holdfast.statement WHERE pg_temp.leak(body)"
        )
        session.execute("SELECT * FROM pg_temp.all_of_it")
    assert notices, "the function was called"
    assert not [
        notice
        for notice in notices
        if "vault" in notice or "xyzzy" in notice or DAN in notice or "dan" in notice
    ]


@pytest.mark.parametrize(
    "condition",
    [
        "1 / (CASE WHEN project = 'vault' THEN 0 ELSE 1 END) = 1",
        "body::int = 1 AND project = 'vault'",
        "('{' || body)::json IS NULL",
    ],
)
def test_an_error_message_quotes_nothing_of_others(unchanged: Server, condition: str) -> None:
    try:
        unchanged.sql(f"SELECT count(*) FROM holdfast.statement WHERE {condition}", login="ben")
    except psycopg.Error as error:
        assert "xyzzy" not in str(error) and "division" not in str(error)


def test_explain_estimates_the_same_for_a_project_that_is_there_and_one_that_is_not(
    unchanged: Server,
) -> None:
    def plan(condition: str, table: str) -> str:
        lines = unchanged.sql(f"EXPLAIN SELECT project FROM holdfast.{table} WHERE {condition}", login="ben")
        return re.sub(r"(pack|statement)_\d|'[^']*'", "", repr(lines))

    for table in ("pack", "statement"):
        for there, not_there in (
            ("project = 'vault'", "project = 'other'"),
            ("author = 'dddddddddddddddd'", "author = 'dddddddddddddddc'"),
            ("project BETWEEN 'u' AND 'w'", "project BETWEEN 'j' AND 'l'"),
        ):
            assert plan(there, table) == plan(not_there, table)
    assert plan("body LIKE 'the vault%'", "statement") == plan("body LIKE 'xyz never%'", "statement")
    for table, column in (("project", "id"), ("member", "login"), ("author", "login")):
        assert plan(f"{column} = 'dan'", table) == plan(f"{column} = 'eve'", table)


def test_explain_analyze_counts_no_row_of_a_project_that_is_guessed(unchanged: Server) -> None:
    """What a policy takes away is counted in a plan that was run: so an index must not find it first."""

    def plan(condition: str) -> str:
        query = f"EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT id FROM holdfast.statement WHERE {condition}"
        with psycopg.connect(
            host=str(unchanged.socket), port=unchanged.port, user="ben", dbname="team", autocommit=True
        ) as session:
            for setting in ("enable_seqscan", "enable_bitmapscan"):
                session.execute(f"SET {setting} = off".encode())
            lines = session.execute(query.encode()).fetchall()
        return re.sub(r"statement_\d\w*|'[^']*'|cost=\S+", "", repr(lines))

    for there, not_there in (
        ("project = 'vault'", "project = 'other'"),
        ("project = 'vault' AND id = 'D-1'", "project = 'vault' AND id = 'D-2'"),
        (
            "project = 'vault' AND author = 'dddddddddddddddd'",
            "project = 'vault' AND author = 'dddddddddddddddc'",
        ),
        (
            "project = 'vault' AND n = hashtextextended('dddddddddddddddd/D-1/0', 0)",
            "project = 'vault' AND n = hashtextextended('dddddddddddddddd/D-2/0', 0)",
        ),
    ):
        assert plan(there) == plan(not_there)


def test_nobody_orders_by_meaning_past_the_functions(unchanged: Server) -> None:
    """The graph passes rows of others on its way: how many is in a plan, and in an answer that is too short."""
    vector = "array_fill(1, ARRAY[384])::pg_catalog.halfvec(384)"
    for query in (
        f"SELECT id FROM holdfast.statement ORDER BY meaning <#> {vector} LIMIT 1",
        "SELECT meaning FROM holdfast.statement",
        "INSERT INTO holdfast.statement (project, author, id, start, stop, hash, kind, body, length, words) "
        f"VALUES ('shop', '{BEN}', 'D-9', 0, 1, '', 'fact', 'x', 1, '') RETURNING meaning",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            unchanged.sql(query, login="ben")


def test_a_session_cannot_make_the_answers_of_the_graph_short(crowded_by_others: Server) -> None:
    """With what others have in the way: the settings are those of the function, and not of who asks."""
    with psycopg.connect(
        host=str(crowded_by_others.socket),
        port=crowded_by_others.port,
        user="ana",
        dbname="team",
        autocommit=True,
    ) as session:
        session.execute("SELECT NULL::pg_catalog.halfvec")
        session.execute("SET hnsw.ef_search = 1")
        session.execute("SET hnsw.iterative_scan = off")
        call = "SELECT n FROM holdfast.nearest('few', %s, NULL, NULL, NULL, NULL, false, 5)"
        (vector,) = StaticTable().embed(["the vault opens with a key"])
        assert len(session.execute(call.encode(), [as_halfvec(vector)]).fetchall()) == 5


@pytest.fixture(scope="module")
def crowded_by_others(server: Server) -> Server:
    """Five statements of ana in the partition in which dan has 600 that are nearer to what is asked."""
    place = "SELECT holdfast.partition_of(%s)::text"
    for login, project, author in (("ana", "few", ANA), ("dan", "many", DAN)):
        for number in itertools.count():
            name = project if project == "few" else f"{project}-{number}"
            server.sql("SELECT holdfast.add_project(%s, %s)", name, login)
            server.sql("SELECT holdfast.set_indexed(%s, true)", name, login=login)
            bodies = [f"Lighthouse {n} is painted every summer" for n in range(5)]
            with TeamIndex(parse_address(server.address(login)), name, author) as index:
                index.put("D-0", bodies[0])
                if name == "few" or server.sql(place, name) == server.sql(place, "few"):
                    texts = (
                        bodies if name == "few" else [f"The vault {n} opens with a key" for n in range(600)]
                    )
                    index.put_many(Chunk(id=f"D-{n}", text=text) for n, text in enumerate(texts))
                    break
    return server


def test_who_may_fill_the_schema_of_the_extension_cannot_lend_others_an_operator(server: Server) -> None:
    """A function that fits better than the one that is meant would run with the rights of who asks."""
    server.sql("CREATE SCHEMA open_to_all")
    server.sql("GRANT ALL ON SCHEMA open_to_all, public TO PUBLIC")
    server.sql(
        "CREATE FUNCTION public.hashtextextended(text, integer) RETURNS bigint LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'mine was called'; END $$", login="ben",
    )  # fmt: skip
    try:
        with TeamIndex(parse_address(server.address("ana")), "shop", ANA) as index:
            index.put("D-path", "whose function is called")
            assert index.search("whose function is called")[0].id == "D-path"
            index.delete("D-path")
        server.sql("ALTER EXTENSION vector SET SCHEMA open_to_all")
        with (
            pytest.raises(ServerError, match="every login may put operators"),
            TeamIndex(parse_address(server.address("ana")), "shop"),
        ):
            pass
    finally:
        server.sql("ALTER EXTENSION vector SET SCHEMA pg_catalog")
        server.sql("DROP FUNCTION public.hashtextextended(text, integer)")
        server.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        server.sql("DROP SCHEMA open_to_all")


def test_what_is_locked_tells_nobody_who_writes_where(server: Server) -> None:
    """Everybody sees the keys of locks: a hash of project and author would be a guess that can be checked."""
    with TeamIndex(parse_address(server.address("ana")), "shop", ANA) as index, index._writing():
        seen = server.sql("SELECT classid, objid FROM pg_locks WHERE locktype = 'advisory'", login="dan")
        assert seen, "there is a lock"
        guesses = server.sql(
            "SELECT (h >> 32) & 4294967295, h & 4294967295 FROM (SELECT hashtextextended(guess, seed) AS h FROM "
            "unnest(%s::text[]) AS guess, generate_series(0, 3) AS seed) AS guessed",
            [f"shop/{ANA}", "shop", ANA, f"/{ANA}", f"shop{ANA}"], login="dan",
        )  # fmt: skip
    assert not {tuple(map(int, map(str, one))) for one in seen} & {
        tuple(map(int, map(str, one))) for one in guesses
    }


def test_the_functions_of_a_search_answer_nothing_of_a_project_without_access(unchanged: Server) -> None:
    """They look past the policies, so they must ask themselves who asks."""
    asked = {
        "frequencies": "ARRAY['vault', 'xyzzi', 'nothing'], {of_wholes}, 10",
        "beginning": "'xy', 10",
        "by_words": "ARRAY['xyzzi', 'vault'], ARRAY[1, 1]::float8[], 5, {of_wholes}, NULL, NULL, NULL, NULL, 10",
    }
    for name, values in asked.items():
        for of_wholes in ("false", "true"):
            calls = [
                f"SELECT * FROM holdfast.{name}('{project}', {values.format(of_wholes=of_wholes)})"
                for project in ("vault", "nothing-there")
            ]
            assert unchanged.sql(calls[0], login="ben") == unchanged.sql(calls[1], login="ben") == []
            if of_wholes == "false":
                assert unchanged.sql(calls[0], login="dan") != [], "there is something to be found"


def test_a_word_is_no_operator_of_a_query(unchanged: Server) -> None:
    with TeamIndex(parse_address(unchanged.address("ben")), "shop") as index:
        for odd in ("it's", "a\\'b", "' | 'xyzzy", "x & !y", "''", "\\", "%s %L", "a:*"):
            assert all("xyzzy" not in hit.text for hit in index.search(odd))
    hostile = ["'); DROP TABLE holdfast.pack; --", "\\', 'a'::tsquery) --", "' & 'a"]
    call = "SELECT * FROM holdfast.by_words('shop', %s, %s, 5, false, NULL, NULL, NULL, NULL, 10)"
    assert unchanged.sql(call, hostile, [1.0, 1.0, 1.0], login="ben") == []


def test_nothing_is_stored_in_clear_text_where_no_owner_asked_for_it(server: Server) -> None:
    server.sql("SELECT holdfast.add_project('quiet', 'ana')")
    address = parse_address(server.address("ana"))
    with TeamIndex(address, "quiet", ANA) as index:
        with pytest.raises(ServerError, match="not searchable on the server"):
            index.put("D-1", "five attempts")
        server.sql("SELECT holdfast.set_indexed('quiet', true)", login="ana")
        index.put("D-1", "five attempts")
        server.sql("SELECT holdfast.set_indexed('quiet', false)", login="ana")
        assert list(index.ids()) == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        server.sql(
            "INSERT INTO holdfast.statement (project, author, id, start, stop, hash, kind, body, length, words) "
            "VALUES ('quiet', %s, 'D-1', 0, 1, '', 'fact', 'x', 1, '')", ANA, login="ana",
        )  # fmt: skip


def test_the_same_answer_for_a_project_of_others_and_for_none(unchanged: Server) -> None:
    answers = set()
    for project in ("vault", "nothing-there"):
        for statement in (
            f"SELECT holdfast.set_member('{project}', 'ben', 'owner')",
            f"INSERT INTO holdfast.pack (project, author, machine, name, data) VALUES ('{project}', '{DAN}', 'm3', '{'0' * 40}', '')",
        ):
            with pytest.raises(psycopg.Error) as caught:
                unchanged.sql(statement, login="ben")
            answers.add((statement.partition("(")[0], str(caught.value).replace(project, "")))
        with pytest.raises(SyncError) as refused:
            Postgres(unchanged.address("ben"), project).packs()
        answers.add(("packs", refused.value.line().replace(project, "")))
    assert len(answers) == 3


def test_a_member_publishes_under_no_other_name(unchanged: Server) -> None:
    with pytest.raises(SyncError, match="you do not have write access"):
        Postgres(unchanged.address("ben"), "shop").publish(f"{ANA}/m1", some_packs("forged"))


def test_a_reader_reads_and_writes_nothing(unchanged: Server) -> None:
    transport = Postgres(unchanged.address("cleo"), "shop")
    assert len(transport.packs()) == 3
    with pytest.raises(SyncError, match="you do not have write access"):
        transport.publish("cccccccccccccccc/m9", some_packs("mine"))


def test_bytes_that_are_not_what_their_name_says_are_refused_by_the_server(unchanged: Server) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        unchanged.sql(
            "INSERT INTO holdfast.pack (project, author, machine, name, data) VALUES ('shop', %s, 'm2', %s, 'x')",
            BEN, "0" * 40, login="ben",
        )  # fmt: skip


def test_a_login_without_the_role_sees_nothing_at_all(unchanged: Server) -> None:
    unchanged.sql("CREATE ROLE eve LOGIN")
    for table in ("pack", "statement", "member", "project", "author", "migration"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            unchanged.sql(f"SELECT * FROM holdfast.{table}", login="eve")


def test_removing_a_member_ends_an_open_session_with_a_prepared_statement_and_an_open_cursor(
    server: Server,
) -> None:
    server.sql("CREATE ROLE fay LOGIN IN ROLE holdfast_member")
    server.sql("SELECT holdfast.set_member('shop', 'fay', 'member')", login="ana")
    Postgres(server.address("fay"), "shop").publish("ffffffffffffffff/m1", some_packs("fay"))
    with psycopg.connect(
        host=str(server.socket), port=server.port, user="fay", dbname="team", autocommit=True
    ) as session:
        count = "SELECT count(*) FROM holdfast.pack"
        session.execute("PREPARE mine AS SELECT count(*) FROM holdfast.pack")
        before = session.execute("EXECUTE mine").fetchall()
        assert before == session.execute(count, prepare=True).fetchall() != [(0,)]
        server.sql("SELECT holdfast.set_member('shop', 'fay', NULL)", login="ana")
        assert session.execute("EXECUTE mine").fetchall() == [(0,)]
        assert session.execute(count, prepare=True).fetchall() == [(0,)]
    with pytest.raises(SyncError, match="not a member"):
        Postgres(server.address("fay"), "shop").publish("ffffffffffffffff/m1", some_packs("late"))
    Postgres(server.address("ana"), "shop").publish(f"{ANA}/m1", {}, drop=())
    server.sql("DELETE FROM holdfast.pack WHERE author = 'ffffffffffffffff'", login="ana")
    assert server.sql("SELECT count(*) FROM holdfast.pack WHERE author = 'ffffffffffffffff'") == [(0,)], (
        "an owner may"
    )


def test_a_project_keeps_an_owner(server: Server) -> None:
    for role in (None, "reader"):
        with pytest.raises(psycopg.Error, match="needs an owner"):
            server.sql("SELECT holdfast.set_member('shop', 'ana', %s)", role, login="ana")
