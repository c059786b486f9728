"""A start says each thing once, whatever it calls it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.current_digest import without_repeats
from holdfast.model.line import Line

LABELS = ("Next", "To do", "Done last", "Project", "Last state here")


def line(text: str) -> Line:
    """As the digest makes it: what it says and of which branch go with the words."""
    label, _, said = text.partition(": ")
    if label.endswith("passed with"):
        return Line(text, kind="check", said=said)
    if not label.startswith(LABELS):
        return Line(text)
    said, on, branch = said.partition(" (on ")
    return Line(text, kind=label, said=said, branch=branch.removesuffix(")") if on else "")


def told(*lines: str) -> list[str]:
    return [one.text for one in without_repeats(map(line, lines))]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("Next: migrate the tests to the new client", "To do: Migrate the tests to the new client"),
        (
            "Next: migrate the tests to the new client",
            "To do (high, for the agent): migrate the tests to the…",
        ),
        (
            "Done last (2026-11-09 16:47, codex): Fix the login (done). All green.",
            "Project shop: Fix the login (done)",
        ),
        ("Last state here is 90 days old (2026-02-23): Fix the login page", "Project shop: Fix the login p…"),
        ("`go` is not found here → `cd go && make build`", "Build passed with: cd go && make build"),
        ("Next: fix the login page (on feat/x)", "To do: fix the login page (on feat/x)"),
    ],
)
def test_the_same_thing_under_two_names_is_told_once(first: str, again: str) -> None:
    assert told(first, again) == [first]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Next: migrate the tests", "To do: migrate the tests to the new client, then delete the old one"),
        ("Next: fix the login page (on main)", "To do: fix the login page (on feat/x)"),
        ("Next: fix it", "To do: fix it later"),
        ("Test passed with: make test", "Lint passed with: make lint"),
        ("`go build` fails here → `make`", "`go build` fails here → `make`"),
        ("Load from a/: log.md", "Load from b/: log.md"),
    ],
)
def test_what_says_more_or_something_else_stays(first: str, second: str) -> None:
    assert told(first, second) == [first, second]


@given(st.lists(st.text(max_size=60)))
def test_lines_of_other_kinds_are_never_lost_and_the_order_stays(lines: list[str]) -> None:
    assert told(*lines) == [line for line in lines if line in told(*lines)]
    assert told(*lines)[:1] == lines[:1]
