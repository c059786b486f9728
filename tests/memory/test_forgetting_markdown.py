"""Each format without what is forgotten: whole entries, one tombstone, and every other byte as it was."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.memory.memory_values import currents, entries, questions, references, some_texts

from holdfast.ledger import markdown
from holdfast.ledger.forgetting import forget_in_ledger
from holdfast.memory import current as current_md
from holdfast.memory import forget as md
from holdfast.memory import log as log_md
from holdfast.memory import reference as questions_md
from holdfast.memory import reference as reference_md
from holdfast.memory import reference as style_md
from holdfast.memory.current import Current
from holdfast.memory.reference import Reference
from holdfast.model.ledger import LedgerEntry
from holdfast.model.memory import LogEntry, OpenItem, Question
from holdfast.store.removal import Removal, Traces

NOWHERE = "qqqqqqqq wwwwwwww eeeeeeee"
BY_HAND = "\n- [x] ticked by hand\n\nfree words · F-aaaaaa\n"


def removal_of_nothing() -> Removal:
    return Removal([NOWHERE], ["F-zzzzzz"], [NOWHERE])


def log_of(items: list[LogEntry]) -> str:
    return log_md.render_beginning("shop") + "".join(map(log_md.render_entry, items))


@settings(max_examples=60, deadline=None)
@given(items=st.lists(entries, max_size=4), session=some_texts)
def test_a_session_leaves_one_line_in_the_log_and_all_others_their_bytes(
    items: list[LogEntry], session: str
) -> None:
    session, others = f"gone {session}", items
    gone = LogEntry(session=session, agent="codex", at=0.0, context="zanzibar")
    removal = Removal([session])
    left = md.forget_in_log(log_of([*items, gone, gone]), removal)
    log = log_md.parse_log(left)
    assert log.entries == list(others)
    assert log.forgotten == {session}
    assert log.problems == []
    assert left.count(log_md.forgotten_line(session)) == 1
    assert all(log_md.render_entry(entry) in left for entry in others)
    assert md.forget_in_log(left, removal) == left


@settings(max_examples=60, deadline=None)
@given(items=st.lists(entries, max_size=3))
def test_a_log_without_it_keeps_every_byte(items: list[LogEntry]) -> None:
    text = log_of(items) + BY_HAND
    removal = removal_of_nothing()
    assert md.forget_in_log(text, removal) == text
    assert removal.hits == 0


@settings(max_examples=60, deadline=None)
@given(state=currents, reference=references, asked=st.lists(questions, max_size=3))
def test_files_without_it_keep_every_byte(
    state: Current, reference: Reference, asked: list[Question]
) -> None:
    current = (
        current_md.render_current(current_md.parse_current(current_md.BEGINNING).document, state) + BY_HAND
    )
    facts = reference_md.render_reference(reference_md.parse_reference("# Ours\n"), reference) + BY_HAND
    open_questions = questions_md.render_questions(questions_md.parse_questions("# Ours\n"), asked) + BY_HAND
    style = style_md.propose("", ["Say it in full", "wire it"]) + BY_HAND
    removal = removal_of_nothing()
    assert md.forget_in_current(current, removal) == current
    assert md.forget_in_reference(facts, removal) == facts
    assert md.forget_in_questions(open_questions, removal) == open_questions
    assert md.forget_in_style(style, removal) == style
    assert removal.hits == 0


@settings(max_examples=40, deadline=None)
@given(state=currents)
def test_a_state_loses_exactly_the_items_of_a_session(state: Current) -> None:
    sessions = {
        item.session for item in (*state.next, *state.todo, *state.done, *state.closed, *state.questions)
    } - {""}
    text = current_md.render_current(current_md.parse_current(current_md.BEGINNING).document, state)
    for session in sessions:
        left = current_md.parse_current(md.forget_in_current(text, Removal([session])))
        assert left.problems == []
        assert left.person == ()
        kept = {
            name: tuple(item for item in getattr(state, name) if item.session != session)
            for name in ("next", "todo", "questions", "done", "closed")
        }
        assert left.current == replace(state, **kept)


def test_a_box_that_a_person_ticked_and_lines_between_ours_stay_in_their_place() -> None:
    state = current_md.parse_current(current_md.BEGINNING).document
    text = current_md.render_current(
        state, Current(todo=(OpenItem(text="one", session="s1"), OpenItem(text="two", session="s2")))
    )
    text = text.replace("- [ ] two", "- [x] two").replace("- [ ] one", "mine\n- [ ] one")
    left = md.forget_in_current(text, Removal(["s1"]))
    file = current_md.parse_current(left)
    assert "mine\n- [x] two" in left
    assert [item.text for item in file.ticked] == ["two"]
    assert file.person == ("mine",)


# --- the ledger ----------------------------------------------------------------------------------------

SEED = """# Ledger

| Session | Model | Tasks | Failed | Cost | Duration | Framework | Goal |
|---|---|---|---|---|---|---|---|
| s1 | opus | 3 | 0 | $1 | 5min | react | zanzibar login |
| s2 | opus | 3 | 0 | $1 | 5min | react | acme login deadline |
"""


def ledger_of(*entries: LedgerEntry) -> bytes:
    rows = [markdown.render_row(entry) for entry in entries]
    return (markdown.render_beginning() + "\n".join(rows) + "\n").encode()


def entry(session: str, *goal: str, minute: int = 0) -> LedgerEntry:
    return LedgerEntry(session=session, goal=goal, recorded=datetime(2026, 1, 5, 9, minute, tzinfo=UTC))


def test_all_rows_of_a_session_become_one_tombstone() -> None:
    data = ledger_of(entry("s1", "zanzibar"), entry("s2", "login"), entry("s1", "zanzibar", minute=5))
    removal = Removal(["s1"])
    left = forget_in_ledger(data, removal)
    assert b"zanzibar" not in left
    assert [(row.session, row.forgotten) for row in markdown.parse_ledger(left, "l").entries] == [
        ("s1", True),
        ("s2", False),
    ]
    assert removal.hits == 2
    assert forget_in_ledger(left, removal) == left
    assert markdown.render_row(entry("s2", "login")).encode() in left


def test_a_torn_row_of_it_goes_too() -> None:
    data = ledger_of(entry("s1", "zanzibar")) + b"| s1 | opus | 3 | zanz"
    assert b"zanz" not in forget_in_ledger(data, Removal(["s1"]))


def test_a_table_that_has_no_word_for_it_loses_the_row() -> None:
    left = forget_in_ledger(SEED.encode(), Removal(["s1"]))
    assert b"zanzibar" not in left
    assert b"| s2 | opus" in left


def test_keywords_of_one_or_two_words_go_and_longer_texts_leave_the_ledger_alone() -> None:
    data = ledger_of(entry("s1", "fix", "acme-corp", "deadline", "login"), entry("s2", "fix", "acme"))

    def goals(text: str) -> list[tuple[str, ...]]:
        left = forget_in_ledger(data, Removal(phrases=[text]))
        return [row.goal for row in markdown.parse_ledger(left, "l").entries]

    assert goals("ACME") == [("fix", "deadline", "login"), ("fix",)]
    assert goals("acme deadline") == [("fix", "login"), ("fix", "acme")]
    assert forget_in_ledger(data, Removal(phrases=["fix acme deadline"])) == data
    assert b"| acme" not in forget_in_ledger(SEED.encode(), Removal(phrases=["acme"]))


def test_what_is_not_a_row_keeps_every_byte() -> None:
    data = (
        b"\xef\xbb\xbf"
        + ledger_of(entry("s1", "zanzibar"))
        + b"\r\n<<<<<<< HEAD\r\nprose about s2\n\xff\xfe\n"
    )
    left = forget_in_ledger(data, Removal(["s2"], phrases=["prose about"]))
    assert left == data


# --- traces --------------------------------------------------------------------------------------------


def test_a_trace_is_what_no_other_session_says() -> None:
    traces = Traces(["Fix the refund rounding in cents", "run tests"], lambda: ["please run tests now"])
    assert traces("Last session: fix the refund rounding. Outcome: done")
    assert not traces("run tests")
    assert not traces("the refund")
