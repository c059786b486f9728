"""A record says how many calls came before the first edit; one that an older version began does not guess."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from holdfast.model.events import Action, Began, ToolCall
from holdfast.sessions.digest import Digest
from holdfast.sessions.reducer import Reducer
from holdfast.sessions.session import SessionPart, conclude

pytestmark = pytest.mark.promise("P2")


def digest(
    actions: Sequence[Action], at: float = 100.0, parent: str = "", digest: Digest | None = None
) -> Digest:
    made = digest or Digest("claude-code")
    session = "child" if parent else "s"
    calls = [
        ToolCall(at + n, f"{at}{n}", "tool", action, paths=("a.py",)) for n, action in enumerate(actions)
    ]
    Reducer(made).take_all([Began(at, session, parent=parent), *calls])
    return made


def calls_before_edit(*digests: Digest) -> int | None:
    parts = [SessionPart(str(number), one) for number, one in enumerate(digests)]
    return conclude("s", parts, None, None).calls_before_edit


@pytest.mark.parametrize(
    "actions, expected",
    [
        (["edit"], 0),
        (["read", "shell", "edit", "read", "edit"], 2),
        (["read", "read"], None),
        ([], None),
    ],
)
def test_the_calls_before_the_first_edit_are_counted(actions: list[Action], expected: int | None) -> None:
    assert calls_before_edit(digest(actions)) == expected


def test_they_are_counted_over_all_transcripts_of_a_session_and_without_subagents() -> None:
    first, second = digest(["read", "read"]), digest(["read", "edit"], at=500.0)
    subagent = digest(["read", "edit"], at=300.0, parent="s")
    assert calls_before_edit(first, subagent, second) == 3


def test_a_transcript_that_grows_is_counted_on() -> None:
    begun = msgspec.json.decode(msgspec.json.encode(digest(["read", "read"])), type=Digest)
    assert calls_before_edit(digest(["shell", "edit"], at=200.0, digest=begun)) == 3


def test_a_transcript_whose_beginning_an_older_version_read_is_unknown() -> None:
    old = msgspec.json.decode(msgspec.json.encode(digest(["read"])), type=Digest)
    old.before_edit = None
    assert calls_before_edit(digest(["edit"], at=200.0, digest=old)) is None
