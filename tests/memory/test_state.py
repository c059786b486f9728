"""The state after sessions: what counts as a deed, what is left to do, and when nobody is told of it any more."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from holdfast.memory.current import Current
from holdfast.memory.state import LAPSES_AFTER, advance, open_items
from holdfast.model.events import DistilledSession, TaskResult
from holdfast.model.memory import Harvest, OpenItem
from holdfast.sessions.outcome import ON_THE_LIST, TICKED

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


def session(
    name: str, at: float, *tasks: TaskResult, left: tuple[OpenItem, ...] = (), **more: object
) -> DistilledSession:
    made = replace(
        record(f"Work on the {name} of the shop"), session=name, started=at, ended=at + 60.0, tool_calls=3
    )
    own = {"branch": "main", "outcome": "done", "tasks": tasks, "harvest": Harvest(open_items=left)}
    return replace(made, **{**own, **more})


def left(title: str) -> TaskResult:
    return TaskResult(title=title, status="skipped", evidence="left pending")


@pytest.mark.promise("M6")
@pytest.mark.parametrize(
    "reason", ["user_rejected", "interrupted", "api_error", "tool_error", "test_failure"]
)
def test_a_request_is_no_to_do_however_it_ended(reason: str) -> None:
    asked = TaskResult(title="yes please fix all of them", status="failed", reason=reason)
    ended = session(
        "cart", 0.0, asked, prompts=("Look at the review of the cart", "yes please fix all of them")
    )
    assert open_items(ended) == ()
    assert (
        open_items(replace(ended, tasks=(TaskResult(title="/review", status="failed", reason=reason),))) == ()
    )


def test_what_was_not_finished_is_the_next_step_with_its_day() -> None:
    state = advance(Current(), [("", session("cart", 0.0, outcome="partial"))])
    assert [step.text for step in state.next] == [
        "Go on with: Work on the cart of the shop (partial, 1970-01-01)"
    ]
    assert state.todo == ()


def test_of_an_agents_list_the_first_that_is_left_is_next_and_no_chore_is_left() -> None:
    steps = ("Task 2: Wire the refund", "Task 3: Round in cents", "Task 4: Full test suite and live test")
    closing = ("Commit, push, open PR, wait for checks", "Run relevant verification and final review")
    state = advance(Current(), [("", session("cart", 0.0, *map(left, (*steps, *closing))))])
    assert [item.text for item in state.todo] == [*steps[:2]]
    assert [step.text for step in state.next] == ["Task 2: Wire the refund"]


def test_what_still_fails_and_what_was_said_come_before_the_list() -> None:
    listed = OpenItem(text="Round the cents", why=ON_THE_LIST)
    said = (OpenItem(text="Sign the links"), OpenItem(text="Rotate the keys"))
    failing = OpenItem(text="test fails: 1 failed", priority="high")
    found = open_items(session("cart", 0.0, left=(listed, failing, *said)))
    assert [item.text for item in found] == [
        "test fails: 1 failed",
        "Sign the links",
        "Rotate the keys",
        "Round the cents",
    ]


def test_what_the_agent_ticked_off_is_not_left_though_the_turn_failed() -> None:
    blamed = TaskResult(
        title="Describe the refund", status="failed", reason="test_failure", evidence=f"{TICKED}; 1 failed"
    )
    assert open_items(session("cart", 0.0, blamed)) == ()


@pytest.mark.promise("M13")
def test_what_nobody_came_back_to_lapses_on_its_branch_and_stays_on_others() -> None:
    state = advance(Current(), [("", session("cart", 0.0, left("Wire the refund endpoint")))])
    elsewhere = replace(session("api", 1.0, left("Page the stations")), branch="api")
    state = advance(state, [("", elsewhere)])
    for number in range(LAPSES_AFTER):
        assert "Wire the refund endpoint" in [item.text for item in state.todo]
        state = advance(state, [("", session(f"later {number}", 1000.0 * (number + 1)))])
    assert [item.text for item in state.todo] == ["Page the stations"]


def test_a_persons_own_to_do_never_lapses() -> None:
    state = Current(todo=(OpenItem(text="Call the bank", branch="main", at=0.0),))
    for number in range(2 * LAPSES_AFTER):
        state = advance(state, [("", session(f"later {number}", 1000.0 * (number + 1)))])
    assert [item.text for item in state.todo] == ["Call the bank"]


@pytest.mark.parametrize(
    ("goal", "outcome", "told"),
    [
        ("Fix the cart of the little shop.", "done", "Fix the cart of the little shop."),
        ("Fix the cart of the little shop", "unknown", "Fix the cart of the little shop."),
        ("Why is the cart of the shop slow?", "done", "Why is the cart of the shop slow?"),
        ("Fix the cart of the little shop,", "failed", "Fix the cart of the little shop (failed)."),
    ],
)
def test_a_deed_says_how_it_ended_only_where_it_is_not_done(goal: str, outcome: str, told: str) -> None:
    (deed,) = advance(Current(), [("", replace(record(goal), outcome=outcome, tool_calls=1))]).done
    assert deed.text == told
