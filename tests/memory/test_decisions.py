"""decisions/<month>.md: what sessions settled, in sections; a person's changes count and nothing comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.decisions import SessionPassages, beginning, parse_decisions, with_sessions
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Passage
from holdfast.store.machine import Machine

AT = 1_767_621_720.0
EIGHT = Passage(text="8 minutes at most", question="How long?", by="user", worth=80, session="s1")
LOCK = Passage(
    text="The child lock stays", kind="rule", status="rejected", by="agent", worth=40, session="s1"
)


def section(*passages: Passage, session: str = "s1", title: str = "The kettle boils dry") -> SessionPassages:
    return SessionPassages(session=session, title=title, at=AT, branch="main", passages=passages)


LINES = st.text(min_size=1, max_size=80).filter(lambda text: text.strip())
PASSAGES = st.builds(
    Passage,
    text=LINES,
    question=st.text(max_size=60),
    kind=st.sampled_from(["decision", "rule", "cause", "measurement", "answer", "dead_end", "next_step"]),
    status=st.sampled_from(["agreed", "proposed", "rejected", "superseded"]),
    by=st.sampled_from(["user", "agent", ""]),
    worth=st.integers(0, 100),
    session=st.just("s1"),
)


@pytest.mark.promise("M2")
@given(st.lists(PASSAGES, min_size=1, max_size=5, unique_by=lambda passage: passage.id), LINES)
def test_what_is_written_is_read_back(passages: list[Passage], title: str) -> None:
    text = with_sessions(beginning("shop", "2026-01"), [section(*passages, title=title)])
    file = parse_decisions(text)
    assert not file.problems
    (found,) = file.sections
    assert (found.session, found.branch, found.at) == ("s1", "main", 1_767_621_720.0)
    assert [(one.id, one.kind, one.status, one.by, one.worth) for one in found.passages] == [
        (one.id, one.kind, one.status, one.by, one.worth) for one in passages
    ]


def test_the_same_session_adds_only_what_is_new() -> None:
    once = with_sessions(beginning("shop", "2026-01"), [section(EIGHT)])
    assert with_sessions(once, [section(EIGHT)]) == once
    twice = with_sessions(once, [section(EIGHT, LOCK), section(LOCK, session="s2")])
    assert [len(one.passages) for one in parse_decisions(twice).sections] == [2, 1]


@pytest.mark.promise("M10")
def test_a_line_that_a_person_deleted_stays_deleted(repo: Path) -> None:
    project = Machine(cwd=repo).project()
    project.prepare()
    store = MemoryStore(project, "shop", clock=lambda: AT)
    store.record_passages([section(EIGHT, LOCK)])
    (month,) = store.months()
    text = month.read_text(encoding="utf-8")
    month.write_text(
        "".join(line for line in text.splitlines(True) if "8 minutes" not in line), encoding="utf-8"
    )
    store.record_passages([section(EIGHT, LOCK)])
    assert EIGHT.id in store.dismissed()
    assert [one.id for one in store.decisions(month).sections[0].passages] == [LOCK.id]


@pytest.mark.promise("M10")
def test_what_a_person_changed_or_wrote_is_kept(repo: Path) -> None:
    project = Machine(cwd=repo).project()
    project.prepare()
    store = MemoryStore(project, "shop", clock=lambda: AT)
    store.record_passages([section(EIGHT)])
    (month,) = store.months()
    text = month.read_text(encoding="utf-8").replace("8 minutes at most", "9 minutes at most")
    month.write_text(
        f"{text}\n## Teapots\n\n- Never porcelain on the induction hob\n\nA note of mine.\n", encoding="utf-8"
    )
    store.record_passages([section(LOCK, session="s2")])
    after = month.read_text(encoding="utf-8")
    assert "A note of mine." in after
    file = store.decisions(month)
    assert [one.session for one in file.sections] == ["s1", "", "s2"]
    assert file.sections[0].passages[0].text == "9 minutes at most"
    assert file.sections[1].passages[0].text == "Never porcelain on the induction hob"


def test_a_line_that_cannot_be_read_is_reported_and_kept() -> None:
    text = with_sessions(beginning("shop", "2026-01"), [section(EIGHT)])
    broken = text.replace("· by: user", "· by: nobody")
    file = parse_decisions(broken, "decisions/2026-01.md")
    assert [problem.line for problem in file.problems] == [
        broken.split("\n").index(next(x for x in broken.split("\n") if "nobody" in x)) + 1
    ]
    assert "nobody" in with_sessions(broken, [section(LOCK, session="s2")])
