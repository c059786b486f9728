"""What settles something for later is told from what belongs to its moment: questions, reports, orders, code."""

from __future__ import annotations

import pytest

from holdfast.language.settling import settles


@pytest.mark.parametrize(
    "text",
    [
        "the tide client should retry at most three times",
        "also, we want the forecasts cached for an hour",
        "Use uv, not pip, for every environment.",
        "ok so we don't need the old endpoint any more",
        "i think we can drop the second queue and use the first for both",
        "let's use one table for all harbours",
        "Let's retry at most three times, because the service blocks us otherwise",
        "never log a token",
        "the export is no longer needed, remove it",
        "Keep times in UTC and convert them only for show",
        "the better option is to poll once a minute",
        "für Tests nehmen wir künftig nur noch uv",
    ],
)
def test_what_a_person_wants_to_hold_is_a_decision(text: str) -> None:
    assert settles(text, "user")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "wait, why do two workers write the same file shouldn't we have one",
        "can we also push it to the other remote",
        "Looking at your change, it removes the header and that is wrong",
        "I thought we had removed the cache, should be gone",
        "start a worker that only reads the queue".replace("start", "spawn"),
        "Do not edit files.",
        "No explanation, only the number.",
        "Reply with PASS and never anything else",
        "harbour, err = client.only(ctx, id)",
        "let's look into 3 and 7",
        "there are two ways to do it, rather than one",
        "word " * 200 + "should",
    ],
)
def test_what_belongs_to_its_moment_is_none(text: str) -> None:
    assert not settles(text, "user")


def test_an_agent_that_reports_or_orders_itself_settles_nothing() -> None:
    for text in (
        "Updated the client to use a session instead of a call.",
        "Use the new flag and run it again.",
        "I'm going to split this into two parts, which should be faster.",
        "Fixed: the loader must not read twice.",
    ):
        assert not settles(text, "agent"), text
    assert settles("Noted: forecasts live in SQLite for an hour.", "agent")
    assert settles("The settings file should be committed, only its cache must not be.", "agent")
