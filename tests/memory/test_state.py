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

NOTHING = {
    "str": "",
    "int": 0,
    "bool": False,
    "float | None": 1.0,
    "int | None": None,
    "str | None": None,
    "dict[str, int]": {},
}


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


@pytest.mark.promise("V1")
def test_the_state_calls_a_session_by_its_title() -> None:
    titled = replace(record("why did https://x.test/1 fail, and again"), title="Harden the npm publish step")
    [done] = advance(Current(), [("", titled)]).done
    assert done.text == "Harden the npm publish step."
    unfinished = replace(titled, outcome="partial")
    [step] = advance(Current(), [("", unfinished)]).next
    assert "Harden the npm publish step" in step.text


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


def test_a_printed_template_and_a_greeting_leave_no_next_step() -> None:
    printed = (
        OpenItem(text="[[ ## user_query ## ]]"),
        OpenItem(text="{{ task }}."),
        OpenItem(text="Sign [[it]]"),
    )
    assert [item.text for item in open_items(session("cart", 0.0, left=printed))] == ["Sign [[it]]"]
    greeting = session("cart", 0.0, outcome="failed", goal="hi", prompts=("hi",))
    assert advance(Current(), [("", greeting)]).next == ()


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


def closed(state: Current) -> list[tuple[str, str]]:
    return [(item.text, item.how) for item in state.closed]


@pytest.mark.promise("M2")
def test_a_to_do_that_a_later_session_did_is_said_to_be_done() -> None:
    item = OpenItem(text="Wire the refund endpoint into the gateway")
    state = advance(Current(), [("", session("cart", 0.0, left=(item,)))])
    unrelated = session("search", 1000.0, summary="The search index is rebuilt at night.")
    state = advance(state, [("", unrelated)])
    assert closed(state) == [] and [todo.text for todo in state.todo] == [item.text]
    did = session(
        "api", 2000.0, harvest=Harvest(commits=("1a2b3c4 feat: wire the refund endpoint into the gateway",))
    )
    state = advance(state, [("", did)])
    assert state.todo == () and closed(state) == [(item.text, "done")]
    again = advance(state, [("", session("cart again", 3000.0, left=(item,)))])
    assert closed(again) == [] and [todo.text for todo in again.todo] == [item.text]


@pytest.mark.promise("M2")
def test_a_to_do_that_lapsed_is_said_to_be_dropped_and_why() -> None:
    state = advance(Current(), [("", session("cart", 0.0, left("Wire the refund endpoint")))])
    for number in range(LAPSES_AFTER):
        state = advance(state, [("", session(f"later {number}", 1000.0 * (number + 1)))])
    (dropped,) = state.closed
    assert (dropped.text, dropped.how, dropped.session) == ("Wire the refund endpoint", "dropped", "cart")
    assert dropped.why == f"{LAPSES_AFTER} later sessions on its branch did not return to it"


def test_what_a_session_no_longer_names_is_said_to_be_replaced() -> None:
    first = OpenItem(text="Wire the refund endpoint into the gateway")
    state = advance(Current(), [("", session("cart", 0.0, left=(first,)))])
    state = advance(state, [("", session("cart", 0.0, left=(OpenItem(text="Round the cents of vouchers"),)))])
    assert closed(state) == [(first.text, "replaced")]
    assert [todo.text for todo in state.todo] == ["Round the cents of vouchers"]


def test_what_is_left_again_in_other_words_is_one_to_do_and_not_closed() -> None:
    state = advance(
        Current(),
        [("", session("cart", 0.0, left=(OpenItem(text="Wire the refund endpoint into the gateway"),)))],
    )
    later = session("api", 1000.0, left=(OpenItem(text="wire the refund endpoint into the gateway next"),))
    state = advance(state, [("", later)])
    assert len(state.todo) == 1 and state.closed == ()


def test_an_unfinished_session_that_nobody_went_on_with_is_said_to_be_dropped() -> None:
    state = advance(Current(), [("", session("cart", 0.0, outcome="partial"))])
    (step,) = state.next
    state = advance(state, [("", session("voucher printer", 1000.0))])
    assert state.next == () and closed(state) == [(step.text, "dropped")]
    went_on = session("cart", 0.0, outcome="partial"), session("cart", 1000.0, session="again")
    assert closed(advance(Current(), [("", one) for one in went_on])) == []


def test_to_dos_beyond_the_limits_are_said_to_be_dropped() -> None:
    crops = "barley millet sorghum quinoa buckwheat amaranth teff spelt einkorn durum triticale fonio oats rye maize flax"
    names = iter(crops.split())
    many = [
        session(
            f"part {n}",
            1000.0 * n,
            *(left(f"Describe the {next(names)} harvest") for _ in range(4)),
            branch=f"b{n}",
        )
        for n in range(4)
    ]
    state = advance(Current(), [("", one) for one in many])
    assert len(state.todo) == 12 and {how for _, how in closed(state)} == {"dropped"}
    assert all(item.why == "only the 12 newest and most urgent are kept" for item in state.closed)


def test_an_answer_that_repeats_the_request_is_nothing_done() -> None:
    probe = replace(record("Reply with exactly READY."), outcome="unknown", final_message="READY")
    assert advance(Current(), [("", probe)]).done == ()


def test_a_request_that_failed_is_no_step_of_a_list() -> None:
    asked = TaskResult(title="the bar still does not render", status="failed", reason="unknown")
    listed = TaskResult(
        title="Render the bar of the chart", status="failed", reason="test_failure", listed=True
    )
    assert [item.text for item in open_items(session("chart", 0.0, asked, listed))] == [
        "Render the bar of the chart"
    ]


def test_the_step_to_go_on_with_is_the_last_request_that_says_what_it_wants() -> None:
    tasks = (
        TaskResult(title="Look at the cart of the shop", status="done"),
        TaskResult(title="Round the refunds of vouchers in cents", status="unknown"),
    )
    (step,) = advance(Current(), [("", session("cart", 0.0, *tasks, outcome="partial"))]).next
    assert step.text == "Go on with: Round the refunds of vouchers in cents (partial, 1970-01-01)"


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
