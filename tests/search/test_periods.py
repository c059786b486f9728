"""A day or period that a question names, as whoever asks counts days."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.search.periods import period_in

NOW = datetime(2026, 11, 18, 18, 0, tzinfo=UTC)  # a Wednesday


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()
    yield
    monkeypatch.undo()
    if hasattr(time, "tzset"):
        time.tzset()


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("2026-11-03", "2026-11-03", "2026-11-03"),
        ("2026/11/03", "2026-11-03", "2026-11-03"),
        ("2026-10", "2026-10-01", "2026-10-31"),
        ("3 November", "2026-11-03", "2026-11-03"),
        ("the 3rd of november", "2026-11-03", "2026-11-03"),
        ("Nov 3rd, 2025", "2025-11-03", "2025-11-03"),
        ("December 3", "2025-12-03", "2025-12-03"),
        ("May 2", "2026-05-02", "2026-05-02"),
        ("29 February", "2024-02-29", "2024-02-29"),
        ("today", "2026-11-18", "2026-11-18"),
        ("what did we do yesterday?", "2026-11-17", "2026-11-17"),
        ("the day before yesterday", "2026-11-16", "2026-11-16"),
        ("last night", "2026-11-17", "2026-11-17"),
        ("what changed this week", "2026-11-16", "2026-11-22"),
        ("last week", "2026-11-09", "2026-11-15"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last November", "2025-11-01", "2025-11-30"),
        ("in October", "2026-10-01", "2026-10-31"),
        ("on Friday", "2026-11-13", "2026-11-13"),
        ("last Wednesday", "2026-11-11", "2026-11-11"),
        ("what did we do on wednesday", "2026-11-18", "2026-11-18"),
        ("3 days ago", "2026-11-15", "2026-11-15"),
        ("two weeks ago", "2026-11-02", "2026-11-08"),
        ("the last 3 days", "2026-11-15", "2026-11-18"),
        ("past week", "2026-11-11", "2026-11-18"),
        ("since 3 November", "2026-11-03", "2026-11-18"),
        ("since Monday", "2026-11-16", "2026-11-18"),
        ("since October", "2026-10-01", "2026-11-18"),
        ("from Nov 1 to Nov 5", "2026-11-01", "2026-11-05"),
        ("between 2026-11-01 and 2026-11-05", "2026-11-01", "2026-11-05"),
    ],
)
def test_a_day_or_period_is_understood(question: str, first: str, last: str) -> None:
    period = period_in(question, NOW)
    assert period is not None and period.is_all
    assert (str(period.first), str(period.last)) == (first, last)
    days = (period.last - period.first).days + 1
    assert period.stop - period.start == days * 86_400 and period.start % 86_400 == 0


@pytest.mark.parametrize(
    "question",
    [
        "fix the login",
        "tomorrow",
        "31 June",
        "before 3 November",
        "2027-01-01",
        "v2026-11-03",
        "CVE-2026-1103",
        "may 2 sessions write at once",
        "march of the penguins",
        "weekly report",
        "10 days",
        "python 3.11",
        "",
    ],
)
def test_what_names_no_time_that_has_been_is_no_period(question: str) -> None:
    assert period_in(question, NOW) is None


def test_what_else_is_asked_is_told_apart() -> None:
    period = period_in("the login fix from last week, please", NOW)
    assert period is not None and not period.is_all and period.rest == "the login fix , please"
    assert period.name == "last week (2026-11-09 to 2026-11-15)"
    iso = period_in("what broke on 2026-11-03", NOW)
    assert iso is not None and iso.rest == "what broke" and iso.name == "2026-11-03"


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process is set on POSIX only")
def test_a_day_is_the_day_of_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    late = datetime(2026, 11, 18, 16, 0, tzinfo=UTC)  # one in the morning of the 19th there
    period = period_in("yesterday", late)
    assert period is not None and str(period.first) == "2026-11-18"
    assert period.start == datetime(2026, 11, 17, 15, tzinfo=UTC).timestamp()


_SAID = st.sampled_from(
    re.split(
        " ",
        "yesterday last week since 3 31 of november may 2026-11-03 0001-01-01 9999-12-31 999 days ago to and past the 99",
    )
)


@given(st.lists(_SAID, max_size=9).map(" ".join) | st.text(max_size=50))
def test_any_question_has_a_period_in_the_past_or_none(question: str) -> None:
    period = period_in(question, NOW)
    assert period is None or (period.start < period.stop and period.start <= NOW.timestamp())
