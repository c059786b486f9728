"""decisions/<month>.md: read back as it was written, a person's changes count, and nothing taken out comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decided import FIVE, KEPT, REDIS, SECTIONS, Decided
from tests.memory.memory_values import owners, some_texts, texts

from holdfast.memory.decisions import (
    SessionPassages,
    beginning,
    edit_passages,
    parse_decisions,
    with_sessions,
)
from holdfast.memory.forget import forget_in_decisions
from holdfast.model.memory import Passage
from holdfast.store.removal import Removal

passages = st.builds(
    Passage,
    text=texts,
    question=texts,
    kind=st.sampled_from(["decision", "rule", "cause", "measurement", "answer", "dead_end", "next_step"]),
    status=st.sampled_from(["agreed", "proposed", "rejected", "superseded"]),
    by=owners,
    worth=st.integers(0, 100),
)


def file_of(*sections: SessionPassages) -> str:
    return with_sessions(beginning("shop", "2026-03"), sections)


@settings(max_examples=60, deadline=None)
@given(items=st.lists(passages, max_size=4, unique_by=lambda item: item.id), session=some_texts)
def test_what_is_written_is_read_back_and_written_only_once(items: list[Passage], session: str) -> None:
    section = SessionPassages(session=session, title="a · title", branch="b", passages=tuple(items))
    text = file_of(section)
    file = parse_decisions(text)
    read = [passage for one in file.sections for passage in one.passages]
    assert [(one.id, one.text, one.question, one.kind, one.status) for one in read] == [
        (one.id, one.text, one.question, one.kind, one.status) for one in items
    ]
    assert all(one.session == session for one in file.sections) and file.problems == []
    assert with_sessions(text, [section]) == text
    assert edit_passages(text, lambda passage: passage) == text


@settings(max_examples=40, deadline=None)
@given(items=st.lists(passages, min_size=1, max_size=3, unique_by=lambda item: item.id), session=some_texts)
def test_a_forgotten_session_leaves_nothing_and_the_others_their_bytes(
    items: list[Passage], session: str
) -> None:
    others = file_of(*SECTIONS)
    session = f"gone {session}"
    gone = SessionPassages(session=session, title="zanzibar", passages=tuple(items))
    removal = Removal([session])
    left = forget_in_decisions(with_sessions(others, [gone]), removal)
    assert left.rstrip("\n") == others.rstrip("\n")
    assert removal.hits == len(items)
    assert forget_in_decisions(others, Removal([session], ["D-zzzzzz"], ["nowhere to be found"])) == others


def test_a_passage_that_holds_a_forgotten_text_goes_as_a_whole_and_a_title_gets_a_hole() -> None:
    left = forget_in_decisions(file_of(*SECTIONS), Removal(phrases=["wifi outage", "SQLite file"]))
    assert KEPT not in left and REDIS in left
    assert "make the label spooler survive a [forgotten]" in left


def test_changed_words_keep_their_id_and_the_old_words_do_not_come_back() -> None:
    text = file_of(*SECTIONS)
    changed = text.replace("not in Redis.", "and nowhere else.")
    passage = parse_decisions(changed).sections[0].passages[2]
    assert passage.text.endswith("and nowhere else.")
    assert passage.id == Passage(text=KEPT).id
    assert with_sessions(changed, SECTIONS) == changed


def test_a_copied_line_is_another_passage() -> None:
    line = next(line for line in file_of(*SECTIONS).split("\n") if KEPT in line)
    text = file_of(*SECTIONS).replace(line, f"{line}\n{line.replace('SQLite', 'DuckDB')}")
    first, second = parse_decisions(text).sections[0].passages[2:4]
    assert first.id == Passage(text=KEPT).id
    assert second.id == Passage(text=KEPT.replace("SQLite", "DuckDB")).id


@pytest.mark.promise("M4")
def test_what_a_person_writes_counts_with_or_without_a_heading() -> None:
    text = (
        beginning("shop", "2026-03")
        + "\n- Labels are printed in Latin letters only\n\n## Doors\n\n- Doors are grey\n"
    )
    file = parse_decisions(text)
    assert [(one.title, one.passages[0].text) for one in file.sections] == [
        ("", "Labels are printed in Latin letters only"),
        ("Doors", "Doors are grey"),
    ]
    assert file.lines == [(6,), (10,)]
    assert text.split("\n")[file.lines[1][0] - 1] == "- Doors are grey"


def test_a_line_that_cannot_be_read_is_reported_with_its_place() -> None:
    text = file_of(*SECTIONS) + "- Something · status: perhaps\n"
    (problem,) = parse_decisions(text, "decisions/2026-03.md").problems
    assert problem.message.startswith(f"decisions/2026-03.md:{text.count(chr(10))}:")


@pytest.mark.promise("M4")
def test_a_line_or_a_file_deleted_by_hand_does_not_come_back(repo: Path) -> None:
    decided = Decided(repo, SECTIONS[:1])
    decided.store.record_passages(SECTIONS)
    march = next(path for path in decided.store.months() if path.stem == "2026-03")
    text = march.read_text(encoding="utf-8")
    march.write_text("\n".join(line for line in text.split("\n") if KEPT not in line), encoding="utf-8")
    decided.store.record_passages(SECTIONS)
    assert KEPT not in decided.months["2026-03"] and FIVE in decided.months["2026-03"]
    march.unlink()
    decided.store.record_passages(SECTIONS)
    assert FIVE not in decided.months.get("2026-03", "")
