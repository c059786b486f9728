"""Which row of a session counts, as SQL: what `ledger/order.py` says of rows, for tables that are too large for it.

A test compares the two on any rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.stamp import NEVER
from holdfast.ledger.order import FORGOTTEN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COUNTERS = "|".join(["[0-9]", *(f"{letter}[1-9][0-9]{{{n}}}" for n, letter in enumerate("abcdefgh", 1))])
_STAMP = rf"^[0-9]{{8}}T([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]\.[0-9]{{3}}-({_COUNTERS})-[a-z0-9]{{0,12}}$"
_TEXT = "coalesce(clock, '')"
_USED = f"string_split({_TEXT}, '<')[1]"
_CLAIM = f"(CASE WHEN contains({_TEXT}, '<') THEN substr(clock, instr(clock, '<') + 1) ELSE {_TEXT} END)"
_OF_TIME = f"coalesce(strftime(recorded AT TIME ZONE 'UTC', '%Y%m%dT%H%M%S.%g') || '-0-', '{NEVER}')"
# The text of a stamp sorts as the stamp does. A cell that is no stamp counts by the time of recording.
_STAMP_OF_ROW = f"""(CASE WHEN regexp_matches({_USED}, '{_STAMP}')
    AND try_strptime(substr({_USED}, 1, 8), '%Y%m%d') IS NOT NULL THEN {_USED} ELSE {_OF_TIME} END)"""
_KNOWN = "(coalesce(clock, '') <> '' OR recorded IS NOT NULL)"


def latest_sql(source: str, columns: str) -> str:
    """A query for these columns of the rows that count.

    The source has session, clock, recorded, outcome, and `place`, which decides where nothing else does.
    """
    return f"""SELECT {columns} FROM (
    SELECT *, {_CLAIM} AS _claim,
        min({_STAMP_OF_ROW}) OVER (PARTITION BY session, {_CLAIM}, recorded, outcome) AS _stamp,
        bool_or({_TEXT} <> '') OVER (PARTITION BY session) AS _stamped,
        coalesce(bool_or(outcome = '{FORGOTTEN}') OVER (PARTITION BY session), false) AS _gone
    FROM {source})
QUALIFY NOT _gone AND row_number() OVER (PARTITION BY session ORDER BY
    CASE WHEN _stamped THEN _stamp ELSE '{NEVER}' END DESC,
    coalesce(recorded AT TIME ZONE 'UTC', '0001-01-01'::TIMESTAMP) DESC,
    CASE WHEN {_KNOWN} THEN _claim ELSE '' END DESC,
    CASE WHEN {_KNOWN} THEN coalesce(outcome, '') ELSE '' END DESC,
    place DESC) = 1"""


def latest_places(database: DuckDBPyConnection, source: str) -> str:
    """A condition for the rows that count.

    Most sessions have one row, and sorting ten million rows for the others takes longer than any figure over them.
    So the sessions that may have several are found first, by a hash of their ids; two ids that share one are looked at
    twice and not mixed up.
    """
    database.execute(
        f"CREATE TEMP TABLE _repeated AS SELECT hash(session) AS id FROM {source} GROUP BY ALL HAVING count(*) > 1"
    )
    single = f"outcome IS DISTINCT FROM '{FORGOTTEN}'"
    if not database.execute("SELECT count(*) FROM _repeated").fetchall()[0][0]:
        return single
    database.execute(
        "CREATE TEMP TABLE _candidates AS SELECT session, clock, recorded, outcome, place "
        f"FROM {source} WHERE hash(session) IN (SELECT id FROM _repeated)"
    )
    latest = latest_sql("_candidates", "place")
    database.execute(f"CREATE TEMP TABLE _replaced AS SELECT place FROM _candidates EXCEPT {latest}")
    return f"({single} AND place NOT IN (SELECT place FROM _replaced))"
