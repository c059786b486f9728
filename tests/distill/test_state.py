"""The state after sessions: what counts as a deed."""

from __future__ import annotations

import msgspec

from holdfast.distill.state import advance
from holdfast.model.session import DistilledSession
from holdfast.text.current_md import Current

NOTHING = {"str": "", "int": 0, "bool": False, "float | None": 1.0, "int | None": None, "str | None": None}


def record(goal: str) -> DistilledSession:
    """A session in which somebody only spoke."""
    kinds = {
        name: kind
        for name, kind in DistilledSession.__annotations__.items()
        if name not in ("harvest", "experience")
    }
    values = {name: NOTHING.get(kind, ()) for name, kind in kinds.items()}
    given = {"session": goal[:20], "goal": goal, "prompts": (goal,)}
    return msgspec.convert({**values, **given}, DistilledSession)


def test_a_hosts_helper_is_not_what_was_done_last() -> None:
    helper = record("You write concise git commit messages.\nReturn a JSON object with keys: subject, body.")
    asked = record("You are right that the cache is slow, but why?")
    assert [item.session for item in advance(Current(), [("", helper), ("", asked)]).done] == [asked.session]
