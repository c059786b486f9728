"""Memory values of every kind for property tests, with texts that look like our own syntax."""

from __future__ import annotations

from hypothesis import strategies as st

from holdfast.memory.current import (
    ActiveProject,
    Check,
    ClosedTodo,
    Current,
    Done,
    FileHint,
    NextStep,
    RecurringFailure,
)
from holdfast.memory.reference import KeptFact, Reference
from holdfast.model.memory import DeadEnd, Decision, Fact, FactCategory, Finding, LogEntry, OpenItem, Question

LOOK_ALIKES = [
    "",
    " ",
    "·",
    " · by: user",
    "a · because: b → instead: c · D-k3f9ab",
    "→ answer:",
    "x ·",
    "\\",
    "\\e",
    "\\n",
    "C:\\new\\table | jq",
    "<!-- holdfast:end next -->",
    "<!-- holdfast:begin todo",
    "-->",
    "<!-- session x · at ? -->",
    "## 2026-01-05 14:02 · codex · 12345678",
    "- **Context:** no",
    "- [x] done",
    "[ ] box",
    "(none)",
    "### Endpoints",
    "Category x",
    "<<<<<<< HEAD\n=======\n>>>>>>> main",
    "```\n## code\n```",
    "line\r\nline\u2028line\x85\x0b\x0c\x1c",
    "\u202eevil\U000e0041",
    "日本語 → deutsch ·",
    "~~was~~ `code` **bold** ---",
    "\\ud800",
]
texts = st.one_of(
    st.sampled_from(LOOK_ALIKES),
    st.text(st.characters(codec=None, exclude_categories=("Cs",)), max_size=12),
    st.lists(st.sampled_from([*LOOK_ALIKES, " ", "a", "· ", ": "]), max_size=4).map("".join),
)
some_texts = texts.filter(bool)
times = st.one_of(
    st.none(),
    st.integers(0, 4_000_000_000).map(float),
    st.floats(allow_nan=False),
    st.floats(0, 4e9),
    st.just(1_767_621_720.0),
)
owners = st.sampled_from(["user", "agent", ""])
source = {"session": texts, "at": times}

decisions = st.builds(Decision, text=texts, rationale=texts, by=owners, **source)
asked = {"text": texts, "by": owners, "answered_at": times, **source}
questions = st.builds(Question, answer=texts, **asked)
closed_questions = st.builds(Question, closed=st.just(True), **asked)  # only what has no answer needs it
findings = st.builds(Finding, text=texts, **source)
dead_ends = st.builds(DeadEnd, tried=texts, failed=texts, instead=texts, **source)
open_items = st.builds(
    OpenItem,
    text=texts,
    why=texts,
    owner=owners,
    priority=st.sampled_from(["high", "normal", "low"]),
    branch=texts,
    **source,
)
facts = st.builds(
    Fact,
    text=texts,
    category=st.sampled_from([*map(str, FactCategory), "Endpoints", "Category x", "", "own · status: x"]),
    command=texts,
    evidence=texts.filter(lambda text: bool(text.strip())),
    verified_at=times,
    **source,
)


def some(values: st.SearchStrategy[object], most: int = 3) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(values, max_size=most).map(tuple)


entries = st.builds(
    LogEntry,
    session=some_texts,
    agent=texts,
    at=times,
    branch=texts,
    context=texts,
    outcome=texts,
    decisions=some(decisions, 2),
    findings=some(findings, 2),
    dead_ends=some(dead_ends, 2),
    questions=some(questions, 2),
    open_items=some(open_items, 2),
    files=some(texts),
    commits=some(texts),
    summary=texts,
    transcript=texts,
)
references = st.builds(
    Reference,
    facts=some(
        st.builds(KeptFact, fact=facts, was=some(facts, 2), failed_at=times)
        | st.builds(
            KeptFact, fact=facts, retired_at=times.filter(lambda at: at is not None), retired_because=texts
        )
    ),
    decisions=some(decisions),
)
currents = st.builds(
    Current,
    next=some(st.builds(NextStep, text=texts, branch=texts, by=owners, **source)),
    todo=some(open_items),
    questions=some(questions),
    stumbles=some(
        st.builds(
            RecurringFailure,
            tried=texts,
            failed=texts,
            instead=texts,
            sessions=st.integers(0, 10**9),
            at=times,
        )
    ),
    checks=some(st.builds(Check, command=texts, kind=texts, at=times)),
    done=some(st.builds(Done, text=texts, branch=texts, agent=texts, **source)),
    closed=some(
        st.builds(
            ClosedTodo,
            text=texts,
            how=st.sampled_from(("done", "dropped", "replaced")),
            why=texts,
            branch=texts,
            **source,
        )
    ),
    projects=some(
        st.builds(ActiveProject, name=texts, status=texts, branch=texts, pointers=some(texts), at=times)
    ),
    files=some(st.builds(FileHint, path=texts, when=texts)),
)
