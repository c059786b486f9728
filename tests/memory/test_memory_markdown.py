"""Memory survives the trip through markdown, whatever it says; what a person broke is reported and kept."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.memory import memory_values as values

from holdfast.core.errors import StoreError, UsageError
from holdfast.memory import current
from holdfast.memory import log as log_md
from holdfast.memory import reference as questions_md
from holdfast.memory import reference as reference_md
from holdfast.memory import reference as style_md
from holdfast.memory.reference import KeptFact, Reference
from holdfast.model.memory import DeadEnd, Decision, Fact, FactCategory, Finding, LogEntry, OpenItem, Question
from holdfast.store import line_grammar, sections

AT = 1_767_621_720.0  # 2026-01-05 14:02
ENTRY = LogEntry(
    session="847ff7d2-5c1d-4e57-9d8e-0a4f6b3c2d11",
    agent="claude-code",
    at=AT + 13,
    branch="main",
    context="the webhook answers 401 since the proxy moved",
    outcome="done",
    decisions=(
        Decision(
            text="Use signed links for the webhook",
            rationale="the proxy strips the Authorization header",
            by="user",
            session="847ff7d2-5c1d-4e57-9d8e-0a4f6b3c2d11",
            at=AT + 13,
        ),
    ),
    findings=(Finding(text="The proxy adds its own Date header", session="other", at=None),),
    dead_ends=(
        DeadEnd(
            tried="a token in the query",
            failed="the access log keeps it",
            instead="signed links",
            session="847ff7d2-5c1d-4e57-9d8e-0a4f6b3c2d11",
            at=AT + 13,
        ),
    ),
    files=("src/hook.py", "tests/test_hook.py"),
    commits=("3f9ab21 Sign webhook links",),
    transcript="~/.claude/projects/shop/847ff7d2.jsonl",
)


def read_log(text: str) -> log_md.LogFile:
    return log_md.parse_log(text)


# --- values --------------------------------------------------------------------------------------------


@given(values.texts)
def test_any_text_is_one_harmless_line(text: str) -> None:
    line = line_grammar.encode(text)
    assert line_grammar.decode(line) == text
    assert not re.search(r"[\n\r\x00-\x1f]|<!--|-->", line)
    line.encode()


@given(values.times)
def test_any_time_comes_back_exactly(at: float | None) -> None:
    assert line_grammar.parse_time(line_grammar.render_time(at)) == at


def test_times_are_as_short_as_they_are_exact() -> None:
    shown = [line_grammar.render_time(at) for at in (AT, AT + 13, AT + 0.5, 1e300, None)]
    assert shown == ["2026-01-05 14:02", "2026-01-05 14:02:13", "2026-01-05 14:02:00.5", "@1e+300", "?"]


# --- log.md --------------------------------------------------------------------------------------------


@pytest.mark.promise("M2")
@settings(max_examples=200, deadline=None)
@given(st.lists(values.entries, max_size=3))
def test_every_log_entry_comes_back(entries: list[LogEntry]) -> None:
    text = log_md.render_beginning("shop") + "".join(map(log_md.render_entry, entries))
    log = read_log(text)
    assert log.problems == []
    assert log.entries == entries
    assert log.preamble + "".join(map(log.text, log.blocks)) == text
    assert read_log(text.replace("\n", "\r\n")).entries == entries


@pytest.mark.promise("M2")
def test_an_entry_reads_as_a_person_would_have_written_it() -> None:
    lines = log_md.render_entry(ENTRY).splitlines()
    assert lines[1] == "## 2026-01-05 14:02 · claude-code · 847ff7d2 · main"
    assert (
        "  - Use signed links for the webhook · because: the proxy strips the Authorization header"
        f" · by: user · {ENTRY.decisions[0].id}" in lines
    )
    assert (
        f"  - a token in the query → failed: the access log keeps it → instead: signed links"
        f" · {ENTRY.dead_ends[0].id}" in lines
    )
    assert "- **Files:** src/hook.py · tests/test_hook.py" in lines
    assert lines[-1] == "<!-- session 847ff7d2-5c1d-4e57-9d8e-0a4f6b3c2d11 · at 2026-01-05 14:02:13 -->"
    assert not any(label in "".join(lines) for label in ("Questions", "Open items", "Summary"))


def test_an_entry_torn_at_any_byte_is_reported_or_whole() -> None:
    whole = log_md.render_entry(ENTRY)
    before = log_md.render_entry(LogEntry(session="first", agent="codex", at=AT))
    for cut in range(len(whole)):
        text = before + whole[:cut] + "\n" + log_md.render_entry(LogEntry(session="last", agent="", at=None))
        sessions = [entry.session for entry in read_log(text).entries]
        assert sessions in (["first", "last"], ["first", ENTRY.session, "last"])
        if len(sessions) == 3:
            assert read_log(text).entries[1] == ENTRY


def test_a_broken_line_is_named_with_its_place_and_the_rest_is_read() -> None:
    text = log_md.render_entry(ENTRY).replace(" · by: user", " · by: Bob").replace("**Files", "**Fils")
    log = read_log(text)
    assert [problem.line for problem in log.problems] == [7, 12]
    assert log.problems[0].message.startswith("log.md:7: by is 'Bob', and may be user, agent.")
    assert log.entries[0].findings == ENTRY.findings


def test_what_a_person_wrote_between_entries_is_no_entry() -> None:
    text = log_md.render_entry(ENTRY) + "\n## My notes\n```\n## x\n```\n" + log_md.render_entry(ENTRY)
    assert read_log(text).entries == [ENTRY, ENTRY]
    assert read_log(text).problems == []


def test_the_last_entry_of_a_session_counts() -> None:
    again = LogEntry(session="a", agent="codex", at=AT, outcome="done")
    entries = [LogEntry(session="a", agent="codex", at=AT), LogEntry(session="b", agent="pi", at=AT), again]
    assert log_md.latest(entries) == [again, entries[1]]


# --- reference.md --------------------------------------------------------------------------------------

FACT = Fact(
    text="The orders API is POST /v2/orders",
    category=FactCategory.ENDPOINT,
    command="curl -s https://api.example.org/v2/orders | jq .id",
    evidence='{"id": 17}',
    session="847ff7d2",
    at=AT,
    verified_at=AT + 86_400,
)


def by_category(reference: Reference) -> dict[str, list[KeptFact]]:
    found: dict[str, list[KeptFact]] = {}
    for kept in reference.facts:
        found.setdefault(kept.fact.category, []).append(kept)
    return found


@pytest.mark.promise("M3", "M16")
@settings(max_examples=150, deadline=None)
@given(values.references)
def test_every_fact_and_decision_comes_back(reference: Reference) -> None:
    empty = reference_md.parse_reference(reference_md.beginning("shop"))
    text = reference_md.render_reference(empty, reference)
    file = reference_md.parse_reference(text)
    assert file.problems == []
    assert by_category(file.reference) == by_category(reference)
    assert file.reference.decisions == reference.decisions
    assert reference_md.render_reference(file, file.reference) == text


@pytest.mark.promise("M3")
def test_a_fact_without_evidence_is_never_written() -> None:
    empty = reference_md.parse_reference("")
    bare = Fact(text="The port is 8080", command="cat .env")
    for kept in (KeptFact(fact=bare), KeptFact(fact=FACT, was=(bare,))):
        with pytest.raises(UsageError, match=r"has no evidence\. Say which command"):
            reference_md.render_reference(empty, Reference(facts=(kept,)))


@pytest.mark.promise("M3")
def test_a_changed_fact_keeps_what_it_was() -> None:
    new = Fact(text="The orders API is POST /v3/orders", category="endpoint", evidence="201")
    reference = reference_md.change_fact(Reference(facts=(KeptFact(fact=FACT),)), FACT.id, new)
    text = reference_md.render_reference(reference_md.parse_reference(""), reference)
    assert f"- The orders API is POST /v3/orders · {new.id}\n  - showed: 201\n" in text
    assert "  - was: The orders API is POST /v2/orders · command: curl" in text
    assert reference_md.change_fact(reference, new.id, new) == reference


@pytest.mark.promise("M3")
def test_a_fact_that_a_person_wrote_without_evidence_is_reported_and_moved_below() -> None:
    text = reference_md.render_reference(
        reference_md.parse_reference(""), Reference(facts=(KeptFact(fact=FACT),))
    )
    edited = text.replace(
        "<!-- holdfast:end facts", "- The port is 8080\n  - really\n<!-- holdfast:end facts"
    )
    file = reference_md.parse_reference(edited)
    assert [problem.message.partition(". ")[0] for problem in file.problems] == [
        "reference.md:8: a fact without evidence",
        "reference.md:9: no fact",
    ]
    assert [kept.fact for kept in file.reference.facts] == [FACT]
    written = reference_md.render_reference(file, file.reference)
    assert "<!-- holdfast:end facts -->\n- The port is 8080\n  - really\n" in written


# --- open-questions.md ---------------------------------------------------------------------------------


@pytest.mark.promise("M4")
@settings(deadline=None)
@given(st.lists(values.questions | values.closed_questions, max_size=5))
def test_every_question_comes_back_open_ones_first(questions: list[Question]) -> None:
    empty = questions_md.parse_questions(questions_md.questions_beginning("shop"))
    text = questions_md.render_questions(empty, questions)
    file = questions_md.parse_questions(text)
    assert file.problems == []
    assert list(file.questions) == sorted(questions, key=lambda question: not question.open)
    assert questions_md.render_questions(file, file.questions) == text


@pytest.mark.promise("M4")
def test_a_person_answers_by_writing_the_answer_behind_the_question() -> None:
    asked = Question(text="Which region?", session="s", at=AT)
    text = questions_md.render_questions(questions_md.parse_questions(""), [asked])
    by_hand = re.sub(r"Which region\?", "Which region? → answer: eu-west-1", text)
    (answered,) = questions_md.parse_questions(by_hand).questions
    assert (answered.answer, answered.open, answered.id) == ("eu-west-1", False, asked.id)


@pytest.mark.promise("M4")
def test_a_box_that_a_person_ticked_without_an_answer_stays_ticked() -> None:
    asked = [Question(text="Which region?", session="s", at=AT), Question(text="Which size?", at=AT)]
    text = questions_md.render_questions(questions_md.parse_questions(""), asked)
    file = questions_md.parse_questions(text.replace("- [ ] Which region?", "- [x] Which region?"))
    assert [(one.open, one.closed, one.answer) for one in file.questions] == [
        (False, True, ""),
        (True, False, ""),
    ]
    again = questions_md.render_questions(file, file.questions)
    assert "- [ ] Which size?" in again and "- [x] Which region?" in again


# --- current.md and style.md ---------------------------------------------------------------------------


@pytest.mark.promise("M1")
@settings(max_examples=150, deadline=None)
@given(values.currents, values.currents)
@example(current.Current(files=(current.FileHint(path="(none)"),)), current.Current())
def test_the_state_comes_back_and_a_new_one_takes_its_place(
    first: current.Current, second: current.Current
) -> None:
    first = replace(first, closed=first.closed or second.closed)  # this part is only there with a line in it
    text = current.render_current(sections.parse(current.BEGINNING), first)
    file = current.parse_current(text)
    assert (file.current, file.problems, file.person) == (first, [], ())
    assert current.render_current(file.document, first) == text
    again = current.parse_current(current.render_current(file.document, second))
    assert again.current == second
    assert again.document.outside() == file.document.outside()


@pytest.mark.promise("M1")
def test_a_ticked_box_is_told_and_a_persons_bullet_stays() -> None:
    item = OpenItem(text="Rotate the key", priority="high", owner="user")
    text = current.render_current(sections.parse(current.BEGINNING), current.Current(todo=(item,)))
    edited = text.replace("- [ ] Rotate", "- [x] Rotate").replace(
        "<!-- holdfast:end todo", "- call Bob\n<!-- holdfast:end todo"
    )
    file = current.parse_current(edited)
    assert (file.ticked, file.current.todo, file.person) == ((item,), (), ("- call Bob",))
    written = current.render_current(file.document, file.current)
    assert "Rotate" not in written
    assert written.count("- call Bob\n") == 1


@pytest.mark.promise("M5")
def test_corrections_are_proposed_once_and_the_manual_is_left_alone() -> None:
    first = style_md.propose("", ["Use pnpm, not npm"])
    assert first.startswith(style_md.SEED)
    assert "- Use pnpm, not npm\n" in first
    second = style_md.propose(first, ["use pnpm, not npm.", "Run make fix before a commit"])
    assert second.count("pnpm") == 1
    assert "- Run make fix before a commit\n" in second
    taken_up = second.replace("## Style\n", "## Style\n\n- Use pnpm, not npm\n")
    assert style_md.propose(taken_up, ["Use pnpm, not npm"]) == taken_up
    with pytest.raises(StoreError, match=r"style\.md:\d+: part 'proposed' begins and does not end"):
        style_md.propose(re.sub("<!-- holdfast:end.*", "", first), ["x"])
