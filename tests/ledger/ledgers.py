"""Ledgers for tests: sessions made in a line, and the seed's tables row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

from msgspec.structs import replace

from holdfast.model.ledger import LedgerEntry

CLAUDE, GPT = "claude-3.5-sonnet", "gpt-4-turbo"
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_numbers = count(1)


def session(**fields: object) -> LedgerEntry:
    """A session with an id and a time of its own; what is not said is unknown."""
    number = next(_numbers)
    at = START + timedelta(hours=number)
    return replace(LedgerEntry(session=f"s{number:06d}", timestamp=at, recorded=at), **fields)


def sessions(number: int, **fields: object) -> list[LedgerEntry]:
    return [session(**fields) for _ in range(number)]


# The seed's statistics: 12 sessions, 8 of Claude at $0.14 and 4 of GPT-4 at $0.09, 5 react, 4 go and 3 python,
# 4.2 tasks, 6.8 minutes and 0.3 failed tasks a session. The first five are rows that the seed prints.
_TWELVE = """
a1b2c3d4 claude 5 1 0.12  8 react  refactor auth middleware
e5f6g7h8 gpt    3 0 0.08  4 go     add rate limiting
i9j0k1l2 claude 7 2 0.21 12 python implement celery tasks
m3n4o5p6 gpt    3 1 0.08  5 go     rate limiting api gateway
q7r8s9t0 claude 4 0 0.15  7 go     request validation middleware
u1v2w3x4 claude 4 0 0.14  7 react  checkout form
y5z6a7b8 claude 4 0 0.13  7 react  product list
c9d0e1f2 claude 4 0 0.12  6 react  session storage
g3h4i5j6 claude 4 0 0.12  6 python invoice export
k7l8m9n0 claude 4 0 0.13  7 go     graceful shutdown
o1p2q3r4 gpt    4 0 0.10  6 react  search box
s5t6u7v8 gpt    4 0 0.10  7 python report mailer
"""


def twelve_sessions() -> list[LedgerEntry]:
    return list(_twelve())


def _twelve() -> Iterator[LedgerEntry]:
    for number, line in enumerate(_TWELVE.strip().splitlines()):
        name, model, tasks, failed, cost, minutes, framework, *goal = line.split()
        yield LedgerEntry(
            session=name,
            model=CLAUDE if model == "claude" else GPT,
            tasks=int(tasks),
            failed=int(failed),
            cost_usd=Decimal(cost),
            duration_s=60 * int(minutes),
            framework=framework,
            goal=tuple(goal),
            timestamp=START + timedelta(days=number),
            failures=("test_failure",) * int(failed),
        )


def fails(entries: Iterable[LedgerEntry], times: int) -> list[LedgerEntry]:
    """The same sessions, the first ones of them with a failed task each."""
    return [
        replace(entry, failed=1, failures=("test_failure",)) if number < times else entry
        for number, entry in enumerate(entries)
    ]
